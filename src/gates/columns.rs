//! How a tool counts lines and columns, as data, and the way from its numbers to byte offsets.
//!
//! Every tool counts differently (measured, not believed: several contradict their own documentation). A [`Columns`] says
//! how; [`Columns::offset`] is the only place where a tool's number becomes an offset.

use unicode_width::UnicodeWidthChar;

use super::text::{Counted, Glyph, LineRule, SourceText, glyphs};

/// What one column is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    Bytes,
    CodePoints,
    Utf16,
    /// Code points, with tabs up to the next multiple.
    Tabbed(u8),
    /// Cells of a terminal: wide characters count 2, combining ones 0, tabs as stated.
    Display(Tab),
}

/// What a tab counts in display columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tab {
    /// The same everywhere: rustc counts every tab as 4 in panic locations.
    Fixed(u8),
    /// Up to the next multiple.
    Stops(u8),
}

/// Which character an end column names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// The first one after the range.
    Exclusive,
    /// The last one of the range.
    Inclusive,
}

/// How one tool counts. Build with [`Columns::new`] and the `const` setters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Columns {
    /// Number of the first line.
    pub first_line: i64,
    /// Number of the first column.
    pub first_column: i64,
    pub unit: Unit,
    pub end: End,
    /// What the tool adds to columns of line one in a file with a BOM.
    pub bom: i64,
    pub lines: LineRule,
}

impl Columns {
    /// Lines and columns from 1, exclusive ends, BOM not counted, lines end as in the editor.
    pub const fn new(unit: Unit) -> Self {
        Self {
            first_line: 1,
            first_column: 1,
            unit,
            end: End::Exclusive,
            bom: 0,
            lines: LineRule::Universal,
        }
    }

    #[must_use]
    pub const fn column_from(mut self, first: i64) -> Self {
        self.first_column = first;
        self
    }

    #[must_use]
    pub const fn line_from(mut self, first: i64) -> Self {
        self.first_line = first;
        self
    }

    #[must_use]
    pub const fn inclusive(mut self) -> Self {
        self.end = End::Inclusive;
        self
    }

    #[must_use]
    pub const fn bom_counts(mut self, columns: i64) -> Self {
        self.bom = columns;
        self
    }

    #[must_use]
    pub const fn lines(mut self, rule: LineRule) -> Self {
        self.lines = rule;
        self
    }

    #[must_use]
    pub const fn unit(mut self, unit: Unit) -> Self {
        self.unit = unit;
        self
    }

    /// The 0-based line of `text` that the tool calls `line`; past the end is the last line.
    pub fn line_index(&self, text: &SourceText, line: i64) -> usize {
        let index = usize::try_from(line.saturating_sub(self.first_line)).unwrap_or(0);
        if text.line(self.lines, index).is_some() {
            index
        } else {
            text.line_of(self.lines, text.body().len())
        }
    }

    /// Offset of the character that the tool calls (`line`, `column`). Numbers outside are moved to the line's start or
    /// end, a line past the end to the end of the text, a column inside a character to its start.
    pub fn offset(&self, text: &SourceText, line: i64, column: i64) -> usize {
        let index = usize::try_from(line.saturating_sub(self.first_line)).unwrap_or(0);
        let Some(span) = text.line(self.lines, index) else {
            return text.body().len();
        };
        let target = self.column_index(text, index, column);
        let at = match self.unit {
            Unit::Bytes => text.floor(span.start.saturating_add(target)),
            Unit::CodePoints => text.advance(span.start, Counted::CodePoints, target),
            Unit::Utf16 => text.advance(span.start, Counted::Utf16, target),
            Unit::Tabbed(_) | Unit::Display(_) => {
                span.start + offset_in_line(text.slice_bytes(span.clone()), self.unit, target)
            }
        };
        at.min(span.end)
    }

    /// Offset after the last character of a range whose end the tool calls (`line`, `column`).
    pub fn end_offset(&self, text: &SourceText, line: i64, column: i64) -> usize {
        let at = self.offset(text, line, column);
        match self.end {
            End::Exclusive => at,
            End::Inclusive => {
                let index = self.line_index(text, line);
                let end = text.line(self.lines, index).map_or(at, |span| span.end);
                let rest = text.slice_bytes(at..end.max(at));
                at + glyphs(rest).next().map_or(0, |glyph| glyph.len)
            }
        }
    }

    fn column_index(&self, text: &SourceText, line: usize, column: i64) -> usize {
        let shift = if line == 0 && text.bom_len() > 0 {
            self.bom
        } else {
            0
        };
        let index = column
            .saturating_sub(self.first_column)
            .saturating_sub(shift);
        usize::try_from(index).unwrap_or(0)
    }
}

/// Offset in `line` of the character at `target` units, 0-based; the line's end when it is shorter.
pub fn offset_in_line(line: &[u8], unit: Unit, target: usize) -> usize {
    let mut at = 0;
    for glyph in glyphs(line) {
        let next = at + width(unit, glyph, at);
        // A character without width belongs to the one before it, as it is drawn there.
        if next > target {
            return glyph.offset;
        }
        at = next;
    }
    line.len()
}

/// How many units stand before `offset` in `line`.
pub fn column_in_line(line: &[u8], unit: Unit, offset: usize) -> usize {
    let mut at = 0;
    for glyph in glyphs(line) {
        if glyph.offset >= offset {
            break;
        }
        at += width(unit, glyph, at);
    }
    at
}

fn width(unit: Unit, glyph: Glyph, at: usize) -> usize {
    match unit {
        Unit::Bytes => glyph.len,
        Unit::CodePoints => 1,
        Unit::Utf16 => glyph.char.len_utf16(),
        Unit::Tabbed(every) if glyph.char == '\t' => to_next_stop(every, at),
        Unit::Tabbed(_) => 1,
        Unit::Display(tab) if glyph.char == '\t' => match tab {
            Tab::Fixed(cells) => usize::from(cells),
            Tab::Stops(every) => to_next_stop(every, at),
        },
        Unit::Display(_) => glyph.char.width().unwrap_or(1),
    }
}

fn to_next_stop(every: u8, at: usize) -> usize {
    let every = usize::from(every.max(1));
    every - at % every
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_finds_the_same_character() {
        let text = SourceText::new("\ta\té漢😀x\n".as_bytes().to_vec());
        // The x stands after TAB a TAB é 漢 😀.
        let want = "\ta\té漢😀".len();
        for (unit, column) in [
            (Unit::Bytes, 13),
            (Unit::CodePoints, 7),
            (Unit::Utf16, 8),
            (Unit::Display(Tab::Fixed(4)), 15),
            (Unit::Display(Tab::Fixed(1)), 9),
            (Unit::Display(Tab::Stops(8)), 22),
            (Unit::Tabbed(8), 20),
        ] {
            let columns = Columns::new(unit);
            assert_eq!(columns.offset(&text, 1, column), want, "{unit:?}");
            assert_eq!(
                columns.column_from(0).offset(&text, 1, column - 1),
                want,
                "{unit:?}"
            );
            let line = text.slice_bytes(0..text.body().len() - 1);
            assert_eq!(
                i64::try_from(column_in_line(line, unit, want) + 1),
                Ok(column)
            );
        }
    }

    #[test]
    fn bom_and_ends() {
        let text = SourceText::new("\u{feff}ab\r\nab".as_bytes().to_vec());
        let columns = Columns::new(Unit::Bytes).bom_counts(3).inclusive();
        assert_eq!(columns.offset(&text, 1, 5), 1, "line one is shifted");
        assert_eq!(columns.offset(&text, 2, 2), 5, "line two is not");
        assert_eq!(columns.end_offset(&text, 1, 4), 1);
        assert_eq!(columns.end_offset(&text, 2, 2), 6);
    }

    #[test]
    fn numbers_outside_stay_inside() {
        let text = SourceText::new("é\r\nb\n".as_bytes().to_vec());
        let columns = Columns::new(Unit::CodePoints);
        for (line, column, want) in [
            (0, 0, 0),
            (1, -5, 0),
            (i64::MIN, i64::MIN, 0),
            (1, 9, 2), // before CR
            (2, 9, 5),
            (3, 1, 6),
            (4, 1, 6),
            (i64::MAX, i64::MAX, 6),
        ] {
            assert_eq!(columns.offset(&text, line, column), want, "{line}:{column}");
        }
    }

    #[test]
    fn combining_marks_take_no_cell() {
        let line = "e\u{301}x".as_bytes();
        let unit = Unit::Display(Tab::Fixed(4));
        assert_eq!(offset_in_line(line, unit, 1), 3);
        assert_eq!(offset_in_line(line, unit, 0), 0);
    }
}
