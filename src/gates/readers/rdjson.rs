//! Reviewdog's diagnostic format, `rdjson` and `rdjsonl`, as any tool may print it.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::{self, Found};
use super::lines;
use crate::gates::columns::{Columns, Unit};
use crate::gates::locate::Named;
use crate::gates::outcome::ReportState;
use crate::gates::output::ToolOutput;
use crate::gates::place::{Span, checked, place};
use crate::gates::reading::{Parsed, Reading};
use crate::kernel::finding::{Applicability, Finding, Fix, FixEdit, Severity};

/// As the format's own description has it. Tools differ.
pub const COLUMNS: Columns = Columns::new(Unit::Bytes);

#[derive(Deserialize)]
struct Report {
    diagnostics: Vec<Box<RawValue>>,
    #[serde(default)]
    source: Option<Source>,
    #[serde(default)]
    severity: Option<Level>,
}

#[derive(Deserialize)]
struct Source {
    #[serde(default)]
    name: String,
}

/// A word, or the number that protocol buffers print.
#[derive(Deserialize, Clone)]
#[serde(untagged)]
enum Level {
    Word(String),
    Number(u8),
}

#[derive(Deserialize)]
struct Item {
    #[serde(default)]
    message: String,
    #[serde(default)]
    location: Option<Location>,
    #[serde(default)]
    severity: Option<Level>,
    #[serde(default)]
    code: Option<Code>,
    #[serde(default)]
    source: Option<Source>,
    #[serde(default)]
    suggestions: Vec<Suggestion>,
    #[serde(rename = "relatedLocations", alias = "related_locations", default)]
    related: Vec<RelatedItem>,
}

#[derive(Deserialize)]
struct Location {
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    range: Option<Range>,
}

#[derive(Deserialize)]
struct Range {
    #[serde(default)]
    start: Option<Point>,
    #[serde(default)]
    end: Option<Point>,
}

#[derive(Deserialize, Clone, Copy)]
struct Point {
    #[serde(default)]
    line: i64,
    #[serde(default)]
    column: i64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Code {
    Object {
        #[serde(default)]
        value: String,
        #[serde(default)]
        url: Option<String>,
    },
    Text(String),
}

#[derive(Deserialize)]
struct Suggestion {
    range: Range,
    #[serde(default)]
    text: String,
}

#[derive(Deserialize)]
struct RelatedItem {
    #[serde(default)]
    message: String,
    location: Location,
}

/// How to take this producer's numbers.
#[derive(Clone, Copy)]
pub struct Dialect {
    pub columns: Columns,
    /// Nobody measured this producer: look whether quoted names are where they should be.
    pub unsure: bool,
}

/// Any producer's `rdjson`, or its lines.
pub fn read(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    if let Some(columns) = reading.columns {
        let dialect = Dialect {
            columns,
            unsure: false,
        };
        return read_as(reading, &output.stdout, dialect);
    }
    // Few producers count bytes, as the format asks for; those that were measured are known by name.
    let columns = match json::find::<Report>(&output.stdout) {
        Found::Whole(Report {
            source: Some(source),
            ..
        }) => match source.name.to_ascii_lowercase().as_str() {
            "ruff" => Some(super::ruff::COLUMNS),
            "biome" => Some(super::biome::COLUMNS),
            _ => None,
        },
        Found::Whole(_) | Found::CutOff | Found::Absent => None,
    };
    let dialect = Dialect {
        columns: columns.unwrap_or(COLUMNS),
        unsure: columns.is_none(),
    };
    read_as(reading, &output.stdout, dialect)
}

pub fn read_as(reading: &Reading<'_>, bytes: &[u8], dialect: Dialect) -> Parsed {
    match json::find::<Report>(bytes) {
        Found::Whole(report) => {
            let (items, lost) = json::items::<Item>(&report.diagnostics);
            let mut parsed = Parsed::whole(Vec::new());
            parsed.notes.extend(json::lost_note(lost));
            for item in &items {
                add(reading, item, &report, dialect, &mut parsed);
            }
            parsed
        }
        Found::CutOff => Parsed::new(ReportState::CutOff),
        Found::Absent => {
            let mut parsed = Parsed::absent();
            let nothing = Report {
                diagnostics: Vec::new(),
                source: None,
                severity: None,
            };
            for item in json::lines::<Item>(bytes) {
                match item {
                    Ok(item) if item.location.is_some() => {
                        parsed.report = ReportState::Whole;
                        add(reading, &item, &nothing, dialect, &mut parsed);
                    }
                    Ok(_) => {}
                    Err(()) => {
                        parsed.report = ReportState::CutOff;
                        return parsed;
                    }
                }
            }
            parsed
        }
    }
}

fn add(reading: &Reading<'_>, item: &Item, report: &Report, dialect: Dialect, parsed: &mut Parsed) {
    let path = item
        .location
        .as_ref()
        .and_then(|location| location.path.as_deref())
        .filter(|path| !path.is_empty());
    let (code, href) = match &item.code {
        Some(Code::Object { value, url }) => (
            Some(value.clone()).filter(|value| !value.is_empty()),
            url.clone().filter(|url| !url.is_empty()),
        ),
        Some(Code::Text(text)) => (Some(text.clone()), None),
        None => (None, None),
    };
    if path.is_none()
        && code
            .as_deref()
            .is_some_and(|code| code.contains("fs/") || code.contains("internalError"))
    {
        parsed.broken = true;
        parsed.notes.push(item.message.clone());
        return;
    }
    let named = path.and_then(|path| reading.locator.find(path));
    let span = item
        .location
        .as_ref()
        .and_then(|location| location.range.as_ref())
        .map_or(Span::File, span_of);
    let severity = item
        .severity
        .clone()
        .or_else(|| report.severity.clone())
        .map_or(Severity::Error, |level| severity_of(&level));
    let source = item
        .source
        .as_ref()
        .or(report.source.as_ref())
        .map(|source| source.name.clone())
        .filter(|name| !name.is_empty() && dialect.unsure)
        .unwrap_or_else(|| reading.source.to_owned());
    let related = item
        .related
        .iter()
        .filter_map(|related| {
            let span = related.location.range.as_ref().map_or(Span::File, span_of);
            let place = reading.place(related.location.path.as_deref()?, &dialect.columns, span)?;
            Some(reading.related(place, &related.message))
        })
        .collect();
    parsed.findings.push(Finding {
        source,
        place: named.as_deref().map(|named| {
            if dialect.unsure {
                checked(named, &dialect.columns, span, &item.message)
            } else {
                place(named, &dialect.columns, span)
            }
        }),
        fixes: named
            .as_deref()
            .map(|named| fixes(named, item, code.as_deref(), dialect))
            .unwrap_or_default(),
        code,
        href,
        related,
        ..reading.finding(severity, &item.message)
    });
}

fn severity_of(level: &Level) -> Severity {
    match level {
        Level::Word(word) => lines::severity(word).unwrap_or(Severity::Error),
        Level::Number(2) => Severity::Warning,
        Level::Number(3) => Severity::Information,
        Level::Number(_) => Severity::Error,
    }
}

fn span_of(range: &Range) -> Span {
    let number = |point: Option<Point>| {
        (
            point.map(|point| point.line).filter(|line| *line > 0),
            point.map(|point| point.column).filter(|column| *column > 0),
        )
    };
    Span::from_numbers(number(range.start), number(range.end))
}

/// Parts of one change when they touch different places, alternatives when they touch the same.
fn fixes(named: &Named, item: &Item, code: Option<&str>, dialect: Dialect) -> Vec<Fix> {
    let edits: Vec<FixEdit> = item
        .suggestions
        .iter()
        .map(|suggestion| FixEdit {
            place: place(named, &dialect.columns, span_of(&suggestion.range)),
            new_text: suggestion.text.clone(),
        })
        .filter(|edit| edit.place.hash.is_some())
        .collect();
    let overlap = edits.iter().enumerate().any(|(index, one)| {
        edits.iter().skip(index + 1).any(|other| {
            let ((a, b), (c, d)) = (one.place.bytes, other.place.bytes);
            (a, b) == (c, d) || (a < d && c < b)
        })
    });
    let name = code
        .and_then(|code| code.rsplit('/').next())
        .unwrap_or("this");
    let fix = |edits: Vec<FixEdit>| Fix {
        title: format!("Fix {name}"),
        applicability: Applicability::Suggestion,
        edits,
    };
    if edits.is_empty() {
        Vec::new()
    } else if overlap {
        edits.into_iter().map(|edit| fix(vec![edit])).collect()
    } else {
        vec![fix(edits)]
    }
}
