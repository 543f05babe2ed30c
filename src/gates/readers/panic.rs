//! Panics of Rust programs, as they print themselves.
//!
//! `panicked at file:line:column` counts in display columns: every tab is 4 and a wide character 2
//! (<https://github.com/rust-lang/rust/issues/148284>).

use super::rustc_text::file_line_column;
use crate::gates::columns::{Columns, Tab, Unit};
use crate::gates::place::Span;
use crate::gates::reading::Reading;
use crate::gates::text::LineRule;
use crate::kernel::finding::Place;

/// Columns of `core::panic::Location`.
pub const PANIC: Columns = Columns::new(Unit::Display(Tab::Fixed(4))).lines(LineRule::Lf);

/// One panic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Panic<'t> {
    pub thread: &'t str,
    pub file: &'t str,
    pub line: i64,
    pub column: i64,
    pub message: String,
    /// File, line, column of the frames of a backtrace, innermost first; empty without one.
    pub frames: Vec<(&'t str, i64, i64)>,
}

impl Panic<'_> {
    /// Where it says it happened.
    pub fn place(&self, reading: &Reading<'_>) -> Option<Place> {
        let span = if self.column > 0 {
            Span::Start(self.line, self.column)
        } else {
            Span::Line(self.line)
        };
        reading.place(self.file, &PANIC, span)
    }
}

/// All panics in a text, in order.
pub fn find_all(text: &str) -> Vec<Panic<'_>> {
    let mut panics: Vec<Panic<'_>> = Vec::new();
    let mut in_message = false;
    let mut in_frames = false;
    for line in text.lines() {
        let line = line.trim_end();
        if let Some(panic) = head(line.trim_start()) {
            in_message = panic.message.is_empty();
            in_frames = false;
            panics.push(panic);
            continue;
        }
        let Some(panic) = panics.last_mut() else {
            continue;
        };
        let trimmed = line.trim_start();
        if trimmed == "stack backtrace:" {
            (in_message, in_frames) = (false, true);
        } else if in_frames {
            if let Some(at) = trimmed.strip_prefix("at ")
                && let Some(frame) = file_line_column(at)
            {
                panic.frames.push(frame);
            }
        } else if is_end(trimmed) {
            in_message = false;
        } else if in_message {
            if !panic.message.is_empty() {
                panic.message.push('\n');
            }
            panic.message.push_str(line);
        }
    }
    for panic in &mut panics {
        panic.message = unindent(panic.message.trim_end());
    }
    panics
}

/// `thread 'name' (id) panicked at file:line:column:` and, before Rust 1.73, `… panicked at 'message', file:line:column`.
fn head(line: &str) -> Option<Panic<'_>> {
    let rest = line.strip_prefix("thread '")?;
    let (thread, rest) = rest.split_once('\'')?;
    let (_, at) = rest.split_once("panicked at ")?;
    if let Some(quoted) = at.strip_prefix('\'') {
        let (message, place) = quoted.rsplit_once("', ")?;
        let (file, line, column) = file_line_column(place)?;
        return Some(Panic {
            thread,
            file,
            line,
            column,
            message: message.to_owned(),
            frames: Vec::new(),
        });
    }
    let (file, line, column) = file_line_column(at.strip_suffix(':')?)?;
    Some(Panic {
        thread,
        file,
        line,
        column,
        message: String::new(),
        frames: Vec::new(),
    })
}

fn is_end(line: &str) -> bool {
    line.starts_with("note: run with `RUST_BACKTRACE=")
        || line.starts_with("note: panic did not contain expected string")
        || line.starts_with("note: test did not panic as expected")
        || line.starts_with("note: Some details are omitted")
}

/// nextest and build scripts indent what they show; what is common to all lines goes.
fn unindent(message: &str) -> String {
    let margin = message
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start_matches(' ').len())
        .min()
        .unwrap_or(0);
    message
        .lines()
        .map(|line| line.get(margin..).unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms() {
        let text = "x\nthread 'a::b' (12) panicked at src/l.rs:9:27:\nassertion failed\n  left: 2\n right: 3\nnote: run with `RUST_BACKTRACE=1`\n\
            thread 'c' panicked at 'old\u{2019}s', C:\\x.rs:1:2\nstack backtrace:\n   0: f\n             at ./src/l.rs:9:27\n";
        let panics = find_all(text);
        assert_eq!(
            panics,
            [
                Panic {
                    thread: "a::b",
                    file: "src/l.rs",
                    line: 9,
                    column: 27,
                    message: "assertion failed\n  left: 2\n right: 3".to_owned(),
                    frames: vec![],
                },
                Panic {
                    thread: "c",
                    file: "C:\\x.rs",
                    line: 1,
                    column: 2,
                    message: "old\u{2019}s".to_owned(),
                    frames: vec![("./src/l.rs", 9, 27)],
                },
            ]
        );
    }
}
