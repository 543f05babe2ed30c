//! `outrigger/task/*`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::kernel::event::{Budget, Engine, Policy};
use crate::kernel::ids::{RunId, TaskId};
use crate::kernel::policy::stall::StallPolicy;
use crate::kernel::task::{Task, TaskOrigin, TaskSettings, TaskState};

/// `outrigger/task/list`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ListParams {
    /// The workspace folder, by its URI, path or last name, where several are open; so in all that follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Only tasks that stand so. Default: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<TaskState>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListResult {
    /// In the order in which they were made.
    pub tasks: Vec<Task>,
}

/// `outrigger/task/add`: of somebody's words, or of a place in a file. Without a title it is the first line of the
/// description, what a comment asks for, or what a diagnostic says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Default: somebody's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<TaskOrigin>,
    /// Tasks that must be done before, by id or title.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    #[serde(default, skip_serializing_if = "TaskSettings::is_empty")]
    pub settings: TaskSettings,
    /// Who says it, for the others; so in all that follow. Default: the client's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The task as it is then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskResult {
    pub task: Task,
}

/// `outrigger/task/import`: all tasks of a list, or none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    pub text: String,
    /// Default: by how the text begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<ListFormat>,
    /// Where the text is from, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ListFormat {
    /// Each item of a list at the margin is a task, what is indented below it its description.
    Markdown,
    /// An array of titles and of objects with `title`, `description`, `dependsOn`, `done`, `settings`.
    Json,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportResult {
    pub tasks: Vec<Task>,
    /// Items that were marked as done, and left out.
    pub already_done: u32,
}

/// `outrigger/task/edit`: what is left out stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EditParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    pub task_id: TaskId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<Vec<TaskId>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<TaskSettings>,
    /// Where a person puts it. While a run works on it, it says itself where it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<TaskState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// `outrigger/task/ready`: backlog → ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadyParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    pub task_id: TaskId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// `outrigger/task/start`: starts a run of the task, if what it depends on is done and no run works on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    pub task_id: TaskId,
    /// Default: the task's own, else the configured one, as for all that follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<Engine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Policy>")]
    pub policy: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Budget>")]
    pub budget: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<StallPolicy>")]
    pub stall: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartResult {
    pub task_id: TaskId,
    pub run_id: RunId,
}
