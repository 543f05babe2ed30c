//! Tool calls, one after the other: what each needs before it may happen, and what the model is told of it.
//!
//! Every call of the model gets exactly one result. A write is looked at, decided, recorded, written, and verified; only
//! then is the model told.

use std::sync::Arc;

use super::lifecycle::waits_for;
use super::{react, render, verify};
use crate::kernel::conflict::{self, Proposal, Situation, Verdict};
use crate::kernel::conversation::Block;
use crate::kernel::diff;
use crate::kernel::effect::Effect;
use crate::kernel::event::{CommandPolicy, GateRound, ReadCall, ReadTool, RunEvent};
use crate::kernel::file::{Encoding, FileNow, NewContent, TextSource, WriteOrder, WriteOutcome};
use crate::kernel::finding::{Position, TextRange};
use crate::kernel::hash::ContentHash;
use crate::kernel::ids::{ChangeId, QuestionId, ToolCallId};
use crate::kernel::path::RelPath;
use crate::kernel::question::{
    Answer, BlockerReason, Choice, ConflictReason, Overwrite, OverwriteTexts, QuestionKind,
    QuestionPlace,
};
use crate::kernel::questions::{self, Draft, choice, offer, stop_offer};
use crate::kernel::run::{
    AppliedAnswer, ChangedFile, CurrentCall, PlannedWrite, Run, Stage, WaitingFor,
};
use crate::kernel::state::Frame;
use crate::kernel::tool::{AskUser, RunCommand, SeenFile, ToolOutput, ToolUse};

/// How often a file is looked at again because it changed under a write.
const LOOKS: u32 = 5;

/// Takes the next calls until one has to be waited for; after the last one the model gets the results.
pub fn advance(run: &mut Run, frame: &mut Frame<'_>) {
    while run.current.is_none() {
        let Some(call) = run.queue.pop_front() else {
            let results = std::mem::take(&mut run.results);
            react::add_blocks(run, results);
            react::call_model(run, frame);
            return;
        };
        run.tool_calls += 1;
        start(run, frame, call);
    }
}

fn start(run: &mut Run, frame: &mut Frame<'_>, call: ReadCall) {
    let summary = match &call.tool {
        ReadTool::Use(tool) => render::tool(tool),
        ReadTool::Malformed(why) => why.lines().next().unwrap_or_default().to_owned(),
    };
    frame.record(
        run,
        RunEvent::ToolRequested {
            call: call.id.clone(),
            name: call.name.clone(),
            summary: summary.clone(),
        },
    );
    let tool = match call.tool.clone() {
        ReadTool::Malformed(why) => return fail(run, frame, &call.id, why),
        ReadTool::Use(tool) => tool,
    };
    match tool {
        ToolUse::Plan(plan) => {
            run.plan.clone_from(&plan.items);
            frame.record(run, RunEvent::PlanUpdated { items: plan.items });
            complete(run, frame, &call.id, "The plan is noted.".to_owned());
        }
        ToolUse::Read(_) | ToolUse::List(_) | ToolUse::Search(_) => {
            perform(run, frame, call, tool, &summary)
        }
        ToolUse::Command(command) => match (run.spec.policy.commands, run.commands_allowed) {
            (CommandPolicy::Allow, _) | (_, true) => {
                perform(run, frame, call, ToolUse::Command(command), &summary)
            }
            (CommandPolicy::Deny, _) => deny(
                run,
                frame,
                &call.id,
                "Commands are not allowed in this run. Do without.".to_owned(),
            ),
            (CommandPolicy::Ask, _) => ask_for_command(run, frame, call, &command),
        },
        ToolUse::Write(write) => inspect(run, frame, call, Proposal::Write(write), None, 0),
        ToolUse::Edit(edit) => inspect(run, frame, call, Proposal::Edit(edit), None, 0),
        ToolUse::Ask(ask) => ask_user(run, frame, call, ask),
    }
}

fn perform(run: &mut Run, frame: &mut Frame<'_>, call: ReadCall, tool: ToolUse, summary: &str) {
    frame.record(
        run,
        RunEvent::ToolStarted {
            call: call.id.clone(),
        },
    );
    let overlay = frame.overlay();
    frame.perform(Effect::RunTool {
        run: run.id.clone(),
        call: call.id.clone(),
        tool,
        overlay,
    });
    waits_for(
        run,
        frame,
        WaitingFor::Tool,
        format!("{} {summary}", call.name),
    );
    run.current = Some(CurrentCall {
        call,
        stage: Stage::Performing,
    });
}

fn inspect(
    run: &mut Run,
    frame: &mut Frame<'_>,
    call: ReadCall,
    proposal: Proposal,
    answer: Option<AppliedAnswer>,
    looks: u32,
) {
    let overlay = frame.overlay();
    let path = proposal.path().clone();
    frame.perform(Effect::Inspect {
        run: run.id.clone(),
        call: call.id.clone(),
        path: path.clone(),
        overlay,
    });
    waits_for(run, frame, WaitingFor::File, path.to_string());
    run.current = Some(CurrentCall {
        call,
        stage: Stage::Inspecting {
            proposal,
            answer,
            looks,
        },
    });
}

fn result(run: &mut Run, call: &ToolCallId, text: String, is_error: bool) {
    run.results.push(Block::ToolResult {
        call: call.clone(),
        text,
        is_error,
    });
}

pub fn complete(run: &mut Run, frame: &mut Frame<'_>, call: &ToolCallId, text: String) {
    frame.record(
        run,
        RunEvent::ToolCompleted {
            call: call.clone(),
            result: text.clone(),
        },
    );
    result(run, call, text, false);
}

fn fail(run: &mut Run, frame: &mut Frame<'_>, call: &ToolCallId, error: String) {
    frame.record(
        run,
        RunEvent::ToolFailed {
            call: call.clone(),
            error: error.clone(),
        },
    );
    result(run, call, error, true);
}

fn deny(run: &mut Run, frame: &mut Frame<'_>, call: &ToolCallId, reason: String) {
    frame.record(
        run,
        RunEvent::ToolDenied {
            call: call.clone(),
            reason: reason.clone(),
        },
    );
    result(run, call, reason, true);
}

/// Takes the current call if it is this one.
fn take_current(run: &mut Run, call: &ToolCallId) -> Option<CurrentCall> {
    if run
        .current
        .as_ref()
        .is_some_and(|current| current.call.id == *call)
    {
        run.current.take()
    } else {
        None
    }
}

pub fn on_output(run: &mut Run, frame: &mut Frame<'_>, call: &ToolCallId, output: ToolOutput) {
    let Some(current) = take_current(run, call) else {
        return;
    };
    if let Some(seen) = output.seen {
        run.seen.insert(seen.path.clone(), seen);
    }
    if output.is_error {
        fail(run, frame, &current.call.id, output.text);
    } else {
        complete(run, frame, &current.call.id, output.text);
    }
    advance(run, frame);
}

pub fn on_inspected(run: &mut Run, frame: &mut Frame<'_>, call: &ToolCallId, now: &FileNow) {
    let Some(current) = take_current(run, call) else {
        return;
    };
    let CurrentCall { call, stage } = current;
    match stage {
        Stage::Inspecting {
            proposal,
            answer,
            looks,
        } => match answer {
            Some(answer) if answer.current.as_ref() == now.hash() => {
                apply_answer(run, frame, call, proposal, &answer.answer, now)
            }
            // What the user answered about is gone: decide anew.
            _ => decide(run, frame, call, proposal, now, looks),
        },
        Stage::Settling(planned) => settle(run, frame, call, planned, now),
        stage => run.current = Some(CurrentCall { call, stage }),
    }
    if run.current.is_none() && run.stopping.is_none() {
        advance(run, frame);
    }
}

fn decide(
    run: &mut Run,
    frame: &mut Frame<'_>,
    call: ReadCall,
    proposal: Proposal,
    now: &FileNow,
    looks: u32,
) {
    let situation = Situation {
        proposal: &proposal,
        seen: run.seen.get(proposal.path()),
        now,
        conflict: run.spec.policy.conflict,
        merge: run.spec.policy.merge,
    };
    match conflict::decide(&situation) {
        Verdict::Identical => {
            remember(run, proposal.path(), now);
            let text = format!(
                "{} already has exactly this content; nothing was written.",
                proposal.path()
            );
            complete(run, frame, &call.id, text);
        }
        Verdict::Refuse { message } => fail(run, frame, &call.id, message),
        Verdict::Conflict { reason, proposed } => {
            ask_about_overwrite(run, frame, call, proposal, now, reason, proposed)
        }
        Verdict::Write {
            order,
            merged,
            note,
        } => plan_write(
            run,
            frame,
            call,
            Plan {
                proposal,
                order,
                merged,
                note,
                looks,
            },
            now,
        ),
    }
}

struct Plan {
    proposal: Proposal,
    order: WriteOrder,
    merged: bool,
    note: String,
    looks: u32,
}

fn plan_write(run: &mut Run, frame: &mut Frame<'_>, call: ReadCall, plan: Plan, now: &FileNow) {
    run.last_change = run.last_change.next();
    let planned = PlannedWrite {
        change: run.last_change,
        after: plan.order.content.hash(),
        order: plan.order,
        proposal: plan.proposal,
        before_text: now.text().map(|now| Arc::clone(&now.text)),
        note: plan.note,
        merged: plan.merged,
        looks: plan.looks,
    };
    if run.baseline.is_none() {
        waits_for(run, frame, WaitingFor::Gate, "the baseline");
        run.current = Some(CurrentCall {
            call,
            stage: Stage::AwaitingBaseline(planned),
        });
    } else {
        write(run, frame, call, planned);
    }
}

/// The baseline is known: a write that waited for it may go on.
pub fn baseline_arrived(run: &mut Run, frame: &mut Frame<'_>) {
    let waits = matches!(&run.current, Some(current) if matches!(current.stage, Stage::AwaitingBaseline(_)));
    if waits
        && let Some(CurrentCall {
            call,
            stage: Stage::AwaitingBaseline(planned),
        }) = run.current.take()
    {
        // Time has passed since the file was looked at; the write's own condition still guards it.
        write(run, frame, call, planned);
    }
}

fn write(run: &mut Run, frame: &mut Frame<'_>, call: ReadCall, planned: PlannedWrite) {
    frame.record(
        run,
        RunEvent::ChangePlanned {
            change: planned.change,
            call: call.id.clone(),
            path: planned.order.path.clone(),
            before: planned.order.expected.clone(),
            after: planned.after.clone(),
            merged: planned.merged,
        },
    );
    let document = frame.documents.get(&planned.order.path).cloned();
    frame.perform(Effect::Write {
        run: run.id.clone(),
        change: planned.change,
        order: planned.order.clone(),
        document,
    });
    waits_for(run, frame, WaitingFor::File, planned.order.path.to_string());
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
    let waits = matches!(&run.current, Some(current) if matches!(&current.stage, Stage::Writing(planned) if planned.change == change));
    let taken = if waits { run.current.take() } else { None };
    let Some(CurrentCall {
        call,
        stage: Stage::Writing(planned),
    }) = taken
    else {
        // The run was ended meanwhile; what was written is still its change.
        if let WriteOutcome::Written { before, after, .. } = outcome {
            note_change(run, frame, change, path, (before, after), (0, 0));
        }
        return;
    };
    match outcome {
        WriteOutcome::Written { before, after, .. } => {
            written(run, frame, call, &planned, (before, after))
        }
        WriteOutcome::Changed if planned.looks < LOOKS && run.stopping.is_none() => {
            let looks = planned.looks + 1;
            inspect(run, frame, call, planned.proposal, None, looks);
        }
        WriteOutcome::Changed => fail(
            run,
            frame,
            &call.id,
            format!(
                "{path} keeps changing while it is written; nothing was written. Read it again."
            ),
        ),
        WriteOutcome::Failed { error } => fail(
            run,
            frame,
            &call.id,
            format!("Nothing was written to {path}: {error}"),
        ),
        WriteOutcome::Unknown { .. } if run.stopping.is_none() => {
            let overlay = frame.overlay();
            frame.perform(Effect::Inspect {
                run: run.id.clone(),
                call: call.id.clone(),
                path: path.clone(),
                overlay,
            });
            run.current = Some(CurrentCall {
                call,
                stage: Stage::Settling(planned),
            });
        }
        WriteOutcome::Unknown { error } => fail(
            run,
            frame,
            &call.id,
            format!("It is not known whether {path} was written: {error}"),
        ),
    }
    if run.current.is_none() && run.stopping.is_none() && run.ended.is_none() {
        advance(run, frame);
    }
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
        written(run, frame, call, &planned, (before, hash));
    } else {
        // Either nothing happened, or something else did: what is there now decides.
        let looks = planned.looks + 1;
        decide(run, frame, call, planned.proposal, now, looks);
    }
}

type Hashes = (Option<ContentHash>, Option<ContentHash>);

fn written(
    run: &mut Run,
    frame: &mut Frame<'_>,
    call: ReadCall,
    planned: &PlannedWrite,
    hashes: Hashes,
) {
    let path = planned.order.path.clone();
    let new_text: Arc<str> = match &planned.order.content {
        NewContent::Text { text, .. } => Arc::clone(text),
        NewContent::Deleted => Arc::from(""),
    };
    let old_text = planned.before_text.clone().unwrap_or_else(|| Arc::from(""));
    let hunks = diff::hunks(&old_text, &new_text);
    let added = hunks.iter().map(|hunk| hunk.new_lines).sum();
    let removed = hunks.iter().map(|hunk| hunk.old_lines).sum();
    let created = hashes.0.is_none();
    if let Some(hash) = &hashes.1 {
        run.seen.insert(
            path.clone(),
            SeenFile {
                path: path.clone(),
                hash: hash.clone(),
                text: new_text,
            },
        );
    }
    note_change(run, frame, planned.change, &path, hashes, (added, removed));
    if run.stopping.is_some() {
        return;
    }
    let mut said = if created {
        format!("{path} was created.")
    } else {
        format!("{path} was changed (+{added} -{removed} lines).")
    };
    if planned.merged {
        said.push_str(" The user had changed it elsewhere; both are kept. Read it again before you change it further.");
        run.seen.remove(&path);
    }
    if !planned.note.is_empty() {
        said.push(' ');
        said.push_str(&planned.note);
    }
    let round = verify::start(run, frame, GateRound::Change, vec![path.clone()]);
    waits_for(run, frame, WaitingFor::Gate, path.to_string());
    run.current = Some(CurrentCall {
        call,
        stage: Stage::Verifying { round, said },
    });
}

fn note_change(
    run: &mut Run,
    frame: &mut Frame<'_>,
    change: ChangeId,
    path: &RelPath,
    hashes: Hashes,
    lines: (u32, u32),
) {
    let (before, after) = hashes;
    frame.record(
        run,
        RunEvent::ChangeMade {
            change,
            path: path.clone(),
            before: before.clone(),
            after: after.clone(),
            added: lines.0,
            removed: lines.1,
        },
    );
    let file = run.changes.entry(path.clone()).or_insert(ChangedFile {
        before,
        after: None,
        added: 0,
        removed: 0,
    });
    file.after = after;
    file.added += lines.0;
    file.removed += lines.1;
}

/// What the model is considered to have read.
fn remember(run: &mut Run, path: &RelPath, now: &FileNow) {
    if let FileNow::Text(text) = now {
        run.seen.insert(
            path.clone(),
            SeenFile {
                path: path.clone(),
                hash: text.hash.clone(),
                text: Arc::clone(&text.text),
            },
        );
    }
}

fn ask_about_overwrite(
    run: &mut Run,
    frame: &mut Frame<'_>,
    call: ReadCall,
    proposal: Proposal,
    now: &FileNow,
    reason: ConflictReason,
    proposed: Arc<str>,
) {
    let path = proposal.path().clone();
    let seen = run.seen.get(&path);
    let current = now.text();
    let current_text = current.map(|now| Arc::clone(&now.text));
    let encoding = current.map_or(Encoding::Utf8, |now| now.encoding);
    let hunks = diff::hunks(current_text.as_deref().unwrap_or_default(), &proposed);
    let place = hunks.first().map(|hunk| QuestionPlace {
        path: path.clone(),
        range: line_range(hunk.old_start, hunk.old_lines),
    });
    let why = match reason {
        ConflictReason::Exists => "it exists, and the agent has not read it",
        ConflictReason::ChangedOnDisk => "it has changed on disk since the agent read it",
        ConflictReason::UnsavedText => "it has unsaved changes in your editor",
        ConflictReason::Deleted => "it was deleted after the agent read it",
        ConflictReason::Deletion => "the agent deletes it, and did not make it",
    };
    let draft = Draft {
        title: format!("Overwrite {path}? {why}"),
        detail: diff::unified(&path, current_text.as_deref(), Some(&proposed)),
        place,
        kind: QuestionKind::Overwrite(Overwrite {
            call: call.id.clone(),
            path: path.clone(),
            reason,
            base: seen.map(|seen| seen.hash.clone()),
            current: now.hash().cloned(),
            proposed: Some(ContentHash::of(&encoding.encode(&proposed))),
            unsaved: current.is_some_and(|now| now.source == TextSource::UnsavedDocument),
            hunks,
            texts: OverwriteTexts {
                base: seen.map(|seen| Arc::clone(&seen.text)),
                current: current_text,
                proposed: Some(proposed),
            },
        }),
        choices: vec![
            offer(
                choice::TAKE_ALL,
                "Take the agent's version",
                "the file becomes what the agent proposes",
            ),
            offer(
                choice::KEEP_MINE,
                "Keep mine",
                "the file stays as it is and the agent is told",
            ),
            stop_offer(),
        ],
        free_text: false,
    };
    let question = questions::open(run, frame, draft);
    waits_for(run, frame, WaitingFor::You, format!("overwrite {path}?"));
    run.current = Some(CurrentCall {
        call,
        stage: Stage::Asking { question },
    });
}

fn line_range(start: u32, lines: u32) -> TextRange {
    let at = |line| Position {
        line,
        ..Position::default()
    };
    TextRange {
        start: at(start),
        end: at(start + lines),
    }
}

fn apply_answer(
    run: &mut Run,
    frame: &mut Frame<'_>,
    call: ReadCall,
    proposal: Proposal,
    answer: &Answer,
    now: &FileNow,
) {
    let path = proposal.path().clone();
    let Some(overwrite) = answered_overwrite(run, frame, &call.id) else {
        return fail(
            run,
            frame,
            &call.id,
            format!("The question about {path} is lost; nothing was written."),
        );
    };
    let current = overwrite
        .texts
        .current
        .clone()
        .unwrap_or_else(|| Arc::from(""));
    let (text, note): (Arc<str>, String) = match answer {
        Answer::TakeHunks { hunks } => {
            let total = overwrite.hunks.len();
            let note = format!("The user took {} of your {total} changes and kept their own text elsewhere.", hunks.len());
            match diff::apply_hunks(&current, &overwrite.hunks, hunks) {
                Ok(text) => (text.into(), note),
                Err(misfit) => return fail(run, frame, &call.id, format!("The chosen parts do not fit {path} any more ({misfit}); nothing was written.")),
            }
        }
        Answer::TakeText { text } => (text.as_str().into(), "The user took an edited version of your proposal: read it again before you change it further.".to_owned()),
        _ => (overwrite.texts.proposed.clone().unwrap_or_else(|| Arc::from("")), "The user agreed to overwrite it.".to_owned()),
    };
    if now.text().is_some_and(|now| now.text == text) {
        remember(run, &path, now);
        return complete(
            run,
            frame,
            &call.id,
            format!("{path} already has exactly this content; nothing was written."),
        );
    }
    let encoding = now.text().map_or(Encoding::Utf8, |now| now.encoding);
    let order = WriteOrder {
        path,
        expected: now.hash().cloned(),
        content: NewContent::Text { text, encoding },
    };
    plan_write(
        run,
        frame,
        call,
        Plan {
            proposal,
            order,
            merged: false,
            note,
            looks: 0,
        },
        now,
    );
}

/// The overwrite that the user last answered for this call.
fn answered_overwrite(run: &Run, frame: &Frame<'_>, call: &ToolCallId) -> Option<Overwrite> {
    frame
        .questions
        .values()
        .filter(|question| question.run == run.id)
        .rev()
        .find_map(|question| match &question.kind {
            QuestionKind::Overwrite(overwrite)
                if overwrite.call == *call
                    && matches!(
                        question.state,
                        crate::kernel::question::QuestionState::Answered { .. }
                    ) =>
            {
                Some(overwrite.clone())
            }
            _ => None,
        })
}

fn ask_user(run: &mut Run, frame: &mut Frame<'_>, call: ReadCall, ask: AskUser) {
    let mut choices: Vec<Choice> = ask
        .choices
        .iter()
        .enumerate()
        .map(|(at, label)| {
            offer(
                &(at + 1).to_string(),
                label,
                "the agent goes on with this answer",
            )
        })
        .collect();
    choices.push(stop_offer());
    let place = ask.path.map(|path| QuestionPlace {
        path,
        range: line_range(ask.line.unwrap_or(1).saturating_sub(1), 1),
    });
    let draft = Draft {
        title: ask.question.clone(),
        detail: String::new(),
        place,
        kind: QuestionKind::Blocker {
            reason: BlockerReason::Asked,
        },
        choices,
        free_text: true,
    };
    let question = questions::open(run, frame, draft);
    waits_for(run, frame, WaitingFor::You, ask.question);
    run.current = Some(CurrentCall {
        call,
        stage: Stage::Asking { question },
    });
}

fn ask_for_command(run: &mut Run, frame: &mut Frame<'_>, call: ReadCall, command: &RunCommand) {
    let draft = Draft {
        title: format!("Run `{}`?", command.command),
        detail: String::new(),
        place: None,
        kind: QuestionKind::Command {
            command: command.command.clone(),
            cwd: command.cwd.clone(),
        },
        choices: vec![
            offer(choice::ALLOW, "Run it", "this command runs once"),
            offer(
                choice::ALLOW_RUN,
                "Run it, and all others of this run",
                "the run does not ask about commands again",
            ),
            offer(
                choice::REJECT,
                "Do not run it",
                "the agent is told and goes on without",
            ),
            stop_offer(),
        ],
        free_text: true,
    };
    let question = questions::open(run, frame, draft);
    waits_for(
        run,
        frame,
        WaitingFor::You,
        format!("run `{}`?", command.command),
    );
    run.current = Some(CurrentCall {
        call,
        stage: Stage::Asking { question },
    });
}

/// The answer to the question of the current call.
pub fn on_answer(run: &mut Run, frame: &mut Frame<'_>, question: &QuestionId, answer: Answer) {
    let asks = matches!(&run.current, Some(current) if matches!(&current.stage, Stage::Asking { question: open } if open == question));
    if !asks {
        return;
    }
    let Some(CurrentCall { call, .. }) = run.current.take() else {
        return;
    };
    let (tool, kind) = match (
        call.tool.clone(),
        frame
            .questions
            .get(question)
            .map(|question| question.kind.clone()),
    ) {
        (ReadTool::Use(tool), Some(kind)) => (tool, kind),
        _ => return fail(run, frame, &call.id, "the question is lost".to_owned()),
    };
    match (tool, kind) {
        (ToolUse::Write(write), QuestionKind::Overwrite(overwrite)) => {
            overwrite_answered(run, frame, call, Proposal::Write(write), &overwrite, answer)
        }
        (ToolUse::Edit(edit), QuestionKind::Overwrite(overwrite)) => {
            overwrite_answered(run, frame, call, Proposal::Edit(edit), &overwrite, answer)
        }
        (ToolUse::Command(command), _) => command_answered(run, frame, call, command, answer),
        (_, _) => {
            let said = match &answer {
                Answer::Choice { choice } => chosen_label(frame, question, choice),
                Answer::Text { text } => text.clone(),
                other => format!("{other:?}"),
            };
            complete(run, frame, &call.id, format!("The user answered: {said}"));
        }
    }
    if run.current.is_none() {
        advance(run, frame);
    }
}

fn chosen_label(frame: &Frame<'_>, question: &QuestionId, choice: &str) -> String {
    let offered = frame
        .questions
        .get(question)
        .and_then(|question| question.choices.iter().find(|offered| offered.id == choice));
    offered.map_or_else(|| choice.to_owned(), |offered| offered.label.clone())
}

fn overwrite_answered(
    run: &mut Run,
    frame: &mut Frame<'_>,
    call: ReadCall,
    proposal: Proposal,
    overwrite: &Overwrite,
    answer: Answer,
) {
    if let Answer::KeepMine { reason } = &answer {
        let why = reason
            .as_deref()
            .map(|reason| format!(" They say: {reason}"))
            .unwrap_or_default();
        let path = proposal.path();
        let text = format!(
            "The user kept their own version of {path}; nothing was written.{why} Read it before you propose anything else for it."
        );
        run.seen.remove(path);
        return deny(run, frame, &call.id, text);
    }
    let answer = AppliedAnswer {
        answer,
        current: overwrite.current.clone(),
    };
    inspect(run, frame, call, proposal, Some(answer), 0);
}

fn command_answered(
    run: &mut Run,
    frame: &mut Frame<'_>,
    call: ReadCall,
    command: RunCommand,
    answer: Answer,
) {
    let picked = match &answer {
        Answer::Choice { choice } => choice.as_str(),
        _ => "",
    };
    if picked == choice::ALLOW_RUN {
        run.commands_allowed = true;
    }
    if picked == choice::ALLOW || picked == choice::ALLOW_RUN {
        let summary = render::tool(&ToolUse::Command(command.clone()));
        return perform(run, frame, call, ToolUse::Command(command), &summary);
    }
    let why = match answer {
        Answer::Text { text } => format!(" They say: {text}"),
        _ => String::new(),
    };
    deny(
        run,
        frame,
        &call.id,
        format!("The user did not allow the command.{why}"),
    );
}
