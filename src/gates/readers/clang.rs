//! Clang: text with source ranges and fix-its, and SARIF on stderr.

use super::gcc::{is_noise, option_of, tags};
use super::lines::{head, severity};
use super::sarif;
use crate::gates::columns::{Columns, Unit};
use crate::gates::outcome::ReportState;
use crate::gates::output::{ToolOutput, plain};
use crate::gates::place::{Span, place};
use crate::gates::reading::{Parsed, Reading};
use crate::gates::text::LineRule;
use crate::kernel::finding::{Applicability, Finding, Fix, FixEdit, Related, Severity};

const TEXT: Columns = Columns::new(Unit::Bytes).bom_counts(3).lines(LineRule::Lf);
pub const SARIF: Columns = Columns::new(Unit::CodePoints)
    .bom_counts(1)
    .lines(LineRule::Lf);

pub fn read(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    if sarif::is_sarif(&output.stderr) {
        return sarif::read_as(
            reading,
            &output.stderr,
            sarif::Dialect {
                columns: Some(SARIF),
                hide_rule_ids: true,
                whole_lines: false,
            },
        );
    }
    let mut parsed = Parsed::absent();
    let text = plain(&output.stderr);
    let mut included: Vec<Related> = Vec::new();
    for line in text.lines() {
        if let Some(at) = line.strip_prefix("In file included from ") {
            if let Some((file, line, _)) = super::rustc_text::file_line_column(at)
                && let Some(place) = reading.place(file, &TEXT, Span::Line(line))
            {
                included.push(reading.related(place, "included from here"));
            }
            continue;
        }
        if let Some(fix) = line.strip_prefix("fix-it:") {
            add_fix(reading, fix, &mut parsed);
            continue;
        }
        add_line(reading, line, &mut included, &mut parsed);
    }
    if parsed.report == ReportState::Absent && output.exit.code() == Some(0) {
        parsed.report = ReportState::Whole;
    }
    if parsed.findings.is_empty()
        && (text.contains("no such file or directory") || text.contains("unknown argument"))
    {
        parsed.broken = true;
    }
    parsed
}

fn add_line(reading: &Reading<'_>, line: &str, included: &mut Vec<Related>, parsed: &mut Parsed) {
    let Some(head) = head(line) else { return };
    let (ranges, rest) = ranges(head.rest);
    let Some((word, message)) = rest.split_once(": ") else {
        return;
    };
    if !matches!(
        word,
        "error" | "fatal error" | "warning" | "note" | "remark"
    ) {
        return;
    }
    let Some(named) = reading.locator.find(head.file) else {
        return;
    };
    // The range that holds the caret is the finding's own.
    let caret = (head.line().unwrap_or(0), head.column().unwrap_or(0));
    let own = ranges
        .iter()
        .find(|(start, end)| *start <= caret && caret < *end);
    let span = match own {
        Some((start, end)) => Span::Exact {
            start: *start,
            end: *end,
        },
        None => head.span(),
    };
    let place = place(&named, &TEXT, span);
    let (message, option) = option_of(message);
    parsed.report = ReportState::Whole;
    if word == "note" {
        if let Some(last) = parsed.findings.last_mut()
            && !is_noise(message)
        {
            last.related.push(reading.related(place, message));
        }
        return;
    }
    parsed.findings.push(Finding {
        place: Some(place),
        href: option.and_then(|option| {
            let name = option.strip_prefix("-W")?.split('=').next()?;
            Some(format!(
                "https://clang.llvm.org/docs/DiagnosticsReference.html#w{}",
                name.to_ascii_lowercase()
            ))
        }),
        tags: tags(option),
        code: option.map(str::to_owned),
        related: std::mem::take(included),
        ..reading.finding(severity(word).unwrap_or(Severity::Information), message)
    });
}

type Range = ((i64, i64), (i64, i64));

/// `{2:3-2:9}{4:1-4:2}: rest`.
fn ranges(text: &str) -> (Vec<Range>, &str) {
    let mut ranges = Vec::new();
    let mut rest = text;
    while let Some((inner, after)) = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
        if let Some((start, end)) = inner.split_once('-')
            && let (Some(start), Some(end)) = (point(start), point(end))
        {
            ranges.push((start, end));
        }
        rest = after;
    }
    (ranges, rest.strip_prefix(": ").unwrap_or(rest))
}

fn point(text: &str) -> Option<(i64, i64)> {
    let (line, column) = text.split_once(':')?;
    Some((line.parse().ok()?, column.parse().ok()?))
}

/// `"path":{2:3-2:4}:"text"`, a part of the fix of the last message.
fn add_fix(reading: &Reading<'_>, text: &str, parsed: &mut Parsed) {
    let Some((file, rest)) = text
        .strip_prefix('"')
        .and_then(|text| text.split_once("\":"))
    else {
        return;
    };
    let (ranges, _) = ranges(rest);
    let Some((start, end)) = ranges.first().copied() else {
        return;
    };
    let Some((_, new_text)) = rest.split_once("}:\"") else {
        return;
    };
    let new_text = unescape(new_text.strip_suffix('"').unwrap_or(new_text));
    let span = Span::Exact { start, end };
    let Some(place) = reading
        .place(file, &TEXT, span)
        .filter(|place| place.hash.is_some())
    else {
        return;
    };
    let Some(last) = parsed.findings.last_mut() else {
        return;
    };
    let edit = FixEdit { place, new_text };
    match last.fixes.last_mut() {
        Some(fix) => fix.edits.push(edit),
        None => last.fixes.push(Fix {
            title: "Apply Clang's fix-it".to_owned(),
            applicability: Applicability::Suggestion,
            edits: vec![edit],
        }),
    }
}

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        match c {
            '\\' => match letters.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            c => out.push(c),
        }
    }
    out
}
