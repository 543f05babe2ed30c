//! Recording: every event of a run gets its number and its line in the transcript before anything follows from it.

use std::collections::HashMap;
use std::sync::Arc;

use super::secrets::Secrets;
use crate::kernel::event::{RECORD_VERSION, Record, RunEvent};
use crate::kernel::ids::RunId;
use crate::kernel::time::Moment;
use crate::store::state_dir::StateDir;
use crate::store::transcript::{Transcript, TranscriptError};

pub struct Recorder {
    state: Arc<StateDir>,
    secrets: Arc<Secrets>,
    open: HashMap<RunId, Line>,
}

struct Line {
    transcript: Transcript,
    last_seq: u64,
}

impl Recorder {
    pub fn new(state: Arc<StateDir>, secrets: Arc<Secrets>) -> Self {
        Self {
            state,
            secrets,
            open: HashMap::new(),
        }
    }

    /// Appends an event. The first event of a run makes its transcript.
    pub fn append(
        &mut self,
        run: &RunId,
        at: Moment,
        event: RunEvent,
    ) -> Result<Arc<Record>, TranscriptError> {
        if !self.open.contains_key(run) {
            let path = self
                .state
                .transcript(run)
                .ok_or_else(|| TranscriptError::BadName(run.clone()))?;
            let line = if path.exists() {
                let (transcript, found) = Transcript::open_append(&path, self.secrets.mask()?)?;
                Line {
                    transcript,
                    last_seq: found.last_seq.unwrap_or_default(),
                }
            } else {
                Line {
                    transcript: Transcript::create(&path, self.secrets.mask()?)?,
                    last_seq: 0,
                }
            };
            self.open.insert(run.clone(), line);
        }
        let record = |seq| Record {
            seq,
            at: at.wall_ms,
            mono: at.mono_ms,
            kind: event.kind(),
            v: RECORD_VERSION,
            event,
        };
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
        self.open
            .get_mut(run)
            .map_or(Ok(()), |line| line.transcript.flush())
    }

    /// Makes everything of the run durable: before a side effect, and at the end of a turn.
    pub fn sync(&mut self, run: &RunId) -> Result<(), TranscriptError> {
        self.open
            .get_mut(run)
            .map_or(Ok(()), |line| line.transcript.sync())
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
