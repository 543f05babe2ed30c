//! Everything the kernel can want done. Data only: performers perform, and answer with facts.

use serde::{Deserialize, Serialize};

use super::conversation::ModelRequest;
use super::event::{GateRound, RunEvent};
use super::file::{OpenDocument, Overlay, WriteOrder};
use super::finding::Finding;
use super::ids::{
    ChangeId, GateRoundId, ModelCallId, QuestionId, RequestId, RunId, TimerId, ToolCallId,
};
use super::path::RelPath;
use super::tool::ToolUse;

#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Record this fact, then give it back as an input, before any other input.
    Accept {
        run: RunId,
        event: RunEvent,
    },
    /// Record this event and tell the clients. What the kernel already knows.
    Record {
        run: RunId,
        event: RunEvent,
    },
    Reply {
        request: RequestId,
        reply: Result<Reply, Refusal>,
    },
    /// Look at the workspace for the model's first turn. Answered by `ContextGathered`.
    Gather {
        run: RunId,
        /// What the run shall do: its words tell which files matter.
        prompt: String,
        overlay: Overlay,
    },
    /// Answered by `ModelReplied` or `ModelFailed`.
    CallModel {
        run: RunId,
        call: ModelCallId,
        request: ModelRequest,
    },
    /// Read, list, search or command. Answered by `ToolFinished`.
    RunTool {
        run: RunId,
        call: ToolCallId,
        tool: ToolUse,
        overlay: Overlay,
    },
    /// Answered by `FileInspected`.
    Inspect {
        run: RunId,
        call: ToolCallId,
        path: RelPath,
        overlay: Overlay,
    },
    /// Which of a proposed plan's targets are there. Answered by `TargetsFound`.
    FindTargets {
        run: RunId,
        call: ToolCallId,
        paths: Vec<RelPath>,
        overlay: Overlay,
    },
    /// Write through the editor when the document is open, else on disk. Answered by `WriteFinished`.
    Write {
        run: RunId,
        change: ChangeId,
        order: WriteOrder,
        document: Option<OpenDocument>,
    },
    /// Write all of these or none. Answered by a `WriteFinished` for each.
    WriteTogether {
        run: RunId,
        writes: Vec<SetWrite>,
    },
    /// Give a file another name: the first write is the new place, the second the old one. Answered by a `WriteFinished`
    /// for each.
    Move {
        run: RunId,
        writes: Vec<SetWrite>,
    },
    /// Answered by `GatesReported`.
    RunGates {
        run: RunId,
        round: GateRoundId,
        why: GateRound,
        paths: Vec<RelPath>,
    },
    /// Stop all work of the run, processes included. Answered by `WorkStopped` when all is dead.
    StopWork {
        run: RunId,
    },
    /// Answered by `TimerFired`.
    ArmTimer {
        run: RunId,
        timer: TimerId,
        after_ms: u64,
    },
    /// All findings to show on a file now; an empty list clears it.
    Publish {
        path: RelPath,
        findings: Vec<Finding>,
    },
    Progress {
        run: RunId,
        progress: Progress,
    },
}

/// One of several writes that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct SetWrite {
    pub change: ChangeId,
    pub order: WriteOrder,
    pub document: Option<OpenDocument>,
}

/// Stands in a message for the time of day of [`Progress::until`].
pub const UNTIL: &str = "{until}";

/// What a run shows of itself. Message and percentage belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    pub title: String,
    pub message: String,
    /// 0 to 100, where the plan tells.
    pub percentage: Option<u32>,
    /// When what the run waits for is over, in milliseconds since 1970. The message then has [`UNTIL`] in its place: the
    /// time of day depends on where the user is, which only those outside of the kernel know.
    pub until: Option<i64>,
    pub ended: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum Reply {
    Started {
        run: RunId,
    },
    /// The run has ended and its processes are gone.
    Cancelled {
        run: RunId,
    },
    Answered {
        question: QuestionId,
    },
    Steered {
        run: RunId,
    },
    Resumed {
        run: RunId,
    },
}

/// Why a client's command was not taken. For people: what failed and what to do next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    pub kind: RefusalKind,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RefusalKind {
    InvalidParams,
    UnknownRun,
    UnknownQuestion,
    AlreadyAnswered,
    WrongAnswer,
    RunOver,
    /// The sidecar's own files cannot be written.
    Storage,
}
