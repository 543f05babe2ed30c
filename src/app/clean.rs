//! Cleaning up after runs that failed: what they left behind is taken back, all of them together.

use thiserror::Error;

use super::{App, EventsError, Undo, UndoError, Undone};
use crate::kernel::event::{RunEvent, RunOutcome};
use crate::kernel::ids::RunId;
use crate::workspace::revert::EditedSince;

/// Records of a transcript that are read at once.
const PAGE: usize = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clean {
    pub runs: Vec<RunId>,
    pub edited_since: EditedSince,
    /// Only look what would be done.
    pub preview: bool,
}

/// Completes "failed to clean up: ".
#[derive(Debug, Error)]
pub enum CleanError {
    #[error("no run is named")]
    NoRuns,
    #[error("run {0} has succeeded; to take back what it did, revert it")]
    Succeeded(RunId),
    #[error("run {0} has not ended; cancel it first")]
    NotOver(RunId),
    #[error("{0}")]
    Events(#[from] EventsError),
    #[error("failed to {0}")]
    Undo(#[from] UndoError),
}

impl App {
    /// Takes back what runs that did not succeed have left behind. Once begun it is done to its end.
    ///
    /// # Errors
    /// A run is not known, works still, or has succeeded: then nothing is done. What cannot be done to a file is in its
    /// report.
    pub async fn clean(&self, clean: Clean) -> Result<Undone, CleanError> {
        if clean.runs.is_empty() {
            return Err(CleanError::NoRuns);
        }
        for run in &clean.runs {
            match self.outcome(run).await? {
                Some(RunOutcome::Failed | RunOutcome::Cancelled | RunOutcome::Interrupted) => {}
                Some(RunOutcome::Succeeded) => return Err(CleanError::Succeeded(run.clone())),
                None => return Err(CleanError::NotOver(run.clone())),
            }
        }
        let undo = Undo {
            edited_since: clean.edited_since,
            preview: clean.preview,
            ..Undo::all_of(clean.runs)
        };
        Ok(self.undo(undo).await?)
    }

    /// How a run ended, of this process or another; `None`: it has not.
    async fn outcome(&self, run: &RunId) -> Result<Option<RunOutcome>, EventsError> {
        let mut ended = None;
        let mut after = 0;
        loop {
            let page = self.events(run.clone(), after, PAGE).await?;
            for record in &page.records {
                after = record.seq;
                match &record.event {
                    RunEvent::Ended { outcome, .. } => ended = Some(*outcome),
                    RunEvent::Resumed { .. } => ended = None,
                    _ => {}
                }
            }
            if !page.more || page.records.is_empty() {
                return Ok(ended);
            }
        }
    }
}
