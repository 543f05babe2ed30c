//! Which transcripts may go, and removing them. Nothing goes that is unfinished, referenced, or among the newest; a store
//! that is larger than its owner wishes is told, never cut silently.

use std::path::Path;

use crate::kernel::ids::RunId;
use crate::store::transcript::{self, TranscriptError};

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// So many of the newest runs stay, whatever their size.
    pub runs: usize,
    /// Above this many bytes there is a warning.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            runs: 200,
            bytes: 1_000_000_000,
        }
    }
}

/// A transcript that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub run: RunId,
    /// Milliseconds since 1970.
    pub started_at: i64,
    pub bytes: u64,
    pub claim: Claim,
}

/// Why a transcript must stay, if it must.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// Its run is over, and nothing needs it.
    Free,
    /// Its run is not over: it may be resumed.
    Unfinished,
    /// Something else needs it, such as a change that can still be reverted.
    Referenced,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// Oldest first.
    pub remove: Vec<RunId>,
    /// What then remains, in bytes.
    pub remaining: u64,
    /// For people, when that is more than the limit.
    pub warning: Option<String>,
}

/// Decides.
pub fn plan(mut held: Vec<Held>, limits: Limits) -> Plan {
    held.sort_by(|one, other| (other.started_at, &other.run).cmp(&(one.started_at, &one.run)));
    let mut plan = Plan::default();
    for (newer, held) in held.into_iter().enumerate() {
        if newer < limits.runs || held.claim != Claim::Free {
            plan.remaining = plan.remaining.saturating_add(held.bytes);
        } else {
            plan.remove.push(held.run);
        }
    }
    plan.remove.reverse();
    if plan.remaining > limits.bytes {
        plan.warning = Some(format!(
            "the transcripts that must stay take {} MB, more than the {} MB wished for; finish or cancel old runs, or keep fewer than {} runs",
            plan.remaining / 1_000_000,
            limits.bytes / 1_000_000,
            limits.runs
        ));
    }
    plan
}

/// What removing came to.
#[derive(Debug, Default)]
pub struct Removed {
    pub runs: Vec<RunId>,
    pub bytes: u64,
    /// Those that are still there, with why. A run that another process has just resumed is one of them.
    pub kept: Vec<(RunId, TranscriptError)>,
}

/// Removes the transcripts of `runs` from `folder`. One that is gone already is no error.
pub fn remove(folder: &Path, runs: &[RunId]) -> Removed {
    let mut removed = Removed::default();
    for run in runs {
        match transcript::remove(&folder.join(format!("{run}.jsonl"))) {
            Ok(bytes) => {
                removed.runs.push(run.clone());
                removed.bytes = removed.bytes.saturating_add(bytes);
            }
            Err(error) => removed.kept.push((run.clone(), error)),
        }
    }
    removed
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::store::mask::Mask;
    use crate::store::transcript::Transcript;

    fn held(run: &str, started_at: i64, claim: Claim) -> Held {
        Held {
            run: RunId::new(run),
            started_at,
            bytes: 1_000_000,
            claim,
        }
    }

    #[test]
    fn the_newest_the_unfinished_and_the_referenced_stay() {
        let all = vec![
            held("old", 1, Claim::Free),
            held("older", 0, Claim::Free),
            held("unfinished", 2, Claim::Unfinished),
            held("referenced", 3, Claim::Referenced),
            held("new", 4, Claim::Free),
            held("newest", 5, Claim::Free),
        ];
        let cases = [
            (0, vec!["older", "old", "new", "newest"], 2_000_000),
            (1, vec!["older", "old", "new"], 3_000_000),
            (2, vec!["older", "old"], 4_000_000),
            (4, vec!["older", "old"], 4_000_000),
            (5, vec!["older"], 5_000_000),
            (6, vec![], 6_000_000),
            (7, vec![], 6_000_000),
        ];
        for (runs, remove, remaining) in cases {
            let limits = Limits {
                runs,
                bytes: 3_000_000,
            };
            let plan = plan(all.clone(), limits);
            let names: Vec<&str> = plan.remove.iter().map(RunId::as_str).collect();
            assert_eq!((names, plan.remaining), (remove, remaining), "{runs} runs");
            assert_eq!(plan.warning.is_some(), remaining > 3_000_000);
        }
    }

    #[test]
    fn what_is_being_written_is_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let mask = Arc::new(Mask::new([], []).unwrap());
        let path = |run: &str| folder.path().join(format!("{run}.jsonl"));
        let busy = Transcript::create(&path("busy"), Arc::clone(&mask)).unwrap();
        let mut done = Transcript::create(&path("done"), mask).unwrap();
        done.append(&1).unwrap();
        drop(done);
        let runs = ["busy", "done", "gone"].map(RunId::new);
        let removed = remove(folder.path(), &runs);
        assert_eq!(removed.runs, [RunId::new("done"), RunId::new("gone")]);
        assert_eq!(removed.bytes, 2);
        assert!(
            matches!(removed.kept.as_slice(), [(run, TranscriptError::Busy(_))] if run.as_str() == "busy")
        );
        assert!(path("busy").exists() && !path("done").exists());
        drop(busy);
        assert_eq!(remove(folder.path(), &runs).kept.len(), 0);
        assert!(!path("busy").exists());
    }

    proptest! {
        #[test]
        fn nothing_that_is_claimed_goes(runs in 0_usize..6, starts in proptest::collection::vec((0_i64..5, 0_u8..3), 0..12)) {
            let all: Vec<Held> = starts
                .iter()
                .enumerate()
                .map(|(n, (start, claim))| {
                    let claim = [Claim::Free, Claim::Unfinished, Claim::Referenced][usize::from(*claim)];
                    held(&format!("r{n}"), *start, claim)
                })
                .collect();
            let plan = plan(all.clone(), Limits { runs, bytes: 0 });
            for held in &all {
                let goes = plan.remove.contains(&held.run);
                prop_assert!(!goes || held.claim == Claim::Free);
                // Whatever goes has enough newer ones.
                let newer = all.iter().filter(|other| other.started_at >= held.started_at).count();
                prop_assert!(!goes || newer > runs);
            }
            prop_assert_eq!(plan.remaining, (all.len() - plan.remove.len()) as u64 * 1_000_000);
        }
    }
}
