//! Findings in words for a model: what it has to mend first, with the code around it, and no more than it can use.

use std::collections::BTreeMap;

use super::{Applicability, Finding, Fingerprint, GateReport, Outcome, Severity};

/// Findings that are told; the others are counted.
pub const MAX_FINDINGS: usize = 40;
/// About 6,000 tokens, at four letters each.
const MAX_BYTES: usize = 24_000;
/// Of one message: a failed assertion of two long texts says enough with its beginning.
const MAX_MESSAGE: usize = 2_000;

impl GateReport {
    /// What these reports say beside what was known before: new findings, those that are still there, how many are gone;
    /// then the gates that could not run, which is not the code's fault.
    pub fn for_model(reports: &[Self], before: &[Fingerprint]) -> String {
        let findings = reports
            .iter()
            .filter(|report| report.outcome == Outcome::Fail);
        let findings: Vec<&Finding> = findings.flat_map(|report| &report.findings).collect();
        let mut text = findings_for_model(&findings, before);
        for report in reports {
            if matches!(report.outcome, Outcome::Error | Outcome::Missing) {
                text.push_str(&format!(
                    "The check {} could not run, which is not your code's fault: {}\n",
                    report.gate,
                    report.notes.join("; ")
                ));
            } else if report.partial {
                text.push_str(&format!(
                    "The check {} could not look at everything.\n",
                    report.gate
                ));
            }
        }
        let is_unverified = !reports
            .iter()
            .any(|report| matches!(report.outcome, Outcome::Pass | Outcome::Fail));
        if is_unverified {
            text.push_str("Nothing was verified.\n");
        }
        text
    }
}

/// The same of bare findings.
pub fn findings_for_model(findings: &[&Finding], before: &[Fingerprint]) -> String {
    let mut left: BTreeMap<&Fingerprint, usize> = BTreeMap::new();
    for known in before {
        *left.entry(known).or_default() += 1;
    }
    let (mut new, mut still): (Vec<&Finding>, Vec<&Finding>) = (Vec::new(), Vec::new());
    for finding in findings {
        match left.get_mut(&finding.fingerprint()) {
            Some(count) if *count > 0 => {
                *count -= 1;
                still.push(finding);
            }
            _ => new.push(finding),
        }
    }
    let fixed: usize = left.values().sum();
    let mut text = String::new();
    if !before.is_empty() {
        text.push_str(&format!(
            "{} new, {} still there, {fixed} fixed.\n",
            new.len(),
            still.len()
        ));
    }
    let mut room = MAX_FINDINGS;
    for (title, mut list) in [("New", new), ("Still there", still)] {
        list.sort_by_key(|finding| (rank(finding), finding.severity));
        if list.is_empty() {
            continue;
        }
        if !before.is_empty() {
            text.push_str(&format!("{title}:\n"));
        }
        let mut told = 0;
        for finding in &list {
            let words = one(finding);
            if room == 0 || text.len() + words.len() > MAX_BYTES {
                break;
            }
            text.push_str(&words);
            room -= 1;
            told += 1;
        }
        let rest = list.get(told..).unwrap_or_default();
        if !rest.is_empty() {
            text.push_str(&format!("… and {}\n", counted(rest)));
        }
    }
    text
}

/// `12 more: ruff 10, mypy 2`.
fn counted(rest: &[&Finding]) -> String {
    let mut by_gate: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in rest {
        *by_gate.entry(finding.gate.as_str()).or_default() += 1;
    }
    let gates: Vec<String> = by_gate
        .iter()
        .map(|(gate, count)| format!("{gate} {count}"))
        .collect();
    format!("{} more: {}", rest.len(), gates.join(", "))
}

/// Syntax and types before lint before layout before tests: what comes first is often the cause of what comes later.
fn rank(finding: &Finding) -> u8 {
    let code = finding.code.as_deref().unwrap_or_default();
    if finding.test.is_some() {
        return 4;
    }
    if code.contains("syntax") || code == "E999" {
        return 0;
    }
    match finding.gate.as_str() {
        "cargo-check" | "clippy" | "tsc" | "mypy" | "pyright" | "basedpyright" | "go-build"
        | "go-vet" | "gcc" | "clang" => 1,
        "ruff-format" | "rustfmt" | "prettier" => 3,
        "pytest" | "cargo-test" | "nextest" | "go-test" | "vitest" | "jest" | "node-test" => 4,
        _ => 2,
    }
}

/// `path:line:column: error code: message`, the lines around with a caret, what belongs to it, and the tool's safe repair.
pub fn one(finding: &Finding) -> String {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Information => "note",
        Severity::Hint => "hint",
    };
    let code = finding
        .code
        .as_deref()
        .map(|code| format!(" {code}"))
        .unwrap_or_default();
    let test = finding
        .test
        .as_deref()
        .map(|test| format!(" in {test}"))
        .unwrap_or_default();
    let mut text = format!(
        "{}: {severity}{code}{test}: {}\n",
        finding.at(),
        shortened(finding.message.trim_end())
    );
    text.push_str(&lines_around(finding));
    for related in finding.related.iter().take(5) {
        let start = related.place.range.start;
        text.push_str(&format!(
            "    {}:{}:{}: {}\n",
            related.place.file,
            start.line + 1,
            start.utf32 + 1,
            related.message
        ));
    }
    for fix in finding
        .fixes
        .iter()
        .filter(|fix| fix.applicability == Applicability::Safe)
    {
        text.push_str(&format!("    fix: {}\n", fix.title));
    }
    text
}

fn lines_around(finding: &Finding) -> String {
    let Some(place) = &finding.place else {
        return String::new();
    };
    let line = place.range.start.line;
    if place.around.is_empty() {
        let line_text = place.line_text.trim_end();
        return if line_text.is_empty() {
            String::new()
        } else {
            format!("    | {line_text}\n")
        };
    }
    let mut text = String::new();
    for around in &place.around {
        text.push_str(&format!("{:>5} | {}\n", around.line + 1, around.text));
        if around.line == line {
            let before: String = around
                .text
                .chars()
                .take(place.range.start.utf32 as usize)
                .map(|c| if c == '\t' { '\t' } else { ' ' })
                .collect();
            let length = if place.range.end.line == line {
                place
                    .range
                    .end
                    .utf32
                    .saturating_sub(place.range.start.utf32)
                    .clamp(1, 80)
            } else {
                1
            };
            text.push_str(&format!(
                "      | {before}{}\n",
                "^".repeat(length as usize)
            ));
        }
    }
    text
}

fn shortened(message: &str) -> String {
    if message.len() <= MAX_MESSAGE {
        return message.to_owned();
    }
    let mut cut = MAX_MESSAGE;
    while !message.is_char_boundary(cut) {
        cut -= 1;
    }
    format!("{}…", message.get(..cut).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::finding::{LineAround, Place, Position, RangeKind, SourceFile, TextRange};
    use crate::kernel::ids::GateId;
    use crate::kernel::path::RelPath;

    fn finding(gate: &str, message: &str, line: u32) -> Finding {
        let at = |utf32| Position {
            line,
            utf8: utf32,
            utf16: utf32,
            utf32,
        };
        Finding {
            gate: GateId::new(gate),
            source: gate.into(),
            place: Some(Place {
                file: SourceFile::Workspace(RelPath::parse("a.py").unwrap()),
                range: TextRange {
                    start: at(1),
                    end: at(3),
                },
                kind: RangeKind::Exact,
                bytes: (0, 0),
                hash: None,
                cell: None,
                line_text: "\tab".into(),
                around: vec![
                    LineAround {
                        line: line - 1,
                        text: "before".into(),
                    },
                    LineAround {
                        line,
                        text: "\tab c".into(),
                    },
                ],
            }),
            severity: Severity::Error,
            code: Some("X1".into()),
            href: None,
            message: message.into(),
            tags: Vec::new(),
            related: Vec::new(),
            fixes: Vec::new(),
            test: None,
            rendered: None,
        }
    }

    #[test]
    fn new_still_there_and_fixed_with_their_lines() {
        let (old, gone) = (finding("ruff", "old", 4), finding("ruff", "gone", 5));
        let new = finding("mypy", "new", 9);
        let before = [old.fingerprint(), gone.fingerprint()];
        let text = findings_for_model(&[&old, &new], &before);
        assert_eq!(
            text,
            "1 new, 1 still there, 1 fixed.\nNew:\na.py:10:2: error X1: new\n    9 | before\n   10 | \tab c\n      | \t^^\n\
             Still there:\na.py:5:2: error X1: old\n    4 | before\n    5 | \tab c\n      | \t^^\n"
        );
    }

    #[test]
    fn syntax_and_types_come_before_lint_before_tests_and_the_rest_is_counted() {
        let mut all: Vec<Finding> = (0..60)
            .map(|n| finding("pytest", &format!("test {n}x"), n + 1))
            .collect();
        all.push(finding("ruff", "lint", 1));
        all.push(finding("tsc", "types", 1));
        let text = findings_for_model(&all.iter().collect::<Vec<_>>(), &[]);
        let place = |what: &str| text.find(what).unwrap();
        assert!(place("types") < place("lint") && place("lint") < place("test 0x"));
        assert_eq!(text.matches("a.py:").count(), MAX_FINDINGS);
        assert!(text.ends_with("… and 22 more: pytest 22\n"), "{text}");
        let long = vec!["é".repeat(5_000); 60];
        let long: Vec<Finding> = long.iter().map(|text| finding("ruff", text, 1)).collect();
        let text = findings_for_model(&long.iter().collect::<Vec<_>>(), &[]);
        assert!(text.len() < MAX_BYTES + 100, "{}", text.len());
    }

    #[test]
    fn a_gate_that_could_not_run_is_nobodys_fault() {
        let report = GateReport {
            gate: GateId::new("mypy"),
            outcome: Outcome::Missing,
            partial: false,
            findings: Vec::new(),
            notes: vec!["install it".into()],
            command: Vec::new(),
            duration_ms: 0,
        };
        let text = GateReport::for_model(&[report], &[]);
        assert!(
            text.contains("not your code's fault: install it")
                && text.contains("Nothing was verified")
        );
    }
}
