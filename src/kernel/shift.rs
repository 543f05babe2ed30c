//! Keeps findings and questions on their text while the user types: edits before a range move it, edits inside a finding
//! hide it until the next check.

use ropey::Rope;

use super::document::{DocumentChange, PositionEncoding, char_index};
use super::finding::{Finding, Position, TextRange};
use super::path::RelPath;

/// A replacement of text, by places before and after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    pub start: Position,
    pub old_end: Position,
    pub new_end: Position,
}

/// Looks at the text before the change. `None`: nothing changes, or the change makes no sense.
pub fn of(before: &Rope, change: &DocumentChange, encoding: PositionEncoding) -> Option<Moved> {
    match change {
        DocumentChange::Whole { text } => by_replacing(before, text),
        DocumentChange::Range { start, end, text } => {
            let (from, to) = (
                char_index(before, *start, encoding),
                char_index(before, *end, encoding),
            );
            (from <= to && !(from == to && text.is_empty()))
                .then(|| moved(before, (from, to), text))
        }
    }
}

/// A whole new text replaces what lies between the common beginning and the common end.
fn by_replacing(before: &Rope, after: &str) -> Option<Moved> {
    let after = Rope::from_str(after);
    let shorter = before.len_chars().min(after.len_chars());
    let head = before
        .chars()
        .zip(after.chars())
        .take_while(|(old, new)| old == new)
        .count();
    let (mut old_end, mut new_end) = (before.len_chars(), after.len_chars());
    let mut old = before.chars_at(old_end);
    let mut new = after.chars_at(new_end);
    while old_end.min(new_end) > head && shorter > head && old.prev() == new.prev() {
        old_end -= 1;
        new_end -= 1;
    }
    let text = after.slice(head..new_end).to_string();
    (old_end > head || !text.is_empty()).then(|| moved(before, (head, old_end), &text))
}

fn moved(before: &Rope, (from, to): (usize, usize), text: &str) -> Moved {
    let start = position(before, from);
    let inserted = Rope::from_str(text);
    let last = position(&inserted, inserted.len_chars());
    Moved {
        start,
        old_end: position(before, to),
        new_end: offset(start, last),
    }
}

fn position(text: &Rope, at: usize) -> Position {
    let line = text.char_to_line(at);
    let before = text.slice(text.line_to_char(line)..at);
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Position {
        line: number(line),
        utf8: number(before.len_bytes()),
        utf16: number(before.len_utf16_cu()),
        utf32: number(before.len_chars()),
    }
}

/// `by` after `start`.
fn offset(start: Position, by: Position) -> Position {
    if by.line > 0 {
        return Position {
            line: start.line + by.line,
            ..by
        };
    }
    Position {
        line: start.line,
        utf8: start.utf8 + by.utf8,
        utf16: start.utf16 + by.utf16,
        utf32: start.utf32 + by.utf32,
    }
}

fn key(position: Position) -> (u32, u32) {
    (position.line, position.utf8)
}

/// The range after the change; `None` when the change is inside of it.
fn shifted(range: TextRange, moved: &Moved) -> Option<TextRange> {
    let (start, end) = (key(range.start), key(range.end));
    if key(moved.start) >= end && (start != end || key(moved.start) > end) {
        return Some(range);
    }
    if key(moved.old_end) > start {
        return None;
    }
    Some(TextRange {
        start: after(range.start, moved),
        end: after(range.end, moved),
    })
}

/// A position at or behind the change's old end.
fn after(position: Position, moved: &Moved) -> Position {
    let line = position.line - moved.old_end.line + moved.new_end.line;
    if position.line != moved.old_end.line {
        return Position { line, ..position };
    }
    let column = |at: u32, old: u32, new: u32| at.saturating_sub(old).saturating_add(new);
    Position {
        line,
        utf8: column(position.utf8, moved.old_end.utf8, moved.new_end.utf8),
        utf16: column(position.utf16, moved.old_end.utf16, moved.new_end.utf16),
        utf32: column(position.utf32, moved.old_end.utf32, moved.new_end.utf32),
    }
}

/// Moves the findings on `path`; those that the change touches go.
pub fn apply<'a>(lists: impl Iterator<Item = &'a mut Vec<Finding>>, path: &RelPath, moved: &Moved) {
    for list in lists {
        list.retain_mut(|finding| {
            let Some(place) = finding
                .place
                .as_mut()
                .filter(|place| place.file.workspace() == Some(path))
            else {
                return true;
            };
            match shifted(place.range, moved) {
                Some(range) => {
                    place.range = range;
                    true
                }
                None => false,
            }
        });
    }
}

/// Moves a question's range. Unlike a finding it stays when its text is changed: it is not answered by that.
pub fn question(range: &mut TextRange, moved: &Moved) {
    if let Some(shifted) = shifted(*range, moved) {
        *range = shifted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::document::ClientPosition;

    /// The range of `é漢` in the second line of the text, by column in UTF-16.
    fn range(line: u32, utf16: (u32, u32), utf8: (u32, u32)) -> TextRange {
        let at = |utf16, utf8| Position {
            line,
            utf8,
            utf16,
            utf32: utf16,
        };
        TextRange {
            start: at(utf16.0, utf8.0),
            end: at(utf16.1, utf8.1),
        }
    }

    #[test]
    fn ranges_stay_on_their_text() {
        let text = Rope::from_str("first\nab é漢 cd\nlast\n");
        let at = |line, column| ClientPosition { line, column };
        let insert = |position, text: &str| DocumentChange::Range {
            start: position,
            end: position,
            text: text.into(),
        };
        let whole = |text: &str| DocumentChange::Whole { text: text.into() };
        let here = range(1, (3, 5), (3, 8));
        let rows = [
            // Above, at the line's start, before it in the line, right before it.
            (insert(at(0, 5), "\nnew"), Some(range(2, (3, 5), (3, 8)))),
            (insert(at(1, 0), "\n"), Some(range(2, (3, 5), (3, 8)))),
            (insert(at(1, 2), "漢"), Some(range(1, (4, 6), (6, 11)))),
            (insert(at(1, 3), "x"), Some(range(1, (4, 6), (4, 9)))),
            (insert(at(1, 2), "\n"), Some(range(2, (1, 3), (1, 6)))),
            // Behind it in the line, and below.
            (insert(at(1, 5), " // c"), Some(here)),
            (insert(at(1, 8), " // c"), Some(here)),
            (insert(at(2, 0), "x"), Some(here)),
            // Inside.
            (insert(at(1, 4), "x"), None),
            (
                DocumentChange::Range {
                    start: at(1, 2),
                    end: at(1, 4),
                    text: String::new(),
                },
                None,
            ),
            (
                DocumentChange::Range {
                    start: at(0, 0),
                    end: at(1, 2),
                    text: "z".into(),
                },
                Some(range(0, (2, 4), (2, 7))),
            ),
            // The whole text anew.
            (
                whole("first\nsecond\nab é漢 cd\nlast\n"),
                Some(range(2, (3, 5), (3, 8))),
            ),
            (whole("first\nab é漢 cd\nLAST\n"), Some(here)),
            (whole("first\nab é字 cd\nlast\n"), None),
        ];
        for (change, want) in rows {
            let moved = of(&text, &change, PositionEncoding::Utf16).unwrap();
            assert_eq!(shifted(here, &moved), want, "{change:?}");
        }
        assert_eq!(
            of(
                &text,
                &whole("first\nab é漢 cd\nlast\n"),
                PositionEncoding::Utf16
            ),
            None
        );
    }
}
