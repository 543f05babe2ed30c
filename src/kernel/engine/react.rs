//! The `react` engine: a tool-use loop. The model answers, its tool calls are done in order, their results go back, until
//! it answers without a call; then the gates decide whether it is done.

use super::lifecycle::{cancel, end, set_status, waits_for};
use super::{asking, calls, changes, prompt, render, verify};
use crate::kernel::conversation::{
    Block, Message, ModelFailure, ModelRequest, ModelTurn, Role, StopReason,
};
use crate::kernel::effect::Effect;
use crate::kernel::event::{Context, GateRound, ReadCall, RunEvent, RunOutcome};
use crate::kernel::ids::{ModelCallId, QuestionId, TimerId};
use crate::kernel::policy::budget::{self, Spent};
use crate::kernel::policy::recovery::{self, Recovery};
use crate::kernel::question::{Answer, BlockerReason, QuestionKind};
use crate::kernel::questions::{self, Draft, choice, offer, stop_offer};
use crate::kernel::run::{Run, RunQuestion, RunStatus, WaitingFor};
use crate::kernel::state::Frame;

/// Rounds in which an answer that the output limit cut is continued.
const CONTINUATIONS: u32 = 3;

/// Feeds one fact. Facts of a run that is over or being stopped change nothing, save for what was written.
pub fn on_fact(run: &mut Run, frame: &mut Frame<'_>, fact: RunEvent) {
    if let RunEvent::WriteFinished {
        change,
        path,
        outcome,
    } = fact
    {
        changes::on_written(run, frame, change, &path, outcome);
        return;
    }
    if run.ended.is_some() {
        return;
    }
    if run.stopping.is_some() {
        if matches!(fact, RunEvent::WorkStopped) {
            let by = run.stopping.clone().unwrap_or_default();
            end(
                run,
                frame,
                RunOutcome::Cancelled,
                format!("stopped by {by}"),
            );
        }
        return;
    }
    match fact {
        RunEvent::ContextGathered { context } => on_context(run, frame, &context),
        RunEvent::ModelReplied { call, turn, tools } => on_reply(run, frame, call, turn, tools),
        RunEvent::ModelFailed { call, failure } => on_failure(run, frame, call, &failure),
        RunEvent::ToolFinished { call, output, .. } => calls::on_output(run, frame, &call, output),
        RunEvent::FileInspected { call, now, .. } => changes::on_inspected(run, frame, &call, &now),
        RunEvent::GatesReported { round, reports } => {
            verify::on_reports(run, frame, round, &reports)
        }
        RunEvent::QuestionAnswered {
            question, answer, ..
        } => on_answer(run, frame, &question, answer),
        RunEvent::CancelRequested { by } => cancel(run, frame, &by),
        RunEvent::TimerFired { timer } => on_timer(run, frame, timer),
        _ => {}
    }
}

pub fn begin(run: &mut Run, frame: &mut Frame<'_>) {
    set_status(run, frame, RunStatus::Planning, None);
    let overlay = frame.overlay();
    frame.perform(Effect::Gather {
        run: run.id.clone(),
        overlay,
    });
    verify::start(run, frame, GateRound::Baseline, Vec::new());
}

fn on_context(run: &mut Run, frame: &mut Frame<'_>, context: &Context) {
    run.system = prompt::system(context);
    let task = prompt::task(&run.spec.prompt, context);
    say(run, task);
    call_model(run, frame);
}

/// Adds words of ours or of the user to the conversation.
pub fn say(run: &mut Run, text: String) {
    add_blocks(run, vec![Block::text(text)]);
}

/// Adds blocks to the user's side; providers want the sides to alternate.
pub fn add_blocks(run: &mut Run, blocks: Vec<Block>) {
    match run.messages.last_mut() {
        Some(last) if last.role == Role::User => last.blocks.extend(blocks),
        _ => run.messages.push(Message {
            role: Role::User,
            blocks,
        }),
    }
}

/// Calls the model, unless a limit is reached: then a human is asked first.
pub fn call_model(run: &mut Run, frame: &mut Frame<'_>) {
    let spent = spent(run, frame);
    if let Some(limit) = budget::reached(spent, &run.spec.budget) {
        let limit = limit.describe(&run.spec.budget);
        let draft = Draft {
            title: format!("The run has used its budget of {limit}"),
            detail: format!(
                "So far: {} s of work, {} tokens, {} model turns.",
                spent.active_ms / 1000,
                spent.tokens,
                spent.iterations
            ),
            place: None,
            kind: QuestionKind::Budget {
                limit: limit.clone(),
            },
            choices: vec![
                offer(
                    choice::RAISE,
                    "Raise it",
                    "the limit is doubled and the run goes on where it is",
                ),
                offer(
                    choice::GIVE_UP,
                    "Give up",
                    "the run fails; what it has written stays",
                ),
                stop_offer(),
            ],
            free_text: false,
        };
        ask_about_run(run, frame, draft, RunQuestion::Budget);
        return;
    }
    run.last_call = run.last_call.next();
    run.calling = true;
    let mut messages = run.messages.clone();
    if let Some(hint) = &run.hint {
        let block = Block::text(hint.clone());
        match messages.last_mut() {
            Some(last) if last.role == Role::User => last.blocks.push(block),
            _ => messages.push(Message {
                role: Role::User,
                blocks: vec![block],
            }),
        }
    }
    let request = ModelRequest {
        model: run.spec.model.clone(),
        system: run.system.clone(),
        messages,
        tools: prompt::TOOLS
            .iter()
            .map(|name| (*name).to_owned())
            .collect(),
        max_output_tokens: None,
    };
    frame.record(
        run,
        RunEvent::ModelCalled {
            call: run.last_call,
            model: run.spec.model.clone(),
        },
    );
    frame.perform(Effect::CallModel {
        run: run.id.clone(),
        call: run.last_call,
        request,
    });
    let model = run.spec.model.clone();
    waits_for(run, frame, WaitingFor::Model, model);
}

fn spent(run: &Run, frame: &Frame<'_>) -> Spent {
    Spent {
        active_ms: run.active_ms(frame.now),
        tokens: run.usage.total(),
        iterations: run.iterations,
    }
}

fn on_reply(
    run: &mut Run,
    frame: &mut Frame<'_>,
    call: ModelCallId,
    turn: ModelTurn,
    tools: Vec<ReadCall>,
) {
    if call != run.last_call || !run.calling {
        return;
    }
    run.calling = false;
    run.usage.add(turn.usage);
    run.model_failures = 0;
    let text = turn.text().trim().to_owned();
    let cut = matches!(turn.stop, StopReason::MaxTokens | StopReason::ContextFull);
    if tools.is_empty() && text.is_empty() {
        // A recovery, not an iteration; the hint stays out of the history.
        run.empty_answers += 1;
        if run.empty_answers > 1 {
            ask_about_model(
                run,
                frame,
                "The model answered twice with nothing",
                "Neither answer had text or a tool call.".to_owned(),
            );
            return;
        }
        let (note, what) = if cut {
            (
                "Your last answer reached the output limit before anything of it was visible. Answer shorter.",
                "the output limit left nothing visible",
            )
        } else {
            (
                "Your last answer was empty. Go on with the task: call a tool, or say in words what you did and why you are done.",
                "the answer was empty",
            )
        };
        run.hint = Some(note.to_owned());
        let kind = if cut {
            crate::kernel::conversation::ModelErrorKind::MaxOutput
        } else {
            crate::kernel::conversation::ModelErrorKind::Empty
        };
        frame.record(
            run,
            RunEvent::ModelRetried {
                kind,
                what: format!("{what}: asked again with a hint"),
                after_ms: 0,
            },
        );
        call_model(run, frame);
        return;
    }
    run.hint = None;
    run.empty_answers = 0;
    run.iterations += 1;
    let stop = turn.stop.clone();
    run.messages.push(Message {
        role: Role::Assistant,
        blocks: turn.blocks,
    });
    if !tools.is_empty() {
        run.continuations = 0;
        run.queue = tools.into();
        calls::advance(run, frame);
        return;
    }
    match stop {
        StopReason::MaxTokens | StopReason::ContextFull | StopReason::Pause => {
            run.continuations += 1;
            if run.continuations > CONTINUATIONS {
                ask_about_model(
                    run,
                    frame,
                    "The model's answer is cut off by its output limit again and again",
                    format!("{CONTINUATIONS} continuations did not complete it."),
                );
                return;
            }
            if stop != StopReason::Pause {
                say(
                    run,
                    "Continue exactly where you stopped. Do not repeat.".to_owned(),
                );
            }
            call_model(run, frame);
        }
        StopReason::ContentFilter => {
            ask_about_model(run, frame, "The model refused to answer", text)
        }
        StopReason::EndTurn | StopReason::ToolUse | StopReason::Other(_) => {
            run.continuations = 0;
            run.closing_text = text;
            if run.changes.is_empty() {
                let text = run.closing_text.clone();
                end(run, frame, RunOutcome::Succeeded, text);
            } else {
                check_all(run, frame);
            }
        }
    }
}

fn check_all(run: &mut Run, frame: &mut Frame<'_>) {
    let paths = run.changes.keys().cloned().collect();
    verify::start(run, frame, GateRound::Final, paths);
    waits_for(run, frame, WaitingFor::Gate, "all gates");
}

fn on_failure(run: &mut Run, frame: &mut Frame<'_>, call: ModelCallId, failure: &ModelFailure) {
    if call != run.last_call || !run.calling {
        return;
    }
    run.calling = false;
    run.model_failures += 1;
    match recovery::decide(failure, run.model_failures) {
        Recovery::Again { after_ms, parked } => {
            frame.record(
                run,
                RunEvent::ModelRetried {
                    kind: failure.kind,
                    what: failure.advice.clone(),
                    after_ms,
                },
            );
            run.last_timer = run.last_timer.next();
            run.timer = Some(run.last_timer);
            frame.perform(Effect::ArmTimer {
                run: run.id.clone(),
                timer: run.last_timer,
                after_ms,
            });
            let what = if parked {
                WaitingFor::RateLimit
            } else {
                WaitingFor::Retry
            };
            waits_for(run, frame, what, failure.advice.clone());
        }
        Recovery::Hint { note } => {
            run.hint = Some(note);
            frame.record(
                run,
                RunEvent::ModelRetried {
                    kind: failure.kind,
                    what: "asked again with a hint".to_owned(),
                    after_ms: 0,
                },
            );
            call_model(run, frame);
        }
        Recovery::Ask => {
            let title = format!(
                "The model {} cannot go on: {}",
                run.spec.model, failure.advice
            );
            ask_about_model(run, frame, &title, render::failure(failure));
        }
    }
}

fn on_timer(run: &mut Run, frame: &mut Frame<'_>, timer: TimerId) {
    if run.timer == Some(timer) {
        run.timer = None;
        call_model(run, frame);
    }
}

fn ask_about_model(run: &mut Run, frame: &mut Frame<'_>, title: &str, detail: String) {
    let draft = Draft {
        title: title.to_owned(),
        detail,
        place: None,
        kind: QuestionKind::Blocker {
            reason: BlockerReason::Model,
        },
        choices: vec![
            offer(
                choice::RETRY,
                "Try again",
                "the same call is made once more",
            ),
            offer(
                choice::GIVE_UP,
                "Give up",
                "the run fails; what it has written stays",
            ),
            stop_offer(),
        ],
        free_text: true,
    };
    ask_about_run(run, frame, draft, RunQuestion::Model);
}

fn ask_about_run(run: &mut Run, frame: &mut Frame<'_>, draft: Draft, about: RunQuestion) {
    let title = draft.title.clone();
    let id = questions::open(run, frame, draft);
    run.run_question = Some((id, about));
    waits_for(run, frame, WaitingFor::You, title);
}

/// An answer that [`questions::accept`] let through.
fn on_answer(run: &mut Run, frame: &mut Frame<'_>, question: &QuestionId, answer: Answer) {
    run.open_questions.remove(question);
    if answer == Answer::StopRun {
        cancel(run, frame, "you");
        return;
    }
    match run.run_question.take() {
        Some((id, about)) if id == *question => on_run_answer(run, frame, about, answer),
        other => {
            run.run_question = other;
            asking::on_answer(run, frame, question, answer);
        }
    }
}

fn on_run_answer(run: &mut Run, frame: &mut Frame<'_>, about: RunQuestion, answer: Answer) {
    let picked = match &answer {
        Answer::Choice { choice } => choice.as_str(),
        _ => "",
    };
    if picked == choice::GIVE_UP {
        let text = match about {
            RunQuestion::Verification => "given up: the gates still reject the work",
            RunQuestion::Model => "given up: the model could not go on",
            RunQuestion::Budget => "given up: the budget is used up",
        };
        end(run, frame, RunOutcome::Failed, text.to_owned());
        return;
    }
    match about {
        RunQuestion::Budget => {
            let spent = spent(run, frame);
            if let Some(limit) = budget::reached(spent, &run.spec.budget) {
                run.spec.budget = budget::raised(&run.spec.budget, limit, spent);
            }
            call_model(run, frame);
        }
        RunQuestion::Model => {
            run.model_failures = 0;
            run.empty_answers = 0;
            run.continuations = 0;
            if let Answer::Text { text } = answer {
                say(run, text);
            }
            call_model(run, frame);
        }
        RunQuestion::Verification => {
            if picked == choice::CHECK_AGAIN {
                run.verification_failures = 2;
                check_all(run, frame);
                return;
            }
            run.verification_failures = 0;
            let words = match answer {
                Answer::Text { text } => format!("The user says: {text}"),
                _ => "Your work is still rejected. Try another way.".to_owned(),
            };
            let findings: String = run.new_findings().take(40).map(render::finding).collect();
            say(run, format!("{words}\n{findings}"));
            call_model(run, frame);
        }
    }
}
