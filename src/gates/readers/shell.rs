//! ShellCheck and hadolint.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::{self, Found};
use super::lines::{config_trouble, severity};
use crate::gates::columns::{Columns, Tab, Unit};
use crate::gates::locate::Named;
use crate::gates::outcome::ReportState;
use crate::gates::output::{ToolOutput, plain};
use crate::gates::place::{Span, place};
use crate::gates::reading::{Parsed, Reading};
use crate::kernel::finding::{Applicability, Finding, FindingTag, Fix, FixEdit, Severity};

/// `json1`.
const JSON1: Columns = Columns::new(Unit::CodePoints);
/// The old `json` expands tabs, as a terminal of eight would.
const JSON: Columns = Columns::new(Unit::Display(Tab::Stops(8)));

#[derive(Deserialize)]
struct Report {
    comments: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Comment {
    file: String,
    #[serde(default)]
    line: Option<i64>,
    #[serde(rename = "endLine", default)]
    end_line: Option<i64>,
    #[serde(default)]
    column: Option<i64>,
    #[serde(rename = "endColumn", default)]
    end_column: Option<i64>,
    #[serde(default)]
    level: String,
    code: i64,
    #[serde(default)]
    message: String,
    #[serde(default)]
    fix: Option<JsonFix>,
}

#[derive(Deserialize)]
struct JsonFix {
    #[serde(default)]
    replacements: Vec<Replacement>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Replacement {
    line: i64,
    end_line: i64,
    column: i64,
    end_column: i64,
    #[serde(default)]
    precedence: i64,
    #[serde(default)]
    replacement: String,
}

pub fn shellcheck(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let (raw, columns) = match json::find::<Report>(&output.stdout) {
        Found::Whole(report) => (report.comments, JSON1),
        Found::CutOff => return Parsed::new(ReportState::CutOff),
        Found::Absent => match json::find::<Vec<Box<RawValue>>>(&output.stdout) {
            Found::Whole(raw) => (raw, JSON),
            Found::CutOff => return Parsed::new(ReportState::CutOff),
            Found::Absent => return Parsed::absent(),
        },
    };
    let (comments, lost) = json::items::<Comment>(&raw);
    let mut parsed = Parsed::whole(
        comments
            .iter()
            .map(|comment| finding(reading, comment, &columns))
            .collect(),
    );
    parsed.notes.extend(json::lost_note(lost));
    for line in plain(&output.stderr)
        .lines()
        .filter(|line| !line.trim().is_empty())
    {
        parsed.notes.push(line.to_owned());
    }
    parsed
}

fn finding(reading: &Reading<'_>, comment: &Comment, columns: &Columns) -> Finding {
    let named = reading.locator.find(&comment.file);
    let is_point = comment.end_line.is_none_or(|end| Some(end) == comment.line)
        && comment.end_column == comment.column;
    let end = if is_point {
        (None, None)
    } else {
        (comment.end_line, comment.end_column)
    };
    let span = Span::from_numbers((comment.line, comment.column), end);
    let code = format!("SC{}", comment.code);
    let fix = named
        .as_deref()
        .and_then(|named| fix(named, comment, columns, &code));
    Finding {
        place: named.as_deref().map(|named| place(named, columns, span)),
        href: Some(format!("https://www.shellcheck.net/wiki/{code}")),
        tags: match comment.code {
            2034 | 2317 => vec![FindingTag::Unnecessary],
            _ => Vec::new(),
        },
        code: Some(code),
        fixes: fix.into_iter().collect(),
        ..reading.finding(
            severity(&comment.level).unwrap_or(Severity::Warning),
            &comment.message,
        )
    }
}

/// Several insertions at one place are ordered by precedence: the higher one is nearer to the text.
fn fix(named: &Named, comment: &Comment, columns: &Columns, code: &str) -> Option<Fix> {
    let mut replacements: Vec<&Replacement> = comment.fix.as_ref()?.replacements.iter().collect();
    replacements.sort_by_key(|edit| (edit.line, edit.column, edit.precedence));
    let edits: Vec<FixEdit> = replacements
        .into_iter()
        .map(|edit| FixEdit {
            place: place(
                named,
                columns,
                Span::Exact {
                    start: (edit.line, edit.column),
                    end: (edit.end_line, edit.end_column),
                },
            ),
            new_text: edit.replacement.clone(),
        })
        .filter(|edit| edit.place.hash.is_some())
        .collect();
    (!edits.is_empty()).then(|| Fix {
        title: format!("Apply {code} fix"),
        applicability: Applicability::Safe,
        edits,
    })
}

#[derive(Deserialize)]
struct DockerItem {
    #[serde(default)]
    code: String,
    #[serde(default)]
    column: Option<i64>,
    file: String,
    #[serde(default)]
    level: String,
    #[serde(default)]
    line: Option<i64>,
    #[serde(default)]
    message: String,
}

/// hadolint's column is always 1 for its rules: the line is meant. Only a syntax error has a real one.
pub fn hadolint(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let mut parsed = match json::find::<Vec<Box<RawValue>>>(&output.stdout) {
        Found::Whole(raw) => {
            let (items, lost) = json::items::<DockerItem>(&raw);
            let mut parsed =
                Parsed::whole(items.iter().map(|item| docker(reading, item)).collect());
            parsed.notes.extend(json::lost_note(lost));
            parsed
        }
        Found::CutOff => Parsed::new(ReportState::CutOff),
        Found::Absent => Parsed::absent(),
    };
    let text = plain(&output.stderr);
    if parsed.report == ReportState::Absent
        && (text.contains("Error parsing your config") || text.contains("hadolint.yaml"))
    {
        parsed.troubles.push(config_trouble(
            reading,
            output,
            text.trim(),
            &[".hadolint.yaml", ".hadolint.yml"],
        ));
    }
    parsed
}

fn docker(reading: &Reading<'_>, item: &DockerItem) -> Finding {
    let line = item.line.filter(|line| *line > 0);
    let span = match (line, item.column) {
        (Some(line), Some(column)) if column > 1 => Span::Start(line, column),
        (Some(line), _) => Span::Line(line),
        (None, _) => Span::File,
    };
    let href = match item.code.get(..2) {
        Some("DL") => Some(format!(
            "https://github.com/hadolint/hadolint/wiki/{}",
            item.code
        )),
        Some("SC") => Some(format!("https://www.shellcheck.net/wiki/{}", item.code)),
        Some(_) | None => None,
    };
    Finding {
        place: reading.place(&item.file, &JSON1, span),
        code: Some(item.code.clone()).filter(|code| !code.is_empty()),
        href,
        ..reading.finding(
            severity(&item.level).unwrap_or(Severity::Warning),
            &item.message,
        )
    }
}
