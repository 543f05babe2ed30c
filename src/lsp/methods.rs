//! Our own methods, and the commands that mean the same. Each reads its parameters, posts to the app before its first
//! await, and waits for nothing but the app's reply.

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use lsp_types::MessageType;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tower_lsp::LspServiceBuilder;
use tower_lsp::jsonrpc::{Error, Result};

use super::commands::{Command, ShownGate};
use super::errors::{error, gone};
use super::folders::Folders;
use super::models;
use super::questions;
use super::runs;
use super::server::Server;
use super::session::Session;
use super::start::{start, taken};
use super::tasks;
use super::virtual_documents;
use super::writing;
use crate::app::{After, Clean, CleanError, EditedSince, EventsError, Undo, UndoError};
use crate::kernel::effect::Reply;
use crate::kernel::event::{RunOutcome, Steer};
use crate::kernel::ids::{QuestionId, RunId};
use crate::kernel::question::{Question, QuestionState};
use crate::kernel::run::Run;
use crate::kernel::view::View;
use crate::protocol::change::{
    ChangesParams, ChangesResult, CleanParams, CleanResult, DiffParams, DiffResult, RevertParams,
    RevertResult,
};
use crate::protocol::document::{ReadParams, ReadResult};
use crate::protocol::editor::{ViewParams, ViewResult};
use crate::protocol::error::ErrorKind;
use crate::protocol::method;
use crate::protocol::question::{self, AnswerParams, AnswerResult};
use crate::protocol::run::{
    CancelParams, CancelResult, EventsParams, EventsResult, ListParams, ListResult, ResumeParams,
    ResumeResult, RunView, StartParams, StartResult, SteerParams, SteerResult,
};
use crate::protocol::settings;
use crate::protocol::trust::{TrustParams, TrustResult};

/// Under this name comes [`method::TRUST`] where it is a notification.
pub const TRUST_TOLD: &str = "outrigger/trust/told";

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
        .custom_method(method::TASK_CLEAN, task_clean)
        .custom_method(method::TASK_LIST, tasks::list)
        .custom_method(method::TASK_ADD, tasks::add)
        .custom_method(method::TASK_IMPORT, tasks::import)
        .custom_method(method::TASK_EDIT, tasks::edit)
        .custom_method(method::TASK_READY, tasks::ready)
        .custom_method(method::TASK_START, tasks::start)
        .custom_method(method::QUESTION_LIST, question_list)
        .custom_method(method::QUESTION_ANSWER, question_answer)
        .custom_method(method::DOCUMENT_READ, document_read)
        .custom_method(method::EDITOR_VIEW, editor_view)
        .custom_method(method::MODELS_LIST, models::list)
        .custom_method(method::MODELS_KEY, models::key)
        .custom_method(method::SETTINGS_LIST, settings_list)
        .custom_method(method::TRUST, trust)
        .custom_method(TRUST_TOLD, trust_told)
        .custom_method(virtual_documents::METHOD, text_document_content)
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
    let params: StartParams = read(method::RUN_START, params)?;
    start(&*server.folders.named(params.folder.as_deref())?, params).await
}

async fn editor_view(server: &Server, params: Value) -> Result<ViewResult> {
    let ViewParams { folder, documents } = read(method::EDITOR_VIEW, params)?;
    let session = server.folders.named(folder.as_deref())?;
    session.app.set_view(View { documents });
    Ok(ViewResult {})
}

async fn run_cancel(server: &Server, params: Value) -> Result<CancelResult> {
    let CancelParams { run_id } = read(method::RUN_CANCEL, params)?;
    cancel(&*server.folders.of_run(&run_id)?, run_id).await
}

async fn run_steer(server: &Server, params: Value) -> Result<SteerResult> {
    let SteerParams { run_id, steer, by } = read(method::RUN_STEER, params)?;
    let session = server.folders.of_run(&run_id)?;
    let words = match &steer {
        Steer::Message { text } => Some(("the message", text)),
        Steer::Model { model } => Some(("the model's name", model)),
        Steer::Pause | Steer::GoOn | Steer::SkipStep => None,
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
    let params: ResumeParams = read(method::RUN_RESUME, params)?;
    resume(&*server.folders.of_run(&params.run_id)?, params).await
}

async fn run_changes(server: &Server, params: Value) -> Result<ChangesResult> {
    let ChangesParams { run_id } = read(method::RUN_CHANGES, params)?;
    let run = run_id.clone();
    let files = in_its_folder(&server.folders, &run_id, move |session| {
        let run = run.clone();
        async move { session.app.changes(run).await }.boxed()
    });
    let files = files
        .await?
        .map_err(|why| undo_error("list the run's changes", &why))?;
    Ok(ChangesResult {
        run_id,
        files: files.into_iter().map(runs::changed_file).collect(),
    })
}

async fn run_diff(server: &Server, params: Value) -> Result<DiffResult> {
    let DiffParams { run_id } = read(method::RUN_DIFF, params)?;
    let run = run_id.clone();
    let patch = in_its_folder(&server.folders, &run_id, move |session| {
        let run = run.clone();
        async move { session.app.diff(run).await }.boxed()
    });
    let patch = patch.await?;
    Ok(DiffResult {
        patch: patch.map_err(|why| undo_error("show the run's changes", &why))?,
        run_id,
    })
}

async fn run_revert(server: &Server, params: Value) -> Result<RevertResult> {
    revert(&server.folders, read(method::RUN_REVERT, params)?).await
}

async fn settings_list(server: &Server, params: Value) -> Result<settings::ListResult> {
    let settings::ListParams { folder } = read(method::SETTINGS_LIST, params)?;
    let session = server.folders.named(folder.as_deref())?;
    let loaded = session.app.settings(&Value::Null);
    let listed = loaded.listed_for_editors().into_iter();
    Ok(settings::ListResult {
        settings: listed
            .map(|(name, value, origin)| settings::Setting {
                name,
                value,
                origin: origin.to_string(),
            })
            .collect(),
        problems: loaded.problems.iter().map(ToString::to_string).collect(),
    })
}

/// Of one folder: a task is of one.
async fn task_clean(server: &Server, params: Value) -> Result<CleanResult> {
    let CleanParams {
        task_id,
        run_ids,
        folder,
        by,
        preview,
        force,
    } = read(method::TASK_CLEAN, params)?;
    let (session, after) = match task_id {
        Some(task) if run_ids.is_empty() => {
            let session = server.folders.named(folder.as_deref())?;
            (session, After::Task(task))
        }
        Some(_) => {
            let message = "name the task or the runs, not both";
            return Err(error(ErrorKind::InvalidParams, message));
        }
        None => {
            let session = match run_ids.first() {
                Some(run) => server.folders.of_run(run)?,
                None => server.folders.first()?,
            };
            (session, After::Runs(run_ids))
        }
    };
    let clean = Clean {
        after,
        edited_since: if force {
            EditedSince::Overrule
        } else {
            EditedSince::Leave
        },
        preview,
        by: by.unwrap_or_else(|| session.client.client.clone()),
    };
    match session.app.clean(clean).await {
        Ok(cleaned) => Ok(runs::cleaned(cleaned)),
        Err(why) => Err(clean_error(&why)),
    }
}

async fn question_answer(server: &Server, params: Value) -> Result<AnswerResult> {
    let params: AnswerParams = read(method::QUESTION_ANSWER, params)?;
    answer(&*server.folders.of_question(&params.question_id)?, params).await
}

/// Does what a command says; gives what the method of the same meaning gives.
pub async fn execute(folders: &Folders, command: Command) -> Result<Value> {
    match command {
        Command::Run(params) => {
            let session = folders.named(params.folder.as_deref())?;
            start(&session, params).await.map(|result| json!(result))
        }
        Command::Cancel(run) => {
            let (session, run) = match run {
                Some(run) => (folders.of_run(&run)?, run),
                None => the_one_run(folders, |run| !run.parked).await?,
            };
            cancel(&session, run).await.map(|result| json!(result))
        }
        Command::Resume(run) => {
            let (session, run_id) = match run {
                Some(run) => (folders.of_run(&run)?, run),
                None => the_one_run(folders, |run| run.parked).await?,
            };
            let params = ResumeParams { run_id, by: None };
            resume(&session, params).await.map(|result| json!(result))
        }
        Command::Revert(params) => {
            let params = match params {
                Some(params) => params,
                None => RevertParams::all_of(last_ended_run(folders).await?),
            };
            let preview = params.preview;
            let result = revert(folders, params).await?;
            let session = folders.first()?;
            if !session.client.offer.events {
                session.say(MessageType::INFO, runs::revert_in_words(&result, preview));
            }
            Ok(json!(result))
        }
        Command::Questions => {
            let params = question::ListParams::default();
            let listed = list_questions(folders, params).await?;
            let session = folders.first()?;
            if !session.client.offer.questions {
                let files = |id: &QuestionId| folders.of_question(id).ok()?.app.answer_file(id);
                let text = questions::list_in_words(&listed.questions, files);
                session.say(MessageType::INFO, text);
            }
            Ok(json!(listed))
        }
        Command::AddTask(params) => {
            let session = folders.named(params.folder.as_deref())?;
            let task = tasks::add_one(&session, params).await?;
            if !session.client.offer.events {
                let text = format!(
                    "Outrigger: task {} is kept: {} (start it with the command {} \"{}\")",
                    task.id,
                    task.title,
                    super::commands::START_TASK,
                    task.id
                );
                session.say(MessageType::INFO, text);
            }
            Ok(json!({ "task": task }))
        }
        Command::StartTask(params) => {
            let session = folders.named(params.folder.as_deref())?;
            tasks::start_one(&session, params)
                .await
                .map(|result| json!(result))
        }
        Command::WriteAnswer(question) => {
            let session = folders.of_question(&question)?;
            let asked = find_question(&session, &question).await?;
            if asked.state != QuestionState::Open {
                let message = format!("question {question} is not open any more");
                return Err(error(ErrorKind::AlreadyAnswered, message));
            }
            if !asked.free_text {
                let message = format!("question {question} takes no words; choose an answer");
                return Err(error(ErrorKind::WrongAnswer, message));
            }
            written_in(writing::open_answer(&session, asked).await)
        }
        Command::WritePrompt(about) => {
            let session = match &about {
                None => folders.named(None)?,
                Some(passage) => match passage.folder.as_deref() {
                    Some(folder) => folders.named(Some(folder))?,
                    None => folders.of_relative(&passage.path)?,
                },
            };
            written_in(writing::open_prompt(&session, about).await)
        }
        Command::ShowGate(ShownGate { gate, folder }) => {
            let session = folders.named(folder.as_deref())?;
            let uri = format!("{}:/gate/{gate}", virtual_documents::SCHEME);
            let text = virtual_documents::read(folders, &uri).await?;
            writing::show_text(&session, &uri, text).await;
            Ok(json!({ "uri": uri }))
        }
        Command::Answer(params) => {
            let session = folders.of_question(&params.question_id)?;
            answer(&session, params).await.map(|result| json!(result))
        }
        Command::AnswerInWords { question, words } => {
            let session = folders.of_question(&question)?;
            let asked = find_question(&session, &question).await?;
            let params = AnswerParams {
                question_id: question,
                answer: questions::answer_in_words(&asked, &words),
                by: None,
            };
            answer(&session, params).await.map(|result| json!(result))
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

async fn revert(folders: &Folders, params: RevertParams) -> Result<RevertResult> {
    let run = params.run_id.clone();
    let undone = in_its_folder(folders, &run, move |session| {
        let undo = Undo {
            step: params.step.clone(),
            paths: params.paths.clone(),
            hunks: params.hunks.clone(),
            preview: params.preview,
            ..Undo::all_of(vec![params.run_id.clone()])
        };
        async move { session.app.undo(undo).await }.boxed()
    });
    let undone = undone.await?;
    let undone = undone.map_err(|why| undo_error("revert the run", &why))?;
    Ok(runs::reverted(run, undone))
}

/// What a folder's ledger says.
type Told<T> = std::result::Result<T, UndoError>;

/// Asks the folder of a run, or, for what only its ledger knows (a revert is undone by its own name), the first that knows.
async fn in_its_folder<T: Send>(
    folders: &Folders,
    run: &RunId,
    ask: impl Fn(Arc<Session>) -> BoxFuture<'static, Told<T>> + Send,
) -> Result<Told<T>> {
    let first = folders.of_run(run)?;
    let told = ask(Arc::clone(&first)).await;
    if !matches!(told, Err(UndoError::UnknownRun(_))) {
        return Ok(told);
    }
    for session in folders.all() {
        if !Arc::ptr_eq(&session, &first) {
            let other = ask(session).await;
            if !matches!(other, Err(UndoError::UnknownRun(_))) {
                return Ok(other);
            }
        }
    }
    Ok(told)
}

fn undo_error(what: &str, why: &UndoError) -> Error {
    let kind = match why {
        UndoError::UnknownRun(_) => ErrorKind::UnknownRun,
        UndoError::HunksOfSeveral | UndoError::UnknownFile(_) => ErrorKind::InvalidParams,
        UndoError::Ledger(_) | UndoError::Broken(_) => ErrorKind::Storage,
    };
    error(kind, format!("failed to {what}: failed to {why}"))
}

fn clean_error(why: &CleanError) -> Error {
    let kind = match why {
        CleanError::NoRuns | CleanError::Succeeded(_) | CleanError::NotOver(_) => {
            ErrorKind::InvalidParams
        }
        CleanError::Events(EventsError::UnknownRun(_)) => ErrorKind::UnknownRun,
        CleanError::Events(EventsError::Storage(_)) => ErrorKind::Storage,
        CleanError::Undo(why) => return undo_error("clean up", why),
        CleanError::Task(why) => return tasks::refused("clean up", why),
    };
    error(kind, format!("failed to clean up: {why}"))
}

/// The run that is reverted when none is named.
async fn last_ended_run(folders: &Folders) -> Result<RunId> {
    let mut last = None;
    for session in folders.all() {
        let found = session.app.look(|state| {
            // Ids sort by start time.
            let mut runs = state.runs.values().rev();
            let run = runs.find(|run| run.ended.is_some());
            run.map(|run| run.id.clone())
        });
        last = last.max(found.await.map_err(|_| gone())?);
    }
    last.ok_or_else(|| {
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
async fn the_one_run(folders: &Folders, wanted: fn(&Run) -> bool) -> Result<(Arc<Session>, RunId)> {
    let mut found = Vec::new();
    for session in folders.all() {
        let runs = session.app.look(move |state| {
            let runs = state.runs.values();
            let found = runs.filter(|run| run.ended.is_none() && wanted(run));
            found.map(|run| run.id.clone()).collect::<Vec<_>>()
        });
        let runs = runs.await.map_err(|_| gone())?;
        found.extend(runs.into_iter().map(|run| (Arc::clone(&session), run)));
    }
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(error(ErrorKind::UnknownRun, "there is no such run now")),
        several => {
            let names: Vec<&str> = several.iter().map(|(_, run)| run.as_str()).collect();
            let message = format!(
                "there are several such runs; name one of {}",
                names.join(", ")
            );
            Err(error(ErrorKind::UnknownRun, message))
        }
    }
}

async fn run_list(server: &Server, params: Value) -> Result<ListResult> {
    let ListParams {} = read(method::RUN_LIST, params)?;
    let sessions = server.folders.all();
    // Before anything is awaited, so that all are asked at the same time.
    let asked: Vec<_> = sessions
        .iter()
        .map(|session| {
            let app = session.app.clone();
            let folder = (sessions.len() > 1).then(|| session.root.folder_uri().to_owned());
            let foreign: Vec<RunView> = app
                .foreign()
                .into_iter()
                .map(|run| RunView {
                    folder: folder.clone(),
                    ..runs::view_of_foreign(&app, run)
                })
                .collect();
            let ours = session.app.look(move |state| {
                let runs = state.runs.values().rev();
                let view = |run| RunView {
                    folder: folder.clone(),
                    ..runs::view(&app, run)
                };
                runs.map(view).collect::<Vec<_>>()
            });
            (foreign, ours)
        })
        .collect();
    if asked.is_empty() {
        server.folders.first()?;
    }
    let mut runs = Vec::new();
    for (foreign, ours) in asked {
        runs.extend(ours.await.map_err(|_| gone())?);
        runs.extend(foreign);
    }
    // Ids sort by start time.
    runs.sort_by(|one: &RunView, other| other.run_id.cmp(&one.run_id));
    Ok(ListResult { runs })
}

async fn run_events(server: &Server, params: Value) -> Result<EventsResult> {
    let EventsParams {
        run_id,
        after_seq,
        limit,
    } = read(method::RUN_EVENTS, params)?;
    let session = server.folders.of_run(&run_id)?;
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
    list_questions(&server.folders, read(method::QUESTION_LIST, params)?).await
}

async fn list_questions(
    folders: &Folders,
    params: question::ListParams,
) -> Result<question::ListResult> {
    let question::ListParams { run_id, all } = params;
    let sessions = match &run_id {
        Some(run) => vec![folders.of_run(run)?],
        None => folders.all(),
    };
    let mut questions = Vec::new();
    for session in sessions {
        let run = run_id.clone();
        let wanted = move |question: &Question| {
            (all || question.state == QuestionState::Open)
                && run.as_ref().is_none_or(|run| question.run == *run)
        };
        let foreign = session.app.foreign().into_iter();
        let foreign = foreign.flat_map(|run| run.questions);
        questions.extend(foreign.filter(&wanted));
        let run = run_id.clone();
        let listed = session.app.look(move |state| {
            let is_known = run.as_ref().is_none_or(|run| state.runs.contains_key(run));
            let ours = state.questions.values().filter(|question| wanted(question));
            (is_known, ours.cloned().collect::<Vec<Question>>())
        });
        let (is_known, listed) = listed.await.map_err(|_| gone())?;
        // A run that ended in an earlier process is known by its transcript, and has nothing open.
        if let Some(run) = run_id.as_ref()
            && !is_known
            && !session.app.has_trace_of(run)
        {
            let message = format!(
                "there is no run {run} in this workspace; list them with {}",
                method::RUN_LIST
            );
            return Err(error(ErrorKind::UnknownRun, message));
        }
        questions.extend(listed);
    }
    questions.sort_by_key(|question| question.opened_at);
    Ok(question::ListResult { questions })
}

async fn document_read(server: &Server, params: Value) -> Result<ReadResult> {
    let ReadParams { uri } = read(method::DOCUMENT_READ, params)?;
    let text = virtual_documents::read(&server.folders, &uri).await?;
    Ok(ReadResult { uri, text })
}

/// The same as a notification: nobody hears of a mistake but the log.
async fn trust_told(server: &Server, params: Value) {
    if let Err(why) = trust(server, params).await {
        tracing::warn!("{}", why.message);
    }
}

/// The editor has asked its user.
async fn trust(server: &Server, params: Value) -> Result<TrustResult> {
    let TrustParams { trusted, folder } = read(method::TRUST, params)?;
    let sessions = match folder {
        Some(folder) => vec![server.folders.named(Some(&folder))?],
        None => server.folders.all(),
    };
    for session in sessions {
        session.app.set_editors_trust(trusted);
    }
    Ok(TrustResult { trusted })
}

/// LSP 3.18: the same for clients that open documents of other schemes by themselves.
async fn text_document_content(server: &Server, params: Value) -> Result<Value> {
    let ReadParams { uri } = read(virtual_documents::METHOD, params)?;
    let text = virtual_documents::read(&server.folders, &uri).await?;
    Ok(json!({ "text": text }))
}

pub async fn find_question(session: &Session, id: &QuestionId) -> Result<Question> {
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
}
