//! Tasks of a workspace: listed with what their runs make of them, made from words, places in files and lists, moved by people.
//!
//! Blocking: callers on an async runtime go through [`App::with_tasks`]. Works without an app, too, for the terminal.

mod import;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use thiserror::Error;

use super::clock::wall_ms;
use super::list::is_at_work;
use super::{App, RunWish};
use crate::kernel::file::Overlay;
use crate::kernel::ids::TaskId;
use crate::kernel::path::RelPath;
use crate::kernel::run::{RunStatus, WaitingFor};
use crate::kernel::task::{
    Task, TaskOrigin, TaskRefusal, TaskRun, TaskSettings, TaskState, check_dependencies, comment,
    headline, waits_for,
};
use crate::store::database::{Database, DatabaseError, Numbered, TasksError};
use crate::store::overview::Overview;
use crate::store::state_dir::StateDir;
use crate::workspace::Workspace;

pub use import::{Format, ImportError, Imported, read_list};

/// Bytes of a selection that are kept with a task.
const PASSAGE: usize = 16 * 1024;

/// Completes "failed to …: ".
#[derive(Debug, Error)]
pub enum TaskError {
    #[error("{0}")]
    Refused(#[from] TaskRefusal),
    #[error("failed to {0}")]
    Storage(#[from] DatabaseError),
    #[error("{0}")]
    Import(#[from] ImportError),
    /// What a task is about cannot be read.
    #[error("{0}")]
    Place(String),
}

impl From<TasksError> for TaskError {
    fn from(error: TasksError) -> Self {
        match error {
            TasksError::Database(error) => Self::Storage(error),
            TasksError::Refused(refusal) => Self::Refused(refusal),
        }
    }
}

/// A task to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// Taken from the description or from where it came from when there is none.
    pub title: Option<String>,
    pub description: String,
    pub origin: TaskOrigin,
    /// Ids, or titles of tasks.
    pub depends_on: Vec<String>,
    pub settings: TaskSettings,
}

/// What is changed of a task; what is `None` stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Edit {
    pub title: Option<String>,
    pub description: Option<String>,
    pub depends_on: Option<Vec<TaskId>>,
    pub settings: Option<TaskSettings>,
    pub state: Option<TaskState>,
}

/// The tasks of one workspace.
pub struct Tasks {
    state: Arc<StateDir>,
    /// Opened when it is first needed.
    database: Mutex<Option<Database>>,
}

impl Tasks {
    pub(super) fn of(state: Arc<StateDir>) -> Self {
        Self {
            state,
            database: Mutex::new(None),
        }
    }

    /// Of a workspace on which this process need not work.
    ///
    /// # Errors
    /// The state cannot be opened: for people.
    pub fn open(root: &Path, state_dir: Option<&Path>) -> Result<Self, String> {
        let state =
            StateDir::open(root, state_dir).map_err(|error| format!("failed to {error}"))?;
        Ok(Self::of(Arc::new(state)))
    }

    /// All tasks as they stand now, in the order in which they were made.
    ///
    /// # Errors
    /// The state cannot be read.
    pub fn list(&self) -> Result<Vec<Task>, TaskError> {
        let (mut tasks, runs) =
            self.with_database(|database, runs| Ok((database.tasks()?, runs)))?;
        self.take_in(&mut tasks, runs);
        Ok(tasks)
    }

    /// # Errors
    /// There is none, or the state cannot be read.
    pub fn one(&self, id: &TaskId) -> Result<Task, TaskError> {
        let found = self.list()?.into_iter().find(|task| task.id == *id);
        found.ok_or_else(|| TaskRefusal::Unknown(id.clone()).into())
    }

    /// Makes tasks, all or none. Each may depend on others of `drafts` by their titles, or by `#` and their number.
    ///
    /// # Errors
    /// One has no title, or a dependency that is not there or leads in a circle.
    pub fn add(&self, drafts: &[Draft], by: &str) -> Result<Vec<Task>, TaskError> {
        let at = wall_ms();
        let added = self.change(|numbered| {
            let first = numbered.tasks.len();
            let mut names = Vec::new();
            for draft in drafts {
                let task = make(draft, numbered.new_id(), (at, by))?;
                names.push((task.id.clone(), task.title.clone()));
                numbered.tasks.push(task);
            }
            let known: Vec<_> = numbered
                .tasks
                .iter()
                .map(|task| (task.id.clone(), task.title.clone()))
                .collect();
            for (task, draft) in numbered.tasks.iter_mut().skip(first).zip(drafts) {
                for name in &draft.depends_on {
                    let id = find(name, &names, &known)?;
                    if !task.depends_on.contains(&id) {
                        task.depends_on.push(id);
                    }
                }
            }
            check(&numbered.tasks)?;
            Ok(numbered.tasks.iter().skip(first).cloned().collect())
        })?;
        Ok(added)
    }

    /// Makes tasks of the items of a list.
    ///
    /// # Errors
    /// The list cannot be read, or as [`add`](Self::add).
    pub fn import(
        &self,
        text: &str,
        format: Format,
        (file, by): (Option<String>, &str),
    ) -> Result<Imported, TaskError> {
        let read = import::read(text, format, file.as_ref())?;
        let tasks = self.add(&read.drafts, by)?;
        Ok(Imported {
            tasks,
            already_done: read.already_done,
        })
    }

    /// # Errors
    /// There is no such task, a move is not legal, or a dependency leads in a circle.
    pub fn edit(&self, id: &TaskId, edit: Edit, by: &str) -> Result<Task, TaskError> {
        let at = wall_ms();
        self.change(|numbered| {
            let task = find_mut(numbered, id)?;
            let mut changed = Vec::new();
            if let Some(title) = edit.title.filter(|title| *title != task.title) {
                let title = headline(&title);
                if title.is_empty() {
                    return Err(TaskRefusal::NoTitle);
                }
                task.title = title;
                changed.push("title");
            }
            if let Some(description) = edit.description.filter(|text| *text != task.description) {
                task.description = description;
                changed.push("description");
            }
            if let Some(needed) = edit.depends_on.filter(|needed| *needed != task.depends_on) {
                task.depends_on = needed;
                changed.push("dependencies");
            }
            if let Some(settings) = edit.settings.filter(|settings| *settings != task.settings) {
                task.settings = settings;
                changed.push("settings");
            }
            if !changed.is_empty() {
                task.note(at, by, format!("changed: {}", changed.join(", ")));
            }
            if let Some(state) = edit.state {
                task.put(state, at, by)?;
            }
            let task = task.clone();
            check(&numbered.tasks)?;
            Ok(task)
        })
    }

    /// Takes a task into work: from here on nobody else starts it. Gives what its run is to be started with; `call`: how that
    /// differs from the task's own settings.
    ///
    /// # Errors
    /// It waits for others, a run works on it, or it is not ready to be started.
    pub fn take(&self, id: &TaskId, call: Value, by: &str) -> Result<RunWish, TaskError> {
        let at = wall_ms();
        self.change(|numbered| {
            let all = numbered.tasks.clone();
            let task = find_mut(numbered, id)?;
            let open: Vec<String> = waits_for(task, &all)
                .iter()
                .map(|other| format!("{} ({}: {})", other.id, other.state.word(), other.title))
                .collect();
            if !open.is_empty() {
                return Err(TaskRefusal::Waits {
                    task: id.clone(),
                    waits_for: open.join(", "),
                });
            }
            // Whoever starts a task says with it that it is ready.
            if matches!(
                task.state,
                TaskState::Backlog | TaskState::Failed | TaskState::Blocked | TaskState::Done
            ) {
                task.put(TaskState::Ready, at, by)?;
            }
            if task.state == TaskState::InProgress {
                // Taken by somebody whose run is about to begin.
                return Err(TaskRefusal::Taken(id.clone()));
            }
            task.put(TaskState::InProgress, at, by)?;
            let mut wish = as_call(&task.settings);
            lay_over(&mut wish, call);
            Ok(RunWish {
                prompt: task.prompt(),
                call: wish,
                task: Some(task.id.clone()),
            })
        })
    }

    /// The run for which a task was taken did not start.
    ///
    /// # Errors
    /// The state cannot be written.
    pub fn give_back(&self, id: &TaskId, why: &str) -> Result<(), TaskError> {
        let at = wall_ms();
        self.change(|numbered| {
            let task = find_mut(numbered, id)?;
            if task.state == TaskState::InProgress && task.run_at_work().is_none() {
                task.put(TaskState::Ready, at, "Outrigger")?;
                task.note(at, "Outrigger", format!("no run was started: {why}"));
            }
            Ok(())
        })
    }

    /// What a task's runs left is cleaned away: it is as if nobody had tried.
    ///
    /// # Errors
    /// A run works on it, or the state cannot be written.
    pub fn reset(&self, id: &TaskId, why: &str, by: &str) -> Result<Task, TaskError> {
        let at = wall_ms();
        self.change(|numbered| {
            let task = find_mut(numbered, id)?;
            task.put(TaskState::Backlog, at, by)?;
            task.note(at, by, why.to_owned());
            Ok(task.clone())
        })
    }

    fn change<T>(
        &self,
        change: impl FnOnce(&mut Numbered) -> Result<T, TaskRefusal>,
    ) -> Result<T, TaskError> {
        self.with_database(|database, runs| {
            let changed = database.change_tasks(|numbered| {
                self.take_in(&mut numbered.tasks, runs);
                change(numbered)
            });
            Ok(changed?)
        })
    }

    fn with_database<T>(
        &self,
        work: impl FnOnce(&mut Database, Vec<Overview>) -> Result<T, TaskError>,
    ) -> Result<T, TaskError> {
        let mut held = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        let database = match held.take() {
            Some(database) => held.insert(database),
            None => held.insert(Database::open(&self.state.database())?.0),
        };
        for problem in database.refresh(&self.state.runs())?.problems {
            tracing::warn!("{problem:?}");
        }
        let runs = database.runs_of_tasks()?;
        work(database, runs)
    }

    fn take_in(&self, tasks: &mut [Task], runs: Vec<Overview>) {
        let mut by_task: BTreeMap<TaskId, Vec<(TaskRun, Option<WaitingFor>)>> = BTreeMap::new();
        for overview in runs {
            let Some(task) = overview.task.clone() else {
                continue;
            };
            by_task
                .entry(task)
                .or_default()
                .push(self.attempt(overview));
        }
        for task in tasks {
            task.take_runs(by_task.remove(&task.id).unwrap_or_default());
        }
    }

    /// A run that has not ended and that nobody works on was interrupted.
    fn attempt(&self, overview: Overview) -> (TaskRun, Option<WaitingFor>) {
        let is_left = overview.end.is_none() && !is_at_work(&self.state, &overview.run);
        let status = if is_left {
            RunStatus::Interrupted
        } else {
            overview.status
        };
        let run = TaskRun {
            run: overview.run,
            status,
            started_at: overview.started_at,
            changed_at: overview.changed_at,
        };
        (run, overview.waiting.map(|waiting| waiting.what))
    }
}

impl App {
    /// Works on the tasks, on a thread that may wait.
    ///
    /// # Errors
    /// Those of `work`.
    pub async fn with_tasks<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Tasks) -> Result<T, TaskError> + Send + 'static,
    ) -> Result<T, TaskError> {
        let tasks = Arc::clone(&self.tasks);
        let done = tokio::task::spawn_blocking(move || work(&tasks)).await;
        done.unwrap_or_else(|error| {
            Err(TaskError::Place(format!("a defect of Outrigger: {error}")))
        })
    }

    /// Completes where a task came from with the text that is there now, unsaved text included.
    ///
    /// # Errors
    /// There is no such place, or it asks for nothing: for people.
    pub async fn with_text(&self, origin: TaskOrigin) -> Result<TaskOrigin, TaskError> {
        let documents = self
            .look(|state| Arc::clone(&state.documents))
            .await
            .unwrap_or_default();
        let workspace = Arc::clone(&self.workspace);
        let read =
            tokio::task::spawn_blocking(move || with_text(origin, &workspace, &documents)).await;
        read.unwrap_or_else(|error| {
            Err(TaskError::Place(format!("a defect of Outrigger: {error}")))
        })
    }
}

/// As [`App::with_text`], with what is on disk.
///
/// # Errors
/// As there.
pub fn with_text_on_disk(origin: TaskOrigin, root: &Path) -> Result<TaskOrigin, TaskError> {
    let workspace = Workspace::open(root).map_err(|error| {
        TaskError::Place(format!(
            "failed to open the workspace {}: {error}",
            root.display()
        ))
    })?;
    with_text(origin, &workspace, &Overlay::default())
}

fn with_text(
    origin: TaskOrigin,
    workspace: &Workspace,
    documents: &Overlay,
) -> Result<TaskOrigin, TaskError> {
    let read = |path: &RelPath, first: u32, last: u32| -> Result<String, TaskError> {
        let now = workspace.inspect(path, documents);
        let Some(now) = now.text() else {
            return Err(TaskError::Place(format!("there is no text in {path}")));
        };
        let (first, last) = (first.max(1), last.max(first).max(1));
        let lines = now.text.split_inclusive('\n').skip(first as usize - 1);
        let mut text: String = lines.take((last - first) as usize + 1).collect();
        if text.is_empty() {
            return Err(TaskError::Place(format!("{path} has no line {first}")));
        }
        text.truncate(text.floor_char_boundary(PASSAGE));
        Ok(text)
    };
    Ok(match origin {
        TaskOrigin::Selection {
            path,
            first_line,
            last_line,
            text,
        } if text.is_empty() => {
            let text = read(&path, first_line, last_line)?;
            TaskOrigin::Selection {
                path,
                first_line,
                last_line,
                text,
            }
        }
        TaskOrigin::Todo { path, line, text } if text.is_empty() => {
            let read = read(&path, line, line)?;
            let text = comment::wish_of(&read).ok_or_else(|| {
                TaskError::Place(format!(
                    "line {line} of {path} has no TODO with words after it"
                ))
            })?;
            TaskOrigin::Todo { path, line, text }
        }
        other => other,
    })
}

fn make(draft: &Draft, id: TaskId, (at, by): (i64, &str)) -> Result<Task, TaskRefusal> {
    let said = draft
        .title
        .as_deref()
        .map(headline)
        .filter(|title| !title.is_empty());
    let (title, description) = match said.or_else(|| draft.origin.title()) {
        Some(title) => (title, draft.description.trim().to_owned()),
        None => {
            let whole = draft.description.trim();
            let title = headline(whole);
            // A description that is the title says nothing more.
            (
                title.clone(),
                if whole == title {
                    String::new()
                } else {
                    whole.to_owned()
                },
            )
        }
    };
    if title.is_empty() {
        return Err(TaskRefusal::NoTitle);
    }
    let mut task = Task {
        id,
        title,
        description,
        origin: draft.origin.clone(),
        depends_on: Vec::new(),
        settings: draft.settings.clone(),
        state: TaskState::Backlog,
        state_since: at,
        runs: Vec::new(),
        created_at: at,
        changed_at: at,
        log: Vec::new(),
    };
    task.note(at, by, "made".to_owned());
    Ok(task)
}

/// A task by `#` and its number in the list at hand, by its id, or by its title (those of the list first).
fn find(
    name: &str,
    list: &[(TaskId, String)],
    all: &[(TaskId, String)],
) -> Result<TaskId, TaskRefusal> {
    let number = name
        .strip_prefix('#')
        .and_then(|number| number.parse::<usize>().ok());
    let nth = number.and_then(|number| list.get(number.checked_sub(1)?));
    let named = || all.iter().find(|(id, _)| id.as_str() == name);
    let titled = |among: &'_ [(TaskId, String)]| among.iter().position(|(_, title)| title == name);
    nth.or_else(named)
        .or_else(|| list.get(titled(list)?))
        .or_else(|| all.get(titled(all)?))
        .map(|(id, _)| id.clone())
        .ok_or_else(|| TaskRefusal::Unknown(TaskId::new(name)))
}

fn find_mut<'a>(numbered: &'a mut Numbered, id: &TaskId) -> Result<&'a mut Task, TaskRefusal> {
    let found = numbered.tasks.iter_mut().find(|task| task.id == *id);
    found.ok_or_else(|| TaskRefusal::Unknown(id.clone()))
}

fn check(tasks: &[Task]) -> Result<(), TaskRefusal> {
    let table = tasks
        .iter()
        .map(|task| (task.id.clone(), task.depends_on.clone()));
    check_dependencies(&table.collect())
}

/// A task's settings in the shape of the configured ones.
fn as_call(settings: &TaskSettings) -> Value {
    let mut call = json!({ "engine": settings.engine, "model": settings.model });
    if let (Some(fields), Ok(budget)) =
        (call.as_object_mut(), serde_json::to_value(&settings.budget))
    {
        fields.insert("budget".to_owned(), budget);
    }
    call
}

/// What the upper one says stands; what it leaves out or says nothing of is as below.
fn lay_over(below: &mut Value, upper: Value) {
    match (below, upper) {
        (_, Value::Null) => {}
        (Value::Object(below), Value::Object(upper)) => {
            for (name, value) in upper {
                lay_over(below.entry(name).or_insert(Value::Null), value);
            }
        }
        (below, upper) => *below = upper,
    }
}

#[cfg(test)]
mod tests;
