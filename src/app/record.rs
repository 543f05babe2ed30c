//! Recording: every event of a run gets its number and its line in the transcript before anything follows from it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::secrets::Secrets;
use super::share::Share;
use crate::kernel::event::{RECORD_VERSION, Record, RunEvent};
use crate::kernel::ids::RunId;
use crate::kernel::time::Moment;
use crate::store::state_dir::StateDir;
use crate::store::transcript::{Found, Transcript, TranscriptError};

/// How often a transcript that another process looks at is tried, and how long is waited in between: a look is short, and
/// whoever works on the run keeps it for longer than all tries together.
const TRIES: u32 = 10;
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

pub struct Recorder {
    state: Arc<StateDir>,
    secrets: Arc<Secrets>,
    share: Arc<Share>,
    /// The last record of each run that was loaded: what goes on must go on from there.
    loaded: HashMap<RunId, u64>,
    open: HashMap<RunId, Line>,
}

struct Line {
    transcript: Transcript,
    last_seq: u64,
}

impl Recorder {
    pub fn new(state: Arc<StateDir>, secrets: Arc<Secrets>, share: Arc<Share>) -> Self {
        Self {
            state,
            secrets,
            share,
            loaded: HashMap::new(),
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
                let (transcript, found) = self.go_on_with(&path)?;
                let loaded = self.loaded.get(run);
                if loaded.is_some_and(|loaded| found.last_seq != Some(*loaded)) {
                    // Another process has gone on with the run since it was loaded here.
                    return Err(TranscriptError::Busy(path));
                }
                self.loaded.remove(run);
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
            self.share.holds(run);
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

    /// A run of an earlier process is loaded up to this record.
    pub fn loaded(&mut self, run: &RunId, last_seq: u64) {
        self.loaded.insert(run.clone(), last_seq);
    }

    /// The run is no longer what was loaded.
    pub fn forget(&mut self, run: &RunId) {
        self.loaded.remove(run);
    }

    /// Opens the transcript of a run of an earlier process. Another one may be looking at it just now.
    fn go_on_with(&self, path: &Path) -> Result<(Transcript, Found), TranscriptError> {
        let mut tries = 0;
        loop {
            let opened = Transcript::open_append(path, self.secrets.mask()?);
            if !matches!(opened, Err(TranscriptError::Busy(_))) || tries >= TRIES {
                return opened;
            }
            tries += 1;
            std::thread::sleep(BETWEEN_TRIES);
        }
    }

    /// Hands everything of all runs to the system, so that other processes see it. What fails is tried again.
    pub fn show(&mut self) {
        for (run, line) in &mut self.open {
            if let Err(error) = line.transcript.flush() {
                tracing::warn!(%run, "failed to {error}");
            }
        }
    }

    /// The run is over: nothing more is written.
    pub fn close(&mut self, run: &RunId) {
        if let Some(mut line) = self.open.remove(run) {
            if let Err(error) = line.transcript.sync() {
                tracing::error!(%run, "failed to {error}");
            }
            drop(line);
            self.share.lets_go(run);
        }
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
