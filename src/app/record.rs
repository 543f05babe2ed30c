//! Recording: every event of a run gets its number and its line in the transcript before anything follows from it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::kernel::event::{RECORD_VERSION, Record, RunEvent};
use crate::kernel::ids::RunId;
use crate::kernel::time::Moment;
use crate::store::mask::Mask;
use crate::store::transcript::{Transcript, TranscriptError};

pub struct Recorder {
    folder: PathBuf,
    mask: Arc<Mask>,
    open: HashMap<RunId, Line>,
}

struct Line {
    transcript: Transcript,
    last_seq: u64,
}

impl Recorder {
    /// `state` is the workspace's state folder.
    pub fn new(state: &Path, mask: Mask) -> Self {
        Self { folder: folder(state), mask: Arc::new(mask), open: HashMap::new() }
    }

    /// Appends an event. The first event of a run makes its transcript.
    pub fn append(&mut self, run: &RunId, at: Moment, event: RunEvent) -> Result<Arc<Record>, TranscriptError> {
        if !self.open.contains_key(run) {
            let transcript = Transcript::create(&path(&self.folder, run), Arc::clone(&self.mask))?;
            self.open.insert(run.clone(), Line { transcript, last_seq: 0 });
        }
        let record = |seq| Record { seq, at: at.wall_ms, mono: at.mono_ms, kind: event.kind(), v: RECORD_VERSION, event };
        match self.open.get_mut(run) {
            Some(line) => {
                let record = record(line.last_seq + 1);
                line.transcript.append(&record)?;
                line.last_seq = record.seq;
                Ok(Arc::new(record))
            }
            None => Ok(Arc::new(record(1))),
        }
    }

    /// Hands everything to the system, so that readers of the file see it.
    pub fn flush(&mut self, run: &RunId) -> Result<(), TranscriptError> {
        self.open.get_mut(run).map_or(Ok(()), |line| line.transcript.flush())
    }

    /// Makes everything of the run durable: before a side effect, and at the end of a turn.
    pub fn sync(&mut self, run: &RunId) -> Result<(), TranscriptError> {
        self.open.get_mut(run).map_or(Ok(()), |line| line.transcript.sync())
    }

    /// The run is over: nothing more is written.
    pub fn close(&mut self, run: &RunId) {
        self.open.remove(run);
    }

    /// Makes everything durable before the process ends.
    pub fn sync_all(&mut self) {
        for (run, line) in &mut self.open {
            if let Err(error) = line.transcript.sync() {
                tracing::error!(%run, "failed to {error}");
            }
        }
    }
}

pub fn folder(state: &Path) -> PathBuf {
    state.join("runs")
}

/// Run ids come from us or were checked by [`is_run_name`].
pub fn path(folder: &Path, run: &RunId) -> PathBuf {
    folder.join(format!("{run}.jsonl"))
}

/// Whether a client's text can be the name of a run, and thus of a file.
pub fn is_run_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
