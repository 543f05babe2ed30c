//! Our own methods, and the commands that mean the same. Each reads its parameters, posts to the app before its first
//! await, and waits for nothing but the app's reply.

use std::path::PathBuf;
use std::sync::Arc;

use lsp_types::MessageType;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tower_lsp::LspServiceBuilder;
use tower_lsp::jsonrpc::{Error, Result};

use super::commands::Command;
use super::errors::{error, gone};
use super::models;
use super::questions;
use super::runs;
use super::server::Server;
use super::session::Session;
use super::start::{start, taken};
use super::writing;
use crate::app::{EventsError, Undo, UndoError};
use crate::kernel::effect::Reply;
use crate::kernel::event::{RunOutcome, Steer};
use crate::kernel::ids::{QuestionId, RunId};
use crate::kernel::question::{Question, QuestionKind, QuestionState};
use crate::kernel::run::Run;
use crate::protocol::change::{
    ChangesParams, ChangesResult, DiffParams, DiffResult, RevertParams, RevertResult,
};
use crate::protocol::document::{ReadParams, ReadResult};
use crate::protocol::error::ErrorKind;
use crate::protocol::method;
use crate::protocol::question::{self, AnswerParams, AnswerResult};
use crate::protocol::run::{
    CancelParams, CancelResult, EventsParams, EventsResult, ListParams, ListResult, ResumeParams,
    ResumeResult, StartResult, SteerParams, SteerResult,
};

/// Adds the methods.
pub fn add(builder: LspServiceBuilder<Server>) -> LspServiceBuilder<Server> {
    builder
        .custom_method(method::RUN_START, run_start)
        .custom_method(method::RUN_CANCEL, run_cancel)
        .custom_method(method::RUN_STEER, run_steer)
        .custom_method(method::RUN_RESUME, run_resume)
        .custom_method(method::RUN_LIST, run_list)
        .custom_method(method::RUN_EVENTS, run_events)
        .custom_method(method::RUN_CHANGES, run_changes)
        .custom_method(method::RUN_DIFF, run_diff)
        .custom_method(method::RUN_REVERT, run_revert)
        .custom_method(method::QUESTION_LIST, question_list)
        .custom_method(method::QUESTION_ANSWER, question_answer)
        .custom_method(method::DOCUMENT_READ, document_read)
        .custom_method(method::MODELS_LIST, models::list)
        .custom_method(method::MODELS_KEY, models::key)
}

/// Reads parameters. What LSP libraries send for "none" stands for an empty object.
pub(super) fn read<T: DeserializeOwned>(method: &str, params: Value) -> Result<T> {
    let params = match params {
        Value::Null => json!({}),
        Value::Array(list) if list.iter().all(Value::is_null) => json!({}),
        other => other,
    };
    serde_json::from_value(params).map_err(|why| {
        let message = format!("failed to read the parameters of {method}: {why}");
        error(ErrorKind::InvalidParams, message)
    })
}

async fn run_start(server: &Server, params: Value) -> Result<StartResult> {
    start(server.session()?, read(method::RUN_START, params)?).await
}

async fn run_cancel(server: &Server, params: Value) -> Result<CancelResult> {
    let CancelParams { run_id } = read(method::RUN_CANCEL, params)?;
    cancel(server.session()?, run_id).await
}

async fn run_steer(server: &Server, params: Value) -> Result<SteerResult> {
    let session = server.session()?;
    let SteerParams { run_id, steer, by } = read(method::RUN_STEER, params)?;
    let words = match &steer {
        Steer::Message { text } => Some(("the message", text)),
        Steer::Model { model } => Some(("the model's name", model)),
        Steer::Pause | Steer::GoOn => None,
    };
    if let Some((what, _)) = words.filter(|(_, words)| words.trim().is_empty()) {
        return Err(error(ErrorKind::InvalidParams, format!("{what} is empty")));
    }
    let by = by.unwrap_or_else(|| session.client.client.clone());
    match taken(session.app.steer(run_id, steer, by)).await? {
        Reply::Steered { run } => Ok(SteerResult { run_id: run }),
        Reply::Started { .. }
        | Reply::Cancelled { .. }
        | Reply::Answered { .. }
        | Reply::Resumed { .. } => Err(Error::internal_error()),
    }
}

async fn run_resume(server: &Server, params: Value) -> Result<ResumeResult> {
    resume(server.session()?, read(method::RUN_RESUME, params)?).await
}

async fn run_changes(server: &Server, params: Value) -> Result<ChangesResult> {
    let session = server.session()?;
    let ChangesParams { run_id } = read(method::RUN_CHANGES, params)?;
    let files = session.app.changes(run_id.clone()).await;
    let files = files.map_err(|why| undo_error("list the run's changes", &why))?;
    Ok(ChangesResult {
        run_id,
        files: files.into_iter().map(runs::changed_file).collect(),
    })
}

async fn run_diff(server: &Server, params: Value) -> Result<DiffResult> {
    let session = server.session()?;
    let DiffParams { run_id } = read(method::RUN_DIFF, params)?;
    let patch = session.app.diff(run_id.clone()).await;
    Ok(DiffResult {
        patch: patch.map_err(|why| undo_error("show the run's changes", &why))?,
        run_id,
    })
}

async fn run_revert(server: &Server, params: Value) -> Result<RevertResult> {
    revert(server.session()?, read(method::RUN_REVERT, params)?).await
}

async fn question_answer(server: &Server, params: Value) -> Result<AnswerResult> {
    answer(server.session()?, read(method::QUESTION_ANSWER, params)?).await
}

/// Does what a command says; gives what the method of the same meaning gives.
pub async fn execute(session: &Arc<Session>, command: Command) -> Result<Value> {
    match command {
        Command::Run(params) => start(session, params).await.map(|result| json!(result)),
        Command::Cancel(Some(run)) => cancel(session, run).await.map(|result| json!(result)),
        Command::Cancel(None) => {
            let run = the_one_run(session, |run| !run.parked).await?;
            cancel(session, run).await.map(|result| json!(result))
        }
        Command::Resume(run) => {
            let run_id = match run {
                Some(run) => run,
                None => the_one_run(session, |run| run.parked).await?,
            };
            let params = ResumeParams { run_id, by: None };
            resume(session, params).await.map(|result| json!(result))
        }
        Command::Revert(params) => {
            let params = match params {
                Some(params) => params,
                None => RevertParams::all_of(last_ended_run(session).await?),
            };
            let preview = params.preview;
            let result = revert(session, params).await?;
            if !session.client.offer.events {
                session.say(MessageType::INFO, runs::revert_in_words(&result, preview));
            }
            Ok(json!(result))
        }
        Command::WriteAnswer(question) => {
            let asked = find_question(session, &question).await?;
            if asked.state != QuestionState::Open {
                let message = format!("question {question} is not open any more");
                return Err(error(ErrorKind::AlreadyAnswered, message));
            }
            if !asked.free_text {
                let message = format!("question {question} takes no words; choose an answer");
                return Err(error(ErrorKind::WrongAnswer, message));
            }
            written_in(writing::open_answer(session, asked).await)
        }
        Command::WritePrompt(about) => written_in(writing::open_prompt(session, about).await),
        Command::Answer(params) => answer(session, params).await.map(|result| json!(result)),
        Command::AnswerInWords { question, words } => {
            let asked = find_question(session, &question).await?;
            let params = AnswerParams {
                question_id: question,
                answer: questions::answer_in_words(&asked, &words),
                by: None,
            };
            answer(session, params).await.map(|result| json!(result))
        }
    }
}

async fn resume(session: &Session, params: ResumeParams) -> Result<ResumeResult> {
    let by = params.by.unwrap_or_else(|| session.client.client.clone());
    match taken(session.app.resume(params.run_id, by)).await? {
        Reply::Resumed { run } => Ok(ResumeResult { run_id: run }),
        Reply::Started { .. }
        | Reply::Cancelled { .. }
        | Reply::Answered { .. }
        | Reply::Steered { .. } => Err(Error::internal_error()),
    }
}

async fn revert(session: &Session, params: RevertParams) -> Result<RevertResult> {
    let run = params.run_id.clone();
    let undone = session.app.undo(Undo {
        run: params.run_id,
        step: params.step,
        paths: params.paths,
        hunks: params.hunks,
        preview: params.preview,
    });
    let undone = undone.await;
    let undone = undone.map_err(|why| undo_error("revert the run", &why))?;
    Ok(runs::reverted(run, undone))
}

fn undo_error(what: &str, why: &UndoError) -> Error {
    let kind = match why {
        UndoError::UnknownRun(_) => ErrorKind::UnknownRun,
        UndoError::HunksOfSeveral => ErrorKind::InvalidParams,
        UndoError::Ledger(_) | UndoError::Broken(_) => ErrorKind::Storage,
    };
    error(kind, format!("failed to {what}: failed to {why}"))
}

/// The run that is reverted when none is named.
async fn last_ended_run(session: &Session) -> Result<RunId> {
    let found = session.app.look(|state| {
        // Ids sort by start time.
        let mut runs = state.runs.values().rev();
        let run = runs.find(|run| run.ended.is_some());
        run.map(|run| run.id.clone())
    });
    found.await.map_err(|_| gone())?.ok_or_else(|| {
        let message = "no run of this process has ended; name the run to revert";
        error(ErrorKind::UnknownRun, message)
    })
}

/// Where the user writes, for clients that show it themselves.
fn written_in(file: std::result::Result<PathBuf, String>) -> Result<Value> {
    let file = file.map_err(|why| error(ErrorKind::Storage, why))?;
    Ok(json!({ "path": file }))
}

async fn cancel(session: &Session, run: RunId) -> Result<CancelResult> {
    let reply = session
        .app
        .cancel(run.clone(), session.client.client.clone());
    taken(reply).await?;
    let id = run.clone();
    let ended = session.app.look(move |state| {
        let run = state.runs.get(&id)?;
        run.ended.as_ref().map(|(outcome, _)| *outcome)
    });
    let outcome = ended.await.map_err(|_| gone())?;
    Ok(CancelResult {
        run_id: run,
        outcome: outcome.unwrap_or(RunOutcome::Cancelled),
    })
}

async fn answer(session: &Session, params: AnswerParams) -> Result<AnswerResult> {
    let by = params.by.unwrap_or_else(|| session.client.client.clone());
    let reply = session.app.answer(params.question_id, params.answer, by);
    match taken(reply).await? {
        Reply::Answered { question } => Ok(AnswerResult {
            question_id: question,
        }),
        Reply::Started { .. }
        | Reply::Cancelled { .. }
        | Reply::Steered { .. }
        | Reply::Resumed { .. } => Err(Error::internal_error()),
    }
}

/// The run that is meant when none is named: the only one that is not over and is `wanted`.
async fn the_one_run(session: &Session, wanted: fn(&Run) -> bool) -> Result<RunId> {
    let found = session.app.look(move |state| {
        let runs = state.runs.values();
        let found = runs.filter(|run| run.ended.is_none() && wanted(run));
        found.map(|run| run.id.clone()).collect::<Vec<_>>()
    });
    let found = found.await.map_err(|_| gone())?;
    match found.as_slice() {
        [run] => Ok(run.clone()),
        [] => Err(error(ErrorKind::UnknownRun, "there is no such run now")),
        several => {
            let names: Vec<&str> = several.iter().map(RunId::as_str).collect();
            let message = format!(
                "there are several such runs; name one of {}",
                names.join(", ")
            );
            Err(error(ErrorKind::UnknownRun, message))
        }
    }
}

async fn run_list(server: &Server, params: Value) -> Result<ListResult> {
    let session = server.session()?;
    let ListParams {} = read(method::RUN_LIST, params)?;
    let app = session.app.clone();
    let runs = session.app.look(move |state| {
        // Ids sort by start time.
        let runs = state.runs.values().rev();
        runs.map(|run| runs::view(&app, run)).collect()
    });
    Ok(ListResult {
        runs: runs.await.map_err(|_| gone())?,
    })
}

async fn run_events(server: &Server, params: Value) -> Result<EventsResult> {
    let session = server.session()?;
    let EventsParams {
        run_id,
        after_seq,
        limit,
    } = read(method::RUN_EVENTS, params)?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let page = session.app.events(run_id.clone(), after_seq, limit).await;
    let page = page.map_err(|why| {
        let kind = match why {
            EventsError::UnknownRun(_) => ErrorKind::UnknownRun,
            EventsError::Storage(_) => ErrorKind::Storage,
        };
        error(kind, format!("failed to read the run's events: {why}"))
    })?;
    Ok(EventsResult {
        run_id,
        problems: page
            .bad_lines
            .iter()
            .map(|line| format!("line {}: {}", line.number, line.reason))
            .collect(),
        records: page.records,
        more: page.more,
    })
}

async fn question_list(server: &Server, params: Value) -> Result<question::ListResult> {
    let session = server.session()?;
    let question::ListParams { run_id, all } = read(method::QUESTION_LIST, params)?;
    let named = run_id.clone();
    let listed = session.app.look(move |state| {
        if let Some(run) = run_id.as_ref()
            && !state.runs.contains_key(run)
        {
            return None;
        }
        let mut questions: Vec<Question> = state
            .questions
            .values()
            .filter(|question| all || question.state == QuestionState::Open)
            .filter(|question| run_id.as_ref().is_none_or(|run| question.run == *run))
            .cloned()
            .collect();
        questions.sort_by_key(|question| question.opened_at);
        Some(questions)
    });
    let listed = listed.await.map_err(|_| gone())?;
    // A run that ended in an earlier process is known by its transcript, and has nothing open.
    let is_known = |run: &RunId| {
        session
            .app
            .transcript(run)
            .is_some_and(|path| path.exists())
    };
    match (listed, named) {
        (None, Some(run)) if !is_known(&run) => Err(error(
            ErrorKind::UnknownRun,
            format!(
                "there is no run {run} in this workspace; list them with {}",
                method::RUN_LIST
            ),
        )),
        (listed, _) => Ok(question::ListResult {
            questions: listed.unwrap_or_default(),
        }),
    }
}

async fn document_read(server: &Server, params: Value) -> Result<ReadResult> {
    let session = server.session()?;
    let ReadParams { uri } = read(method::DOCUMENT_READ, params)?;
    let unknown = |why: &str| {
        let message = format!("failed to read {uri}: {why}");
        error(ErrorKind::UnknownDocument, message)
    };
    let (id, side) = question_side(&uri).ok_or_else(|| {
        unknown("the form is outrigger:/question/<questionId>/base|current|proposed")
    })?;
    let question = find_question(session, &id).await?;
    let QuestionKind::Overwrite(overwrite) = question.kind else {
        return Err(unknown("the question is not about overwriting a file"));
    };
    let text = match side {
        Side::Base => overwrite.texts.base,
        Side::Current => overwrite.texts.current,
        Side::Proposed => overwrite.texts.proposed,
    };
    Ok(ReadResult {
        // A file that is not there has nothing in it, which is what a diff shows.
        text: text.as_deref().unwrap_or_default().to_owned(),
        uri,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Base,
    Current,
    Proposed,
}

fn question_side(uri: &str) -> Option<(QuestionId, Side)> {
    let decoded = percent_encoding::percent_decode_str(uri)
        .decode_utf8()
        .ok()?;
    let rest = decoded.strip_prefix("outrigger:")?.trim_start_matches('/');
    let (id, side) = rest.strip_prefix("question/")?.split_once('/')?;
    let side = match side {
        "base" => Side::Base,
        "current" => Side::Current,
        "proposed" => Side::Proposed,
        _ => return None,
    };
    Some((QuestionId::new(id), side))
}

async fn find_question(session: &Session, id: &QuestionId) -> Result<Question> {
    let wanted = id.clone();
    let found = session
        .app
        .look(move |state| state.questions.get(&wanted).cloned());
    found.await.map_err(|_| gone())?.ok_or_else(|| {
        let message = format!(
            "there is no question {id}; list them with {}",
            method::QUESTION_LIST
        );
        error(ErrorKind::UnknownQuestion, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_parameters_are_empty_parameters() {
        for params in [json!(null), json!([]), json!([null]), json!({})] {
            let read: Result<question::ListParams> = read(method::QUESTION_LIST, params.clone());
            assert_eq!(read, Ok(question::ListParams::default()), "{params}");
        }
        let read: Result<CancelParams> = read(method::RUN_CANCEL, json!({}));
        let error = read.unwrap_err();
        assert_eq!(error.data, Some(json!({"kind": "invalidParams"})));
        assert!(error.message.contains("runId"), "{error}");
        assert!(error.message.contains(method::RUN_CANCEL), "{error}");
    }

    #[test]
    fn the_sides_of_an_overwrite_have_uris() {
        let side = |uri: &str| question_side(uri).map(|(id, side)| (id.0, side));
        let id = "run-1.q2".to_owned();
        let rows = [
            (
                "outrigger:/question/run-1.q2/base",
                Some((id.clone(), Side::Base)),
            ),
            (
                "outrigger:///question/run-1.q2/current",
                Some((id.clone(), Side::Current)),
            ),
            (
                "outrigger:/question/run%2D1.q2/proposed",
                Some((id, Side::Proposed)),
            ),
            ("outrigger:/question/run-1.q2/theirs", None),
            ("outrigger:/run/run-1", None),
            ("file:///question/x/base", None),
        ];
        for (uri, want) in rows {
            assert_eq!(side(uri), want, "{uri}");
        }
    }
}
