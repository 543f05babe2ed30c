//! Checkstyle XML, which many linters can write.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::lines::severity;
use crate::gates::columns::{Columns, Unit};
use crate::gates::outcome::ReportState;
use crate::gates::output::ToolOutput;
use crate::gates::place::{Span, checked};
use crate::gates::reading::{Parsed, Reading};
use crate::kernel::finding::{Finding, Severity};

/// Nobody says what a column is; most producers are of the JavaScript or Java world.
const COLUMNS: Columns = Columns::new(Unit::Utf16);

pub fn read(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let bytes = output.artifact(".xml").unwrap_or(&output.stdout);
    let start = bytes
        .windows(5)
        .position(|window| window == b"<?xml" || window == b"<chec");
    let Some(bytes) = start.and_then(|at| bytes.get(at..)) else {
        return Parsed::absent();
    };
    let text = String::from_utf8_lossy(bytes);
    let mut reader = Reader::from_str(&text);
    reader.config_mut().check_end_names = false;
    reader.config_mut().allow_unmatched_ends = true;
    let mut parsed = Parsed::absent();
    let mut file: Option<String> = None;
    let mut depth = 0_i64;
    while let Ok(event) = reader.read_event() {
        match event {
            Event::Start(start) => {
                depth += 1;
                open(reading, &start, &mut file, &mut parsed);
            }
            Event::Empty(start) => open(reading, &start, &mut file, &mut parsed),
            Event::End(_) => depth -= 1,
            Event::Eof => {
                if parsed.report == ReportState::CutOff && depth <= 0 {
                    parsed.report = ReportState::Whole;
                }
                break;
            }
            _ => {}
        }
    }
    parsed
}

fn open(
    reading: &Reading<'_>,
    start: &BytesStart<'_>,
    file: &mut Option<String>,
    parsed: &mut Parsed,
) {
    let get = |name: &str| super::junit::attribute(start, name);
    match start.local_name().as_ref() {
        // Whole only when its end is seen.
        "checkstyle" => parsed.report = ReportState::CutOff,
        "file" => *file = get("name"),
        "error" if parsed.report != ReportState::Absent => {
            let number = |name: &str| {
                get(name)
                    .and_then(|text| text.trim().parse::<i64>().ok())
                    .filter(|number| *number > 0)
            };
            let span = Span::from_numbers(
                (number("line"), number("column")),
                (number("endLine"), number("endColumn")),
            );
            let message = get("message").unwrap_or_default();
            let named = file.as_deref().and_then(|file| reading.locator.find(file));
            parsed.findings.push(Finding {
                place: named.map(|named| {
                    checked(&named, &reading.columns.unwrap_or(COLUMNS), span, &message)
                }),
                code: get("source")
                    .filter(|source| !source.is_empty())
                    .map(|source| source.rsplit('.').next().unwrap_or(&source).to_owned()),
                ..reading.finding(
                    get("severity")
                        .as_deref()
                        .and_then(severity)
                        .unwrap_or(Severity::Error),
                    &message,
                )
            });
        }
        _ => {}
    }
}
