//! GCC: JSON (9 to 14) on stderr, SARIF (13 and later), and the text.

use std::rc::Rc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json;
use super::lines::{head, severity};
use super::sarif;
use crate::gates::columns::{Columns, Tab, Unit};
use crate::gates::locate::Named;
use crate::gates::outcome::ReportState;
use crate::gates::output::{ToolOutput, plain};
use crate::gates::place::{Span, place, quoted_names};
use crate::gates::reading::{Parsed, Reading, tidy};
use crate::gates::text::LineRule;
use crate::kernel::finding::{
    Applicability, Finding, FindingTag, Fix, FixEdit, Place, Related, Severity,
};

const BYTES: Columns = Columns::new(Unit::Bytes).lines(LineRule::Lf).inclusive();
/// What GCC prints in text unless told otherwise.
const DISPLAY: Columns = Columns::new(Unit::Display(Tab::Stops(8))).lines(LineRule::Lf);

#[derive(Deserialize)]
struct Item {
    kind: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    option: Option<String>,
    #[serde(default)]
    option_url: Option<String>,
    #[serde(default)]
    locations: Vec<Location>,
    #[serde(default)]
    children: Vec<Item>,
    #[serde(default)]
    fixits: Vec<Fixit>,
}

#[derive(Deserialize)]
struct Location {
    #[serde(default)]
    caret: Option<Point>,
    #[serde(default)]
    start: Option<Point>,
    #[serde(default)]
    finish: Option<Point>,
    #[serde(default)]
    label: Option<String>,
}

#[derive(Deserialize)]
struct Point {
    #[serde(default)]
    file: String,
    line: i64,
    #[serde(default)]
    column: i64,
    #[serde(rename = "byte-column", default)]
    byte_column: Option<i64>,
}

#[derive(Deserialize)]
struct Fixit {
    start: Point,
    next: Point,
    #[serde(default)]
    string: String,
}

/// `gcc`, `g++` and everything that speaks like them.
pub fn read(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    if sarif::is_sarif(&output.stderr) || output.artifact(".sarif").is_some() {
        return sarif::read(reading, output);
    }
    let mut parsed = Parsed::absent();
    if reading
        .invocation
        .argv
        .iter()
        .any(|argument| argument.starts_with("-fdiagnostics-format=json"))
    {
        arrays(reading, &output.stderr, &mut parsed);
    }
    if parsed.report == ReportState::Absent {
        let text = Text {
            reading,
            columns: text_columns(reading),
            bases: Vec::new(),
            bare: false,
        };
        text.read(&plain(&output.stderr), &mut parsed);
    }
    if parsed.report == ReportState::Absent && output.exit.code() == Some(0) {
        parsed.report = ReportState::Whole;
    }
    let text = plain(&output.stderr);
    if parsed.findings.is_empty() && text.contains("No such file or directory") {
        parsed.broken = true;
    }
    if text.contains("internal compiler error") && output.exit.code() != Some(1) {
        parsed.broken = true;
    }
    parsed
}

fn text_columns(reading: &Reading<'_>) -> Columns {
    if reading
        .invocation
        .argv
        .iter()
        .any(|argument| argument == "-fdiagnostics-column-unit=byte")
    {
        BYTES
    } else {
        DISPLAY
    }
}

/// One array for each translation unit, one after the other.
fn arrays(reading: &Reading<'_>, stderr: &[u8], parsed: &mut Parsed) {
    let mut cut_off = false;
    let mut rest = stderr;
    while let Some(at) = rest.iter().position(|byte| *byte == b'[') {
        rest = rest.get(at..).unwrap_or_default();
        let mut stream =
            serde_json::Deserializer::from_slice(rest).into_iter::<Vec<Box<RawValue>>>();
        match stream.next() {
            Some(Ok(raw)) => {
                parsed.report = ReportState::Whole;
                let (items, lost) = json::items::<Item>(&raw);
                parsed.notes.extend(json::lost_note(lost));
                for item in &items {
                    if item.locations.is_empty() {
                        // The driver speaks: an unknown option, a file that is not there.
                        let trouble = reading.trouble(None, &item.message);
                        parsed.troubles.push(trouble);
                    } else {
                        parsed.findings.push(finding(reading, item));
                    }
                }
                rest = rest.get(stream.byte_offset()..).unwrap_or_default();
            }
            Some(Err(error)) => {
                cut_off |= error.is_eof();
                break;
            }
            None => break,
        }
    }
    if cut_off {
        parsed.report = ReportState::CutOff;
    }
}

fn finding(reading: &Reading<'_>, item: &Item) -> Finding {
    let mut locations = item.locations.iter();
    let place = locations.next().and_then(|at| place_of(reading, at));
    let mut related: Vec<Related> = locations
        .filter_map(|at| {
            let text = at.label.as_deref()?;
            Some(reading.related(place_of(reading, at)?, text))
        })
        .collect();
    for child in &item.children {
        if is_noise(&child.message) {
            continue;
        }
        if let Some(place) = child.locations.first().and_then(|at| place_of(reading, at)) {
            related.push(reading.related(place, &child.message));
        }
    }
    Finding {
        place,
        code: item.option.clone(),
        href: item.option_url.clone(),
        tags: tags(item.option.as_deref()),
        related,
        fixes: fixit(reading, item).into_iter().collect(),
        ..reading.finding(
            severity(&item.kind).unwrap_or(Severity::Error),
            &item.message,
        )
    }
}

fn place_of(reading: &Reading<'_>, location: &Location) -> Option<Place> {
    let start = location.start.as_ref().or(location.caret.as_ref())?;
    // GCC 9 and 10 have only `column`, which was of bytes then.
    let column = |point: &Point| point.byte_column.unwrap_or(point.column);
    let span = match &location.finish {
        Some(finish) if finish.file == start.file => Span::Exact {
            start: (start.line, column(start)),
            end: (finish.line, column(finish)),
        },
        Some(_) | None => Span::Start(start.line, column(start)),
    };
    reading.place(&start.file, &BYTES, span)
}

fn fixit(reading: &Reading<'_>, item: &Item) -> Option<Fix> {
    let edits: Option<Vec<FixEdit>> = item
        .fixits
        .iter()
        .map(|fixit| {
            let column = |point: &Point| point.byte_column.unwrap_or(point.column);
            let columns = Columns::new(Unit::Bytes).lines(LineRule::Lf);
            let span = Span::Exact {
                start: (fixit.start.line, column(&fixit.start)),
                end: (fixit.next.line, column(&fixit.next)),
            };
            let place = reading.place(&fixit.start.file, &columns, span)?;
            place.hash.is_some().then(|| FixEdit {
                place,
                new_text: fixit.string.clone(),
            })
        })
        .collect();
    Some(Fix {
        title: format!("Apply GCC's fix: {}", tidy(&item.message, 120)),
        applicability: Applicability::Suggestion,
        edits: edits.filter(|edits| !edits.is_empty())?,
    })
}

pub fn tags(option: Option<&str>) -> Vec<FindingTag> {
    match option {
        Some(option) if option.starts_with("-Wunused") || option.starts_with("-Werror=unused") => {
            vec![FindingTag::Unnecessary]
        }
        Some("-Wdeprecated-declarations" | "-Wdeprecated") => vec![FindingTag::Deprecated],
        Some(_) | None => Vec::new(),
    }
}

pub fn is_noise(message: &str) -> bool {
    message.starts_with("each undeclared identifier is reported only once")
        || message.starts_with("(Each undeclared identifier")
}

/// The text of GCC and its kin, `path:line:column: error: message [-Woption]`.
pub struct Text<'r, 'a> {
    pub reading: &'r Reading<'a>,
    pub columns: Columns,
    /// Folders that names may be relative to, tried before the one where the tool ran; `make` names them.
    pub bases: Vec<String>,
    /// Whether a line without a word for its severity is a finding too.
    pub bare: bool,
}

impl Text<'_, '_> {
    pub fn read(&self, text: &str, parsed: &mut Parsed) {
        let mut included: Vec<Related> = Vec::new();
        for line in text.lines() {
            if let Some(related) = self.include(line) {
                if line.starts_with("In file included") {
                    included.clear();
                }
                included.push(related);
                continue;
            }
            let Some(head) = head(line) else {
                continue;
            };
            let Some((word, severity, message)) = self.split(&head) else {
                continue;
            };
            let (message, option) = option_of(message);
            let named = self.find(head.file, message, &head);
            let place = named.map(|named| place(&named, &self.columns, head.span()));
            parsed.report = ReportState::Whole;
            if word == "note" {
                if let (Some(last), Some(place)) = (parsed.findings.last_mut(), place)
                    && !is_noise(message)
                {
                    last.related.push(self.reading.related(place, message));
                }
                continue;
            }
            parsed.findings.push(Finding {
                place,
                href: option.and_then(option_page),
                tags: tags(option),
                code: option.map(str::to_owned),
                related: std::mem::take(&mut included),
                ..self.reading.finding(severity, message)
            });
        }
    }

    /// `error: message`; without a word it is an error, if there is such a file.
    fn split<'t>(&self, head: &super::lines::Head<'t>) -> Option<(&'t str, Severity, &'t str)> {
        if let Some((word, message)) = head.rest.split_once(": ")
            && let Some(severity) = severity(word).filter(|_| is_severity_word(word))
        {
            return Some((word, severity, message));
        }
        let named = self.reading.locator.find(head.file);
        let is_file = named.is_some_and(|named| named.text.is_some());
        (self.bare && is_file && !head.rest.is_empty()).then_some(("", Severity::Error, head.rest))
    }

    /// `In file included from a.h:1,` and `                 from b.c:2:`.
    fn include(&self, line: &str) -> Option<Related> {
        let rest = line.strip_prefix("In file included from ").or_else(|| {
            line.trim_start()
                .strip_prefix("from ")
                .filter(|_| line.starts_with("   "))
        })?;
        let rest = rest.trim_end_matches([',', ':']);
        let (file, line, column) = super::rustc_text::file_line_column(rest)?;
        let span = if column > 0 {
            Span::Line(line)
        } else {
            Span::from_numbers((Some(line), None), (None, None))
        };
        let named = self.find(
            file,
            "",
            &super::lines::Head {
                file,
                numbers: [None; 4],
                rest: "",
            },
        )?;
        named.text.as_ref()?;
        let place = place(&named, &self.columns, span);
        Some(self.reading.related(place, "included from here"))
    }

    /// Among the candidates the one where the name that the message quotes stands at the place it tells.
    fn find(&self, file: &str, message: &str, head: &super::lines::Head<'_>) -> Option<Rc<Named>> {
        let names = quoted_names(message);
        let mut first = None;
        for base in &self.bases {
            let Some(named) = self.reading.locator.find_from(&[base], file) else {
                continue;
            };
            let Some(text) = &named.text else { continue };
            let (start, end, _) = crate::gates::place::offsets(text, &self.columns, head.span());
            if names.iter().any(|name| text.slice(start..end) == **name) {
                return Some(named);
            }
            first.get_or_insert(named);
        }
        first.or_else(|| self.reading.locator.find(file))
    }
}

fn is_severity_word(word: &str) -> bool {
    matches!(
        word,
        "error" | "warning" | "note" | "fatal error" | "sorry, unimplemented" | "info" | "remark"
    )
}

/// `message [-Woption]`.
pub fn option_of(message: &str) -> (&str, Option<&str>) {
    match message
        .strip_suffix(']')
        .and_then(|text| text.rsplit_once(" ["))
    {
        Some((text, option)) if option.starts_with('-') && !option.contains(' ') => {
            // `-Werror,-Wunused` and `-Werror=unused` are the same warning.
            let option = option.split(',').next_back().unwrap_or(option);
            (text, Some(option))
        }
        Some(_) | None => (message, None),
    }
}

fn option_page(option: &str) -> Option<String> {
    let name = option.strip_prefix("-W")?;
    let name = name.strip_prefix("error=").unwrap_or(name);
    let name = name.split('=').next().unwrap_or(name);
    Some(format!(
        "https://gcc.gnu.org/onlinedocs/gcc/Warning-Options.html#index-W{name}"
    ))
}

/// Any tool whose lines look like GCC's.
pub fn gnu(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let mut parsed = Parsed::absent();
    let stdout = plain(&output.stdout);
    let mut text = Text {
        reading,
        columns: reading.columns.unwrap_or(BYTES),
        bases: entered_folders(&stdout),
        bare: false,
    };
    for bare in [false, true] {
        text.bare = bare;
        if parsed.findings.is_empty() {
            text.read(&stdout, &mut parsed);
            text.read(&plain(&output.stderr), &mut parsed);
        }
    }
    if let Some(compiler) = echoed_compiler(&stdout) {
        for finding in &mut parsed.findings {
            compiler.clone_into(&mut finding.source);
        }
    }
    if parsed.report == ReportState::Absent && output.exit.code() == Some(0) {
        parsed.report = ReportState::Whole;
    }
    parsed
}

/// The compiler in the commands that `make` echoes.
fn echoed_compiler(stdout: &str) -> Option<&'static str> {
    stdout.lines().find_map(|line| {
        let program = line.split_whitespace().next()?;
        let name = program.rsplit('/').next().unwrap_or(program);
        match name.split('-').next().unwrap_or(name) {
            "gcc" | "g++" | "cc" | "c++" => Some("gcc"),
            "clang" | "clang++" => Some("clang"),
            _ => None,
        }
    })
}

/// The folders of `make[1]: Entering directory '…'`, the last one first. They come on stdout while the compiler speaks on
/// stderr, so that the order of the lines says nothing.
pub fn entered_folders(stdout: &str) -> Vec<String> {
    let mut folders: Vec<String> = stdout
        .lines()
        .filter_map(|line| {
            let (_, rest) = line.split_once(": Entering directory ")?;
            let folder = rest.trim().trim_matches(['\'', '`', '"']);
            (!folder.is_empty()).then(|| folder.to_owned())
        })
        .collect();
    folders.reverse();
    folders.dedup();
    folders
}
