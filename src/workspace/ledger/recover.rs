//! After a crash: changes that were begun and not settled, settled by what is in the file.

use super::super::Workspace;
use super::super::look::{OnDisk, read_place};
use super::{Change, ChangeState, Ledger, LedgerError};
use crate::kernel::hash::ContentHash;

/// What became of a change that a crash cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    pub change: Change,
    pub settled: Settled,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// The file holds what the change leaves.
    Made,
    /// The file holds what was there before.
    NotMade,
    /// It holds neither: ask a human. Both contents are in the ledger.
    Unclear { found: Option<ContentHash> },
}

impl Ledger {
    /// Settles what a crash left open, and removes the temporary files of processes that are no more. To be called by
    /// whoever owns the runs, before any of them goes on. `at`: milliseconds since 1970.
    ///
    /// # Errors
    /// The ledger cannot be read or written. A file that cannot be looked at leaves its change open.
    pub fn recover(&self, workspace: &Workspace, at: i64) -> Result<Vec<Recovered>, LedgerError> {
        let mut recovered = Vec::new();
        for change in self.changes()? {
            if change.state != ChangeState::Begun {
                continue;
            }
            let Some(settled) = self.look(workspace, &change) else {
                continue;
            };
            let state = match settled {
                Settled::Made => ChangeState::Made,
                Settled::NotMade => ChangeState::NotMade,
                Settled::Unclear { .. } => ChangeState::Unclear,
            };
            self.settle((&change.run, change.change), state, at)?;
            recovered.push(Recovered { change, settled });
        }
        Ok(recovered)
    }

    fn look(&self, workspace: &Workspace, change: &Change) -> Option<Settled> {
        let mut place = workspace.place(&change.path).ok()?;
        let mut found = hash_at(&place)?;
        for leftover in workspace.leftovers(&place) {
            // Killed between the exchange and the look at what came out of it: if somebody had saved at that very moment,
            // their text, which nobody else has, goes back.
            let is_made = found.is_some() && found == change.after;
            if is_made && self.is_foreign(change, &leftover.bytes(&place)?) {
                if !leftover.exchange(&place) {
                    return None;
                }
                place = workspace.place(&change.path).ok()?;
                found = hash_at(&place)?;
            }
            leftover.remove(&place);
        }
        if found == change.after {
            return Some(Settled::Made);
        }
        if found == change.before {
            if found.is_none() {
                workspace.remove_empty_folders(&change.path, change.folders);
            }
            return Some(Settled::NotMade);
        }
        Some(Settled::Unclear { found })
    }

    /// Whether bytes are neither what was there before nor the start of what we were writing.
    fn is_foreign(&self, change: &Change, bytes: &[u8]) -> bool {
        if change.before.as_ref() == Some(&ContentHash::of(bytes)) {
            return false;
        }
        let after = change.after.as_ref().map(|hash| self.snapshot(hash));
        !matches!(after, Some(Ok(after)) if after.starts_with(bytes))
    }
}

/// `Some(None)`: nothing is there. `None`: it cannot be looked at.
#[expect(clippy::option_option, reason = "known to be absent, and not known")]
fn hash_at(place: &super::super::place::Place) -> Option<Option<ContentHash>> {
    match read_place(place) {
        Ok(OnDisk::Nothing) => Some(None),
        Ok(OnDisk::Bytes { bytes, .. }) => Some(Some(ContentHash::of(&bytes))),
        Ok(OnDisk::TooBig { .. }) | Err(_) => None,
    }
}
