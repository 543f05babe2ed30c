//! Differences between two texts: hunks that a human can take one by one, the smallest edits an editor has to make, and
//! unified patches.
//!
//! Promises: a line keeps its ending (`\n`, `\r\n` and a bare `\r` each end a line, as the editor protocol counts), so
//! applying all hunks gives the new text byte for byte; and the work is bounded by size, because there is no clock here:
//! the differences of very long texts are coarser, still correct ones.

mod coarse;

use similar::{Algorithm, DiffOp, TextDiff, capture_diff_slices};
use thiserror::Error;

use super::path::RelPath;
use super::question::Hunk;

/// Above this many items on both sides together, between the common ends, the finest differences would take too long.
const FINE_ITEMS: usize = 20_000;

/// Replace the bytes `start..end` of the old text by `new_text`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByteEdit {
    pub start: usize,
    pub end: usize,
    pub new_text: String,
}

/// Completes "failed to apply the hunks: ".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HunkMisfit {
    #[error("there is no hunk {0}")]
    Unknown(u32),
    #[error("the text at line {line} is no longer what hunk {id} replaces")]
    Changed {
        id: u32,
        /// 1-based.
        line: u32,
    },
}

/// The lines of a text, each with its ending. `""` has none.
pub fn lines(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        let ends = match byte {
            b'\n' => true,
            b'\r' => bytes.get(at) != Some(&b'\n'),
            _ => false,
        };
        if ends {
            found.extend(text.get(start..at));
            start = at;
        }
    }
    if start < text.len() {
        found.extend(text.get(start..));
    }
    found
}

/// A line's text and its ending.
pub fn split_ending(line: &str) -> (&str, &str) {
    let body = line
        .strip_suffix("\r\n")
        .or_else(|| line.strip_suffix('\n'))
        .or_else(|| line.strip_suffix('\r'))
        .unwrap_or(line);
    (body, line.get(body.len()..).unwrap_or(""))
}

/// Operations that turn `old` into `new`, touching ones joined.
pub(super) fn operations<T: Eq + std::hash::Hash + Ord>(old: &[T], new: &[T]) -> Vec<DiffOp> {
    let mut operations = Vec::new();
    let (mut old_at, mut new_at) = (0, 0);
    let end = (old.len()..old.len(), new.len()..new.len());
    for (from, to) in changed_ranges(old, new).into_iter().chain([end]) {
        if from.start > old_at {
            operations.push(DiffOp::Equal {
                old_index: old_at,
                new_index: new_at,
                len: from.start - old_at,
            });
        }
        let (old_index, old_len) = (from.start, from.len());
        let (new_index, new_len) = (to.start, to.len());
        operations.extend(match (old_len, new_len) {
            (0, 0) => None,
            (_, 0) => Some(DiffOp::Delete {
                old_index,
                old_len,
                new_index,
            }),
            (0, _) => Some(DiffOp::Insert {
                old_index,
                new_index,
                new_len,
            }),
            (_, _) => Some(DiffOp::Replace {
                old_index,
                old_len,
                new_index,
                new_len,
            }),
        });
        (old_at, new_at) = (from.end, to.end);
    }
    operations
}

/// How many lines were put there and how many were taken away. Copies no text, so that it is cheap for large files.
pub fn count_lines(old: &str, new: &str) -> Counted {
    let (old, new) = (lines(old), lines(new));
    let mut counted = Counted::default();
    for (from, to) in changed_ranges(&old, &new) {
        counted.removed += u32::try_from(from.len()).unwrap_or(u32::MAX);
        counted.added += u32::try_from(to.len()).unwrap_or(u32::MAX);
    }
    counted
}

/// Lines of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counted {
    pub added: u32,
    pub removed: u32,
}

/// Ranges `(old, new)` that differ, in order, never touching each other.
pub(super) fn changed_ranges<T: Eq + std::hash::Hash + Ord>(old: &[T], new: &[T]) -> Vec<Ranges> {
    if old.len() + new.len() <= FINE_ITEMS {
        return fine_ranges(old, new, 0, 0);
    }
    let head = coarse::equal_after(old, new);
    let (old, new) = (
        old.get(head..).unwrap_or_default(),
        new.get(head..).unwrap_or_default(),
    );
    let tail = coarse::equal_before(old, new);
    let old = old.get(..old.len() - tail).unwrap_or_default();
    let new = new.get(..new.len() - tail).unwrap_or_default();
    if old.len() + new.len() <= FINE_ITEMS {
        return fine_ranges(old, new, head, head);
    }
    let stretches = coarse::stretches(old, new);
    let gaps = coarse::gaps(&stretches, (old.len(), new.len()));
    // All gaps together may take as long as one text that is just fine.
    let mut left = FINE_ITEMS;
    let mut ranges = Vec::new();
    for (from, to) in gaps {
        let size = from.len() + to.len();
        let inside = old.get(from.clone()).zip(new.get(to.clone()));
        match inside.filter(|_| size <= left) {
            Some((inner_old, inner_new)) => {
                left -= size;
                let starts = (head + from.start, head + to.start);
                ranges.extend(fine_ranges(inner_old, inner_new, starts.0, starts.1));
            }
            None => ranges.push((
                head + from.start..head + from.end,
                head + to.start..head + to.end,
            )),
        }
    }
    ranges
}

/// A range of the old and the range of the new that takes its place.
type Ranges = (std::ops::Range<usize>, std::ops::Range<usize>);

/// The finest differences, of slices that begin at these places.
fn fine_ranges<T: Eq + std::hash::Hash + Ord>(
    old: &[T],
    new: &[T],
    old_start: usize,
    new_start: usize,
) -> Vec<Ranges> {
    let mut ranges: Vec<Ranges> = Vec::new();
    for operation in capture_diff_slices(Algorithm::Myers, old, new) {
        if matches!(operation, DiffOp::Equal { .. }) {
            continue;
        }
        let (from, to) = (operation.old_range(), operation.new_range());
        let from = old_start + from.start..old_start + from.end;
        let to = new_start + to.start..new_start + to.end;
        match ranges.last_mut() {
            Some((last_old, last_new))
                if last_old.end == from.start && last_new.end == to.start =>
            {
                last_old.end = from.end;
                last_new.end = to.end;
            }
            _ => ranges.push((from, to)),
        }
    }
    ranges
}

fn count(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn owned(lines: Option<&[&str]>) -> Vec<String> {
    lines
        .unwrap_or_default()
        .iter()
        .map(|line| (*line).to_owned())
        .collect()
}

/// The differences from `old` to `new`, in order, by whole lines with their endings.
pub fn hunks(old: &str, new: &str) -> Vec<Hunk> {
    let (old, new) = (lines(old), lines(new));
    changed_ranges(&old, &new)
        .into_iter()
        .enumerate()
        .map(|(id, (from, to))| Hunk {
            id: count(id),
            old_start: count(from.start),
            old_lines: count(from.len()),
            new_start: count(to.start),
            new_lines: count(to.len()),
            removed: owned(old.get(from)),
            added: owned(new.get(to)),
        })
        .collect()
}

/// `old` with those of `hunks` applied that `ids` names; the rest stays as it is.
///
/// # Errors
/// An id that is not in `hunks`, and a hunk whose removed lines are not in `old` at its place.
pub fn apply_hunks(old: &str, hunks: &[Hunk], ids: &[u32]) -> Result<String, HunkMisfit> {
    if let Some(unknown) = ids.iter().find(|id| !hunks.iter().any(|h| h.id == **id)) {
        return Err(HunkMisfit::Unknown(*unknown));
    }
    let old = lines(old);
    let mut text = String::new();
    let mut next = 0_usize;
    for hunk in hunks.iter().filter(|hunk| ids.contains(&hunk.id)) {
        let start = hunk.old_start as usize;
        let end = start + hunk.old_lines as usize;
        let misfit = HunkMisfit::Changed {
            id: hunk.id,
            line: hunk.old_start.saturating_add(1),
        };
        let (Some(kept), Some(replaced)) = (old.get(next..start), old.get(start..end)) else {
            return Err(misfit);
        };
        if replaced != hunk.removed {
            return Err(misfit);
        }
        text.extend(kept.iter().copied());
        text.extend(hunk.added.iter().map(String::as_str));
        next = end;
    }
    text.extend(old.get(next..).unwrap_or_default().iter().copied());
    Ok(text)
}

/// The smallest edits that turn `old` into `new`, in order, in bytes of `old`. No edit begins or ends inside a character
/// or between `\r` and `\n`: such a place has no position in the editor protocol.
pub fn minimal_edits(old: &str, new: &str) -> Vec<ByteEdit> {
    let (old_lines, new_lines) = (lines(old), lines(new));
    let old_at = offsets(&old_lines);
    let new_at = offsets(&new_lines);
    let at = |table: &[usize], line: usize| table.get(line).copied().unwrap_or_default();
    changed_ranges(&old_lines, &new_lines)
        .into_iter()
        .filter_map(|(from, to)| {
            let (start, end) = (at(&old_at, from.start), at(&old_at, from.end));
            let before = old.get(start..end)?;
            let after = new.get(at(&new_at, to.start)..at(&new_at, to.end))?;
            let (head, tail) = common_ends(before, after);
            Some(ByteEdit {
                start: start + head,
                end: end - tail,
                new_text: after.get(head..after.len() - tail)?.to_owned(),
            })
        })
        .collect()
}

/// Byte offset of each line's start, and of the end.
fn offsets(lines: &[&str]) -> Vec<usize> {
    let mut at = 0;
    let mut table = vec![0];
    for line in lines {
        at += line.len();
        table.push(at);
    }
    table
}

/// Lengths in bytes of the common start and the common end of two texts; they do not overlap.
fn common_ends(before: &str, after: &str) -> (usize, usize) {
    let mut head = before
        .char_indices()
        .zip(after.chars())
        .find(|((_, a), b)| a != b)
        .map_or(before.len().min(after.len()), |((at, _), _)| at);
    let splits_crlf = |text: &str, at: usize| {
        text.get(..at).is_some_and(|t| t.ends_with('\r'))
            && text.get(at..).is_some_and(|t| t.starts_with('\n'))
    };
    if splits_crlf(before, head) || splits_crlf(after, head) {
        head -= 1;
    }
    let (rest_before, rest_after) = (
        before.get(head..).unwrap_or(""),
        after.get(head..).unwrap_or(""),
    );
    let mut tail: usize = rest_before
        .chars()
        .rev()
        .zip(rest_after.chars().rev())
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a.len_utf8())
        .sum();
    if splits_crlf(before, before.len() - tail) || splits_crlf(after, after.len() - tail) {
        tail -= 1;
    }
    (head, tail)
}

/// A patch that `git apply` takes. `None` means that the file is not there: a creation or a deletion. Empty when the
/// texts are equal.
pub fn unified(path: &RelPath, old: Option<&str>, new: Option<&str>) -> String {
    if old == new {
        return String::new();
    }
    let (from, to) = (quoted(&format!("a/{path}")), quoted(&format!("b/{path}")));
    let mut patch = format!("diff --git {} {}\n", from.trim_end(), to.trim_end());
    if old.is_none() {
        patch.push_str("new file mode 100644\n");
    } else if new.is_none() {
        patch.push_str("deleted file mode 100644\n");
    }
    let (old_text, new_text) = (old.unwrap_or(""), new.unwrap_or(""));
    if old_text == new_text {
        return patch;
    }
    // A patch knows only `\n` as the end of a line, whatever an editor counts.
    let old_lines: Vec<&str> = old_text.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new_text.split_inclusive('\n').collect();
    let diff = TextDiff::configure()
        .newline_terminated(true)
        .diff_slices(&old_lines, &new_lines);
    let body = diff
        .unified_diff()
        .context_radius(3)
        .missing_newline_hint(true)
        .header(
            if old.is_none() { "/dev/null" } else { &from },
            if new.is_none() { "/dev/null" } else { &to },
        )
        .to_string();
    patch.push_str(&body);
    patch
}

/// A name as a patch spells it: quoted when it holds a quote, a backslash or a control character; followed by a tab
/// when it holds a space, so that nobody takes what follows for a date.
fn quoted(name: &str) -> String {
    if name
        .chars()
        .any(|c| c == '"' || c == '\\' || c.is_control())
    {
        let mut text = String::from("\"");
        for c in name.chars() {
            match c {
                '"' | '\\' => text.extend(['\\', c]),
                c if c.is_control() => {
                    let mut buffer = [0; 4];
                    for byte in c.encode_utf8(&mut buffer).bytes() {
                        text.push_str(&format!("\\{byte:03o}"));
                    }
                }
                c => text.push(c),
            }
        }
        text.push('"');
        return text;
    }
    if name.contains(' ') {
        return format!("{name}\t");
    }
    name.to_owned()
}

#[cfg(test)]
#[path = "diff/tests.rs"]
pub(crate) mod tests;
