//! Going on after work was cut off: by a stall that was stopped, or by the end of the process that did it.
//!
//! What is certain goes on by itself. A file is looked at, to see whether it was written; what only reads, and gates, are
//! done again. A command that had started may have done anything: it is never simply run again.

use super::calls::{self, complete, fail};
use super::lifecycle::{end, waits_for};
use super::{changes, facts, plan, render, sets, thinking};
use crate::kernel::effect::Effect;
use crate::kernel::event::{GateRound, ReadTool, RunEvent, RunOutcome};
use crate::kernel::ids::QuestionId;
use crate::kernel::policy::stall::StallAction;
use crate::kernel::question::{Answer, BlockerReason, QuestionKind};
use crate::kernel::questions::{self, Draft, choice, offer, stop_offer};
use crate::kernel::run::{CurrentCall, Run, RunQuestion, RunStatus, Stage, WaitingFor};
use crate::kernel::state::Frame;
use crate::kernel::tool::ToolUse;

/// Nothing has lived for `idle_ms`: what hangs is stopped first.
pub fn on_stall(run: &mut Run, frame: &mut Frame<'_>, idle_ms: u64) {
    let what = run.waiting.as_ref().map_or_else(
        || "nothing that is known".to_owned(),
        |waiting| format!("{:?} ({})", waiting.what, waiting.detail),
    );
    run.stalls += 1;
    run.stalled = Some(format!(
        "{} s without a sign of life while waiting for {what}",
        idle_ms / 1000
    ));
    waits_for(run, frame, WaitingFor::Stop, "what hangs to stop");
    frame.perform(Effect::StopWork {
        run: run.id.clone(),
    });
}

/// What hung is dead.
pub fn on_stall_stopped(run: &mut Run, frame: &mut Frame<'_>, what: &str) {
    let again = run.spec.stall.action == StallAction::Retry && run.stalls == 1;
    if again {
        after_stall(run, frame, what);
    } else if run.spec.stall.action == StallAction::Blocker {
        let last = run.last_result.as_ref().map_or_else(
            || "none".to_owned(),
            |(tool, result)| format!("{tool}: {}", result.lines().next().unwrap_or_default()),
        );
        let draft = Draft {
            title: format!("The run has stalled: {what}"),
            detail: format!(
                "It was stopped there.\nLast tool call and result: {last}\nModel turns: {}\nTokens: {}",
                run.iterations,
                run.usage.total()
            ),
            place: None,
            kind: QuestionKind::Blocker {
                reason: BlockerReason::Stall,
            },
            choices: vec![
                offer(choice::RETRY, "Go on", "what hung is done once more"),
                offer(
                    choice::GIVE_UP,
                    "Give up",
                    "the run fails; what it has written stays",
                ),
                stop_offer(),
            ],
            free_text: true,
        };
        run.stall_detail = Some(what.to_owned());
        thinking::ask_about_run(run, frame, draft, RunQuestion::Stall);
    } else {
        end(run, frame, RunOutcome::Failed, format!("stalled: {what}"));
    }
}

/// Goes on after a stall: what hung is told to the model where it was the model's call.
pub fn after_stall(run: &mut Run, frame: &mut Frame<'_>, what: &str) {
    if run.talk.calling {
        run.talk.note = Some(format!(
            "Your last answer did not arrive: {what}. Answer again; keep it short."
        ));
    }
    let hangs = matches!(&run.current, Some(current) if matches!(current.stage, Stage::Performing));
    let command = hangs
        && run
            .current
            .as_ref()
            .is_some_and(|current| matches!(current.call.tool, ReadTool::Use(ToolUse::Command(_))));
    if command && let Some(current) = run.current.take() {
        let text = format!(
            "The command hung and was stopped: {what}. It may have done a part of its work. Do not simply run it again."
        );
        fail(run, frame, &current.call, text);
    }
    go_on(run, frame);
}

/// Gives up a run whose process has ended.
pub fn abandon(run: &mut Run, frame: &mut Frame<'_>, by: &str) {
    leave_the_old_process(run);
    end(
        run,
        frame,
        RunOutcome::Cancelled,
        format!("stopped by {by}"),
    );
}

/// When the process ended is not in the log: from here on it makes no difference.
fn leave_the_old_process(run: &mut Run) {
    run.parked = false;
    run.status = RunStatus::Interrupted;
    run.waiting = None;
    run.active_since = None;
    run.stopping = None;
}

/// Goes on after the process that worked on the run has ended.
pub fn on_resumed(run: &mut Run, frame: &mut Frame<'_>) {
    leave_the_old_process(run);
    run.active_since = Some(frame.now);
    // The questions and the stop that were under way are of the process that has ended.
    run.stalled = None;
    let described = describe(run);
    frame.record(run, described);
    let performing = run
        .current
        .take_if(|current| matches!(current.stage, Stage::Performing));
    if let Some(CurrentCall { call, stage }) = performing {
        match &call.tool {
            ReadTool::Use(ToolUse::Command(command)) => {
                let draft = Draft {
                    title: format!(
                        "`{}` had started when Outrigger was cut off. Is it done?",
                        command.command
                    ),
                    detail: "Its end was not seen, and running it twice could do harm.".to_owned(),
                    place: None,
                    kind: QuestionKind::Uncertain {
                        command: command.command.clone(),
                    },
                    choices: vec![
                        offer(
                            choice::DONE,
                            "It is done",
                            "the agent goes on as if it had succeeded",
                        ),
                        offer(
                            choice::NOT_DONE,
                            "It is not done",
                            "the agent is told that it did not happen",
                        ),
                        offer(
                            choice::RUN_AGAIN,
                            "Run it again",
                            "the command runs once more",
                        ),
                        stop_offer(),
                    ],
                    free_text: true,
                };
                let question = questions::open(run, frame, draft);
                waits_for(run, frame, WaitingFor::You, "an uncertain command");
                run.current = Some(CurrentCall {
                    call,
                    stage: Stage::AskingUncertain { question },
                });
            }
            _ => run.current = Some(CurrentCall { call, stage }),
        }
    }
    go_on(run, frame);
}

/// Has everything that was under way and is safe to repeat done again.
fn go_on(run: &mut Run, frame: &mut Frame<'_>) {
    for round in run.rounds.clone() {
        frame.perform(Effect::RunGates {
            run: run.id.clone(),
            round: round.id,
            why: round.why,
            paths: round.paths,
        });
    }
    if run.system.is_empty() {
        return facts::gather(run, frame);
    }
    if run.timer.take().is_some() || run.talk.calling {
        return thinking::call_model(run, frame);
    }
    match run.current.take() {
        Some(CurrentCall {
            call,
            stage: Stage::Performing,
        }) => match call.tool.clone() {
            ReadTool::Use(tool) => calls::perform(run, frame, call, tool),
            ReadTool::Malformed(why) => {
                fail(run, frame, &call, why);
                calls::go_on(run, frame);
            }
        },
        Some(CurrentCall {
            call,
            stage: Stage::Writing(planned),
        }) => {
            changes::look(run, frame, &call.id, planned.order.path.clone());
            run.current = Some(CurrentCall {
                call,
                stage: Stage::Settling(planned),
            });
        }
        Some(CurrentCall {
            call,
            stage: Stage::Together(set),
        }) => sets::again(run, frame, call, *set),
        Some(CurrentCall { call, stage }) => {
            match &stage {
                Stage::Settling(planned) => {
                    changes::look(run, frame, &call.id, planned.order.path.clone());
                }
                Stage::Inspecting { proposal, .. } => {
                    changes::look(run, frame, &call.id, proposal.path().clone());
                }
                Stage::Verifying { .. } => {
                    waits_for(run, frame, WaitingFor::Gate, "the gates again");
                }
                Stage::CheckingPlan { steps } => plan::find_targets(run, frame, &call.id, steps),
                Stage::AwaitingBaseline(_) => {
                    waits_for(run, frame, WaitingFor::Gate, "the baseline");
                }
                Stage::Asking { question, .. } | Stage::AskingUncertain { question } => {
                    waits_for(run, frame, WaitingFor::You, format!("question {question}"));
                }
                // Whether it is free is looked at after every step.
                Stage::AwaitingLease { .. } => {
                    waits_for(run, frame, WaitingFor::Lease, "the file to be free");
                }
                Stage::Performing | Stage::Writing(_) | Stage::Together(_) => {}
            }
            run.current = Some(CurrentCall { call, stage });
        }
        None => {
            if let Some((question, _)) = &run.run_question {
                let detail = format!("question {question}");
                waits_for(run, frame, WaitingFor::You, detail);
            } else if run.rounds.iter().any(|round| round.why == GateRound::Final) {
                waits_for(run, frame, WaitingFor::Gate, "the gates again");
            } else {
                calls::go_on(run, frame);
            }
        }
    }
}

/// The answer about a command whose end was not seen. Whether it was one.
pub fn on_uncertain_answer(
    run: &mut Run,
    frame: &mut Frame<'_>,
    question: &QuestionId,
    answer: &Answer,
) -> bool {
    let current = run.current.take_if(|current| matches!(&current.stage, Stage::AskingUncertain { question: open } if open == question));
    let Some(CurrentCall { call, .. }) = current else {
        return false;
    };
    let picked = match answer {
        Answer::Choice { choice } => choice.as_str(),
        _ => "",
    };
    match (picked, call.tool.clone()) {
        (choice::RUN_AGAIN, ReadTool::Use(tool)) => calls::perform(run, frame, call, tool),
        (choice::DONE, _) => complete(run, frame, &call, "The command was cut off from us; the user says that it is done. Its output is not known.".to_owned()),
        (choice::NOT_DONE, _) => fail(run, frame, &call, "The command was cut off; the user says that it is not done.".to_owned()),
        _ => {
            let said = match answer {
                Answer::Text { text } => text.as_str(),
                _ => "nothing more",
            };
            fail(run, frame, &call, format!("The command was cut off and its end is not known. The user says: {said}"));
        }
    }
    calls::go_on(run, frame);
    true
}

/// For the log: what is certain and what is not.
fn describe(run: &Run) -> RunEvent {
    let uncertain = match &run.current {
        Some(CurrentCall {
            call,
            stage: Stage::Performing,
        }) => match &call.tool {
            ReadTool::Use(tool @ ToolUse::Command(_)) => vec![format!(
                "the command `{}` had started; its end was not seen",
                render::tool(tool)
            )],
            _ => Vec::new(),
        },
        Some(CurrentCall {
            stage: Stage::Writing(planned),
            ..
        }) => vec![format!(
            "{} was being written; its hash will tell",
            planned.order.path
        )],
        _ => Vec::new(),
    };
    RunEvent::Resuming { uncertain }
}
