//! Prettier's `--check` and `--list-different`: names of files, and syntax errors with a place.

use super::lines::config_trouble;
use crate::gates::columns::{Columns, Unit};
use crate::gates::outcome::ReportState;
use crate::gates::output::{ToolOutput, plain};
use crate::gates::place::Span;
use crate::gates::reading::{Parsed, Reading};
use crate::gates::text::LineRule;
use crate::kernel::finding::{Finding, Severity};

const COLUMNS: Columns = Columns::new(Unit::Utf16).lines(LineRule::Ecma);
const CONFIGS: [&str; 6] = [
    ".prettierrc",
    ".prettierrc.json",
    ".prettierrc.yaml",
    ".prettierrc.js",
    "prettier.config.js",
    "package.json",
];

pub fn read(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let mut parsed = Parsed::absent();
    let stdout = plain(&output.stdout);
    if stdout.contains("Checking formatting...")
        || stdout.contains("All matched files use Prettier")
    {
        parsed.report = ReportState::Whole;
    }
    let lists = reading.invocation.has("-l") || reading.invocation.has("--list-different");
    if lists {
        if output.exit.code().is_some_and(|code| code <= 2) {
            parsed.report = ReportState::Whole;
        }
        for line in stdout.lines().filter(|line| !line.trim().is_empty()) {
            unformatted(reading, line, &mut parsed);
        }
    }
    // Releases before 3 print the warnings on stdout.
    for line in plain(&output.stderr).lines().chain(stdout.lines()) {
        if let Some(text) = line.strip_prefix("[warn] ") {
            if !text.starts_with("Code style issues") && !text.starts_with("Ignored unknown option")
            {
                unformatted(reading, text, &mut parsed);
            }
        } else if let Some(text) = line.strip_prefix("[error] ") {
            match parsed.troubles.last_mut() {
                // The lines after it are the rest of it.
                Some(trouble) => {
                    trouble.message.push('\n');
                    trouble.message.push_str(text);
                }
                None => error(reading, output, text, &mut parsed),
            }
        }
    }
    parsed
}

fn unformatted(reading: &Reading<'_>, path: &str, parsed: &mut Parsed) {
    let Some(named) = reading
        .locator
        .find(path)
        .filter(|named| named.text.is_some())
    else {
        return;
    };
    parsed.report = ReportState::Whole;
    parsed.findings.push(Finding {
        place: Some(reading.file(&named)),
        code: Some("unformatted".to_owned()),
        ..reading.finding(
            Severity::Warning,
            "The file is not laid out as Prettier would",
        )
    });
}

/// `path: SyntaxError: message (line:column)`, then the drawing of it.
fn error(reading: &Reading<'_>, output: &ToolOutput, text: &str, parsed: &mut Parsed) {
    if text.starts_with("Invalid configuration") || text.contains("Cannot resolve config") {
        parsed
            .troubles
            .push(config_trouble(reading, output, text, &CONFIGS));
        return;
    }
    if text.starts_with("No files matching") || text.starts_with("No parser could be inferred") {
        parsed.broken = true;
        parsed.notes.push(text.to_owned());
        return;
    }
    let Some((path, rest)) = text.split_once(": ") else {
        return;
    };
    let Some(named) = reading
        .locator
        .find(path)
        .filter(|named| named.text.is_some())
    else {
        return;
    };
    let (message, span) = match place_at_end(rest) {
        Some((message, line, column)) => (message, Span::Start(line, column)),
        None => (rest, Span::File),
    };
    parsed.report = ReportState::Whole;
    parsed.findings.push(Finding {
        place: Some(crate::gates::place::place(&named, &COLUMNS, span)),
        ..reading.finding(Severity::Error, message)
    });
}

/// `message (line:column)`.
pub fn place_at_end(text: &str) -> Option<(&str, i64, i64)> {
    let (message, at) = text.trim_end().strip_suffix(')')?.rsplit_once(" (")?;
    let (line, column) = at.split_once(':')?;
    Some((message, line.parse().ok()?, column.parse().ok()?))
}
