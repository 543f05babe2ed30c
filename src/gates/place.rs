//! From a tool's numbers to a [`Place`]: the range policy.
//!
//! Exact when the tool gives both ends; from a start to the end of the token there; from a line to its non-blank part; from
//! a file to its first character. Never negative, never past the end of a line, never inside a character.

use super::columns::{Columns, Unit};
use super::locate::Named;
use super::text::{LineRule, SourceText, glyphs, narrow};
use crate::kernel::finding::{Place, Position, RangeKind, TextRange};

/// Where something is in a file, in the tool's own numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// Line and column of the start and of the end.
    Exact {
        start: (i64, i64),
        end: (i64, i64),
    },
    /// Line and column of the start.
    Start(i64, i64),
    Line(i64),
    /// Byte offsets in the text without BOM.
    Bytes(usize, usize),
    /// UTF-16 offsets in the text without BOM.
    Utf16(usize, usize),
    File,
}

impl Span {
    /// What is known of a span, from numbers that may be absent. Zero and negative lines mean no line.
    pub fn from_numbers(
        start: (Option<i64>, Option<i64>),
        end: (Option<i64>, Option<i64>),
    ) -> Self {
        match (start, end) {
            ((Some(line), Some(column)), (end_line, Some(end_column))) => Self::Exact {
                start: (line, column),
                end: (end_line.unwrap_or(line), end_column),
            },
            ((Some(line), Some(column)), _) => Self::Start(line, column),
            ((Some(line), None), _) => Self::Line(line),
            ((None, _), _) => Self::File,
        }
    }
}

/// The place of `span` in `named`.
pub fn place(named: &Named, columns: &Columns, span: Span) -> Place {
    let Some(text) = &named.text else {
        return unread(named, columns, span);
    };
    let (start, end, kind) = offsets(text, columns, span);
    Place {
        file: named.file.clone(),
        range: text.range(start, end),
        kind,
        bytes: (narrow(start), narrow(end)),
        hash: Some(text.hash().clone()),
        cell: None,
        line_text: text.line_text(start),
        around: Vec::new(),
    }
}

/// Byte offsets of `span`, start before end.
pub fn offsets(text: &SourceText, columns: &Columns, span: Span) -> (usize, usize, RangeKind) {
    match span {
        Span::Exact { start, end } => {
            let from = columns.offset(text, start.0, start.1);
            let to = columns.end_offset(text, end.0, end.1);
            if to < from || end < start {
                (from, token_end(text, from), RangeKind::Token)
            } else {
                (from, to, RangeKind::Exact)
            }
        }
        Span::Start(line, column) => {
            let from = columns.offset(text, line, column);
            (from, token_end(text, from), RangeKind::Token)
        }
        Span::Line(line) => {
            let (from, to) = non_blank(text, columns.lines, columns.line_index(text, line));
            (from, to, RangeKind::Line)
        }
        Span::Bytes(from, to) => {
            let from = text.floor(from);
            (from, text.floor(to.max(from)), RangeKind::Exact)
        }
        Span::Utf16(from, to) => {
            let from = text.offset_of_utf16_index(from);
            (
                from,
                text.offset_of_utf16_index(to).max(from),
                RangeKind::Exact,
            )
        }
        Span::File => (0, 0, RangeKind::File),
    }
}

/// From the first to the last character of a line that is no white space; an empty line has an empty range.
pub fn non_blank(text: &SourceText, rule: LineRule, line: usize) -> (usize, usize) {
    let Some(span) = text.line(rule, line) else {
        return (text.body().len(), text.body().len());
    };
    let mut first = None;
    let mut last = span.start;
    for glyph in glyphs(text.slice_bytes(span.clone())) {
        if !glyph.char.is_whitespace() {
            let at = span.start + glyph.offset;
            first.get_or_insert(at);
            last = at + glyph.len;
        }
    }
    match first {
        Some(first) => (first, last),
        None => (span.start, span.start),
    }
}

/// The end of the identifier, number or string that begins at `start`, else of the one character there. Does not leave
/// the line.
pub fn token_end(text: &SourceText, start: usize) -> usize {
    let line = text.line_of(LineRule::Universal, start);
    let end = text
        .line(LineRule::Universal, line)
        .map_or(start, |span| span.end);
    let rest = text.slice_bytes(start..end.max(start));
    start + token_len(rest)
}

fn token_len(rest: &[u8]) -> usize {
    let mut characters = glyphs(rest).peekable();
    let Some(first) = characters.next() else {
        return 0;
    };
    let while_true = |accept: &dyn Fn(char) -> bool| {
        glyphs(rest)
            .skip(1)
            .take_while(|glyph| accept(glyph.char))
            .last()
            .map_or(first.len, |glyph| glyph.offset + glyph.len)
    };
    match first.char {
        c if c.is_ascii_digit() => number_len(rest),
        c if is_name(c) => while_true(&is_name),
        quote @ ('"' | '\'' | '`') => {
            let mut escaped = false;
            for glyph in characters {
                match glyph.char {
                    _ if escaped => escaped = false,
                    '\\' => escaped = true,
                    c if c == quote => return glyph.offset + glyph.len,
                    _ => {}
                }
            }
            first.len
        }
        _ => first.len,
    }
}

fn number_len(rest: &[u8]) -> usize {
    let digits = |from: usize| {
        rest.get(from..)
            .unwrap_or_default()
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
            .count()
    };
    let whole = digits(0);
    let fraction = match (rest.get(whole), rest.get(whole + 1)) {
        (Some(b'.'), Some(next)) if next.is_ascii_digit() => 1 + digits(whole + 1),
        _ => 0,
    };
    whole + fraction
}

fn is_name(c: char) -> bool {
    c == '_' || c == '$' || c.is_alphanumeric()
}

/// Without the text only the tool's numbers are left; they are shown as they are.
fn unread(named: &Named, columns: &Columns, span: Span) -> Place {
    let point = |(line, column): (i64, i64)| {
        let line = u32::try_from(line.saturating_sub(columns.first_line)).unwrap_or(0);
        let column = u32::try_from(column.saturating_sub(columns.first_column)).unwrap_or(0);
        Position {
            line,
            utf8: column,
            utf16: column,
            utf32: column,
        }
    };
    let (start, end, kind) = match span {
        Span::Exact { start, end } => (start, end, RangeKind::Exact),
        Span::Start(line, column) => ((line, column), (line, column), RangeKind::Token),
        Span::Line(line) => {
            let start = (line, columns.first_column);
            (start, start, RangeKind::Line)
        }
        Span::Bytes(..) | Span::Utf16(..) | Span::File => {
            let start = (columns.first_line, columns.first_column);
            (start, start, RangeKind::File)
        }
    };
    let (start, end) = (point(start), point(end));
    Place {
        file: named.file.clone(),
        range: TextRange {
            start,
            end: end.max(start),
        },
        kind,
        bytes: (0, 0),
        hash: None,
        cell: None,
        line_text: String::new(),
        around: Vec::new(),
    }
}

/// The names a message quotes: in `"…"`, `'…'`, `` `…` `` or ‘…’.
pub fn quoted_names(message: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = message;
    while let Some((at, open)) = rest
        .char_indices()
        .find(|(_, c)| matches!(c, '"' | '\'' | '`' | '‘' | '“'))
    {
        let close = match open {
            '‘' => '’',
            '“' => '”',
            same => same,
        };
        let after = rest.get(at + open.len_utf8()..).unwrap_or_default();
        let Some(length) = after.find(close) else {
            rest = after;
            continue;
        };
        if let Some(name) = after.get(..length).filter(|name| !name.is_empty()) {
            names.push(name);
        }
        rest = after.get(length + close.len_utf8()..).unwrap_or_default();
    }
    names
}

/// The safety net for tools whose units nobody measured: when the message quotes a name that is not at the range, the line
/// is not ASCII, and another reading of the column finds it there (or it occurs only once in the line), that is the place.
///
/// Never for a tool whose profile was measured: a message may well quote a type that also occurs elsewhere in the line.
pub fn checked(named: &Named, columns: &Columns, span: Span, message: &str) -> Place {
    let first = place(named, columns, span);
    let (Some(text), Some((line, column))) = (&named.text, start_of(span)) else {
        return first;
    };
    let Some(bytes) = text.line(columns.lines, columns.line_index(text, line)) else {
        return first;
    };
    let content = text.slice_bytes(bytes.clone());
    if content.is_ascii() {
        return first;
    }
    let names = quoted_names(message);
    let starts_at = |offset: usize, name: &str| {
        text.body()
            .get(offset..)
            .unwrap_or_default()
            .starts_with(name.as_bytes())
    };
    let now = first.bytes.0 as usize;
    if names.is_empty() || names.iter().any(|name| starts_at(now, name)) {
        return first;
    }
    for unit in [Unit::Bytes, Unit::CodePoints, Unit::Utf16] {
        let other = columns.unit(unit);
        let at = other.offset(text, line, column);
        if let Some(name) = names.iter().find(|name| starts_at(at, name)) {
            return place(named, columns, Span::Bytes(at, at + name.len()));
        }
    }
    let line_text = String::from_utf8_lossy(content);
    for name in names {
        let mut hits = line_text.match_indices(name);
        if let (Some((at, _)), None) = (hits.next(), hits.next())
            && line_text.len() == content.len()
        {
            let at = bytes.start + at;
            return place(named, columns, Span::Bytes(at, at + name.len()));
        }
    }
    first
}

fn start_of(span: Span) -> Option<(i64, i64)> {
    match span {
        Span::Exact { start, .. } => Some(start),
        Span::Start(line, column) => Some((line, column)),
        Span::Line(_) | Span::Bytes(..) | Span::Utf16(..) | Span::File => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::finding::SourceFile;

    fn named(text: &str) -> Named {
        Named {
            file: SourceFile::Outside("/x".to_owned()),
            absolute: "/x".to_owned(),
            text: Some(SourceText::new(text.as_bytes().to_vec())),
        }
    }

    #[test]
    fn tokens_end_where_people_see_them_end() {
        for (text, want) in [
            ("name+1", "name"),
            ("größe_2 x", "größe_2"),
            ("12.5e3+x", "12.5e3"),
            ("1..2", "1"),
            ("1.foo", "1"),
            ("0xFF)", "0xFF"),
            (r#""a\"b" c"#, r#""a\"b""#),
            ("'open", "'"),
            ("(x)", "("),
            ("😀x", "😀"),
            ("", ""),
        ] {
            let text = SourceText::new(text.as_bytes().to_vec());
            assert_eq!(text.slice(0..token_end(&text, 0)), want);
        }
    }

    #[test]
    fn the_range_policy() {
        let named = named("a = 'é'; bad\r\n\t x y  \r\n");
        let columns = Columns::new(Unit::CodePoints);
        let at = |span| {
            let place = place(&named, &columns, span);
            let text = named.text.as_ref().unwrap();
            let bytes = place.bytes.0 as usize..place.bytes.1 as usize;
            (text.slice(bytes).into_owned(), place.kind)
        };
        use RangeKind::{Exact, File, Line, Token};
        for (span, want, kind) in [
            (
                Span::Exact {
                    start: (1, 10),
                    end: (1, 13),
                },
                "bad",
                Exact,
            ),
            (
                Span::Exact {
                    start: (1, 10),
                    end: (1, 2),
                },
                "bad",
                Token,
            ),
            (
                Span::Exact {
                    start: (1, 99),
                    end: (1, 999),
                },
                "",
                Exact,
            ),
            (Span::Start(1, 10), "bad", Token),
            (Span::Line(2), "x y", Line),
            (Span::Line(3), "", Line),
            (Span::Line(77), "", Line),
            (Span::File, "", File),
            (Span::Bytes(5, 7), "é", Exact),
            (Span::Bytes(6, 7), "é", Exact),
            (Span::Utf16(5, 6), "é", Exact),
        ] {
            assert_eq!(at(span), (want.to_owned(), kind), "{span:?}");
        }
    }

    #[test]
    fn quoted_names_are_found() {
        assert_eq!(
            quoted_names("a \"b c\" ‘d’ `e` 'f' it's"),
            ["b c", "d", "e", "f"]
        );
    }

    #[test]
    fn wrong_units_are_noticed_by_the_quoted_name() {
        let named = named("s = '漢😀'; bad = bad2 + one\n");
        let columns = Columns::new(Unit::Utf16);
        let at = |column, message: &str| {
            let place = checked(&named, &columns, Span::Start(1, column), message);
            (place.range.start.utf16, place.range.end.utf16)
        };
        assert_eq!(at(12, "undefined `bad`"), (11, 14), "already right");
        assert_eq!(at(16, "undefined `bad`"), (11, 14), "bytes");
        assert_eq!(at(11, "undefined `bad`"), (11, 14), "code points");
        assert_eq!(at(3, "undefined `one`"), (24, 27), "it occurs once");
        assert_eq!(at(3, "undefined `bad`"), (2, 3), "it occurs twice");
        assert_eq!(at(3, "no name"), (2, 3));
    }
}
