//! Runs that an earlier process began and did not end: found at start, and handed to the actor as they are.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::App;
use super::clock::wall_ms;
use super::secrets::Secrets;
use crate::kernel::event::{Record, RunEvent};
use crate::kernel::ids::RunId;
use crate::store::transcript::{Transcript, TranscriptError, read};
use crate::workspace::ledger::Recovered;

/// Looks for them beside everything else; each is posted as it is found, and then that all are. Only what is there now is
/// looked at: a transcript that is begun later belongs to this process.
pub fn unfinished(app: App, secrets: Arc<Secrets>) {
    let paths: Vec<PathBuf> = std::fs::read_dir(app.state.runs())
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    let done = app.clone();
    let looked = std::thread::Builder::new()
        .name("load".to_owned())
        .spawn(move || {
            look(&app, &secrets, &paths);
            app.loaded();
        });
    if let Err(error) = looked {
        tracing::error!("failed to look for unfinished runs: {error}");
        done.loaded();
    }
}

fn look(app: &App, secrets: &Secrets, paths: &[PathBuf]) {
    // Before any run goes on: which of its changes were made.
    match app.ledger.recover(&app.workspace, wall_ms()) {
        Ok(recovered) => {
            for Recovered { change, settled } in recovered {
                tracing::info!(run = %change.run, path = %change.path, ?settled, "a change that was cut off");
            }
        }
        Err(error) => tracing::error!("failed to {error}"),
    }
    for path in paths {
        let name = path.file_stem().and_then(|stem| stem.to_str());
        let run = name
            .filter(|_| path.extension().is_some_and(|end| end == "jsonl"))
            .map(RunId::new);
        let Some(run) = run else { continue };
        match records(path, secrets) {
            Ok(Some(records)) => app.load(run, records),
            Ok(None) => {}
            Err(error) => tracing::error!(%run, "failed to {error}"),
        }
    }
}

/// All records of a run that has no end and that no other process works on.
fn records(path: &Path, secrets: &Secrets) -> Result<Option<Vec<Record>>, TranscriptError> {
    // Opening tells whether another process writes it, and mends its end; it is let go again at once.
    let found = match Transcript::open_append(path, secrets.mask()?) {
        Ok((_, found)) => found,
        Err(TranscriptError::Busy(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let Some(last) = found.last_seq else {
        return Ok(None);
    };
    let end = read::<Record>(path, last.saturating_sub(1), 1)?;
    if matches!(
        end.records.last().map(|record| &record.event),
        Some(RunEvent::Ended { .. })
    ) {
        return Ok(None);
    }
    let page = read::<Record>(path, 0, usize::MAX)?;
    for bad in &page.bad_lines {
        tracing::warn!(path = %path.display(), "a line of the transcript is skipped: {bad:?}");
    }
    Ok(Some(page.records))
}
