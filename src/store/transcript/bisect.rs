//! Finds a record by its number without reading the file: numbers grow along the file.

use std::io::{self, BufRead, Seek, SeekFrom};

use super::tail::seq_of;

/// Closer than this, reading on is cheaper than looking again.
const CLOSE: u64 = 64 * 1024;

/// A place at the start of a line such that no record before it has a number above `after`, and few after it one below.
pub fn place_of<R: BufRead + Seek>(file: &mut R, length: u64, after: u64) -> io::Result<u64> {
    let mut low = 0;
    let mut high = length;
    while high.saturating_sub(low) > CLOSE {
        let middle = low + (high - low) / 2;
        match first_record_from(file, middle, high)? {
            Some((start, seq)) if seq <= after => low = start,
            _ => high = middle,
        }
    }
    Ok(low)
}

/// The first whole record that starts at or after the first line end from `from` on, and before `to`.
fn first_record_from<R: BufRead + Seek>(
    file: &mut R,
    from: u64,
    to: u64,
) -> io::Result<Option<(u64, u64)>> {
    file.seek(SeekFrom::Start(from))?;
    let mut line = Vec::new();
    let mut place = from + file.read_until(b'\n', &mut line)? as u64;
    while place < to {
        line.clear();
        let length = file.read_until(b'\n', &mut line)? as u64;
        if length == 0 {
            break;
        }
        if let Some(seq) = seq_of(&line) {
            return Ok(Some((place, seq)));
        }
        place += length;
    }
    Ok(None)
}
