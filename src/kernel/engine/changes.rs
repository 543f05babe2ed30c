//! Changes of files: looked at, decided, recorded, written, verified; only then is the model told.

use std::sync::Arc;

use super::calls::{complete, deny, fail, go_on, take_current};
use super::lifecycle::waits_for;
use super::{asking, sets, verify};
use crate::kernel::conflict::{self, ConflictPolicy, FilePolicies, NowKnown, Settlement, Verdict};
use crate::kernel::diff::{self, Counted};
use crate::kernel::effect::Effect;
use crate::kernel::event::{GateRound, ReadCall, RunEvent};
use crate::kernel::file::{FileNow, NewContent, WriteOrder, WriteOutcome};
use crate::kernel::file_set::SetStep;
use crate::kernel::hash::ContentHash;
use crate::kernel::ids::{ChangeId, ToolCallId};
use crate::kernel::path::RelPath;
use crate::kernel::question::Answer;
use crate::kernel::run::{
    AskedConflict, ChangedFile, CurrentCall, FileProposal, GivenAnswer, PlannedWrite, Run, Stage,
    WaitingFor,
};
use crate::kernel::state::Frame;
use crate::kernel::tool::SeenFile;

/// How often a file is looked at again because it changed under a write.
const LOOKS: u32 = 5;

/// Looks at the file in order to decide about the proposal.
pub fn inspect(
    run: &mut Run,
    frame: &mut Frame<'_>,
    call: ReadCall,
    proposal: FileProposal,
    looks: u32,
) {
    let path = proposal.path().clone();
    if !is_held(run, frame, &call.id, [&path]) {
        look(run, frame, &call.id, path);
    }
    run.current = Some(CurrentCall {
        call,
        stage: Stage::Inspecting {
            proposal,
            answer: None,
            looks,
        },
    });
}

/// Whether somebody else works on one of the files. Then the call waits, once that is a fact: what others do is not in this
/// run's transcript.
pub fn is_held<'p>(
    run: &Run,
    frame: &mut Frame<'_>,
    call: &ToolCallId,
    paths: impl IntoIterator<Item = &'p RelPath>,
) -> bool {
    let Some((path, by)) = frame.leases.holder(&run.id, paths) else {
        return false;
    };
    let call = call.clone();
    frame.perform(Effect::Accept {
        run: run.id.clone(),
        event: RunEvent::FileHeld { call, path, by },
    });
    true
}

pub fn on_held(run: &mut Run, frame: &mut Frame<'_>, call: &ToolCallId, waits: String) {
    let looks = |current: &mut CurrentCall| match &current.stage {
        Stage::Inspecting { answer: None, .. } => current.call.id == *call,
        Stage::Together(set) => set.step == SetStep::Looking && current.call.id == *call,
        _ => false,
    };
    if let Some(CurrentCall { call, stage }) = run.current.take_if(looks) {
        waits_for(run, frame, WaitingFor::Lease, waits);
        let then = Box::new(stage);
        let stage = Stage::AwaitingLease { then };
        run.current = Some(CurrentCall { call, stage });
    }
}

pub fn on_freed(run: &mut Run, frame: &mut Frame<'_>, call: &ToolCallId) {
    let waits = |current: &mut CurrentCall| {
        current.call.id == *call && matches!(current.stage, Stage::AwaitingLease { .. })
    };
    if let Some(CurrentCall {
        call,
        stage: Stage::AwaitingLease { then },
    }) = run.current.take_if(waits)
    {
        match *then {
            Stage::Inspecting {
                proposal, looks, ..
            } => inspect(run, frame, call, proposal, looks),
            Stage::Together(set) => sets::look(run, frame, call, *set),
            stage => run.current = Some(CurrentCall { call, stage }),
        }
    }
}

pub fn look(run: &mut Run, frame: &mut Frame<'_>, call: &ToolCallId, path: RelPath) {
    waits_for(run, frame, WaitingFor::File, path.to_string());
    let overlay = frame.overlay();
    frame.perform(Effect::Inspect {
        run: run.id.clone(),
        call: call.clone(),
        path,
        overlay,
    });
}

pub fn on_inspected(
    run: &mut Run,
    frame: &mut Frame<'_>,
    call: &ToolCallId,
    (path, now): (&RelPath, &FileNow),
) {
    let Some(CurrentCall { call, stage }) = take_current(run, call) else {
        return;
    };
    match stage {
        Stage::Inspecting {
            answer: Some(given),
            ..
        } => apply_answer(run, frame, call, *given, now),
        Stage::Inspecting {
            proposal,
            answer: None,
            looks,
        } => {
            decide(
                run,
                frame,
                Case {
                    call,
                    proposal,
                    looks,
                },
                now,
            );
        }
        Stage::Settling(planned) => settle(run, frame, call, planned, now),
        Stage::Together(set) => sets::on_inspected(run, frame, (call, *set), (path, now)),
        stage => run.current = Some(CurrentCall { call, stage }),
    }
    go_on(run, frame);
}

/// A call and what it wants, on its way to a decision.
struct Case {
    call: ReadCall,
    proposal: FileProposal,
    looks: u32,
}

fn decide(run: &mut Run, frame: &mut Frame<'_>, case: Case, now: &FileNow) {
    let path = case.proposal.path().clone();
    let policies = policies(run, &case.proposal);
    let verdict = conflict::decide(&case.proposal.seen(run.seen.get(&path)), now, policies);
    if let Some(mending) = run.mending.clone()
        && !matches!(verdict, Verdict::Write { merged: false, .. })
    {
        // Something else is there by now: the repair is not ours to make.
        return verify::tell(run, frame, &case.call, (&mending.call, &mending.verdict));
    }
    match verdict {
        Verdict::Identical => identical(run, frame, &case.call, &path, now),
        Verdict::Refuse {
            message,
            now: known,
        } => {
            match known {
                NowKnown::AsBefore => {}
                NowKnown::Shown(seen) => {
                    run.seen.insert(path, seen);
                }
                NowKnown::Gone => {
                    run.seen.remove(&path);
                }
            }
            fail(run, frame, &case.call, message);
        }
        Verdict::Conflict(conflict) => {
            asking::about_overwrite(run, frame, case.call, case.proposal, *conflict);
        }
        Verdict::Write { order, merged } => {
            plan_write(
                run,
                frame,
                case,
                Plan {
                    order,
                    merged,
                    foreign: merged,
                    note: String::new(),
                },
                now,
            );
        }
    }
}

/// The run's policies, and what the user has allowed it beyond them.
pub fn policies(run: &Run, proposal: &FileProposal) -> FilePolicies {
    let is_allowed = match proposal {
        FileProposal::Write(_) | FileProposal::Edit(_) => run.overwrites_allowed,
        FileProposal::Delete { .. } => run.deletions_allowed,
    };
    FilePolicies {
        conflict: if is_allowed {
            ConflictPolicy::Overwrite
        } else {
            run.spec.policy.conflict
        },
        merge: run.spec.policy.merge,
    }
}

fn identical(run: &mut Run, frame: &mut Frame<'_>, call: &ReadCall, path: &RelPath, now: &FileNow) {
    if let FileNow::Text(text) = now {
        let seen = SeenFile {
            path: path.clone(),
            hash: text.hash.clone(),
            text: Arc::clone(&text.text),
        };
        run.seen.insert(path.clone(), seen);
    }
    let text = match now {
        FileNow::Absent { .. } => format!("{path} is not there; nothing had to be deleted."),
        _ => format!("{path} already has exactly this content; nothing was written."),
    };
    complete(run, frame, call, text);
}

/// An answer of the user to an overwrite. Keeping needs no look at the file; writing does, for it may have changed since.
pub fn answered(run: &mut Run, frame: &mut Frame<'_>, call: ReadCall, given: GivenAnswer) {
    if let Answer::KeepMine { reason } = &given.answer {
        return keep(
            run,
            frame,
            &call,
            given.asked.proposal.path(),
            reason.as_deref(),
        );
    }
    look(run, frame, &call.id, given.asked.proposal.path().clone());
    let proposal = given.asked.proposal.clone();
    let stage = Stage::Inspecting {
        proposal,
        answer: Some(Box::new(given)),
        looks: 0,
    };
    run.current = Some(CurrentCall { call, stage });
}

fn keep(
    run: &mut Run,
    frame: &mut Frame<'_>,
    call: &ReadCall,
    path: &RelPath,
    reason: Option<&str>,
) {
    let why = reason
        .map(|reason| format!(" They say: {reason}"))
        .unwrap_or_default();
    run.seen.remove(path);
    let text = format!(
        "The user kept their own version of {path}; nothing was written.{why} Read it before you propose anything else for it."
    );
    deny(run, frame, call, text);
}

fn apply_answer(
    run: &mut Run,
    frame: &mut Frame<'_>,
    call: ReadCall,
    given: GivenAnswer,
    now: &FileNow,
) {
    let GivenAnswer {
        asked:
            AskedConflict {
                proposal,
                conflict,
                hunks,
            },
        answer,
    } = given;
    let case = Case {
        call,
        proposal,
        looks: 0,
    };
    match conflict::settle(&conflict, &hunks, &answer, now) {
        Settlement::Write(order) => {
            let unchanged = matches!((&order.content, now), (NewContent::Text { text, .. }, FileNow::Text(now)) if *text == now.text);
            if unchanged {
                let path = order.path;
                return identical(run, frame, &case.call, &path, now);
            }
            let foreign = matches!(answer, Answer::TakeHunks { .. } | Answer::TakeText { .. });
            let note = match &answer {
                Answer::TakeHunks { hunks: taken } => format!(
                    "The user took {} of your {} changes and kept their own text elsewhere: read it again before you change it further.",
                    taken.len(),
                    hunks.len()
                ),
                Answer::TakeText { .. } => {
                    "The user took an edited version of your proposal: read it again before you change it further.".to_owned()
                }
                _ => "The user agreed to overwrite it.".to_owned(),
            };
            plan_write(
                run,
                frame,
                case,
                Plan {
                    order,
                    merged: false,
                    foreign,
                    note,
                },
                now,
            );
        }
        // What the user answered about is gone: decide anew, ask anew.
        Settlement::LookAgain => decide(run, frame, case, now),
        Settlement::Keep { reason } => {
            let path = case.proposal.path().clone();
            keep(run, frame, &case.call, &path, reason.as_deref());
        }
        Settlement::StopRun => super::lifecycle::cancel(run, frame, "you"),
        Settlement::NoAnswer { message } => {
            let path = case.proposal.path();
            fail(
                run,
                frame,
                &case.call,
                format!("Nothing was written to {path}: {message}"),
            );
        }
    }
}

struct Plan {
    order: WriteOrder,
    merged: bool,
    /// Text is in it that the agent has not read.
    foreign: bool,
    note: String,
}

fn plan_write(run: &mut Run, frame: &mut Frame<'_>, case: Case, plan: Plan, now: &FileNow) {
    run.last_change = run.last_change.next();
    let planned = PlannedWrite {
        change: run.last_change,
        after: plan.order.content.hash(),
        order: plan.order,
        proposal: case.proposal,
        before_text: now.text().map(|now| Arc::clone(&now.text)),
        note: plan.note,
        merged: plan.merged,
        foreign: plan.foreign,
        looks: case.looks,
    };
    if run.baseline.is_none() {
        waits_for(run, frame, WaitingFor::Gate, "the baseline");
        run.current = Some(CurrentCall {
            call: case.call,
            stage: Stage::AwaitingBaseline(planned),
        });
    } else {
        write(run, frame, case.call, planned);
    }
}

/// The baseline is known: a write that waited for it may go on.
pub fn baseline_arrived(run: &mut Run, frame: &mut Frame<'_>) {
    let waiting = run
        .current
        .take_if(|current| matches!(current.stage, Stage::AwaitingBaseline(_)));
    sets::baseline_arrived(run, frame);
    if let Some(CurrentCall {
        call,
        stage: Stage::AwaitingBaseline(planned),
    }) = waiting
    {
        // Time has passed since the file was looked at; the write's own condition still guards it.
        write(run, frame, call, planned);
    }
}

fn write(run: &mut Run, frame: &mut Frame<'_>, call: ReadCall, planned: PlannedWrite) {
    let path = planned.order.path.clone();
    frame.record(
        run,
        RunEvent::ChangePlanned {
            change: planned.change,
            call: call.id.clone(),
            path: path.clone(),
            before: planned.order.expected.clone(),
            after: planned.after.clone(),
            merged: planned.merged,
        },
    );
    let document = frame.documents.get(&path).cloned();
    let order = planned.order.clone();
    waits_for(run, frame, WaitingFor::File, path.to_string());
    frame.perform(Effect::Write {
        run: run.id.clone(),
        change: planned.change,
        order,
        document,
    });
    run.current = Some(CurrentCall {
        call,
        stage: Stage::Writing(planned),
    });
}

pub fn on_written(
    run: &mut Run,
    frame: &mut Frame<'_>,
    change: ChangeId,
    path: &RelPath,
    outcome: WriteOutcome,
) {
    if sets::on_written(run, frame, change, &outcome) {
        return go_on(run, frame);
    }
    let current = run.current.take_if(
        |current| matches!(&current.stage, Stage::Writing(planned) if planned.change == change),
    );
    let Some(CurrentCall {
        call,
        stage: Stage::Writing(planned),
    }) = current
    else {
        // The run was ended meanwhile; what was written is still its change.
        if let WriteOutcome::Written { before, after, .. } = outcome {
            note_change(
                run,
                frame,
                &Made {
                    change,
                    path,
                    before,
                    after,
                    added: 0,
                    removed: 0,
                },
            );
        }
        return;
    };
    if run.stalled.is_some() {
        // What hangs is being stopped; then the file is looked at.
        run.current = Some(CurrentCall {
            call,
            stage: Stage::Settling(planned),
        });
        return;
    }
    if let Some(mending) = run.mending.clone()
        && matches!(outcome, WriteOutcome::Changed | WriteOutcome::Failed { .. })
        && run.stopping.is_none()
    {
        return verify::tell(run, frame, &call, (&mending.call, &mending.verdict));
    }
    match outcome {
        WriteOutcome::Written { before, after, .. } => {
            written(run, frame, call, &planned, before, after);
        }
        WriteOutcome::Changed if planned.looks < LOOKS && run.stopping.is_none() => {
            inspect(run, frame, call, planned.proposal, planned.looks + 1);
        }
        WriteOutcome::Changed => {
            let error = format!(
                "{path} keeps changing while it is written; nothing was written. Read it again."
            );
            fail(run, frame, &call, error);
        }
        WriteOutcome::Failed { error } => {
            fail(
                run,
                frame,
                &call,
                format!("Nothing was written to {path}: {error}"),
            );
        }
        WriteOutcome::Unknown { .. } if run.stopping.is_none() => {
            look(run, frame, &call.id, path.clone());
            run.current = Some(CurrentCall {
                call,
                stage: Stage::Settling(planned),
            });
        }
        WriteOutcome::Unknown { error } => {
            fail(
                run,
                frame,
                &call,
                format!("It is not known whether {path} was written: {error}"),
            );
        }
    }
    go_on(run, frame);
}

/// A write whose end was not seen is told by what is there now.
fn settle(
    run: &mut Run,
    frame: &mut Frame<'_>,
    call: ReadCall,
    planned: PlannedWrite,
    now: &FileNow,
) {
    let hash = now.hash().cloned();
    if hash == planned.after {
        let before = planned.order.expected.clone();
        written(run, frame, call, &planned, before, hash);
    } else {
        // Either nothing happened, or something else did: what is there now decides.
        let case = Case {
            call,
            looks: planned.looks + 1,
            proposal: planned.proposal,
        };
        decide(run, frame, case, now);
    }
}

fn written(
    run: &mut Run,
    frame: &mut Frame<'_>,
    call: ReadCall,
    planned: &PlannedWrite,
    before: Option<ContentHash>,
    after: Option<ContentHash>,
) {
    let path = planned.order.path.clone();
    let old_text = planned.before_text.as_deref().unwrap_or_default();
    let new_text: Arc<str> = match &planned.order.content {
        NewContent::Text { text, .. } => Arc::clone(text),
        NewContent::Deleted => Arc::from(""),
    };
    let Counted { added, removed } = diff::count_lines(old_text, &new_text);
    let repaired = run.mending.as_ref().map(|mending| mending.said.clone());
    let mut said = match (&before, &after) {
        _ if repaired.is_some() => repaired.unwrap_or_default(),
        (None, _) => format!("{path} was created."),
        (_, None) => format!("{path} was deleted."),
        _ => format!("{path} was changed (+{added} -{removed} lines)."),
    };
    if planned.merged {
        said.push_str(" Others had changed it elsewhere; both are kept: read it again before you change it further.");
    }
    if !planned.note.is_empty() {
        said.push(' ');
        said.push_str(&planned.note);
    }
    // What others put there, the agent has not read: its next proposal must not be taken to have seen it.
    match &after {
        Some(hash) if !planned.foreign => {
            run.seen.insert(
                path.clone(),
                SeenFile {
                    path: path.clone(),
                    hash: hash.clone(),
                    text: new_text,
                },
            );
        }
        _ => {
            run.seen.remove(&path);
        }
    }
    note_change(
        run,
        frame,
        &Made {
            change: planned.change,
            path: &path,
            before,
            after,
            added,
            removed,
        },
    );
    if run.stopping.is_some() {
        return;
    }
    let round = verify::start(run, frame, GateRound::Change, vec![path.clone()]);
    waits_for(run, frame, WaitingFor::Gate, path.to_string());
    run.current = Some(CurrentCall {
        call,
        stage: Stage::Verifying { round, said },
    });
}

/// A change that has happened.
pub struct Made<'a> {
    pub change: ChangeId,
    pub path: &'a RelPath,
    pub before: Option<ContentHash>,
    pub after: Option<ContentHash>,
    pub added: u32,
    pub removed: u32,
}

/// Takes a change into the run's account of itself.
pub fn note_change(run: &mut Run, frame: &mut Frame<'_>, made: &Made<'_>) {
    // To and fro is no progress: only what was not there before.
    let is_new = |hash: &ContentHash| run.had.insert((made.path.clone(), hash.clone()));
    if made.after.as_ref().is_none_or(is_new) {
        run.progress_at = run.iterations;
    }
    if let Some(before) = &made.before {
        run.had.insert((made.path.clone(), before.clone()));
    }
    frame.record(
        run,
        RunEvent::ChangeMade {
            change: made.change,
            path: made.path.clone(),
            before: made.before.clone(),
            after: made.after.clone(),
            added: made.added,
            removed: made.removed,
        },
    );
    run.changed_since
        .push(format!("{} (+{} -{})", made.path, made.added, made.removed));
    run.course.touched.insert(made.path.clone());
    let first = ChangedFile {
        before: made.before.clone(),
        after: None,
        added: 0,
        removed: 0,
    };
    let file = run.changes.entry(made.path.clone()).or_insert(first);
    file.after.clone_from(&made.after);
    file.added += made.added;
    file.removed += made.removed;
}
