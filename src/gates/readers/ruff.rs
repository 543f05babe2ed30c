//! ruff check and ruff format: JSON of every release, and their text when there is no JSON.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::{self, Found};
use super::lines::{config_trouble, head};
use super::notebook;
use crate::gates::columns::{Columns, Unit};
use crate::gates::outcome::ReportState;
use crate::gates::output::{ToolOutput, plain};
use crate::gates::place::{Span, place};
use crate::gates::reading::{Parsed, Reading};
use crate::kernel::finding::{Applicability, Finding, FindingTag, Fix, FixEdit, Place, Severity};

pub const COLUMNS: Columns = Columns::new(Unit::CodePoints);
const CONFIGS: [&str; 3] = [".ruff.toml", "ruff.toml", "pyproject.toml"];

#[derive(Deserialize)]
struct Item {
    #[serde(default)]
    cell: Option<u32>,
    #[serde(default)]
    code: Option<String>,
    filename: String,
    #[serde(default)]
    location: Option<Location>,
    #[serde(default)]
    end_location: Option<Location>,
    #[serde(default)]
    fix: Option<JsonFix>,
    #[serde(default)]
    message: String,
    #[serde(default)]
    severity: Option<String>,
    #[serde(default)]
    url: Option<String>,
}

#[derive(Deserialize, Clone, Copy)]
struct Location {
    row: i64,
    column: i64,
}

#[derive(Deserialize)]
struct JsonFix {
    #[serde(default)]
    applicability: String,
    #[serde(default)]
    edits: Vec<Edit>,
    #[serde(default)]
    message: Option<String>,
}

#[derive(Deserialize)]
struct Edit {
    #[serde(default)]
    content: String,
    location: Location,
    end_location: Location,
}

/// `ruff check`.
pub fn check(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let mut parsed = items(reading, output, Kind::Check);
    if parsed.report == ReportState::Absent {
        concise(reading, output, &mut parsed);
    }
    failure(reading, output, &mut parsed);
    parsed
}

/// `ruff format --check`.
pub fn format(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let mut parsed = items(reading, output, Kind::Format);
    if parsed.report == ReportState::Absent {
        would_reformat(reading, output, &mut parsed);
    }
    failure(reading, output, &mut parsed);
    parsed
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Check,
    Format,
}

fn items(reading: &Reading<'_>, output: &ToolOutput, kind: Kind) -> Parsed {
    if reading.invocation.has("--output-format=json-lines")
        || reading
            .invocation
            .argv
            .iter()
            .any(|argument| argument == "json-lines")
    {
        let mut parsed = Parsed::whole(Vec::new());
        for item in json::lines::<Item>(&output.stdout) {
            match item {
                Ok(item) => add(reading, &item, kind, &mut parsed),
                Err(()) => parsed.report = ReportState::CutOff,
            }
        }
        return parsed;
    }
    match json::find::<Vec<Box<RawValue>>>(&output.stdout) {
        Found::Whole(raw) => {
            let (items, lost) = json::items::<Item>(&raw);
            let mut parsed = Parsed::whole(Vec::new());
            parsed.notes.extend(json::lost_note(lost));
            parsed.partial = lost > 0;
            for item in &items {
                add(reading, item, kind, &mut parsed);
            }
            parsed
        }
        Found::CutOff => Parsed::new(ReportState::CutOff),
        Found::Absent => Parsed::absent(),
    }
}

fn add(reading: &Reading<'_>, item: &Item, kind: Kind, parsed: &mut Parsed) {
    let named = reading.locator.find(&item.filename);
    if item.code.as_deref() == Some("E902")
        && named.as_ref().is_none_or(|named| named.text.is_none())
    {
        // The file went away between the change and the check: stale, and nobody's fault.
        parsed.broken = true;
        parsed
            .notes
            .push(format!("{}: {}", item.filename, item.message));
        return;
    }
    let place_of = |start: Option<Location>, end: Option<Location>| -> Option<Place> {
        let named = named.as_ref()?;
        let number = |location: Option<Location>| {
            (
                location.map(|at| at.row).filter(|row| *row > 0),
                location.map(|at| at.column),
            )
        };
        let span = Span::from_numbers(number(start), number(end));
        match item.cell {
            Some(cell) => notebook::place(named, cell.saturating_sub(1), &COLUMNS, span),
            None => Some(place(named, &COLUMNS, span)),
        }
    };
    let unformatted = item.code.as_deref() == Some("unformatted");
    let severity = match item.severity.as_deref() {
        // A file that would be laid out otherwise is not wrong.
        _ if unformatted => Severity::Warning,
        Some("warning") => Severity::Warning,
        Some("info" | "help") => Severity::Information,
        Some(_) | None => Severity::Error,
    };
    let title = |fix: &JsonFix| match (&fix.message, kind) {
        (Some(message), _) => message.clone(),
        (None, Kind::Format) => "Format file".to_owned(),
        (None, Kind::Check) => format!("Fix {}", item.code.as_deref().unwrap_or("this")),
    };
    let fixes = item
        .fix
        .iter()
        // Edits of a notebook do not say which cell they are in.
        .filter(|fix| item.cell.is_none() && !fix.edits.is_empty())
        .filter_map(|fix| {
            let edits: Option<Vec<FixEdit>> = fix
                .edits
                .iter()
                .map(|edit| {
                    let place = place_of(Some(edit.location), Some(edit.end_location))?;
                    place.hash.is_some().then(|| FixEdit {
                        place,
                        new_text: edit.content.clone(),
                    })
                })
                .collect();
            Some(Fix {
                title: title(fix),
                applicability: applicability(&fix.applicability),
                edits: edits?,
            })
        })
        .collect();
    parsed.findings.push(Finding {
        place: place_of(item.location, item.end_location),
        code: item.code.clone(),
        href: item.url.clone(),
        tags: match item.code.as_deref() {
            Some("F401" | "F811" | "F841" | "F842") => vec![FindingTag::Unnecessary],
            Some("UP035") => vec![FindingTag::Deprecated],
            Some(_) | None => Vec::new(),
        },
        fixes,
        ..reading.finding(severity, &item.message)
    });
}

fn applicability(word: &str) -> Applicability {
    match word.to_ascii_lowercase().as_str() {
        "safe" | "automatic" | "always" => Applicability::Safe,
        "unsafe" | "suggested" | "sometimes" => Applicability::Unsafe,
        _ => Applicability::Suggestion,
    }
}

/// `path:line:column: CODE [*] message`, for a project that fixes the output format itself.
fn concise(reading: &Reading<'_>, output: &ToolOutput, parsed: &mut Parsed) {
    for line in plain(&output.stdout).lines() {
        if let Some(head) = head(line)
            && let Some(named) = reading.locator.find(head.file)
        {
            let (code, message) = match head.rest.split_once(' ') {
                Some((code, message)) if is_code(code) => (
                    Some(code.trim_end_matches(':').to_owned()),
                    message.trim_start_matches("[*] "),
                ),
                Some(_) | None => (None, head.rest),
            };
            parsed.report = ReportState::Whole;
            parsed.findings.push(Finding {
                place: Some(place(&named, &COLUMNS, head.span())),
                code,
                ..reading.finding(Severity::Error, message)
            });
        } else if line.starts_with("All checks passed") {
            parsed.report = ReportState::Whole;
        }
    }
}

fn is_code(word: &str) -> bool {
    let word = word.trim_end_matches(':');
    word == "invalid-syntax"
        || (word.starts_with(|c: char| c.is_ascii_uppercase())
            && word.ends_with(|c: char| c.is_ascii_digit())
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Releases before JSON for `format`: names on stdout, syntax errors on stderr.
fn would_reformat(reading: &Reading<'_>, output: &ToolOutput, parsed: &mut Parsed) {
    for line in plain(&output.stdout).lines() {
        if let Some(path) = line.strip_prefix("Would reformat: ") {
            parsed.report = ReportState::Whole;
            parsed.findings.push(Finding {
                place: reading.place(path, &COLUMNS, Span::File),
                code: Some("unformatted".to_owned()),
                ..reading.finding(Severity::Error, "File would be reformatted")
            });
        } else if line.contains(" already formatted") || line.contains(" would be reformatted") {
            parsed.report = ReportState::Whole;
        }
    }
    for line in plain(&output.stderr).lines() {
        if let Some(at) = line.strip_prefix("error: Failed to parse ")
            && let Some(head) = head(at)
        {
            parsed.findings.push(Finding {
                place: reading.place(head.file, &COLUMNS, head.span()),
                code: Some("invalid-syntax".to_owned()),
                ..reading.finding(Severity::Error, head.rest)
            });
        }
    }
}

/// Status 2 without findings: configuration or arguments.
fn failure(reading: &Reading<'_>, output: &ToolOutput, parsed: &mut Parsed) {
    let text = plain(&output.stderr);
    if text.contains("No Python files found") {
        parsed.nothing = true;
    }
    let is_config = text.contains("Failed to parse")
        || text.contains("Failed to load configuration")
        || text.contains("Invalid configuration");
    if output.exit.code() == Some(2) && parsed.findings.is_empty() && is_config {
        let causes: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter_map(|line| line.strip_prefix("Cause: "))
            .collect();
        let message = causes
            .iter()
            .rev()
            .find(|cause| !cause.starts_with("TOML parse error"))
            .copied()
            .unwrap_or_default();
        let whole = format!("{message}\n{text}");
        parsed
            .troubles
            .push(config_trouble(reading, output, &whole, &CONFIGS));
    }
}
