//! Linters that speak one line a finding: yamllint (`parsable`), luacheck (`plain` with ranges), markdownlint's JSON.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::{self, Found};
use super::lines::{config_trouble, head, severity};
use crate::gates::columns::{Columns, Unit};
use crate::gates::locate::Named;
use crate::gates::outcome::ReportState;
use crate::gates::output::{ToolOutput, plain};
use crate::gates::place::{Span, place};
use crate::gates::reading::{Parsed, Reading};
use crate::gates::text::LineRule;
use crate::kernel::finding::{Applicability, Finding, FindingTag, Fix, FixEdit, Place, Severity};

const YAML: Columns = Columns::new(Unit::CodePoints);
const LUA: Columns = Columns::new(Unit::CodePoints).inclusive();
const MARKDOWN: Columns = Columns::new(Unit::Utf16);

/// `path:line:column: [level] message (rule)`.
pub fn yamllint(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let mut parsed = Parsed::absent();
    for line in plain(&output.stdout).lines() {
        let Some(head) = head(line) else { continue };
        let Some((level, message)) = head
            .rest
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("] "))
        else {
            continue;
        };
        let (message, rule) = match message
            .strip_suffix(')')
            .and_then(|text| text.rsplit_once(" ("))
        {
            Some((message, rule)) if !rule.contains(' ') => (message, Some(rule)),
            Some(_) | None => (message, None),
        };
        parsed.report = ReportState::Whole;
        parsed.findings.push(Finding {
            place: reading.place(head.file, &YAML, head.span()),
            code: rule.map(str::to_owned),
            href: rule.filter(|rule| *rule != "syntax").map(|rule| {
                format!(
                    "https://yamllint.readthedocs.io/en/stable/rules.html#module-yamllint.rules.{}",
                    rule.replace('-', "_")
                )
            }),
            ..reading.finding(severity(level).unwrap_or(Severity::Error), message)
        });
    }
    if parsed.report == ReportState::Absent && output.exit.code() == Some(0) {
        parsed.report = ReportState::Whole;
    }
    let text = plain(&output.stderr);
    if let Some(line) = text.lines().find(|line| line.starts_with("invalid config")) {
        parsed.troubles.push(config_trouble(
            reading,
            output,
            line,
            &[".yamllint", ".yamllint.yaml", ".yamllint.yml"],
        ));
    }
    parsed
}

/// `path:line:first-last: (W113) message`; without `--ranges` only the first.
pub fn luacheck(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let mut parsed = Parsed::absent();
    let text = plain(&output.stdout);
    for line in text.lines() {
        if let Some(finding) = lua_line(reading, line) {
            parsed.report = ReportState::Whole;
            parsed.findings.push(finding);
        } else if line.contains("couldn't read") || line.contains("I/O error") {
            parsed.broken = true;
            parsed.notes.push(line.to_owned());
        }
    }
    if parsed.report == ReportState::Absent && output.exit.code() == Some(0) {
        parsed.report = ReportState::Whole;
    }
    let errors = plain(&output.stderr);
    let complaint = errors
        .lines()
        .chain(text.lines())
        .find(|line| line.contains("configuration") || line.contains(".luacheckrc"));
    if let Some(line) = complaint
        && parsed.findings.is_empty()
        && output.exit.code() != Some(0)
    {
        parsed
            .troubles
            .push(config_trouble(reading, output, line, &[".luacheckrc"]));
    }
    parsed
}

fn lua_line(reading: &Reading<'_>, line: &str) -> Option<Finding> {
    let (at, rest) = line.split_once(": (")?;
    let (code, message) = rest.split_once(") ")?;
    let is_code =
        code.starts_with(['W', 'E']) && code.get(1..)?.bytes().all(|byte| byte.is_ascii_digit());
    if !is_code {
        return None;
    }
    let (rest, last) = at.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    let line: i64 = line.parse().ok()?;
    let span = match last.split_once('-') {
        Some((first, last)) => Span::Exact {
            start: (line, first.parse().ok()?),
            end: (line, last.parse().ok()?),
        },
        None => Span::Start(line, last.parse().ok()?),
    };
    let severity = if code.starts_with('E') {
        Severity::Error
    } else {
        Severity::Warning
    };
    Some(Finding {
        place: reading.place(file, &LUA, span),
        href: Some("https://luacheck.readthedocs.io/en/stable/warnings.html".to_owned()),
        tags: if code.starts_with("W2") || code.starts_with("W3") || code == "W511" {
            vec![FindingTag::Unnecessary]
        } else {
            Vec::new()
        },
        code: Some(code.to_owned()),
        ..reading.finding(severity, message)
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MarkdownItem {
    file_name: String,
    line_number: i64,
    #[serde(default)]
    rule_names: Vec<String>,
    #[serde(default)]
    rule_description: String,
    #[serde(default)]
    rule_information: Option<String>,
    #[serde(default)]
    error_detail: Option<String>,
    #[serde(default)]
    error_context: Option<String>,
    #[serde(default)]
    error_range: Option<(i64, i64)>,
    #[serde(default)]
    fix_info: Option<FixInfo>,
    #[serde(default)]
    severity: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FixInfo {
    #[serde(default)]
    line_number: Option<i64>,
    #[serde(default)]
    edit_column: Option<i64>,
    #[serde(default)]
    delete_count: Option<i64>,
    #[serde(default)]
    insert_text: Option<String>,
}

/// markdownlint-cli prints its JSON on stderr, other front ends on stdout.
pub fn markdownlint(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let mut parsed = Parsed::absent();
    for stream in [&output.stderr, &output.stdout] {
        match json::find::<Vec<Box<RawValue>>>(stream) {
            Found::Whole(raw) => {
                let (items, lost) = json::items::<MarkdownItem>(&raw);
                parsed.notes.extend(json::lost_note(lost));
                parsed.report = ReportState::Whole;
                parsed
                    .findings
                    .extend(items.iter().map(|item| markdown(reading, item)));
                break;
            }
            Found::CutOff => parsed.report = ReportState::CutOff,
            Found::Absent => {}
        }
    }
    let text = plain(&output.stderr);
    if parsed.report == ReportState::Absent {
        for line in text.lines() {
            if let Some(finding) = markdown_line(reading, line) {
                parsed.report = ReportState::Whole;
                parsed.findings.push(finding);
            }
        }
    }
    if parsed.report == ReportState::Absent && output.exit.code() == Some(0) {
        parsed.report = ReportState::Whole;
    }
    if parsed.findings.is_empty() && text.contains("onfig") && output.exit.code() != Some(0) {
        parsed.troubles.push(config_trouble(
            reading,
            output,
            text.trim(),
            &[
                ".markdownlint.json",
                ".markdownlint.jsonc",
                ".markdownlint.yaml",
                ".markdownlint.yml",
                ".markdownlintrc",
            ],
        ));
    }
    parsed
}

fn markdown(reading: &Reading<'_>, item: &MarkdownItem) -> Finding {
    let named = reading.locator.find(&item.file_name);
    let span = match item.error_range {
        Some((column, length)) => Span::Exact {
            start: (item.line_number, column),
            end: (item.line_number, column.saturating_add(length)),
        },
        None => Span::Line(item.line_number),
    };
    let code = item.rule_names.first().cloned();
    let mut message = item.rule_description.clone();
    if let Some(detail) = item
        .error_detail
        .as_deref()
        .filter(|detail| !detail.is_empty())
    {
        message.push_str(&format!(" [{detail}]"));
    }
    if let Some(context) = item
        .error_context
        .as_deref()
        .filter(|text| !text.is_empty())
    {
        message.push_str(&format!(" [Context: \"{context}\"]"));
    }
    let fix = named
        .as_deref()
        .zip(item.fix_info.as_ref())
        .and_then(|(named, info)| {
            Some(Fix {
                title: format!("Fix {}", code.as_deref().unwrap_or("this")),
                applicability: Applicability::Safe,
                edits: vec![markdown_edit(named, item.line_number, info)?],
            })
        });
    Finding {
        place: named.map(|named| place(&named, &MARKDOWN, span)),
        code,
        href: item.rule_information.clone(),
        fixes: fix.into_iter().collect(),
        ..reading.finding(
            item.severity
                .as_deref()
                .and_then(severity)
                .unwrap_or(Severity::Error),
            &message,
        )
    }
}

/// `deleteCount` -1 deletes the line.
fn markdown_edit(named: &Named, line: i64, info: &FixInfo) -> Option<FixEdit> {
    let line = info.line_number.unwrap_or(line);
    let column = info.edit_column.unwrap_or(1);
    let delete = info.delete_count.unwrap_or(0);
    let place: Place = if delete < 0 {
        let text = named.text.as_ref()?;
        let index = MARKDOWN.line_index(text, line);
        let start = text.line(LineRule::Universal, index)?.start;
        let end = text
            .line(LineRule::Universal, index + 1)
            .map_or(text.body().len(), |span| span.start);
        place(named, &MARKDOWN, Span::Bytes(start, end))
    } else {
        let span = Span::Exact {
            start: (line, column),
            end: (line, column.saturating_add(delete)),
        };
        place(named, &MARKDOWN, span)
    };
    place.hash.is_some().then(|| FixEdit {
        place,
        new_text: info.insert_text.clone().unwrap_or_default(),
    })
}

/// `path:line[:column] [error] MD001/name Description [detail]`.
fn markdown_line(reading: &Reading<'_>, line: &str) -> Option<Finding> {
    let (at, rest) = line.split_once(" MD")?;
    let at = at
        .strip_suffix(" error")
        .or_else(|| at.strip_suffix(" warning"))
        .unwrap_or(at);
    let (rule, message) = rest.split_once(' ')?;
    let number = rule.split('/').next()?;
    let (file, row, column) = super::rustc_text::file_line_column(at)?;
    let span = if column > 0 {
        Span::Start(row, column)
    } else {
        Span::Line(row)
    };
    let severity = if line.contains(" warning MD") {
        Severity::Warning
    } else {
        Severity::Error
    };
    Some(Finding {
        place: reading.place(file, &MARKDOWN, span),
        code: Some(format!("MD{number}")),
        href: Some(format!(
            "https://github.com/DavidAnson/markdownlint/blob/main/doc/md{number}.md"
        )),
        ..reading.finding(severity, message)
    })
}
