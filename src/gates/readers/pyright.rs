//! pyright and basedpyright: one JSON object, already in the editor's own terms.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::{self, Found};
use super::lines::config_trouble;
use crate::gates::columns::{Columns, Unit};
use crate::gates::outcome::ReportState;
use crate::gates::output::{ToolOutput, plain};
use crate::gates::place::{Span, place};
use crate::gates::reading::{Parsed, Reading};
use crate::kernel::finding::{Finding, FindingTag, Severity};

const COLUMNS: Columns = Columns::new(Unit::Utf16)
    .line_from(0)
    .column_from(0)
    .bom_counts(1);
const CONFIGS: [&str; 2] = ["pyrightconfig.json", "pyproject.toml"];

#[derive(Deserialize)]
struct Report {
    #[serde(rename = "generalDiagnostics")]
    diagnostics: Vec<Box<RawValue>>,
    #[serde(default)]
    summary: Summary,
}

#[derive(Deserialize, Default)]
struct Summary {
    #[serde(rename = "filesAnalyzed", default)]
    files_analyzed: Option<u64>,
}

#[derive(Deserialize)]
struct Item {
    #[serde(default)]
    file: String,
    #[serde(default)]
    severity: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    range: Option<Range>,
    #[serde(default)]
    rule: Option<String>,
}

#[derive(Deserialize)]
struct Range {
    start: Point,
    end: Point,
}

#[derive(Deserialize)]
struct Point {
    line: i64,
    character: i64,
}

pub fn read(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let text = format!("{}\n{}", plain(&output.stderr), plain_head(&output.stdout));
    let mut parsed = match json::find::<Report>(&output.stdout) {
        Found::Whole(report) => {
            let (items, lost) = json::items::<Item>(&report.diagnostics);
            let mut parsed = Parsed::whole(
                items
                    .into_iter()
                    .map(|item| finding(reading, item))
                    .collect(),
            );
            parsed.notes.extend(json::lost_note(lost));
            parsed.nothing =
                report.summary.files_analyzed == Some(0) && text.contains("No source files found");
            parsed
        }
        Found::CutOff => Parsed::new(ReportState::CutOff),
        Found::Absent => Parsed::absent(),
    };
    let complaint = text.lines().map(str::trim).find(|line| {
        line.contains("could not be parsed")
            || line.contains("Config file \"")
            || line.contains("is not a valid")
            || (line.starts_with("Config") && line.contains("entry"))
    });
    // Status 3 is a bad configuration, with a valid report of no errors.
    if output.exit.code() == Some(3)
        || (parsed.report == ReportState::Absent && complaint.is_some())
    {
        let message = complaint.unwrap_or("the configuration could not be read");
        parsed
            .troubles
            .push(config_trouble(reading, output, message, &CONFIGS));
    }
    parsed
}

/// Text before the JSON.
fn plain_head(stdout: &[u8]) -> String {
    plain(stdout.get(..stdout.len().min(4096)).unwrap_or_default())
}

fn finding(reading: &Reading<'_>, item: Item) -> Finding {
    let severity = match item.severity.as_str() {
        "warning" => Severity::Warning,
        "information" => Severity::Information,
        "hint" | "unreachable" | "unused" | "deprecated" => Severity::Hint,
        _ => Severity::Error,
    };
    let span = item.range.map_or(Span::File, |range| Span::Exact {
        start: (range.start.line, range.start.character),
        end: (range.end.line, range.end.character),
    });
    let tags = match item.rule.as_deref() {
        Some(
            "reportUnusedImport"
            | "reportUnusedVariable"
            | "reportUnusedClass"
            | "reportUnusedFunction",
        ) => vec![FindingTag::Unnecessary],
        Some("reportDeprecated") => vec![FindingTag::Deprecated],
        Some(_) | None => Vec::new(),
    };
    let page = if reading.source == "basedpyright" {
        "https://docs.basedpyright.com/latest/configuration/config-files/#"
    } else {
        "https://github.com/microsoft/pyright/blob/main/docs/configuration.md#"
    };
    Finding {
        place: reading
            .locator
            .find(&item.file)
            .map(|named| place(&named, &COLUMNS, span)),
        href: item.rule.as_ref().map(|rule| format!("{page}{rule}")),
        code: item.rule,
        tags,
        ..reading.finding(severity, &item.message)
    }
}
