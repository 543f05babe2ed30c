//! A run's status, its clock, its end, and what it shows of itself.

use crate::kernel::effect::{Effect, Progress, UNTIL};
use crate::kernel::event::{RunEvent, RunOutcome};
use crate::kernel::finding::Severity;
use crate::kernel::questions;
use crate::kernel::run::{Run, RunStatus, Summary, Verification, Waiting, WaitingFor};
use crate::kernel::state::Frame;
use crate::kernel::tool::PlanItemState;

/// Sets status and wait cause; says so when either changed. Waiting for a human stops the run's clock.
pub fn set_status(
    run: &mut Run,
    frame: &mut Frame<'_>,
    status: RunStatus,
    waiting: Option<(WaitingFor, String)>,
) {
    let waiting = waiting.map(|(what, detail)| Waiting {
        what,
        detail,
        since: frame.now.wall_ms,
        until: None,
    });
    enter(run, frame, status, waiting);
}

fn enter(run: &mut Run, frame: &mut Frame<'_>, status: RunStatus, waiting: Option<Waiting>) {
    let same_wait = match (&run.waiting, &waiting) {
        (None, None) => true,
        (Some(old), Some(new)) => {
            old.what == new.what && old.detail == new.detail && old.until == new.until
        }
        _ => false,
    };
    if run.status == status && same_wait {
        return;
    }
    // A run that is parked does not work either: the provider says when it goes on.
    let rests = waiting.as_ref().is_some_and(|waiting| {
        matches!(
            waiting.what,
            WaitingFor::You | WaitingFor::RateLimit | WaitingFor::Lease
        )
    });
    if rests || status.is_over() {
        if let Some(since) = run.active_since.take() {
            run.active_ms += frame.now.since(since);
        }
    } else if run.active_since.is_none() {
        run.active_since = Some(frame.now);
    }
    let from = run.status;
    run.status = status;
    run.waiting = waiting;
    frame.record(
        run,
        RunEvent::StatusChanged {
            from,
            to: status,
            waiting: run.waiting.clone(),
        },
    );
}

pub fn waits_for(
    run: &mut Run,
    frame: &mut Frame<'_>,
    what: WaitingFor,
    detail: impl Into<String>,
) {
    let status = match what {
        WaitingFor::You | WaitingFor::RateLimit | WaitingFor::Retry | WaitingFor::Lease => {
            RunStatus::Waiting
        }
        WaitingFor::Gate => RunStatus::Verifying,
        WaitingFor::Model | WaitingFor::Tool | WaitingFor::File | WaitingFor::Stop => {
            RunStatus::Executing
        }
    };
    set_status(run, frame, status, Some((what, detail.into())));
}

/// As [`waits_for`], for a wait that is over by itself after so many milliseconds.
pub fn waits_until_over(
    run: &mut Run,
    frame: &mut Frame<'_>,
    (what, after_ms): (WaitingFor, u64),
    detail: impl Into<String>,
) {
    let after = i64::try_from(after_ms).unwrap_or(i64::MAX);
    let waiting = Waiting {
        what,
        detail: detail.into(),
        since: frame.now.wall_ms,
        until: Some(frame.now.wall_ms.saturating_add(after)),
    };
    enter(run, frame, RunStatus::Waiting, Some(waiting));
}

/// Stops all work; the run ends when it is reported dead.
pub fn cancel(run: &mut Run, frame: &mut Frame<'_>, by: &str) {
    if run.stopping.is_some() {
        return;
    }
    run.stopping = Some(by.to_owned());
    run.timer = None;
    questions::withdraw_all(run, frame, "the run was stopped");
    waits_for(run, frame, WaitingFor::Stop, "running work to stop");
    frame.perform(Effect::StopWork {
        run: run.id.clone(),
    });
}

/// Ends the run. The only place where a run ends.
pub fn end(run: &mut Run, frame: &mut Frame<'_>, outcome: RunOutcome, text: String) {
    questions::withdraw_all(run, frame, "the run has ended");
    run.timer = None;
    let status = match outcome {
        RunOutcome::Succeeded => RunStatus::Succeeded,
        RunOutcome::Failed => RunStatus::Failed,
        RunOutcome::Cancelled => RunStatus::Cancelled,
        RunOutcome::Interrupted => RunStatus::Interrupted,
    };
    set_status(run, frame, status, None);
    let summary = Summary {
        text: with_what_is_not_verified(run, text),
        files: run.file_summaries(),
        verification: verification(run),
        usage: run.usage,
        cost: run.cost,
        active_ms: run.active_ms,
        elapsed_ms: frame.now.since(run.started),
        model_calls: run.last_call.0,
        tool_calls: run.tool_calls,
    };
    run.current = None;
    run.queue.clear();
    run.ended = Some((outcome, summary.clone()));
    frame.record(run, RunEvent::Ended { outcome, summary });
    // Whatever a command left running in the background goes with its run.
    frame.perform(Effect::StopWork {
        run: run.id.clone(),
    });
}

/// A check that could not run is told where everybody sees it.
fn with_what_is_not_verified(run: &Run, mut text: String) -> String {
    for why in run.gates_broken.values() {
        text.push_str(&format!("\n(Not verified by {why})"));
    }
    text
}

fn verification(run: &Run) -> Verification {
    if run
        .new_findings()
        .any(|finding| finding.severity == Severity::Error)
    {
        Verification::Failed
    } else if !run.changes.values().any(|file| file.before != file.after) {
        Verification::NotNeeded
    } else if run.gates_passed.is_empty() {
        Verification::Unverified
    } else {
        Verification::Passed
    }
}

/// What the editor's progress shows.
pub fn progress(run: &Run) -> Progress {
    let title: String = run
        .spec
        .prompt
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(60)
        .collect();
    let done = run
        .plan
        .iter()
        .filter(|item| matches!(item.state, PlanItemState::Done | PlanItemState::Skipped))
        .count();
    let percentage = if run.plan.is_empty() {
        None
    } else {
        u32::try_from(done * 100 / run.plan.len()).ok()
    };
    let doing = match (&run.waiting, run.status) {
        (Some(waiting), _) => match waiting.what {
            WaitingFor::Model => format!("thinking ({})", waiting.detail),
            WaitingFor::Tool => waiting.detail.clone(),
            WaitingFor::File => format!("writing {}", waiting.detail),
            WaitingFor::Gate => format!("verifying ({})", waiting.detail),
            WaitingFor::You => format!("waits for you: {}", waiting.detail),
            WaitingFor::RateLimit => format!("rate limited until {UNTIL}: {}", waiting.detail),
            WaitingFor::Retry => format!("tries again at {UNTIL}: {}", waiting.detail),
            WaitingFor::Lease => format!("waits for {}", waiting.detail),
            WaitingFor::Stop => "stopping".to_owned(),
        },
        (None, RunStatus::Queued) => "queued".to_owned(),
        (None, RunStatus::Planning) => "planning".to_owned(),
        (None, RunStatus::Executing) => "working".to_owned(),
        (None, RunStatus::Verifying) => "verifying".to_owned(),
        (None, RunStatus::Waiting) => "waiting".to_owned(),
        (None, RunStatus::Succeeded) => "done".to_owned(),
        (None, RunStatus::Failed) => "failed".to_owned(),
        (None, RunStatus::Cancelled) => "cancelled".to_owned(),
        (None, RunStatus::Interrupted) => "interrupted".to_owned(),
    };
    let step = run
        .plan
        .iter()
        .position(|item| item.state == PlanItemState::InProgress);
    let message = match step.and_then(|at| run.plan.get(at).map(|item| (at, item))) {
        Some((at, item)) if !run.status.is_over() => {
            format!("{}/{} {}: {doing}", at + 1, run.plan.len(), item.title)
        }
        _ => doing,
    };
    Progress {
        title,
        message,
        percentage,
        until: run.waiting.as_ref().and_then(|waiting| waiting.until),
        ended: run.status.is_over(),
    }
}
