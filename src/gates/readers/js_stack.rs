//! Stacks of V8, as test runners of JavaScript print them: the deepest frame of the project is the place.

use super::rustc_text::file_line_column;
use crate::gates::columns::{Columns, Unit};
use crate::gates::place::{Span, place};
use crate::gates::reading::Reading;
use crate::gates::text::LineRule;
use crate::kernel::finding::{Place, Related};

/// Lines and columns from 1, in UTF-16.
pub const V8: Columns = Columns::new(Unit::Utf16).lines(LineRule::Ecma);
/// Babel counts columns from 0.
pub const BABEL: Columns = V8.column_from(0);

/// An error's text, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thrown<'t> {
    /// `TypeError`, when the text begins with a name of that kind.
    pub name: Option<&'t str>,
    pub message: &'t str,
    /// File, line, column, innermost first.
    pub frames: Vec<(&'t str, i64, i64)>,
}

/// Splits `Name: message`, the lines after it, and the frames.
pub fn split(text: &str) -> Thrown<'_> {
    let mut frames = Vec::new();
    let mut message_end = text.len();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some(frame) = frame(line) {
            message_end = message_end.min(at);
            frames.push(frame);
        } else if line.trim_start().starts_with("at ") && is_foreign_frame(line) {
            message_end = message_end.min(at);
        }
        at += line.len();
    }
    let message = text.get(..message_end).unwrap_or(text).trim_end();
    let (name, message) = name_of(message);
    Thrown {
        name,
        message,
        frames,
    }
}

/// `at new Promise (<anonymous>)`, `at node:internal/…:1:2`.
fn is_foreign_frame(line: &str) -> bool {
    line.contains("(<anonymous>)") || line.contains("node:") || line.contains("(native)")
}

/// `at function (path:line:column)` or `at path:line:column`, with or without the `at`.
pub fn frame(line: &str) -> Option<(&str, i64, i64)> {
    let line = line.trim();
    let inner = match line.strip_prefix("at ") {
        Some(rest) => rest,
        // node's TAP leaves out the `at`.
        None if line.ends_with(')') && line.contains(" (") => line,
        None => return None,
    };
    let at = match inner.strip_suffix(')') {
        Some(rest) => rest.rsplit_once('(').map(|(_, at)| at)?,
        None => inner.strip_prefix("async ").unwrap_or(inner),
    };
    let (file, line, column) = file_line_column(at)?;
    (column > 0 && !file.starts_with("node:") && !file.starts_with('<'))
        .then_some((file, line, column))
}

fn name_of(text: &str) -> (Option<&str>, &str) {
    let Some((name, rest)) = text.split_once(':') else {
        return (None, text);
    };
    // node writes `TypeError [CODE]: …`.
    let word = name.split(" [").next().unwrap_or(name);
    let is_name = word.ends_with("Error") || word.ends_with("Exception");
    if is_name
        && word
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '.'))
    {
        (Some(word), rest.trim_start())
    } else {
        (None, text)
    }
}

/// The place of the innermost frame of the project, and the other frames of it.
pub fn places(reading: &Reading<'_>, frames: &[(&str, i64, i64)]) -> (Option<Place>, Vec<Related>) {
    let mut own = frames.iter().filter_map(|(file, line, column)| {
        let named = reading.locator.find(file)?;
        (named.text.is_some() && reading.locator.is_own(&named))
            .then(|| place(&named, &V8, Span::Start(*line, *column)))
    });
    let first = own.next();
    let related = own
        .map(|place| reading.related(place, "called from here"))
        .collect();
    (first, related)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_taken_apart() {
        let text = "AssertionError: expected 3\n\nmore: x\n    at Object.<anonymous> (/w/a b.js:4:39)\n    at /w/c.js:1:2\n    at new Promise (<anonymous>)\n    at async run (file:///w/d.js:3:4)";
        let thrown = split(text);
        assert_eq!(thrown.name, Some("AssertionError"));
        assert_eq!(thrown.message, "expected 3\n\nmore: x");
        assert_eq!(
            thrown.frames,
            [
                ("/w/a b.js", 4, 39),
                ("/w/c.js", 1, 2),
                ("file:///w/d.js", 3, 4)
            ]
        );
        assert_eq!(split("no: name").name, None);
        assert_eq!(split("TypeError [ERR_X]: m").name, Some("TypeError"));
        assert_eq!(frame("    at node:internal/x:1:2"), None);
        assert_eq!(frame("not at 12:30:10"), None);
    }
}
