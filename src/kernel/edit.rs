//! The edit tool: replacements found in a text and made there, all or none.
//!
//! A model's copy of a text drifts: line endings, trailing space, tabs, indentation. Each replacement is looked for as it
//! is first; then with endings, trailing space, and at last all white space ignored, line by line. Whatever the drift,
//! lines that the model did not change stay byte for byte, and new lines take the file's indentation and endings.
//! Nothing less than equal words is a match: a text that is only similar is shown, not edited.

mod find;
mod fit;
mod nearest;
mod patch;

use std::fmt;
use std::ops::Range;

use super::diff::{lines, split_ending};
use super::tool::Replacement;
use find::{Found, Search};

pub use fit::fit_endings;
pub use patch::{PatchRefusal, from_patch};

/// Lines of a text, for showing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// 1-based number of the first line.
    pub line: usize,
    /// Without endings.
    pub lines: Vec<String>,
}

/// Why nothing was changed. `index` counts the replacements from 0. Displayed for the model: what to do next is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditRefusal {
    /// There are no replacements.
    Nothing,
    /// The text to find is empty or blank.
    Blank { index: usize },
    /// The text to find and the text to put there are the same.
    Same { index: usize },
    /// The text is nowhere; `nearest` is what looks most like it.
    NoMatch { index: usize, nearest: Vec<Place> },
    /// The text is at several places; the first few are shown.
    Ambiguous {
        index: usize,
        times: usize,
        places: Vec<Place>,
    },
    /// Two replacements change the same lines.
    Overlap { first: usize, second: usize },
}

impl std::error::Error for EditRefusal {}

impl fmt::Display for EditRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("the edit has no replacements"),
            Self::Blank { index } => write!(
                f,
                "`old` of edit {} is blank; give the lines to replace as they are in the file",
                index + 1
            ),
            Self::Same { index } => {
                write!(f, "`old` and `new` of edit {} are the same", index + 1)
            }
            Self::NoMatch { index, nearest } => {
                write!(f, "`old` of edit {} is not in the file", index + 1)?;
                if nearest.is_empty() {
                    return f.write_str("; read the file and copy the lines from it");
                }
                f.write_str("; the nearest lines are:\n")?;
                show(f, nearest)
            }
            Self::Ambiguous {
                index,
                times,
                places,
            } => {
                writeln!(
                    f,
                    "`old` of edit {} is in the file {times} times; add lines around it until it is there once:",
                    index + 1
                )?;
                show(f, places)
            }
            Self::Overlap { first, second } => write!(
                f,
                "edits {} and {} change the same text; make them one edit",
                first + 1,
                second + 1
            ),
        }
    }
}

fn show(f: &mut fmt::Formatter<'_>, places: &[Place]) -> fmt::Result {
    for (n, place) in places.iter().enumerate() {
        if n > 0 {
            f.write_str("  …\n")?;
        }
        for (offset, line) in place.lines.iter().enumerate() {
            writeln!(f, "{:>6}\t{line}", place.line + offset)?;
        }
    }
    Ok(())
}

/// `text` with all `edits` made, each looked for in `text` as it is.
///
/// # Errors
/// The first replacement that is missing, ambiguous, blank or overlapping; `text` is then to be left as it is.
pub fn apply(text: &str, edits: &[Replacement]) -> Result<String, EditRefusal> {
    if edits.is_empty() {
        return Err(EditRefusal::Nothing);
    }
    let mut search = Search::new(text);
    let mut changes: Vec<Change> = Vec::with_capacity(edits.len());
    for (index, edit) in edits.iter().enumerate() {
        changes.push(locate(&mut search, index, edit)?);
    }
    changes.sort_by_key(|change| (change.bytes.start, change.bytes.end));
    for pair in changes.windows(2) {
        if let [a, b] = pair
            && (a.bytes.end > b.bytes.start || a.bytes == b.bytes)
        {
            return Err(EditRefusal::Overlap {
                first: a.index.min(b.index),
                second: a.index.max(b.index),
            });
        }
    }
    let mut made = String::with_capacity(text.len());
    let mut next = 0;
    for change in &changes {
        made.push_str(text.get(next..change.bytes.start).unwrap_or(""));
        made.push_str(&change.new);
        next = change.bytes.end;
    }
    made.push_str(text.get(next..).unwrap_or(""));
    Ok(made)
}

struct Change {
    index: usize,
    bytes: Range<usize>,
    new: String,
}

fn locate(search: &mut Search, index: usize, edit: &Replacement) -> Result<Change, EditRefusal> {
    if edit.old.trim().is_empty() {
        return Err(EditRefusal::Blank { index });
    }
    if edit.old == edit.new {
        return Err(EditRefusal::Same { index });
    }
    match search.find(&edit.old) {
        Found::Exact(bytes) => {
            let region = search.text.get(bytes.clone()).unwrap_or("");
            let ending = fit::ending_near(search.text, bytes.clone());
            Ok(Change {
                index,
                new: fit::fit_endings(region, &edit.new, ending),
                bytes,
            })
        }
        Found::Lines(range) => {
            let region = search.lines.get(range.clone()).unwrap_or_default();
            let start = search.offset(range.start);
            let mut end = search.offset(range.end);
            let last_ending = region.last().map_or("", |line| split_ending(line).1);
            let model_ends = !lines(&edit.old)
                .last()
                .is_some_and(|line| split_ending(line).1.is_empty());
            if !model_ends {
                end -= last_ending.len();
            }
            let ending = fit::ending_near(search.text, start..end);
            let mut new = fit::fit_region(&search.lines, range, edit, ending);
            if model_ends && last_ending.is_empty() {
                // The file's last line has no ending, and the edit is not about that.
                let kept = split_ending(&new).0.len();
                new.truncate(kept);
            }
            Ok(Change {
                index,
                bytes: start..end,
                new,
            })
        }
        Found::Several { times, places } => Err(EditRefusal::Ambiguous {
            index,
            times,
            places,
        }),
        Found::Nowhere => Err(EditRefusal::NoMatch {
            index,
            nearest: nearest::nearest(&search.lines, &edit.old),
        }),
    }
}

#[cfg(test)]
mod tests;
