//! `outrigger/task/*`: tasks, in the contract's words.

use serde_json::{Value, json};
use tower_lsp::jsonrpc::{Error, Result};

use super::errors::error;
use super::methods::read;
use super::server::Server;
use super::session::Session;
use super::start;
use crate::app::tasks::{Draft, Edit, Format, TaskError};
use crate::kernel::task::{Task, TaskOrigin, TaskRefusal, TaskState};
use crate::protocol::error::ErrorKind;
use crate::protocol::method;
use crate::protocol::task::{
    AddParams, EditParams, ImportParams, ImportResult, ListFormat, ListParams, ListResult,
    ReadyParams, StartParams, StartResult, TaskResult,
};

pub async fn list(server: &Server, params: Value) -> Result<ListResult> {
    let ListParams { folder, states } = read(method::TASK_LIST, params)?;
    let session = server.folders.named(folder.as_deref())?;
    let listed = session.app.with_tasks(|tasks| tasks.list()).await;
    let mut tasks = listed.map_err(|why| refused("list the tasks", &why))?;
    tasks.retain(|task| states.is_empty() || states.contains(&task.state));
    Ok(ListResult { tasks })
}

pub async fn add(server: &Server, params: Value) -> Result<TaskResult> {
    let params: AddParams = read(method::TASK_ADD, params)?;
    let session = server.folders.named(params.folder.as_deref())?;
    add_one(&session, params)
        .await
        .map(|task| TaskResult { task })
}

/// For the method and the command.
pub async fn add_one(session: &Session, params: AddParams) -> Result<Task> {
    let by = who(session, params.by);
    let origin = params.origin.unwrap_or(TaskOrigin::Prompt);
    let made = async {
        let draft = Draft {
            title: params.title,
            description: params.description,
            origin: session.app.with_text(origin).await?,
            depends_on: params.depends_on,
            settings: params.settings,
        };
        session
            .app
            .with_tasks(move |tasks| tasks.add(&[draft], &by))
            .await
    };
    let made = made.await.map_err(|why| refused("add the task", &why))?;
    made.into_iter().next().ok_or_else(Error::internal_error)
}

pub async fn import(server: &Server, params: Value) -> Result<ImportResult> {
    let params: ImportParams = read(method::TASK_IMPORT, params)?;
    let session = server.folders.named(params.folder.as_deref())?;
    let by = who(&session, params.by);
    let format = match params.format {
        Some(ListFormat::Markdown) => Format::Markdown,
        Some(ListFormat::Json) => Format::Json,
        None => Format::of(&params.text),
    };
    let work = move |tasks: &crate::app::tasks::Tasks| {
        tasks.import(&params.text, format, (params.file, &by))
    };
    let imported = session.app.with_tasks(work).await;
    let imported = imported.map_err(|why| refused("import the tasks", &why))?;
    Ok(ImportResult {
        tasks: imported.tasks,
        already_done: imported.already_done,
    })
}

pub async fn edit(server: &Server, params: Value) -> Result<TaskResult> {
    let params: EditParams = read(method::TASK_EDIT, params)?;
    let session = server.folders.named(params.folder.as_deref())?;
    let by = who(&session, params.by);
    let edit = Edit {
        title: params.title,
        description: params.description,
        depends_on: params.depends_on,
        settings: params.settings,
        state: params.state,
    };
    let edited = session
        .app
        .with_tasks(move |tasks| tasks.edit(&params.task_id, edit, &by));
    let task = edited
        .await
        .map_err(|why| refused("change the task", &why))?;
    Ok(TaskResult { task })
}

pub async fn ready(server: &Server, params: Value) -> Result<TaskResult> {
    let params: ReadyParams = read(method::TASK_READY, params)?;
    let session = server.folders.named(params.folder.as_deref())?;
    let by = who(&session, params.by);
    let edit = Edit {
        state: Some(TaskState::Ready),
        ..Edit::default()
    };
    let edited = session
        .app
        .with_tasks(move |tasks| tasks.edit(&params.task_id, edit, &by));
    let task = edited
        .await
        .map_err(|why| refused("make the task ready", &why))?;
    Ok(TaskResult { task })
}

pub async fn start(server: &Server, params: Value) -> Result<StartResult> {
    let params: StartParams = read(method::TASK_START, params)?;
    start_one(&*server.folders.named(params.folder.as_deref())?, params).await
}

/// For the method and the command.
pub async fn start_one(session: &Session, params: StartParams) -> Result<StartResult> {
    let by = who(session, params.by);
    let call = json!({
        "engine": params.engine,
        "model": params.model,
        "fallbackModel": params.fallback_model,
        "policy": params.policy,
        "budget": params.budget,
        "stall": params.stall,
    });
    let (task_id, id) = (params.task_id.clone(), params.task_id);
    let taken = session
        .app
        .with_tasks(move |tasks| tasks.take(&id, call, &by))
        .await;
    let wish = taken.map_err(|why| refused("start the task", &why))?;
    let started = start::with(session, wish).await;
    if let Err(why) = &started {
        let (id, why) = (task_id.clone(), why.message.to_string());
        let given = session
            .app
            .with_tasks(move |tasks| tasks.give_back(&id, &why));
        if let Err(error) = given.await {
            tracing::error!("task {task_id} stays taken: {error}");
        }
    }
    let started = started?;
    Ok(StartResult {
        task_id,
        run_id: started.run_id,
    })
}

fn who(session: &Session, by: Option<String>) -> String {
    by.unwrap_or_else(|| session.client.client.clone())
}

pub fn refused(what: &str, why: &TaskError) -> Error {
    let kind = match why {
        TaskError::Refused(TaskRefusal::Unknown(_)) => ErrorKind::UnknownTask,
        TaskError::Refused(TaskRefusal::NoTitle | TaskRefusal::Cycle(..))
        | TaskError::Import(_) => ErrorKind::InvalidParams,
        TaskError::Refused(
            TaskRefusal::Move { .. }
            | TaskRefusal::AtWork { .. }
            | TaskRefusal::Taken(_)
            | TaskRefusal::Waits { .. },
        ) => ErrorKind::TaskState,
        TaskError::Place(_) => ErrorKind::UnknownDocument,
        TaskError::Storage(_) => ErrorKind::Storage,
    };
    error(kind, format!("failed to {what}: {why}"))
}
