//! Who works on a file: one run at a time, and no run while the user types in it.
//!
//! A run holds a file from the look that its change is decided on until the gates have looked at the change. It takes all
//! files of a call at once and holds none while it waits, so no two runs can wait for each other. What is written was
//! expected either way; leases spare runs the work that would only meet a conflict.

use std::collections::{BTreeMap, BTreeSet};

use ropey::Rope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kernel::effect::Effect;
use crate::kernel::event::RunEvent;
use crate::kernel::file::{NewContent, WriteOrder};
use crate::kernel::file_set::{FileSet, SetStep};
use crate::kernel::ids::RunId;
use crate::kernel::path::RelPath;
use crate::kernel::run::{CurrentCall, Run, Stage};
use crate::kernel::state::State;
use crate::kernel::time::Moment;

/// Milliseconds without a key after which a file is no longer being typed in.
pub const TYPING_MS: u64 = 2_000;

/// Who has a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "holder")]
pub enum Holder {
    /// The user types in it.
    You,
    /// Another run changes it.
    Run { run: RunId },
}

/// What is known of who works where.
#[derive(Debug, Clone, Copy)]
pub struct Leases<'a> {
    pub runs: &'a BTreeMap<RunId, Run>,
    /// When the user last typed in a file.
    pub typed: &'a BTreeMap<RelPath, Moment>,
    pub now: Moment,
}

impl Leases<'_> {
    /// The first of the files that `own` has to wait for, and who has it.
    pub fn holder<'p>(
        &self,
        own: &RunId,
        paths: impl IntoIterator<Item = &'p RelPath>,
    ) -> Option<(RelPath, Holder)> {
        paths.into_iter().find_map(|path| {
            let is_typed_in = self
                .typed
                .get(path)
                .is_some_and(|last| self.now.since(*last) < TYPING_MS);
            if is_typed_in {
                return Some((path.clone(), Holder::You));
            }
            let others = self.runs.values().filter(|run| run.id != *own);
            let mut holding = others.filter(|run| holds(run, path));
            let run = holding.next()?.id.clone();
            Some((path.clone(), Holder::Run { run }))
        })
    }
}

/// For people: what is waited for.
pub fn in_words(path: &RelPath, holder: &Holder) -> String {
    match holder {
        Holder::You => format!("you to pause typing in {path}"),
        Holder::Run { run } => format!("run {run}, which works on {path}"),
    }
}

fn holds(run: &Run, path: &RelPath) -> bool {
    if run.ended.is_some() || run.parked {
        return false;
    }
    match &run.current {
        Some(CurrentCall {
            stage: Stage::Verifying { round, .. },
            ..
        }) => {
            let mut rounds = run.rounds.iter().filter(|running| running.id == *round);
            rounds.any(|running| running.paths.contains(path))
        }
        Some(current) => wanted(&current.stage).contains(&path),
        None => false,
    }
}

/// The files that a change is about, while it is on its way.
pub fn wanted(stage: &Stage) -> Vec<&RelPath> {
    match stage {
        Stage::Inspecting { proposal, .. } => vec![proposal.path()],
        Stage::AwaitingBaseline(planned) | Stage::Writing(planned) | Stage::Settling(planned) => {
            vec![&planned.order.path]
        }
        Stage::Asking {
            conflict: Some(asked),
            ..
        } => vec![asked.proposal.path()],
        Stage::Together(set) => set.paths().collect(),
        // Who waits holds nothing.
        Stage::AwaitingLease { .. } => Vec::new(),
        Stage::Performing
        | Stage::CheckingPlan { .. }
        | Stage::Verifying { .. }
        | Stage::AskingUncertain { .. }
        | Stage::Asking { conflict: None, .. } => Vec::new(),
    }
}

/// Whether a document got this text because the run writes it, and not because somebody types.
pub fn is_written_by(run: &Run, path: &RelPath, text: &Rope) -> bool {
    let is_it = |order: &WriteOrder| {
        order.path == *path
            && matches!(&order.content, NewContent::Text { text: new, .. } if *text == **new)
    };
    match run.current.as_ref().map(|current| &current.stage) {
        Some(Stage::Writing(planned) | Stage::Settling(planned)) => is_it(&planned.order),
        Some(Stage::Together(set)) => is_writing(set).iter().any(|planned| is_it(planned)),
        _ => false,
    }
}

fn is_writing(set: &FileSet) -> Vec<&WriteOrder> {
    if set.step != SetStep::Writing {
        return Vec::new();
    }
    let planned = set.parts.iter().filter_map(|part| part.planned.as_ref());
    planned.map(|planned| &planned.order).collect()
}

/// Lets runs go on whose files are free now: of those that wait for one file, the first.
pub fn freed(state: &State, now: Moment) -> Vec<Effect> {
    let leases = Leases {
        runs: &state.runs,
        typed: &state.typed,
        now,
    };
    let mut taken: BTreeSet<&RelPath> = BTreeSet::new();
    let mut effects = Vec::new();
    for (id, run) in &state.runs {
        let Some(CurrentCall {
            call,
            stage: Stage::AwaitingLease { then },
        }) = &run.current
        else {
            continue;
        };
        let paths = wanted(then);
        let works = run.ended.is_none() && run.stopping.is_none() && !run.parked;
        let is_free = paths.iter().all(|path| !taken.contains(path))
            && leases.holder(id, paths.iter().copied()).is_none();
        if works && is_free {
            taken.extend(paths);
            effects.push(Effect::Accept {
                run: id.clone(),
                event: RunEvent::FileFreed {
                    call: call.id.clone(),
                },
            });
        }
    }
    effects
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::event::{Budget, Engine, Policy, ReadCall, ReadTool, RunSpec};
    use crate::kernel::ids::ToolCallId;
    use crate::kernel::run::FileProposal;

    fn rel(path: &str) -> RelPath {
        RelPath::parse(path).unwrap()
    }

    fn at(mono_ms: u64) -> Moment {
        Moment {
            wall_ms: 0,
            mono_ms,
        }
    }

    fn looking(path: &str) -> Stage {
        Stage::Inspecting {
            proposal: FileProposal::Delete {
                path: rel(path),
                made_by_run: false,
            },
            answer: None,
            looks: 0,
        }
    }

    fn waiting(path: &str) -> Stage {
        Stage::AwaitingLease {
            then: Box::new(looking(path)),
        }
    }

    fn run(id: &str, stage: Stage) -> (RunId, Run) {
        let spec = RunSpec {
            prompt: "x".into(),
            engine: Engine::React,
            model: "m".into(),
            fallback_model: None,
            policy: Policy::default(),
            budget: Budget::default(),
            stall: Default::default(),
            task: None,
        };
        let mut run = Run::new(RunId::new(id), spec, at(0));
        run.current = Some(CurrentCall {
            call: ReadCall {
                id: ToolCallId::new("c"),
                name: "delete".into(),
                tool: ReadTool::Malformed(String::new()),
            },
            stage,
        });
        (run.id.clone(), run)
    }

    #[test]
    fn a_file_is_one_runs_and_the_users_while_they_type() {
        let runs = BTreeMap::from([
            run("a", looking("f")),
            run("b", looking("é/g")),
            run("w", waiting("h")),
        ]);
        let typed = BTreeMap::from([(rel("t"), at(1_000)), (rel("f"), at(900))]);
        let of = |run: &str| {
            Some(Holder::Run {
                run: RunId::new(run),
            })
        };
        let rows: [(&str, &[&str], u64, Option<Holder>); 9] = [
            ("b", &["f"], 9_000, of("a")),
            ("a", &["f"], 9_000, None),
            ("a", &["é/g"], 9_000, of("b")),
            ("a", &["h"], 9_000, None),
            ("a", &["x", "é/g"], 9_000, of("b")),
            ("a", &["t"], 2_999, Some(Holder::You)),
            ("a", &["t"], 3_000, None),
            ("a", &["f"], 2_899, Some(Holder::You)),
            ("b", &["f"], 2_899, Some(Holder::You)),
        ];
        for (own, paths, now, want) in rows {
            let paths: Vec<RelPath> = paths.iter().map(|path| rel(path)).collect();
            let leases = Leases {
                runs: &runs,
                typed: &typed,
                now: at(now),
            };
            let holder = leases.holder(&RunId::new(own), &paths);
            assert_eq!(
                holder.map(|(_, holder)| holder),
                want,
                "{own} {paths:?} {now}"
            );
        }
    }

    #[test]
    fn who_does_not_work_holds_nothing() {
        let (id, mut parked) = run("a", looking("f"));
        parked.parked = true;
        let runs = BTreeMap::from([(id, parked)]);
        let leases = Leases {
            runs: &runs,
            typed: &BTreeMap::new(),
            now: at(0),
        };
        assert_eq!(leases.holder(&RunId::new("b"), [&rel("f")]), None);
    }

    #[test]
    fn of_those_that_wait_for_one_file_the_first_goes_on() {
        let mut state = State {
            runs: BTreeMap::from([
                run("a", waiting("f")),
                run("b", waiting("f")),
                run("c", waiting("g")),
                run("d", looking("h")),
                run("e", waiting("h")),
                run("t", waiting("typed")),
            ]),
            ..State::default()
        };
        state.typed.insert(rel("typed"), at(0));
        let names = |now| -> Vec<String> {
            let freed = freed(&state, at(now));
            let name = |effect: &Effect| match effect {
                Effect::Accept { run, .. } => run.to_string(),
                other => panic!("{other:?}"),
            };
            freed.iter().map(name).collect()
        };
        assert_eq!(names(1_999), ["a", "c"]);
        assert_eq!(names(2_000), ["a", "c", "t"]);
    }
}
