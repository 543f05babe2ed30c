//! Verification: rounds of gates, what they mean, and what follows when they reject the work.

use super::correction::{self, Claim, Next};
use super::lifecycle::{end, waits_for};
use super::{answers, calls, changes, mend, plan, render, thinking};
use crate::kernel::course::Phase;
use crate::kernel::effect::Effect;
use crate::kernel::event::{GateRound, ReadCall, RunEvent, RunOutcome, Verdict};
use crate::kernel::finding::{Finding, GateReport, Outcome};
use crate::kernel::ids::GateRoundId;
use crate::kernel::path::RelPath;
use crate::kernel::policy::baseline;
use crate::kernel::run::{CurrentCall, Run, RunningRound, Stage, WaitingFor};
use crate::kernel::state::Frame;
use crate::kernel::tool::PlanItemState;

/// Has all gates look at everything that the run has changed.
pub fn all(run: &mut Run, frame: &mut Frame<'_>) {
    let paths = run.changes.keys().cloned().collect();
    start(run, frame, GateRound::Final, paths);
    waits_for(run, frame, WaitingFor::Gate, "all gates");
}

/// Whether everything is being looked at, because the agent says that it is done.
pub fn is_final(run: &Run) -> bool {
    run.rounds.iter().any(|round| round.why == GateRound::Final)
}

/// The agent wants to know what the gates say now: of these files, or of all that it has changed.
pub fn asked(run: &mut Run, frame: &mut Frame<'_>, call: ReadCall, paths: Vec<RelPath>) {
    let paths = if paths.is_empty() {
        run.changes.keys().cloned().collect()
    } else {
        paths
    };
    let round = start(run, frame, GateRound::Asked, paths);
    waits_for(
        run,
        frame,
        WaitingFor::Gate,
        "the checks that were asked for",
    );
    run.current = Some(CurrentCall {
        call,
        stage: Stage::Verifying {
            round,
            said: String::new(),
        },
    });
}

pub fn start(
    run: &mut Run,
    frame: &mut Frame<'_>,
    why: GateRound,
    paths: Vec<RelPath>,
) -> GateRoundId {
    run.last_round = run.last_round.next();
    let round = run.last_round;
    run.rounds.push(RunningRound {
        id: round,
        why,
        paths: paths.clone(),
    });
    frame.record(run, RunEvent::GatesStarted { round, why });
    frame.perform(Effect::RunGates {
        run: run.id.clone(),
        round,
        why,
        paths,
    });
    round
}

pub fn on_reports(
    run: &mut Run,
    frame: &mut Frame<'_>,
    round: GateRoundId,
    reports: &[GateReport],
) {
    let Some(at) = run.rounds.iter().position(|running| running.id == round) else {
        return;
    };
    let running = run.rounds.remove(at);
    let why = running.why;
    if why == GateRound::Baseline {
        run.baseline = Some(baseline::take(reports));
        let verdict = Verdict {
            passed: names(reports, |report| matches!(report.outcome, Outcome::Pass)),
            failed: names(reports, |report| report.outcome == Outcome::Fail),
            broken: reports.iter().filter_map(broken).collect(),
            new_findings: 0,
            old_findings: count(reports.iter().map(|report| report.findings.len()).sum()),
            first: Vec::new(),
        };
        frame.record(
            run,
            RunEvent::GatesJudged {
                round,
                why,
                verdict,
            },
        );
        changes::baseline_arrived(run, frame);
        return;
    }
    let verdict = judge(run, reports);
    frame.record(
        run,
        RunEvent::GatesJudged {
            round,
            why,
            verdict: verdict.clone(),
        },
    );
    match why {
        GateRound::Baseline => {}
        GateRound::Change => changed(run, frame, &running, &verdict),
        GateRound::Final => finish(run, frame, &verdict),
        GateRound::Asked => {
            let current = run.current.take_if(
                |current| matches!(current.stage, Stage::Verifying { round: waited, .. } if waited == round),
            );
            if let Some(current) = current {
                let mut told = render::verification(&verdict, run.new_findings(), &[]);
                let found = reports.iter().flat_map(|report| &report.findings);
                let is_old = |finding: &&Finding| !run.new_findings().any(|new| new == *finding);
                told.push_str(&render::old(found.filter(is_old)));
                let told = if told.is_empty() {
                    "No check of this project looks at these files.".to_owned()
                } else {
                    told
                };
                calls::complete(run, frame, &current.call, told);
                calls::advance(run, frame);
            }
        }
    }
}

/// Takes the reports into the run's findings. A gate that could not run changes nothing but its own health.
fn judge(run: &mut Run, reports: &[GateReport]) -> Verdict {
    // Before the baseline nothing has been changed: whatever is found was there before.
    let known = run
        .baseline
        .clone()
        .unwrap_or_else(|| baseline::take(reports));
    let mut verdict = Verdict::default();
    for report in reports {
        match report.outcome {
            Outcome::Error | Outcome::Missing => {
                let why = broken(report).unwrap_or_default();
                run.gates_broken.insert(report.gate.clone(), why.clone());
                run.gates_passed.remove(&report.gate);
                verdict.broken.push(why);
            }
            Outcome::Skipped => {}
            Outcome::Pass | Outcome::Fail => {
                let new = baseline::beyond(&known, &report.findings);
                verdict.old_findings += count(report.findings.len() - new.len());
                verdict.new_findings += count(new.len());
                verdict.first.extend(new.iter().map(render::headline));
                run.gates_broken.remove(&report.gate);
                if baseline::stopped_early(report, &new) {
                    let why = format!(
                        "{}: it stopped at what was failing before this run, and has not checked the rest",
                        report.gate
                    );
                    run.gates_broken.insert(report.gate.clone(), why.clone());
                    run.gates_passed.remove(&report.gate);
                    verdict.broken.push(why);
                } else if baseline::rejects(report, &new) {
                    run.gates_passed.remove(&report.gate);
                    verdict.failed.push(report.gate.to_string());
                } else {
                    run.gates_passed.insert(report.gate.clone());
                    verdict.passed.push(report.gate.to_string());
                }
                run.findings.insert(report.gate.clone(), new);
            }
        }
    }
    verdict.first.truncate(5);
    verdict
}

/// What the gates say of the change that the current call has made.
fn changed(run: &mut Run, frame: &mut Frame<'_>, round: &RunningRound, verdict: &Verdict) {
    let Some(path) = round.paths.first() else {
        return;
    };
    let current = run.current.take_if(
        |current| matches!(current.stage, Stage::Verifying { round: waited, .. } if waited == round.id),
    );
    let Some(CurrentCall {
        call,
        stage: Stage::Verifying { said, .. },
    }) = current
    else {
        return;
    };
    let judged = mend::Judged {
        call,
        path,
        said: &said,
        verdict,
    };
    if let Some(call) = mend::start(run, frame, judged) {
        tell(run, frame, &call, (&said, verdict));
    }
}

/// The model is told what became of its change.
pub fn tell(
    run: &mut Run,
    frame: &mut Frame<'_>,
    call: &ReadCall,
    (said, verdict): (&str, &Verdict),
) {
    let judged = correction::judge(run, frame, verdict, Claim::Working);
    let text = format!("{said}\n{}", judged.words).trim_end().to_owned();
    calls::complete(run, frame, call, text);
    match judged.next {
        Next::Accepted | Next::Correct => calls::advance(run, frame),
        Next::Replan if run.course.step().is_some() => {
            calls::drop_queue(run, frame, "The remaining work is planned anew.");
            plan::replan(run, frame, &judged.words);
        }
        Next::Replan => calls::advance(run, frame),
        Next::Ask { why } => answers::ask_about_rejection(run, frame, &why),
    }
}

/// What the gates say of the whole: succeed, send it back, plan anew, or ask.
fn finish(run: &mut Run, frame: &mut Frame<'_>, verdict: &Verdict) {
    let judged = correction::judge(run, frame, verdict, Claim::Done);
    if run.finishing {
        return finish_early(run, frame, judged.next == Next::Accepted);
    }
    match judged.next {
        Next::Accepted => match run.course.phase {
            Phase::Free => {
                let text = run.closing_text.clone();
                end(run, frame, RunOutcome::Succeeded, text);
            }
            Phase::Drafting | Phase::Drafted | Phase::Step(_) | Phase::Closing => {
                plan::on_verified(run, frame);
            }
        },
        Next::Replan if run.course.phase != Phase::Free => plan::replan(run, frame, &judged.words),
        Next::Correct | Next::Replan => {
            let words = format!(
                "You are not done.\n{}\nFix them, then answer again.",
                judged.words
            );
            thinking::say(run, words);
            thinking::call_model(run, frame);
        }
        Next::Ask { why } => answers::ask_about_rejection(run, frame, &why),
    }
}

/// The user ends the run with what there is.
fn finish_early(run: &mut Run, frame: &mut Frame<'_>, is_accepted: bool) {
    let left = run
        .plan
        .iter()
        .filter(|item| {
            matches!(
                item.state,
                PlanItemState::Pending | PlanItemState::InProgress
            )
        })
        .count();
    let (outcome, text) = match (is_accepted, left) {
        (true, 0) => (
            RunOutcome::Succeeded,
            "finished early by the user".to_owned(),
        ),
        (true, left) => (
            RunOutcome::Failed,
            format!("finished early by the user; {left} items of its plan are not done"),
        ),
        (false, _) => (
            RunOutcome::Failed,
            "finished early by the user; the gates reject what is there".to_owned(),
        ),
    };
    end(run, frame, outcome, text);
}

/// For people: which gate could not run, why, what to do.
fn broken(report: &GateReport) -> Option<String> {
    match report.outcome {
        Outcome::Error | Outcome::Missing => {
            Some(format!("{}: {}", report.gate, report.notes.join("; ")))
        }
        Outcome::Pass | Outcome::Fail | Outcome::Skipped => None,
    }
}

fn names(reports: &[GateReport], want: impl Fn(&GateReport) -> bool) -> Vec<String> {
    reports
        .iter()
        .filter(|report| want(report))
        .map(|report| report.gate.to_string())
        .collect()
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
