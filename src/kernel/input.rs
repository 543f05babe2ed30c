//! Everything that can happen to the kernel.

use super::document::{DocumentChange, PositionEncoding};
use super::event::{RunEvent, RunSpec, Steer};
use super::finding::GateReport;
use super::hash::ContentHash;
use super::ids::{QuestionId, RequestId, RunId};
use super::path::RelPath;
use super::question::Answer;
use super::recheck::{Covered, OldFindings};
use super::time::Moment;

#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    pub at: Moment,
    pub what: Stimulus,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Stimulus {
    /// A client asks for something. If it is granted, the kernel has it recorded as a fact first ([`super::effect::Effect::Accept`]).
    Client {
        request: RequestId,
        command: Command,
    },
    /// A fact of a run, already in its transcript.
    Fact { run: RunId, event: RunEvent },
    /// A run that another process began and did not end. Its facts have been fed before.
    Parked { run: RunId },
    /// Something that the run waits for lives.
    Life { run: RunId },
    /// Time passes.
    Tick,
    /// Files that were made, renamed or deleted by others, folders among them, as they are now.
    Files {
        there: Vec<RelPath>,
        gone: Vec<RelPath>,
    },
    /// Gates have looked at files that were saved outside of a run.
    Checked {
        covered: Covered,
        old: OldFindings,
        reports: Vec<GateReport>,
    },
    /// The editor said something about a document. Not part of any run's facts: what a run sees of it is.
    Document { path: RelPath, news: DocumentNews },
}

#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// `run` is new and unique.
    Start {
        run: RunId,
        spec: RunSpec,
    },
    Cancel {
        run: RunId,
        by: String,
    },
    /// A word to a run that is under way.
    Steer {
        run: RunId,
        steer: Steer,
        by: String,
    },
    /// Take up a run whose process has ended.
    Resume {
        run: RunId,
        by: String,
    },
    Answer {
        question: QuestionId,
        answer: Answer,
        by: String,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub enum DocumentNews {
    /// `disk`: hash of the file's bytes at that time; `None` when it is not there. `unsaved`: they are not this text.
    Opened {
        disk: Option<ContentHash>,
        unsaved: bool,
        uri: String,
        version: i32,
        text: String,
    },
    Changed {
        version: i32,
        changes: Vec<DocumentChange>,
        encoding: PositionEncoding,
    },
    Saved {
        disk: Option<ContentHash>,
    },
    Closed,
}
