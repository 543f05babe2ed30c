//! What runs did to files: `outrigger/run/changes`, `outrigger/run/diff`, `outrigger/run/revert`, `outrigger/task/clean`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kernel::hash::ContentHash;
use crate::kernel::ids::{ChangeId, RunId, TaskId};
use crate::kernel::path::RelPath;
use crate::kernel::question::Hunk;
use crate::kernel::task::Task;

/// `outrigger/run/changes`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangesParams {
    pub run_id: RunId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangesResult {
    pub run_id: RunId,
    /// By path.
    pub files: Vec<ChangedFile>,
}

/// What a run did to one file, all its changes taken together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedFile {
    pub path: RelPath,
    pub kind: ChangedKind,
    /// Hash of the bytes before the first change; `null`: it was not there.
    pub before: Option<ContentHash>,
    /// Hash of the bytes after the last one; `null`: it is deleted.
    pub after: Option<ContentHash>,
    /// Unified, as `git apply` takes it; empty where a content is no text.
    pub patch: String,
    /// The parts that can be reverted alone; empty where the file can only be reverted as a whole.
    pub hunks: Vec<Hunk>,
    /// One by one, oldest first.
    pub changes: Vec<Change>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ChangedKind {
    Created,
    Edited,
    Deleted,
    /// The changes took back each other.
    Unchanged,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// As in `changePlanned`.
    pub change: ChangeId,
    /// The tool call that made it; name it to revert this step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// One line, for people.
    pub reason: String,
    /// Milliseconds since 1970.
    pub at: i64,
    pub before: Option<ContentHash>,
    pub after: Option<ContentHash>,
}

/// `outrigger/run/diff`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiffParams {
    pub run_id: RunId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiffResult {
    pub run_id: RunId,
    /// Unified, as `git apply` takes it.
    pub patch: String,
}

/// `outrigger/run/revert`. Left out: all that the run did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RevertParams {
    pub run_id: RunId,
    /// Only what this step did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Only these files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<RelPath>,
    /// Only these hunks of the one file in `paths`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hunks: Vec<u32>,
    /// Only say what would be done.
    #[serde(default)]
    pub preview: bool,
}

impl RevertParams {
    pub fn all_of(run_id: RunId) -> Self {
        Self {
            run_id,
            step: None,
            paths: Vec::new(),
            hunks: Vec::new(),
            preview: false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RevertResult {
    pub run_id: RunId,
    /// The name under which the undoing is recorded: revert it like a run to have everything back. Left out when nothing
    /// was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revert_id: Option<RunId>,
    /// By path.
    pub files: Vec<RevertedFile>,
}

/// `outrigger/task/clean`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CleanParams {
    /// The task: all its runs that did not succeed, and it is set back to the backlog.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// Or runs that have ended without success.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run_ids: Vec<RunId>,
    /// The task's workspace folder, where several are open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Who says it. Default: the client's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Only say what would be done.
    #[serde(default)]
    pub preview: bool,
    /// Files that were edited since become what they were before the runs, too.
    #[serde(default)]
    pub force: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CleanResult {
    /// The runs that were cleaned up after.
    pub run_ids: Vec<RunId>,
    /// The task as it stands now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Task>,
    /// As of a revert.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revert_id: Option<RunId>,
    /// By path.
    pub files: Vec<RevertedFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RevertedFile {
    pub path: RelPath,
    pub outcome: RevertOutcome,
    /// Why the file is left, or why it could not be reverted; for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the revert does, or of a file that is left, what has been changed since the run.
    pub patch: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RevertOutcome {
    /// Byte for byte what it was before.
    Restored,
    /// The run had made it; it is gone.
    Removed,
    /// What the run did, or the chosen part of it, is taken out; edits made since stay.
    Merged,
    /// Nothing had to be done.
    AlreadyAsBefore,
    /// As it was before, although it had been edited since: cleaning was forced. A revert of `revertId` brings the edits
    /// back.
    Overruled,
    /// Not touched: see `reason`.
    Left,
    /// It could not be done: see `reason`. The file is as it was.
    Failed,
}
