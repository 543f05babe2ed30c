//! The correction ladder: how often work that gates reject is sent back, and when that stops being sensible.
//!
//! Three attempts at a correction make one verification failure; three failures in a row, a new plan; two new plans, a
//! human. The very same failure three times takes another way first, then a human. What passes begins afresh.

use std::collections::{BTreeMap, BTreeSet};

use crate::kernel::finding::{Finding, Fingerprint};

/// Attempts at a correction that make one verification failure.
pub const ATTEMPTS: u32 = 3;
/// Verification failures in a row that make a new plan.
pub const FAILURES: u32 = 3;
/// New plans of a run.
pub const REPLANS: u32 = 2;
/// The same failure so often in a row is taken for one that this way does not mend.
const SAME: u32 = 3;

/// Where a run is on the ladder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ladder {
    /// Corrections that were asked for since the last failure was counted.
    attempts: u32,
    /// Verification failures in a row.
    failures: u32,
    replans: u32,
    last: Vec<Failure>,
    /// How often in a row the failure was the last one.
    same: u32,
    /// One line for each rejection: what was tried, for a human.
    pub tried: Vec<String>,
}

/// A finding without what moves: the same failure is the same text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Failure(String);

/// What a rejection means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rung {
    /// Sent back, for the n-th time.
    Correct { attempt: u32 },
    /// Sent back; the last attempts count as the n-th verification failure.
    Failed { failures: u32 },
    /// The same failure again and again: another way must be taken.
    OtherWay { times: u32 },
    /// The remaining work is planned anew, for the n-th time.
    Replan { nth: u32 },
    /// A human is asked.
    Ask { why: String },
}

/// How a rejection compares with the one before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Moved {
    pub fixed: Vec<Fingerprint>,
    pub still: u32,
    pub new: u32,
}

impl Moved {
    /// Something was fixed, and nothing came instead.
    pub fn is_progress(&self) -> bool {
        !self.fixed.is_empty() && self.new == 0
    }

    pub fn describe(&self) -> String {
        format!(
            "{} fixed, {} still there, {} new",
            self.fixed.len(),
            self.still,
            self.new
        )
    }
}

/// Compares two sets of findings; one that was there twice and is there once is fixed once.
pub fn compare(before: &[Fingerprint], now: &[Fingerprint]) -> Moved {
    let mut left: BTreeMap<&Fingerprint, u32> = BTreeMap::new();
    for finding in before {
        *left.entry(finding).or_default() += 1;
    }
    let mut moved = Moved::default();
    for finding in now {
        match left.get_mut(finding) {
            Some(count) if *count > 0 => {
                *count -= 1;
                moved.still += 1;
            }
            _ => moved.new += 1,
        }
    }
    for (finding, count) in left {
        for _ in 0..count {
            moved.fixed.push(finding.clone());
        }
    }
    moved
}

impl Ladder {
    /// The work is rejected by these findings.
    pub fn rejected<'a>(
        &mut self,
        findings: impl Iterator<Item = &'a Finding>,
        moved: &Moved,
    ) -> Rung {
        let now = signature(findings);
        if now == self.last {
            self.same += 1;
        } else {
            self.same = 1;
            self.last = now;
        }
        if self.same > SAME {
            let times = self.same;
            return self.ask(format!(
                "the very same failure came {times} times, another way included"
            ));
        }
        if self.same == SAME {
            self.attempts = 0;
            return Rung::OtherWay { times: SAME };
        }
        if moved.is_progress() {
            self.attempts = 0;
        }
        self.attempts += 1;
        if self.attempts <= ATTEMPTS {
            return Rung::Correct {
                attempt: self.attempts,
            };
        }
        self.attempts = 1;
        self.failures += 1;
        if self.failures < FAILURES {
            return Rung::Failed {
                failures: self.failures,
            };
        }
        self.failures = 0;
        if self.replans < REPLANS {
            self.replans += 1;
            self.attempts = 0;
            return Rung::Replan { nth: self.replans };
        }
        self.ask(format!(
            "{FAILURES} verification failures in a row, after {REPLANS} new plans"
        ))
    }

    fn ask(&mut self, why: String) -> Rung {
        let tried = std::mem::take(&mut self.tried);
        *self = Self {
            tried,
            ..Self::default()
        };
        Rung::Ask { why }
    }

    /// Something was mended in the middle of the work.
    pub fn progressed(&mut self) {
        self.attempts = 0;
    }

    /// The gates let the work through.
    pub fn passed(&mut self) {
        *self = Self {
            replans: self.replans,
            ..Self::default()
        };
    }
}

fn signature<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<Failure> {
    let set: BTreeSet<Failure> = findings.map(failure).collect();
    set.into_iter().collect()
}

fn failure(finding: &Finding) -> Failure {
    let code = finding.code.as_deref().unwrap_or_default();
    Failure(format!(
        "{}\u{1f}{code}\u{1f}{}",
        finding.gate,
        without_what_moves(&finding.message)
    ))
}

/// A message with numbers, addresses, times and paths blanked. Names in quotes stay: another name is another failure.
fn without_what_moves(message: &str) -> String {
    let words = message.split_whitespace().map(|word| {
        let is_path = |word: &str| {
            let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/' && c != '.');
            bare.len() > 1 && (bare.contains('/') || bare.contains('\\')) && !bare.contains("//")
        };
        let is_time = |word: &str| {
            let letters: Vec<char> = word.chars().take(10).collect();
            let digit = |at: usize| letters.get(at).is_some_and(char::is_ascii_digit);
            letters.get(4) == Some(&'-') && letters.get(7) == Some(&'-') && digit(0) && digit(9)
        };
        if is_time(word) {
            "<time>".to_owned()
        } else if is_path(word) {
            "<path>".to_owned()
        } else {
            blank_numbers(word)
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// `0x7f3a` and `12` become `#`; `x1` and `utf8` stay: a digit inside a name is part of it.
fn blank_numbers(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    let mut rest = word;
    let mut after_letter = false;
    while let Some(first) = rest.chars().next() {
        if first.is_ascii_digit() && !after_letter {
            let is_hex = rest.starts_with("0x") || rest.starts_with("0X");
            let from = if is_hex { 2 } else { 0 };
            let digit = |c: char| {
                if is_hex {
                    c.is_ascii_hexdigit()
                } else {
                    c.is_ascii_digit()
                }
            };
            let end = rest[from..]
                .find(|c: char| !digit(c))
                .map_or(rest.len(), |end| from + end);
            out.push('#');
            rest = &rest[end..];
            // `12ms` is a number with its unit.
            after_letter = false;
        } else {
            out.push(first);
            after_letter = first.is_alphanumeric() || first == '_';
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::finding::Severity;
    use crate::kernel::ids::GateId;

    fn finding(message: &str) -> Finding {
        Finding {
            gate: GateId::new("g"),
            source: "g".into(),
            place: None,
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

    fn rejected(ladder: &mut Ladder, message: &str) -> Rung {
        ladder.rejected([finding(message)].iter(), &Moved::default())
    }

    #[test]
    fn attempts_make_failures_failures_make_plans_and_plans_make_a_question() {
        let mut ladder = Ladder::default();
        let mut said = Vec::new();
        for at in 0..100_u8 {
            // Each time another failure.
            let message = format!("bad {}", char::from(b'a' + at % 26));
            let rung = rejected(&mut ladder, &message);
            let is_end = matches!(rung, Rung::Ask { .. });
            said.push(match rung {
                Rung::Correct { attempt } => format!("c{attempt}"),
                Rung::Failed { failures } => format!("f{failures}"),
                Rung::OtherWay { .. } => "other".into(),
                Rung::Replan { nth } => format!("r{nth}"),
                Rung::Ask { .. } => "ask".into(),
            });
            if is_end {
                break;
            }
        }
        let three = "c1 c2 c3 f1 c2 c3 f2 c2 c3";
        assert_eq!(said.join(" "), format!("{three} r1 {three} r2 {three} ask"));
    }

    #[test]
    fn the_same_failure_takes_another_way_and_then_a_human() {
        let mut ladder = Ladder::default();
        for (message, want) in [
            ("bad at line 3", "Correct"),
            ("bad at line 99", "Correct"),
            ("bad at line 7", "OtherWay"),
            ("bad at line 9", "Ask"),
            ("bad at line 9", "Correct"),
        ] {
            let rung = format!("{:?}", rejected(&mut ladder, message));
            assert!(rung.starts_with(want), "{message}: {rung}");
        }
    }

    #[test]
    fn a_pass_begins_afresh_and_progress_is_no_attempt() {
        let mut ladder = Ladder::default();
        for message in ["a", "b", "c"] {
            rejected(&mut ladder, message);
        }
        let better = Moved {
            fixed: vec![Fingerprint("x".into())],
            still: 1,
            new: 0,
        };
        let rung = ladder.rejected([finding("d")].iter(), &better);
        assert_eq!(rung, Rung::Correct { attempt: 1 });
        ladder.passed();
        assert_eq!(rejected(&mut ladder, "a"), Rung::Correct { attempt: 1 });
    }

    #[test]
    fn only_what_moves_is_left_out_of_a_signature() {
        let same = [
            ("expected 3, got 17", "expected 4, got 1"),
            ("failed in 0.31s", "failed in 12.5s"),
            ("at 0x7ffe12ab", "at 0x10"),
            ("no such file /tmp/a1/x.py", "no such file /var/b/y.py"),
            ("src/a.rs:3:4 bad", "src/b.rs:13:1 bad"),
            ("2026-12-01T04:00:00 bad", "2025-01-31T23:59:59 bad"),
        ];
        for (one, other) in same {
            assert_eq!(
                without_what_moves(one),
                without_what_moves(other),
                "{one} {other}"
            );
        }
        let different = [
            ("cannot find `a`", "cannot find `b`"),
            ("cannot find x1", "cannot find x2"),
            ("`é` is not defined", "`è` is not defined"),
            ("expected i32", "expected i64"),
        ];
        for (one, other) in different {
            assert_ne!(
                without_what_moves(one),
                without_what_moves(other),
                "{one} {other}"
            );
        }
    }

    #[test]
    fn findings_are_compared_one_by_one() {
        let print = |text: &str| Fingerprint(text.into());
        let all = |texts: &str| texts.split_whitespace().map(print).collect::<Vec<_>>();
        let rows = [
            ("", "", (0, 0, 0)),
            ("a a b", "a c", (2, 1, 1)),
            ("a", "a a", (0, 1, 1)),
            ("a", "", (1, 0, 0)),
        ];
        for (before, now, want) in rows {
            let moved = compare(&all(before), &all(now));
            assert_eq!(
                (moved.fixed.len(), moved.still, moved.new),
                want,
                "{before} / {now}"
            );
        }
    }
}
