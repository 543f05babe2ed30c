//! mypy: JSON lines, and the plain text that it falls back to for errors that stop it.
//!
//! Columns are 0-based bytes up to 1.20 and with the old parser. The native parser, default since 2.4, reports code points
//! minus the surplus bytes before the place: several places share a number, and the most plausible one is taken.

use serde::Deserialize;

use super::lines::{Head, head};
use super::{json, native_columns};
use crate::gates::columns::{Columns, Unit};
use crate::gates::locate::Named;
use crate::gates::outcome::ReportState;
use crate::gates::output::{ToolOutput, Version, plain};
use crate::gates::place::{Span, place};
use crate::gates::reading::{Parsed, Reading, tidy};
use crate::kernel::finding::{Finding, Place, Severity};

const JSON: Columns = Columns::new(Unit::Bytes).column_from(0);
const TEXT: Columns = Columns::new(Unit::Bytes).inclusive();
/// Syntax errors, of both parsers.
const SYNTAX: Columns = Columns::new(Unit::CodePoints);
const NATIVE_DEFAULT_SINCE: Version = Version { major: 2, minor: 4 };
const NATIVE_SINCE: Version = Version { major: 2, minor: 0 };

#[derive(Deserialize)]
struct Item {
    file: String,
    #[serde(default)]
    line: Option<i64>,
    #[serde(default)]
    column: Option<i64>,
    #[serde(default)]
    end_line: Option<i64>,
    #[serde(default)]
    end_column: Option<i64>,
    #[serde(default)]
    message: String,
    #[serde(default)]
    hint: Option<String>,
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    severity: String,
}

pub fn read(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let mut parsed = Parsed::absent();
    let mut items = Vec::new();
    let text = plain(&output.stdout);
    for item in json::lines::<Item>(&output.stdout) {
        match item {
            Ok(item) => items.push(item),
            Err(()) => parsed.report = ReportState::CutOff,
        }
    }
    if !items.is_empty() && parsed.report == ReportState::Absent {
        parsed.report = ReportState::Whole;
    }
    let columns = choose(reading, &items);
    for item in &items {
        add_json(reading, item, columns, &mut parsed);
    }
    for line in text.lines().chain(plain(&output.stderr).lines()) {
        add_text(reading, line, &mut parsed);
    }
    // `mypy.ini: [mypy]: Unrecognized option: …` is said, and the check goes on.
    parsed.notes.extend(
        plain(&output.stderr)
            .lines()
            .filter(|line| line.contains(": [mypy"))
            .take(20)
            .map(str::to_owned),
    );
    let silent = text.trim().is_empty();
    if output.exit.code() == Some(0) && parsed.report == ReportState::Absent {
        // With `--output json` a clean run prints nothing, or the line of success.
        if silent || text.contains("Success: no issues found") {
            parsed.report = ReportState::Whole;
        }
    }
    parsed
}

/// How the columns of this run count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counting {
    Bytes,
    Native,
}

/// By the flag, else by the version, else by what hits the names that the messages quote.
fn choose(reading: &Reading<'_>, items: &[Item]) -> Counting {
    let invocation = reading.invocation;
    if invocation.has("--no-native-parser") {
        return Counting::Bytes;
    }
    if invocation.has("--native-parser") {
        return Counting::Native;
    }
    match invocation.version {
        Some(version) if version < NATIVE_SINCE => Counting::Bytes,
        Some(version) if version >= NATIVE_DEFAULT_SINCE => Counting::Native,
        Some(_) | None => elect(reading, items),
    }
}

fn elect(reading: &Reading<'_>, items: &[Item]) -> Counting {
    let mut bytes = 0;
    let mut native = 0;
    for item in items.iter().take(500) {
        let (Some(named), Some(line), Some(column)) =
            (reading.locator.find(&item.file), item.line, item.column)
        else {
            continue;
        };
        let Some(text) = &named.text else { continue };
        let start = JSON.offset(text, line, column);
        bytes += native_columns::plausibility(text, start, &item.message);
        if let Some((start, _)) = native_columns::find(text, (line, column), None, &item.message) {
            native += native_columns::plausibility(text, start, &item.message);
        }
    }
    if native > bytes {
        Counting::Native
    } else {
        Counting::Bytes
    }
}

fn add_json(reading: &Reading<'_>, item: &Item, how: Counting, parsed: &mut Parsed) {
    let named = reading.locator.find(&item.file);
    let severity = match item.severity.as_str() {
        "note" => Severity::Information,
        "warning" => Severity::Warning,
        _ => Severity::Error,
    };
    let mut message = item.message.clone();
    if let Some(hint) = item.hint.as_deref().filter(|hint| !hint.is_empty()) {
        message.push('\n');
        message.push_str(hint);
    }
    let finding = Finding {
        place: named
            .as_deref()
            .map(|named| place_of(reading, named, item, how)),
        code: item.code.clone(),
        href: item.code.as_deref().map(href),
        ..reading.finding(severity, &message)
    };
    push(reading, finding, parsed);
}

fn place_of(reading: &Reading<'_>, named: &Named, item: &Item, how: Counting) -> Place {
    let line = item.line.filter(|line| *line > 0);
    let column = item.column.filter(|column| *column >= 0);
    let (Some(line), Some(column)) = (line, column) else {
        let span = line.map_or(Span::File, Span::Line);
        return place(named, &JSON, span);
    };
    let end_line = item.end_line.filter(|end| *end >= line).unwrap_or(line);
    let end = item
        .end_column
        .filter(|end| *end >= 0)
        // Without `--show-error-end` the end is a stopgap.
        .filter(|end| {
            reading.invocation.has("--show-error-end") || end_line != line || *end != column + 1
        });
    let exact = end.map_or(Span::Start(line, column), |end| Span::Exact {
        start: (line, column),
        end: (end_line, end),
    });
    if item.code.as_deref() == Some("syntax") {
        return place(named, &SYNTAX, Span::Start(line, column));
    }
    match how {
        Counting::Bytes => place(named, &JSON, exact),
        Counting::Native => {
            let end = end.map(|end| (end_line, end));
            let found = named
                .text
                .as_ref()
                .and_then(|text| native_columns::find(text, (line, column), end, &item.message));
            match found {
                Some((start, Some(end))) => place(named, &JSON, Span::Bytes(start, end)),
                Some((start, None)) => {
                    let end = named
                        .text
                        .as_ref()
                        .map_or(start, |text| crate::gates::place::token_end(text, start));
                    place(named, &JSON, Span::Bytes(start, end))
                }
                None => place(named, &JSON, exact),
            }
        }
    }
}

fn href(code: &str) -> String {
    format!("https://mypy.readthedocs.io/en/stable/_refs.html#code-{code}")
}

/// `path:line[:column[:end line:end column]]: error: message  [code]`.
fn add_text(reading: &Reading<'_>, line: &str, parsed: &mut Parsed) {
    if line.starts_with('{') {
        return;
    }
    if line.starts_with("There are no .py[i] files") {
        parsed.nothing = true;
        return;
    }
    let Some(head) = head(line).or_else(|| without_line(line)) else {
        return;
    };
    let Some((word, message)) = head.rest.split_once(": ") else {
        return;
    };
    let severity = match word {
        "error" => Severity::Error,
        "warning" => Severity::Warning,
        "note" => Severity::Information,
        _ => return,
    };
    let named = reading.locator.find(head.file);
    if head.line().is_none() && named.as_ref().is_none_or(|named| named.text.is_none()) {
        // A file that was asked for and cannot be read.
        parsed.broken = true;
        return;
    }
    if message.starts_with("INTERNAL ERROR") {
        let anchor = named.map(|named| place(&named, &TEXT, head.span()));
        parsed.troubles.push(reading.trouble(anchor, message));
        return;
    }
    let (message, code) = match message
        .strip_suffix(']')
        .and_then(|text| text.rsplit_once("  ["))
    {
        Some((message, code)) if !code.contains(' ') => (message, Some(code.to_owned())),
        Some(_) | None => (message, None),
    };
    let place = named
        .as_deref()
        .map(|named| place(named, &TEXT, text_span(&head)));
    if severity == Severity::Information
        && !message.starts_with("Revealed ")
        && let Some(last) = parsed.findings.last_mut()
        && last
            .place
            .as_ref()
            .map(|place| (&place.file, place.range.start.line))
            == place
                .as_ref()
                .map(|place| (&place.file, place.range.start.line))
    {
        last.message.push('\n');
        last.message.push_str(&tidy(message, 4096));
        return;
    }
    let finding = Finding {
        place,
        href: code.as_deref().map(href),
        code,
        ..reading.finding(severity, message)
    };
    push(reading, finding, parsed);
}

fn text_span(head: &Head<'_>) -> Span {
    let [line, column, end_line, end_column] = head.numbers;
    Span::from_numbers((line, column), (end_line, end_column))
}

/// `path: error: message`.
fn without_line(line: &str) -> Option<Head<'_>> {
    let (file, rest) = line.split_once(": ")?;
    (rest.starts_with("error: ") && !file.is_empty() && file != "mypy").then_some(Head {
        file,
        numbers: [None; 4],
        rest,
    })
}

/// What is wrong with mypy's own configuration is not wrong with the code.
fn push(reading: &Reading<'_>, finding: Finding, parsed: &mut Parsed) {
    let is_config = finding
        .file()
        .and_then(|file| file.workspace())
        .is_some_and(|path| {
            matches!(
                path.name(),
                "mypy.ini" | ".mypy.ini" | "setup.cfg" | "pyproject.toml"
            )
        });
    if is_config {
        parsed
            .troubles
            .push(reading.trouble(finding.place, &finding.message));
    } else {
        parsed.findings.push(finding);
    }
}
