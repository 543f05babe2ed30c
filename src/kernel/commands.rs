//! What clients may ask for: granted as facts, or refused with words for people.

use super::effect::{Effect, Refusal, RefusalKind, Reply};
use super::event::{RunEvent, Steer};
use super::ids::{RequestId, RunId};
use super::input::Command;
use super::questions;
use super::state::State;

/// Grants what a client asks for, as facts to be recorded first, or refuses it.
pub(super) fn on_command(state: &mut State, request: RequestId, command: &Command) -> Vec<Effect> {
    match grant(state, command) {
        Err(refusal) => vec![Effect::Reply {
            request,
            reply: Err(refusal),
        }],
        Ok(Granted::Now(reply)) => vec![Effect::Reply {
            request,
            reply: Ok(reply),
        }],
        Ok(Granted::Facts { run, events, reply }) => {
            let accept = |event| Effect::Accept {
                run: run.clone(),
                event,
            };
            let mut effects: Vec<Effect> = events.into_iter().map(accept).collect();
            match reply {
                Some(reply) => effects.push(Effect::Reply {
                    request,
                    reply: Ok(reply),
                }),
                None => state.stop_requests.push((run, request)),
            }
            effects
        }
        Ok(Granted::WhenStopped { run }) => {
            state.stop_requests.push((run, request));
            Vec::new()
        }
    }
}

enum Granted {
    Now(Reply),
    /// Becomes a fact; `None`: the reply waits until the run has stopped.
    Facts {
        run: RunId,
        events: Vec<RunEvent>,
        reply: Option<Reply>,
    },
    WhenStopped {
        run: RunId,
    },
}

fn grant(state: &State, command: &Command) -> Result<Granted, Refusal> {
    match command {
        Command::Start { run, spec } => {
            if spec.prompt.trim().is_empty() {
                return Err(Refusal {
                    kind: RefusalKind::InvalidParams,
                    message: "the prompt is empty; say what the run shall do".to_owned(),
                });
            }
            let event = RunEvent::RunStarted { spec: spec.clone() };
            Ok(Granted::Facts {
                run: run.clone(),
                events: vec![event],
                reply: Some(Reply::Started { run: run.clone() }),
            })
        }
        Command::Cancel { run: id, by } => {
            let run = state.runs.get(id).ok_or_else(|| unknown_run(id))?;
            if run.ended.is_some() {
                return Ok(Granted::Now(Reply::Cancelled { run: id.clone() }));
            }
            if run.stopping.is_some() && !run.parked {
                return Ok(Granted::WhenStopped { run: id.clone() });
            }
            let event = if run.parked {
                RunEvent::Abandoned { by: by.clone() }
            } else {
                RunEvent::CancelRequested { by: by.clone() }
            };
            Ok(Granted::Facts {
                run: id.clone(),
                events: vec![event],
                reply: None,
            })
        }
        Command::Steer { run: id, steer, by } => {
            let run = state.runs.get(id).ok_or_else(|| unknown_run(id))?;
            if run.ended.is_some() || run.parked {
                let message = format!(
                    "run {id} does not work; {}",
                    if run.parked {
                        "resume it first"
                    } else {
                        "start another one"
                    }
                );
                return Err(Refusal {
                    kind: RefusalKind::RunOver,
                    message,
                });
            }
            if *steer == Steer::SkipStep && run.course.step().is_none() {
                return Err(Refusal {
                    kind: RefusalKind::InvalidParams,
                    message: format!("run {id} has no step now that could be skipped"),
                });
            }
            let event = RunEvent::Steered {
                steer: steer.clone(),
                by: by.clone(),
            };
            Ok(Granted::Facts {
                run: id.clone(),
                events: vec![event],
                reply: Some(Reply::Steered { run: id.clone() }),
            })
        }
        Command::Resume { run: id, by } => {
            let run = state.runs.get(id).ok_or_else(|| unknown_run(id))?;
            if run.ended.is_some() {
                return Err(Refusal {
                    kind: RefusalKind::RunOver,
                    message: format!("run {id} has ended; start another one"),
                });
            }
            let reply = Reply::Resumed { run: id.clone() };
            if !run.parked {
                return Ok(Granted::Now(reply));
            }
            Ok(Granted::Facts {
                run: id.clone(),
                events: vec![RunEvent::Resumed { by: by.clone() }],
                reply: Some(reply),
            })
        }
        Command::Answer {
            question: id,
            answer,
            by,
        } => {
            let question = state.questions.get(id).ok_or_else(|| Refusal {
                kind: RefusalKind::UnknownQuestion,
                message: format!(
                    "there is no question {id}; list the open ones with outrigger/question/list"
                ),
            })?;
            let answer = questions::accept(question, answer.clone())?;
            let event = RunEvent::QuestionAnswered {
                question: id.clone(),
                answer,
                by: by.clone(),
            };
            // An answer to a run whose process has ended takes the run up.
            let parked = state.runs.get(&question.run).is_some_and(|run| run.parked);
            let resumed = parked.then(|| RunEvent::Resumed { by: by.clone() });
            Ok(Granted::Facts {
                run: question.run.clone(),
                events: resumed.into_iter().chain([event]).collect(),
                reply: Some(Reply::Answered {
                    question: id.clone(),
                }),
            })
        }
    }
}

fn unknown_run(id: &RunId) -> Refusal {
    Refusal {
        kind: RefusalKind::UnknownRun,
        message: format!("there is no run {id} in this process; list them with outrigger/run/list"),
    }
}
