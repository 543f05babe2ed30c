//! `outrigger/question/*`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kernel::ids::{QuestionId, RunId};
use crate::kernel::question::{Answer, Question, QuestionState};

/// `outrigger/question/list`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ListParams {
    /// Only questions of this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Answered and withdrawn ones too.
    pub all: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListResult {
    /// Oldest first.
    pub questions: Vec<Question>,
}

/// `outrigger/question/answer`. The first valid answer wins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnswerParams {
    pub question_id: QuestionId,
    pub answer: Answer,
    /// Who answers, for the others. Default: the client's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnswerResult {
    pub question_id: QuestionId,
}

/// `outrigger/question/opened`, a notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenedParams {
    pub question: Question,
}

/// `outrigger/question/resolved`, a notification: answered anywhere, or withdrawn. Close every view of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedParams {
    pub question_id: QuestionId,
    pub run_id: RunId,
    pub state: QuestionState,
}
