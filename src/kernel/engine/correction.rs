//! What follows when gates reject the work: the same for what is checked after a change and at the end.

use super::{plan, render};
use crate::kernel::event::{Engine, RunEvent, Verdict};
use crate::kernel::finding::{Finding, Fingerprint};
use crate::kernel::path::RelPath;
use crate::kernel::policy::ladder::{self, Rung};
use crate::kernel::run::Run;
use crate::kernel::state::Frame;

/// How far the agent says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// In the middle of it: what is broken on the way may be meant.
    Working,
    Done,
}

/// What the model is told, and what happens next.
pub struct Judged {
    pub words: String,
    pub next: Next,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Nothing stands in the way.
    Accepted,
    /// The model mends it.
    Correct,
    /// The remaining work is planned anew.
    Replan,
    /// A human is asked.
    Ask { why: String },
}

/// Judges a verdict that is already part of the run's findings.
pub fn judge(run: &mut Run, frame: &mut Frame<'_>, verdict: &Verdict, claim: Claim) -> Judged {
    let told = render::verification(verdict, run.new_findings(), &run.rejected);
    let against: Vec<Finding> = run
        .new_findings()
        .filter(|finding| !plan::is_ahead(run, finding))
        .cloned()
        .collect();
    if verdict.failed.is_empty() || against.is_empty() {
        if against.is_empty() {
            run.ladder.passed();
            run.rejected.clear();
        }
        run.checking_again = false;
        return Judged {
            words: told,
            next: Next::Accepted,
        };
    }
    let now: Vec<Fingerprint> = against.iter().map(Finding::fingerprint).collect();
    let is_first = run.rejected.is_empty();
    let moved = ladder::compare(&run.rejected, &now);
    run.rejected = now;
    if moved.is_progress() {
        run.progress_at = run.iterations;
    }
    let on_its_way = is_first || moved.still == 0 || moved.is_progress();
    if claim == Claim::Working && on_its_way {
        if moved.is_progress() {
            run.ladder.progressed();
        }
        return Judged {
            words: told,
            next: Next::Correct,
        };
    }
    let changed = std::mem::take(&mut run.changed_since);
    let changed = if changed.is_empty() {
        "nothing changed".to_owned()
    } else {
        changed.join(", ")
    };
    run.ladder
        .tried
        .push(format!("{changed}: {}", moved.describe()));
    if std::mem::take(&mut run.checking_again) {
        return Judged {
            words: told,
            next: Next::Ask {
                why: "checked again, and still rejected".to_owned(),
            },
        };
    }
    let rung = run.ladder.rejected(against.iter(), &moved);
    if !matches!(rung, Rung::Correct { .. }) {
        record(run, frame, &against, &rung);
    }
    let compared = if is_first {
        String::new()
    } else {
        format!("Since the last check ({changed}): {}.\n", moved.describe())
    };
    let (words, next) = match rung {
        Rung::Correct { attempt } => (
            format!("Attempt {attempt} of {} to mend it.", ladder::ATTEMPTS),
            Next::Correct,
        ),
        Rung::Failed { failures } => (
            format!(
                "{} attempts have not mended it: verification failure {failures} of {}. Read the files again before you change anything else.",
                ladder::ATTEMPTS,
                ladder::FAILURES
            ),
            Next::Correct,
        ),
        Rung::OtherWay { times } => (
            format!(
                "This very failure has come {times} times. Take another way: read the whole file again, write it anew as a whole with `write`, or mend one finding alone first."
            ),
            Next::Correct,
        ),
        Rung::Replan { .. } => (
            match run.spec.engine {
                Engine::React => "Stop here. Say with `plan` how you do the remaining work in another way, and what failed so far; then go on by that plan.".to_owned(),
                Engine::Plan => "The remaining work is planned anew.".to_owned(),
            },
            Next::Replan,
        ),
        Rung::Ask { why } => (String::new(), Next::Ask { why }),
    };
    Judged {
        words: format!("{told}{compared}{words}"),
        next,
    }
}

fn record(run: &Run, frame: &mut Frame<'_>, against: &[Finding], rung: &Rung) {
    let mut gates: Vec<String> = against
        .iter()
        .map(|finding| finding.gate.to_string())
        .collect();
    gates.sort();
    gates.dedup();
    let mut files: Vec<RelPath> = against
        .iter()
        .filter_map(|finding| finding.file()?.workspace().cloned())
        .collect();
    files.sort();
    files.dedup();
    let next = match rung {
        Rung::Correct { .. } => "sent back".to_owned(),
        Rung::Failed { failures } => {
            format!("sent back; failure {failures} of {}", ladder::FAILURES)
        }
        Rung::OtherWay { .. } => "sent back, to be done in another way".to_owned(),
        Rung::Replan { nth } => format!("new plan {nth} of {}", ladder::REPLANS),
        Rung::Ask { why } => format!("you are asked: {why}"),
    };
    frame.record(
        run,
        RunEvent::VerificationFailed {
            gates,
            findings: u32::try_from(against.len()).unwrap_or(u32::MAX),
            files,
            first: against.iter().take(5).map(render::headline).collect(),
            next,
        },
    );
}
