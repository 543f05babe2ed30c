//! The tools a model may call, as typed data. Each struct is also the tool's JSON Schema: field docs are what the model reads.

mod work;

pub use work::{CheckWork, FindFiles, FinishTask, ReadDiagnostics};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::edit::{PatchRefusal, from_patch};
use super::hash::ContentHash;
use super::path::RelPath;
use super::plan::{Step, StepKind};
use std::sync::Arc;

/// Read a text file of the workspace. Unsaved text of the editor is what you see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadFile {
    /// Path relative to the workspace root.
    pub path: RelPath,
    /// First line to show, 1-based. Default: 1.
    #[serde(default)]
    pub from_line: Option<u32>,
    /// Number of lines to show. Default: 2000.
    #[serde(default)]
    pub lines: Option<u32>,
}

/// Write a whole file: a new one, or one that you have read. For a small change of an existing file use `edit`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteFile {
    /// Path relative to the workspace root.
    pub path: RelPath,
    /// The whole new text.
    pub content: String,
}

/// One replacement of an edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Replacement {
    /// Text to find: whole lines with enough around them to occur exactly once.
    pub old: String,
    /// Text to put there.
    pub new: String,
}

/// Change parts of an existing file, by `edits` or by `patch`. All changes are made, or none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "EditArguments")]
pub struct EditFile {
    pub path: RelPath,
    pub edits: Vec<Replacement>,
}

/// What the model gives for an [`EditFile`], whose patch is then read as edits.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditArguments {
    /// Path relative to the workspace root.
    pub path: RelPath,
    /// The replacements, each of text as it is in the file now.
    #[serde(default)]
    pub edits: Vec<Replacement>,
    /// Instead of `edits`: a unified diff of this file. Its line numbers are not looked at.
    #[serde(default)]
    pub patch: Option<String>,
}

impl TryFrom<EditArguments> for EditFile {
    type Error = PatchRefusal;

    fn try_from(arguments: EditArguments) -> Result<Self, PatchRefusal> {
        let mut edits = arguments.edits;
        if let Some(patch) = arguments.patch {
            edits.extend(from_patch(&patch)?);
        }
        Ok(Self {
            path: arguments.path,
            edits,
        })
    }
}

/// Change several existing files together: all of them, or none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditFiles {
    /// One for each file.
    pub files: Vec<EditFile>,
}

/// Delete a file. The user is asked first, unless this run made the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteFile {
    /// Path relative to the workspace root.
    pub path: RelPath,
}

/// Move or rename a file; its content stays. Nothing may be at the new path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveFile {
    /// Where it is, relative to the workspace root.
    pub from: RelPath,
    /// Where it shall be. Missing folders are made.
    pub to: RelPath,
}

/// List files, honouring ignore files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListFiles {
    /// Folder relative to the workspace root. Default: the root.
    #[serde(default)]
    pub path: Option<RelPath>,
    /// Only paths that match this glob, such as `**/*.rs`.
    #[serde(default)]
    pub glob: Option<String>,
}

/// Search the workspace's text files with a regular expression, unsaved text included, honouring ignore files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchFiles {
    /// Regular expression (ripgrep's).
    pub pattern: String,
    /// Folder or file to search in. Default: the root.
    #[serde(default)]
    pub path: Option<RelPath>,
    /// Only files that match this glob.
    #[serde(default)]
    pub glob: Option<String>,
}

/// Run a program in the workspace. It has no terminal and no input. The user may be asked first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunCommand {
    /// The shell command line.
    pub command: String,
    /// Working folder relative to the workspace root. Default: the root.
    #[serde(default)]
    pub cwd: Option<RelPath>,
    /// Seconds until it is stopped. Default: 120.
    #[serde(default)]
    pub timeout_s: Option<u32>,
}

/// Ask the user something that only they can know or decide. The run waits for the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskUser {
    /// The question, one or two sentences.
    pub question: String,
    /// Answers to offer; the user may also write another one.
    #[serde(default)]
    pub choices: Vec<String>,
    /// The file in doubt.
    #[serde(default)]
    pub path: Option<RelPath>,
    /// The line in doubt, 1-based.
    #[serde(default)]
    pub line: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanItemState {
    Pending,
    InProgress,
    Done,
    Skipped,
    Failed,
}

/// One item of a run's plan, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanItem {
    /// What is done in this step.
    pub title: String,
    pub state: PlanItemState,
    /// Where the plan is one of typed steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Step>,
}

/// One item of a plan as the model keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanLine {
    /// What is done in this step.
    pub title: String,
    pub state: PlanItemState,
}

/// One step of a plan: exactly one of a file or a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposedStep {
    pub kind: StepKind,
    /// The file to create, edit or delete, relative to the workspace root.
    #[serde(default)]
    pub target: Option<RelPath>,
    /// The command line of a `command` step.
    #[serde(default)]
    pub command: Option<String>,
    /// What is done there and why, in one sentence.
    pub why: String,
    /// Numbers of the steps that must be done before, counted from 1.
    #[serde(default)]
    pub depends_on: Vec<u32>,
}

/// Propose how the task is done, before anything is changed: the steps in their order, one file or command each. A file
/// that exists is edited, never created. All checks run by themselves at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposePlan {
    pub steps: Vec<ProposedStep>,
    /// Only when there is nothing to do at all, and no step: why.
    #[serde(default)]
    pub nothing_to_do: Option<String>,
}

impl ProposePlan {
    pub fn numbered(&self) -> Vec<Step> {
        let numbers = 1_u32..;
        let step = |(number, step): (u32, &ProposedStep)| Step {
            number,
            kind: step.kind,
            target: step.target.clone(),
            command: step.command.clone(),
            why: step.why.clone(),
            depends_on: step.depends_on.clone(),
        };
        numbers.zip(&self.steps).map(step).collect()
    }
}

/// Say how you mean to go about the task, and keep it up to date. Give the whole list each time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdatePlan {
    pub items: Vec<PlanLine>,
}

/// A tool call whose arguments fit the tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "tool", content = "arguments")]
pub enum ToolUse {
    Read(ReadFile),
    Write(WriteFile),
    Edit(EditFile),
    MultiEdit(EditFiles),
    Delete(DeleteFile),
    Move(MoveFile),
    List(ListFiles),
    Search(SearchFiles),
    Command(RunCommand),
    Ask(AskUser),
    Plan(UpdatePlan),
    ProposePlan(ProposePlan),
    Glob(FindFiles),
    Check(CheckWork),
    Diagnostics(ReadDiagnostics),
    Finish(FinishTask),
}

/// What a performed tool (read, list, search, command) came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutput {
    /// What the model is shown.
    pub text: String,
    #[serde(default)]
    pub is_error: bool,
    /// What of a file the model has now seen: the base of its later edits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<SeenFile>,
}

/// The text of a file at the time the model was shown it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SeenFile {
    pub path: RelPath,
    pub hash: ContentHash,
    pub text: Arc<str>,
}
