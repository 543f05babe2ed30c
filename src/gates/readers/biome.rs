//! Biome: `rdjson`, the experimental `json`, SARIF; a broken configuration is only on stderr, as a drawing.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::{self, Found};
use super::rdjson::{self, Dialect};
use super::{lines, sarif};
use crate::gates::columns::{Columns, Unit};
use crate::gates::outcome::ReportState;
use crate::gates::output::{ToolOutput, plain};
use crate::gates::place::{Span, place};
use crate::gates::reading::{Parsed, Reading};
use crate::kernel::finding::{Finding, Severity};

pub const COLUMNS: Columns = Columns::new(Unit::CodePoints).bom_counts(1);

#[derive(Deserialize)]
struct Report {
    /// Only the tool's own form has it.
    summary: Summary,
    diagnostics: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Summary {
    #[serde(rename = "diagnosticsNotPrinted", default)]
    not_printed: u64,
}

#[derive(Deserialize)]
struct Item {
    #[serde(default)]
    severity: String,
    #[serde(default)]
    message: Text,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    category: Option<String>,
    #[serde(default)]
    location: Option<Location>,
    #[serde(default)]
    tags: Vec<String>,
}

/// A string in newer releases, pieces of markup in older ones.
#[derive(Deserialize)]
#[serde(untagged)]
enum Text {
    Plain(String),
    Pieces(Vec<Piece>),
}

impl Default for Text {
    fn default() -> Self {
        Self::Plain(String::new())
    }
}

#[derive(Deserialize)]
struct Piece {
    #[serde(default)]
    content: String,
}

#[derive(Deserialize)]
struct Location {
    #[serde(default)]
    path: Option<Path>,
    #[serde(default)]
    start: Option<Point>,
    #[serde(default)]
    end: Option<Point>,
    /// Byte offsets, in releases without line and column.
    #[serde(default)]
    span: Option<(usize, usize)>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Path {
    Plain(String),
    Object { file: String },
}

#[derive(Deserialize)]
struct Point {
    #[serde(default)]
    line: i64,
    #[serde(default)]
    column: i64,
}

pub fn read(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let mut parsed = match json::find::<Report>(&output.stdout) {
        Found::Whole(report) => own(reading, &report),
        Found::CutOff => Parsed::new(ReportState::CutOff),
        Found::Absent if sarif::is_sarif(&output.stdout) => {
            sarif::read_as(reading, &output.stdout, sarif::Dialect::measured(COLUMNS))
        }
        Found::Absent => rdjson::read_as(
            reading,
            &output.stdout,
            Dialect {
                columns: COLUMNS,
                unsure: false,
            },
        ),
    };
    let text = plain(&output.stderr);
    if text.contains("No files were processed") {
        parsed.broken = true;
    }
    if parsed.report == ReportState::Absent {
        configuration(reading, output, &text, &mut parsed);
    }
    parsed
}

fn own(reading: &Reading<'_>, report: &Report) -> Parsed {
    let (items, lost) = json::items::<Item>(&report.diagnostics);
    let mut parsed = Parsed::whole(Vec::new());
    parsed.notes.extend(json::lost_note(lost));
    if report.summary.not_printed > 0 {
        parsed.notes.push(format!(
            "{} more findings were not printed by Biome",
            report.summary.not_printed
        ));
    }
    for item in items {
        let message = match item.message {
            Text::Plain(text) => text,
            Text::Pieces(pieces) => pieces.into_iter().map(|piece| piece.content).collect(),
        };
        let message = if message.is_empty() {
            item.description.unwrap_or_default()
        } else {
            message
        };
        let category = item.category;
        let path = item.location.as_ref().and_then(|location| {
            location.path.as_ref().map(|path| match path {
                Path::Plain(path) | Path::Object { file: path } => path.as_str(),
            })
        });
        let Some(path) = path.filter(|path| !path.is_empty()) else {
            parsed.broken = true;
            parsed.notes.push(message);
            continue;
        };
        if category
            .as_deref()
            .is_some_and(|category| category.starts_with("internalError/"))
        {
            parsed.broken = true;
            parsed.notes.push(format!("{path}: {message}"));
            continue;
        }
        let named = reading.locator.find(path);
        let place = named.map(|named| {
            let bom = named.text.as_ref().map_or(0, |text| text.bom_len());
            let span = item
                .location
                .as_ref()
                .map_or(Span::File, |location| span_of(location, bom));
            place(&named, &COLUMNS, span)
        });
        parsed.findings.push(Finding {
            place,
            href: category.as_deref().and_then(href),
            code: category,
            tags: item
                .tags
                .iter()
                .filter_map(|tag| match tag.as_str() {
                    "unnecessaryCode" => Some(crate::kernel::finding::FindingTag::Unnecessary),
                    "deprecatedCode" => Some(crate::kernel::finding::FindingTag::Deprecated),
                    _ => None,
                })
                .collect(),
            ..reading.finding(
                lines::severity(&item.severity).unwrap_or(Severity::Error),
                &message,
            )
        });
    }
    parsed
}

fn span_of(location: &Location, bom: usize) -> Span {
    if let Some((start, end)) = location.span {
        return Span::Bytes(start.saturating_sub(bom), end.saturating_sub(bom));
    }
    let number = |point: &Option<Point>| {
        (
            point.as_ref().map(|at| at.line).filter(|line| *line > 0),
            point
                .as_ref()
                .map(|at| at.column)
                .filter(|column| *column > 0),
        )
    };
    Span::from_numbers(number(&location.start), number(&location.end))
}

/// `lint/suspicious/noDoubleEquals` has a page `no-double-equals`.
fn href(category: &str) -> Option<String> {
    let mut parts = category.strip_prefix("lint/")?.splitn(2, '/');
    let (_, rule) = (parts.next()?, parts.next()?);
    let mut page = String::new();
    for c in rule.chars() {
        if c.is_ascii_uppercase() {
            page.push('-');
        }
        page.push(c.to_ascii_lowercase());
    }
    Some(format!("https://biomejs.dev/linter/rules/{page}"))
}

/// `path:line:column parse ━━━`, then `× message`: the first one, as the others follow from it.
fn configuration(reading: &Reading<'_>, output: &ToolOutput, text: &str, parsed: &mut Parsed) {
    let mut at = None;
    for line in text.lines() {
        if let Some((head, _)) = line.split_once(" ━")
            && let Some((path, _)) = head.rsplit_once(' ')
        {
            at = super::rustc_text::file_line_column(path);
        } else if let Some(message) = line.trim().strip_prefix("× ") {
            let place = at.and_then(|(file, line, column)| {
                let named = reading.locator.find(file)?;
                Some(place(&named, &COLUMNS, Span::Start(line, column)))
            });
            if let Some(place) = place {
                parsed.troubles.push(reading.trouble(Some(place), message));
                return;
            }
        }
    }
    if text.contains("configuration") && output.exit.code() == Some(1) {
        let message = text.lines().find_map(|line| line.trim().strip_prefix("× "));
        parsed.troubles.push(lines::config_trouble(
            reading,
            output,
            message.unwrap_or_default(),
            &["biome.json", "biome.jsonc"],
        ));
    }
}
