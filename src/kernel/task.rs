//! Tasks: what the user wants done, where each stands, and which moves are legal.
//!
//! A task is `backlog → ready → in_progress → blocked / done / failed`. What it says of itself is what was said last: by a
//! person, or by its newest run. So a run that another process works on counts as well, and nothing is written twice.

pub mod comment;
pub mod outline;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::Engine;
use super::ids::{RunId, TaskId};
use super::money::Dollars;
use super::path::RelPath;
use super::run::{RunStatus, WaitingFor};

/// Characters of a title that is taken from a longer text.
const TITLE: usize = 100;
/// Entries of a task's log that are kept.
const LOG: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    pub id: TaskId,
    /// One line.
    pub title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    pub origin: TaskOrigin,
    /// Tasks that must be done before this one is started.
    #[serde(default)]
    pub depends_on: Vec<TaskId>,
    #[serde(default, skip_serializing_if = "TaskSettings::is_empty")]
    pub settings: TaskSettings,
    pub state: TaskState,
    /// When that was said, by a person or by the newest run. Milliseconds since 1970.
    pub state_since: i64,
    /// Attempts, oldest first.
    #[serde(default)]
    pub runs: Vec<TaskRun>,
    pub created_at: i64,
    pub changed_at: i64,
    /// What people did with it, oldest first.
    #[serde(default)]
    pub log: Vec<TaskNote>,
}

/// How a task's runs differ from the configured settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct TaskSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<Engine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "TaskBudget::is_empty")]
    pub budget: TaskBudget,
}

impl TaskSettings {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Limits of a task's runs; those that are left out are as configured.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct TaskBudget {
    /// Seconds of work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_s: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u32>,
    /// US dollars, of one run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Dollars>,
    /// US dollars, of all runs of the task together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_cost: Option<Dollars>,
}

impl TaskBudget {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Where a task came from. Lines count from 1, both included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    tag = "type"
)]
pub enum TaskOrigin {
    /// Somebody's words.
    Prompt,
    /// A part of a file. Its text, when left out, is read by the server.
    Selection {
        path: RelPath,
        first_line: u32,
        last_line: u32,
        #[serde(default)]
        text: String,
    },
    /// A comment that says what is to be done. Its text, when left out, is read by the server.
    Todo {
        path: RelPath,
        line: u32,
        #[serde(default)]
        text: String,
    },
    /// A problem, of whichever tool.
    Diagnostic {
        path: RelPath,
        line: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        message: String,
    },
    /// An item of a list that was imported.
    List {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TaskState {
    Backlog,
    Ready,
    InProgress,
    /// A run of it waits for a human, or was interrupted.
    Blocked,
    Done,
    Failed,
}

impl TaskState {
    pub const ALL: [Self; 6] = [
        Self::Backlog,
        Self::Ready,
        Self::InProgress,
        Self::Blocked,
        Self::Done,
        Self::Failed,
    ];

    /// The design's word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Backlog => "backlog",
            Self::Ready => "ready",
            Self::InProgress => "in progress",
            Self::Blocked => "blocked",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }

    /// Whether a task may go from here to there.
    pub fn may_become(self, next: Self) -> bool {
        match (self, next) {
            // Forward.
            (Self::Backlog, Self::Ready)
            | (Self::Ready, Self::InProgress)
            | (Self::InProgress, Self::Blocked | Self::Done | Self::Failed)
            | (Self::Blocked, Self::InProgress | Self::Done | Self::Failed)
            // A run was stopped, or what it left was cleaned away.
            | (Self::InProgress | Self::Blocked, Self::Ready | Self::Backlog)
            // Once more, or not now after all.
            | (Self::Ready, Self::Backlog)
            | (Self::Done | Self::Failed, Self::Backlog | Self::Ready)
            // A person has done it.
            | (Self::Ready | Self::Failed, Self::Done) => true,
            (
                Self::Backlog | Self::Ready | Self::InProgress | Self::Blocked | Self::Done | Self::Failed,
                _,
            ) => false,
        }
    }
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskRun {
    pub run: RunId,
    pub status: RunStatus,
    /// Milliseconds since 1970.
    pub started_at: i64,
    /// When it said something last.
    pub changed_at: i64,
}

/// A line of a task's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskNote {
    /// Milliseconds since 1970.
    pub at: i64,
    pub by: String,
    pub text: String,
}

/// What a run that stands like this makes of its task.
pub fn state_by_run(status: RunStatus, waits_for: Option<WaitingFor>) -> TaskState {
    match status {
        RunStatus::Succeeded => TaskState::Done,
        RunStatus::Failed => TaskState::Failed,
        RunStatus::Cancelled => TaskState::Ready,
        RunStatus::Interrupted => TaskState::Blocked,
        RunStatus::Waiting if waits_for == Some(WaitingFor::You) => TaskState::Blocked,
        RunStatus::Queued
        | RunStatus::Planning
        | RunStatus::Executing
        | RunStatus::Verifying
        | RunStatus::Waiting => TaskState::InProgress,
    }
}

/// Why something cannot be done with a task. For people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskRefusal {
    #[error("there is no task {0}; list them with `outrigger task list`")]
    Unknown(TaskId),
    #[error("a task needs a title: say in one line what shall be done")]
    NoTitle,
    #[error("task {0} cannot depend on itself, and it would: {1}")]
    Cycle(TaskId, String),
    #[error("task {task} is {}, and from there it cannot become {}", from.word(), to.word())]
    Move {
        task: TaskId,
        from: TaskState,
        to: TaskState,
    },
    #[error("run {run} works on task {task}; stop it first")]
    AtWork { task: TaskId, run: RunId },
    #[error("task {0} is already in progress; stop its run, or set it to ready, first")]
    Taken(TaskId),
    #[error("task {task} waits for {waits_for}; do that first")]
    Waits { task: TaskId, waits_for: String },
}

impl Task {
    /// Takes in its runs, newest last: the newest says where the task stands, unless a person has spoken since it began.
    pub fn take_runs(&mut self, runs: Vec<(TaskRun, Option<WaitingFor>)>) {
        if let Some((newest, waits_for)) = runs.last()
            && newest.started_at >= self.state_since
        {
            self.state = state_by_run(newest.status, *waits_for);
            self.state_since = newest.changed_at;
        }
        self.runs = runs.into_iter().map(|(run, _)| run).collect();
    }

    /// The run that works on it now.
    pub fn run_at_work(&self) -> Option<&TaskRun> {
        self.runs.last().filter(|run| !run.status.is_over())
    }

    /// A person moves it.
    ///
    /// # Errors
    /// A run works on it, or the move is not legal. Staying where it is is always legal.
    pub fn put(&mut self, to: TaskState, at: i64, by: &str) -> Result<(), TaskRefusal> {
        if let Some(run) = self.run_at_work() {
            return Err(TaskRefusal::AtWork {
                task: self.id.clone(),
                run: run.run.clone(),
            });
        }
        if self.state == to {
            return Ok(());
        }
        if !self.state.may_become(to) {
            return Err(TaskRefusal::Move {
                task: self.id.clone(),
                from: self.state,
                to,
            });
        }
        self.note(at, by, format!("{} → {}", self.state.word(), to.word()));
        self.state = to;
        self.state_since = at;
        Ok(())
    }

    pub fn note(&mut self, at: i64, by: &str, text: String) {
        self.log.push(TaskNote {
            at,
            by: by.to_owned(),
            text,
        });
        if self.log.len() > LOG {
            self.log.remove(0);
        }
        self.changed_at = self.changed_at.max(at);
    }

    /// What a run of it is told to do.
    pub fn prompt(&self) -> String {
        let mut text = self.title.clone();
        if !self.description.is_empty() {
            text.push_str("\n\n");
            text.push_str(&self.description);
        }
        let about = self.origin.describe();
        if !about.is_empty() {
            text.push_str("\n\n");
            text.push_str(&about);
        }
        text
    }
}

impl TaskOrigin {
    /// Where to look, for the model and for people; empty where there is no such place.
    pub fn describe(&self) -> String {
        match self {
            Self::Prompt | Self::List { .. } => String::new(),
            Self::Selection {
                path,
                first_line,
                last_line,
                text,
            } => {
                format!(
                    "This is about {path}, lines {first_line} to {last_line}:\n```\n{}\n```",
                    text.trim_end_matches('\n')
                )
            }
            Self::Todo { path, line, text } => {
                format!(
                    "This is what a comment in {path}, line {line} asks for: {text}\nTake the comment away when it is done."
                )
            }
            Self::Diagnostic {
                path,
                line,
                source,
                code,
                message,
            } => {
                let names: Vec<&str> = [source.as_deref(), code.as_deref()]
                    .into_iter()
                    .flatten()
                    .collect();
                let who = if names.is_empty() {
                    "a problem".to_owned()
                } else {
                    names.join(" ")
                };
                format!("{path}, line {line}: {who}: {message}")
            }
        }
    }

    /// A title for a task that was given none.
    pub fn title(&self) -> Option<String> {
        match self {
            Self::Prompt | Self::Selection { .. } | Self::List { .. } => None,
            Self::Todo { text, .. } => Some(headline(text)),
            Self::Diagnostic { path, message, .. } => Some(headline(&format!(
                "Fix in {path}: {}",
                message.lines().next().unwrap_or_default()
            ))),
        }
    }
}

/// The first line that says something, cut where it is long.
pub fn headline(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    let line = line.unwrap_or_default();
    if line.chars().count() <= TITLE {
        return line.to_owned();
    }
    let mut cut: String = line.chars().take(TITLE - 1).collect();
    cut.push('…');
    cut
}

/// Names that stand for a task in a list of dependencies, put in place of themselves: each task's dependencies exist and
/// lead in no circle.
///
/// # Errors
/// One is unknown, or a task would wait for itself.
pub fn check_dependencies(tasks: &BTreeMap<TaskId, Vec<TaskId>>) -> Result<(), TaskRefusal> {
    for needed in tasks.values().flatten() {
        if !tasks.contains_key(needed) {
            return Err(TaskRefusal::Unknown(needed.clone()));
        }
    }
    let mut fine: BTreeSet<&TaskId> = BTreeSet::new();
    for start in tasks.keys() {
        // Depth first; `way` is the path from `start`, each with the dependencies still to look at.
        let mut way: Vec<(&TaskId, &[TaskId])> = vec![(start, needs(tasks, start))];
        while let Some((task, rest)) = way.last_mut() {
            let Some((next, others)) = rest.split_first() else {
                fine.insert(*task);
                way.pop();
                continue;
            };
            *rest = others;
            if let Some(at) = way.iter().position(|(on_way, _)| *on_way == next) {
                let names = way.iter().skip(at).map(|(task, _)| task.as_str());
                let circle: Vec<&str> = names.chain([next.as_str()]).collect();
                return Err(TaskRefusal::Cycle(next.clone(), circle.join(" → ")));
            }
            if !fine.contains(next) {
                way.push((next, needs(tasks, next)));
            }
        }
    }
    Ok(())
}

fn needs<'a>(tasks: &'a BTreeMap<TaskId, Vec<TaskId>>, task: &TaskId) -> &'a [TaskId] {
    tasks.get(task).map_or(&[], Vec::as_slice)
}

/// Those that a task waits for: its dependencies that are not done.
pub fn waits_for<'a>(task: &'a Task, all: &'a [Task]) -> Vec<&'a Task> {
    let needed = |id: &TaskId| all.iter().find(|other| other.id == *id);
    let needed = task.depends_on.iter().filter_map(needed);
    needed
        .filter(|other| other.state != TaskState::Done)
        .collect()
}

#[cfg(test)]
mod tests;
