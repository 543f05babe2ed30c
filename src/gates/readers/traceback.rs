//! Tracebacks as pytest prints them, `--tb=short` and long, with the carets of Python 3.11 and later.
//!
//! Carets count code points from the line without its indentation, behind four spaces.

use crate::gates::columns::{Columns, Unit};
use crate::gates::locate::Named;
use crate::gates::place::{Span, place};
use crate::gates::reading::Reading;
use crate::gates::text::LineRule;
use crate::kernel::finding::{Place, RangeKind, Related};

const COLUMNS: Columns = Columns::new(Unit::CodePoints);
/// What stands before a line of code.
const INDENT: usize = 4;

/// One failure's text, taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Traceback<'t> {
    /// Outermost first; frames of an exception that led to this one come before all others.
    pub frames: Vec<Frame<'t>>,
    /// The name of the exception, when the text begins with one.
    pub kind: Option<&'t str>,
    pub message: String,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Frame<'t> {
    pub file: &'t str,
    pub line: i64,
    /// First and last column under the carets, 0-based in the printed line without its four spaces.
    pub carets: Option<(usize, usize)>,
}

/// Reads the text of one failure.
pub fn parse(text: &str) -> Traceback<'_> {
    let mut traceback = Traceback::default();
    let mut message: Vec<&str> = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("E  ") {
            // Three spaces after the E, fewer when a line is empty.
            message.push(rest.strip_prefix(' ').unwrap_or(rest));
            continue;
        }
        if line.ends_with("another exception occurred:")
            || line.ends_with("direct cause of the following exception:")
        {
            message.clear();
            continue;
        }
        if let Some(frame) = frame(line) {
            traceback.frames.push(frame);
            continue;
        }
        if let Some(carets) = carets(line)
            && let Some(last) = traceback.frames.last_mut()
        {
            last.carets.get_or_insert(carets);
        }
    }
    // A syntax error has its own place, among the message's lines.
    syntax_frame(&message, &mut traceback);
    // The long style indents the message as deep as the code.
    let indent = message
        .first()
        .map_or(0, |first| first.len() - first.trim_start().len());
    for line in &mut message {
        let spaces = line.len() - line.trim_start().len();
        *line = line.get(spaces.min(indent)..).unwrap_or(line);
    }
    let first = message.first().copied().unwrap_or_default();
    match kind_of(first) {
        Some((kind, rest)) => {
            traceback.kind = Some(kind);
            traceback.message = std::iter::once(rest)
                .chain(message.iter().skip(1).copied())
                .collect::<Vec<_>>()
                .join("\n");
        }
        None => traceback.message = message.join("\n"),
    }
    traceback
}

/// `path:line: in name`, `path:line: Kind`, `path:line:`.
fn frame(line: &str) -> Option<Frame<'_>> {
    if line.starts_with([' ', '>', '_', '=', '-']) {
        return None;
    }
    let head = super::lines::head(line)?;
    let is_frame = head.rest.is_empty() || head.rest.starts_with("in ") || !head.rest.contains(' ');
    (is_frame && head.column().is_none()).then_some(Frame {
        file: head.file,
        line: head.line()?,
        carets: None,
    })
}

/// A line of nothing but carets (and tildes) behind the indentation.
fn carets(line: &str) -> Option<(usize, usize)> {
    let trimmed = line.trim();
    let marks = !trimmed.is_empty() && trimmed.chars().all(|c| matches!(c, '^' | '~'));
    if !marks {
        return None;
    }
    let start = line.chars().take_while(|c| c.is_whitespace()).count();
    let start = start.checked_sub(INDENT)?;
    Some((start, start + trimmed.chars().count()))
}

/// `AssertionError: text`, `pkg.Error`, but not `assert x == 2`.
pub fn kind_of(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = match line.split_once(": ") {
        Some((name, rest)) => (name, rest),
        None => (line.trim_end_matches(':'), ""),
    };
    let is_name = !name.is_empty()
        && name
            .split('.')
            .all(|part| !part.is_empty() && part.chars().all(|c| c == '_' || c.is_alphanumeric()))
        && name
            .rsplit('.')
            .next()
            .is_some_and(|last| last.starts_with(char::is_uppercase));
    let short = name.rsplit('.').next().unwrap_or(name);
    is_name.then_some((short, rest))
}

/// `  File "path", line 3` and the carets below it, in the lines of a `SyntaxError`.
fn syntax_frame<'t>(message: &[&'t str], traceback: &mut Traceback<'t>) {
    for (index, line) in message.iter().enumerate() {
        let Some(rest) = line.trim_start().strip_prefix("File \"") else {
            continue;
        };
        let Some((file, rest)) = rest.split_once("\", line ") else {
            continue;
        };
        let Some(number) = super::lines::leading_number(rest) else {
            continue;
        };
        let carets = message
            .iter()
            .skip(index + 1)
            .take(3)
            .find_map(|line| carets(line));
        traceback.frames.push(Frame {
            file,
            line: number,
            carets,
        });
    }
}

/// The place of the deepest frame of the project, and the others of it.
pub fn places(reading: &Reading<'_>, frames: &[Frame<'_>]) -> (Option<Place>, Vec<Related>) {
    let mut own = frames.iter().rev().filter_map(|frame| {
        let named = reading.locator.find(frame.file)?;
        (named.text.is_some() && reading.locator.is_own(&named)).then(|| {
            let line = place(&named, &COLUMNS, Span::Line(frame.line));
            exact(&named, frame).unwrap_or(line)
        })
    });
    let first = own.next();
    let related = own
        .map(|place| reading.related(place, "called from here"))
        .collect();
    (first, related)
}

/// The text under the carets: the printed line has lost its indentation.
fn exact(named: &Named, frame: &Frame<'_>) -> Option<Place> {
    let (first, last) = frame.carets?;
    let text = named.text.as_ref()?;
    let line = text.line(LineRule::Universal, COLUMNS.line_index(text, frame.line))?;
    let content = text.slice(line);
    let indent = content.chars().take_while(|c| c.is_whitespace()).count();
    let column = |at: usize| i64::try_from(indent + at + 1).ok();
    let span = Span::Exact {
        start: (frame.line, column(first)?),
        end: (frame.line, column(last)?),
    };
    let place = asserted(named, place(named, &COLUMNS, span));
    (place.kind == RangeKind::Exact).then_some(place)
}

/// Of a failed `assert condition, message` the condition is what is wrong.
pub fn asserted(named: &Named, whole: Place) -> Place {
    let Some(text) = &named.text else {
        return whole;
    };
    let (start, end) = (whole.bytes.0 as usize, whole.bytes.1 as usize);
    let statement = text.slice_bytes(start..end);
    let Some(rest) = statement.strip_prefix(b"assert") else {
        return whole;
    };
    let skipped = rest.len() - rest.trim_ascii_start().len();
    if skipped == 0 {
        return whole;
    }
    let condition = rest.get(skipped..).unwrap_or_default();
    let length = comma_outside(condition).unwrap_or(condition.len());
    let condition = condition
        .get(..length)
        .unwrap_or(condition)
        .trim_ascii_end();
    if condition.is_empty() {
        return whole;
    }
    let from = start + "assert".len() + skipped;
    place(named, &COLUMNS, Span::Bytes(from, from + condition.len()))
}

/// The first comma that is in no bracket and no string.
fn comma_outside(code: &[u8]) -> Option<usize> {
    let mut depth = 0_i32;
    let mut quote = None;
    let mut escaped = false;
    for (at, byte) in code.iter().enumerate() {
        match (quote, byte) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(open), byte) if open == *byte => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(*byte),
            (None, b'(' | b'[' | b'{') => depth += 1,
            (None, b')' | b']' | b'}') => depth -= 1,
            (None, b',') if depth == 0 => return Some(at),
            (None, _) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_styles() {
        let short = "tests/t.py:6: in test_a\n    x = 1; y()\n           ^^^\nE   ValueError: no: way\nE     more\nE   \n";
        let traceback = parse(short);
        assert_eq!(
            traceback.frames,
            [Frame {
                file: "tests/t.py",
                line: 6,
                carets: Some((7, 10))
            }]
        );
        assert_eq!(traceback.kind, Some("ValueError"));
        assert_eq!(traceback.message, "no: way\n  more\n");
        let long = "    def test_a():\n>       assert 1 == 2\nE       assert 1 == 2\n\ntests/t.py:3: AssertionError\n";
        let traceback = parse(long);
        assert_eq!(traceback.frames.len(), 1);
        assert_eq!(traceback.frames[0].line, 3);
        assert_eq!(traceback.message.trim(), "assert 1 == 2");
    }

    #[test]
    fn kinds() {
        assert_eq!(
            kind_of("AssertionError: x: y"),
            Some(("AssertionError", "x: y"))
        );
        assert_eq!(kind_of("pkg.mod.MyError: x"), Some(("MyError", "x")));
        assert_eq!(
            kind_of("KeyboardInterrupt"),
            Some(("KeyboardInterrupt", ""))
        );
        assert_eq!(kind_of("assert x == 2"), None);
        assert_eq!(kind_of("Failed here: x"), None);
    }
}
