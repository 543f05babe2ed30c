//! Errors of custom requests. `code` is the JSON-RPC code, `data.kind` tells programs, `message` tells people what to do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ErrorKind {
    InvalidParams,
    UnknownRun,
    UnknownQuestion,
    /// Another answer came first, or the question was withdrawn.
    AlreadyAnswered,
    /// The answer does not fit the question.
    WrongAnswer,
    RunOver,
    UnknownTask,
    /// From where the task stands that cannot be done with it.
    TaskState,
    /// No model is configured.
    NoModel,
    /// No workspace folder is open.
    NoWorkspace,
    UnknownDocument,
    /// The sidecar's own files cannot be read or written.
    Storage,
}

/// `error.data` of a failed custom request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorData {
    pub kind: ErrorKind,
}
