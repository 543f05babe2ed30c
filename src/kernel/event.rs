//! What happened in a run, one event at a time. The same type is the kernel's input, its output, the transcript's line and
//! the wire's event.
//!
//! Facts (see [`RunEvent::is_fact`]) come from outside and are recorded before the kernel sees them; feeding the facts of
//! a transcript to a new kernel gives the same state. All other events are said by the kernel itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conflict::{ConflictPolicy, MergePolicy};
use super::conversation::{Bill, ModelErrorKind, ModelFailure, ModelTurn, Spending};
use super::file::{FileNow, WriteOutcome};
use super::finding::GateReport;
use super::hash::ContentHash;
use super::ids::{ChangeId, GateRoundId, ModelCallId, QuestionId, TaskId, TimerId, ToolCallId};
use super::money::Dollars;
use super::path::RelPath;
use super::plan::{Step, Targets};
use super::policy::budget::Limit;
use super::policy::lease::Holder;
use super::policy::stall::StallPolicy;
use super::question::{Answer, Question};
use super::run::{RunStatus, Summary, Waiting};
use super::tool::{PlanItem, PlanItemState, SeenFile, ToolOutput, ToolUse};
use super::view::View;

/// The schema of transcript lines.
pub const RECORD_VERSION: u32 = 1;

/// One line of a transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// From 1, gapless within the run.
    pub seq: u64,
    /// Milliseconds since 1970.
    pub at: i64,
    /// Milliseconds of a clock that never goes back, since the process started that wrote the line.
    pub mono: u64,
    pub kind: RecordKind,
    /// Version of this shape.
    pub v: u32,
    pub event: RunEvent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    Message,
    StateTransition,
    ToolLifecycle,
    Question,
    Gate,
    Change,
    Terminal,
}

/// How a run deals with what it must not decide alone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Policy {
    /// What happens when a change meets content that the agent has not read.
    pub conflict: ConflictPolicy,
    /// What happens when the agent's change and another one do not overlap.
    pub merge: MergePolicy,
    /// Whether the agent may run commands.
    pub commands: CommandPolicy,
    /// Which plans a human looks at before they are followed.
    #[serde(default)]
    pub review: ReviewPolicy,
}

/// What happens with a command that the model wants to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CommandPolicy {
    /// The user is asked, once or once for the run.
    #[default]
    Ask,
    /// Commands run; nobody is asked.
    Allow,
    /// Commands do not run, and the model is told so.
    Deny,
}

/// Which plans a human looks at before they are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ReviewPolicy {
    Always,
    /// Those of more than six steps, and those that delete files.
    #[default]
    Large,
    Never,
}

/// Limits of a run. Reaching one is a question, never a silent end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Budget {
    /// Seconds of work; waiting for a human does not count.
    pub active_s: u64,
    /// Input and output tokens together.
    pub tokens: u64,
    /// Model calls that were answered; retries do not count.
    pub iterations: u32,
    /// US dollars that the run may cost. Models without a known price count as nothing here; their tokens count above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Dollars>,
    /// US dollars that all runs of its task may cost together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_cost: Option<Dollars>,
    /// US dollars that all runs of a day (UTC) may cost together, in all workspaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day_cost: Option<Dollars>,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            active_s: 900,
            tokens: 100_000,
            iterations: 50,
            cost: None,
            task_cost: None,
            day_cost: None,
        }
    }
}

/// How a run thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Engine {
    /// A tool-use loop.
    #[default]
    React,
    /// A plan of typed steps first, which are then done and verified one after the other.
    Plan,
}

/// Everything a run is started with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunSpec {
    pub prompt: String,
    pub engine: Engine,
    /// `provider/model`, or `scripted:FILE`.
    pub model: String,
    /// The model that takes over when `model` cannot be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_model: Option<String>,
    pub policy: Policy,
    pub budget: Budget,
    #[serde(default)]
    pub stall: StallPolicy,
    /// The task that the run is an attempt at, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
}

/// A word of the user to a run that is under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum Steer {
    /// The model is told at the next safe point.
    Message {
        text: String,
    },
    /// Nothing new is begun until the run goes on.
    Pause,
    GoOn,
    /// The present step of the plan is skipped, at the next safe point.
    SkipStep,
    /// Another model does the rest.
    Model {
        model: String,
    },
}

/// A tool call with its arguments read, or why they could not be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadCall {
    pub id: ToolCallId,
    pub name: String,
    #[serde(flatten)]
    pub tool: ReadTool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ReadTool {
    Use(ToolUse),
    /// What the model is told about its malformed call.
    Malformed(String),
}

/// What the model is told about the workspace before its first turn.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Context {
    /// Name of the workspace folder.
    pub folder: String,
    /// One path a line, ignore files honoured, cut when long (which is then said).
    pub files: String,
    /// AGENTS.md and its like: path and text.
    pub conventions: Vec<Convention>,
    /// Files that the task names, as they are now. Shown in passing, which is not yet having read them: a whole new text put
    /// over one is asked about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<SeenFile>,
    /// Where names of the task occur, one place a line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mentions: String,
    /// Documents that are open in the editor, those with unsaved text marked; one a line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub open: String,
    /// Files that were changed last, newest first; one a line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub recent: String,
    /// What the user looks at, as far as their editor tells.
    #[serde(skip_serializing_if = "View::is_empty")]
    pub view: View,
    /// What was left out, for people and model.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Convention {
    pub path: RelPath,
    pub text: String,
}

/// A part of what a model is told, with its size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptPart {
    /// `instructions` (with the project's own rules), `task`, `answers`, `results`, `notes`.
    pub name: String,
    pub bytes: u64,
}

/// Why gates run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum GateRound {
    /// Before the run's first change: what is already broken.
    Baseline,
    /// After a change.
    Change,
    /// Before the run may succeed.
    Final,
    /// The agent wants to know.
    Asked,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    tag = "type"
)]
pub enum RunEvent {
    // Facts: from outside.
    RunStarted {
        spec: RunSpec,
    },
    ContextGathered {
        context: Context,
        #[serde(default)]
        spending: Spending,
    },
    ModelReplied {
        call: ModelCallId,
        turn: ModelTurn,
        tools: Vec<ReadCall>,
        #[serde(default)]
        bill: Bill,
    },
    ModelFailed {
        call: ModelCallId,
        failure: ModelFailure,
        #[serde(default)]
        bill: Bill,
    },
    ToolFinished {
        call: ToolCallId,
        output: ToolOutput,
        duration_ms: u64,
    },
    FileInspected {
        call: ToolCallId,
        path: RelPath,
        now: FileNow,
    },
    WriteFinished {
        change: ChangeId,
        path: RelPath,
        outcome: WriteOutcome,
    },
    GatesReported {
        round: GateRoundId,
        reports: Vec<GateReport>,
    },
    /// What is there of a proposed plan's targets.
    TargetsFound {
        call: ToolCallId,
        targets: Targets,
    },
    QuestionAnswered {
        question: QuestionId,
        answer: Answer,
        by: String,
    },
    CancelRequested {
        by: String,
    },
    /// All work of the run has ended and its processes are gone.
    WorkStopped,
    TimerFired {
        timer: TimerId,
    },

    StallDetected {
        idle_ms: u64,
    },
    Steered {
        steer: Steer,
        by: String,
    },
    /// Somebody else works on a file that the call is about: it waits.
    FileHeld {
        call: ToolCallId,
        path: RelPath,
        by: Holder,
    },
    /// Now nobody does.
    FileFreed {
        call: ToolCallId,
    },
    /// A run whose process had ended is given up.
    Abandoned {
        by: String,
    },
    /// A run whose process had ended is taken up again.
    Resumed {
        by: String,
    },

    // Said by the kernel.
    StatusChanged {
        from: RunStatus,
        to: RunStatus,
        waiting: Option<Waiting>,
    },
    ModelCalled {
        call: ModelCallId,
        model: String,
        /// What the prompt is made of, in its order: what stays the same from call to call comes first.
        #[serde(default)]
        prompt: Vec<PromptPart>,
    },
    /// A failed call will be repeated, or its turn changed: what is done about it and when.
    ModelRetried {
        kind: ModelErrorKind,
        what: String,
        after_ms: u64,
    },
    /// Most of a limit is used. Said once for each.
    BudgetWarned {
        /// The limit with its number, for people.
        limit: String,
        of: Limit,
        /// How much is used, and where the limit is, in the limit's own unit.
        used: u64,
        at: u64,
    },
    ToolRequested {
        call: ToolCallId,
        name: String,
        summary: String,
    },
    ToolStarted {
        call: ToolCallId,
    },
    ToolCompleted {
        call: ToolCallId,
        result: String,
    },
    ToolFailed {
        call: ToolCallId,
        error: String,
    },
    ToolDenied {
        call: ToolCallId,
        reason: String,
    },
    PlanUpdated {
        items: Vec<PlanItem>,
    },
    StepStarted {
        step: Step,
    },
    /// A step is over: done, skipped or failed, with why where it is not plainly done.
    StepEnded {
        step: Step,
        state: PlanItemState,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
    /// The gates rejected the work so often that it counts: as a failure, as a reason for a new plan, or for a question.
    VerificationFailed {
        gates: Vec<String>,
        findings: u32,
        files: Vec<RelPath>,
        /// `path:line:col code message` of the first five.
        first: Vec<String>,
        /// What follows.
        next: String,
    },
    QuestionOpened {
        question: Question,
    },
    QuestionWithdrawn {
        question: QuestionId,
        reason: String,
    },
    GatesStarted {
        round: GateRoundId,
        why: GateRound,
    },
    /// What the reports mean for this run: against its baseline.
    GatesJudged {
        round: GateRoundId,
        why: GateRound,
        verdict: Verdict,
    },
    /// Recorded before the write: intent.
    ChangePlanned {
        change: ChangeId,
        call: ToolCallId,
        path: RelPath,
        before: Option<ContentHash>,
        after: Option<ContentHash>,
        merged: bool,
    },
    ChangeMade {
        change: ChangeId,
        path: RelPath,
        before: Option<ContentHash>,
        after: Option<ContentHash>,
        added: u32,
        removed: u32,
    },
    /// The run goes on after its process had ended: what is not certain.
    Resuming {
        uncertain: Vec<String>,
    },
    Ended {
        outcome: RunOutcome,
        summary: Summary,
    },
}

/// What a round of gates means.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Verdict {
    /// Gates that passed, or failed with old findings only.
    pub passed: Vec<String>,
    pub failed: Vec<String>,
    /// Gates that could not run, each with why.
    pub broken: Vec<String>,
    /// Findings that the run introduced.
    pub new_findings: u32,
    pub old_findings: u32,
    /// `path:line:col code message` of the first five new ones.
    pub first: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RunOutcome {
    Succeeded,
    Failed,
    Cancelled,
    Interrupted,
}

impl RunEvent {
    /// Whether the event comes from outside and is an input of the kernel.
    pub fn is_fact(&self) -> bool {
        match self {
            Self::RunStarted { .. }
            | Self::ContextGathered { .. }
            | Self::ModelReplied { .. }
            | Self::ModelFailed { .. }
            | Self::ToolFinished { .. }
            | Self::FileInspected { .. }
            | Self::WriteFinished { .. }
            | Self::GatesReported { .. }
            | Self::TargetsFound { .. }
            | Self::QuestionAnswered { .. }
            | Self::CancelRequested { .. }
            | Self::WorkStopped
            | Self::TimerFired { .. }
            | Self::StallDetected { .. }
            | Self::Steered { .. }
            | Self::FileHeld { .. }
            | Self::FileFreed { .. }
            | Self::Abandoned { .. }
            | Self::Resumed { .. } => true,
            Self::StatusChanged { .. }
            | Self::ModelCalled { .. }
            | Self::ModelRetried { .. }
            | Self::BudgetWarned { .. }
            | Self::ToolRequested { .. }
            | Self::ToolStarted { .. }
            | Self::ToolCompleted { .. }
            | Self::ToolFailed { .. }
            | Self::ToolDenied { .. }
            | Self::PlanUpdated { .. }
            | Self::StepStarted { .. }
            | Self::StepEnded { .. }
            | Self::VerificationFailed { .. }
            | Self::QuestionOpened { .. }
            | Self::QuestionWithdrawn { .. }
            | Self::GatesStarted { .. }
            | Self::GatesJudged { .. }
            | Self::ChangePlanned { .. }
            | Self::ChangeMade { .. }
            | Self::Resuming { .. }
            | Self::Ended { .. } => false,
        }
    }

    pub fn kind(&self) -> RecordKind {
        match self {
            Self::ContextGathered { .. }
            | Self::ModelReplied { .. }
            | Self::ModelFailed { .. }
            | Self::ModelCalled { .. }
            | Self::ModelRetried { .. }
            | Self::PlanUpdated { .. } => RecordKind::Message,
            Self::RunStarted { .. }
            | Self::CancelRequested { .. }
            | Self::WorkStopped
            | Self::TimerFired { .. }
            | Self::StallDetected { .. }
            | Self::Steered { .. }
            | Self::FileHeld { .. }
            | Self::FileFreed { .. }
            | Self::Abandoned { .. }
            | Self::Resumed { .. }
            | Self::Resuming { .. }
            | Self::StepStarted { .. }
            | Self::StepEnded { .. }
            | Self::BudgetWarned { .. }
            | Self::StatusChanged { .. } => RecordKind::StateTransition,
            Self::ToolFinished { .. }
            | Self::FileInspected { .. }
            | Self::TargetsFound { .. }
            | Self::ToolRequested { .. }
            | Self::ToolStarted { .. }
            | Self::ToolCompleted { .. }
            | Self::ToolFailed { .. }
            | Self::ToolDenied { .. } => RecordKind::ToolLifecycle,
            Self::QuestionAnswered { .. }
            | Self::QuestionOpened { .. }
            | Self::QuestionWithdrawn { .. } => RecordKind::Question,
            Self::GatesReported { .. }
            | Self::GatesStarted { .. }
            | Self::GatesJudged { .. }
            | Self::VerificationFailed { .. } => RecordKind::Gate,
            Self::WriteFinished { .. } | Self::ChangePlanned { .. } | Self::ChangeMade { .. } => {
                RecordKind::Change
            }
            Self::Ended { .. } => RecordKind::Terminal,
        }
    }
}
