//! The ledger: every file change of every run, written down with both contents before it is made.
//!
//! `changes.jsonl` in the state folder holds one line per fact: a change is begun, a change is settled. Both are on the
//! disk before the caller goes on. Whoever finds a change that was begun and not settled looks at the file: it equals the
//! content after (made), the content before (not made), or neither, and then a human is asked. Nothing is ever rewritten.

mod journal;
mod record;
mod recover;

use std::io;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::snapshots::Snapshots;
use crate::kernel::hash::ContentHash;
use crate::kernel::ids::{ChangeId, RunId};
use crate::kernel::path::RelPath;
use journal::{Fact, Journal};

pub use record::Contents;
pub(super) use record::Traits;
pub use recover::{Recovered, Settled};

/// Completes "failed to ".
#[derive(Debug, Error)]
pub enum LedgerError {
    #[error("open the ledger in `{}`: {source}; check who may write there", folder.display())]
    Open { folder: PathBuf, source: io::Error },
    #[error("record the change of {path} before making it: {source}; nothing was changed")]
    Begin { path: RelPath, source: io::Error },
    #[error(
        "record how a change ended: {0}; it is settled by looking at the file when the ledger is next opened"
    )]
    Settle(io::Error),
    #[error("read the ledger: {0}")]
    Read(io::Error),
}

/// Why a change is made, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    pub run: RunId,
    /// Unique within the run.
    pub change: ChangeId,
    /// The plan's step or the tool call that it belongs to.
    pub step: Option<String>,
    /// One line, for people.
    pub reason: String,
    /// Milliseconds since 1970.
    pub at: i64,
}

/// One file change of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    pub run: RunId,
    pub change: ChangeId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    pub reason: String,
    /// Milliseconds since 1970.
    pub at: i64,
    pub path: RelPath,
    /// Hash of the bytes before; `None`: the file was not there.
    pub before: Option<ContentHash>,
    /// Hash of the bytes after; `None`: the file is deleted.
    pub after: Option<ContentHash>,
    /// Permission bits before, for bringing a deleted file back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// How many folders above the file were not there.
    #[serde(default)]
    pub folders: u32,
    pub state: ChangeState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ChangeState {
    /// Written down, and not known to be made or not.
    Begun,
    Made,
    NotMade,
    /// The file was neither as before nor as after; a human has to look.
    Unclear,
}

/// The ledger of one workspace.
#[derive(Debug)]
pub struct Ledger {
    journal: Journal,
    snapshots: Snapshots,
}

impl Ledger {
    /// Opens the ledger in a state folder, which is made if it is not there.
    ///
    /// # Errors
    /// The folder cannot be made or written.
    pub fn open(state: &Path) -> Result<Self, LedgerError> {
        let failed = |source| LedgerError::Open {
            folder: state.to_owned(),
            source,
        };
        Ok(Self {
            snapshots: Snapshots::open(state.join("snapshots")).map_err(failed)?,
            journal: Journal::open(state.join("changes.jsonl")).map_err(failed)?,
        })
    }

    /// All changes in the order in which they were begun.
    ///
    /// # Errors
    /// The file cannot be read. Lines that are none are left out.
    pub fn changes(&self) -> Result<Vec<Change>, LedgerError> {
        let mut changes: Vec<Change> = Vec::new();
        for fact in self.journal.read().map_err(LedgerError::Read)? {
            match fact {
                Fact::Begun(change) => changes.push(change),
                Fact::Settled {
                    run, change, state, ..
                } => {
                    let known = changes
                        .iter_mut()
                        .rev()
                        .find(|known| known.run == run && known.change == change);
                    if let Some(known) = known {
                        known.state = state;
                    }
                }
            }
        }
        Ok(changes)
    }

    /// The changes that a run made, in order.
    ///
    /// # Errors
    /// As [`Ledger::changes`].
    pub fn changes_of(&self, run: &RunId) -> Result<Vec<Change>, LedgerError> {
        let mut changes = self.changes()?;
        changes.retain(|change| change.run == *run && change.state == ChangeState::Made);
        Ok(changes)
    }

    /// The bytes that a change found or left.
    ///
    /// # Errors
    /// They were not kept, or are damaged.
    pub fn snapshot(&self, hash: &ContentHash) -> io::Result<Vec<u8>> {
        self.snapshots.get(hash)
    }
}
