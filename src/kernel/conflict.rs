//! Decides what becomes of a proposal: write it, merge it, ask, or refuse.
//!
//! INTERFACE FIXED BY THE LEAD (the run engine is written against it): keep these names and shapes, fill in `decide`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::file::{FileNow, WriteOrder};
use super::path::RelPath;
use super::question::ConflictReason;
use super::tool::{EditFile, SeenFile, WriteFile};

/// What happens when a proposal meets content that the run has not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ConflictPolicy {
    /// Ask the user, with a diff.
    #[default]
    Ask,
    /// Refuse the create and tell the model to edit what exists.
    Edit,
    Overwrite,
    Fail,
}

/// What happens when both sides changed, in different places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MergePolicy {
    #[default]
    Auto,
    Ask,
}

/// What the agent wants to be in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Proposal {
    Write(WriteFile),
    Edit(EditFile),
}

impl Proposal {
    pub fn path(&self) -> &RelPath {
        match self {
            Self::Write(write) => &write.path,
            Self::Edit(edit) => &edit.path,
        }
    }
}

/// All that a decision depends on.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    pub proposal: &'a Proposal,
    /// What the run has last read or written there.
    pub seen: Option<&'a SeenFile>,
    pub now: &'a FileNow,
    pub conflict: ConflictPolicy,
    pub merge: MergePolicy,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// What is there is already what is proposed.
    Identical,
    /// Write this. `merged`: the user's other changes are kept by a three-way merge. `note` tells the model what it should
    /// know beyond "written" (for example that whitespace was matched tolerantly); may be empty.
    Write {
        order: WriteOrder,
        merged: bool,
        note: String,
    },
    /// Only the user can decide. `proposed` is the whole text that the agent wants, in the file's own line endings.
    Conflict {
        reason: ConflictReason,
        proposed: Arc<str>,
    },
    /// Not possible; `message` tells the model why and what to do instead.
    Refuse { message: String },
}

pub fn decide(situation: &Situation<'_>) -> Verdict {
    let _ = situation;
    Verdict::Refuse {
        message: String::new(),
    }
}
