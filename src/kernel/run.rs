//! A run: one attempt at a task. Plain state; the engines and policies decide over it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conflict::{Change, Conflict, Proposal};
use super::conversation::{Block, Cost, Message, Spending, Usage};
use super::course::Course;
use super::engine::Mending;
use super::event::{GateRound, ReadCall, RunOutcome, RunSpec};
use super::file::WriteOrder;
use super::file_set::FileSet;
use super::finding::{Finding, Fingerprint};
use super::hash::ContentHash;
use super::ids::{ChangeId, GateId, GateRoundId, ModelCallId, QuestionId, RunId, TimerId};
use super::path::RelPath;
use super::plan::Step;
use super::policy::budget::Limit;
use super::policy::ladder::Ladder;
use super::policy::loops::Signature;
use super::question::{Answer, Hunk};
use super::time::Moment;
use super::tool::{EditFile, PlanItem, SeenFile, WriteFile};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RunStatus {
    Queued,
    Planning,
    Executing,
    Verifying,
    Waiting,
    Succeeded,
    Failed,
    Cancelled,
    Interrupted,
}

impl RunStatus {
    pub fn is_over(self) -> bool {
        match self {
            Self::Succeeded | Self::Failed | Self::Cancelled | Self::Interrupted => true,
            Self::Queued | Self::Planning | Self::Executing | Self::Verifying | Self::Waiting => {
                false
            }
        }
    }
}

/// What a run waits for, and since when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    #[serde(rename = "for")]
    pub what: WaitingFor,
    /// For people: "scripted/demo", "cargo check", "question r1.q2".
    pub detail: String,
    /// Milliseconds since 1970.
    pub since: i64,
    /// When it ends by itself, where that is known. Milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WaitingFor {
    Model,
    Tool,
    File,
    Gate,
    You,
    RateLimit,
    Retry,
    /// Somebody else works on the file: the user types in it, or another run changes it.
    Lease,
    /// Work is being stopped.
    Stop,
}

/// How a run ended, for people.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Summary {
    /// The model's closing words, or why the run failed.
    pub text: String,
    pub files: Vec<FileSummary>,
    pub verification: Verification,
    pub usage: Usage,
    /// What it cost, as far as prices are known.
    #[serde(default)]
    pub cost: Cost,
    /// Milliseconds of work, waiting for a human not counted.
    pub active_ms: u64,
    /// Milliseconds from start to end.
    pub elapsed_ms: u64,
    pub model_calls: u32,
    pub tool_calls: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileSummary {
    pub path: RelPath,
    pub change: FileChange,
    pub added: u32,
    pub removed: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FileChange {
    Created,
    Edited,
    Deleted,
}

/// What is known of the work's quality at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Verification {
    /// No gate could check the work.
    #[default]
    Unverified,
    Passed,
    /// Findings that the run introduced are still there.
    Failed,
    /// Nothing was changed, so there was nothing to verify.
    NotNeeded,
}

/// One tool call of the current turn, being worked on.
#[derive(Debug, Clone, PartialEq)]
pub struct CurrentCall {
    pub call: ReadCall,
    pub stage: Stage,
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq)]
pub enum Stage {
    /// A performer works on it.
    Performing,
    /// The file is being looked at, in order to decide.
    Inspecting {
        proposal: FileProposal,
        answer: Option<Box<GivenAnswer>>,
        looks: u32,
    },
    /// What is there of a proposed plan's targets is being looked at.
    CheckingPlan {
        steps: Vec<Step>,
    },
    /// Decided, but the baseline is not there yet.
    AwaitingBaseline(PlannedWrite),
    Writing(PlannedWrite),
    /// The write may or may not have happened; the file is being looked at.
    Settling(PlannedWrite),
    /// Gates check the change.
    Verifying {
        round: GateRoundId,
        said: String,
    },
    /// A command had started when its process was cut off; a human is asked what became of it.
    AskingUncertain {
        question: QuestionId,
    },
    /// Somebody else works on the file: this goes on when they are done.
    AwaitingLease {
        then: Box<Stage>,
    },
    /// Several files are changed together, or none.
    Together(Box<FileSet>),
    /// A question is open.
    Asking {
        question: QuestionId,
        conflict: Option<Box<AskedConflict>>,
    },
}

/// What the agent wants to do to a file.
#[derive(Debug, Clone, PartialEq)]
pub enum FileProposal {
    Write(WriteFile),
    Edit(EditFile),
    Delete {
        path: RelPath,
        /// This very run created it.
        made_by_run: bool,
    },
}

impl FileProposal {
    pub fn path(&self) -> &RelPath {
        match self {
            Self::Write(write) => &write.path,
            Self::Edit(edit) => &edit.path,
            Self::Delete { path, .. } => path,
        }
    }

    /// Together with what the agent has seen: what [`super::conflict::decide`] takes.
    pub fn seen<'a>(&'a self, seen: Option<&'a SeenFile>) -> Proposal<'a> {
        let change = match self {
            Self::Write(write) => Change::Write {
                text: &write.content,
            },
            Self::Edit(edit) => Change::Edit { edits: &edit.edits },
            Self::Delete { made_by_run, .. } => Change::Delete {
                made_by_run: *made_by_run,
            },
        };
        Proposal {
            path: self.path(),
            seen,
            change,
        }
    }
}

/// A conflict that a human is asked about.
#[derive(Debug, Clone, PartialEq)]
pub struct AskedConflict {
    pub proposal: FileProposal,
    pub conflict: Conflict,
    /// The hunks that the human is shown.
    pub hunks: Vec<Hunk>,
}

/// The human's answer, to be applied if what is there is still what they saw.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenAnswer {
    pub asked: AskedConflict,
    pub answer: Answer,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PlannedWrite {
    pub change: ChangeId,
    pub order: WriteOrder,
    pub proposal: FileProposal,
    /// Text that was there, for counting lines.
    pub before_text: Option<std::sync::Arc<str>>,
    /// Hash of what will be there.
    pub after: Option<ContentHash>,
    /// For the model: what was done, beyond "written".
    pub note: String,
    pub merged: bool,
    /// Text is in it that the agent has not read.
    pub foreign: bool,
    pub looks: u32,
}

/// What gates said before the run's first change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Baseline {
    /// How often each failure was there.
    pub known: BTreeMap<Fingerprint, u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RunningRound {
    pub id: GateRoundId,
    pub why: GateRound,
    pub paths: Vec<RelPath>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub id: RunId,
    pub spec: RunSpec,
    pub status: RunStatus,
    pub waiting: Option<Waiting>,
    pub started: Moment,
    /// When the present stretch of active time began; `None` while a human is waited for.
    pub active_since: Option<Moment>,
    pub active_ms: u64,
    pub messages: Vec<Message>,
    pub system: String,
    pub usage: Usage,
    pub cost: Cost,
    /// What all runs together have cost when it was last heard of.
    pub spending: Spending,
    pub last_call: ModelCallId,
    pub talk: ModelTalk,
    pub iterations: u32,
    /// Limits of which was said that they are nearly reached.
    pub warned_of: BTreeSet<Limit>,
    pub tool_calls: u32,
    pub queue: VecDeque<ReadCall>,
    pub current: Option<CurrentCall>,
    /// Results of the current turn, in order.
    pub results: Vec<Block>,
    pub seen: BTreeMap<RelPath, SeenFile>,
    pub baseline: Option<Baseline>,
    pub rounds: Vec<RunningRound>,
    pub last_round: GateRoundId,
    /// New findings by gate, of the last report of each.
    pub findings: BTreeMap<GateId, Vec<Finding>>,
    /// Gates whose last report passed (old findings aside), and gates that could not run.
    pub gates_passed: BTreeSet<GateId>,
    pub gates_broken: BTreeMap<GateId, String>,
    /// Where the run is on the correction ladder.
    pub ladder: Ladder,
    /// What the work was last rejected for, and what was changed since.
    pub rejected: Vec<Fingerprint>,
    pub changed_since: Vec<String>,
    /// A safe repair that is being made for the current call.
    pub mending: Option<Mending>,
    /// A human says that they mended it: one more rejection and they are asked again.
    pub checking_again: bool,
    /// How far the run is on its plan.
    pub course: Course,
    pub last_change: ChangeId,
    pub changes: BTreeMap<RelPath, ChangedFile>,
    pub plan: Vec<PlanItem>,
    pub last_question: u32,
    pub open_questions: BTreeSet<QuestionId>,
    /// A question that is about the run as a whole, not about a tool call.
    pub run_question: Option<(QuestionId, RunQuestion)>,
    /// The user allowed all commands of this run.
    pub commands_allowed: bool,
    /// The user allowed this run to overwrite what it has not read, and to delete what it did not make.
    pub overwrites_allowed: bool,
    pub deletions_allowed: bool,
    pub last_timer: TimerId,
    pub timer: Option<TimerId>,
    pub stopping: Option<String>,
    /// Words of the user and of ours that the model is told after the present results.
    pub words: Vec<Block>,
    pub paused: bool,
    /// The present step is to be skipped at the next safe point.
    pub skip_step: bool,
    /// The user ends it with what there is: the model is not asked again.
    pub finishing: bool,
    /// The model changed nothing and was asked why.
    pub asked_for_a_reason: bool,
    /// The turn in which the run last got somewhere: a file changed, a finding mended.
    pub progress_at: u32,
    /// What the files it changed have been so far.
    pub had: BTreeSet<(RelPath, ContentHash)>,
    /// What a pause holds back.
    pub held: Option<Held>,
    /// The last sign of life. Of this process, so not restored from a transcript.
    pub last_life: Moment,
    /// Stalls so far, and what is being stopped because it stalled.
    pub stalls: u32,
    pub stalled: Option<String>,
    /// The stall that a question is about.
    pub stall_detail: Option<String>,
    /// Signatures of the latest tool calls.
    pub recent: Vec<Signature>,
    pub stuck: bool,
    /// The last tool that ended, and its result.
    pub last_result: Option<(String, String)>,
    /// The process that worked on it has ended; nothing happens until it is resumed.
    pub parked: bool,
    pub closing_text: String,
    pub ended: Option<(RunOutcome, Summary)>,
}

/// What has happened with the model since its last good answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelTalk {
    /// The last call is still unanswered.
    pub calling: bool,
    /// Failed calls in a row.
    pub failures: u32,
    pub compacted: bool,
    /// What became of the last call, for the next one alone.
    pub note: Option<String>,
    /// A note that the next call alone is shown; never part of the history.
    pub hint: Option<&'static str>,
    /// The output limit, once it had to be raised.
    pub max_output: Option<u32>,
    /// How often a cut answer has been continued, and what it is so far.
    pub continuations: u32,
    pub so_far: String,
    pub on_fallback: bool,
    /// The provider wants the turn sent back as it is.
    pub turn_paused: bool,
}

/// What a paused run does when it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    NextCall,
    Model,
}

/// What a run-wide question decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunQuestion {
    Verification,
    Model,
    Budget,
    Stall,
    Circles,
    /// Many turns, and nothing came of them.
    NoProgress,
    /// May this plan be followed?
    PlanReview,
    /// The model made no plan that can be followed.
    NoPlan,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// What was there before the run's first change.
    pub before: Option<ContentHash>,
    pub after: Option<ContentHash>,
    pub added: u32,
    pub removed: u32,
}

impl Run {
    pub fn new(id: RunId, spec: RunSpec, at: Moment) -> Self {
        Self {
            id,
            spec,
            status: RunStatus::Queued,
            waiting: None,
            started: at,
            active_since: Some(at),
            active_ms: 0,
            messages: Vec::new(),
            system: String::new(),
            usage: Usage::default(),
            cost: Cost::default(),
            spending: Spending::default(),
            last_call: ModelCallId::default(),
            talk: ModelTalk::default(),
            iterations: 0,
            warned_of: BTreeSet::new(),
            tool_calls: 0,
            queue: VecDeque::new(),
            current: None,
            results: Vec::new(),
            seen: BTreeMap::new(),
            baseline: None,
            rounds: Vec::new(),
            last_round: GateRoundId::default(),
            findings: BTreeMap::new(),
            gates_passed: BTreeSet::new(),
            gates_broken: BTreeMap::new(),
            ladder: Ladder::default(),
            rejected: Vec::new(),
            changed_since: Vec::new(),
            mending: None,
            checking_again: false,
            course: Course::default(),
            last_change: ChangeId::default(),
            changes: BTreeMap::new(),
            plan: Vec::new(),
            last_question: 0,
            open_questions: BTreeSet::new(),
            run_question: None,
            commands_allowed: false,
            overwrites_allowed: false,
            deletions_allowed: false,
            last_timer: TimerId::default(),
            timer: None,
            stopping: None,
            words: Vec::new(),
            paused: false,
            skip_step: false,
            finishing: false,
            asked_for_a_reason: false,
            progress_at: 0,
            had: BTreeSet::new(),
            held: None,
            last_life: at,
            stalls: 0,
            stalled: None,
            stall_detail: None,
            recent: Vec::new(),
            stuck: false,
            last_result: None,
            parked: false,
            closing_text: String::new(),
            ended: None,
        }
    }

    /// Milliseconds of work so far.
    pub fn active_ms(&self, now: Moment) -> u64 {
        self.active_ms + self.active_since.map_or(0, |since| now.since(since))
    }

    /// Findings that the run introduced and that are still there.
    pub fn new_findings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.values().flatten()
    }

    pub fn file_summaries(&self) -> Vec<FileSummary> {
        self.changes
            .iter()
            .filter(|(_, file)| file.before != file.after)
            .map(|(path, file)| FileSummary {
                path: path.clone(),
                change: match (&file.before, &file.after) {
                    (None, _) => FileChange::Created,
                    (_, None) => FileChange::Deleted,
                    _ => FileChange::Edited,
                },
                added: file.added,
                removed: file.removed,
            })
            .collect()
    }
}
