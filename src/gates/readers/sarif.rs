//! SARIF 2.1.0 of any producer, read leniently: one bad field does not lose the log.
//!
//! `columnKind` has no default and one producer that states it is wrong, so known producers come with their own columns.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::{self, Found};
use crate::gates::columns::{Columns, Unit};
use crate::gates::outcome::ReportState;
use crate::gates::output::ToolOutput;
use crate::gates::place::{Span, checked, place};
use crate::gates::reading::{Parsed, Reading};
use crate::kernel::finding::{Applicability, Finding, Fix, FixEdit, Place, Severity};

#[derive(Deserialize)]
struct Log {
    runs: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    #[serde(default)]
    tool: Tool,
    #[serde(default)]
    results: Option<Vec<Box<RawValue>>>,
    #[serde(default)]
    column_kind: Option<String>,
    #[serde(default)]
    original_uri_base_ids: HashMap<String, ArtifactLocation>,
    #[serde(default)]
    artifacts: Vec<Artifact>,
    #[serde(default)]
    invocations: Vec<RunInvocation>,
}

#[derive(Deserialize, Default)]
struct Tool {
    #[serde(default)]
    driver: Driver,
}

#[derive(Deserialize, Default)]
struct Driver {
    #[serde(default)]
    name: String,
    #[serde(default)]
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    #[serde(default)]
    id: String,
    #[serde(default)]
    help_uri: Option<String>,
    #[serde(default)]
    short_description: Option<Message>,
    #[serde(default)]
    message_strings: HashMap<String, Message>,
    #[serde(default)]
    default_configuration: Option<Configuration>,
}

#[derive(Deserialize)]
struct Configuration {
    #[serde(default)]
    level: Option<String>,
}

#[derive(Deserialize)]
struct Artifact {
    #[serde(default)]
    location: Option<ArtifactLocation>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RunInvocation {
    #[serde(default)]
    execution_successful: Option<bool>,
    #[serde(default)]
    tool_execution_notifications: Vec<Notification>,
}

#[derive(Deserialize)]
struct Notification {
    #[serde(default)]
    message: Message,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct SarifResult {
    #[serde(default)]
    rule_id: Option<String>,
    #[serde(default)]
    rule_index: Option<i64>,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    level: Option<String>,
    #[serde(default)]
    message: Message,
    #[serde(default)]
    locations: Vec<Location>,
    #[serde(default)]
    related_locations: Vec<Location>,
    #[serde(default)]
    fixes: Vec<SarifFix>,
    #[serde(default)]
    suppressions: Vec<serde_json::Value>,
    #[serde(default)]
    baseline_state: Option<String>,
}

#[derive(Deserialize, Default, Clone)]
struct Message {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    markdown: Option<String>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    arguments: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    #[serde(default)]
    physical_location: Option<PhysicalLocation>,
    #[serde(default)]
    message: Option<Message>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    #[serde(default)]
    artifact_location: Option<ArtifactLocation>,
    #[serde(default)]
    region: Option<Region>,
}

#[derive(Deserialize, Clone)]
#[serde(rename_all = "camelCase")]
struct ArtifactLocation {
    #[serde(default)]
    uri: Option<String>,
    #[serde(default)]
    uri_base_id: Option<String>,
    #[serde(default)]
    index: Option<i64>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "camelCase")]
struct Region {
    #[serde(default)]
    start_line: Option<i64>,
    #[serde(default)]
    start_column: Option<i64>,
    #[serde(default)]
    end_line: Option<i64>,
    #[serde(default)]
    end_column: Option<i64>,
    #[serde(default)]
    byte_offset: Option<usize>,
    #[serde(default)]
    byte_length: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SarifFix {
    #[serde(default)]
    description: Option<Message>,
    #[serde(default)]
    artifact_changes: Vec<Change>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Change {
    artifact_location: ArtifactLocation,
    #[serde(default)]
    replacements: Vec<Replacement>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Replacement {
    deleted_region: Region,
    #[serde(default)]
    inserted_content: Option<Message>,
}

/// How to take a producer's columns.
#[derive(Clone, Copy)]
pub struct Dialect {
    pub columns: Option<Columns>,
    /// Rule ids that change with every release are not shown.
    pub hide_rule_ids: bool,
    /// The column is always 1, and the line is meant.
    pub whole_lines: bool,
}

impl Dialect {
    /// A producer whose columns were measured.
    pub const fn measured(columns: Columns) -> Self {
        Self {
            columns: Some(columns),
            hide_rule_ids: false,
            whole_lines: false,
        }
    }

    /// What is known of a producer by its name.
    fn by_name(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "ruff" | "shellcheck" => Self::measured(super::ruff::COLUMNS),
            "eslint" => Self::measured(super::eslint::COLUMNS),
            "biome" => Self::measured(super::biome::COLUMNS),
            "oxlint" => Self::measured(super::oxlint::COLUMNS),
            "clang" => Self {
                columns: Some(super::clang::SARIF),
                hide_rule_ids: true,
                whole_lines: false,
            },
            "hadolint" => Self {
                whole_lines: true,
                ..Self::measured(super::ruff::COLUMNS)
            },
            _ => Self {
                columns: None,
                hide_rule_ids: false,
                whole_lines: false,
            },
        }
    }
}

/// Whether a stream holds a SARIF log.
pub fn is_sarif(bytes: &[u8]) -> bool {
    matches!(json::find::<Log>(bytes), Found::Whole(_) | Found::CutOff)
        && bytes.windows(6).any(|window| window == b"\"runs\"")
}

/// SARIF on stdout, in a report file, or on stderr.
pub fn read(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let streams = [
        output.artifact(".sarif"),
        output.artifact(".json"),
        Some(output.stdout.as_slice()),
        Some(output.stderr.as_slice()),
    ];
    let mut cut_off = false;
    for stream in streams.into_iter().flatten() {
        let parsed = read_log(reading, stream, reading.columns.map(Dialect::measured));
        match parsed.report {
            ReportState::Whole => return parsed,
            ReportState::CutOff => cut_off = true,
            ReportState::Absent => {}
        }
    }
    Parsed::new(if cut_off {
        ReportState::CutOff
    } else {
        ReportState::Absent
    })
}

pub fn read_as(reading: &Reading<'_>, bytes: &[u8], dialect: Dialect) -> Parsed {
    read_log(reading, bytes, Some(dialect))
}

fn read_log(reading: &Reading<'_>, bytes: &[u8], dialect: Option<Dialect>) -> Parsed {
    let log = match json::find::<Log>(bytes) {
        Found::Whole(log) => log,
        Found::CutOff => return Parsed::new(ReportState::CutOff),
        Found::Absent => return Parsed::absent(),
    };
    let mut parsed = Parsed::whole(Vec::new());
    let (runs, lost_runs) = json::items::<Run>(&log.runs);
    parsed.partial = lost_runs > 0;
    parsed.notes.extend(json::lost_note(lost_runs));
    for run in &runs {
        let driver = &run.tool.driver.name;
        let log = LogRun {
            reading,
            run,
            dialect: dialect.unwrap_or_else(|| Dialect::by_name(driver)),
            named_source: dialect.is_none().then(|| driver.to_ascii_lowercase()),
        };
        let (results, lost) =
            json::items::<SarifResult>(run.results.as_deref().unwrap_or_default());
        parsed.notes.extend(json::lost_note(lost));
        parsed
            .findings
            .extend(results.iter().filter_map(|result| log.finding(result)));
        for invocation in &run.invocations {
            if invocation.execution_successful == Some(false) {
                parsed.broken = true;
            }
            for notification in &invocation.tool_execution_notifications {
                if let Some(text) = &notification.message.text {
                    parsed.notes.push(crate::gates::reading::tidy(text, 1000));
                }
            }
        }
    }
    parsed
}

struct LogRun<'r, 'a> {
    reading: &'r Reading<'a>,
    run: &'r Run,
    dialect: Dialect,
    named_source: Option<String>,
}

impl LogRun<'_, '_> {
    fn finding(&self, result: &SarifResult) -> Option<Finding> {
        let is_pass = matches!(
            result.kind.as_deref(),
            Some("pass" | "notApplicable" | "informational" | "open")
        ) && result.level.as_deref().is_none_or(|level| level == "none");
        if is_pass
            || !result.suppressions.is_empty()
            || result.baseline_state.as_deref() == Some("absent")
        {
            return None;
        }
        let rule = self.rule(result);
        let level = result
            .level
            .as_deref()
            .or_else(|| rule?.default_configuration.as_ref()?.level.as_deref())
            .unwrap_or("warning");
        let severity = match level {
            "error" => Severity::Error,
            "note" => Severity::Information,
            "none" => Severity::Hint,
            _ => Severity::Warning,
        };
        let message = self.text(&result.message, rule);
        let code = result
            .rule_id
            .clone()
            .or_else(|| rule.map(|rule| rule.id.clone()))
            .filter(|id| !id.is_empty() && !self.dialect.hide_rule_ids);
        let place = result
            .locations
            .iter()
            .find_map(|location| self.place(location, &message));
        let related = result
            .related_locations
            .iter()
            .filter_map(|location| {
                let text = location
                    .message
                    .as_ref()
                    .map(|message| self.text(message, None))
                    .unwrap_or_default();
                let place = self.place(location, &text)?;
                let text = if text.is_empty() { "see also" } else { &text };
                Some(self.reading.related(place, text))
            })
            .collect();
        Some(Finding {
            source: self
                .named_source
                .clone()
                .filter(|name| !name.is_empty())
                .unwrap_or_else(|| self.reading.source.to_owned()),
            place,
            code,
            href: rule.and_then(|rule| rule.help_uri.clone()),
            related,
            fixes: self.fixes(result),
            ..self.reading.finding(severity, &message)
        })
    }

    fn rule(&self, result: &SarifResult) -> Option<&Rule> {
        let rules = &self.run.tool.driver.rules;
        let by_index = result
            .rule_index
            .and_then(|index| usize::try_from(index).ok())
            .and_then(|index| rules.get(index));
        by_index.or_else(|| {
            let id = result.rule_id.as_deref()?;
            rules.iter().find(|rule| rule.id == id)
        })
    }

    fn text(&self, message: &Message, rule: Option<&Rule>) -> String {
        let by_id = || {
            let id = message.id.as_deref()?;
            rule?.message_strings.get(id)?.text.clone()
        };
        let text = message
            .text
            .clone()
            .or_else(by_id)
            .or_else(|| message.markdown.clone())
            .or_else(|| rule?.short_description.as_ref()?.text.clone())
            .unwrap_or_default();
        if message.arguments.is_empty() {
            return text;
        }
        let mut text = text;
        for (index, argument) in message.arguments.iter().enumerate() {
            text = text.replace(&format!("{{{index}}}"), argument);
        }
        text
    }

    fn place(&self, location: &Location, message: &str) -> Option<Place> {
        let physical = location.physical_location.as_ref()?;
        let named = self.file(physical.artifact_location.as_ref()?)?;
        let span = match physical.region.map_or(Span::File, span_of) {
            Span::Start(line, 1) if self.dialect.whole_lines => Span::Line(line),
            other => other,
        };
        Some(match self.dialect.columns {
            Some(columns) => place(&named, &columns, with_bom(span, &named)),
            None => checked(
                &named,
                &self.stated_columns(),
                with_bom(span, &named),
                message,
            ),
        })
    }

    /// What the log says of itself; most say nothing, and count as the platform of the format's authors does.
    fn stated_columns(&self) -> Columns {
        match self.run.column_kind.as_deref() {
            Some("unicodeCodePoints") => Columns::new(Unit::CodePoints),
            Some(_) | None => Columns::new(Unit::Utf16),
        }
    }

    fn file(
        &self,
        location: &ArtifactLocation,
    ) -> Option<std::rc::Rc<crate::gates::locate::Named>> {
        let location = match &location.uri {
            Some(_) => location,
            None => {
                let index = usize::try_from(location.index?).ok()?;
                self.run.artifacts.get(index)?.location.as_ref()?
            }
        };
        let uri = location.uri.as_deref()?;
        let base = self.base(location.uri_base_id.as_deref(), 0);
        let uri = if uri.contains(":/") || uri.starts_with('/') {
            uri.to_owned()
        } else {
            // Relative URIs are percent-encoded too.
            percent_encoding::percent_decode_str(uri)
                .decode_utf8_lossy()
                .into_owned()
        };
        match base {
            Some(base) => {
                let folder = base
                    .strip_prefix("file://")
                    .map_or(base.as_str(), |rest| rest.trim_start_matches("localhost"))
                    .to_owned();
                let folder = percent_encoding::percent_decode_str(&folder)
                    .decode_utf8_lossy()
                    .into_owned();
                self.reading.locator.find_from(&[&folder], &uri)
            }
            None => self.reading.locator.find(&uri),
        }
    }

    /// A base may stand on another base.
    fn base(&self, id: Option<&str>, depth: usize) -> Option<String> {
        let location = self.run.original_uri_base_ids.get(id?)?;
        let uri = location.uri.clone().unwrap_or_default();
        if uri.contains(":/") || uri.starts_with('/') || depth > 8 {
            return Some(uri).filter(|uri| !uri.is_empty());
        }
        let outer = self.base(location.uri_base_id.as_deref(), depth + 1)?;
        Some(format!("{}/{uri}", outer.trim_end_matches('/')))
    }

    fn fixes(&self, result: &SarifResult) -> Vec<Fix> {
        let columns = self
            .dialect
            .columns
            .unwrap_or_else(|| self.stated_columns());
        result
            .fixes
            .iter()
            .filter_map(|fix| {
                let mut edits = Vec::new();
                for change in &fix.artifact_changes {
                    let named = self.file(&change.artifact_location)?;
                    for replacement in &change.replacements {
                        let span = edit_span(replacement.deleted_region);
                        let place = place(&named, &columns, with_bom(span, &named));
                        place.hash.as_ref()?;
                        edits.push(FixEdit {
                            place,
                            new_text: replacement
                                .inserted_content
                                .as_ref()
                                .and_then(|content| content.text.clone())
                                .unwrap_or_default(),
                        });
                    }
                }
                let title = fix
                    .description
                    .as_ref()
                    .and_then(|message| message.text.clone())
                    .unwrap_or_else(|| {
                        format!("Fix {}", result.rule_id.as_deref().unwrap_or("this"))
                    });
                (!edits.is_empty()).then_some(Fix {
                    title,
                    applicability: Applicability::Suggestion,
                    edits,
                })
            })
            .collect()
    }
}

/// `end == start` means that there is no range.
fn span_of(region: Region) -> Span {
    let (line, column) = (region.start_line, region.start_column);
    let same_line = region.end_line.is_none() || region.end_line == line;
    if same_line && region.end_column.is_some() && region.end_column == column {
        return Span::from_numbers((line, column), (None, None));
    }
    match (line, region.byte_offset) {
        (Some(_), _) => match (column, region.end_line, region.end_column) {
            // Whole lines.
            (None, Some(end), None) if Some(end) != line => Span::Exact {
                start: (line.unwrap_or(1), 1),
                end: (end, i64::MAX),
            },
            (None, _, Some(end)) => Span::Exact {
                start: (line.unwrap_or(1), 1),
                end: (region.end_line.or(line).unwrap_or(1), end),
            },
            _ => Span::from_numbers((line, column), (region.end_line, region.end_column)),
        },
        (None, Some(offset)) => Span::Bytes(
            offset,
            offset.saturating_add(region.byte_length.unwrap_or(0)),
        ),
        (None, None) => Span::File,
    }
}

/// An edit without an end inserts.
fn edit_span(region: Region) -> Span {
    match (region.start_line, region.start_column) {
        (Some(line), column) => {
            let column = column.unwrap_or(1);
            Span::Exact {
                start: (line, column),
                end: (
                    region.end_line.unwrap_or(line),
                    region.end_column.unwrap_or(column),
                ),
            }
        }
        (None, _) => span_of(region),
    }
}

/// Offsets of a log count the bytes of the file, BOM included.
fn with_bom(span: Span, named: &crate::gates::locate::Named) -> Span {
    let bom = named.text.as_ref().map_or(0, |text| text.bom_len());
    match span {
        Span::Bytes(start, end) => Span::Bytes(start.saturating_sub(bom), end.saturating_sub(bom)),
        other => other,
    }
}
