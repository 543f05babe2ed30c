//! ESLint: JSON with and without metadata.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::{self, Found};
use super::lines::config_trouble;
use super::pattern::{self, Matcher};
use crate::gates::columns::{Columns, Unit};
use crate::gates::locate::Named;
use crate::gates::outcome::ReportState;
use crate::gates::output::{ToolOutput, plain};
use crate::gates::place::{Span, place};
use crate::gates::reading::{Parsed, Reading};
use crate::gates::text::LineRule;
use crate::kernel::finding::{Applicability, Finding, FindingTag, Fix, FixEdit, Severity};

pub const COLUMNS: Columns = Columns::new(Unit::Utf16).lines(LineRule::Ecma);
const CONFIGS: [&str; 13] = [
    "eslint.config.js",
    "eslint.config.mjs",
    "eslint.config.cjs",
    "eslint.config.ts",
    "eslint.config.mts",
    "eslint.config.cts",
    ".eslintrc.js",
    ".eslintrc.cjs",
    ".eslintrc.yaml",
    ".eslintrc.yml",
    ".eslintrc.json",
    ".eslintrc",
    "package.json",
];

#[derive(Deserialize)]
struct WithMetadata {
    results: Vec<Box<RawValue>>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize, Default)]
struct Metadata {
    #[serde(rename = "rulesMeta", default)]
    rules: HashMap<String, Box<RawValue>>,
}

#[derive(Deserialize)]
struct Rule {
    #[serde(default)]
    docs: Option<Docs>,
}

#[derive(Deserialize)]
struct Docs {
    #[serde(default)]
    url: Option<String>,
}

#[derive(Deserialize)]
struct Item {
    #[serde(rename = "filePath")]
    file: String,
    messages: Vec<Message>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(rename = "ruleId", default)]
    rule: Option<String>,
    #[serde(default)]
    severity: u8,
    #[serde(default)]
    fatal: Option<bool>,
    #[serde(default)]
    message: String,
    #[serde(default)]
    line: Option<i64>,
    #[serde(default)]
    column: Option<i64>,
    #[serde(rename = "endLine", default)]
    end_line: Option<i64>,
    #[serde(rename = "endColumn", default)]
    end_column: Option<i64>,
    #[serde(default)]
    fix: Option<JsonFix>,
    #[serde(default)]
    suggestions: Option<Vec<Suggestion>>,
}

#[derive(Deserialize)]
struct JsonFix {
    range: (i64, i64),
    #[serde(default)]
    text: String,
}

#[derive(Deserialize)]
struct Suggestion {
    #[serde(default)]
    desc: String,
    fix: JsonFix,
}

pub fn read(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let report = match json::find::<WithMetadata>(&output.stdout) {
        Found::Whole(report) => Found::Whole(report),
        Found::CutOff => Found::CutOff,
        Found::Absent => match json::find::<Vec<Box<RawValue>>>(&output.stdout) {
            Found::Whole(results) => Found::Whole(WithMetadata {
                results,
                metadata: Metadata::default(),
            }),
            Found::CutOff => Found::CutOff,
            Found::Absent => Found::Absent,
        },
    };
    let mut parsed = match report {
        Found::Whole(report) => {
            let (items, lost) = json::items::<Item>(&report.results);
            let mut parsed = Parsed::whole(Vec::new());
            parsed.notes.extend(json::lost_note(lost));
            if lost > 0 && items.is_empty() {
                parsed.report = ReportState::Absent;
            }
            for item in &items {
                let named = reading.locator.find(&item.file);
                for message in &item.messages {
                    if !is_ignored_notice(message) {
                        let finding = finding(reading, message, named.as_deref(), &report.metadata);
                        parsed.findings.push(finding);
                    }
                }
            }
            parsed
        }
        Found::CutOff => Parsed::new(ReportState::CutOff),
        Found::Absent => text(reading, output),
    };
    if output.exit.code() == Some(2) && parsed.findings.is_empty() {
        crash(reading, output, &mut parsed);
    }
    parsed
}

/// The formats for people, when a project's script decides the format.
fn text(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    for name in ["$eslint-stylish", "$eslint-compact"] {
        let matcher = Matcher::named(name).map(|declared| Matcher::new(&declared, COLUMNS));
        if let Some(Ok(matcher)) = matcher {
            let parsed = pattern::read(reading, output, &matcher.measured());
            if !parsed.findings.is_empty() {
                return parsed;
            }
        }
    }
    Parsed::absent()
}

/// "File ignored …" is an answer to the command line, not a finding.
fn is_ignored_notice(message: &Message) -> bool {
    message.rule.is_none()
        && message.line.is_none()
        && message.fatal != Some(true)
        && message.severity <= 1
        && message.message.starts_with("File ignored")
}

fn finding(
    reading: &Reading<'_>,
    message: &Message,
    named: Option<&Named>,
    metadata: &Metadata,
) -> Finding {
    let span = Span::from_numbers(
        (
            message.line.filter(|line| *line > 0),
            message.column.filter(|column| *column > 0),
        ),
        (message.end_line, message.end_column),
    );
    let severity = if message.severity >= 2 || message.fatal == Some(true) {
        Severity::Error
    } else {
        Severity::Warning
    };
    let rule = message.rule.as_deref();
    let fix = message.fix.iter().filter_map(|fix| {
        Some(Fix {
            title: format!("Fix this {} problem", rule.unwrap_or("ESLint")),
            applicability: Applicability::Safe,
            edits: vec![edit(named?, fix)?],
        })
    });
    let suggestions = message
        .suggestions
        .iter()
        .flatten()
        .filter_map(|suggestion| {
            Some(Fix {
                title: suggestion.desc.clone(),
                applicability: Applicability::Suggestion,
                edits: vec![edit(named?, &suggestion.fix)?],
            })
        });
    Finding {
        place: named.map(|named| place(named, &COLUMNS, span)),
        code: message.rule.clone(),
        href: rule.and_then(|rule| href(rule, metadata)),
        tags: tags(rule),
        fixes: fix.chain(suggestions).collect(),
        ..reading.finding(severity, &message.message)
    }
}

fn edit(named: &Named, fix: &JsonFix) -> Option<FixEdit> {
    // The rule against BOMs reaches before the text; the editor has no such place.
    let start = usize::try_from(fix.range.0).ok()?;
    let end = usize::try_from(fix.range.1).ok()?;
    let place = place(named, &COLUMNS, Span::Utf16(start, end));
    place.hash.is_some().then(|| FixEdit {
        place,
        new_text: fix.text.clone(),
    })
}

fn href(rule: &str, metadata: &Metadata) -> Option<String> {
    let known = metadata
        .rules
        .get(rule)
        .and_then(|raw| serde_json::from_str::<Rule>(raw.get()).ok());
    if let Some(rule) = &known
        && let Some(url) = rule.docs.as_ref().and_then(|docs| docs.url.clone())
    {
        return Some(url);
    }
    // Rules of ESLint's own have no plugin before a slash.
    (!rule.contains('/')).then(|| format!("https://eslint.org/docs/latest/rules/{rule}"))
}

fn tags(rule: Option<&str>) -> Vec<FindingTag> {
    let name = rule.and_then(|rule| rule.rsplit('/').next());
    match name {
        Some("no-unused-vars" | "no-unused-imports" | "no-unreachable") => {
            vec![FindingTag::Unnecessary]
        }
        Some("no-deprecated" | "deprecation") => vec![FindingTag::Deprecated],
        Some(_) | None => Vec::new(),
    }
}

/// Status 2: the configuration or ESLint itself.
fn crash(reading: &Reading<'_>, output: &ToolOutput, parsed: &mut Parsed) {
    parsed.report = ReportState::Absent;
    let text = plain(&output.stderr);
    if text.contains("No files matching")
        || text.contains("are ignored because of")
        || text.starts_with("Invalid option")
    {
        return;
    }
    let message: Vec<&str> = text
        .lines()
        .filter(|line| {
            !line.trim().is_empty()
                && !line.starts_with("Oops!")
                && !line.starts_with("ESLint: ")
                && !line.trim_start().starts_with("at ")
        })
        .collect();
    parsed.troubles.push(config_trouble(
        reading,
        output,
        &message.join("\n"),
        &CONFIGS,
    ));
}
