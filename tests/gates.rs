//! Gates against real captures and real tools.
//!
//! `OUTRIGGER_GATE_FIXTURES=DIR cargo test --test gates -- --nocapture fixtures` reads every capture below DIR.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panic")]
#![allow(clippy::print_stdout, reason = "the list of cases is for people")]

#[path = "gates/captures.rs"]
mod captures;
#[path = "gates/command.rs"]
mod command;
#[path = "gates/compare.rs"]
mod compare;
#[path = "gates/hostile.rs"]
mod hostile;
#[path = "gates/real_cargo.rs"]
mod real_cargo;

#[path = "gates/real_tools.rs"]
mod real_tools;

use std::path::PathBuf;

#[test]
fn fixtures() {
    let root = std::env::var_os("OUTRIGGER_GATE_FIXTURES").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/gates"),
        PathBuf::from,
    );
    let captures = captures::all(&root);
    let mut right = 0;
    for capture in &captures {
        let read =
            std::panic::catch_unwind(|| compare::differences(&capture.report(), &capture.expected));
        match read {
            Ok(differences) if differences.is_empty() => {
                right += 1;
                println!("{}: right", capture.title());
            }
            Ok(differences) => println!("{}: {}", capture.title(), differences.join(" | ")),
            Err(_) => println!("{}: panicked", capture.title()),
        }
    }
    println!("right {right} of {}", captures.len());
    assert!(!captures.is_empty(), "no captures below {}", root.display());
    assert_eq!(right, captures.len());
}
