//! JUnit XML of any producer, by a pull reader that keeps what came before an error.
//!
//! Roots `testsuites` and `testsuite`, test cases directly under `testsuites`, nested suites, several failures in a case,
//! `file` and `line` where they are given, else the class or the frames in the text lead to a file.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::js_stack;
use super::lines::head;
use super::rustc_text::file_line_column;
use crate::gates::columns::{Columns, Unit};
use crate::gates::outcome::ReportState;
use crate::gates::output::{ToolOutput, plain};
use crate::gates::place::{Span, place};
use crate::gates::reading::{Parsed, Reading};
use crate::kernel::finding::{Finding, Place, Severity};

const COLUMNS: Columns = Columns::new(Unit::CodePoints);
/// Text kept of one element.
const MAX_TEXT: usize = 256 * 1024;

/// One test case.
#[derive(Debug, Default, Clone)]
pub struct Case {
    pub name: String,
    pub class: Option<String>,
    pub file: Option<String>,
    /// As it is written; pytest counts from 0, the others from 1.
    pub line: Option<i64>,
    pub failures: Vec<Failure>,
    /// `system-out` and `system-err`.
    pub output: String,
}

/// A `failure` or `error`.
#[derive(Debug, Default, Clone)]
pub struct Failure {
    pub is_error: bool,
    pub message: Option<String>,
    pub kind: Option<String>,
    pub text: String,
}

impl Failure {
    /// The element's text, else its message and what the test printed.
    pub fn whole_text(&self, output: &str) -> String {
        if self.text.trim().is_empty() {
            format!("{}\n{output}", self.message.as_deref().unwrap_or_default())
        } else {
            self.text.clone()
        }
    }
}

#[derive(Debug)]
pub struct Report {
    pub state: ReportState,
    pub cases: Vec<Case>,
}

/// Reads a report as far as it goes.
pub fn parse(xml: &[u8]) -> Report {
    let text = String::from_utf8_lossy(xml);
    // Producers write ANSI codes and other characters that XML does not have.
    let text: String = text
        .chars()
        .filter(|c| matches!(c, '\n' | '\t' | '\r') || !c.is_control())
        .collect();
    let mut reader = Reader::from_str(&text);
    reader.config_mut().check_end_names = false;
    reader.config_mut().allow_unmatched_ends = true;
    let mut state = Builder::default();
    let mut whole = false;
    loop {
        match reader.read_event() {
            Ok(Event::Start(start)) => state.open(&start),
            Ok(Event::Empty(start)) => {
                state.open(&start);
                state.close(start.local_name().as_ref());
            }
            Ok(Event::End(end)) => state.close(end.local_name().as_ref()),
            Ok(Event::Text(part)) => state.text(&part),
            Ok(Event::CData(part)) => state.text(&part),
            Ok(Event::GeneralRef(name)) => {
                state.text(&entity(&name));
            }
            Ok(Event::Eof) => {
                whole = state.depth <= 0;
                break;
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    state.finish_case();
    let report_state = match (state.root_seen, whole) {
        (false, _) => ReportState::Absent,
        (true, true) => ReportState::Whole,
        (true, false) => ReportState::CutOff,
    };
    Report {
        state: report_state,
        cases: state.cases,
    }
}

/// The character of `&name;`.
fn entity(name: &str) -> String {
    let code = match name {
        "lt" => return "<".to_owned(),
        "gt" => return ">".to_owned(),
        "amp" => return "&".to_owned(),
        "quot" => return "\"".to_owned(),
        "apos" => return "'".to_owned(),
        other => other,
    };
    let number = match code.strip_prefix("#x").or_else(|| code.strip_prefix("#X")) {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => code
            .strip_prefix('#')
            .and_then(|digits| digits.parse().ok()),
    };
    number
        .and_then(char::from_u32)
        .map_or_else(|| format!("&{name};"), String::from)
}

#[derive(Default)]
struct Builder {
    cases: Vec<Case>,
    case: Option<Case>,
    /// Where text goes: into the last failure, into the output, nowhere.
    target: Target,
    depth: i64,
    root_seen: bool,
    suite_file: Option<String>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Target {
    #[default]
    Nothing,
    Failure,
    Output,
}

impl Builder {
    fn open(&mut self, start: &BytesStart<'_>) {
        self.depth += 1;
        match start.local_name().as_ref() {
            "testsuites" => self.root_seen = true,
            "testsuite" => {
                self.root_seen = true;
                self.suite_file = attribute(start, "file");
            }
            "testcase" => {
                self.finish_case();
                self.case = Some(Case {
                    name: attribute(start, "name").unwrap_or_default(),
                    class: attribute(start, "classname").or_else(|| attribute(start, "class")),
                    file: attribute(start, "file").or_else(|| self.suite_file.clone()),
                    line: attribute(start, "line").and_then(|line| line.trim().parse().ok()),
                    ..Case::default()
                });
            }
            name @ ("failure" | "error" | "rerunFailure" | "flakyFailure") => {
                if let Some(case) = &mut self.case
                    && !name.starts_with("flaky")
                    && !name.starts_with("rerun")
                {
                    case.failures.push(Failure {
                        is_error: name == "error",
                        message: attribute(start, "message"),
                        kind: attribute(start, "type"),
                        text: String::new(),
                    });
                    self.target = Target::Failure;
                }
            }
            "system-out" | "system-err" => self.target = Target::Output,
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        self.depth -= 1;
        match name {
            "testcase" => self.finish_case(),
            "failure" | "error" | "system-out" | "system-err" => self.target = Target::Nothing,
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        let Some(case) = &mut self.case else { return };
        let into = match self.target {
            Target::Nothing => return,
            Target::Failure => match case.failures.last_mut() {
                Some(failure) => &mut failure.text,
                None => return,
            },
            Target::Output => &mut case.output,
        };
        if into.len() < MAX_TEXT {
            into.push_str(text);
        }
    }

    fn finish_case(&mut self) {
        self.target = Target::Nothing;
        self.cases.extend(self.case.take());
    }
}

pub fn attribute(start: &BytesStart<'_>, name: &str) -> Option<String> {
    let attribute = start
        .attributes()
        .with_checks(false)
        .flatten()
        .find(|attribute| attribute.key.local_name().as_ref() == name)?;
    let raw = attribute.value.into_owned();
    let mut out = String::new();
    let mut rest = raw.as_str();
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        match after.split_once(';') {
            Some((name, tail)) if name.len() <= 10 => {
                out.push_str(&entity(name));
                rest = tail;
            }
            Some(_) | None => {
                out.push('&');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    Some(out)
}

/// A user's own report: from a report file, else stdout.
pub fn read(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let mut parsed = Parsed::absent();
    let mut total = 0;
    let files: Vec<&[u8]> = output
        .artifacts
        .iter()
        .filter(|artifact| artifact.name.ends_with(".xml"))
        .map(|artifact| artifact.bytes.as_slice())
        .collect();
    let streams = if files.is_empty() {
        vec![xml_part(&output.stdout)]
    } else {
        files
    };
    for xml in streams {
        let report = parse(xml);
        match (parsed.report, report.state) {
            (_, ReportState::Absent) => continue,
            (ReportState::Absent, state) => parsed.report = state,
            (_, ReportState::CutOff) => parsed.report = ReportState::CutOff,
            (_, ReportState::Whole) => {}
        }
        total += report.cases.len();
        for case in &report.cases {
            parsed.findings.extend(
                case.failures
                    .iter()
                    .map(|failure| finding(reading, case, failure)),
            );
        }
    }
    parsed.nothing = parsed.report == ReportState::Whole && total == 0;
    parsed
}

fn xml_part(bytes: &[u8]) -> &[u8] {
    let at = bytes
        .windows(5)
        .position(|window| window == b"<?xml" || window == b"<test");
    at.and_then(|at| bytes.get(at..)).unwrap_or_default()
}

fn finding(reading: &Reading<'_>, case: &Case, failure: &Failure) -> Finding {
    let text = plain(failure.whole_text(&case.output).as_bytes());
    let message = failure
        .message
        .as_deref()
        .map(str::trim)
        .filter(|message| !message.is_empty())
        .or_else(|| text.lines().find(|line| !line.trim().is_empty()))
        .unwrap_or("the test failed");
    let id = match &case.class {
        Some(class) if !class.is_empty() => format!("{class}.{}", case.name),
        Some(_) | None => case.name.clone(),
    };
    Finding {
        place: place_of(reading, case, &text),
        code: failure
            .kind
            .clone()
            .filter(|kind| !kind.is_empty() && !kind.contains(' ')),
        test: Some(id),
        rendered: Some(text.clone()).filter(|text| !text.trim().is_empty()),
        ..reading.finding(Severity::Error, message)
    }
}

/// A frame of the text in the project's files, else the file that is named, else the class.
fn place_of(reading: &Reading<'_>, case: &Case, text: &str) -> Option<Place> {
    let by_frame = text
        .lines()
        .take(400)
        .find_map(|line| java_frame(reading, line, case).or_else(|| path_frame(reading, line)));
    by_frame
        .or_else(|| {
            let named = reading.locator.find(case.file.as_deref()?)?;
            named.text.as_ref()?;
            let span = case
                .line
                .filter(|line| *line > 0)
                .map_or(Span::File, Span::Line);
            Some(place(&named, &COLUMNS, span))
        })
        .or_else(|| class_file(reading, case.class.as_deref()?))
}

/// `at p.ATest.t(ATest.java:5)`: the package and the file name make a path.
fn java_frame(reading: &Reading<'_>, line: &str, case: &Case) -> Option<Place> {
    let rest = line.trim().strip_prefix("at ")?;
    let (method, at) = rest.strip_suffix(')')?.rsplit_once('(')?;
    let (file, number) = at.rsplit_once(':')?;
    let number: i64 = number.parse().ok()?;
    if file.contains(['/', '\\']) {
        return None;
    }
    // `module/p.ATest.t`
    let method = method.rsplit('/').next().unwrap_or(method);
    let class = method.rsplit_once('.').map_or(method, |(class, _)| class);
    let package = class.rsplit_once('.').map(|(package, _)| package);
    let suffix = match package {
        Some(package) => format!("{}/{file}", package.replace('.', "/")),
        None => file.to_owned(),
    };
    let _ = case;
    let named = reading.locator.find_by_suffix(&suffix)?;
    Some(place(&named, &COLUMNS, Span::Line(number)))
}

/// `path:line: …`, `(path:line:column)`, `File "path", line 3`.
fn path_frame(reading: &Reading<'_>, line: &str) -> Option<Place> {
    let own = |file: &str, span: Span| {
        let named = reading.locator.find(file)?;
        (named.text.is_some() && reading.locator.is_own(&named))
            .then(|| place(&named, &COLUMNS, span))
    };
    if let Some((file, line, column)) = js_stack::frame(line) {
        let named = reading.locator.find(file)?;
        return (named.text.is_some() && reading.locator.is_own(&named))
            .then(|| place(&named, &js_stack::V8, Span::Start(line, column)));
    }
    let trimmed = line.trim();
    if let Some(rest) = trimmed.strip_prefix("File \"")
        && let Some((file, rest)) = rest.split_once("\", line ")
        && let Some(number) = super::lines::leading_number(rest)
    {
        return own(file, Span::Line(number));
    }
    if let Some(head) = head(trimmed) {
        return own(head.file, Span::Line(head.line()?));
    }
    let (file, line, _) = file_line_column(trimmed)?;
    own(file, Span::Line(line))
}

/// `p.ATest` is in `p/ATest.java`, `.kt`, …
fn class_file(reading: &Reading<'_>, class: &str) -> Option<Place> {
    let class = class.split(['$', '#']).next().unwrap_or(class);
    let path = class.replace('.', "/");
    // Some producers put the file itself there.
    if let Some(named) = reading
        .locator
        .find(class)
        .filter(|named| named.text.is_some())
    {
        return Some(reading.file(&named));
    }
    ["java", "kt", "scala", "groovy", "cs", "py", "php"]
        .iter()
        .find_map(|ending| reading.locator.find_by_suffix(&format!("{path}.{ending}")))
        .map(|named| reading.file(&named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_before_the_cut_is_kept() {
        let report = parse(b"<testsuites><testcase name='a&lt;b' classname=\"c\"><failure message='m&#10;n'>x &amp; <![CDATA[<y>]]></failure><failure/></testcase><testcase name='d'><err");
        assert_eq!(report.state, ReportState::CutOff);
        assert_eq!(report.cases.len(), 2);
        let case = &report.cases[0];
        assert_eq!(case.name, "a<b");
        assert_eq!(case.failures.len(), 2);
        assert_eq!(case.failures[0].message.as_deref(), Some("m\nn"));
        assert_eq!(case.failures[0].text, "x & <y>");
        assert_eq!(parse(b"nothing").state, ReportState::Absent);
        assert_eq!(parse(b"<testsuite/>").state, ReportState::Whole);
    }
}
