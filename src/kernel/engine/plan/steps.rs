//! The steps of a plan: begun, carried out, verified, ended.

use super::super::correction::{self, Claim, Next};
use super::super::thinking::{call_model, say};
use super::super::{answers, calls, prompt, verify};
use super::{close, own_call, show};
use crate::kernel::conversation::Block;
use crate::kernel::course::{DirectResult, Phase};
use crate::kernel::event::{RunEvent, Verdict};
use crate::kernel::plan::{Step, StepKind};
use crate::kernel::run::Run;
use crate::kernel::state::Frame;
use crate::kernel::tool::{DeleteFile, PlanItemState, ReadFile, RunCommand, ToolUse};

/// Begins the next step that can be done; after the last one the whole is verified.
pub fn next(run: &mut Run, frame: &mut Frame<'_>) {
    skip_hopeless(run, frame);
    let ready = run
        .course
        .steps
        .iter()
        .position(|tracked| tracked.state == PlanItemState::Pending);
    let Some(at) = ready else {
        return close(run, frame);
    };
    let Some(tracked) = run.course.steps.get_mut(at) else {
        return;
    };
    tracked.state = PlanItemState::InProgress;
    let step = tracked.step.clone();
    run.course.phase = Phase::Step(at);
    run.course.touched.clear();
    run.course.nudged = false;
    run.ladder.passed();
    run.rejected.clear();
    run.changed_since.clear();
    frame.record(run, RunEvent::StepStarted { step: step.clone() });
    show(run, frame);
    start(run, frame, &step);
}

/// Steps that need one that is not done can never be.
fn skip_hopeless(run: &mut Run, frame: &mut Frame<'_>) {
    // In the order of the list each comes after those it needs, so that one pass is enough.
    for at in 0..run.course.steps.len() {
        let Some(tracked) = run.course.steps.get(at) else {
            return;
        };
        if tracked.state != PlanItemState::Pending {
            continue;
        }
        let needed = tracked.step.depends_on.iter().find_map(|number| {
            let needed = run
                .course
                .steps
                .iter()
                .find(|tracked| tracked.step.number == *number)?;
            matches!(needed.state, PlanItemState::Skipped | PlanItemState::Failed)
                .then_some(*number)
        });
        if let Some(number) = needed {
            over(
                run,
                frame,
                at,
                PlanItemState::Skipped,
                format!("step {number}, which it needs, is not done"),
            );
        }
    }
}

fn over(run: &mut Run, frame: &mut Frame<'_>, at: usize, state: PlanItemState, why: String) {
    let Some(tracked) = run.course.steps.get_mut(at) else {
        return;
    };
    tracked.state = state;
    tracked.why.clone_from(&why);
    let step = tracked.step.clone();
    frame.record(run, RunEvent::StepEnded { step, state, why });
    show(run, frame);
}

fn end_present(run: &mut Run, frame: &mut Frame<'_>, state: PlanItemState, why: String) {
    run.skip_step = false;
    if let Phase::Step(at) = run.course.phase {
        over(run, frame, at, state, why);
    }
}

/// The present step is done: on to the next.
pub fn done(run: &mut Run, frame: &mut Frame<'_>, why: String) {
    end_present(run, frame, PlanItemState::Done, why);
    next(run, frame);
}

/// The present step is left out.
pub fn skip(run: &mut Run, frame: &mut Frame<'_>, why: &str) {
    end_present(run, frame, PlanItemState::Skipped, why.to_owned());
    next(run, frame);
}

fn start(run: &mut Run, frame: &mut Frame<'_>, step: &Step) {
    match (step.kind, &step.target, &step.command) {
        (StepKind::Command, _, Some(line)) => {
            let command = ToolUse::Command(RunCommand {
                command: line.clone(),
                cwd: None,
                timeout_s: None,
            });
            call_own(run, frame, "command", command);
        }
        (StepKind::Verify, _, _) => {
            if run.changes.is_empty() {
                done(run, frame, "nothing has been changed yet".to_owned());
            } else {
                verify::all(run, frame);
            }
        }
        // The model sees what is there before it changes it.
        (StepKind::Edit, Some(path), _) => {
            let read = ToolUse::Read(ReadFile {
                path: path.clone(),
                from_line: None,
                lines: None,
            });
            call_own(run, frame, "read", read);
        }
        (StepKind::Delete, Some(path), _) => {
            let delete = ToolUse::Delete(DeleteFile { path: path.clone() });
            call_own(run, frame, "delete", delete);
        }
        (StepKind::Create | StepKind::Delete | StepKind::Edit | StepKind::Command, _, _) => {
            tell(run, frame, step, "");
        }
    }
}

fn call_own(run: &mut Run, frame: &mut Frame<'_>, name: &str, tool: ToolUse) {
    let call = own_call(run, name, tool);
    run.queue.push_back(call);
    calls::advance(run, frame);
}

/// Has the model do the step.
fn tell(run: &mut Run, frame: &mut Frame<'_>, step: &Step, shown: &str) {
    let words = prompt::step(step, run.course.steps.len(), shown);
    say(run, words);
    call_model(run, frame);
}

/// A call that the engine made itself for the present step is over.
pub fn after_step_call(run: &mut Run, frame: &mut Frame<'_>, result: DirectResult) {
    let Some(step) = run.course.step().map(|tracked| tracked.step.clone()) else {
        return call_model(run, frame);
    };
    match (step.kind, result) {
        (StepKind::Command, DirectResult::Completed(said)) => {
            let line = step.command.as_deref().unwrap_or_default();
            run.words.push(Block::text(format!(
                "Step {}, `{line}`, is done:\n{said}",
                step.number
            )));
            done(run, frame, String::new());
        }
        (StepKind::Delete, DirectResult::Completed(said)) => {
            run.words
                .push(Block::text(format!("Step {}: {said}", step.number)));
            judge(run, frame, String::new());
        }
        (StepKind::Delete, DirectResult::Denied(why)) => {
            run.words.push(Block::text(format!(
                "Step {} was left out: {why}",
                step.number
            )));
            skip(run, frame, "you kept the file");
        }
        (StepKind::Command, DirectResult::Denied(why)) => {
            run.words.push(Block::text(format!(
                "Step {} was left out: {why}",
                step.number
            )));
            skip(run, frame, "the command was not allowed");
        }
        (StepKind::Command, DirectResult::Failed(said)) => {
            let shown = format!("It was run, and failed:\n{said}");
            tell(run, frame, &step, &shown);
        }
        (
            StepKind::Delete | StepKind::Create | StepKind::Edit | StepKind::Verify,
            DirectResult::Completed(shown)
            | DirectResult::Failed(shown)
            | DirectResult::Denied(shown),
        ) => tell(run, frame, &step, &shown),
    }
}

/// The model says that the step is done.
pub fn on_step_answer(run: &mut Run, frame: &mut Frame<'_>, text: String) {
    let Some(step) = run.course.step().map(|tracked| tracked.step.clone()) else {
        return next(run, frame);
    };
    if step.kind == StepKind::Verify {
        return verify::all(run, frame);
    }
    let is_changed = match &step.target {
        Some(path) => run.course.touched.contains(path),
        None => true,
    };
    if !is_changed && !run.course.nudged {
        run.course.nudged = true;
        let target = step.target.as_ref().map(ToString::to_string);
        let words = format!(
            "Step {} is not done: `{}` was not changed. Change it, or say in one sentence why nothing has to be changed there.",
            step.number,
            target.unwrap_or_default()
        );
        say(run, words);
        return call_model(run, frame);
    }
    let why = if is_changed { String::new() } else { text };
    judge(run, frame, why);
}

/// What the gates last said of the step's changes decides whether it is done.
fn judge(run: &mut Run, frame: &mut Frame<'_>, why: String) {
    let mut failed: Vec<String> = run
        .new_findings()
        .filter(|finding| !super::is_ahead(run, finding))
        .map(|finding| finding.gate.to_string())
        .collect();
    failed.sort();
    failed.dedup();
    let verdict = Verdict {
        failed,
        ..Verdict::default()
    };
    let judged = correction::judge(run, frame, &verdict, Claim::Done);
    match judged.next {
        Next::Accepted => done(run, frame, why),
        Next::Correct => {
            say(run, format!("The step is not done.\n{}", judged.words));
            call_model(run, frame);
        }
        Next::Replan => replan(run, frame, &judged.words),
        Next::Ask { why } => answers::ask_about_rejection(run, frame, &why),
    }
}

/// The remaining work is planned anew, with what failed.
pub fn replan(run: &mut Run, frame: &mut Frame<'_>, what_failed: &str) {
    end_present(
        run,
        frame,
        PlanItemState::Failed,
        "the gates keep rejecting it".to_owned(),
    );
    run.course.phase = Phase::Drafting;
    let mut words = String::from("The plan has not worked.\n");
    for tracked in &run.course.steps {
        let state = super::render::plan_state(tracked.state);
        words.push_str(&format!("- [{state}] {}\n", tracked.step.title()));
    }
    words.push_str(what_failed.trim_end());
    words.push_str("\nPropose a plan for the remaining work with `propose_plan`: other steps than those that failed. What is done stays done.");
    say(run, words);
    call_model(run, frame);
}
