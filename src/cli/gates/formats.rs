//! Findings for other programs.

use anyhow::Context;
use serde_json::{Value, json};

use super::super::words::clean;
use crate::app::check::{Listed, Unused};
use crate::kernel::finding::{
    Applicability, Finding, Fix, GateReport, Outcome, Place, Severity, SourceFile,
};

/// All reports as they are kept.
pub fn json(reports: &[GateReport], verdict: &str) -> anyhow::Result<String> {
    let all = json!({ "verdict": verdict, "reports": reports });
    let text = serde_json::to_string(&all).context("failed to write the reports as JSON")?;
    Ok(format!("{text}\n"))
}

pub fn list(listed: &[Listed], unused: &[Unused], refusal: Option<&str>) -> anyhow::Result<String> {
    let on: Vec<Value> = listed
        .iter()
        .map(|gate| {
            json!({
                "gate": gate.gate, "root": gate.root, "why": gate.why,
                "program": gate.program.as_ref().ok(), "missing": gate.program.as_ref().err(),
            })
        })
        .collect();
    let off: Vec<Value> = unused
        .iter()
        .map(|gate| json!({ "gate": gate.gate, "why": gate.looked_for, "program": gate.program }))
        .collect();
    let all = json!({ "on": on, "off": off, "untrusted": refusal });
    let text = serde_json::to_string_pretty(&all).context("failed to write the list as JSON")?;
    Ok(format!("{text}\n"))
}

/// One run of SARIF 2.1.0 for each gate; a gate that could not run is a failed invocation, not an empty result.
pub fn sarif(reports: &[GateReport]) -> anyhow::Result<String> {
    let runs: Vec<Value> = reports.iter().map(sarif_run).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": runs,
    });
    let text = serde_json::to_string_pretty(&log).context("failed to write SARIF")?;
    Ok(format!("{text}\n"))
}

fn sarif_run(report: &GateReport) -> Value {
    let ran = matches!(
        report.outcome,
        Outcome::Pass | Outcome::Fail | Outcome::Skipped
    );
    let mut rules: Vec<Value> = Vec::new();
    let mut known: Vec<&str> = Vec::new();
    for finding in &report.findings {
        if let Some(code) = finding.code.as_deref().filter(|code| !known.contains(code)) {
            known.push(code);
            let mut rule = json!({ "id": code });
            if let (Some(href), Some(fields)) = (&finding.href, rule.as_object_mut()) {
                fields.insert("helpUri".to_owned(), json!(href));
            }
            rules.push(rule);
        }
    }
    let notes: Vec<Value> = report
        .notes
        .iter()
        .map(|note| json!({ "level": if ran { "note" } else { "error" }, "message": { "text": note } }))
        .collect();
    let results: Vec<Value> = report.findings.iter().map(sarif_result).collect();
    json!({
        "tool": { "driver": { "name": report.gate, "rules": rules } },
        "columnKind": "utf16CodeUnits",
        "invocations": [{
            "executionSuccessful": ran,
            "commandLine": report.command.join(" "),
            "toolExecutionNotifications": notes,
        }],
        "results": results,
    })
}

fn sarif_result(finding: &Finding) -> Value {
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Information | Severity::Hint => "note",
    };
    let mut result = json!({
        "level": level,
        "message": { "text": finding.message },
        "partialFingerprints": { "outrigger/v1": crate::kernel::hash::ContentHash::of(finding.fingerprint().0.as_bytes()).to_string() },
    });
    let Some(fields) = result.as_object_mut() else {
        return result;
    };
    if let Some(code) = &finding.code {
        fields.insert("ruleId".to_owned(), json!(code));
    }
    if let Some(place) = &finding.place {
        fields.insert(
            "locations".to_owned(),
            json!([{ "physicalLocation": physical(place) }]),
        );
    }
    if !finding.related.is_empty() {
        let related: Vec<Value> = finding
            .related
            .iter()
            .map(|related| json!({ "physicalLocation": physical(&related.place), "message": { "text": related.message } }))
            .collect();
        fields.insert("relatedLocations".to_owned(), json!(related));
    }
    let safe = finding
        .fixes
        .iter()
        .filter(|fix| fix.applicability == Applicability::Safe);
    let fixes: Vec<Value> = safe.map(sarif_fix).collect();
    if !fixes.is_empty() {
        fields.insert("fixes".to_owned(), json!(fixes));
    }
    result
}

fn sarif_fix(fix: &Fix) -> Value {
    let changes: Vec<Value> = fix
        .edits
        .iter()
        .map(|edit| {
            json!({
                "artifactLocation": { "uri": uri(&edit.place.file) },
                "replacements": [{
                    "deletedRegion": region(&edit.place),
                    "insertedContent": { "text": edit.new_text },
                }],
            })
        })
        .collect();
    json!({ "description": { "text": fix.title }, "artifactChanges": changes })
}

fn physical(place: &Place) -> Value {
    json!({ "artifactLocation": { "uri": uri(&place.file) }, "region": region(place) })
}

fn region(place: &Place) -> Value {
    let (start, end) = (place.range.start, place.range.end);
    json!({
        "startLine": start.line + 1, "startColumn": start.utf16 + 1,
        "endLine": end.line + 1, "endColumn": end.utf16 + 1,
    })
}

fn uri(file: &SourceFile) -> String {
    use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
    const KEPT: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'/')
        .remove(b'.')
        .remove(b'-')
        .remove(b'_')
        .remove(b'~');
    match file {
        SourceFile::Workspace(path) => utf8_percent_encode(path.as_str(), KEPT).to_string(),
        SourceFile::Outside(path) => format!("file://{}", utf8_percent_encode(path, KEPT)),
    }
}

/// Workflow commands, which GitHub shows on the changed lines.
pub fn github(reports: &[GateReport]) -> String {
    let mut text = String::new();
    for report in reports {
        if matches!(report.outcome, Outcome::Error | Outcome::Missing) {
            let title = property(&format!("{} could not run", report.gate));
            text.push_str(&format!(
                "::error title={title}::{}\n",
                data(&report.notes.join("\n"))
            ));
        }
        for finding in &report.findings {
            let level = match finding.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Information | Severity::Hint => "notice",
            };
            let code = finding
                .code
                .as_deref()
                .map(|code| format!(" {code}"))
                .unwrap_or_default();
            let title = property(&format!("{}{code}", finding.source));
            let place = finding.place.as_ref().map(|place| {
                let (start, end) = (place.range.start, place.range.end);
                let file = property(&place.file.to_string());
                // Columns of several lines are refused there.
                let columns = if start.line == end.line {
                    format!(",col={},endColumn={}", start.utf32 + 1, end.utf32 + 1)
                } else {
                    String::new()
                };
                format!(
                    "file={file},line={},endLine={}{columns},",
                    start.line + 1,
                    end.line + 1
                )
            });
            let place = place.unwrap_or_default();
            text.push_str(&format!(
                "::{level} {place}title={title}::{}\n",
                data(&finding.message)
            ));
        }
    }
    text
}

fn data(text: &str) -> String {
    clean(text)
        .replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
