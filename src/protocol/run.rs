//! `outrigger/run/*`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::kernel::conversation::{Cost, Usage};
use crate::kernel::event::{Budget, Engine, Policy, Record, RunOutcome, Steer};
use crate::kernel::ids::{QuestionId, RunId};
use crate::kernel::policy::stall::StallPolicy;
use crate::kernel::run::{RunStatus, Summary, Waiting};
use crate::kernel::tool::PlanItem;

/// `outrigger/run/start`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartParams {
    /// What the run shall do.
    pub prompt: String,
    /// The workspace folder, by its URI, path or last name, where several are open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Default: the configured one, as for all that follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<Engine>,
    /// `provider/model` or `scripted:FILE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The model that takes over when the first cannot be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_model: Option<String>,
    /// Any of its fields; the others are as configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Policy>")]
    pub policy: Option<Map<String, Value>>,
    /// Any of its fields; the others are as configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Budget>")]
    pub budget: Option<Map<String, Value>>,
    /// Any of its fields; the others are as configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<StallPolicy>")]
    pub stall: Option<Map<String, Value>>,
}

impl StartParams {
    /// Everything else as it is by default.
    pub fn with_prompt(prompt: String) -> Self {
        Self {
            prompt,
            folder: None,
            engine: None,
            model: None,
            fallback_model: None,
            policy: None,
            budget: None,
            stall: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartResult {
    pub run_id: RunId,
}

/// `outrigger/run/cancel`. Answered when the run has ended and its processes are gone; cancelling twice is no error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CancelParams {
    pub run_id: RunId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CancelResult {
    pub run_id: RunId,
    /// How the run ended; `succeeded` or `failed` when it was over before.
    pub outcome: RunOutcome,
}

/// `outrigger/run/steer`: a word to a run that is under way. Answered when it is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SteerParams {
    pub run_id: RunId,
    pub steer: Steer,
    /// Who says it, for the others. Default: the client's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SteerResult {
    pub run_id: RunId,
}

/// `outrigger/run/resume`: takes up a run that an earlier process did not end. Resuming a run that works is no error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResumeParams {
    pub run_id: RunId,
    /// Who resumes it, for the others. Default: the client's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResumeResult {
    pub run_id: RunId,
}

/// `outrigger/run/list`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ListParams {}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListResult {
    /// Newest first.
    pub runs: Vec<RunView>,
}

/// A run as a list or a panel shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunView {
    pub run_id: RunId,
    /// URI of its workspace folder, where several are open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    pub prompt: String,
    pub engine: Engine,
    pub model: String,
    pub status: RunStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
    /// Milliseconds since 1970.
    pub started_at: i64,
    pub usage: Usage,
    /// What it has cost so far, as far as prices are known.
    pub cost: Cost,
    pub plan: Vec<PlanItem>,
    /// Findings that the run introduced and that are still there.
    pub findings: u32,
    pub open_questions: Vec<QuestionId>,
    /// Another process on this workspace works on it: it can be followed, answered and cancelled from here all the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere: bool,
    /// Path of the transcript.
    pub transcript: String,
    /// Present when the run is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<RunEnd>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunEnd {
    pub outcome: RunOutcome,
    pub summary: Summary,
}

/// `outrigger/run/events`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventsParams {
    pub run_id: RunId,
    /// Records with a greater number are given. Default: all.
    #[serde(default)]
    pub after_seq: u64,
    /// At most so many. Default: 1000.
    #[serde(default = "default_limit")]
    pub limit: u32,
}

fn default_limit() -> u32 {
    1000
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventsResult {
    pub run_id: RunId,
    /// In order, without a gap unless `problems` names one.
    pub records: Vec<Record>,
    /// More records are there than were given.
    pub more: bool,
    /// Lines of the transcript that could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// `outrigger/run/event`, a notification: what has just been recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventParams {
    pub run_id: RunId,
    pub record: Record,
}

/// `outrigger/run/interrupted`, a notification: a run that an earlier process did not end, and that can be resumed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InterruptedParams {
    pub run: RunView,
}
