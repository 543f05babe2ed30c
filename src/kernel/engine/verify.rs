//! Verification: rounds of gates, what they mean, and what follows when they reject the work.

use super::lifecycle::{end, waits_for};
use super::{calls, changes, render, thinking};
use crate::kernel::effect::Effect;
use crate::kernel::event::{GateRound, RunEvent, RunOutcome, Verdict};
use crate::kernel::finding::{Finding, GateReport, Outcome};
use crate::kernel::ids::GateRoundId;
use crate::kernel::path::RelPath;
use crate::kernel::policy::baseline;
use crate::kernel::question::{BlockerReason, QuestionKind};
use crate::kernel::questions::{self, Draft, choice, offer, stop_offer};
use crate::kernel::run::{Run, RunQuestion, RunningRound, Stage, WaitingFor};
use crate::kernel::state::Frame;

/// Final verifications that may fail in a row before a human is asked.
const FAILURES: u32 = 3;

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
    let why = run.rounds.remove(at).why;
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
        GateRound::Change => {
            let waits = matches!(&run.current, Some(current) if matches!(current.stage, Stage::Verifying { round: waited, .. } if waited == round));
            if waits && let Some(current) = run.current.take() {
                let said = match current.stage {
                    Stage::Verifying { said, .. } => said,
                    _ => String::new(),
                };
                let text = format!(
                    "{said}\n{}",
                    render::verification(&verdict, run.new_findings())
                )
                .trim_end()
                .to_owned();
                calls::complete(run, frame, &current.call, text);
                calls::advance(run, frame);
            }
        }
        GateRound::Final => finish(run, frame, &verdict),
    }
}

/// Takes the reports into the run's findings. A gate that could not run changes nothing but its own health.
fn judge(run: &mut Run, reports: &[GateReport]) -> Verdict {
    let known = run.baseline.clone().unwrap_or_default();
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
                if baseline::rejects(report, &new) {
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

/// The model says that it is done: succeed, send it back, or ask.
fn finish(run: &mut Run, frame: &mut Frame<'_>, verdict: &Verdict) {
    if verdict.failed.is_empty() {
        let text = run.closing_text.clone();
        end(run, frame, RunOutcome::Succeeded, text);
        return;
    }
    run.verification_failures += 1;
    let findings = render::verification(verdict, run.new_findings());
    if run.verification_failures < FAILURES {
        thinking::say(
            run,
            format!("You are not done.\n{findings}Fix them, then answer again."),
        );
        thinking::call_model(run, frame);
        return;
    }
    let place = run.new_findings().find_map(|finding: &Finding| {
        let place = finding.place.as_ref()?;
        Some(crate::kernel::question::QuestionPlace {
            path: place.file.workspace()?.clone(),
            range: place.range,
        })
    });
    let draft = Draft {
        title: format!(
            "{} still rejects the work after {FAILURES} attempts",
            verdict.failed.join(", ")
        ),
        detail: findings,
        place,
        kind: QuestionKind::Blocker {
            reason: BlockerReason::Verification,
        },
        choices: vec![
            offer(
                choice::RETRY,
                "Let the agent try again",
                "three more attempts",
            ),
            offer(
                choice::CHECK_AGAIN,
                "I fixed it myself, check again",
                "the gates run once more",
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
    let id = questions::open(run, frame, draft);
    waits_for(
        run,
        frame,
        WaitingFor::You,
        format!("{} rejects the work", verdict.failed.join(", ")),
    );
    run.run_question = Some((id, RunQuestion::Verification));
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
