//! What a gate's run amounts to: decided from the report's validity, its findings and the exit status together.
//!
//! Never from the exit status alone: 1 means findings for one tool and a broken configuration for the next, and the same
//! tool answers 0 with findings in one mode. Promises: no findings with a status that is not clean is never a pass.

use super::output::Exit;
use crate::kernel::finding::{Outcome, Severity};

/// What a tool's exit statuses mean, and when its findings fail the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdicts<'a> {
    /// Statuses after a whole check without anything to complain of.
    pub clean: &'a [i32],
    /// Statuses that mean "I found something".
    pub findings: &'a [i32],
    /// Statuses that mean "there was nothing to check".
    pub nothing: &'a [i32],
    /// Findings at least this severe fail the gate, whatever the status.
    pub fail_on: Severity,
    /// Milder findings fail the gate too when the status is one of `findings`: linters. For a compiler they do not
    /// explain a failure.
    pub mild_findings_explain: bool,
}

impl Verdicts<'static> {
    pub const LINTER: Self = Self {
        clean: &[0],
        findings: &[1],
        nothing: &[],
        fail_on: Severity::Error,
        mild_findings_explain: true,
    };
    pub const COMPILER: Self = Self {
        clean: &[0],
        findings: &[1],
        nothing: &[],
        fail_on: Severity::Error,
        mild_findings_explain: false,
    };

    #[must_use]
    pub const fn findings(mut self, codes: &'static [i32]) -> Self {
        self.findings = codes;
        self
    }

    #[must_use]
    pub const fn nothing(mut self, codes: &'static [i32]) -> Self {
        self.nothing = codes;
        self
    }

    #[must_use]
    pub const fn fail_on(mut self, severity: Severity) -> Self {
        self.fail_on = severity;
        self
    }
}

/// What became of the report itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportState {
    /// In its own form, to its end.
    Whole,
    /// It begins well and does not end.
    CutOff,
    /// Empty, or something else.
    Absent,
}

/// Everything the decision looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts<'a> {
    pub exit: &'a Exit,
    pub report: ReportState,
    /// The most severe finding about the code.
    pub worst: Option<Severity>,
    /// The text says that the tool is not installed.
    pub missing: bool,
    /// The report says that nothing was there to check.
    pub nothing: bool,
    /// The report or the text says that the tool itself failed.
    pub broken: bool,
}

/// The outcome, and whether it speaks for less than what was asked.
pub fn decide(verdicts: &Verdicts<'_>, facts: &Facts<'_>) -> (Outcome, bool) {
    let code = match facts.exit {
        Exit::NotFound => return (Outcome::Missing, false),
        Exit::Signal(_) | Exit::TimedOut { .. } | Exit::NotStarted(_) => {
            return (Outcome::Error, false);
        }
        Exit::Code(code) => *code,
    };
    if facts.missing {
        return (Outcome::Missing, false);
    }
    if facts.report == ReportState::CutOff {
        return (Outcome::Error, false);
    }
    let clean = verdicts.clean.contains(&code);
    let says_findings = verdicts.findings.contains(&code);
    match facts.worst {
        Some(severity) => {
            // `Severity` orders from `Error` down.
            let severe = severity <= verdicts.fail_on;
            if severe || (verdicts.mild_findings_explain && !clean) {
                (Outcome::Fail, facts.broken || !(clean || says_findings))
            } else if clean && !facts.broken {
                (Outcome::Pass, false)
            } else {
                (Outcome::Error, true)
            }
        }
        None if facts.broken => (Outcome::Error, false),
        None if facts.nothing || verdicts.nothing.contains(&code) => (Outcome::Skipped, false),
        None if clean && facts.report == ReportState::Whole => (Outcome::Pass, false),
        None => (Outcome::Error, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Outcome::{Error, Fail, Missing, Pass, Skipped};
    use ReportState::{Absent, CutOff, Whole};
    use Severity::{Error as Bad, Warning as Mild};

    #[test]
    fn the_table() {
        let ok = Exit::Code(0);
        let one = Exit::Code(1);
        let two = Exit::Code(2);
        let five = Exit::Code(5);
        let signal = Exit::Signal(11);
        let late = Exit::TimedOut { after_ms: 1 };
        let gone = Exit::NotFound;
        let verdicts = Verdicts::LINTER.nothing(&[5]);
        // Exit, report, worst finding => outcome, partial.
        for (exit, report, worst, want) in [
            (&ok, Whole, None, (Pass, false)),
            (&ok, Whole, Some(Mild), (Pass, false)),
            (&ok, Whole, Some(Bad), (Fail, false)), // go vet -json
            (&ok, Absent, None, (Error, false)),    // silence is no report
            (&one, Whole, None, (Error, false)),    // never a pass
            (&one, Whole, Some(Mild), (Fail, false)),
            (&one, Whole, Some(Bad), (Fail, false)),
            (&one, Absent, None, (Error, false)),
            (&one, Absent, Some(Bad), (Fail, false)), // found in the text
            (&one, CutOff, Some(Bad), (Error, false)),
            (&two, Whole, Some(Bad), (Fail, true)), // shellcheck: some files unreadable
            (&two, Whole, None, (Error, false)),
            (&five, Absent, None, (Skipped, false)),
            (&five, Whole, Some(Bad), (Fail, true)),
            (&signal, Whole, Some(Bad), (Error, false)),
            (&late, Absent, None, (Error, false)),
            (&gone, Absent, None, (Missing, false)),
        ] {
            let facts = Facts {
                exit,
                report,
                worst,
                missing: false,
                nothing: false,
                broken: false,
            };
            assert_eq!(decide(&verdicts, &facts), want, "{facts:?}");
        }
    }

    #[test]
    fn what_the_text_says_counts() {
        let facts = Facts {
            exit: &Exit::Code(1),
            report: Absent,
            worst: None,
            missing: true,
            nothing: false,
            broken: true,
        };
        let verdicts = Verdicts::LINTER;
        assert_eq!(decide(&verdicts, &facts), (Missing, false));
        let broken = Facts {
            missing: false,
            exit: &Exit::Code(0),
            report: Whole,
            ..facts
        };
        assert_eq!(decide(&verdicts, &broken), (Error, false), "never a pass");
        let partly = Facts {
            worst: Some(Bad),
            ..broken
        };
        assert_eq!(decide(&verdicts, &partly), (Fail, true));
        let nothing = Facts {
            broken: false,
            nothing: true,
            ..broken
        };
        assert_eq!(decide(&verdicts, &nothing), (Skipped, false));
    }

    #[test]
    fn a_compilers_warnings_do_not_explain_its_failure() {
        let facts = Facts {
            exit: &Exit::Code(101),
            report: Whole,
            worst: Some(Mild),
            missing: false,
            nothing: false,
            broken: false,
        };
        let verdicts = Verdicts::COMPILER.findings(&[101]);
        assert_eq!(decide(&verdicts, &facts), (Error, true));
    }
}
