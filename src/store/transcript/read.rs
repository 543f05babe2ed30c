//! Reads a transcript from any record on, while it grows or after a crash.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use serde::de::DeserializeOwned;

use super::bisect::place_of;
use super::tail::seq_of;
use super::{LONGEST_LINE, TranscriptError};

/// Some records of a transcript, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    pub records: Vec<T>,
    /// Lines among them that could not be read and were skipped.
    pub bad_lines: Vec<BadLine>,
    /// There are more: read on after the number of the last record.
    pub more: bool,
}

/// A line that is no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// Counted from 1 in the file.
    pub number: u64,
    /// What is wrong with it, for people.
    pub reason: String,
}

/// Reads at most `limit` records with a number above `after_seq`; 0 reads from the start. A last line that is cut is not
/// read: it is still being written, or a crash cut it.
///
/// # Errors
/// When the file cannot be read. Damage inside it is no error, it is in [`Page::bad_lines`].
pub fn read<T: DeserializeOwned>(
    path: &Path,
    after_seq: u64,
    limit: usize,
) -> Result<Page<T>, TranscriptError> {
    page(path, after_seq, limit).map_err(|source| TranscriptError::Io {
        action: "read",
        path: path.to_owned(),
        source,
    })
}

fn page<T: DeserializeOwned>(path: &Path, after_seq: u64, limit: usize) -> io::Result<Page<T>> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut file = BufReader::with_capacity(256 * 1024, file);
    let start = if after_seq == 0 {
        0
    } else {
        place_of(&mut file, length, after_seq)?
    };
    file.seek(SeekFrom::Start(start))?;
    let mut page = Page {
        records: Vec::new(),
        bad_lines: Vec::new(),
        more: false,
    };
    // Bad lines are counted from `start` at first. Those between the last record of a page and the next one belong to the
    // next page.
    let mut told = 0;
    let mut number = 0;
    let mut line = Vec::new();
    loop {
        line.clear();
        let size = (&mut file)
            .take(LONGEST_LINE as u64)
            .read_until(b'\n', &mut line)?;
        if size == 0 {
            break;
        }
        number += 1;
        let ended = line.pop_if(|byte| *byte == b'\n').is_some();
        if !ended && line.len() >= LONGEST_LINE {
            page.bad_lines.push(BadLine {
                number,
                reason: format!("it is longer than {LONGEST_LINE} bytes"),
            });
            if !skip_line(&mut file)? {
                break;
            }
            continue;
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match seq_of(&line) {
            Some(seq) if seq <= after_seq => {
                page.bad_lines.clear();
                continue;
            }
            None if !ended => break,
            Some(_) | None => {}
        }
        if page.records.len() >= limit {
            page.more = true;
            page.bad_lines.truncate(told);
            break;
        }
        match serde_json::from_slice(&line) {
            Ok(record) => {
                page.records.push(record);
                told = page.bad_lines.len();
            }
            Err(error) => page.bad_lines.push(BadLine {
                number,
                reason: error.to_string(),
            }),
        }
    }
    if !page.bad_lines.is_empty() {
        let before = lines_before(&mut file, start)?;
        for bad in &mut page.bad_lines {
            bad.number += before;
        }
    }
    Ok(page)
}

/// Skips the rest of a line; whether its end was there.
fn skip_line(file: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let buffer = file.fill_buf()?;
        if buffer.is_empty() {
            return Ok(false);
        }
        let (used, found) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(newline) => (newline + 1, true),
            None => (buffer.len(), false),
        };
        file.consume(used);
        if found {
            return Ok(true);
        }
    }
}

/// Only counted when a person is told of a line.
fn lines_before(file: &mut (impl BufRead + Seek), place: u64) -> io::Result<u64> {
    file.seek(SeekFrom::Start(0))?;
    let mut left = place;
    let mut lines = 0;
    while left > 0 {
        let buffer = file.fill_buf()?;
        let used = buffer
            .len()
            .min(usize::try_from(left).unwrap_or(usize::MAX));
        if used == 0 {
            break;
        }
        let seen = buffer.get(..used).unwrap_or_default();
        lines += seen.iter().filter(|byte| **byte == b'\n').count() as u64;
        file.consume(used);
        left -= used as u64;
    }
    Ok(lines)
}
