//! The facts of a run, one at a time: each goes to the part of the engines that it concerns.

use super::lifecycle::{cancel, end, set_status};
use super::spending::pay;
use super::thinking::{call_model, on_failure, on_reply, on_timer};
use super::{again, answers, calls, changes, plan, prompt, react, verify};
use crate::kernel::conversation::Block;
use crate::kernel::course::Phase;
use crate::kernel::effect::Effect;
use crate::kernel::event::{Context, Engine, GateRound, ReadCall, RunEvent, RunOutcome, Steer};
use crate::kernel::policy::lease;
use crate::kernel::run::{Held, Run, RunStatus};
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
        } => answers::on_answer(run, frame, &question, answer),
        RunEvent::TargetsFound { call, targets } => {
            plan::on_targets(run, frame, &call, &targets);
        }
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
        prompt: run.spec.prompt.clone(),
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
        Steer::SkipStep => run.skip_step = true,
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
    if !run.system.is_empty() {
        // It was looked for twice, because nothing had come of the first look for a while.
        return;
    }
    run.system = prompt::system(context);
    match run.spec.engine {
        Engine::React => react::begin(run, frame, context),
        Engine::Plan => plan::begin(run, frame, context),
    }
}

/// Does the calls of a turn.
pub fn on_calls(run: &mut Run, frame: &mut Frame<'_>, tools: Vec<ReadCall>) {
    run.queue = tools.into();
    calls::advance(run, frame);
}

/// The model answers without a call.
pub fn on_final_answer(run: &mut Run, frame: &mut Frame<'_>, text: String) {
    match run.course.phase {
        Phase::Free => react::on_final_answer(run, frame, text),
        Phase::Drafting | Phase::Drafted | Phase::Step(_) | Phase::Closing => {
            plan::on_final_answer(run, frame, text);
        }
    }
}
