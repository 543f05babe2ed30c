//! A seeded simulator drives the kernel with a random model, random tools, gates, answers, cancels, stalls and crashes.
//!
//! Whatever happens: no panic, every run ends or waits for something that is named and can come, every request is answered
//! once, every question at most once, and the facts of the log give the same state. A failing seed is printed; to see it
//! again: `OUTRIGGER_SEED=n cargo test --test simulation`.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may panic

mod simulation {
    pub mod random;
    pub mod world;
}

use simulation::world::World;

/// Runs in an ordinary test; `OUTRIGGER_RUNS` asks for another number.
const RUNS: u64 = 5_000;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable)
        .ok()
        .map(|text| text.parse().expect("a number"))
}

#[test]
fn runs_end_or_wait_whatever_happens() {
    if let Some(seed) = number("OUTRIGGER_SEED") {
        World::new(seed).live();
        return;
    }
    let mut ends = std::collections::BTreeMap::<String, u64>::new();
    for seed in 0..number("OUTRIGGER_RUNS").unwrap_or(RUNS) {
        let result = std::panic::catch_unwind(|| World::new(seed).live());
        match result {
            Ok(end) => *ends.entry(end).or_default() += 1,
            Err(panic) => {
                eprintln!("seed {seed} fails");
                std::panic::resume_unwind(panic);
            }
        }
    }
    // A simulator that never gets anywhere finds nothing.
    println!("{ends:?}");
    for end in ["Succeeded", "Failed", "Cancelled"] {
        assert!(
            ends.get(end).copied().unwrap_or_default() > 10,
            "too few runs end as {end}: {ends:?}"
        );
    }
}
