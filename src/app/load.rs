//! Runs that an earlier process began and did not end, as their transcripts have them.

use std::path::Path;

use super::App;
use super::clock::wall_ms;
use super::secrets::Secrets;
use crate::kernel::event::{Record, RunEvent};
use crate::kernel::ids::RunId;
use crate::store::transcript::{Transcript, TranscriptError, read};
use crate::workspace::ledger::Recovered;

/// What a transcript says of its run.
pub enum Found {
    /// A process works on it: another one, or this one.
    Busy,
    /// Nothing whole is in it.
    Empty,
    Over,
    /// All its records. Nobody works on it.
    Unfinished(Vec<Record>),
}

/// Before any run goes on: finds out which of the changes that were cut off were made.
pub fn settle_changes(app: &App) {
    match app.ledger.recover(&app.workspace, wall_ms()) {
        Ok(recovered) => {
            for Recovered { change, settled } in recovered {
                tracing::info!(run = %change.run, path = %change.path, ?settled, "a change that was cut off");
            }
        }
        Err(error) => tracing::error!("failed to {error}"),
    }
}

/// The run whose transcript this is.
pub fn run_of(path: &Path) -> Option<RunId> {
    let name = path.file_stem().and_then(|stem| stem.to_str());
    name.filter(|_| path.extension().is_some_and(|end| end == "jsonl"))
        .map(RunId::new)
}

/// # Errors
/// The transcript cannot be read or mended.
pub fn look(path: &Path, secrets: &Secrets) -> Result<Found, TranscriptError> {
    // Opening tells whether a process writes it, and mends its end; it is let go again at once.
    let found = match Transcript::open_append(path, secrets.mask()?) {
        Ok((_, found)) => found,
        Err(TranscriptError::Busy(_)) => return Ok(Found::Busy),
        Err(error) => return Err(error),
    };
    let Some(last) = found.last_seq else {
        return Ok(Found::Empty);
    };
    let end = read::<Record>(path, last.saturating_sub(1), 1)?;
    if matches!(
        end.records.last().map(|record| &record.event),
        Some(RunEvent::Ended { .. })
    ) {
        return Ok(Found::Over);
    }
    let page = read::<Record>(path, 0, usize::MAX)?;
    for bad in &page.bad_lines {
        tracing::warn!(path = %path.display(), "a line of the transcript is skipped: {bad:?}");
    }
    Ok(Found::Unfinished(page.records))
}
