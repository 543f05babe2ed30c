//! Keeps findings on their text while the user types: edits above shift them, edits of their lines hide them until the next check.

use ropey::Rope;

use super::document::DocumentChange;
use super::finding::{Finding, TextRange};
use super::path::RelPath;

/// What a change does to lines: those from `first` to `last` (0-based, inclusive) are touched, later ones move by `by`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    pub first: u32,
    pub last: u32,
    pub by: i64,
}

/// Looks at the text before the change.
pub fn of(before: &Rope, change: &DocumentChange) -> Moved {
    match change {
        DocumentChange::Whole { text } => moved_by_replacing(before, text),
        DocumentChange::Range { start, end, text } => {
            let removed = i64::from(end.line) - i64::from(start.line);
            Moved {
                first: start.line,
                last: end.line,
                by: line_breaks(text) - removed,
            }
        }
    }
}

/// A whole new text touches what lies between the common first and the common last lines.
fn moved_by_replacing(before: &Rope, after: &str) -> Moved {
    let after = Rope::from_str(after);
    let (old, new) = (before.len_lines(), after.len_lines());
    let shorter = old.min(new);
    let head = (0..shorter)
        .take_while(|line| before.line(*line) == after.line(*line))
        .count();
    let tail = (1..=shorter - head)
        .take_while(|back| before.line(old - back) == after.line(new - back))
        .count();
    let to_u32 = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let by = i64::try_from(new).unwrap_or_default() - i64::try_from(old).unwrap_or_default();
    if head + tail >= old.max(1) && by == 0 {
        // Nothing changed.
        return Moved {
            first: u32::MAX,
            last: u32::MAX,
            by: 0,
        };
    }
    Moved {
        first: to_u32(head),
        last: to_u32((old - tail).saturating_sub(1).max(head)),
        by,
    }
}

fn line_breaks(text: &str) -> i64 {
    let lines = Rope::from_str(text).len_lines();
    i64::try_from(lines).unwrap_or(i64::MAX) - 1
}

/// Moves the findings on `path`; those on touched lines go.
pub fn apply<'a>(lists: impl Iterator<Item = &'a mut Vec<Finding>>, path: &RelPath, moved: Moved) {
    for list in lists {
        list.retain_mut(|finding| {
            let Some(place) = finding
                .place
                .as_mut()
                .filter(|place| place.file.workspace() == Some(path))
            else {
                return true;
            };
            if place.range.end.line < moved.first {
                return true;
            }
            if place.range.start.line <= moved.last {
                return false;
            }
            move_range(&mut place.range, moved.by);
            true
        });
    }
}

fn move_range(range: &mut TextRange, by: i64) {
    for position in [&mut range.start, &mut range.end] {
        position.line = u32::try_from((i64::from(position.line) + by).max(0)).unwrap_or(u32::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::document::ClientPosition;

    #[test]
    fn changes_touch_lines_and_move_the_rest() {
        let text = Rope::from_str("a\nb\nc\nd\n");
        let at = |line, column| ClientPosition { line, column };
        let range = |start, end, text: &str| DocumentChange::Range {
            start,
            end,
            text: text.into(),
        };
        let whole = |text: &str| DocumentChange::Whole { text: text.into() };
        let rows = [
            (
                range(at(1, 0), at(1, 0), "x\ny\n"),
                Moved {
                    first: 1,
                    last: 1,
                    by: 2,
                },
            ),
            (
                range(at(0, 1), at(2, 0), ""),
                Moved {
                    first: 0,
                    last: 2,
                    by: -2,
                },
            ),
            (
                whole("a\nnew\nb\nc\nd\n"),
                Moved {
                    first: 1,
                    last: 1,
                    by: 1,
                },
            ),
            (
                whole("a\nb\nX\nd\n"),
                Moved {
                    first: 2,
                    last: 2,
                    by: 0,
                },
            ),
            (
                whole("a\nb\nc\nd\n"),
                Moved {
                    first: u32::MAX,
                    last: u32::MAX,
                    by: 0,
                },
            ),
        ];
        for (change, want) in rows {
            assert_eq!(of(&text, &change), want, "{change:?}");
        }
    }
}
