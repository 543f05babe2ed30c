//! Compares a report with what is right, as strictly as each expectation is meant.

use outrigger::kernel::finding::{
    Applicability, Finding, FindingTag, GateReport, Outcome, Place, Severity, SourceFile,
};
use serde_json::Value;

/// What differs; empty when all is right.
pub fn differences(report: &GateReport, expected: &Value) -> Vec<String> {
    let mut differences = Vec::new();
    let outcome = match report.outcome {
        Outcome::Pass => "pass",
        Outcome::Fail => "fail",
        Outcome::Error => "error",
        Outcome::Missing => "missing",
        Outcome::Skipped => "skipped",
    };
    if expected["outcome"] != outcome {
        differences.push(format!("outcome {outcome}, not {}", expected["outcome"]));
    }
    let partial = expected["partial"].as_bool().unwrap_or(false);
    if report.partial != partial {
        differences.push(format!("partial is {}", report.partial));
    }
    let empty = Vec::new();
    let wanted = expected["diagnostics"].as_array().unwrap_or(&empty);
    let mut left: Vec<&Finding> = report.findings.iter().collect();
    for want in wanted {
        let best = left
            .iter()
            .enumerate()
            .map(|(index, found)| (mismatches(found, want), index))
            .min_by_key(|(mismatches, _)| mismatches.len());
        match best {
            Some((mismatches, index)) if mismatches.is_empty() => {
                left.remove(index);
            }
            Some((mismatches, index)) => {
                differences.push(format!(
                    "wanted {} {}: nearest is {}: {}",
                    want["file"],
                    want["message"],
                    left[index].at(),
                    mismatches.join("; ")
                ));
            }
            None => differences.push(format!("missing: {} {}", want["file"], want["message"])),
        }
    }
    if wanted.len() < report.findings.len() || differences.is_empty() {
        for extra in left {
            differences.push(format!("not wanted: {} {}", extra.at(), extra.message));
        }
    }
    differences
}

fn mismatches(found: &Finding, want: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut check = |right: bool, what: String| {
        if !right {
            wrong.push(what);
        }
    };
    match (&found.place, want["file"].as_str()) {
        (None, None) => {}
        (Some(place), Some(file)) => {
            check(
                file_name(place) == file,
                format!("file {}", file_name(place)),
            );
            if let Some(why) = range_mismatch(place, want) {
                check(false, why);
            }
        }
        (place, _) => check(false, format!("place {place:?}")),
    }
    let severity = match found.severity {
        Severity::Error => 1,
        Severity::Warning => 2,
        Severity::Information => 3,
        Severity::Hint => 4,
    };
    check(want["severity"] == severity, format!("severity {severity}"));
    check(
        want["code"].as_str() == found.code.as_deref(),
        format!("code {:?}", found.code),
    );
    check(
        same_source(&found.source, want["source"].as_str().unwrap_or_default()),
        format!("source {}", found.source),
    );
    let message = want["message"].as_str().unwrap_or_default();
    check(
        found.message.starts_with(message),
        format!("message {:?}", found.message),
    );
    check(!found.message.is_empty(), "empty message".to_owned());
    for part in want["messageContains"].as_array().into_iter().flatten() {
        check(
            found.message.contains(part.as_str().unwrap()),
            format!("message {:?} lacks {part}", found.message),
        );
    }
    if let Some(href) = want["codeDescription"]["href"].as_str() {
        check(
            found.href.as_deref() == Some(href),
            format!("href {:?}", found.href),
        );
    }
    let tags: Vec<u64> = found
        .tags
        .iter()
        .map(|tag| match tag {
            FindingTag::Unnecessary => 1,
            FindingTag::Deprecated => 2,
        })
        .collect();
    for tag in want["tags"].as_array().into_iter().flatten() {
        check(
            tags.contains(&tag.as_u64().unwrap()),
            format!("tags {tags:?}"),
        );
    }
    if want.get("test").is_some() {
        check(
            want["test"].as_str() == found.test.as_deref(),
            format!("test {:?}", found.test),
        );
    }
    if let Some(cell) = want["cell"].as_u64() {
        let found = found.place.as_ref().and_then(|place| place.cell);
        check(
            found.map(u64::from) == Some(cell),
            format!("cell {found:?}"),
        );
    }
    for want in want["related"].as_array().into_iter().flatten() {
        let there = found.related.iter().any(|related| {
            want["file"] == file_name(&related.place)
                && lsp_range(&related.place)["start"] == want["range"]["start"]
                && related
                    .message
                    .starts_with(want["message"].as_str().unwrap_or_default())
        });
        check(
            there,
            format!("related {want} is not in {:?}", found.related),
        );
    }
    for want in want["fixes"].as_array().into_iter().flatten() {
        check(
            found.fixes.iter().any(|fix| same_fix(fix, want)),
            format!("fix {want} is not in {:?}", found.fixes),
        );
    }
    wrong
}

/// rustc's messages come through cargo, and a user's own gate has the name that its user gives it.
fn same_source(found: &str, want: &str) -> bool {
    found == want || (found == "cargo" && want == "rustc") || want == "lint"
}

fn file_name(place: &Place) -> String {
    match &place.file {
        SourceFile::Workspace(path) => path.to_string(),
        SourceFile::Outside(path) => format!("..{path}"),
    }
}

fn lsp_range(place: &Place) -> Value {
    serde_json::json!({
        "start": {"line": place.range.start.line, "character": place.range.start.utf16},
        "end": {"line": place.range.end.line, "character": place.range.end.utf16},
    })
}

fn range_mismatch(place: &Place, want: &Value) -> Option<String> {
    let range = lsp_range(place);
    let want_range = &want["range"];
    let line = |point: &Value| point["line"].as_u64().unwrap();
    let same_start = range["start"] == want_range["start"];
    let same = range == *want_range;
    let same_line = line(&range["start"]) == line(&want_range["start"]);
    let point = |point: &Value| (line(point), point["character"].as_u64().unwrap());
    let right = match want["rangeKind"].as_str().unwrap_or("exact") {
        "exact" | "word" => same,
        "start" => same_start,
        "line" | "line-in-hunk" => same_line,
        "caret-or-line" => {
            same || (same_line && point(&range["start"]) <= point(&want_range["start"]))
        }
        "caret-or-range" => same_start || same_line,
        "definition" => {
            (line(&want_range["start"])..=line(&want_range["end"])).contains(&line(&range["start"]))
        }
        "overlaps" => {
            point(&range["start"]) < point(&want_range["end"])
                && point(&want_range["start"]) < point(&range["end"])
        }
        "file-or-better" => line(&range["start"]) == 0 || same_line,
        other => panic!("unknown rangeKind {other}"),
    };
    (!right).then(|| format!("range {range} is not {} {want_range}", want["rangeKind"]))
}

fn same_fix(fix: &outrigger::kernel::finding::Fix, want: &Value) -> bool {
    let applicability = match fix.applicability {
        Applicability::Safe => "safe",
        Applicability::Unsafe => "unsafe",
        Applicability::Suggestion => "suggestion",
    };
    let wanted = want["edits"].as_array().unwrap();
    want["applicability"] == applicability
        && wanted.len() == fix.edits.len()
        && wanted.iter().all(|want| {
            fix.edits.iter().any(|edit| {
                want["file"] == file_name(&edit.place)
                    && want["range"] == lsp_range(&edit.place)
                    && want["newText"] == edit.new_text
            })
        })
}
