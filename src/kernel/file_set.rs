//! Several files that are changed together, or none of them: what shall be done, how far it is, and what is decided when
//! all of them have been looked at.
//!
//! Promise: nothing is decided to be written unless each part can be; a human's answer to one part counts only as long as
//! what they were shown is still there.

use std::sync::Arc;

use super::conflict::{self, Conflict, FilePolicies, NowKnown, Settlement, Verdict};
use super::file::{Encoding, FileNow, NewContent, TextNow, TextSource, WriteOrder, WriteOutcome};
use super::hash::ContentHash;
use super::ids::{ChangeId, QuestionId};
use super::path::RelPath;
use super::run::{AskedConflict, FileProposal, GivenAnswer};
use super::tool::{MoveFile, SeenFile};

#[derive(Debug, Clone, PartialEq)]
pub struct FileSet {
    pub wish: SetWish,
    pub parts: Vec<Part>,
    pub step: SetStep,
    /// How often the files were looked at again because one of them changed under a write.
    pub looks: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SetWish {
    /// Each part is an edit.
    Edit,
    /// The first part is the new place, the second the old one.
    Move(MoveFile),
}

#[derive(Debug, Clone, PartialEq)]
pub enum SetStep {
    /// Some of the files are still being looked at.
    Looking,
    /// A human is asked about one part.
    Asking {
        question: QuestionId,
        part: usize,
        asked: Box<AskedConflict>,
    },
    /// Decided, but the baseline is not there yet.
    AwaitingBaseline,
    Writing,
}

/// One file of a set.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    pub path: RelPath,
    /// What shall be done to it; a move says that as a whole.
    pub proposal: Option<FileProposal>,
    /// What was there when it was last looked at.
    pub now: Option<FileNow>,
    pub answer: Option<Box<GivenAnswer>>,
    pub planned: Option<PlannedPart>,
    pub outcome: Option<WriteOutcome>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PlannedPart {
    pub change: ChangeId,
    pub order: WriteOrder,
    /// Hash of what will be there.
    pub after: Option<ContentHash>,
    /// Text that was there, for counting lines.
    pub before_text: Option<Arc<str>>,
    /// Text is in it that the agent has not read.
    pub foreign: bool,
    /// It has been written, and counted as a change of the run.
    pub taken_in: bool,
}

/// What is to be done about a set whose files have all been looked at.
#[derive(Debug, Clone, PartialEq)]
pub enum SetVerdict {
    /// It is so already.
    Identical,
    /// Nothing is written, and the model is told.
    Refuse {
        message: String,
        known: Vec<(RelPath, NowKnown)>,
    },
    /// The user keeps one of the files as it is: so nothing is written.
    Keep {
        path: RelPath,
        reason: Option<String>,
    },
    /// A human decides about this part.
    Ask {
        part: usize,
        conflict: Box<Conflict>,
    },
    /// These parts are written.
    Write(Vec<Decided>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    pub part: usize,
    pub order: WriteOrder,
    pub foreign: bool,
}

impl Part {
    pub fn new(path: RelPath, proposal: Option<FileProposal>) -> Self {
        Self {
            path,
            proposal,
            now: None,
            answer: None,
            planned: None,
            outcome: None,
        }
    }

    /// It is written, or holds what was planned: then a write whose end was not seen has happened.
    pub fn is_made(&self) -> bool {
        match (&self.now, &self.planned) {
            (_, Some(planned)) if planned.taken_in => true,
            (Some(FileNow::Refused { .. }) | None, _) | (_, None) => false,
            (Some(now), Some(planned)) => now.hash() == planned.after.as_ref(),
        }
    }
}

impl FileSet {
    pub fn new(wish: SetWish, parts: Vec<Part>) -> Self {
        Self {
            wish,
            parts,
            step: SetStep::Looking,
            looks: 0,
        }
    }

    pub fn paths(&self) -> impl Iterator<Item = &RelPath> {
        self.parts.iter().map(|part| &part.path)
    }

    /// Decides about the whole. Every part must have been looked at.
    pub fn decide<'a>(
        &self,
        seen: impl Fn(&RelPath) -> Option<&'a SeenFile>,
        policies: impl Fn(&FileProposal) -> FilePolicies,
    ) -> SetVerdict {
        match &self.wish {
            SetWish::Edit => self.decide_edits(seen, policies),
            SetWish::Move(wanted) => self.decide_move(wanted),
        }
    }

    fn decide_edits<'a>(
        &self,
        seen: impl Fn(&RelPath) -> Option<&'a SeenFile>,
        policies: impl Fn(&FileProposal) -> FilePolicies,
    ) -> SetVerdict {
        let mut writes = Vec::new();
        let mut refusals = Vec::new();
        let mut known = Vec::new();
        let mut question = None;
        for (at, part) in self.parts.iter().enumerate() {
            let (Some(now), Some(proposal)) = (&part.now, &part.proposal) else {
                continue;
            };
            if part.is_made() {
                continue;
            }
            if let Some(given) = &part.answer {
                let asked = &given.asked;
                match conflict::settle(&asked.conflict, &asked.hunks, &given.answer, now) {
                    Settlement::Write(order) => {
                        writes.push(Decided {
                            part: at,
                            order,
                            foreign: true,
                        });
                        continue;
                    }
                    Settlement::Keep { reason } => {
                        return SetVerdict::Keep {
                            path: part.path.clone(),
                            reason,
                        };
                    }
                    Settlement::NoAnswer { message } => {
                        refusals.push(format!("{}: {message}", part.path));
                        continue;
                    }
                    // What they were shown is gone: decided anew.
                    Settlement::LookAgain | Settlement::StopRun => {}
                }
            }
            let proposed = proposal.seen(seen(&part.path));
            match conflict::decide(&proposed, now, policies(proposal)) {
                Verdict::Identical => {}
                Verdict::Write { order, merged } => writes.push(Decided {
                    part: at,
                    order,
                    foreign: merged,
                }),
                Verdict::Conflict(conflict) => {
                    question.get_or_insert((at, conflict));
                }
                Verdict::Refuse { message, now } => {
                    refusals.push(message);
                    known.push((part.path.clone(), now));
                }
            }
        }
        if !refusals.is_empty() {
            let others = self.parts.len() - refusals.len();
            if others > 0 {
                refusals.push(format!(
                    "The other {others} of the {} files fit, and were not changed either: repeat the whole call.",
                    self.parts.len()
                ));
            }
            return SetVerdict::Refuse {
                message: refusals.join("\n"),
                known,
            };
        }
        match question {
            Some((part, conflict)) => SetVerdict::Ask { part, conflict },
            None if writes.is_empty() => SetVerdict::Identical,
            None => SetVerdict::Write(writes),
        }
    }

    fn decide_move(&self, wanted: &MoveFile) -> SetVerdict {
        let MoveFile { from, to } = wanted;
        let refuse = |why: String| SetVerdict::Refuse {
            message: format!("{from} was not moved to {to}: {why}"),
            known: Vec::new(),
        };
        let [target, source] = self.parts.as_slice() else {
            return refuse("it was not looked at".to_owned());
        };
        if self.parts.iter().all(Part::is_made) {
            return SetVerdict::Identical;
        }
        let text = match &source.now {
            Some(FileNow::Text(now)) => now,
            Some(FileNow::Absent { nearest }) => {
                let names: Vec<&str> = nearest.iter().map(RelPath::as_str).collect();
                let near = if names.is_empty() {
                    String::new()
                } else {
                    format!("; the nearest names are {}", names.join(", "))
                };
                return refuse(format!("{from} is not there{near}"));
            }
            Some(FileNow::Opaque { reason, .. }) => {
                return refuse(format!(
                    "{reason}, and what is no text could not be brought back"
                ));
            }
            Some(FileNow::Refused { reason }) => return refuse(reason.clone()),
            None => return refuse("it was not looked at".to_owned()),
        };
        if text.source == TextSource::UnsavedDocument || text.newer_disk {
            return refuse(
                "the user has unsaved text in it; it can be moved when they have saved it"
                    .to_owned(),
            );
        }
        match &target.now {
            Some(FileNow::Absent { .. }) => {}
            // On some systems the two names are one file.
            Some(FileNow::Text(there))
                if is_same_but_for_case(from, to) && there.hash == text.hash => {}
            Some(FileNow::Refused { reason }) => return refuse(format!("{to}: {reason}")),
            Some(FileNow::Text(_) | FileNow::Opaque { .. }) => {
                return refuse(format!(
                    "{to} is there already; choose another name, or edit that file"
                ));
            }
            None => return refuse("it was not looked at".to_owned()),
        }
        SetVerdict::Write(vec![
            decided(0, to, None, content(text)),
            decided(1, from, Some(text.hash.clone()), NewContent::Deleted),
        ])
    }
}

fn content(text: &TextNow) -> NewContent {
    let encoding: Encoding = text.encoding;
    NewContent::Text {
        text: Arc::clone(&text.text),
        encoding,
    }
}

fn decided(
    part: usize,
    path: &RelPath,
    expected: Option<ContentHash>,
    content: NewContent,
) -> Decided {
    Decided {
        part,
        order: WriteOrder {
            path: path.clone(),
            expected,
            content,
        },
        foreign: false,
    }
}

/// Names that differ, and that some file systems take for one.
fn is_same_but_for_case(one: &RelPath, other: &RelPath) -> bool {
    one != other && one.as_str().to_lowercase() == other.as_str().to_lowercase()
}

#[cfg(test)]
mod tests;
