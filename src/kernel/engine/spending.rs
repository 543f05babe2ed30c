//! What a run uses of its budget: counted, warned about, and asked about before the call that would begin above it.

use super::lifecycle::end;
use super::thinking::{ask_about_run, say};
use super::{calls, verify};
use crate::kernel::conversation::{Bill, Usage};
use crate::kernel::event::{RunEvent, RunOutcome};
use crate::kernel::money::Dollars;
use crate::kernel::policy::budget::{self, Limit, Spent};
use crate::kernel::policy::pace;
use crate::kernel::question::{Answer, BlockerReason, QuestionKind};
use crate::kernel::questions::{Draft, choice, offer, stop_offer};
use crate::kernel::run::{Run, RunQuestion};
use crate::kernel::state::Frame;

/// Counts what a call used, whatever comes of it.
pub fn pay(run: &mut Run, usage: Usage, bill: Bill) {
    run.usage.add(usage);
    run.cost.add(bill.cost);
    run.spending = bill.spending;
}

pub fn spent(run: &Run, frame: &Frame<'_>) -> Spent {
    Spent {
        active_ms: run.active_ms(frame.now),
        tokens: run.usage.total(),
        iterations: run.iterations,
        cost_micros: run.cost.micros,
        task_micros: run.spending.task_micros,
        day_micros: run.spending.day_micros,
    }
}

/// Whether a limit is reached: then a human is asked, and nothing is done before the answer. Warns on the way there.
pub fn asks(run: &mut Run, frame: &mut Frame<'_>) -> bool {
    let spent = spent(run, frame);
    match budget::reached(spent, &run.spec.budget) {
        Some(limit) => {
            ask(run, frame, limit, spent);
            true
        }
        None => {
            warn(run, frame, spent);
            let vain = pace::in_vain(run.iterations, run.progress_at, run.plan.len());
            if let Some(turns) = vain {
                ask_about_pace(run, frame, turns);
            }
            vain.is_some()
        }
    }
}

fn ask_about_pace(run: &mut Run, frame: &mut Frame<'_>, turns: u32) {
    let last = run
        .last_result
        .as_ref()
        .map_or("none", |(tool, _)| tool.as_str());
    let draft = Draft {
        title: format!("{turns} turns of the model, and no file was changed and no finding mended"),
        detail: format!("The last tool call was `{last}`; the model looks around, or talks."),
        place: None,
        kind: QuestionKind::Blocker {
            reason: BlockerReason::NoProgress,
        },
        choices: vec![
            offer(
                choice::RETRY,
                "Go on",
                "it may take as many turns again; say in your own words what would help",
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
    ask_about_run(run, frame, draft, RunQuestion::NoProgress);
}

/// Once for each limit, to the user and to the model.
fn warn(run: &mut Run, frame: &mut Frame<'_>, spent: Spent) {
    let near: Vec<Limit> = budget::nearly_reached(spent, &run.spec.budget).collect();
    for of in near {
        if !run.warned_of.insert(of) {
            continue;
        }
        let (used, at) = of.measure(spent, &run.spec.budget).unwrap_or_default();
        let limit = of.describe(&run.spec.budget);
        let percent = used.saturating_mul(100) / at.max(1);
        say(
            run,
            format!(
                "({percent} % of the budget of {limit} is used. Come to an end: finish what is most important first.)"
            ),
        );
        let warning = RunEvent::BudgetWarned {
            limit,
            of,
            used,
            at,
        };
        frame.record(run, warning);
    }
}

fn ask(run: &mut Run, frame: &mut Frame<'_>, of: Limit, spent: Spent) {
    let (used, at) = of.measure(spent, &run.spec.budget).unwrap_or_default();
    let limit = of.describe(&run.spec.budget);
    let draft = Draft {
        title: format!("The run has used its budget of {limit}"),
        detail: format!(
            "So far: {} s of work, {} tokens, {} model turns, {} for the run, {} today.",
            spent.active_ms / 1000,
            spent.tokens,
            spent.iterations,
            Dollars::from_micros(spent.cost_micros),
            Dollars::from_micros(spent.day_micros),
        ),
        place: None,
        kind: QuestionKind::Budget {
            limit,
            of: Some(of),
            used,
            at,
        },
        choices: vec![
            offer(
                choice::RAISE,
                "Raise it",
                "the limit is doubled and the run goes on where it is; type a number for another limit",
            ),
            offer(
                choice::FINISH,
                "Finish now",
                "what is written so far is checked, and the run ends; the model is not asked again",
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
    ask_about_run(run, frame, draft, RunQuestion::Budget);
}

/// The run ends with what there is: that is checked, and the model is not asked again.
pub fn finish_now(run: &mut Run, frame: &mut Frame<'_>) {
    calls::drop_queue(run, frame, "The user finishes the run.");
    if run.changes.is_empty() {
        let text = "finished early by the user; nothing was changed".to_owned();
        return end(run, frame, RunOutcome::Failed, text);
    }
    run.finishing = true;
    verify::all(run, frame);
}

/// Raises the limit that was asked about: to what the human says, else to twice as much.
pub fn raise(run: &mut Run, frame: &Frame<'_>, answer: &Answer) {
    let spent = spent(run, frame);
    let Some(limit) = budget::reached(spent, &run.spec.budget) else {
        return;
    };
    let to = match answer {
        Answer::Text { text } => limit.read(text),
        _ => None,
    };
    run.spec.budget = match to {
        Some(to) => budget::raised_to(&run.spec.budget, limit, to),
        None => budget::raised(&run.spec.budget, limit, spent),
    };
    run.warned_of.remove(&limit);
}
