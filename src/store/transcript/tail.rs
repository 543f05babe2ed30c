//! Looks at the end of a transcript, and only there: is its last line whole, and which number has its last record?

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use serde::Deserialize;

/// The first piece read from the end has this many bytes, each further one twice as many.
const PIECE: u64 = 64 * 1024;

/// What must be done before the next append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repair {
    None,
    /// The last line is whole but for its line end.
    AddLineEnd,
    /// The last line was cut off; the file is whole up to here.
    Cut {
        whole: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    pub repair: Repair,
    pub last_seq: Option<u64>,
}

/// All that is read of a line to know its place.
#[derive(Deserialize)]
struct Numbered {
    seq: u64,
}

/// The number of a line that is a whole record. An object is whole or not: it ends with its brace.
pub fn seq_of(line: &[u8]) -> Option<u64> {
    serde_json::from_slice::<Numbered>(line)
        .ok()
        .map(|line| line.seq)
}

/// Reads back from the end until a whole record was found.
pub fn look(mut file: &File, length: u64) -> io::Result<End> {
    let mut start = length;
    let mut size = PIECE;
    // The file from `start` on, up to the end of the line that is looked at.
    let mut text: Vec<u8> = Vec::new();
    let mut repair = None;
    loop {
        while let Some(newline) = text.iter().rposition(|byte| *byte == b'\n') {
            let line = text.get(newline + 1..).unwrap_or_default();
            let whole = start + newline as u64 + 1;
            if let Some(end) = judge(line, whole, &mut repair) {
                return Ok(end);
            }
            text.truncate(newline);
        }
        if start == 0 {
            let end = judge(&text, 0, &mut repair);
            return Ok(end.unwrap_or(End {
                repair: repair.unwrap_or(Repair::None),
                last_seq: None,
            }));
        }
        let from = start.saturating_sub(size);
        size = size.saturating_mul(2);
        let mut piece = vec![0; usize::try_from(start - from).unwrap_or_default()];
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(&mut piece)?;
        piece.append(&mut text);
        text = piece;
        start = from;
    }
}

/// Judges one line, the last one first. The first judged is the only one without a line end.
fn judge(line: &[u8], starts_at: u64, repair: &mut Option<Repair>) -> Option<End> {
    let seq = seq_of(line);
    let repair = *repair.get_or_insert(match (line.is_empty(), seq) {
        (true, _) => Repair::None,
        (false, Some(_)) => Repair::AddLineEnd,
        (false, None) => Repair::Cut { whole: starts_at },
    });
    seq.map(|seq| End {
        repair,
        last_seq: Some(seq),
    })
}
