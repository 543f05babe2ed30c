//! Findings outside of runs: what gates say when a file is saved, and what stays when they cannot say anything.

use std::collections::BTreeSet;

use super::finding::{Finding, GateReport, Outcome};
use super::path::RelPath;
use super::policy::baseline;
use super::state::State;

/// Which files a check was about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Covered {
    Files(BTreeSet<RelPath>),
    Everything,
}

/// Whether what was failing before the last run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldFindings {
    Hidden,
    Shown,
}

/// Takes reports of a check that no run asked for. A gate that could not run, or not wholly, clears nothing and is stale.
pub fn take(state: &mut State, covered: &Covered, old: OldFindings, reports: &[GateReport]) {
    let concerns = |finding: &Finding| match covered {
        Covered::Everything => true,
        Covered::Files(files) => finding
            .file()
            .and_then(|file| file.workspace())
            .is_some_and(|path| files.contains(path)),
    };
    for report in reports {
        let is_whole = matches!(report.outcome, Outcome::Pass | Outcome::Fail) && !report.partial;
        if !is_whole {
            if report.outcome != Outcome::Skipped {
                state.stale.insert(report.gate.clone());
            }
            continue;
        }
        state.stale.remove(&report.gate);
        let known = match old {
            OldFindings::Shown => None,
            OldFindings::Hidden => state
                .runs
                .values()
                .filter(|run| run.ended.is_some())
                .filter_map(|run| run.baseline.as_ref())
                .next_back(),
        };
        let mut found: Vec<Finding> = match known {
            Some(known) => baseline::beyond(known, &report.findings),
            None => report.findings.clone(),
        };
        found.retain(concerns);
        for run in state.runs.values_mut().filter(|run| run.ended.is_some()) {
            if let Some(list) = run.findings.get_mut(&report.gate) {
                list.retain(|finding| !concerns(finding));
            }
        }
        let standing = state.standing.entry(report.gate.clone()).or_default();
        standing.retain(|finding| !concerns(finding));
        standing.append(&mut found);
        if standing.is_empty() {
            state.standing.remove(&report.gate);
        }
    }
}

/// A finding whose gate could not look again since, as it is shown.
pub fn as_stale(finding: &Finding) -> Finding {
    Finding {
        message: format!(
            "{}\n({} could not run since; this may be out of date)",
            finding.message.trim_end(),
            finding.gate
        ),
        ..finding.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::finding::{Place, RangeKind, Severity, SourceFile, TextRange};
    use crate::kernel::ids::GateId;

    fn path(name: &str) -> RelPath {
        RelPath::parse(name).unwrap()
    }

    fn finding(file: &str, message: &str) -> Finding {
        Finding {
            gate: GateId::new("g"),
            source: "g".into(),
            place: Some(Place {
                file: SourceFile::Workspace(path(file)),
                range: TextRange::default(),
                kind: RangeKind::Line,
                bytes: (0, 0),
                hash: None,
                cell: None,
                line_text: String::new(),
                around: Vec::new(),
            }),
            severity: Severity::Error,
            code: None,
            href: None,
            message: message.into(),
            tags: Vec::new(),
            related: Vec::new(),
            fixes: Vec::new(),
            test: None,
            rendered: None,
        }
    }

    fn report(outcome: Outcome, partial: bool, findings: Vec<Finding>) -> GateReport {
        GateReport {
            gate: GateId::new("g"),
            outcome,
            partial,
            findings,
            notes: Vec::new(),
            command: Vec::new(),
            duration_ms: 0,
        }
    }

    fn messages(state: &State) -> Vec<&str> {
        let all = state.standing.values().flatten();
        all.map(|finding| finding.message.as_str()).collect()
    }

    #[test]
    fn a_whole_check_speaks_for_its_files_and_a_broken_one_for_none() {
        let mut state = State::default();
        let of = |names: &[&str]| Covered::Files(names.iter().map(|name| path(name)).collect());
        let both = vec![finding("a", "one"), finding("b", "two")];
        let hidden = OldFindings::Hidden;
        take(
            &mut state,
            &Covered::Everything,
            hidden,
            &[report(Outcome::Fail, false, both)],
        );
        assert_eq!(messages(&state), ["one", "two"]);
        for broken in [
            report(Outcome::Error, false, Vec::new()),
            report(Outcome::Missing, false, Vec::new()),
            report(Outcome::Fail, true, Vec::new()),
        ] {
            take(&mut state, &of(&["a"]), hidden, &[broken]);
            assert_eq!(messages(&state), ["one", "two"]);
            assert!(state.stale.contains(&GateId::new("g")));
        }
        take(
            &mut state,
            &of(&["a"]),
            hidden,
            &[report(Outcome::Pass, false, Vec::new())],
        );
        assert_eq!(messages(&state), ["two"]);
        assert!(state.stale.is_empty());
        take(
            &mut state,
            &Covered::Everything,
            hidden,
            &[report(Outcome::Pass, false, Vec::new())],
        );
        assert_eq!(messages(&state), [""; 0]);
    }
}
