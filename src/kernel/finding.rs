//! Findings: what a gate says about the code, with places that every client and the model can be shown.
//!
//! A place is kept in every unit that anyone downstream speaks (bytes, UTF-16, code points), computed once where the text
//! that the tool saw is at hand. So a finding can be rendered anywhere without that text.

pub mod for_model;
pub mod silence;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hash::ContentHash;
use super::ids::GateId;
use super::path::RelPath;

/// A point between two characters of a text without BOM. All counts are 0-based and from the line's start.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct Position {
    pub line: u32,
    /// Column in UTF-8 bytes.
    pub utf8: u32,
    /// Column in UTF-16 code units.
    pub utf16: u32,
    /// Column in code points.
    pub utf32: u32,
}

/// `start` inclusive, `end` exclusive.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct TextRange {
    pub start: Position,
    pub end: Position,
}

/// How much of a range the tool itself gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RangeKind {
    /// Start and end are the tool's.
    Exact,
    /// The tool gave a start; the end is the token's.
    Token,
    /// The tool gave a line.
    Line,
    /// The tool gave a file.
    File,
}

#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase", tag = "in", content = "path")]
pub enum SourceFile {
    Workspace(RelPath),
    /// Absolute path of a file outside the workspace (a system header, a dependency).
    Outside(String),
}

impl SourceFile {
    pub fn workspace(&self) -> Option<&RelPath> {
        match self {
            Self::Workspace(path) => Some(path),
            Self::Outside(_) => None,
        }
    }
}

impl std::fmt::Display for SourceFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Workspace(path) => path.fmt(f),
            Self::Outside(path) => f.write_str(path),
        }
    }
}

/// Where a finding is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    pub file: SourceFile,
    pub range: TextRange,
    pub kind: RangeKind,
    /// Byte offsets of the range in the text that the tool saw, BOM not counted.
    pub bytes: (u32, u32),
    /// Hash of the file's bytes that the tool saw; `None` when they could not be read.
    pub hash: Option<ContentHash>,
    /// 0-based cell of a notebook; the range is then relative to the cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<u32>,
    /// The text of the first line of the range, cut at 400 bytes: for people, for the model and for the fingerprint.
    #[serde(default)]
    pub line_text: String,
    /// The lines around the range, of a finding's own place only: for the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub around: Vec<LineAround>,
}

/// A line of a text, cut at 200 bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LineAround {
    /// From 0.
    pub line: u32,
    pub text: String,
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    Error,
    Warning,
    Information,
    Hint,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FindingTag {
    Unnecessary,
    Deprecated,
}

/// Another place that belongs to the finding, such as "the borrow started here".
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Related {
    pub place: Place,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Applicability {
    /// The tool promises that the meaning stays.
    Safe,
    /// The tool says that the meaning may change.
    Unsafe,
    /// The tool offers it without a promise either way.
    Suggestion,
}

/// One replacement, in the text of `place.hash`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FixEdit {
    pub place: Place,
    pub new_text: String,
}

/// One repair: all of its edits or none.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fix {
    pub title: String,
    pub applicability: Applicability,
    pub edits: Vec<FixEdit>,
}

/// One failure a gate reports.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    pub gate: GateId,
    /// The name shown beside the message, such as `cargo` or `ruff`.
    pub source: String,
    /// `None`: the project as a whole, without a file.
    pub place: Option<Place>,
    pub severity: Severity,
    pub code: Option<String>,
    /// Documentation of the code.
    pub href: Option<String>,
    /// Never empty; the first line is a summary.
    pub message: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<FindingTag>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<Related>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixes: Vec<Fix>,
    /// Test id, where the finding is a failed test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// The tool's own text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rendered: Option<String>,
}

impl Finding {
    pub fn file(&self) -> Option<&SourceFile> {
        self.place.as_ref().map(|place| &place.file)
    }

    /// `path:line:column` with 1-based numbers, column in code points.
    pub fn at(&self) -> String {
        match &self.place {
            Some(place) => format!(
                "{}:{}:{}",
                place.file,
                place.range.start.line + 1,
                place.range.start.utf32 + 1
            ),
            None => "project".to_owned(),
        }
    }

    /// What stays the same when lines move: gate, code, file, message with numbers blanked, text of the line.
    pub fn fingerprint(&self) -> Fingerprint {
        let file = self.file().map(ToString::to_string).unwrap_or_default();
        let line = self
            .place
            .as_ref()
            .map(|place| place.line_text.trim())
            .unwrap_or_default();
        let code = self.code.as_deref().unwrap_or_default();
        Fingerprint(format!(
            "{}\u{1f}{code}\u{1f}{file}\u{1f}{}\u{1f}{line}",
            self.gate,
            blank_numbers(&self.message)
        ))
    }
}

/// See [`Finding::fingerprint`]. Equal fingerprints are the same failure; several findings may share one.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Fingerprint(pub String);

fn blank_numbers(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    let mut in_number = false;
    for c in message.chars() {
        if c.is_ascii_digit() {
            if !in_number {
                out.push('#');
            }
            in_number = true;
        } else {
            in_number = false;
            out.push(c);
        }
    }
    out
}

/// What a gate's run amounts to. Decided from the report, its validity and the exit status together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    Pass,
    /// The gate judged the code bad.
    Fail,
    /// The gate itself failed: configuration, crash, time-out, nothing checked. Not the code's fault.
    Error,
    /// The tool is not installed.
    Missing,
    /// There was nothing to check.
    Skipped,
}

/// One gate's report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GateReport {
    pub gate: GateId,
    pub outcome: Outcome,
    /// Some of what was asked could not be checked, although the findings are valid: the gate stopped at one of them.
    #[serde(default)]
    pub partial: bool,
    pub findings: Vec<Finding>,
    /// For people: why it is an error or missing and what to do, what was cut.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The command as run, program first.
    #[serde(default)]
    pub command: Vec<String>,
    #[serde(default)]
    pub duration_ms: u64,
}
