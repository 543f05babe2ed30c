//! oxlint: JSON with byte offsets.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::{self, Found};
use super::lines::{config_trouble, severity};
use super::sarif;
use crate::gates::columns::{Columns, Unit};
use crate::gates::locate::Named;
use crate::gates::outcome::ReportState;
use crate::gates::output::{ToolOutput, plain};
use crate::gates::place::{Span as At, place};
use crate::gates::reading::{Parsed, Reading};
use crate::gates::text::LineRule;
use crate::kernel::finding::{Finding, FindingTag, Severity};

/// Also of its SARIF, which says code points.
pub const COLUMNS: Columns = Columns::new(Unit::Bytes).bom_counts(3).lines(LineRule::Lf);

#[derive(Deserialize)]
struct Report {
    diagnostics: Vec<Box<RawValue>>,
    #[serde(default)]
    number_of_files: Option<u64>,
}

#[derive(Deserialize)]
struct Item {
    #[serde(default)]
    message: String,
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    severity: String,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    help: Option<String>,
    #[serde(default)]
    filename: String,
    #[serde(default)]
    labels: Vec<Label>,
}

#[derive(Deserialize)]
struct Label {
    #[serde(default)]
    label: Option<String>,
    span: LabelSpan,
}

#[derive(Deserialize)]
struct LabelSpan {
    #[serde(default)]
    offset: usize,
    #[serde(default)]
    length: usize,
    #[serde(default)]
    line: Option<i64>,
    #[serde(default)]
    column: Option<i64>,
}

pub fn read(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let mut parsed = match json::find::<Report>(&output.stdout) {
        Found::Whole(report) => {
            let (items, lost) = json::items::<Item>(&report.diagnostics);
            let mut parsed =
                Parsed::whole(items.iter().map(|item| finding(reading, item)).collect());
            parsed.notes.extend(json::lost_note(lost));
            parsed.nothing = report.number_of_files == Some(0) && output.exit.code() == Some(0);
            parsed
        }
        Found::CutOff => Parsed::new(ReportState::CutOff),
        Found::Absent if sarif::is_sarif(&output.stdout) => {
            sarif::read_as(reading, &output.stdout, sarif::Dialect::measured(COLUMNS))
        }
        Found::Absent => Parsed::absent(),
    };
    if parsed.report == ReportState::Absent {
        let text = format!("{}\n{}", plain(&output.stdout), plain(&output.stderr));
        if text.to_lowercase().contains("config") {
            parsed.troubles.push(config_trouble(
                reading,
                output,
                text.trim(),
                &[".oxlintrc.json", "oxlint.config.ts"],
            ));
        }
    }
    parsed
}

fn finding(reading: &Reading<'_>, item: &Item) -> Finding {
    let named = reading.locator.find(&item.filename);
    let mut labels = item.labels.iter();
    let first = labels.next();
    let place_of = |named: &Named, label: &Label| place(named, &COLUMNS, span(named, &label.span));
    let related = named
        .as_deref()
        .map(|named| {
            labels
                .map(|label| {
                    let text = label.label.as_deref().unwrap_or("see also");
                    reading.related(place_of(named, label), text)
                })
                .collect()
        })
        .unwrap_or_default();
    let mut message = item.message.clone();
    for more in [
        first.and_then(|label| label.label.as_deref()),
        item.help.as_deref(),
    ]
    .into_iter()
    .flatten()
    .filter(|more| !more.is_empty())
    {
        message.push('\n');
        message.push_str(more);
    }
    let code = item.code.clone().filter(|code| !code.is_empty());
    Finding {
        place: named.as_deref().map(|named| match first {
            Some(label) => place_of(named, label),
            None => place(named, &COLUMNS, At::File),
        }),
        href: item.url.clone().filter(|url| !url.is_empty()),
        tags: match &code {
            Some(code)
                if code.ends_with("(no-unused-vars)") || code.ends_with("(no-unreachable)") =>
            {
                vec![FindingTag::Unnecessary]
            }
            Some(_) | None => Vec::new(),
        },
        code,
        related,
        ..reading.finding(
            severity(&item.severity).unwrap_or(Severity::Error),
            &message,
        )
    }
}

/// The offset, when it leads to the line that is named too; else line and column.
fn span(named: &Named, span: &LabelSpan) -> At {
    let Some(text) = &named.text else {
        return At::from_numbers((span.line, span.column), (None, None));
    };
    let start = span.offset.saturating_sub(text.bom_len());
    let end = start.saturating_add(span.length);
    let line = i64::try_from(text.line_of(LineRule::Lf, start)).map_or(0, |line| line + 1);
    match (span.line, span.column) {
        (Some(said), Some(column)) if said != line || end > text.body().len() => {
            let from = COLUMNS.offset(text, said, column);
            At::Bytes(from, from.saturating_add(span.length))
        }
        _ => At::Bytes(start, end),
    }
}
