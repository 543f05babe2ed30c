//! The transcript of a run: one JSONL file, one record a line, only ever appended to.
//!
//! Promises:
//! * What [`Transcript::sync`] returned for is there after a crash or a power cut; what was only [flushed](Transcript::flush)
//!   is there after a crash of this process.
//! * A line that a crash cut off is not read, and is cut away before the next append; a whole line that lacks only its line
//!   end gets it. No append and no opening reads more than the end of the file.
//! * When the disk is full, nothing is lost while the process lives: records wait in memory, and the file holds whole lines.
//! * One process writes a transcript; a second one is refused.
//! * Secrets are masked before they leave memory. Only the user can read the file.

mod bisect;
mod read;
mod tail;

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use thiserror::Error;

pub use self::read::{BadLine, Page, read};
use self::tail::Repair;
use super::mask::{Mask, MaskError};
use crate::kernel::ids::RunId;

/// Records wait in memory up to this many bytes before they are written without being asked.
const BUFFER: usize = 64 * 1024;
/// When they cannot be written, up to this many.
const MOST_PENDING: usize = 64 * 1024 * 1024;
/// No record is longer; what is longer than this in a file is damage.
const LONGEST_LINE: usize = 64 * 1024 * 1024;

/// What can go wrong with a transcript. Completes "failed to ".
#[derive(Debug, Error)]
pub enum TranscriptError {
    #[error("{action} the transcript `{}`: {source}{}", path.display(), hint(source))]
    Io {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("write to the transcript `{}`: another process writes to it; the run belongs to that one", .0.display())]
    Busy(PathBuf),
    #[error("name a transcript after the run `{0}`: it is no name of a run")]
    BadName(RunId),
    #[error("{0}")]
    Mask(#[from] MaskError),
    #[error("write a record as JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error(
        "keep more records of `{}` in memory: {pending} bytes could not be written for a while; free some space on its disk",
        path.display()
    )]
    Full { path: PathBuf, pending: usize },
}

/// What a person can do.
fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "; nothing is lost yet: free some space and go on"
        }
        io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::NotADirectory => {
            "; check who may write there, or choose another place with --state-dir"
        }
        _ => "",
    }
}

/// What opening an existing transcript found at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Found {
    /// Number of the last whole record; `None` when there is none.
    pub last_seq: Option<u64>,
    /// Bytes of a cut last line that were cut away.
    pub cut: u64,
}

/// A transcript that this process writes.
#[derive(Debug)]
pub struct Transcript {
    file: File,
    path: PathBuf,
    mask: Arc<Mask>,
    /// Whole lines that are not in the file yet.
    pending: Vec<u8>,
    /// Length of the file up to its last whole line.
    whole: u64,
    /// A write failed after part of a line: that part must go before anything is written again.
    ragged: bool,
    /// The disk has not confirmed all that was written.
    unsynced: bool,
    /// The file's name is on its disk too.
    named: bool,
}

impl Transcript {
    /// A new transcript. Missing folders are made, for the user only.
    ///
    /// # Errors
    /// When there is one already, and when the place cannot be written to.
    pub fn create(path: &Path, mask: Arc<Mask>) -> Result<Self, TranscriptError> {
        let io = |source| TranscriptError::Io {
            action: "create",
            path: path.to_owned(),
            source,
        };
        if let Some(folder) = path.parent() {
            make_private_folder(folder).map_err(io)?;
        }
        let mut options = OpenOptions::new();
        options.read(true).append(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(io)?;
        lock(&file, path)?;
        Ok(Self {
            file,
            path: path.to_owned(),
            mask,
            pending: Vec::new(),
            whole: 0,
            ragged: false,
            unsynced: true,
            named: false,
        })
    }

    /// Opens an existing transcript to go on with it, and repairs its end.
    ///
    /// # Errors
    /// When it is not there, cannot be written to, or another process writes to it.
    pub fn open_append(path: &Path, mask: Arc<Mask>) -> Result<(Self, Found), TranscriptError> {
        let io = |action| {
            move |source| TranscriptError::Io {
                action,
                path: path.to_owned(),
                source,
            }
        };
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .open(path)
            .map_err(io("open"))?;
        lock(&file, path)?;
        let length = file.metadata().map_err(io("open"))?.len();
        let end = tail::look(&file, length).map_err(io("read the end of"))?;
        let mut transcript = Self {
            file,
            path: path.to_owned(),
            mask,
            pending: Vec::new(),
            whole: length,
            ragged: false,
            unsynced: true,
            named: false,
        };
        let mut cut = 0;
        match end.repair {
            Repair::None => {}
            // Written with the next record: opening alone changes only what is broken.
            Repair::AddLineEnd => transcript.pending.push(b'\n'),
            Repair::Cut { whole } => {
                cut = length.saturating_sub(whole);
                transcript.file.set_len(whole).map_err(io("repair"))?;
                transcript.whole = whole;
            }
        }
        let found = Found {
            last_seq: end.last_seq,
            cut,
        };
        Ok((transcript, found))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds `record` as the next line. It waits in memory for the next flush; it is written by itself when much is waiting.
    ///
    /// # Errors
    /// When it cannot be written as JSON, or when nothing could be written for so long that memory is full. The record is
    /// then not part of the transcript. A failing disk shows at the next flush.
    pub fn append<T: Serialize>(&mut self, record: &T) -> Result<(), TranscriptError> {
        if self.pending.len() >= BUFFER
            && self.flush().is_err()
            && self.pending.len() >= MOST_PENDING
        {
            return Err(TranscriptError::Full {
                path: self.path.clone(),
                pending: self.pending.len(),
            });
        }
        self.mask.write_json(record, &mut self.pending)?;
        self.pending.push(b'\n');
        Ok(())
    }

    /// Hands all records to the system: readers see them now, and a crash of this process no longer loses them.
    ///
    /// # Errors
    /// When the disk refuses. The records stay in memory, and the next flush tries again.
    pub fn flush(&mut self) -> Result<(), TranscriptError> {
        let written = self.write_pending();
        written.map_err(|source| self.failed("write", source))
    }

    /// Flushes, and waits until the disk has it: for before a side effect and the end of a turn.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn sync(&mut self) -> Result<(), TranscriptError> {
        self.flush()?;
        if self.unsynced {
            let synced = self.file.sync_data();
            synced.map_err(|source| self.failed("write to the disk", source))?;
            self.unsynced = false;
        }
        if !self.named {
            sync_folder(&self.path)
                .map_err(|source| self.failed("write to the disk the folder of", source))?;
            self.named = true;
        }
        Ok(())
    }

    fn failed(&self, action: &'static str, source: io::Error) -> TranscriptError {
        TranscriptError::Io {
            action,
            path: self.path.clone(),
            source,
        }
    }

    fn write_pending(&mut self) -> io::Result<()> {
        if self.ragged {
            self.file.set_len(self.whole)?;
            self.ragged = false;
        }
        if self.pending.is_empty() {
            return Ok(());
        }
        self.unsynced = true;
        let mut written = 0;
        while let Some(rest) = self.pending.get(written..).filter(|rest| !rest.is_empty()) {
            let failure = match self.file.write(rest) {
                Ok(0) => io::ErrorKind::WriteZero.into(),
                Ok(count) => {
                    written += count;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            // Readers skip a cut line, but it must not stay when other lines follow.
            self.ragged = written > 0 && self.file.set_len(self.whole).is_err();
            return Err(failure);
        }
        self.whole = self.whole.saturating_add(self.pending.len() as u64);
        self.pending.clear();
        // One large record shall not keep its memory for the rest of the run.
        self.pending.shrink_to(2 * BUFFER);
        Ok(())
    }
}

impl Drop for Transcript {
    fn drop(&mut self) {
        if let Err(error) = self.flush() {
            tracing::error!("failed to {error}");
        }
        unlock(&self.file);
    }
}

/// Removes a transcript that nobody writes; gives its size. One that is not there has the size 0.
///
/// # Errors
/// When a process writes to it, or it cannot be removed.
pub fn remove(path: &Path) -> Result<u64, TranscriptError> {
    let io = |source| TranscriptError::Io {
        action: "remove",
        path: path.to_owned(),
        source,
    };
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        file => file.map_err(io)?,
    };
    lock(&file, path)?;
    let removed = file.metadata().and_then(|metadata| {
        std::fs::remove_file(path)?;
        Ok(metadata.len())
    });
    unlock(&file);
    removed.map_err(io)
}

/// Makes `folder` and what is missing above it, for the user only.
pub(super) fn make_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// After this, the file's name survives a power cut.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if folder != Path::new("") => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

/// Folders cannot be opened as files here; the file system's own journal has to do.
#[cfg(not(unix))]
fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Whether a process works on the run of this transcript. Where the system has no locks, nobody seems to.
#[cfg(unix)]
pub fn is_written(path: &Path) -> bool {
    use rustix::fs::{FlockOperation, flock};
    use rustix::io::Errno;
    let file = File::open(path);
    file.is_ok_and(|file| {
        flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
    })
}

#[cfg(not(unix))]
pub fn is_written(_path: &Path) -> bool {
    false
}

/// Held until the file is closed, or the process dies however it dies.
#[cfg(unix)]
fn lock(file: &File, path: &Path) -> Result<(), TranscriptError> {
    use std::os::unix::fs::MetadataExt;

    use rustix::fs::{FlockOperation, flock};
    use rustix::io::Errno;
    // Some network file systems have no locks: any other error is no matter, the lease of the run guards it there.
    if flock(file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
        return Err(TranscriptError::Busy(path.to_owned()));
    }
    // Removed between the opening and the lock: what is written to such a file is lost.
    let identity = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    let same = std::fs::metadata(path)
        .and_then(|there| Ok(identity(there) == identity(file.metadata()?)))
        .and_then(|same| {
            if same {
                Ok(())
            } else {
                Err(io::ErrorKind::NotFound.into())
            }
        });
    same.map_err(|source| TranscriptError::Io {
        action: "open",
        path: path.to_owned(),
        source,
    })
}

/// Closing alone is not enough: a process that is just being started holds a copy of the file for a moment.
#[cfg(unix)]
fn unlock(file: &File) {
    // The file is closed next in any case.
    let _ = rustix::fs::flock(file, rustix::fs::FlockOperation::Unlock);
}

/// The lease of the run guards it here.
#[cfg(not(unix))]
fn lock(_file: &File, _path: &Path) -> Result<(), TranscriptError> {
    Ok(())
}

#[cfg(not(unix))]
fn unlock(_file: &File) {}

#[cfg(test)]
#[cfg(unix)]
mod tests;
