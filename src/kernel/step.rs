//! One input in, effects out.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::document::apply_changes;
use super::effect::{Effect, Refusal, RefusalKind, Reply};
use super::engine;
use super::event::RunEvent;
use super::file::OpenDocument;
use super::finding::Finding;
use super::ids::{QuestionId, RequestId, RunId};
use super::input::{Command, DocumentNews, Input, Stimulus};
use super::path::RelPath;
use super::question::{Answer, QuestionState};
use super::questions;
use super::run::Run;
use super::shift;
use super::state::{Frame, State};
use super::time::Moment;

/// Takes one input into the state and says what is to be done, in that order.
pub fn step(state: &mut State, input: Input) -> Vec<Effect> {
    let mut effects = match input.what {
        Stimulus::Client { request, command } => on_command(state, request, command),
        Stimulus::Fact { run, event } => on_fact(state, input.at, &run, event),
        Stimulus::Document { path, news } => {
            on_document(state, path, news);
            Vec::new()
        }
    };
    show(state, &mut effects);
    effects
}

fn on_command(state: &mut State, request: RequestId, command: Command) -> Vec<Effect> {
    match grant(state, &command) {
        Err(refusal) => vec![Effect::Reply {
            request,
            reply: Err(refusal),
        }],
        Ok(Granted::Now(reply)) => vec![Effect::Reply {
            request,
            reply: Ok(reply),
        }],
        Ok(Granted::Fact { run, event, reply }) => {
            let mut effects = vec![Effect::Accept {
                run: run.clone(),
                event,
            }];
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
    Fact {
        run: RunId,
        event: RunEvent,
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
            Ok(Granted::Fact {
                run: run.clone(),
                event,
                reply: Some(Reply::Started { run: run.clone() }),
            })
        }
        Command::Cancel { run: id, by } => {
            let run = state.runs.get(id).ok_or_else(|| unknown_run(id))?;
            if run.ended.is_some() {
                return Ok(Granted::Now(Reply::Cancelled { run: id.clone() }));
            }
            if run.stopping.is_some() {
                return Ok(Granted::WhenStopped { run: id.clone() });
            }
            Ok(Granted::Fact {
                run: id.clone(),
                event: RunEvent::CancelRequested { by: by.clone() },
                reply: None,
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
            Ok(Granted::Fact {
                run: question.run.clone(),
                event,
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

fn on_fact(state: &mut State, now: Moment, id: &RunId, event: RunEvent) -> Vec<Effect> {
    let mut frame = Frame {
        now,
        questions: &mut state.questions,
        documents: &state.documents,
        effects: Vec::new(),
    };
    if let RunEvent::RunStarted { spec } = event {
        let mut run = Run::new(id.clone(), spec, now);
        engine::react::begin(&mut run, &mut frame);
        let effects = frame.effects;
        state.runs.insert(id.clone(), run);
        return effects;
    }
    let Some(mut run) = state.runs.remove(id) else {
        return Vec::new();
    };
    if let RunEvent::QuestionAnswered {
        question,
        answer,
        by,
    } = &event
    {
        mark_answered(&mut frame, question, answer, by);
    }
    let was_over = run.ended.is_some();
    engine::react::on_fact(&mut run, &mut frame, event);
    let mut effects = frame.effects;
    if run.ended.is_some() && !was_over {
        state.stop_requests.retain(|(stopped, request)| {
            if stopped == id {
                effects.push(Effect::Reply {
                    request: *request,
                    reply: Ok(Reply::Cancelled { run: id.clone() }),
                });
            }
            stopped != id
        });
    }
    forget_replaced_findings(state, &run);
    state.runs.insert(id.clone(), run);
    effects
}

fn mark_answered(frame: &mut Frame<'_>, question: &QuestionId, answer: &Answer, by: &str) {
    if let Some(question) = frame.questions.get_mut(question) {
        question.state = QuestionState::Answered {
            answer: answer.clone(),
            by: by.to_owned(),
            at: frame.now.wall_ms,
        };
    }
}

/// A gate's newest report is the truth about the workspace: runs that are over no longer speak for that gate.
fn forget_replaced_findings(state: &mut State, reporter: &Run) {
    for run in state.runs.values_mut().filter(|run| run.ended.is_some()) {
        run.findings
            .retain(|gate, _| !reporter.findings.contains_key(gate));
    }
}

fn on_document(state: &mut State, path: RelPath, news: DocumentNews) {
    let documents = Arc::make_mut(&mut state.documents);
    match news {
        DocumentNews::Opened {
            uri,
            version,
            text,
            disk,
            unsaved,
        } => {
            let text = ropey::Rope::from_str(&text);
            documents.insert(
                path,
                OpenDocument {
                    uri,
                    version,
                    text,
                    dirty: unsaved,
                    saved: disk,
                },
            );
        }
        DocumentNews::Changed {
            version,
            changes,
            encoding,
        } => {
            let Some(document) = documents.get_mut(&path) else {
                return;
            };
            for change in &changes {
                let moved = shift::of(&document.text, change);
                // A change whose range makes no sense leaves the document as it was; the next whole text mends it.
                if apply_changes(document, std::slice::from_ref(change), encoding).is_ok() {
                    for run in state.runs.values_mut() {
                        shift::apply(run.findings.values_mut(), &path, moved);
                    }
                }
            }
            document.version = version;
            document.dirty = true;
        }
        DocumentNews::Saved { disk } => {
            if let Some(document) = documents.get_mut(&path) {
                document.dirty = false;
                document.saved = disk;
            }
        }
        DocumentNews::Closed => {
            documents.remove(&path);
        }
    }
}

/// Says what has changed of what clients see: findings by file, progress by run.
fn show(state: &mut State, effects: &mut Vec<Effect>) {
    let mut by_file: BTreeMap<RelPath, Vec<Finding>> = BTreeMap::new();
    for finding in state.runs.values().flat_map(Run::new_findings) {
        let Some(path) = finding.file().and_then(|file| file.workspace()) else {
            continue;
        };
        let list = by_file.entry(path.clone()).or_default();
        if !list.contains(finding) {
            list.push(finding.clone());
        }
    }
    let cleared: Vec<RelPath> = state
        .published
        .keys()
        .filter(|path| !by_file.contains_key(*path))
        .cloned()
        .collect();
    for path in cleared {
        state.published.remove(&path);
        effects.push(Effect::Publish {
            path,
            findings: Vec::new(),
        });
    }
    for (path, findings) in by_file {
        if state.published.get(&path) != Some(&findings) {
            state.published.insert(path.clone(), findings.clone());
            effects.push(Effect::Publish { path, findings });
        }
    }
    for (id, run) in &state.runs {
        let progress = engine::progress(run);
        if state.progress.get(id) != Some(&progress) {
            state.progress.insert(id.clone(), progress.clone());
            effects.push(Effect::Progress {
                run: id.clone(),
                progress,
            });
        }
    }
}
