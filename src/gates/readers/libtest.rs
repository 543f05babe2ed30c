//! Rust's tests: libtest's JSON events (through our runner) and its text, nextest's JUnit and text.

use std::collections::HashMap;

use serde::Deserialize;

use super::panic::{self, Panic};
use super::{cargo, json, junit, rustc_text};
use crate::gates::outcome::ReportState;
use crate::gates::output::{ToolOutput, plain};
use crate::gates::place::{Span, place};
use crate::gates::reading::{Parsed, Reading, tidy};
use crate::kernel::finding::{Finding, Place, Severity};

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    event: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    stdout: Option<String>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    reason: Option<String>,
}

/// One failed test: its name and everything it said.
struct Failed {
    name: String,
    said: String,
}

/// `cargo test`: the compiler's messages, then the tests of each target, as JSON or text on the same stream.
pub fn read(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let mut parsed = cargo::messages(reading, &output.stdout);
    only_errors(&mut parsed);
    if parsed.report == ReportState::CutOff {
        return parsed;
    }
    let (events, json_failed, mut ran) = events(&output.stdout);
    let text = plain(&output.stdout);
    // Documentation tests speak text whatever the others do.
    let mut failed = json_failed;
    failed.extend(blocks(&text));
    ran |= text.contains("test result: ") || text.contains("\nrunning ");
    if events || ran {
        parsed.report = ReportState::Whole;
    }
    for test in &failed {
        parsed
            .findings
            .push(finding(reading, &test.name, &test.said));
    }
    if parsed.findings.is_empty() && output.exit.code() != Some(0) {
        let stderr = plain(&output.stderr);
        rustc_text::read_into(reading, &stderr, &mut parsed);
        only_errors(&mut parsed);
        if let Some(finding) = abort(reading, &stderr) {
            parsed.findings.push(finding);
        }
    }
    parsed
}

/// Warnings are the business of the compiler's own gate.
fn only_errors(parsed: &mut Parsed) {
    parsed
        .findings
        .retain(|finding| finding.severity == Severity::Error);
}

fn events(stdout: &[u8]) -> (bool, Vec<Failed>, bool) {
    let mut any = false;
    let mut failed = Vec::new();
    for event in json::lines::<Event>(stdout).flatten() {
        any = true;
        let is_failure =
            event.kind == "test" && matches!(event.event.as_str(), "failed" | "timeout");
        if is_failure {
            let mut said = event.stdout.unwrap_or_default();
            for more in [event.message, event.reason].into_iter().flatten() {
                said.push('\n');
                said.push_str(&more);
            }
            failed.push(Failed {
                name: event.name,
                said,
            });
        }
    }
    (any, failed, any)
}

/// `---- name stdout ----` and what follows, up to the next one or the list of failures.
fn blocks(text: &str) -> Vec<Failed> {
    let mut failed: Vec<Failed> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if let Some(name) = line
            .strip_prefix("---- ")
            .and_then(|rest| rest.strip_suffix(" stdout ----"))
        {
            inside = true;
            failed.push(Failed {
                name: name.to_owned(),
                said: String::new(),
            });
        } else if line == "failures:" || line.starts_with("test result: ") {
            inside = false;
        } else if inside && let Some(last) = failed.last_mut() {
            last.said.push_str(line);
            last.said.push('\n');
        }
    }
    failed
}

/// What one failed test is for people. `said` is its output.
pub fn finding(reading: &Reading<'_>, name: &str, said: &str) -> Finding {
    let said = tidy(said, 64 * 1024);
    let panics = panic::find_all(&said);
    let note = should_panic(&said);
    let panicked = panics.last();
    let (place, message, related) = match (panicked, note) {
        (None, Some((message, at))) => (
            at.and_then(|(file, line, column)| {
                reading.place(file, &panic::PANIC, Span::Start(line, column))
            }),
            message.to_owned(),
            Vec::new(),
        ),
        (Some(panicked), note) => {
            let (place, related) = places(reading, panicked);
            let mut message = panicked.message.clone();
            if let Some((more, _)) = note {
                message = format!("{more}\n{message}");
            }
            (place, message, related)
        }
        (None, None) => match compile_error(reading, &said) {
            Some((place, message)) => (place, message, Vec::new()),
            None => (None, error_text(&said, name), Vec::new()),
        },
    };
    Finding {
        place: place
            .filter(|_| doctest_line(name).is_none())
            .or_else(|| doctest(reading, name))
            .or_else(|| definition(reading, name)),
        code: Some("test-failed".to_owned()),
        related,
        test: Some(name.to_owned()),
        rendered: Some(said.clone()),
        ..reading.finding(Severity::Error, &message)
    }
}

/// The panic's own place when it is of the project, else the innermost frame that is.
fn places(
    reading: &Reading<'_>,
    panicked: &Panic<'_>,
) -> (Option<Place>, Vec<crate::kernel::finding::Related>) {
    let is_own = |file: &str| {
        reading
            .locator
            .find(file)
            .is_some_and(|named| named.text.is_some() && reading.locator.is_own(&named))
    };
    let frames = panicked
        .frames
        .iter()
        .filter(|(file, ..)| is_own(file))
        .filter_map(|(file, line, column)| {
            let span = if *column > 0 {
                Span::Start(*line, *column)
            } else {
                Span::Line(*line)
            };
            reading.place(file, &panic::PANIC, span)
        });
    let mut all: Vec<Place> = Vec::new();
    let first = is_own(panicked.file)
        .then(|| panicked.place(reading))
        .flatten();
    for place in first.into_iter().chain(frames) {
        // A backtrace has several frames for one line: the call, its closure, the macro.
        let known = all.iter().any(|known: &Place| {
            known.file == place.file && known.range.start.line == place.range.start.line
        });
        if !known {
            all.push(place);
        }
    }
    let mut all = all.into_iter();
    let first = all.next();
    let related = all
        .map(|place| reading.related(place, "called from here"))
        .collect();
    (first, related)
}

type At<'t> = (&'t str, i64, i64);

/// `note: test did not panic as expected at src/lib.rs:20:8`, `note: panic did not contain expected string …`.
fn should_panic(said: &str) -> Option<(&str, Option<At<'_>>)> {
    if let Some(start) = said.find("test did not panic as expected") {
        let line = said.get(start..)?.lines().next()?;
        return Some(match line.split_once(" at ") {
            Some((message, at)) => (message, rustc_text::file_line_column(at)),
            None => (line, None),
        });
    }
    let start = said.find("panic did not contain expected string")?;
    Some((said.get(start..)?.trim_end(), None))
}

/// A doctest that does not compile.
fn compile_error(reading: &Reading<'_>, said: &str) -> Option<(Option<Place>, String)> {
    let messages = rustc_text::split(said);
    let first = messages
        .iter()
        .find(|message| message.severity == Severity::Error)?;
    let place = first.at.and_then(|(file, line, column)| {
        reading.place(file, &cargo::RUSTC, Span::Start(line, column))
    });
    Some((place, first.summary.to_owned()))
}

/// `Error: …` of a test that returns a `Result`, else the end of what was said.
fn error_text(said: &str, name: &str) -> String {
    let error = said.lines().find_map(|line| line.strip_prefix("Error: "));
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    error
        .or(last)
        .map_or_else(|| format!("{name} failed"), str::to_owned)
}

/// `src/lib.rs - path::item (line 3)`: panics in doctests name lines of the generated test, not of the file.
fn doctest_line(name: &str) -> Option<(&str, i64)> {
    let (file, rest) = name.split_once(" - ")?;
    let (_, at) = rest.rsplit_once("(line ")?;
    let digits = at.split(')').next()?;
    Some((file, digits.parse().ok()?))
}

fn doctest(reading: &Reading<'_>, name: &str) -> Option<Place> {
    let (file, line) = doctest_line(name)?;
    reading.place(file, &cargo::RUSTC, Span::Line(line))
}

/// `fn name(` in the project's Rust files, when there is exactly one.
fn definition(reading: &Reading<'_>, name: &str) -> Option<Place> {
    let short = name.rsplit("::").next().unwrap_or(name);
    let short = short.split(' ').next().unwrap_or(short);
    if short.is_empty() || !short.chars().all(|c| c == '_' || c.is_alphanumeric()) {
        return None;
    }
    let wanted = format!("fn {short}(");
    let mut found = None;
    for file in reading
        .locator
        .files()
        .iter()
        .filter(|file| file.ends_with(".rs"))
    {
        let Some(named) = reading.locator.find(file) else {
            continue;
        };
        let Some(text) = &named.text else { continue };
        let mut hits = text
            .body()
            .windows(wanted.len())
            .enumerate()
            .filter(|(_, window)| *window == wanted.as_bytes())
            .map(|(at, _)| at);
        let Some(at) = hits.next() else { continue };
        if found.is_some() || hits.next().is_some() {
            return None;
        }
        let start = at + "fn ".len();
        found = Some(place(
            &named,
            &cargo::RUSTC,
            Span::Bytes(start, start + short.len()),
        ));
    }
    found
}

/// A test program that died before it could report.
fn abort(reading: &Reading<'_>, stderr: &str) -> Option<Finding> {
    let died = stderr
        .lines()
        .find(|line| line.contains("process didn't exit successfully"))?;
    let overflow = stderr
        .lines()
        .find(|line| line.contains("has overflowed its stack"));
    let name = overflow
        .and_then(|line| line.split('\'').nth(1))
        .map(str::to_owned);
    Some(Finding {
        place: name.as_deref().and_then(|name| definition(reading, name)),
        code: Some("test-aborted".to_owned()),
        test: name,
        rendered: Some(stderr.to_owned()),
        ..reading.finding(
            Severity::Error,
            &format!("{}\n{}", overflow.unwrap_or(died).trim(), died.trim()),
        )
    })
}

/// `cargo nextest run`: its JUnit report, else its text; build errors on either stream.
pub fn nextest(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let mut parsed = cargo::messages(reading, &output.stdout);
    only_errors(&mut parsed);
    let stderr = plain(&output.stderr);
    if let Some(xml) = output.artifact("junit.xml") {
        let report = junit::parse(xml);
        parsed.report = report.state;
        for case in report.cases {
            let name = match &case.class {
                Some(class) if !class.is_empty() => format!("{class} {}", case.name),
                Some(_) | None => case.name.clone(),
            };
            for failure in &case.failures {
                parsed
                    .findings
                    .push(finding(reading, &name, &failure.whole_text(&case.output)));
            }
        }
    } else if stderr.contains("Nextest run ID") {
        parsed.report = ReportState::Whole;
        for failed in nextest_text(&stderr) {
            parsed
                .findings
                .push(finding(reading, &failed.name, &failed.said));
        }
    }
    if parsed.findings.is_empty() && output.exit.code() != Some(0) {
        let text: String = stderr
            .lines()
            .filter(|line| !line.starts_with("error: test run failed"))
            .map(|line| format!("{line}\n"))
            .collect();
        parsed.nothing = text.contains("no tests to run");
        if !parsed.nothing {
            rustc_text::read_into(reading, &text, &mut parsed);
        }
    }
    parsed
}

/// Blocks under `FAIL [   0.020s] (1/4) demo tests::fails`; the summary repeats the heads without a block.
fn nextest_text(stderr: &str) -> Vec<Failed> {
    let mut order: Vec<String> = Vec::new();
    let mut said: HashMap<String, String> = HashMap::new();
    let mut current: Option<String> = None;
    for line in stderr.lines() {
        let trimmed = line.trim_start();
        let is_head = [
            "FAIL", "SIGABRT", "SIGSEGV", "TIMEOUT", "ABORT", "PASS", "SLOW", "LEAK",
        ]
        .iter()
        .any(|word| trimmed.starts_with(word) && trimmed.contains("s] "));
        if is_head {
            let name = trimmed
                .split_once("] ")
                .map(|(_, name)| name.trim())
                .unwrap_or_default();
            let name = match name.split_once(") ") {
                Some((counter, name)) if counter.starts_with('(') => name.trim(),
                Some(_) | None => name,
            };
            current = (!trimmed.starts_with("PASS") && !trimmed.starts_with("SLOW"))
                .then(|| name.to_owned());
            if let Some(name) = &current
                && !said.contains_key(name)
            {
                order.push(name.clone());
                said.insert(name.clone(), String::new());
            }
        } else if let Some(name) = &current
            && let Some(text) = said.get_mut(name)
        {
            text.push_str(line.strip_prefix("    ").unwrap_or(line));
            text.push('\n');
        }
    }
    order
        .into_iter()
        .map(|name| Failed {
            said: said.remove(&name).unwrap_or_default(),
            name,
        })
        .collect()
}
