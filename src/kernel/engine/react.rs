//! The `react` engine: a tool-use loop. The model answers, its tool calls are done in order, their results go back, until
//! it answers without a call; then the gates decide whether it is done.

use super::lifecycle::{cancel, end, set_status, waits_for};
use super::thinking::{call_model, on_failure, on_reply, on_timer, pay, say, spent};
use super::{again, asking, calls, changes, prompt, render, verify};
use crate::kernel::conversation::Block;
use crate::kernel::effect::Effect;
use crate::kernel::event::{Context, GateRound, ReadCall, RunEvent, RunOutcome, Steer};
use crate::kernel::ids::QuestionId;
use crate::kernel::policy::{budget, lease};
use crate::kernel::question::Answer;
use crate::kernel::questions::choice;
use crate::kernel::run::{Held, ModelTalk, Run, RunQuestion, RunStatus, WaitingFor};
use crate::kernel::state::Frame;

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
    match (&fact, run.stopping.clone()) {
        (RunEvent::Abandoned { by }, _) => return again::abandon(run, frame, by),
        // It was being stopped when its process ended: now nothing works any more.
        (RunEvent::Resumed { .. }, Some(by)) => return again::abandon(run, frame, &by),
        (RunEvent::Resumed { .. }, None) => return again::on_resumed(run, frame),
        (RunEvent::WorkStopped, Some(by)) => {
            return end(
                run,
                frame,
                RunOutcome::Cancelled,
                format!("stopped by {by}"),
            );
        }
        _ => {}
    }
    if run.stopping.is_some() || run.parked {
        // A parked run's process has ended: nothing can have happened since.
        return;
    }
    if let Some(what) = run.stalled.clone() {
        match fact {
            RunEvent::WorkStopped => {
                run.stalled = None;
                again::on_stall_stopped(run, frame, &what);
            }
            RunEvent::CancelRequested { by } => {
                run.stalled = None;
                cancel(run, frame, &by);
            }
            RunEvent::Steered { steer, .. } => steered(run, frame, steer),
            // What hung has ended just now, after all: too late, it is being stopped.
            _ => {}
        }
        return;
    }
    match fact {
        RunEvent::StallDetected { idle_ms } => again::on_stall(run, frame, idle_ms),
        RunEvent::Steered { steer, .. } => steered(run, frame, steer),
        RunEvent::ContextGathered { context, spending } => {
            run.spending = spending;
            on_context(run, frame, &context);
        }
        RunEvent::ModelReplied {
            call,
            turn,
            tools,
            bill,
        } => {
            pay(run, turn.usage, bill);
            on_reply(run, frame, call, turn, tools);
        }
        RunEvent::ModelFailed {
            call,
            failure,
            bill,
        } => {
            pay(run, failure.usage, bill);
            on_failure(run, frame, call, &failure);
        }
        RunEvent::ToolFinished { call, output, .. } => calls::on_output(run, frame, &call, output),
        RunEvent::FileInspected { call, path, now } => {
            changes::on_inspected(run, frame, &call, (&path, &now));
        }
        RunEvent::FileHeld { call, path, by } => {
            changes::on_held(run, frame, &call, lease::in_words(&path, &by));
        }
        RunEvent::FileFreed { call } => changes::on_freed(run, frame, &call),
        RunEvent::GatesReported { round, reports } => {
            verify::on_reports(run, frame, round, &reports);
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
    gather(run, frame);
    verify::start(run, frame, GateRound::Baseline, Vec::new());
}

/// Looks at the workspace for the model's first turn.
pub fn gather(run: &Run, frame: &mut Frame<'_>) {
    let overlay = frame.overlay();
    frame.perform(Effect::Gather {
        run: run.id.clone(),
        overlay,
    });
}

/// A word of the user.
fn steered(run: &mut Run, frame: &mut Frame<'_>, steer: Steer) {
    match steer {
        Steer::Message { text } => run
            .words
            .push(Block::text(format!("The user says: {text}"))),
        Steer::Pause => run.paused = true,
        Steer::Model { model } => {
            run.spec.model = model;
            run.talk.on_fallback = false;
        }
        Steer::GoOn => {
            run.paused = false;
            match run.held.take() {
                Some(Held::NextCall) => calls::advance(run, frame),
                Some(Held::Model) => call_model(run, frame),
                None => {}
            }
        }
    }
}

fn on_context(run: &mut Run, frame: &mut Frame<'_>, context: &Context) {
    run.system = prompt::system(context);
    let task = prompt::task(&run.spec.prompt, context);
    say(run, task);
    call_model(run, frame);
}

/// Does the calls of a turn.
pub fn on_calls(run: &mut Run, frame: &mut Frame<'_>, tools: Vec<ReadCall>) {
    run.queue = tools.into();
    calls::advance(run, frame);
}

/// The model says that it is done: the gates decide whether it is.
pub fn on_final_answer(run: &mut Run, frame: &mut Frame<'_>, text: String) {
    run.closing_text = text;
    if run.changes.is_empty() {
        let text = run.closing_text.clone();
        end(run, frame, RunOutcome::Succeeded, text);
    } else {
        check_all(run, frame);
    }
}

fn check_all(run: &mut Run, frame: &mut Frame<'_>) {
    let paths = run.changes.keys().cloned().collect();
    verify::start(run, frame, GateRound::Final, paths);
    waits_for(run, frame, WaitingFor::Gate, "all gates");
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
            if !again::on_uncertain_answer(run, frame, question, &answer) {
                asking::on_answer(run, frame, question, answer);
            }
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
            RunQuestion::Stall => "given up: the run had stalled",
            RunQuestion::Circles => "given up: the agent went in circles",
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
            run.talk = ModelTalk::default();
            if let Answer::Text { text } = answer {
                say(run, text);
            }
            call_model(run, frame);
        }
        RunQuestion::Stall => {
            if let Answer::Text { text } = answer {
                run.words
                    .push(Block::text(format!("The user says: {text}")));
            }
            let what = run.stall_detail.take().unwrap_or_default();
            again::after_stall(run, frame, &what);
        }
        RunQuestion::Circles => {
            let words = match answer {
                Answer::Text { text } => format!("The user says: {text}"),
                _ => "You go in circles. Try another way.".to_owned(),
            };
            run.words.push(Block::text(words));
            calls::advance(run, frame);
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
