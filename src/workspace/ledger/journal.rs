//! The file of facts: appended to, never rewritten; what a crash cut off is cut away.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::super::fault::point;
use super::{Change, ChangeState};
use crate::kernel::ids::{ChangeId, RunId};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "fact")]
pub(super) enum Fact {
    Begun(Change),
    #[serde(rename_all = "camelCase")]
    Settled {
        run: RunId,
        change: ChangeId,
        state: ChangeState,
        at: i64,
    },
}

#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
}

impl Journal {
    pub fn open(path: PathBuf) -> io::Result<Self> {
        let journal = Self { path };
        let made = !journal.path.exists();
        let file = journal.file()?;
        if made {
            file.sync_all()?;
            if let Some(folder) = journal.path.parent() {
                File::open(folder)?.sync_all()?;
            }
        }
        Ok(journal)
    }

    fn file(&self) -> io::Result<File> {
        OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&self.path)
    }

    /// Adds a fact; it is on the disk for good when this returns.
    pub fn append(&self, fact: &Fact) -> io::Result<()> {
        let mut line = serde_json::to_vec(fact)?;
        line.push(b'\n');
        let mut file = self.file()?;
        // Two processes may share a workspace. The lock goes with the handle, also if we are killed.
        flock(&file, FlockOperation::LockExclusive)?;
        let end = mend(&mut file)?;
        point("before the fact");
        if cfg!(test) {
            // In two, so that a crash can cut a line.
            let (start, rest) = line.split_at(line.len() / 2);
            file.write_all(start)?;
            point("half a fact");
            line = rest.to_vec();
        }
        if let Err(error) = file.write_all(&line) {
            // A full disk: half a line must not stay for the next one to be glued to.
            let _ = file.set_len(end);
            return Err(error);
        }
        point("fact written");
        file.sync_data()?;
        point("fact synced");
        Ok(())
    }

    /// All facts; a last line that is cut off is left out, and so is any other line that is none.
    pub fn read(&self) -> io::Result<Vec<Fact>> {
        let mut text = Vec::new();
        self.file()?.read_to_end(&mut text)?;
        Ok(text
            .split(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect())
    }
}

/// Makes the file end with a whole line, and gives back its length.
fn mend(file: &mut File) -> io::Result<u64> {
    let length = file.seek(SeekFrom::End(0))?;
    let mut start = length;
    let mut tail: Vec<u8> = Vec::new();
    // Back to the last line's end, in pieces: a line is seldom longer than one.
    loop {
        if let Some(at) = tail.iter().rposition(|byte| *byte == b'\n') {
            tail.drain(..=at);
            break;
        }
        if start == 0 {
            break;
        }
        let piece = start.min(4096);
        start -= piece;
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = vec![0; usize::try_from(piece).unwrap_or_default()];
        file.read_exact(&mut bytes)?;
        bytes.append(&mut tail);
        tail = bytes;
    }
    if tail.is_empty() {
        return Ok(length);
    }
    if serde_json::from_slice::<Fact>(&tail).is_ok() {
        file.write_all(b"\n")?;
        return Ok(length + 1);
    }
    let end = length - tail.len() as u64;
    file.set_len(end)?;
    Ok(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(change: u32) -> Fact {
        Fact::Settled {
            run: RunId::new("é"),
            change: ChangeId(change),
            state: ChangeState::Made,
            at: 1,
        }
    }

    #[test]
    fn a_cut_last_line_is_cut_away_and_a_whole_one_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("changes.jsonl");
        let journal = Journal::open(path.clone()).unwrap();
        journal.append(&fact(1)).unwrap();
        journal.append(&fact(2)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let first = whole.len() / 2;
        for cut in first..=whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            // All but its newline is there.
            let kept = if cut + 1 >= whole.len() { 2 } else { 1 };
            assert_eq!(journal.read().unwrap().len(), kept, "{cut}");
            journal.append(&fact(3)).unwrap();
            let facts = journal.read().unwrap();
            assert_eq!(facts.len(), kept + 1, "{cut}");
            assert_eq!(facts.last(), Some(&fact(3)));
        }
    }

    #[test]
    fn a_bad_line_and_a_long_one_do_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("changes.jsonl");
        std::fs::write(&path, format!("nonsense\n{}", "x".repeat(10_000))).unwrap();
        let journal = Journal::open(path).unwrap();
        journal.append(&fact(1)).unwrap();
        assert_eq!(journal.read().unwrap(), [fact(1)]);
    }
}
