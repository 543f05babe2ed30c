//! What the demo has seen with its own eyes. The demo succeeds only when all of it was there.

use std::collections::BTreeSet;

use crate::kernel::event::{GateRound, RunEvent};
use crate::kernel::question::QuestionKind;

/// Things that a run of the demo must show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sight {
    Plan,
    ToolCall,
    EditThroughEditor,
    SaveOnRequest,
    Rejection,
    Squiggle,
    Correction,
    SquiggleCleared,
    Overwrite,
    Blocker,
    BlockerShown,
    Answers,
    ProgressBegin,
    ProgressReport,
    ProgressEnd,
    FinalGates,
    End,
}

impl Sight {
    const ALL: [Self; 17] = [
        Self::Plan,
        Self::ToolCall,
        Self::EditThroughEditor,
        Self::SaveOnRequest,
        Self::Rejection,
        Self::Squiggle,
        Self::Correction,
        Self::SquiggleCleared,
        Self::Overwrite,
        Self::Blocker,
        Self::BlockerShown,
        Self::Answers,
        Self::ProgressBegin,
        Self::ProgressReport,
        Self::ProgressEnd,
        Self::FinalGates,
        Self::End,
    ];

    /// Completes "the demo did not see ".
    pub fn name(self) -> &'static str {
        match self {
            Self::Plan => "a plan",
            Self::ToolCall => "a tool call that is completed",
            Self::EditThroughEditor => "a change that came through the editor",
            Self::SaveOnRequest => "a document that the editor was asked to save",
            Self::Rejection => "cargo check reject the first edit with E0308",
            Self::Squiggle => "a diagnostic of cargo with the code E0308 on the wrong line",
            Self::Correction => "cargo check accept the corrected edit",
            Self::SquiggleCleared => "the diagnostic cleared",
            Self::Overwrite => "an overwrite question over unsaved text",
            Self::Blocker => "a blocker",
            Self::BlockerShown => "the blocker marked where it is about",
            Self::Answers => "both answers taken",
            Self::ProgressBegin => "progress begin",
            Self::ProgressReport => "progress reported",
            Self::ProgressEnd => "progress end",
            Self::FinalGates => "the final gates pass",
            Self::End => "the end of the run",
        }
    }
}

#[derive(Debug, Default)]
pub struct Witness {
    seen: BTreeSet<Sight>,
    answers: usize,
}

impl Witness {
    pub fn saw(&mut self, sight: Sight) {
        self.seen.insert(sight);
    }

    pub fn has_seen(&self, sight: Sight) -> bool {
        self.seen.contains(&sight)
    }

    pub fn event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::PlanUpdated { items } if !items.is_empty() => self.saw(Sight::Plan),
            RunEvent::ToolCompleted { .. } => self.saw(Sight::ToolCall),
            RunEvent::GatesJudged {
                why: GateRound::Change,
                verdict,
                ..
            } => {
                let is_the_one =
                    |line: &String| line.contains("E0308") && line.starts_with("src/lib.rs:4:");
                if !verdict.failed.is_empty() && verdict.first.iter().any(is_the_one) {
                    self.saw(Sight::Rejection);
                }
                if self.has_seen(Sight::Rejection)
                    && verdict.failed.is_empty()
                    && !verdict.passed.is_empty()
                {
                    self.saw(Sight::Correction);
                }
            }
            RunEvent::GatesJudged {
                why: GateRound::Final,
                verdict,
                ..
            } if verdict.failed.is_empty() && !verdict.passed.is_empty() => {
                self.saw(Sight::FinalGates);
            }
            RunEvent::QuestionOpened { question } => match &question.kind {
                QuestionKind::Overwrite(overwrite) if overwrite.unsaved => {
                    self.saw(Sight::Overwrite);
                }
                QuestionKind::Blocker { .. } => self.saw(Sight::Blocker),
                _ => {}
            },
            RunEvent::QuestionAnswered { .. } => {
                self.answers += 1;
                if self.answers == 2 {
                    self.saw(Sight::Answers);
                }
            }
            RunEvent::Ended { .. } => self.saw(Sight::End),
            _ => {}
        }
    }

    /// What was not there, in the order in which it should have been.
    pub fn missing(&self) -> Vec<&'static str> {
        Sight::ALL
            .into_iter()
            .filter(|sight| !self.seen.contains(sight))
            .map(Sight::name)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::event::Verdict;
    use crate::kernel::ids::GateRoundId;

    #[test]
    fn a_correction_counts_only_after_the_rejection() {
        let judged = |failed: &[&str], first: &str| RunEvent::GatesJudged {
            round: GateRoundId(1),
            why: GateRound::Change,
            verdict: Verdict {
                passed: if failed.is_empty() {
                    vec!["cargo-check".into()]
                } else {
                    Vec::new()
                },
                failed: failed.iter().map(|name| (*name).to_owned()).collect(),
                first: vec![first.to_owned()],
                ..Verdict::default()
            },
        };
        let mut witness = Witness::default();
        witness.event(&judged(&[], ""));
        assert!(!witness.has_seen(Sight::Correction));
        witness.event(&judged(&["cargo-check"], "src/lib.rs:9:1 E0425 x"));
        assert!(!witness.has_seen(Sight::Rejection));
        witness.event(&judged(
            &["cargo-check"],
            "src/lib.rs:4:33 E0308 mismatched types",
        ));
        assert!(witness.has_seen(Sight::Rejection) && !witness.has_seen(Sight::Correction));
        witness.event(&judged(&[], ""));
        assert!(witness.has_seen(Sight::Correction));
        assert!(witness.missing().contains(&"a plan"));
    }
}
