//! Jest and Vitest: the JSON form they share, and the JSON lines of our Vitest reporter.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::js_stack::{self, BABEL, V8};
use super::json::{self, Found};
use super::prettier::place_at_end;
use crate::gates::columns::Unit;
use crate::gates::locate::Named;
use crate::gates::outcome::ReportState;
use crate::gates::output::{ToolOutput, plain};
use crate::gates::place::{Span, place};
use crate::gates::reading::{Parsed, Reading, tidy};
use crate::kernel::finding::{Finding, Place, Severity};

#[derive(Deserialize)]
struct Report {
    #[serde(rename = "testResults")]
    suites: Vec<Box<RawValue>>,
    #[serde(rename = "numTotalTests", default)]
    total: u64,
    #[serde(rename = "numTotalTestSuites", default)]
    total_suites: u64,
}

#[derive(Deserialize)]
struct Suite {
    #[serde(default)]
    name: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    message: Option<String>,
    #[serde(rename = "assertionResults", default)]
    tests: Vec<Test>,
}

#[derive(Deserialize)]
struct Test {
    #[serde(rename = "ancestorTitles", default)]
    ancestors: Vec<String>,
    #[serde(default)]
    title: String,
    #[serde(default)]
    status: String,
    #[serde(rename = "failureMessages", default)]
    messages: Option<Vec<String>>,
    #[serde(rename = "failureDetails", default)]
    details: Vec<serde_json::Value>,
    #[serde(default)]
    location: Option<Location>,
}

#[derive(Deserialize)]
struct Location {
    line: i64,
    column: i64,
}

/// Jest, and Vitest's own JSON reporter.
pub fn read(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let mut parsed = match json::find::<Report>(&output.stdout) {
        Found::Whole(report) => {
            let (suites, lost) = json::items::<Suite>(&report.suites);
            let mut parsed = Parsed::whole(Vec::new());
            parsed.notes.extend(json::lost_note(lost));
            for suite in &suites {
                add_suite(reading, suite, &mut parsed);
            }
            parsed.nothing =
                report.total == 0 && report.total_suites == 0 && parsed.findings.is_empty();
            parsed
        }
        Found::CutOff => Parsed::new(ReportState::CutOff),
        Found::Absent => Parsed::absent(),
    };
    let text = plain(&output.stderr);
    if text.contains("No tests found") || text.contains("No test files found") {
        parsed.nothing = true;
    }
    if parsed.report == ReportState::Absent && !parsed.nothing {
        let complaint = text.lines().find(|line| {
            line.contains("Validation Error") || line.contains("failed to load config")
        });
        if let Some(line) = complaint {
            parsed.troubles.push(super::lines::config_trouble(
                reading,
                output,
                &format!("{}\n{text}", line.trim_start_matches(['●', ' '])),
                &[
                    "jest.config.js",
                    "jest.config.ts",
                    "vitest.config.ts",
                    "vitest.config.js",
                    "vite.config.ts",
                    "vite.config.js",
                    "package.json",
                ],
            ));
        }
    }
    parsed
}

fn add_suite(reading: &Reading<'_>, suite: &Suite, parsed: &mut Parsed) {
    let named = reading.locator.find(&suite.name);
    let mut any = false;
    for test in &suite.tests {
        if test.status != "failed" {
            continue;
        }
        any = true;
        let id = test
            .ancestors
            .iter()
            .chain([&test.title])
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(" > ");
        let messages = test.messages.as_deref().unwrap_or_default();
        for (index, text) in messages.iter().enumerate() {
            let detail = test.details.get(index);
            add_failure(
                reading,
                (test, &id),
                (text, detail),
                named.as_deref(),
                parsed,
            );
        }
        if messages.is_empty() {
            parsed.findings.push(Finding {
                place: named.as_deref().map(|named| definition(named, test)),
                test: Some(id),
                ..reading.finding(Severity::Error, "the test failed without a message")
            });
        }
    }
    let message = suite.message.as_deref().unwrap_or_default();
    if suite.status == "failed" && !any && !message.trim().is_empty() {
        add_broken_suite(reading, message, named.as_deref(), parsed);
    }
}

fn definition(named: &Named, test: &Test) -> Place {
    let span = test.location.as_ref().map_or(Span::File, |location| {
        Span::Start(location.line, location.column)
    });
    place(named, &V8, span)
}

fn add_failure(
    reading: &Reading<'_>,
    (test, id): (&Test, &str),
    (text, detail): (&str, Option<&serde_json::Value>),
    named: Option<&Named>,
    parsed: &mut Parsed,
) {
    let text = tidy(text, 64 * 1024);
    let thrown = js_stack::split(&text);
    let (place, related) = js_stack::places(reading, &thrown.frames);
    // Jest's own matchers throw a bare `Error`, which says nothing.
    let is_matcher = detail.is_some_and(|detail| {
        detail
            .get("matcherResult")
            .is_some_and(|result| !result.is_null())
    });
    parsed.findings.push(Finding {
        place: place.or_else(|| named.map(|named| definition(named, test))),
        code: thrown
            .name
            .filter(|name| !(is_matcher && *name == "Error"))
            .map(str::to_owned),
        related,
        test: Some(id.to_owned()),
        rendered: Some(text.clone()),
        ..reading.finding(Severity::Error, thrown.message)
    });
}

/// A file of tests that could not be loaded: only a text, whose place is in its words.
fn add_broken_suite(
    reading: &Reading<'_>,
    message: &str,
    named: Option<&Named>,
    parsed: &mut Parsed,
) {
    let text = tidy(message, 64 * 1024);
    let body = text
        .strip_prefix("● Test suite failed to run")
        .unwrap_or(&text)
        .trim_start();
    let body = unindent(body);
    let thrown = js_stack::split(&body);
    let place = babel(reading, &body)
        .or_else(|| esbuild(reading, &body))
        .or_else(|| drawn(reading, &body))
        .or_else(|| js_stack::places(reading, &thrown.frames).0)
        .or_else(|| import_line(reading, &body, named))
        .or_else(|| named.map(|named| reading.file(named)));
    parsed.findings.push(Finding {
        place,
        code: None,
        rendered: Some(text.clone()),
        ..reading.finding(
            Severity::Error,
            &syntax_first(first_paragraphs(thrown_text(&body, &thrown)), &body),
        )
    });
}

fn thrown_text<'t>(body: &'t str, thrown: &js_stack::Thrown<'t>) -> &'t str {
    match thrown.name {
        // `SyntaxError` is worth reading; it stays in the message.
        Some(_) => body
            .get(
                ..body
                    .find(thrown.message)
                    .map_or(0, |at| at + thrown.message.len()),
            )
            .unwrap_or(body),
        None => thrown.message,
    }
}

/// Jest's advice on unknown syntax is longer than what is wrong, which comes first here.
fn syntax_first(message: &str, body: &str) -> String {
    let error = body
        .lines()
        .map(str::trim)
        .find(|line| line.starts_with("SyntaxError: "));
    match error {
        Some(line) if !message.starts_with(line) => format!("{line}\n{message}"),
        Some(_) | None => message.to_owned(),
    }
}

/// The text before a drawing of the code.
fn first_paragraphs(text: &str) -> &str {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        let is_drawing = trimmed.starts_with("> ") && trimmed.contains('|')
            || trimmed
                .split_once(" |")
                .is_some_and(|(number, _)| number.parse::<u32>().is_ok());
        if is_drawing {
            break;
        }
        at += line.len();
    }
    text.get(..at)
        .map(str::trim_end)
        .filter(|text| !text.is_empty())
        .unwrap_or(text)
}

fn unindent(text: &str) -> String {
    text.lines()
        .map(|line| line.strip_prefix("    ").unwrap_or(line))
        .collect::<Vec<_>>()
        .join("\n")
}

/// `SyntaxError: /path: message (line:column)`, columns from 0; and Vitest's `At file: /path:line:column`.
fn babel(reading: &Reading<'_>, text: &str) -> Option<Place> {
    for line in text.lines().take(60) {
        if let Some(at) = line.trim().strip_prefix("At file: ")
            && let Some((file, line, column)) = super::rustc_text::file_line_column(at)
        {
            // Vite names files from its own root.
            let named = reading
                .locator
                .find(file)
                .filter(|named| named.text.is_some())
                .or_else(|| reading.locator.find(file.trim_start_matches('/')))?;
            return Some(place(&named, &BABEL, Span::Start(line, column)));
        }
        let line = line.trim().trim_start_matches("SyntaxError: ");
        if let Some((before, line, column)) = place_at_end(line)
            && let Some((file, _)) = before.split_once(": ")
            && let Some(named) = reading.locator.find(file)
            && named.text.is_some()
        {
            return Some(place(&named, &BABEL, Span::Start(line, column)));
        }
    }
    None
}

/// `╭─[ path:line:column ]`, columns of characters from 1.
fn drawn(reading: &Reading<'_>, text: &str) -> Option<Place> {
    text.lines().take(60).find_map(|line| {
        let (_, rest) = line.split_once("╭─[ ")?;
        let at = rest.split_once(" ]").map(|(at, _)| at)?;
        let (file, line, column) = super::rustc_text::file_line_column(at)?;
        let named = reading.locator.find(file)?;
        let columns = V8.unit(Unit::CodePoints);
        named
            .text
            .is_some()
            .then(|| place(&named, &columns, Span::Start(line, column)))
    })
}

/// `/path:line:column: ERROR: message`, columns from 0.
fn esbuild(reading: &Reading<'_>, text: &str) -> Option<Place> {
    text.lines().take(60).find_map(|line| {
        let head = super::lines::head(line.trim())?;
        head.rest.starts_with("ERROR: ").then_some(())?;
        let span = Span::Start(head.line()?, head.column()?);
        let named = reading.locator.find(head.file)?;
        named.text.is_some().then(|| place(&named, &BABEL, span))
    })
}

/// `Cannot find module './x' imported from /path`: where that name is written.
fn import_line(reading: &Reading<'_>, text: &str, named: Option<&Named>) -> Option<Place> {
    let first = text.lines().next()?;
    let name = crate::gates::place::quoted_names(first)
        .into_iter()
        .next()?;
    let named = named?;
    let source = named.text.as_ref()?;
    let body = String::from_utf8_lossy(source.body());
    let lossless = body.len() == source.body().len();
    ["\"", "'", "`"].iter().find_map(|quote| {
        let quoted = format!("{quote}{name}{quote}");
        let at = body.find(&quoted)?;
        let _ = reading;
        lossless.then(|| place(named, &V8, Span::Bytes(at, at + quoted.len())))
    })
}

#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    test: Option<String>,
    #[serde(default)]
    file: Option<String>,
    #[serde(default)]
    module: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    loc: Option<Location>,
    #[serde(default)]
    stacks: Vec<(String, i64, i64)>,
    #[serde(default)]
    finished: Option<bool>,
}

/// The JSON lines of our own Vitest reporter: parsed and source-mapped stacks.
pub fn vitest(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let lines = output.artifact(".jsonl").unwrap_or(&output.stdout);
    let events: Vec<Event> = json::lines::<Event>(lines)
        .flatten()
        .filter(|event| event.test.is_some() || event.module.is_some() || event.finished.is_some())
        .collect();
    if events.is_empty() {
        return read(reading, output);
    }
    let mut parsed = Parsed::whole(Vec::new());
    for event in events {
        if event.finished.is_some() {
            continue;
        }
        let stacks: Vec<(&str, i64, i64)> = event
            .stacks
            .iter()
            .map(|(file, line, column)| (file.as_str(), *line, *column))
            .collect();
        let (place, related) = js_stack::places(reading, &stacks);
        let named = event
            .file
            .as_deref()
            .or(event.module.as_deref())
            .and_then(|file| reading.locator.find(file));
        let fallback = named.map(|named| match &event.loc {
            Some(at) => crate::gates::place::place(&named, &V8, Span::Start(at.line, at.column)),
            None => reading.file(&named),
        });
        let message = event.message.unwrap_or_default();
        parsed.findings.push(Finding {
            place: place.or(fallback),
            code: event.name,
            related,
            test: event.test,
            ..reading.finding(Severity::Error, &message)
        });
    }
    parsed
}
