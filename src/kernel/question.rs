//! Questions: anything a run needs a human for. Durable state, not pending requests.
//!
//! A question is recorded before it is shown, can be listed at any time, is answered by id from any surface; the first
//! valid answer wins. Dismissed, timed out and "no surface" are not answers.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::TextRange;
use super::hash::ContentHash;
use super::ids::{QuestionId, RunId, ToolCallId};
use super::path::RelPath;
use super::plan::Step;
use super::policy::budget::Limit;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    pub id: QuestionId,
    pub run: RunId,
    /// One line.
    pub title: String,
    /// What was tried and what is known; may be empty.
    #[serde(default)]
    pub detail: String,
    /// Where it shows in the editor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<QuestionPlace>,
    pub kind: QuestionKind,
    /// Answers to offer, each with what it does.
    #[serde(default)]
    pub choices: Vec<Choice>,
    /// Whether an answer in the user's own words is taken.
    pub free_text: bool,
    /// Milliseconds since 1970.
    pub opened_at: i64,
    pub state: QuestionState,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuestionPlace {
    pub path: RelPath,
    pub range: TextRange,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum QuestionKind {
    /// A change that would overwrite what is not the run's own.
    Overwrite(Overwrite),
    /// What stops the run: missing knowledge, repeated failure, a model that cannot be reached.
    Blocker { reason: BlockerReason },
    /// A command outside the allowed list.
    #[serde(rename_all = "camelCase")]
    Command {
        command: String,
        cwd: Option<RelPath>,
    },
    /// A command had started when its process was cut off; nobody saw its end.
    Uncertain { command: String },
    /// A limit of the run is reached.
    #[serde(rename_all = "camelCase")]
    Budget {
        /// The limit with its number, for people.
        limit: String,
        /// Which one it is. Answered in words with a new number, in the limit's own unit.
        #[serde(default)]
        of: Option<Limit>,
        /// How much is used, and where the limit is.
        #[serde(default)]
        used: u64,
        #[serde(default)]
        at: u64,
    },
    /// May this plan be followed? It can be edited as a text, which is then what is followed.
    Plan {
        /// The plan as a text, to be read and edited.
        document: String,
        steps: Vec<Step>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum BlockerReason {
    /// The model asked.
    Asked,
    /// The gates keep rejecting the work.
    Verification,
    /// The model failed and retrying does not help.
    Model,
    /// No sign of life.
    Stall,
    /// The same call with the same result, again and again.
    Circles,
    /// Many turns in which no file was changed and no finding mended.
    NoProgress,
    /// The model made no plan that can be followed.
    Plan,
}

/// A proposal that meets other content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Overwrite {
    pub call: ToolCallId,
    pub path: RelPath,
    pub reason: ConflictReason,
    /// What the agent had read; `None`: it had not read the file.
    pub base: Option<ContentHash>,
    /// What is there; `None`: the file was deleted meanwhile.
    pub current: Option<ContentHash>,
    /// What the agent wants to be there; `None`: it wants the file deleted.
    pub proposed: Option<ContentHash>,
    /// Whether `current` is unsaved text of the editor.
    pub unsaved: bool,
    /// From current to proposed, in order.
    pub hunks: Vec<Hunk>,
    /// The three texts, kept out of lists; read by `outrigger/document/read`.
    #[serde(skip)]
    pub texts: OverwriteTexts,
}

/// Full texts of an overwrite; recorded with the run's facts, so not part of the question's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OverwriteTexts {
    pub base: Option<Arc<str>>,
    pub current: Option<Arc<str>>,
    pub proposed: Option<Arc<str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ConflictReason {
    /// The agent creates a file that exists with other content.
    Exists,
    /// The file on disk is no longer what the agent read.
    ChangedOnDisk,
    /// The editor holds unsaved text that the agent has not read.
    UnsavedText,
    /// The file was deleted after the agent read it.
    Deleted,
    /// The agent deletes a file that the run did not make.
    Deletion,
}

/// One contiguous difference, by whole lines. Lines are 0-based; `old_lines`/`new_lines` count lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hunk {
    /// Position in the list, from 0: the name by which an answer takes it.
    pub id: u32,
    pub old_start: u32,
    pub old_lines: u32,
    pub new_start: u32,
    pub new_lines: u32,
    /// Lines taken away, each with its line ending.
    pub removed: Vec<String>,
    /// Lines put there, each with its line ending.
    pub added: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Choice {
    /// Name by which an answer takes it.
    pub id: String,
    pub label: String,
    /// What happens then.
    pub effect: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum QuestionState {
    Open,
    #[serde(rename_all = "camelCase")]
    Answered {
        answer: Answer,
        by: String,
        at: i64,
    },
    #[serde(rename_all = "camelCase")]
    Withdrawn {
        reason: String,
        at: i64,
    },
}

/// An answer of a human.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum Answer {
    /// Overwrite, plan: take the whole proposal.
    TakeAll,
    /// Overwrite: take these hunks, leave the rest as it is.
    TakeHunks { hunks: Vec<u32> },
    /// Overwrite, plan: take this text, which the user made of it.
    TakeText { text: String },
    /// Overwrite: leave the file as it is; the reason goes to the agent.
    KeepMine {
        #[serde(default)]
        reason: Option<String>,
    },
    /// Any kind: one of the offered choices.
    Choice { choice: String },
    /// Blocker, command, budget: in the user's words.
    Text { text: String },
    /// Any kind: stop the run.
    StopRun,
}
