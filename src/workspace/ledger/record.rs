//! Changes written down before they are made.

use super::super::Workspace;
use super::super::look::{OnDisk, read_place};
use super::journal::Fact;
use super::{Change, ChangeState, Ledger, LedgerError, Why};
use crate::kernel::file::{NewContent, WriteOrder, WriteOutcome};
use crate::kernel::ids::{ChangeId, RunId};
use crate::kernel::path::RelPath;

/// What a change finds and what it leaves, in bytes; `None`: no file.
#[derive(Debug, Clone, Copy)]
pub struct Contents<'a> {
    pub before: Option<&'a [u8]>,
    pub after: Option<&'a [u8]>,
}

impl Ledger {
    /// Writes down a change that somebody else is about to make: an edit of an open document. Call [`Ledger::settle`]
    /// when it is known how it ended.
    ///
    /// # Errors
    /// It could not be written down; then it must not be made.
    pub fn begin(&self, path: &RelPath, contents: Contents, why: &Why) -> Result<(), LedgerError> {
        self.begin_with(path, contents, why, Traits::default())
    }

    pub(in super::super) fn begin_with(
        &self,
        path: &RelPath,
        contents: Contents,
        why: &Why,
        traits: Traits,
    ) -> Result<(), LedgerError> {
        let failed = |source| LedgerError::Begin {
            path: path.clone(),
            source,
        };
        let keep = |bytes: Option<&[u8]>| bytes.map(|bytes| self.snapshots.keep(bytes)).transpose();
        let change = Change {
            run: why.run.clone(),
            change: why.change,
            step: why.step.clone(),
            reason: why.reason.clone(),
            at: why.at,
            path: path.clone(),
            before: keep(contents.before).map_err(failed)?,
            after: keep(contents.after).map_err(failed)?,
            mode: traits.mode,
            folders: traits.folders,
            state: ChangeState::Begun,
        };
        self.journal.append(&Fact::Begun(change)).map_err(failed)
    }

    /// Writes down how a change ended.
    ///
    /// # Errors
    /// It could not be written; the next look at the file settles it.
    pub fn settle(
        &self,
        (run, change): (&RunId, ChangeId),
        state: ChangeState,
        at: i64,
    ) -> Result<(), LedgerError> {
        let fact = Fact::Settled {
            run: run.clone(),
            change,
            state,
            at,
        };
        self.journal.append(&fact).map_err(LedgerError::Settle)
    }
}

/// What a file has beside its content.
#[derive(Clone, Copy, Default)]
pub(in super::super) struct Traits {
    pub mode: Option<u32>,
    pub folders: u32,
}

impl Workspace {
    /// Writes on disk, with the change written down before and settled after. Nothing is written, and nothing recorded,
    /// when other content is there than was expected or when it is so already.
    pub fn write_recorded(&self, order: &WriteOrder, ledger: &Ledger, why: &Why) -> WriteOutcome {
        let Ok(place) = self.place(&order.path) else {
            // It says what is the matter.
            return self.write(order);
        };
        let (before, mode) = match read_place(&place) {
            Ok(OnDisk::Bytes { bytes, stat, .. }) => (Some(bytes), Some(stat.st_mode & 0o7777)),
            Ok(OnDisk::Nothing) => (None, None),
            Ok(OnDisk::TooBig { .. }) | Err(_) => return self.write(order),
        };
        let after = match &order.content {
            NewContent::Text { text, encoding } => Some(encoding.encode(text)),
            NewContent::Deleted => None,
        };
        let expected = before.as_deref().map(crate::kernel::hash::ContentHash::of);
        if expected != order.expected {
            return WriteOutcome::Changed;
        }
        if before == after {
            return self.write(order);
        }
        let contents = Contents {
            before: before.as_deref(),
            after: after.as_deref(),
        };
        let traits = Traits {
            mode,
            folders: u32::try_from(place.missing.len()).unwrap_or(u32::MAX),
        };
        if let Err(error) = ledger.begin_with(&order.path, contents, why, traits) {
            return WriteOutcome::Failed {
                error: format!("failed to {error}"),
            };
        }
        drop(place);
        let outcome = self.write(order);
        let state = match &outcome {
            WriteOutcome::Written { .. } => ChangeState::Made,
            WriteOutcome::Changed | WriteOutcome::Failed { .. } => ChangeState::NotMade,
            // Left open: whoever looks at the file settles it.
            WriteOutcome::Unknown { .. } => return outcome,
        };
        if let Err(error) = ledger.settle((&why.run, why.change), state, why.at) {
            tracing::warn!(path = %order.path, "failed to {error}");
        }
        outcome
    }
}
