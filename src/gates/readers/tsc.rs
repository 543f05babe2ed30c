//! TypeScript: the compiler's text, and the JSON lines of our helper that loads the project's own compiler.

use serde::Deserialize;

use super::json;
use crate::gates::columns::{Columns, Unit};
use crate::gates::outcome::ReportState;
use crate::gates::output::{ToolOutput, plain};
use crate::gates::place::{Span, place, quoted_names};
use crate::gates::reading::{Parsed, Reading, tidy};
use crate::gates::text::LineRule;
use crate::kernel::finding::{Finding, FindingTag, Place, Severity};

const TEXT: Columns = Columns::new(Unit::Utf16).lines(LineRule::Ecma);
const HELPER: Columns = TEXT.line_from(0).column_from(0);

#[derive(Deserialize)]
struct Item {
    #[serde(default)]
    file: Option<String>,
    #[serde(default)]
    range: Option<Range>,
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    category: u8,
    message: String,
    #[serde(default)]
    unnecessary: Option<bool>,
    #[serde(default)]
    deprecated: Option<bool>,
    #[serde(default)]
    related: Vec<Option<RelatedItem>>,
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

#[derive(Deserialize)]
struct RelatedItem {
    file: String,
    start: Point,
    #[serde(default)]
    end: Option<Point>,
    #[serde(default)]
    message: String,
}

pub fn read(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let mut parsed = Parsed::absent();
    let mut seen_json = false;
    for item in json::lines::<Item>(&output.stdout) {
        seen_json = true;
        match item {
            Ok(item) => {
                let finding = from_helper(reading, &item);
                parsed.findings.push(finding);
                parsed.report = ReportState::Whole;
            }
            Err(()) => {
                parsed.report = ReportState::CutOff;
                return parsed;
            }
        }
    }
    let text = plain(&output.stdout);
    if !seen_json {
        for line in text.lines() {
            add_line(reading, line, &mut parsed);
        }
    }
    if parsed.report == ReportState::Absent && output.exit.code() == Some(0) {
        // Silence is how tsc says that all is well.
        parsed.report = ReportState::Whole;
    }
    parsed
}

fn from_helper(reading: &Reading<'_>, item: &Item) -> Finding {
    let span = item.range.as_ref().map_or(Span::File, |range| Span::Exact {
        start: (range.start.line, range.start.character),
        end: (range.end.line, range.end.character),
    });
    let place = match &item.file {
        Some(file) => reading.place(file, &HELPER, span),
        None => project_place(reading, &item.message),
    };
    let severity = match item.category {
        0 => Severity::Warning,
        2 => Severity::Hint,
        3 => Severity::Information,
        _ => Severity::Error,
    };
    let mut tags = Vec::new();
    if item.unnecessary == Some(true) {
        tags.push(FindingTag::Unnecessary);
    }
    if item.deprecated == Some(true) {
        tags.push(FindingTag::Deprecated);
    }
    let related = item
        .related
        .iter()
        .flatten()
        .filter_map(|related| {
            let start = (related.start.line, related.start.character);
            let span = related
                .end
                .as_ref()
                .map_or(Span::Start(start.0, start.1), |end| Span::Exact {
                    start,
                    end: (end.line, end.character),
                });
            let place = reading.place(&related.file, &HELPER, span)?;
            Some(reading.related(place, &related.message))
        })
        .collect();
    Finding {
        place,
        code: item.code.clone(),
        tags,
        related,
        ..reading.finding(severity, &item.message)
    }
}

fn add_line(reading: &Reading<'_>, line: &str, parsed: &mut Parsed) {
    if line.starts_with([' ', '\t']) {
        // The explanation of the error before it.
        explanation(reading, line, parsed);
        return;
    }
    let Some((place, rest)) = located(reading, line).or_else(|| {
        severity_of(line)?;
        Some((project_place(reading, line), line))
    }) else {
        return;
    };
    let Some((severity, rest)) = severity_of(rest) else {
        return;
    };
    let (code, message) = match rest.split_once(": ") {
        Some((code, message)) if code.starts_with("TS") && !code.contains(' ') => {
            (Some(code.to_owned()), message)
        }
        Some(_) | None => (None, rest),
    };
    parsed.report = ReportState::Whole;
    parsed.findings.push(Finding {
        place,
        tags: match code.as_deref() {
            Some("TS6133" | "TS6138" | "TS6192" | "TS6196" | "TS6198" | "TS7027") => {
                vec![FindingTag::Unnecessary]
            }
            Some("TS6385" | "TS6387") => vec![FindingTag::Deprecated],
            Some(_) | None => Vec::new(),
        },
        code,
        ..reading.finding(severity, message)
    });
}

fn explanation(reading: &Reading<'_>, line: &str, parsed: &mut Parsed) {
    let Some(last) = parsed.findings.last_mut() else {
        return;
    };
    // `--pretty` draws the code, and names places that belong to the error.
    if line.contains('~') && line.trim().chars().all(|c| c == '~') {
        return;
    }
    let related = line.trim().split_once(" - ").and_then(|(at, message)| {
        let (file, line, column) = super::rustc_text::file_line_column(at)?;
        let place = reading.place(file, &TEXT, Span::Start(line, column))?;
        (column > 0 && place.hash.is_some()).then(|| reading.related(place, message))
    });
    match related {
        Some(related) => last.related.push(related),
        None if last.related.is_empty() => {
            last.message.push('\n');
            last.message.push_str(&tidy_line(line));
        }
        // The drawing below such a place.
        None => {}
    }
}

fn tidy_line(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    format!("{}{}", " ".repeat(indent.min(40)), tidy(line, 4096))
}

/// `path(line,column): ` and, with `--pretty`, `path:line:column - `.
fn located<'t>(reading: &Reading<'_>, line: &'t str) -> Option<(Option<Place>, &'t str)> {
    let (file, numbers, rest) = parenthesised(line).or_else(|| {
        let (at, rest) = line.split_once(" - ")?;
        let (file, line, column) = super::rustc_text::file_line_column(at)?;
        (column > 0).then_some((file, (line, column), rest))
    })?;
    severity_of(rest)?;
    let place = reading.place(file, &TEXT, Span::Start(numbers.0, numbers.1));
    Some((place, rest))
}

fn parenthesised(line: &str) -> Option<(&str, (i64, i64), &str)> {
    let close = line.find("): ")?;
    let before = line.get(..close)?;
    let open = before.rfind('(')?;
    let (row, column) = before.get(open + 1..)?.split_once(',')?;
    let file = before.get(..open).filter(|file| !file.is_empty())?;
    Some((
        file,
        (row.parse().ok()?, column.parse().ok()?),
        line.get(close + 3..)?,
    ))
}

fn severity_of(text: &str) -> Option<(Severity, &str)> {
    for (word, severity) in [
        ("error ", Severity::Error),
        ("warning ", Severity::Warning),
        ("message ", Severity::Information),
        ("error: ", Severity::Error),
    ] {
        if let Some(rest) = text.strip_prefix(word)
            && (word.ends_with(": ") || rest.starts_with("TS"))
        {
            return Some((severity, rest));
        }
    }
    None
}

/// Where an error of the whole project is shown: the configuration it names, else the one it was run with.
fn project_place(reading: &Reading<'_>, message: &str) -> Option<Place> {
    let project = reading
        .invocation
        .argv
        .windows(2)
        .find(|pair| matches!(pair[0].as_str(), "-p" | "--project" | "-b" | "--build"))
        .map(|pair| pair[1].as_str());
    let inside = project.map(|project| format!("{}/tsconfig.json", project.trim_end_matches('/')));
    let named = quoted_names(message)
        .into_iter()
        .filter(|name| name.ends_with(".json"))
        .chain(project)
        .chain(inside.as_deref())
        .chain(["tsconfig.json", "jsconfig.json"])
        .filter_map(|name| reading.locator.find(name))
        .find(|named| named.text.is_some())?;
    Some(place(&named, &TEXT, Span::File))
}
