//! What text reports have in common: `path:line:column: message`, severities in words, the place of a tool's own failure.

use std::rc::Rc;

use crate::gates::columns::Columns;
use crate::gates::locate::Named;
use crate::gates::output::{ToolOutput, plain};
use crate::gates::place::{Span, place};
use crate::gates::reading::{Reading, tidy};
use crate::kernel::finding::{Finding, Place, Severity};

/// The beginning of a line that names a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head<'t> {
    pub file: &'t str,
    /// Up to four numbers: line, column, end line, end column.
    pub numbers: [Option<i64>; 4],
    pub rest: &'t str,
}

impl Head<'_> {
    pub fn line(&self) -> Option<i64> {
        self.numbers[0]
    }

    pub fn column(&self) -> Option<i64> {
        self.numbers[1]
    }

    /// Column or line, whatever is there.
    pub fn span(&self) -> Span {
        Span::from_numbers((self.line(), self.column()), (None, None))
    }
}

/// Reads `path:line[:column[:end line:end column]]: rest`. The path may begin with a drive, and hold colons that no digit
/// follows.
pub fn head(text: &str) -> Option<Head<'_>> {
    let mut from = 0;
    loop {
        let colon = from + text.get(from..)?.find(':')?;
        let after = text.get(colon + 1..)?;
        if after.starts_with(|c: char| c.is_ascii_digit()) && colon > 0 {
            let file = text.get(..colon)?;
            if let Some((numbers, rest)) = numbers(after) {
                return Some(Head {
                    file,
                    numbers,
                    rest,
                });
            }
        }
        from = colon + 1;
    }
}

fn numbers(text: &str) -> Option<([Option<i64>; 4], &str)> {
    let mut numbers = [None; 4];
    let mut rest = text;
    for slot in &mut numbers {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits == 0 {
            break;
        }
        let (number, after) = rest.split_at_checked(digits)?;
        // A column of a hundred digits is no column.
        *slot = Some(number.parse().ok()?);
        let after = after.strip_prefix(':')?;
        rest = after;
        if rest.starts_with(' ') || rest.is_empty() {
            break;
        }
    }
    Some((numbers, rest.trim_start()))
}

/// The words tools have for severities.
pub fn severity(word: &str) -> Option<Severity> {
    match word.trim().to_ascii_lowercase().as_str() {
        "error" | "err" | "e" | "fatal" | "fatal error" | "critical" | "blocker" | "failure" => {
            Some(Severity::Error)
        }
        "warning" | "warn" | "w" | "major" | "medium" => Some(Severity::Warning),
        "info" | "information" | "i" | "note" | "n" | "minor" | "notice" | "convention"
        | "refactor" | "low" | "suggestion" | "message" => Some(Severity::Information),
        "hint" | "style" | "help" | "h" | "trivial" => Some(Severity::Hint),
        _ => None,
    }
}

/// The tool's own failure, told on the file that is named in its text, at the line it names there, else on the first of
/// `candidates` that exists.
pub fn config_trouble(
    reading: &Reading<'_>,
    output: &ToolOutput,
    message: &str,
    candidates: &[&str],
) -> Finding {
    let text = format!("{}\n{message}", plain(&output.stderr));
    let named = named_file(reading, &text).or_else(|| reading.first_file(candidates));
    let anchor = named.map(|named| anchor(reading, &named, &text));
    let message = tidy(message, 4096);
    let message = if message.is_empty() {
        crate::gates::reading::excerpt(output)
    } else {
        message
    };
    reading.trouble(anchor, &message)
}

fn anchor(reading: &Reading<'_>, named: &Named, text: &str) -> Place {
    let columns = Columns::new(crate::gates::columns::Unit::CodePoints);
    match line_column(text) {
        Some((line, column)) => place(named, &columns, Span::Start(line, column)),
        None => reading.file(named),
    }
}

/// `at line 3 column 5`, `at line 3, column 5`, `(3:5)`.
pub fn line_column(text: &str) -> Option<(i64, i64)> {
    let rest = text.split("line ").nth(1)?;
    let line: i64 = leading_number(rest)?;
    let column = rest
        .split("column ")
        .nth(1)
        .and_then(leading_number)
        .unwrap_or(1);
    Some((line, column))
}

pub fn leading_number(text: &str) -> Option<i64> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    text.get(..digits)?.parse().ok()
}

/// The first configuration file of the project that a text names.
fn named_file(reading: &Reading<'_>, text: &str) -> Option<Rc<Named>> {
    text.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '(' | ')' | ','))
        .map(|word| word.trim_end_matches([':', '.', ';']))
        .filter(|word| word.contains('.') && word.len() < 4096 && !word.contains("://"))
        .take(400)
        .filter_map(|word| {
            let path = word.split(':').next().unwrap_or(word);
            is_config_name(path).then_some(path)
        })
        .filter_map(|path| reading.locator.find(path))
        .find(|named| named.text.is_some() && reading.locator.is_own(named))
}

fn is_config_name(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    [
        ".toml", ".json", ".jsonc", ".json5", ".yaml", ".yml", ".ini", ".cfg", ".mod",
    ]
    .iter()
    .any(|ending| name.ends_with(ending))
        || name.contains("config")
        || name.contains("rc.")
        || name.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_of_lines() {
        let parts = |text| {
            let head = head(text)?;
            Some((head.file, head.numbers, head.rest))
        };
        let some = |numbers: &[i64]| {
            let mut slots = [None; 4];
            for (slot, number) in slots.iter_mut().zip(numbers) {
                *slot = Some(*number);
            }
            slots
        };
        for (text, file, numbers, rest) in [
            (
                "a.c:3:7: error: x: 5: y",
                "a.c",
                some(&[3, 7]),
                "error: x: 5: y",
            ),
            ("a.c:3: x", "a.c", some(&[3]), "x"),
            ("C:\\a b.c:3:7: x", "C:\\a b.c", some(&[3, 7]), "x"),
            ("a:b:3:7:x", "a:b", some(&[3, 7]), "x"),
            (
                "a.py:1:2:3:4: error: x",
                "a.py",
                some(&[1, 2, 3, 4]),
                "error: x",
            ),
            ("a.py:1:2:", "a.py", some(&[1, 2]), ""),
            (
                "a.c:3:7:{3:7-3:9}: error: x",
                "a.c",
                some(&[3, 7]),
                "{3:7-3:9}: error: x",
            ),
        ] {
            assert_eq!(parts(text), Some((file, numbers, rest)), "{text}");
        }
        for text in ["", "x", ":3: x", "a.c: x", "a.c:3", "12:30 o'clock: x y"] {
            assert_eq!(parts(text), None, "{text}");
        }
    }
}
