//! The `plan` engine: a plan of typed steps first, checked against what is there and shown; then the steps, one after the
//! other, each verified and mended before the next; at the end the whole.
//!
//! Promises: what exists is never created; a step begins only when those it needs are done; a step that needs a failed one
//! is skipped and says so; a plan that cannot be followed is sent back once, then a human is asked.

mod steps;

pub use steps::{after_step_call, next, on_step_answer, replan, skip};

use super::lifecycle::{end, set_status, waits_for};
use super::thinking::{ask_about_run, call_model, say};
use super::{calls, prompt, render, verify};
use crate::kernel::conversation::Block;
use crate::kernel::course::{Direct, Phase, TrackedStep};
use crate::kernel::effect::Effect;
use crate::kernel::event::{Context, ReadCall, ReadTool, ReviewPolicy, RunEvent, RunOutcome};
use crate::kernel::finding::Finding;
use crate::kernel::ids::ToolCallId;
use crate::kernel::plan::{self, Step, StepKind, Targets, document};
use crate::kernel::question::{Answer, BlockerReason, QuestionKind};
use crate::kernel::questions::{Draft, choice, offer, stop_offer};
use crate::kernel::run::{CurrentCall, Run, RunQuestion, RunStatus, Stage, WaitingFor};
use crate::kernel::state::Frame;
use crate::kernel::tool::{PlanItemState, ProposePlan, ProposedStep, ToolUse};

/// Plans that cannot be followed, until a human is asked.
const REFUSED: u32 = 2;
/// A plan of more steps is a large one.
const LARGE: usize = 6;

/// Whether a finding is in a file that a later step means to change.
pub fn is_ahead(run: &Run, finding: &Finding) -> bool {
    let path = finding.file().and_then(|file| file.workspace());
    path.is_some_and(|path| run.course.is_ahead(path))
}

pub fn begin(run: &mut Run, frame: &mut Frame<'_>, context: &Context) {
    run.course.phase = Phase::Drafting;
    let task = prompt::task(&run.spec.prompt, context);
    say(run, format!("{task}\n{}", prompt::DRAFT));
    call_model(run, frame);
}

/// The model answers without a call.
pub fn on_final_answer(run: &mut Run, frame: &mut Frame<'_>, text: String) {
    match run.course.phase {
        Phase::Drafting | Phase::Drafted | Phase::Free => {
            refuse(
                run,
                frame,
                &["no plan was proposed; call `propose_plan`".to_owned()],
            );
            if run.run_question.is_none() {
                call_model(run, frame);
            }
        }
        Phase::Step(_) => on_step_answer(run, frame, text),
        Phase::Closing => {
            run.closing_text = text;
            verify::all(run, frame);
        }
    }
}

/// A plan of the model.
pub fn on_proposed(run: &mut Run, frame: &mut Frame<'_>, call: ReadCall, proposed: &ProposePlan) {
    let nothing = proposed.nothing_to_do.as_deref().map(str::trim);
    if proposed.steps.is_empty() {
        match nothing.filter(|why| !why.is_empty()) {
            Some(why) => {
                let why = why.to_owned();
                calls::complete(run, frame, &call, "The run ends here.".to_owned());
                if run.course.steps.is_empty() {
                    end(
                        run,
                        frame,
                        RunOutcome::Succeeded,
                        format!("Nothing to do: {why}"),
                    );
                } else {
                    run.course.phase = Phase::Drafted;
                }
            }
            None => {
                let problem =
                    "the plan has no step; if there is nothing to do, say why in `nothing_to_do`";
                calls::fail(run, frame, &call, problem.to_owned());
                refuse(run, frame, &[problem.to_owned()]);
            }
        }
        return;
    }
    check(run, frame, call, proposed.numbered());
}

/// Looks whether the targets are there, in order to judge the plan.
fn check(run: &mut Run, frame: &mut Frame<'_>, call: ReadCall, steps: Vec<Step>) {
    find_targets(run, frame, &call.id, &steps);
    run.current = Some(CurrentCall {
        call,
        stage: Stage::CheckingPlan { steps },
    });
}

pub fn find_targets(run: &mut Run, frame: &mut Frame<'_>, call: &ToolCallId, steps: &[Step]) {
    let overlay = frame.overlay();
    frame.perform(Effect::FindTargets {
        run: run.id.clone(),
        call: call.clone(),
        paths: plan::paths(steps),
        overlay,
    });
    set_status(
        run,
        frame,
        RunStatus::Planning,
        Some((WaitingFor::File, "the files of the plan".to_owned())),
    );
}

pub fn on_targets(run: &mut Run, frame: &mut Frame<'_>, call: &ToolCallId, targets: &Targets) {
    let current = run.current.take_if(|current| {
        current.call.id == *call && matches!(current.stage, Stage::CheckingPlan { .. })
    });
    let Some(CurrentCall {
        call,
        stage: Stage::CheckingPlan { steps },
    }) = current
    else {
        return;
    };
    let is_edited = is_direct(run, &call.id);
    if is_edited {
        run.course.direct = None;
    }
    match plan::check(steps.clone(), targets) {
        Ok(sound) => {
            let noted = sound.notes.join("\n");
            take(run, frame, sound.steps);
            if is_edited {
                if !noted.is_empty() {
                    run.words.push(Block::text(noted));
                }
                return next(run, frame);
            }
            let text = format!("The plan is noted.\n{noted}");
            calls::complete(run, frame, &call, text.trim_end().to_owned());
            calls::drop_queue(run, frame, "The plan comes first.");
        }
        Err(problems) if is_edited => {
            let detail = format!(
                "The edited plan cannot be followed:\n{}\n\n",
                as_list(&problems)
            );
            return review(run, frame, &detail, steps);
        }
        Err(problems) => {
            let why = format!(
                "The plan cannot be followed:\n{}\nPropose it again without these mistakes.",
                as_list(&problems)
            );
            calls::fail(run, frame, &call, why);
            refuse(run, frame, &problems);
        }
    }
    if run.run_question.is_none() {
        calls::advance(run, frame);
    }
}

fn as_list(lines: &[String]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| format!("- {line}")).collect();
    lines.join("\n")
}

fn is_direct(run: &Run, call: &ToolCallId) -> bool {
    let direct = run.course.direct.as_ref();
    direct.is_some_and(|direct| direct.call == *call)
}

/// Takes a plan that can be followed as the run's: after the steps that are done already.
fn take(run: &mut Run, frame: &mut Frame<'_>, steps: Vec<Step>) {
    run.course.refused_plans = 0;
    run.course.phase = Phase::Drafted;
    let mut all = std::mem::take(&mut run.course.steps);
    all.retain(|tracked| tracked.state != PlanItemState::Pending);
    let before = u32::try_from(all.len()).unwrap_or(u32::MAX);
    for mut step in steps {
        step.number += before;
        for needed in &mut step.depends_on {
            *needed += before;
        }
        all.push(TrackedStep {
            step,
            state: PlanItemState::Pending,
            why: String::new(),
        });
    }
    run.course.steps = all;
    show(run, frame);
}

pub fn show(run: &mut Run, frame: &mut Frame<'_>) {
    run.plan = run.course.items();
    let items = run.plan.clone();
    frame.record(run, RunEvent::PlanUpdated { items });
}

/// Steps that are still to be done.
fn pending(run: &Run) -> Vec<Step> {
    let pending = |tracked: &&TrackedStep| tracked.state == PlanItemState::Pending;
    let steps = run.course.steps.iter().filter(pending);
    steps.map(|tracked| tracked.step.clone()).collect()
}

/// Counts a plan that cannot be followed; after the second one a human is asked.
fn refuse(run: &mut Run, frame: &mut Frame<'_>, problems: &[String]) {
    run.course.refused_plans += 1;
    if run.course.refused_plans < REFUSED {
        run.words.push(Block::text(
            "Make a plan that can be followed, and propose it with `propose_plan`.",
        ));
        return;
    }
    calls::drop_queue(run, frame, "The user is asked about the plan.");
    let draft = Draft {
        title: "The model made no plan that can be followed".to_owned(),
        detail: as_list(problems),
        place: None,
        kind: QuestionKind::Blocker {
            reason: BlockerReason::Plan,
        },
        choices: vec![
            offer(
                choice::RETRY,
                "Let it plan again",
                "it is told what is wrong",
            ),
            offer(
                choice::WITHOUT_PLAN,
                "Work without a plan",
                "the agent goes its own way, each change verified",
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
    ask_about_run(run, frame, draft, RunQuestion::NoPlan);
}

pub fn on_no_plan_answer(run: &mut Run, frame: &mut Frame<'_>, picked: &str, answer: Answer) {
    run.course.refused_plans = 0;
    let words = match answer {
        Answer::Text { text } => format!("The user says: {text}"),
        _ if picked == choice::WITHOUT_PLAN => {
            run.course.phase = Phase::Free;
            "Do the task without a plan, in the way you find best.".to_owned()
        }
        _ => "Try again: look at the files you mean to change, then propose a plan.".to_owned(),
    };
    run.words.push(Block::text(words));
    call_model(run, frame);
}

/// After the last call of a turn, or after a call of the engine's own: whether the engine goes on by itself.
pub fn after_calls(run: &mut Run, frame: &mut Frame<'_>) -> bool {
    let finished = run
        .course
        .direct
        .take_if(|direct| direct.result.is_some())
        .and_then(|direct| direct.result);
    if let Some(result) = finished {
        after_step_call(run, frame, result);
        return true;
    }
    if run.ended.is_some() {
        return true;
    }
    match run.course.phase {
        Phase::Drafted => {
            calls::drop_queue(run, frame, "");
            begin_steps(run, frame);
            true
        }
        Phase::Free | Phase::Drafting | Phase::Step(_) | Phase::Closing => false,
    }
}

fn begin_steps(run: &mut Run, frame: &mut Frame<'_>) {
    let steps = pending(run);
    let deletes = steps.iter().any(|step| step.kind == StepKind::Delete);
    let is_shown = match run.spec.policy.review {
        ReviewPolicy::Always => true,
        ReviewPolicy::Large => steps.len() > LARGE || deletes,
        ReviewPolicy::Never => false,
    };
    if is_shown && !steps.is_empty() {
        review(run, frame, "", steps);
    } else {
        next(run, frame);
    }
}

/// May this plan be followed?
fn review(run: &mut Run, frame: &mut Frame<'_>, before: &str, steps: Vec<Step>) {
    let text = document::render(&steps);
    let draft = Draft {
        title: format!("Follow this plan of {} steps?", steps.len()),
        detail: format!("{before}{text}"),
        place: None,
        kind: QuestionKind::Plan {
            document: text,
            steps,
        },
        choices: vec![
            offer(
                choice::TAKE_ALL,
                "Follow it",
                "the steps are done in this order",
            ),
            offer(
                choice::RETRY,
                "Plan again",
                "the agent makes another plan; say in your own words what it shall do differently",
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
    run.course.phase = Phase::Drafted;
    ask_about_run(run, frame, draft, RunQuestion::PlanReview);
}

pub fn on_reviewed(run: &mut Run, frame: &mut Frame<'_>, answer: Answer) {
    match answer {
        Answer::TakeAll => next(run, frame),
        Answer::TakeText { text } => match document::parse(&text) {
            Ok(steps) => {
                let call = own_call(run, "propose_plan", as_proposed(&steps));
                check(run, frame, call, steps);
            }
            // Refused when it was given; a plan that no longer reads is asked about again.
            Err(why) => {
                let steps = pending(run);
                review(run, frame, &format!("{why}\n\n"), steps);
            }
        },
        Answer::Text { text } => draft_again(run, frame, &format!("The user says: {text}")),
        Answer::Choice { .. }
        | Answer::TakeHunks { .. }
        | Answer::KeepMine { .. }
        | Answer::StopRun => draft_again(run, frame, "The user wants another plan."),
    }
}

fn as_proposed(steps: &[Step]) -> ToolUse {
    let proposed = |step: &Step| ProposedStep {
        kind: step.kind,
        target: step.target.clone(),
        command: step.command.clone(),
        why: step.why.clone(),
        depends_on: step.depends_on.clone(),
    };
    ToolUse::ProposePlan(ProposePlan {
        steps: steps.iter().map(proposed).collect(),
        nothing_to_do: None,
    })
}

fn draft_again(run: &mut Run, frame: &mut Frame<'_>, words: &str) {
    run.course.phase = Phase::Drafting;
    let words = format!("{words}\nPropose another plan with `propose_plan`.");
    run.words.push(Block::text(words));
    call_model(run, frame);
}

/// A call that the engine makes itself. Its result comes back through [`after_calls`].
fn own_call(run: &mut Run, name: &str, tool: ToolUse) -> ReadCall {
    run.course.direct_calls += 1;
    let id = ToolCallId::new(format!("own-{}", run.course.direct_calls));
    run.course.direct = Some(Direct {
        call: id.clone(),
        result: None,
    });
    ReadCall {
        id,
        name: name.to_owned(),
        tool: ReadTool::Use(tool),
    }
}

/// The gates let the whole through.
pub fn on_verified(run: &mut Run, frame: &mut Frame<'_>) {
    if matches!(run.course.phase, Phase::Step(_)) {
        return steps::done(run, frame, String::new());
    }
    let summary = summary(run);
    let any_done = |tracked: &TrackedStep| tracked.state == PlanItemState::Done;
    let outcome = if run.course.steps.iter().any(any_done) {
        RunOutcome::Succeeded
    } else {
        RunOutcome::Failed
    };
    end(run, frame, outcome, summary);
}

/// What became of the steps, for people.
fn summary(run: &Run) -> String {
    let steps = &run.course.steps;
    let done = steps
        .iter()
        .filter(|tracked| tracked.state == PlanItemState::Done)
        .count();
    let mut text = format!("{done} of {} steps are done.", steps.len());
    for tracked in steps {
        if tracked.state != PlanItemState::Done {
            let state = render::plan_state(tracked.state);
            let why = &tracked.why;
            text.push_str(&format!("\n{state}: {} ({why})", tracked.step.title()));
        } else if !tracked.why.is_empty() {
            text.push_str(&format!("\n{}: {}", tracked.step.title(), tracked.why));
        }
    }
    if !run.closing_text.is_empty() {
        text.push('\n');
        text.push_str(&run.closing_text);
    }
    text
}

fn close(run: &mut Run, frame: &mut Frame<'_>) {
    run.course.phase = Phase::Closing;
    if run.changes.is_empty() {
        on_verified(run, frame);
    } else {
        verify::all(run, frame);
        waits_for(run, frame, WaitingFor::Gate, "all gates");
    }
}
