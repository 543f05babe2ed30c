//! rustfmt's `--check`: a diff for people, read back into edits.

use super::cargo::RUSTC;
use super::rustc_text;
use crate::gates::locate::Named;
use crate::gates::outcome::ReportState;
use crate::gates::output::{ToolOutput, plain};
use crate::gates::place::{Span, non_blank, place};
use crate::gates::reading::{Parsed, Reading};
use crate::gates::text::{LineRule, SourceText};
use crate::kernel::finding::{Applicability, Finding, Fix, FixEdit, RangeKind, Severity};

/// One hunk: the file, the 1-based line of its first row, the rows with their marks.
struct Hunk<'t> {
    file: &'t str,
    line: usize,
    rows: Vec<(char, &'t str)>,
}

pub fn read(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let mut parsed = Parsed::absent();
    let text = String::from_utf8_lossy(&output.stdout);
    let lists = reading
        .invocation
        .argv
        .iter()
        .any(|argument| argument == "-l" || argument == "--files-with-diff");
    if lists {
        for line in text.lines() {
            let named = reading
                .locator
                .find(line)
                .filter(|named| named.text.is_some());
            if let Some(named) = named {
                parsed.report = ReportState::Whole;
                parsed.findings.push(Finding {
                    place: Some(reading.file(&named)),
                    code: Some("unformatted".to_owned()),
                    ..reading.finding(Severity::Warning, "rustfmt would change this file")
                });
            }
        }
    }
    for hunk in hunks(&text) {
        parsed.report = ReportState::Whole;
        if let Some(finding) = finding(reading, &hunk) {
            parsed.findings.push(finding);
        }
    }
    if output.exit.code() == Some(0) && parsed.report == ReportState::Absent {
        parsed.report = ReportState::Whole;
    }
    if output.exit.code() != Some(0) {
        let text = plain(&output.stderr).replace("`cargo metadata` exited with an error: ", "");
        rustc_text::read_into(reading, &text, &mut parsed);
    }
    parsed
}

/// `Diff in PATH:LINE:`, and `Diff in PATH at line LINE:` of older releases.
fn hunks(text: &str) -> Vec<Hunk<'_>> {
    let mut hunks: Vec<Hunk<'_>> = Vec::new();
    for line in text.split('\n') {
        if let Some(at) = line.trim_end().strip_prefix("Diff in ") {
            let at = at.trim_end_matches(':');
            let parts = at.rsplit_once(" at line ").or_else(|| at.rsplit_once(':'));
            if let Some((file, number)) = parts
                && let Ok(line) = number.parse()
            {
                hunks.push(Hunk {
                    file,
                    line,
                    rows: Vec::new(),
                });
            }
            continue;
        }
        let Some(hunk) = hunks.last_mut() else {
            continue;
        };
        let mut letters = line.chars();
        if let Some(mark @ (' ' | '-' | '+')) = letters.next() {
            hunk.rows.push((mark, letters.as_str()));
        }
    }
    hunks
}

fn finding(reading: &Reading<'_>, hunk: &Hunk<'_>) -> Option<Finding> {
    let named = reading.locator.find(hunk.file)?;
    let common = Finding {
        code: Some("unformatted".to_owned()),
        ..reading.finding(Severity::Warning, "rustfmt would lay this out otherwise")
    };
    let Some(text) = &named.text else {
        let line = i64::try_from(hunk.line).unwrap_or(1);
        return Some(Finding {
            place: Some(place(&named, &RUSTC, Span::Line(line))),
            ..common
        });
    };
    let edits = edits(&named, text, hunk);
    let (first, last) = changed_lines(hunk);
    let (start, _) = non_blank(text, LineRule::Lf, first);
    let (_, end) = non_blank(text, LineRule::Lf, last);
    let place = crate::kernel::finding::Place {
        kind: RangeKind::Line,
        ..place(&named, &RUSTC, Span::Bytes(start, end))
    };
    Some(Finding {
        place: Some(place),
        fixes: edits
            .map(|edits| Fix {
                title: "Format with rustfmt".to_owned(),
                applicability: Applicability::Safe,
                edits,
            })
            .into_iter()
            .collect(),
        rendered: Some(
            hunk.rows
                .iter()
                .map(|(mark, row)| format!("{mark}{row}\n"))
                .collect(),
        ),
        ..common
    })
}

/// 0-based lines of the file, from the first to the last one that changes.
fn changed_lines(hunk: &Hunk<'_>) -> (usize, usize) {
    let mut line = hunk.line.saturating_sub(1);
    let mut changed: Option<(usize, usize)> = None;
    for (mark, _) in &hunk.rows {
        match mark {
            '-' => {
                changed = Some(changed.map_or((line, line), |(first, _)| (first, line)));
                line += 1;
            }
            '+' => {
                let at = line;
                changed.get_or_insert((at, at));
            }
            _ => line += 1,
        }
    }
    changed.unwrap_or((line, line))
}

/// The hunk as edits of whole lines; `None` when the file does not read as the hunk says.
fn edits(named: &Named, text: &SourceText, hunk: &Hunk<'_>) -> Option<Vec<FixEdit>> {
    let mut line = hunk.line.checked_sub(1)?;
    let mut edits: Vec<(usize, usize, String)> = Vec::new();
    let end_of_line = |line: usize| {
        text.line(LineRule::Lf, line + 1)
            .map_or(text.body().len(), |span| span.start)
    };
    let mut open: Option<(usize, usize, String)> = None;
    for (mark, row) in &hunk.rows {
        if *mark == ' ' {
            edits.extend(open.take());
        } else if open.is_none() {
            let start = text.line(LineRule::Lf, line)?.start;
            open = Some((start, start, String::new()));
        }
        if *mark != '+' {
            let known = text.line(LineRule::Lf, line)?;
            if text.slice(known) != row.trim_end_matches('\r') {
                // The last row of a hunk may be the empty line after the end.
                if *mark == ' ' && row.is_empty() {
                    continue;
                }
                return None;
            }
        }
        match (mark, &mut open) {
            ('-', Some((_, end, _))) => {
                *end = end_of_line(line);
                line += 1;
            }
            ('+', Some((_, _, new_text))) => {
                new_text.push_str(row.trim_end_matches('\r'));
                new_text.push_str(line_ending(text));
            }
            _ => line += 1,
        }
    }
    edits.extend(open);
    // At the end of a file without a last line ending the rows of the diff are separated, not ended.
    let unended = text.body().last().is_some_and(|byte| *byte != b'\n');
    Some(
        edits
            .into_iter()
            .map(|(start, end, mut new_text)| {
                if unended && end == text.body().len() {
                    let kept = new_text.len().saturating_sub(line_ending(text).len());
                    new_text.truncate(kept);
                }
                FixEdit {
                    place: place(named, &RUSTC, Span::Bytes(start, end)),
                    new_text,
                }
            })
            .collect(),
    )
}

fn line_ending(text: &SourceText) -> &'static str {
    let first = text.line(LineRule::Lf, 0).map_or(0, |span| span.end);
    if text.body().get(first) == Some(&b'\r') {
        "\r\n"
    } else {
        "\n"
    }
}
