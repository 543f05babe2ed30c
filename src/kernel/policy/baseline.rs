//! What of a report is the run's doing: everything beyond what was failing before its first change.

use std::collections::BTreeMap;

use crate::kernel::finding::{Finding, Fingerprint, GateReport, Outcome, Severity};
use crate::kernel::run::Baseline;

/// Counts each failure of the reports taken before the first change.
pub fn take(reports: &[GateReport]) -> Baseline {
    let mut known: BTreeMap<Fingerprint, u32> = BTreeMap::new();
    for finding in reports.iter().flat_map(|report| &report.findings) {
        *known.entry(finding.fingerprint()).or_default() += 1;
    }
    Baseline { known }
}

/// The findings beyond the baseline. A failure that was there twice and is there three times is new once.
pub fn beyond(baseline: &Baseline, findings: &[Finding]) -> Vec<Finding> {
    let mut left = baseline.known.clone();
    findings
        .iter()
        .filter(|finding| match left.get_mut(&finding.fingerprint()) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        })
        .cloned()
        .collect()
}

/// Whether a gate has stopped at an old failure, so that it says nothing of the run's work, neither good nor bad.
pub fn stopped_early(report: &GateReport, new: &[Finding]) -> bool {
    report.partial && report.outcome == Outcome::Fail && new.is_empty()
}

/// Whether a report with these new findings counts against the run.
pub fn rejects(report: &GateReport, new: &[Finding]) -> bool {
    match report.outcome {
        Outcome::Fail => !new.is_empty(),
        Outcome::Pass => new
            .iter()
            .any(|finding| finding.severity == Severity::Error),
        Outcome::Error | Outcome::Missing | Outcome::Skipped => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::ids::GateId;

    fn finding(message: &str, severity: Severity) -> Finding {
        Finding {
            gate: GateId::new("g"),
            source: "g".into(),
            place: None,
            severity,
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

    fn report(outcome: Outcome, findings: Vec<Finding>) -> GateReport {
        GateReport {
            gate: GateId::new("g"),
            outcome,
            partial: false,
            findings,
            notes: Vec::new(),
            command: Vec::new(),
            duration_ms: 0,
        }
    }

    #[test]
    fn only_what_the_run_added_is_new() {
        let old = || finding("line 3: unused", Severity::Warning);
        let baseline = take(&[report(Outcome::Fail, vec![old(), old()])]);
        let rows = [
            (vec![old()], 0),
            (vec![old(), old()], 0),
            (
                vec![old(), old(), finding("line 9: unused", Severity::Warning)],
                1,
            ),
            (vec![finding("other", Severity::Error)], 1),
        ];
        for (findings, want) in rows {
            assert_eq!(beyond(&baseline, &findings).len(), want, "{findings:?}");
        }
    }

    #[test]
    fn a_gate_that_stopped_at_an_old_failure_says_nothing() {
        let old = || finding("syntax", Severity::Error);
        let partial = |outcome, findings| GateReport {
            partial: true,
            ..report(outcome, findings)
        };
        assert!(stopped_early(&partial(Outcome::Fail, vec![old()]), &[]));
        assert!(!stopped_early(
            &partial(Outcome::Fail, vec![old()]),
            &[old()]
        ));
        assert!(!stopped_early(&report(Outcome::Fail, vec![old()]), &[]));
        assert!(!stopped_early(&partial(Outcome::Pass, vec![]), &[]));
    }

    #[test]
    fn a_gate_that_could_not_run_does_not_reject() {
        let new = vec![finding("bad", Severity::Error)];
        let rows = [
            (Outcome::Fail, true),
            (Outcome::Pass, true),
            (Outcome::Error, false),
            (Outcome::Missing, false),
            (Outcome::Skipped, false),
        ];
        for (outcome, want) in rows {
            assert_eq!(
                rejects(&report(outcome, new.clone()), &new),
                want,
                "{outcome:?}"
            );
        }
        let warning = vec![finding("hm", Severity::Warning)];
        assert!(!rejects(&report(Outcome::Pass, warning.clone()), &warning));
        assert!(!rejects(&report(Outcome::Fail, Vec::new()), &[]));
    }
}
