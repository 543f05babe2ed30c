//! pylint (`json2`, `json`) and flake8: columns of Python's own syntax tree.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::{self, Found};
use super::lines::{config_trouble, head};
use crate::gates::columns::{Columns, Unit};
use crate::gates::outcome::ReportState;
use crate::gates::output::{ToolOutput, plain};
use crate::gates::place::{Span, place};
use crate::gates::reading::{Parsed, Reading};
use crate::kernel::finding::{Finding, FindingTag, Severity};

const PYLINT: Columns = Columns::new(Unit::Bytes).column_from(0);
/// pycodestyle counts characters, pyflakes and most plugins the bytes of the syntax tree.
const PYCODESTYLE: Columns = Columns::new(Unit::CodePoints);
const PYFLAKES: Columns = Columns::new(Unit::Bytes);
const PYLINT_CONFIGS: [&str; 6] = [
    "pylintrc",
    ".pylintrc",
    "pylintrc.toml",
    ".pylintrc.toml",
    "pyproject.toml",
    "setup.cfg",
];
const FLAKE8_CONFIGS: [&str; 3] = [".flake8", "setup.cfg", "tox.ini"];

#[derive(Deserialize)]
struct Report {
    messages: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Item {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    symbol: String,
    #[serde(default)]
    message: String,
    #[serde(rename = "messageId", alias = "message-id", default)]
    id: Option<String>,
    #[serde(default)]
    line: Option<i64>,
    #[serde(default)]
    column: Option<i64>,
    #[serde(rename = "endLine", default)]
    end_line: Option<i64>,
    #[serde(rename = "endColumn", default)]
    end_column: Option<i64>,
    #[serde(default)]
    path: String,
    #[serde(rename = "absolutePath", default)]
    absolute: Option<String>,
}

pub fn pylint(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let raw = match json::find::<Report>(&output.stdout) {
        Found::Whole(report) => Found::Whole(report.messages),
        Found::CutOff => Found::CutOff,
        Found::Absent => json::find::<Vec<Box<RawValue>>>(&output.stdout),
    };
    let mut parsed = match raw {
        Found::Whole(raw) => {
            let (items, lost) = json::items::<Item>(&raw);
            let mut parsed = Parsed::whole(Vec::new());
            parsed.notes.extend(json::lost_note(lost));
            for item in &items {
                add(reading, item, &mut parsed);
            }
            parsed
        }
        Found::CutOff => Parsed::new(ReportState::CutOff),
        Found::Absent => Parsed::absent(),
    };
    let usage = output.exit.code().is_some_and(|code| code & 32 != 0);
    if usage && parsed.findings.is_empty() {
        let text = plain(&output.stderr);
        if text.contains("config") || text.contains("rcfile") || text.contains("option") {
            let message = text.trim().to_owned();
            parsed
                .troubles
                .push(config_trouble(reading, output, &message, &PYLINT_CONFIGS));
        }
    }
    parsed
}

fn add(reading: &Reading<'_>, item: &Item, parsed: &mut Parsed) {
    let named = item
        .absolute
        .as_deref()
        .filter(|path| !path.is_empty())
        .and_then(|path| reading.locator.find(path))
        .filter(|named| named.text.is_some())
        .or_else(|| reading.locator.find(&item.path));
    let severity = match item.kind.as_str() {
        "fatal" | "error" => Severity::Error,
        "warning" => Severity::Warning,
        _ => Severity::Information,
    };
    if item.kind == "fatal" && named.as_ref().is_none_or(|named| named.text.is_none()) {
        parsed.broken = true;
        parsed.notes.push(item.message.clone());
        return;
    }
    let span = Span::from_numbers(
        (
            item.line.filter(|line| *line > 0),
            item.column.filter(|column| *column >= 0),
        ),
        (item.end_line, item.end_column),
    );
    let symbol = item.symbol.replace('_', "-");
    parsed.findings.push(Finding {
        place: named.map(|named| place(&named, &PYLINT, span)),
        code: item.id.clone().or_else(|| Some(item.symbol.clone())),
        href: (!symbol.is_empty()).then(|| {
            format!(
                "https://pylint.readthedocs.io/en/stable/user_guide/messages/{}/{symbol}.html",
                item.kind
            )
        }),
        tags: if symbol.starts_with("unused-") || symbol == "unreachable" {
            vec![FindingTag::Unnecessary]
        } else if symbol.starts_with("deprecated-") {
            vec![FindingTag::Deprecated]
        } else {
            Vec::new()
        },
        ..reading.finding(severity, &item.message)
    });
}

/// `path:row:column: CODE text`, flake8's default format.
pub fn flake8(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let mut parsed = Parsed::absent();
    for line in plain(&output.stdout).lines() {
        let Some(head) = head(line) else { continue };
        let Some((code, message)) = head.rest.split_once(' ') else {
            continue;
        };
        let named = reading.locator.find(head.file);
        parsed.report = ReportState::Whole;
        if code == "E902" && named.as_ref().is_none_or(|named| named.text.is_none()) {
            parsed.broken = true;
            parsed.notes.push(line.to_owned());
            continue;
        }
        let columns = if code.starts_with(['E', 'W']) {
            &PYCODESTYLE
        } else {
            &PYFLAKES
        };
        let span = match (head.line().filter(|line| *line > 0), head.column()) {
            (Some(line), Some(column)) if column > 0 => Span::Start(line, column),
            (Some(line), _) => Span::Line(line),
            (None, _) => Span::File,
        };
        let severity = if code.starts_with('F') || code.starts_with("E9") {
            Severity::Error
        } else {
            Severity::Warning
        };
        parsed.findings.push(Finding {
            place: named.map(|named| place(&named, columns, span)),
            code: Some(code.to_owned()),
            href: None,
            tags: match code {
                "F401" | "F811" | "F841" => vec![FindingTag::Unnecessary],
                _ => Vec::new(),
            },
            ..reading.finding(severity, message)
        });
    }
    if parsed.report == ReportState::Absent && output.exit.code() == Some(0) {
        parsed.report = ReportState::Whole;
    }
    let text = plain(&output.stderr);
    if parsed.findings.is_empty() && text.contains("There was a critical error") {
        parsed.troubles.push(config_trouble(
            reading,
            output,
            text.trim(),
            &FLAKE8_CONFIGS,
        ));
    }
    parsed
}
