//! pytest: the JSON lines of our own plugin, else its JUnit report, else its text.

use serde::Deserialize;

use super::traceback::{self, Traceback};
use super::{json, junit};
use crate::gates::columns::{Columns, Unit};
use crate::gates::outcome::ReportState;
use crate::gates::output::{ToolOutput, plain};
use crate::gates::place::{Span, place};
use crate::gates::reading::{Parsed, Reading};
use crate::gates::text::LineRule;
use crate::kernel::finding::{Finding, Place, Related, Severity};

/// Positions of Python's code objects.
const CODE: Columns = Columns::new(Unit::Bytes).column_from(0);
/// `SyntaxError.offset`.
const SYNTAX: Columns = Columns::new(Unit::CodePoints);

#[derive(Deserialize)]
struct Event {
    event: String,
    #[serde(default)]
    nodeid: Option<String>,
    #[serde(default)]
    when: Option<String>,
    #[serde(default)]
    def_line: Option<i64>,
    #[serde(default)]
    file: Option<String>,
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    frames: Vec<Frame>,
    #[serde(default)]
    syntax: Option<Syntax>,
    #[serde(default)]
    longrepr: Option<String>,
}

#[derive(Deserialize)]
struct Frame {
    #[serde(default)]
    file: String,
    #[serde(default)]
    line: Option<i64>,
    #[serde(default)]
    end_line: Option<i64>,
    #[serde(default)]
    col: Option<i64>,
    #[serde(default)]
    end_col: Option<i64>,
}

#[derive(Deserialize)]
struct Syntax {
    #[serde(default)]
    file: Option<String>,
    #[serde(default)]
    line: Option<i64>,
    #[serde(default)]
    col: Option<i64>,
    #[serde(default)]
    end_line: Option<i64>,
    #[serde(default)]
    end_col: Option<i64>,
}

pub fn read(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let mut parsed = if let Some(lines) = output.artifact(".jsonl") {
        plugin(reading, lines)
    } else if let Some(xml) = output.artifact(".xml") {
        xunit(reading, xml, output)
    } else {
        text(reading, &plain(&output.stdout))
    };
    if parsed.findings.is_empty() && output.exit.code() != Some(0) {
        start_failure(reading, output, &mut parsed);
    }
    parsed
}

fn plugin(reading: &Reading<'_>, lines: &[u8]) -> Parsed {
    let mut parsed = Parsed::new(ReportState::CutOff);
    let mut events = Vec::new();
    for event in json::lines::<Event>(lines).flatten() {
        if event.event == "finish" {
            parsed.report = ReportState::Whole;
        }
        events.push(event);
    }
    if events.is_empty() {
        parsed.report = ReportState::Absent;
    }
    for event in &events {
        match event.event.as_str() {
            // The same failure comes once with its exception and once as a report.
            "collect" => {
                let known = events
                    .iter()
                    .any(|other| other.event == "collect-exc" && other.nodeid == event.nodeid);
                if !known {
                    parsed.findings.push(collected(reading, event));
                }
            }
            "fail" | "collect-exc" => parsed.findings.push(failed(reading, event)),
            _ => {}
        }
    }
    parsed
}

fn failed(reading: &Reading<'_>, event: &Event) -> Finding {
    if event.kind.as_deref() == Some("CollectError") {
        // The exception is pytest's own; what happened is in its text.
        return collected(reading, event);
    }
    let (place, related) = frames(reading, &event.frames);
    let place = event
        .syntax
        .as_ref()
        .and_then(|syntax| syntax_place(reading, syntax))
        .or(place)
        .or_else(|| definition(reading, event));
    let mut message = event.message.clone().unwrap_or_default();
    if let Some(phase) = event.when.as_deref().filter(|when| *when != "call") {
        message.push_str(&format!("\n(in the test's {phase})"));
    }
    let is_test = event.nodeid.as_deref().is_some_and(|id| id.contains("::"));
    Finding {
        place,
        code: event.kind.clone(),
        related,
        test: event.nodeid.clone().filter(|_| is_test),
        ..reading.finding(Severity::Error, &message)
    }
}

fn frames(reading: &Reading<'_>, frames: &[Frame]) -> (Option<Place>, Vec<Related>) {
    let mut own = frames.iter().rev().filter_map(|frame| {
        let named = reading.locator.find(&frame.file)?;
        let line = frame.line?;
        (named.text.is_some() && reading.locator.is_own(&named)).then(|| {
            let span = match (frame.col, frame.end_line, frame.end_col) {
                (Some(col), Some(end_line), Some(end_col)) => Span::Exact {
                    start: (line, col),
                    end: (end_line, end_col),
                },
                (Some(col), ..) => Span::Start(line, col),
                (None, ..) => Span::Line(line),
            };
            traceback::asserted(&named, place(&named, &CODE, span))
        })
    });
    let first = own.next();
    let related = own
        .map(|place| reading.related(place, "called from here"))
        .collect();
    (first, related)
}

fn syntax_place(reading: &Reading<'_>, syntax: &Syntax) -> Option<Place> {
    let named = reading.locator.find(syntax.file.as_deref()?)?;
    named.text.as_ref()?;
    let positive = |number: Option<i64>| number.filter(|number| *number > 0);
    // Python gives a point as a range that ends where it starts.
    let is_point = syntax.end_line == syntax.line && syntax.end_col <= syntax.col;
    let end = if is_point {
        (None, None)
    } else {
        (positive(syntax.end_line), positive(syntax.end_col))
    };
    let span = Span::from_numbers((positive(syntax.line), positive(syntax.col)), end);
    Some(place(&named, &SYNTAX, span))
}

/// The test's own `def`; the line counts from 0.
fn definition(reading: &Reading<'_>, event: &Event) -> Option<Place> {
    let named = reading.locator.find(event.file.as_deref()?)?;
    let span = event
        .def_line
        .and_then(|line| line.checked_add(1))
        .map_or(Span::File, Span::Line);
    Some(place(&named, &CODE, span))
}

fn collected(reading: &Reading<'_>, event: &Event) -> Finding {
    let text = event
        .longrepr
        .clone()
        .or_else(|| event.message.clone())
        .unwrap_or_default();
    let traceback = traceback::parse(&text);
    let fallback = || {
        let file = event.file.as_deref().filter(|file| !file.is_empty());
        let named = reading.locator.find(file.or(event.nodeid.as_deref())?)?;
        named.text.is_some().then(|| reading.file(&named))
    };
    from_traceback(reading, &traceback, &text, None, fallback)
}

/// A failure that is only known as text.
fn from_traceback(
    reading: &Reading<'_>,
    traceback: &Traceback<'_>,
    text: &str,
    test: Option<String>,
    fallback: impl FnOnce() -> Option<Place>,
) -> Finding {
    let (place, related) = traceback::places(reading, &traceback.frames);
    // A bare `assert` prints no name.
    let is_assert = traceback.kind.is_none() && traceback.message.starts_with("assert");
    let (kind, message) = if traceback.message.trim().is_empty() && traceback.kind.is_none() {
        let last = text.lines().rev().find(|line| !line.trim().is_empty());
        (None, last.unwrap_or("the test failed").to_owned())
    } else {
        kind_and_message(traceback)
    };
    Finding {
        place: place.or_else(fallback),
        code: kind
            .or(is_assert.then_some("AssertionError"))
            .map(str::to_owned),
        related,
        test,
        rendered: Some(text.to_owned()),
        ..reading.finding(Severity::Error, &message)
    }
}

/// Of a syntax error the last line says what is wrong.
fn kind_and_message<'t>(traceback: &'t Traceback<'_>) -> (Option<&'t str>, String) {
    let last = traceback
        .message
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty());
    match last.and_then(traceback::kind_of) {
        Some((kind, rest)) if traceback.kind.is_none() && kind.ends_with("Error") => {
            (Some(kind), format!("{rest}\n{}", traceback.message))
        }
        Some(_) | None => (traceback.kind, traceback.message.clone()),
    }
}

fn xunit(reading: &Reading<'_>, xml: &[u8], output: &ToolOutput) -> Parsed {
    let report = junit::parse(xml);
    let mut parsed = Parsed::new(report.state);
    parsed.nothing = report.cases.is_empty() && output.exit.code() == Some(5);
    if plain(&output.stderr).contains("ERROR: file or directory not found")
        || plain(&output.stderr).contains("ERROR: not found: ")
    {
        // Asked for what is not there.
        parsed.broken = true;
        parsed.nothing = false;
    }
    for case in &report.cases {
        for failure in &case.failures {
            if case.name == "internal" && case.class.as_deref() == Some("pytest") {
                // `INTERNALERROR`: a plugin or a hook of the project broke pytest itself.
                parsed.troubles.push(internal(reading, failure));
                continue;
            }
            let is_collection = failure.message.as_deref() == Some("collection failure");
            let test = (!is_collection).then(|| node_id(case));
            let text = plain(failure.text.as_bytes());
            let traceback = traceback::parse(&text);
            let fallback = || {
                let named = reading.locator.find(case.file.as_deref()?)?;
                named.text.as_ref()?;
                // pytest's own number counts from 0.
                let span = case
                    .line
                    .and_then(|line| line.checked_add(1))
                    .map_or(Span::File, Span::Line);
                Some(place(&named, &CODE, span))
            };
            parsed
                .findings
                .push(from_traceback(reading, &traceback, &text, test, fallback));
        }
    }
    parsed
}

fn internal(reading: &Reading<'_>, failure: &junit::Failure) -> Finding {
    let frames = python_frames(&failure.text);
    let (place, _) = traceback::places(reading, &frames);
    let message = failure.message.as_deref().unwrap_or("internal error");
    let last = failure
        .text
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty());
    reading.trouble(place, &format!("{}\n{message}", last.unwrap_or_default()))
}

/// `tests/test_a.py::TestGroup::test_multi`: the class is what the dotted name has more than the path.
fn node_id(case: &junit::Case) -> String {
    let Some(file) = &case.file else {
        return match &case.class {
            Some(class) if !class.is_empty() => format!("{class}.{}", case.name),
            Some(_) | None => case.name.clone(),
        };
    };
    let module = file.trim_end_matches(".py").replace(['/', '\\'], ".");
    let classes = case
        .class
        .as_deref()
        .and_then(|class| class.strip_prefix(&module))
        .unwrap_or_default()
        .trim_start_matches('.');
    let mut id = file.clone();
    for class in classes.split('.').filter(|class| !class.is_empty()) {
        id.push_str("::");
        id.push_str(class);
    }
    format!("{id}::{}", case.name)
}

/// The terminal's text: blocks under `____ name ____`, ids in the summary.
fn text(reading: &Reading<'_>, stdout: &str) -> Parsed {
    let mut parsed = Parsed::absent();
    let mut blocks: Vec<(&str, String)> = Vec::new();
    let mut inside = false;
    let mut ids: Vec<&str> = Vec::new();
    for line in stdout.lines() {
        if let Some(title) = title(line, '=') {
            inside = matches!(title, "FAILURES" | "ERRORS");
            if is_summary(title) {
                parsed.report = ReportState::Whole;
            }
        } else if is_summary(line) {
            parsed.report = ReportState::Whole;
        } else if let Some(name) = title(line, '_').filter(|_| inside) {
            blocks.push((name, String::new()));
        } else if let Some(rest) = line
            .strip_prefix("FAILED ")
            .or_else(|| line.strip_prefix("ERROR "))
            .filter(|_| !inside)
        {
            ids.push(rest.split(" - ").next().unwrap_or(rest));
        } else if inside && let Some((_, text)) = blocks.last_mut() {
            text.push_str(line);
            text.push('\n');
        }
    }
    for (name, text) in &blocks {
        let traceback = traceback::parse(text);
        let is_collection = name.starts_with("ERROR collecting ");
        let id = test_id(name, &ids);
        let file = name
            .strip_prefix("ERROR collecting ")
            .or_else(|| id.split("::").next());
        let fallback = || {
            let named = reading.locator.find(file?)?;
            named.text.is_some().then(|| reading.file(&named))
        };
        let test = (!is_collection).then(|| id.clone());
        parsed
            .findings
            .push(from_traceback(reading, &traceback, text, test, fallback));
    }
    parsed
}

/// `==== TITLE ====`.
fn title(line: &str, mark: char) -> Option<&str> {
    let inner = line.trim_start_matches(mark);
    let title = inner.trim_end_matches(mark);
    let is_title = line.len() - inner.len() >= 3 && inner.len() > title.len();
    is_title
        .then(|| title.trim())
        .filter(|title| !title.is_empty())
}

/// `5 failed, 1 passed in 0.29s`.
fn is_summary(text: &str) -> bool {
    text.contains(" in ")
        && text.ends_with(['s', ')'])
        && text.starts_with(|c: char| c.is_ascii_digit())
        && [
            "passed",
            "failed",
            "error",
            "skipped",
            "deselected",
            "xfailed",
        ]
        .iter()
        .any(|word| text.contains(word))
}

/// The block's title is `TestGroup.test_multi`, the summary has the whole id.
fn test_id(name: &str, ids: &[&str]) -> String {
    let short = name
        .trim_start_matches("ERROR at setup of ")
        .trim_start_matches("ERROR at teardown of ");
    let wanted = short.replace('.', "::");
    ids.iter()
        .find(|id| id.ends_with(&format!("::{wanted}")) || id.ends_with(&format!("::{short}")))
        .map_or_else(|| short.to_owned(), |id| (*id).to_owned())
}

/// pytest did not come to its tests: a broken `conftest.py` is the code's fault, a broken configuration is not.
fn start_failure(reading: &Reading<'_>, output: &ToolOutput, parsed: &mut Parsed) {
    let stderr = plain(&output.stderr);
    let code = output.exit.code();
    if code == Some(5) {
        return;
    }
    if let Some(start) = stderr.find("ImportError while loading conftest") {
        let text = stderr.get(start..).unwrap_or_default();
        let traceback = traceback::parse(text);
        let file = crate::gates::place::quoted_names(text).into_iter().next();
        let fallback = || {
            let named = reading.locator.find(file?)?;
            named.text.is_some().then(|| reading.file(&named))
        };
        parsed
            .findings
            .push(from_traceback(reading, &traceback, text, None, fallback));
        return;
    }
    parsed.report = ReportState::Absent;
    // Python's own traceback of a conftest that does not even compile.
    if stderr.contains("Traceback (most recent call last)")
        && let Some(finding) = python_traceback(reading, &stderr)
    {
        parsed.findings.push(finding);
        return;
    }
    usage(reading, &stderr, parsed);
}

/// `  File "path", line 3, in name`.
fn python_frames(text: &str) -> Vec<traceback::Frame<'_>> {
    text.lines()
        .filter_map(|line| {
            let rest = line.trim_start().strip_prefix("File \"")?;
            let (file, rest) = rest.split_once("\", line ")?;
            Some(traceback::Frame {
                file,
                line: super::lines::leading_number(rest)?,
                carets: None,
            })
        })
        .collect()
}

fn python_traceback(reading: &Reading<'_>, stderr: &str) -> Option<Finding> {
    let frames = python_frames(stderr);
    let (place, related) = traceback::places(reading, &frames);
    let last = stderr.lines().rev().find(|line| !line.trim().is_empty())?;
    let (kind, message) = traceback::kind_of(last)?;
    Some(Finding {
        place: Some(place?),
        code: Some(kind.to_owned()),
        related,
        rendered: Some(stderr.to_owned()),
        ..reading.finding(Severity::Error, message)
    })
}

/// `pytest: error: unrecognized arguments: --bogus`, `inifile: /path`: shown where the ini file says that word.
fn usage(reading: &Reading<'_>, stderr: &str, parsed: &mut Parsed) {
    let Some(message) = stderr
        .lines()
        .find_map(|line| line.split_once(": error: ").map(|(_, message)| message))
        .or_else(|| {
            stderr
                .lines()
                .find_map(|line| line.strip_prefix("ERROR: "))
                .filter(|line| {
                    line.contains(".ini") || line.contains(".toml") || line.contains(".cfg")
                })
        })
    else {
        return;
    };
    let inifile = stderr
        .lines()
        .find_map(|line| line.trim().strip_prefix("inifile: "))
        .or_else(|| message.split(':').next());
    let named = inifile
        .and_then(|path| reading.locator.find(path))
        .filter(|named| named.text.is_some())
        .or_else(|| reading.first_file(&["pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"]));
    let Some(named) = named else { return };
    let word = message.rsplit(": ").next().unwrap_or(message);
    let word = word.split(' ').next().unwrap_or(word);
    let line = named.text.as_ref().and_then(|text| {
        (0..)
            .map_while(|line| {
                text.line(LineRule::Universal, line)
                    .map(|span| (line, span))
            })
            .find(|(_, span)| !word.is_empty() && text.slice(span.clone()).contains(word))
            .map(|(line, _)| line)
    });
    let place = match (
        line.and_then(|line| i64::try_from(line + 1).ok()),
        super::lines::line_column(message),
    ) {
        (_, Some((line, column))) => place(&named, &SYNTAX, Span::Start(line, column)),
        (Some(line), None) => place(&named, &SYNTAX, Span::Line(line)),
        (None, None) => reading.file(&named),
    };
    parsed.troubles.push(reading.trouble(Some(place), message));
}
