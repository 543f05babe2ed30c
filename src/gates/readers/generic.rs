//! A report of a tool that is not said: its form is seen from its beginning.

use super::pattern::Matcher;
use super::{
    biome, cargo, checkstyle, eslint, gcc, go, jest, junit, libtest, mypy, oxlint, pattern,
    plain_linters, pylint, pyright, rdjson, ruff, sarif, shell, tap, tsc,
};
use crate::gates::columns::{Columns, Unit};
use crate::gates::outcome::ReportState;
use crate::gates::output::{ToolOutput, plain};
use crate::gates::reading::{Parsed, Reading};

type Read = fn(&Reading<'_>, &ToolOutput) -> Parsed;

/// Reads a report of any known form.
pub fn read(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let Some((source, read)) = recognise(output) else {
        return text(reading, output);
    };
    let reading = Reading::new(
        reading.gate.clone(),
        source.unwrap_or(reading.source),
        reading.invocation,
        reading.locator.parts(),
    );
    read(&reading, output)
}

/// The form of a report: whose it is, where it is one tool's own, and its reader.
fn recognise(output: &ToolOutput) -> Option<(Option<&'static str>, Read)> {
    let streams = output
        .artifacts
        .iter()
        .map(|artifact| artifact.bytes.as_slice())
        .chain([output.stdout.as_slice(), output.stderr.as_slice()]);
    for bytes in streams {
        let head = bytes.get(..bytes.len().min(16 * 1024)).unwrap_or_default();
        let head = String::from_utf8_lossy(head);
        if head.contains("<checkstyle") {
            return Some((None, checkstyle::read));
        }
        if head.contains("<testsuite") {
            return Some((Some("junit"), junit::read));
        }
        let is_tap = head.lines().any(|line| {
            line.starts_with("TAP version ")
                || line.starts_with("not ok ")
                || line.strip_prefix("1..").is_some_and(|rest| {
                    rest.split([' ', '#'])
                        .next()
                        .is_some_and(|n| n.parse::<u32>().is_ok())
                })
        });
        if is_tap {
            return Some((Some("tap"), tap::read));
        }
        if let Some(found) = recognise_json(&head) {
            return Some(found);
        }
    }
    None
}

fn recognise_json(head: &str) -> Option<(Option<&'static str>, Read)> {
    let starts_value = head
        .lines()
        .any(|line| line.trim_start().starts_with(['{', '[']));
    if !starts_value {
        return None;
    }
    let has = |keys: &[&str]| keys.iter().all(|key| head.contains(&format!("\"{key}\"")));
    let known: [(&[&str], Option<&'static str>, Read); 15] = [
        (&["runs"], None, sarif::read),
        (&["filePath", "messages"], Some("eslint"), eslint::read),
        (&["generalDiagnostics"], Some("pyright"), pyright::read),
        (&["reason", "package_id"], Some("cargo"), libtest::read),
        (&["reason", "build-finished"], Some("cargo"), cargo::read),
        (&["testResults", "numTotalTests"], Some("jest"), jest::read),
        (&["filename", "end_location"], Some("ruff"), ruff::check),
        (&["messageId", "symbol"], Some("pylint"), pylint::pylint),
        (
            &["number_of_files", "diagnostics"],
            Some("oxlint"),
            oxlint::read,
        ),
        (
            &["summary", "diagnostics", "command"],
            Some("biome"),
            biome::read,
        ),
        (
            &["comments", "endColumn"],
            Some("shellcheck"),
            shell::shellcheck,
        ),
        (
            &["ruleNames", "lineNumber"],
            Some("markdownlint"),
            plain_linters::markdownlint,
        ),
        (&["Issues", "Report"], Some("golangci-lint"), go::golangci),
        (&["end_line", "hint", "severity"], Some("mypy"), mypy::read),
        (&["message", "location"], None, rdjson::read),
    ];
    if let Some((_, source, read)) = known.into_iter().find(|(keys, ..)| has(keys)) {
        return Some((source, read));
    }
    has(&["diagnostics"]).then_some((None, rdjson::read as Read))
}

/// Text: GCC's form first, then what VS Code knows by name.
fn text(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let stdout = plain(&output.stdout);
    // JSON that does not end is no text.
    let is_cut_json = stdout.trim_start().starts_with(['{', '['])
        && serde_json::from_str::<serde::de::IgnoredAny>(stdout.trim())
            .is_err_and(|error| error.is_eof());
    if is_cut_json {
        return Parsed::new(ReportState::CutOff);
    }
    let mut parsed = gcc::gnu(reading, output);
    if !parsed.findings.is_empty() {
        return parsed;
    }
    let ts = tsc::read(reading, output);
    if !ts.findings.is_empty() {
        return ts;
    }
    for name in [
        "$msCompile",
        "$eslint-compact",
        "$eslint-stylish",
        "$rustc",
        "$go",
    ] {
        let Some(Ok(matcher)) = Matcher::named(name)
            .map(|declared| Matcher::new(&declared, Columns::new(Unit::CodePoints)))
        else {
            continue;
        };
        let found = pattern::read(reading, output, &matcher);
        if !found.findings.is_empty() {
            return found;
        }
    }
    if parsed.report == ReportState::Whole && output.exit.code() != Some(0) {
        parsed.report = ReportState::Absent;
    }
    parsed
}
