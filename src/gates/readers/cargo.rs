//! Cargo and rustc: JSON lines on stdout, cargo's own troubles as text on stderr.
//!
//! Rust's JSON is the most exact of all: byte offsets into the file on disk, both ends, replacements with a promise. One
//! message with several primary spans is several findings, as rust-analyzer has it.

use std::rc::Rc;

use serde::Deserialize;

use super::rustc_text;
use crate::gates::columns::{Columns, Unit};
use crate::gates::locate::{Named, parent};
use crate::gates::outcome::ReportState;
use crate::gates::output::{ToolOutput, plain};
use crate::gates::place::{Span as At, place};
use crate::gates::reading::{Parsed, Reading};
use crate::gates::text::LineRule;
use crate::kernel::finding::{
    Applicability, Finding, FindingTag, Fix, FixEdit, Place, Related, Severity, SourceFile,
};

/// Columns of rustc's messages, JSON and text.
pub const RUSTC: Columns = Columns::new(Unit::CodePoints).lines(LineRule::Lf);

#[derive(Deserialize)]
struct Line {
    reason: String,
    #[serde(default)]
    manifest_path: String,
    #[serde(default)]
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    message: String,
    #[serde(default)]
    code: Option<Code>,
    #[serde(default)]
    level: String,
    #[serde(default)]
    spans: Vec<Span>,
    #[serde(default)]
    children: Vec<Message>,
    #[serde(default)]
    rendered: Option<String>,
}

#[derive(Deserialize)]
struct Code {
    code: String,
}

#[derive(Deserialize)]
struct Span {
    #[serde(default)]
    file_name: String,
    #[serde(default)]
    byte_start: usize,
    #[serde(default)]
    byte_end: usize,
    #[serde(default)]
    line_start: i64,
    #[serde(default)]
    line_end: i64,
    #[serde(default)]
    column_start: i64,
    #[serde(default)]
    column_end: i64,
    #[serde(default)]
    is_primary: bool,
    #[serde(default)]
    label: Option<String>,
    #[serde(default)]
    suggested_replacement: Option<String>,
    #[serde(default)]
    suggestion_applicability: Option<String>,
    #[serde(default)]
    expansion: Option<Box<Expansion>>,
    #[serde(default)]
    text: Vec<SpanLine>,
}

#[derive(Deserialize)]
struct SpanLine {
    #[serde(default)]
    text: String,
}

#[derive(Deserialize)]
struct Expansion {
    span: Span,
    #[serde(default)]
    macro_decl_name: String,
}

/// Reads `cargo check`, `build`, `clippy` or `doc` with `--message-format json`, or as text when that flag is absent.
pub fn read(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let mut parsed = messages(reading, &output.stdout);
    let failed = output.exit.code() != Some(0);
    let has_errors = parsed
        .findings
        .iter()
        .any(|finding| finding.severity == Severity::Error);
    if failed && !has_errors {
        rustc_text::read_into(reading, &plain(&output.stderr), &mut parsed);
    } else if parsed.report == ReportState::Absent && !failed && !wants_json(reading) {
        rustc_text::read_into(reading, &plain(&output.stderr), &mut parsed);
        parsed.report = ReportState::Whole;
    } else if parsed.report == ReportState::Absent && !failed && output.stdout.is_empty() {
        // Nothing to build: a workspace without a target for this command.
        parsed.report = ReportState::Whole;
    }
    parsed
}

fn wants_json(reading: &Reading<'_>) -> bool {
    reading.invocation.has("--message-format")
}

/// The compiler's messages in a stream of JSON lines and other text.
pub fn messages(reading: &Reading<'_>, stdout: &[u8]) -> Parsed {
    let mut parsed = Parsed::absent();
    let mut lines = stdout.split(|byte| *byte == b'\n').peekable();
    while let Some(line) = lines.next() {
        let line = line.trim_ascii();
        if !line.starts_with(b"{\"reason\"") && !line.starts_with(b"{ \"reason\"") {
            continue;
        }
        match serde_json::from_slice::<Line>(line) {
            Ok(line) => {
                if parsed.report == ReportState::Absent {
                    parsed.report = ReportState::Whole;
                }
                if line.reason == "compiler-message"
                    && let Some(message) = &line.message
                {
                    read_message(reading, message, &line.manifest_path, &mut parsed);
                }
            }
            // A line of a form we do not know is not the end; an unfinished last line is.
            Err(_) if lines.peek().is_none() => parsed.report = ReportState::CutOff,
            Err(_) => parsed
                .notes
                .push("one line of cargo's JSON was not understood".to_owned()),
        }
    }
    parsed
}

fn read_message(reading: &Reading<'_>, message: &Message, manifest: &str, parsed: &mut Parsed) {
    let Some(severity) = severity(&message.level) else {
        return;
    };
    if message.level == "error: internal compiler error" {
        let anchor = manifest_place(reading, manifest);
        parsed
            .troubles
            .push(reading.trouble(anchor, &message.message));
        return;
    }
    if message.spans.is_empty() && is_summary(&message.message) {
        return;
    }
    let files = Files {
        reading,
        bases: bases(reading, manifest),
    };
    let code = message.code.as_ref().map(|code| code.code.clone());
    let common = Finding {
        source: match &code {
            Some(code) if code.starts_with("clippy::") => "clippy".to_owned(),
            Some(_) | None => reading.source.to_owned(),
        },
        href: href(message, code.as_deref()),
        tags: tags(code.as_deref()),
        fixes: fixes(&files, message),
        rendered: message.rendered.clone(),
        code,
        ..reading.finding(severity, &text_of(message, None))
    };
    let primaries: Vec<&Span> = message
        .spans
        .iter()
        .filter(|span| span.is_primary)
        .collect();
    if primaries.is_empty() {
        parsed.findings.push(Finding {
            place: manifest_place(reading, manifest),
            ..common
        });
        return;
    }
    for primary in primaries {
        let place = files.place_of(primary);
        let related = related(&files, message, primary, place.as_ref());
        let label = primary.label.as_deref().filter(|label| !label.is_empty());
        parsed.findings.push(Finding {
            place: place.or_else(|| manifest_place(reading, manifest)),
            message: reading.finding(severity, &text_of(message, label)).message,
            related,
            ..common.clone()
        });
    }
}

fn severity(level: &str) -> Option<Severity> {
    match level {
        "error" | "error: internal compiler error" => Some(Severity::Error),
        "warning" => Some(Severity::Warning),
        "note" => Some(Severity::Information),
        "help" => Some(Severity::Hint),
        _ => None,
    }
}

/// rustc's own counting at the end: no news.
fn is_summary(message: &str) -> bool {
    message.starts_with("aborting due to")
        || message.ends_with("warning emitted")
        || message.ends_with("warnings emitted")
        || message.starts_with("For more information about")
        || message.starts_with("Some errors have detailed explanations")
}

/// Summary, what the caret says, and the notes that have no place of their own.
fn text_of(message: &Message, label: Option<&str>) -> String {
    let mut text = message.message.clone();
    if let Some(label) = label
        && !text.contains(label)
    {
        text.push('\n');
        text.push_str(label);
    }
    for child in &message.children {
        if child.spans.is_empty()
            && visit_link(&child.message).is_none()
            && !is_noise(&child.message)
        {
            text.push_str(&format!("\n{}: {}", child.level, child.message));
        }
    }
    text
}

/// Where a lint's level comes from is seldom what one wants to know.
pub fn is_noise(note: &str) -> bool {
    note.ends_with("on by default")
        || note.contains("implied by `")
        || note.contains("to override `-")
}

fn visit_link(message: &str) -> Option<&str> {
    message
        .strip_prefix("for further information visit ")
        .or_else(|| message.strip_prefix("for more information, see "))
        .map(|link| link.trim_matches(['<', '>', ' ']))
        .filter(|link| link.starts_with("https://") && !link.contains(char::is_whitespace))
}

fn href(message: &Message, code: Option<&str>) -> Option<String> {
    if let Some(link) = message
        .children
        .iter()
        .find_map(|child| visit_link(&child.message))
    {
        return Some(link.to_owned());
    }
    let code = code?;
    let digits = code.strip_prefix('E')?;
    (digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| format!("https://doc.rust-lang.org/error_codes/{code}.html"))
}

fn tags(code: Option<&str>) -> Vec<FindingTag> {
    match code {
        Some(
            "dead_code" | "unreachable_code" | "unused_attributes" | "unused_imports"
            | "unused_macros" | "unused_variables" | "unused_assignments",
        ) => vec![FindingTag::Unnecessary],
        Some("deprecated") => vec![FindingTag::Deprecated],
        Some(_) | None => Vec::new(),
    }
}

/// The folders that a relative file name may start from: cargo prints names relative to its own workspace's root, which
/// may be any folder from the package's up. The outermost first, as that is the usual one.
fn bases(reading: &Reading<'_>, manifest: &str) -> Vec<String> {
    let mut bases = Vec::new();
    let mut folder = parent(manifest);
    while !folder.is_empty() && bases.len() < 16 {
        bases.push(folder.to_owned());
        if reading
            .locator
            .roots()
            .workspace
            .iter()
            .any(|root| root == folder)
        {
            break;
        }
        folder = parent(folder);
    }
    bases.reverse();
    bases
}

struct Files<'r, 'a> {
    reading: &'r Reading<'a>,
    bases: Vec<String>,
}

impl Files<'_, '_> {
    /// The file of a span: among the candidates the one whose line reads as the compiler quotes it.
    fn find(&self, span: &Span) -> Option<Rc<Named>> {
        let mut first = None;
        for base in &self.bases {
            let Some(named) = self.reading.locator.find_from(&[base], &span.file_name) else {
                continue;
            };
            if quotes(&named, span) {
                return Some(named);
            }
            first.get_or_insert(named);
        }
        first.or_else(|| self.reading.locator.find(&span.file_name))
    }

    fn exact(&self, span: &Span) -> Option<(Rc<Named>, Place)> {
        let named = self.find(span)?;
        let place = place(&named, &RUSTC, at(&named, span));
        Some((named, place))
    }

    /// The innermost place of a span that lies in the workspace: from inside a foreign macro out to the call.
    fn place_of(&self, span: &Span) -> Option<Place> {
        let mut first = None;
        let mut next = Some(span);
        let mut depth = 0;
        while let Some(span) = next
            && depth < 64
        {
            if let Some((named, place)) = self.exact(span) {
                if self.reading.locator.is_own(&named) {
                    return Some(place);
                }
                first.get_or_insert(place);
            }
            next = span.expansion.as_ref().map(|expansion| &expansion.span);
            depth += 1;
        }
        first
    }
}

fn quotes(named: &Named, span: &Span) -> bool {
    let (Some(text), Some(quoted)) = (&named.text, span.text.first()) else {
        return false;
    };
    text.line(LineRule::Lf, RUSTC.line_index(text, span.line_start))
        .is_some_and(|line| text.slice(line) == quoted.text)
}

/// Byte offsets are the best anchor; when they do not meet the line, the file has changed since and the line is better.
fn at(named: &Named, span: &Span) -> At {
    let by_columns = At::Exact {
        start: (span.line_start, span.column_start),
        end: (span.line_end, span.column_end),
    };
    let Some(text) = &named.text else {
        return by_columns;
    };
    let bom = text.bom_len();
    let (start, end) = (
        span.byte_start.saturating_sub(bom),
        span.byte_end.saturating_sub(bom),
    );
    let agrees = start <= end
        && end <= text.body().len()
        && start == RUSTC.offset(text, span.line_start, span.column_start)
        && end == RUSTC.offset(text, span.line_end, span.column_end);
    if agrees {
        At::Bytes(start, end)
    } else {
        by_columns
    }
}

fn related(
    files: &Files<'_, '_>,
    message: &Message,
    primary: &Span,
    primary_place: Option<&Place>,
) -> Vec<Related> {
    let mut related: Vec<Related> = Vec::new();
    let mut add = |place: Option<Place>, text: &str| {
        let Some(place) = place else { return };
        let known = primary_place == Some(&place)
            || related
                .iter()
                .any(|known| known.place == place && known.message == text);
        // A path of the compiler's own build machine leads nowhere.
        let foreign =
            matches!(&place.file, SourceFile::Outside(path) if path.starts_with("/rustc/"));
        if !known && !foreign && !text.is_empty() {
            related.push(files.reading.related(place, text));
        }
    };
    for span in &message.spans {
        if !span.is_primary {
            let label = span.label.as_deref().unwrap_or_default();
            add(files.place_of(span), label);
        }
    }
    let mut next = primary.expansion.as_deref();
    let mut depth = 0;
    while let Some(expansion) = next
        && depth < 16
    {
        let text = format!("in this expansion of `{}`", expansion.macro_decl_name);
        add(files.place_of(&expansion.span), &text);
        next = expansion.span.expansion.as_deref();
        depth += 1;
    }
    for child in &message.children {
        for span in &child.spans {
            if span.suggested_replacement.is_none() {
                let text = match &span.label {
                    Some(label) if !label.is_empty() => format!("{}: {label}", child.message),
                    Some(_) | None => child.message.clone(),
                };
                add(files.place_of(span), &text);
            }
        }
    }
    related
}

fn fixes(files: &Files<'_, '_>, message: &Message) -> Vec<Fix> {
    let mut fixes = Vec::new();
    for child in &message.children {
        let edits: Vec<(&Span, FixEdit, Applicability)> = child
            .spans
            .iter()
            .filter_map(|span| {
                let new_text = span.suggested_replacement.clone()?;
                let applicability = match span.suggestion_applicability.as_deref()? {
                    "MachineApplicable" => Applicability::Safe,
                    "MaybeIncorrect" => Applicability::Unsafe,
                    "Unspecified" => Applicability::Suggestion,
                    // `HasPlaceholders` does not compile as it stands.
                    _ => return None,
                };
                let (named, place) = files.exact(span)?;
                (files.reading.locator.is_own(&named) && place.hash.is_some()).then_some((
                    span,
                    FixEdit { place, new_text },
                    applicability,
                ))
            })
            .collect();
        if edits.len()
            < child
                .spans
                .iter()
                .filter(|span| span.suggested_replacement.is_some())
                .count()
        {
            continue;
        }
        let title = child.message.clone();
        if edits_exclude_each_other(&edits) {
            // Several ways to say it, such as the modules a name could be imported from.
            fixes.extend(edits.into_iter().map(|(span, edit, applicability)| Fix {
                title: match &span.suggested_replacement {
                    Some(text) => format!("{title}: `{}`", text.trim()),
                    None => title.clone(),
                },
                // The tool cannot know which of them is meant.
                applicability: applicability.max_caution(),
                edits: vec![edit],
            }));
        } else if let Some(applicability) = edits.iter().map(|(_, _, how)| *how).reduce(weaker) {
            fixes.push(Fix {
                title,
                applicability,
                edits: edits.into_iter().map(|(_, edit, _)| edit).collect(),
            });
        }
    }
    fixes
}

trait Caution {
    fn max_caution(self) -> Self;
}

impl Caution for Applicability {
    fn max_caution(self) -> Self {
        match self {
            Self::Safe => Self::Suggestion,
            Self::Unsafe | Self::Suggestion => self,
        }
    }
}

fn weaker(one: Applicability, other: Applicability) -> Applicability {
    match (one, other) {
        (Applicability::Safe, other) => other,
        (Applicability::Suggestion, Applicability::Unsafe) => Applicability::Unsafe,
        (one, _) => one,
    }
}

/// Parts of one change touch different places; alternatives touch the same one.
fn edits_exclude_each_other(edits: &[(&Span, FixEdit, Applicability)]) -> bool {
    edits.iter().enumerate().any(|(index, (_, one, _))| {
        edits.iter().skip(index + 1).any(|(_, other, _)| {
            let ((a, b), (c, d)) = (one.place.bytes, other.place.bytes);
            one.place.file == other.place.file && ((a, b) == (c, d) || (a < d && c < b))
        })
    })
}

/// Where something without a place of its own is shown: the package's manifest.
pub fn manifest_place(reading: &Reading<'_>, manifest: &str) -> Option<Place> {
    let named = reading
        .locator
        .find(manifest)
        .filter(|named| named.text.is_some())
        .or_else(|| reading.first_file(&["Cargo.toml"]))?;
    Some(reading.file(&named))
}
