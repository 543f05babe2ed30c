//! The read tool: numbered lines of what is there now.

use super::Workspace;
use crate::kernel::diff::{lines, split_ending};
use crate::kernel::file::{FileNow, Overlay, TextSource};
use crate::kernel::path::RelPath;
use crate::kernel::tool::{ReadFile, SeenFile, ToolOutput};

/// Lines shown when no number is given, and at most.
const LINES: usize = 2_000;
/// Letters shown at most; the rest is read by its range.
const CHARS: usize = 100_000;
/// Letters of one line.
const LINE_CHARS: usize = 2_000;

impl Workspace {
    /// Shows the model a file, or why it cannot be shown. What it was shown is in `seen`: the whole text, also when only
    /// a range of it is shown, because that is what its edits are held against.
    pub fn read(&self, args: &ReadFile, overlay: &Overlay) -> ToolOutput {
        let path = &args.path;
        let now = match self.inspect(path, overlay) {
            FileNow::Text(now) => now,
            FileNow::Absent { nearest } => return failed(absent(path, &nearest)),
            FileNow::Opaque { size, reason, .. } => {
                return failed(format!("{path} ({size} bytes) cannot be shown: {reason}"));
            }
            FileNow::Refused { reason } => {
                return failed(format!("{path} cannot be read: {reason}"));
            }
        };
        let all = lines(&now.text);
        let from = args.from_line.unwrap_or(1).max(1) as usize;
        if from > all.len().max(1) {
            return failed(format!("{path} has only {} lines", all.len()));
        }
        let wanted = args.lines.map_or(LINES, |lines| lines as usize).max(1);
        let (shown, count) = numbered(&all, from, wanted);
        let mut text = shown;
        let last = from - 1 + count;
        if all.is_empty() {
            text.push_str("(the file is empty)\n");
        } else if last < all.len() {
            text.push_str(&format!(
                "(lines {from} to {last} of {}; for more read with from_line = {})\n",
                all.len(),
                last + 1
            ));
        } else if all
            .last()
            .is_some_and(|line| split_ending(line).1.is_empty())
        {
            text.push_str("(no newline at the end of the file)\n");
        }
        if now.source == TextSource::UnsavedDocument {
            text.push_str("(this is unsaved text of the user's editor)\n");
        }
        ToolOutput {
            text,
            is_error: false,
            seen: Some(SeenFile {
                path: path.clone(),
                hash: now.hash,
                text: now.text,
            }),
        }
    }
}

pub(super) fn failed(text: String) -> ToolOutput {
    ToolOutput {
        text,
        is_error: true,
        seen: None,
    }
}

fn absent(path: &RelPath, nearest: &[RelPath]) -> String {
    let mut text = format!("{path} is not there");
    if !nearest.is_empty() {
        text.push_str("; the nearest names are:");
        for name in nearest {
            text.push_str(&format!("\n  {name}"));
        }
    }
    text
}

/// Lines with their numbers, and how many there are.
fn numbered(all: &[&str], from: usize, wanted: usize) -> (String, usize) {
    let mut text = String::new();
    let mut count = 0;
    for (offset, line) in all.iter().skip(from - 1).take(wanted).enumerate() {
        let body = split_ending(line).0;
        let row = format!("{:>6}\t{}\n", from + offset, shortened(body, LINE_CHARS));
        if count > 0 && text.len() + row.len() > CHARS {
            break;
        }
        text.push_str(&row);
        count += 1;
    }
    (text, count)
}

/// The start of a long line, with how much is missing.
pub(super) fn shortened(line: &str, most: usize) -> std::borrow::Cow<'_, str> {
    match line.char_indices().nth(most) {
        None => line.into(),
        Some((at, _)) => {
            let (shown, rest) = line.split_at(at);
            format!("{shown}… ({} more characters)", rest.chars().count()).into()
        }
    }
}
