//! One input in, effects out.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::commands::on_command;
use super::document::apply_changes;
use super::effect::{Effect, Reply};
use super::engine;
use super::event::RunEvent;
use super::file::OpenDocument;
use super::finding::Finding;
use super::ids::{QuestionId, RunId};
use super::input::{DocumentNews, Input, Stimulus};
use super::path::RelPath;
use super::policy::lease::{self, Leases};
use super::policy::stall::is_stalled;
use super::question::{Answer, QuestionState};
use super::recheck;
use super::run::{Run, RunStatus};
use super::shift;
use super::state::{Frame, State};
use super::time::Moment;

/// Takes one input into the state and says what is to be done, in that order.
pub fn step(state: &mut State, input: Input) -> Vec<Effect> {
    let at = input.at;
    let mut effects = match input.what {
        Stimulus::Client { request, command } => on_command(state, request, &command),
        Stimulus::Fact { run, event } => on_fact(state, input.at, &run, event),
        Stimulus::Parked { run } => {
            park(state, &run);
            Vec::new()
        }
        Stimulus::Life { run } => {
            if let Some(run) = state.runs.get_mut(&run) {
                run.last_life = input.at;
            }
            // A token of the model is no reason to look at everything that is shown.
            return Vec::new();
        }
        Stimulus::Files { there, gone } => {
            for path in there {
                state.gone.remove(&path);
            }
            state.gone.extend(gone);
            Vec::new()
        }
        Stimulus::Checked {
            covered,
            old,
            reports,
        } => {
            recheck::take(state, &covered, old, &reports);
            Vec::new()
        }
        Stimulus::Tick => {
            let mut effects = tick(state, at);
            effects.extend(lease::freed(state, at));
            return effects;
        }
        Stimulus::Document { path, news } => {
            on_document(state, at, path, news);
            Vec::new()
        }
    };
    effects.extend(lease::freed(state, at));
    show(state, &mut effects);
    effects
}

/// Notices stalls: a fact of its own, so that what follows from it can be replayed.
fn tick(state: &State, now: Moment) -> Vec<Effect> {
    let mut effects = Vec::new();
    for (id, run) in &state.runs {
        let idle_ms = now.since(run.last_life);
        let what = run.waiting.as_ref().map(|waiting| waiting.what);
        let busy =
            run.ended.is_none() && run.stopping.is_none() && run.stalled.is_none() && !run.parked;
        if busy && is_stalled(&run.spec.stall, idle_ms, what) {
            effects.push(Effect::Accept {
                run: id.clone(),
                event: RunEvent::StallDetected { idle_ms },
            });
        }
    }
    effects
}

fn park(state: &mut State, id: &RunId) {
    let Some(run) = state.runs.get_mut(id).filter(|run| run.ended.is_none()) else {
        return;
    };
    run.parked = true;
    run.active_since = None;
    run.waiting = None;
    run.status = RunStatus::Interrupted;
}

fn on_fact(state: &mut State, now: Moment, id: &RunId, event: RunEvent) -> Vec<Effect> {
    let mut known = state.runs.remove(id);
    let mut frame = Frame {
        now,
        questions: &mut state.questions,
        documents: &state.documents,
        leases: Leases {
            runs: &state.runs,
            typed: &state.typed,
            now,
        },
        effects: Vec::new(),
    };
    if let RunEvent::RunStarted { spec } = event {
        let mut run = Run::new(id.clone(), spec, now);
        engine::facts::begin(&mut run, &mut frame);
        let effects = frame.effects;
        state.runs.insert(id.clone(), run);
        return effects;
    }
    let Some(mut run) = known.take() else {
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
    if matches!(event, RunEvent::GatesReported { .. }) {
        state.gone.clear();
    }
    let was_over = run.ended.is_some();
    run.last_life = now;
    engine::facts::on_fact(&mut run, &mut frame, event);
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
    state
        .standing
        .retain(|gate, _| !reporter.findings.contains_key(gate));
    state
        .stale
        .retain(|gate| !reporter.findings.contains_key(gate));
}

fn on_document(state: &mut State, now: Moment, path: RelPath, news: DocumentNews) {
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
                let moved = shift::of(&document.text, change, encoding);
                // A change whose range makes no sense leaves the document as it was; the next whole text mends it.
                let applied =
                    apply_changes(document, std::slice::from_ref(change), encoding).is_ok();
                let Some(moved) = moved.filter(|_| applied) else {
                    continue;
                };
                for run in state.runs.values_mut() {
                    shift::apply(run.findings.values_mut(), &path, &moved);
                }
                shift::apply(state.standing.values_mut(), &path, &moved);
                let places = state
                    .questions
                    .values_mut()
                    .filter_map(|question| question.place.as_mut());
                for place in places.filter(|place| place.path == path) {
                    shift::question(&mut place.range, &moved);
                }
            }
            document.version = version;
            document.dirty = true;
            let is_ours = |run: &Run| lease::is_written_by(run, &path, &document.text);
            if state.runs.values().any(is_ours) {
                state.typed.remove(&path);
            } else {
                let is_fresh = |last: &Moment| now.since(*last) < lease::TYPING_MS;
                state.typed.retain(|_, last| is_fresh(last));
                state.typed.insert(path, now);
            }
        }
        DocumentNews::Saved { disk } => {
            if let Some(document) = documents.get_mut(&path) {
                document.dirty = false;
                document.saved = disk;
            }
        }
        DocumentNews::Closed => {
            documents.remove(&path);
            state.typed.remove(&path);
        }
    }
}

/// Says what has changed of what clients see: findings by file, progress by run.
fn show(state: &mut State, effects: &mut Vec<Effect>) {
    let mut by_file: BTreeMap<RelPath, Vec<Finding>> = BTreeMap::new();
    let of_runs = state.runs.values().flat_map(|run| {
        let findings = run.new_findings();
        findings.map(|finding| (finding, run.gates_broken.contains_key(&finding.gate)))
    });
    let standing = state.standing.values().flatten();
    for (finding, is_stale) in of_runs.chain(standing.map(|finding| (finding, false))) {
        let Some(path) = finding.file().and_then(|file| file.workspace()) else {
            continue;
        };
        if state.is_gone(path) {
            continue;
        }
        let list = by_file.entry(path.clone()).or_default();
        let shown = if is_stale || state.stale.contains(&finding.gate) {
            recheck::as_stale(finding)
        } else {
            finding.clone()
        };
        if !list.contains(&shown) {
            list.push(shown);
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
