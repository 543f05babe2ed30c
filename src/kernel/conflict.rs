//! Whether a change that the agent proposes may be written: what it had seen, what is there now, what it wants.
//!
//! Promises: nothing that the agent has not read is replaced without the policy's or a human's word; unsaved text is never
//! replaced by policy alone; a proposal that is already there is success; and what is refused tells the model what to do,
//! and shows it what is there.

mod answer;
mod message;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::edit;
use super::file::{Encoding, FileNow, NewContent, TextNow, TextSource, WriteOrder};
use super::hash::ContentHash;
use super::merge::{Merge, three_way};
use super::path::RelPath;
use super::question::ConflictReason;
use super::tool::{Replacement, SeenFile};

pub use answer::{Settlement, settle};

/// What happens when a proposal meets content that the run has not read, or that changed since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ConflictPolicy {
    /// A human decides, over a diff. The default with an editor.
    #[default]
    Ask,
    /// The agent is shown what is there and edits that. The default without an editor.
    Edit,
    /// The proposal wins over what is on disk. Unsaved text is asked about all the same.
    Overwrite,
    /// The tool call fails.
    Fail,
}

/// What happens when the agent's change and someone else's do not overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MergePolicy {
    /// They are merged.
    #[default]
    Auto,
    /// The merged text is proposed to a human.
    Ask,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FilePolicies {
    pub conflict: ConflictPolicy,
    pub merge: MergePolicy,
}

/// What the agent wants to do to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// Make it this text, whether it is there or not.
    Write { text: &'a str },
    /// Replace these parts of it.
    Edit { edits: &'a [Replacement] },
    /// Delete it. `made_by_run`: this very run created it.
    Delete { made_by_run: bool },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proposal<'a> {
    pub path: &'a RelPath,
    /// What the agent has last been shown of the file, or has written itself.
    pub seen: Option<&'a SeenFile>,
    pub change: Change<'a>,
}

/// What is to be done about a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is so already: success, nothing is written.
    Identical,
    /// Write. `merged`: with changes in it that the agent has not seen, so that it should be told to read again.
    Write { order: WriteOrder, merged: bool },
    /// A human decides.
    Conflict(Box<Conflict>),
    /// Nothing is written, and the model is told.
    Refuse { message: String, now: NowKnown },
}

/// What the agent knows of the file after a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NowKnown {
    /// No more than before.
    AsBefore,
    /// The message shows the file: this is the base of the next proposal.
    Shown(SeenFile),
    /// The message says that the file is gone.
    Gone,
}

/// What a human is asked. `proposed` holds what "take all" writes: where only a part of an edit overlaps with what others
/// changed, the rest of their changes is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    pub path: RelPath,
    pub reason: ConflictReason,
    pub base: Option<SeenFile>,
    /// `None`: nothing is there.
    pub current: Option<TextNow>,
    pub proposed: NewContent,
}

impl Conflict {
    pub fn current_hash(&self) -> Option<&ContentHash> {
        self.current.as_ref().map(|now| &now.hash)
    }
    pub fn proposed_text(&self) -> Option<&Arc<str>> {
        match &self.proposed {
            NewContent::Text { text, .. } => Some(text),
            NewContent::Deleted => None,
        }
    }
}

/// Decides about a proposal. `now` must have been looked at after the agent's call arrived.
pub fn decide(proposal: &Proposal, now: &FileNow, policies: FilePolicies) -> Verdict {
    let case = Case {
        path: proposal.path,
        seen: proposal.seen,
        policies,
    };
    match (now, proposal.change) {
        (FileNow::Refused { reason }, _) => case.refuse(message::refused(case.path, reason)),
        (FileNow::Opaque { reason, .. }, _) => case.refuse(message::opaque(case.path, reason)),
        (FileNow::Absent { .. }, Change::Write { text }) => case.create(text),
        (FileNow::Absent { nearest }, Change::Edit { edits }) => {
            // What the agent read is gone: whether it shall come back, with the edit, is not the agent's to decide.
            match case.seen.map(|seen| edit::apply(&seen.text, edits)) {
                Some(Ok(text)) => case.create(&text),
                Some(Err(_)) | None => Verdict::Refuse {
                    message: message::missing(case.path, nearest),
                    now: NowKnown::Gone,
                },
            }
        }
        (FileNow::Absent { .. }, Change::Delete { .. }) => Verdict::Identical,
        (FileNow::Text(now), Change::Write { text }) => case.write(now, text),
        (FileNow::Text(now), Change::Edit { edits }) => case.edit(now, edits),
        (FileNow::Text(now), Change::Delete { made_by_run }) => case.delete(now, made_by_run),
    }
}

struct Case<'a> {
    path: &'a RelPath,
    seen: Option<&'a SeenFile>,
    policies: FilePolicies,
}

impl Case<'_> {
    fn refuse(&self, message: String) -> Verdict {
        Verdict::Refuse {
            message,
            now: NowKnown::AsBefore,
        }
    }

    /// Nothing is there.
    fn create(&self, text: &str) -> Verdict {
        let (text, encoding) = without_mark(text, None);
        let content = NewContent::Text {
            text: text.into(),
            encoding,
        };
        let gone = self.seen.is_some();
        match self.policies.conflict {
            _ if !gone => self.order(None, content),
            ConflictPolicy::Overwrite => self.order(None, content),
            ConflictPolicy::Ask => self.conflict(ConflictReason::Deleted, None, content),
            ConflictPolicy::Edit | ConflictPolicy::Fail => Verdict::Refuse {
                message: message::gone(self.path),
                now: NowKnown::Gone,
            },
        }
    }

    fn write(&self, now: &TextNow, text: &str) -> Verdict {
        let (text, _) = without_mark(text, Some(now.encoding));
        let fitted = edit::fit_endings(&now.text, text, None);
        if *fitted == *now.text {
            return Verdict::Identical;
        }
        let Some(seen) = self.seen else {
            // An empty file has nothing to lose, unless it is a text that someone has just emptied.
            if now.text.is_empty() && now.source != TextSource::UnsavedDocument {
                return self.replace(now, &fitted, false);
            }
            return self.contested(now, ConflictReason::Exists, &fitted);
        };
        if seen.hash == now.hash && !now.newer_disk {
            return self.replace(now, &fitted, false);
        }
        let wanted = edit::fit_endings(&seen.text, text, None);
        self.merge(now, seen, &wanted)
    }

    fn edit(&self, now: &TextNow, edits: &[Replacement]) -> Verdict {
        let changed = self
            .seen
            .filter(|seen| seen.hash != now.hash || now.newer_disk);
        let Some(seen) = changed else {
            return match edit::apply(&now.text, edits) {
                Ok(text) => self.replace(now, &text, false),
                Err(refusal) => self.refuse(message::edit(self.path, &refusal)),
            };
        };
        match edit::apply(&seen.text, edits) {
            Ok(wanted) => self.merge(now, seen, &wanted),
            // The agent may know the new text from elsewhere: a gate's report, a search.
            Err(refusal) => match edit::apply(&now.text, edits) {
                Ok(text) if !now.newer_disk => self.replace(now, &text, true),
                Ok(text) => self.contested(now, ConflictReason::ChangedOnDisk, &text),
                Err(_) => Verdict::Refuse {
                    message: message::changed(self.path, seen, now, Some(&refusal)),
                    now: shown(self.path, now),
                },
            },
        }
    }

    fn delete(&self, now: &TextNow, made_by_run: bool) -> Verdict {
        let unchanged = self.seen.is_some_and(|seen| seen.hash == now.hash);
        let unsaved = now.source == TextSource::UnsavedDocument;
        if made_by_run && unchanged && !now.newer_disk {
            return self.order(Some(now.hash.clone()), NewContent::Deleted);
        }
        match self.policies.conflict {
            ConflictPolicy::Overwrite if !unsaved => {
                self.order(Some(now.hash.clone()), NewContent::Deleted)
            }
            ConflictPolicy::Ask | ConflictPolicy::Overwrite => {
                self.conflict(ConflictReason::Deletion, Some(now), NewContent::Deleted)
            }
            ConflictPolicy::Edit | ConflictPolicy::Fail => {
                self.refuse(message::not_yours_to_delete(self.path))
            }
        }
    }

    /// `seen` is not what is there: `wanted` is the agent's version of `seen`.
    fn merge(&self, now: &TextNow, seen: &SeenFile, wanted: &str) -> Verdict {
        let reason = reason(now);
        match three_way(&seen.text, wanted, &now.text) {
            Merge::Clean(text) if *text == *now.text => Verdict::Identical,
            Merge::Clean(text) if now.newer_disk => self.contested(now, reason, &text),
            Merge::Clean(text) => match self.policies.merge {
                MergePolicy::Auto => self.replace(now, &text, true),
                MergePolicy::Ask => self.contested(now, reason, &text),
            },
            Merge::Conflict { preferring_ours } => self.contested(now, reason, &preferring_ours),
        }
    }

    /// The conflict policy decides.
    fn contested(&self, now: &TextNow, reason: ConflictReason, text: &str) -> Verdict {
        let unsaved = now.source == TextSource::UnsavedDocument;
        match self.policies.conflict {
            ConflictPolicy::Overwrite if !unsaved => self.replace(now, text, false),
            ConflictPolicy::Ask | ConflictPolicy::Overwrite => {
                let content = NewContent::Text {
                    text: text.into(),
                    encoding: now.encoding,
                };
                self.conflict(reason, Some(now), content)
            }
            ConflictPolicy::Edit => Verdict::Refuse {
                message: match self.seen {
                    Some(seen) => message::changed(self.path, seen, now, None),
                    None => message::exists(self.path, now),
                },
                now: shown(self.path, now),
            },
            ConflictPolicy::Fail => self.refuse(message::forbidden(self.path, reason)),
        }
    }

    fn replace(&self, now: &TextNow, text: &str, merged: bool) -> Verdict {
        if *text == *now.text {
            return Verdict::Identical;
        }
        Verdict::Write {
            order: WriteOrder {
                path: self.path.clone(),
                expected: Some(now.hash.clone()),
                content: NewContent::Text {
                    text: text.into(),
                    encoding: now.encoding,
                },
            },
            merged,
        }
    }

    fn order(&self, expected: Option<ContentHash>, content: NewContent) -> Verdict {
        Verdict::Write {
            order: WriteOrder {
                path: self.path.clone(),
                expected,
                content,
            },
            merged: false,
        }
    }

    fn conflict(
        &self,
        reason: ConflictReason,
        current: Option<&TextNow>,
        proposed: NewContent,
    ) -> Verdict {
        Verdict::Conflict(Box::new(Conflict {
            path: self.path.clone(),
            reason,
            base: self.seen.cloned(),
            current: current.cloned(),
            proposed,
        }))
    }
}

fn reason(now: &TextNow) -> ConflictReason {
    if now.source == TextSource::UnsavedDocument && !now.newer_disk {
        ConflictReason::UnsavedText
    } else {
        ConflictReason::ChangedOnDisk
    }
}

fn shown(path: &RelPath, now: &TextNow) -> NowKnown {
    NowKnown::Shown(SeenFile {
        path: path.clone(),
        hash: now.hash.clone(),
        text: now.text.clone(),
    })
}

/// A byte order mark that a model writes is an encoding, not text.
fn without_mark(text: &str, existing: Option<Encoding>) -> (&str, Encoding) {
    let stripped = text.strip_prefix('\u{feff}');
    let encoding = existing.unwrap_or(match stripped {
        Some(_) => Encoding::Utf8Bom,
        None => Encoding::Utf8,
    });
    (stripped.unwrap_or(text), encoding)
}

#[cfg(test)]
mod tests;
