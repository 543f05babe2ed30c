//! What a run came to, as an exit code for scripts.

use crate::cli::attend::End;
use crate::kernel::event::RunOutcome;
use crate::kernel::question::{BlockerReason, QuestionKind};
use crate::kernel::run::Verification;

pub fn code(end: &End) -> u8 {
    match end {
        End::Over(RunOutcome::Succeeded, summary) => match summary.verification {
            Verification::Passed | Verification::NotNeeded => 0,
            Verification::Unverified => 5,
            Verification::Failed => 1,
        },
        End::Over(RunOutcome::Failed | RunOutcome::Interrupted, _) => 1,
        End::Over(RunOutcome::Cancelled, _) | End::Left => 130,
        End::Waits(question) => match &question.kind {
            QuestionKind::Budget { .. } => 4,
            QuestionKind::Blocker {
                reason: BlockerReason::Model,
            } => 6,
            _ => 3,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::run::Summary;
    use serde_json::{Value, json};

    #[test]
    fn each_end_has_its_code() {
        let over = |outcome, verification| {
            let summary = Summary {
                verification,
                ..Summary::default()
            };
            End::Over(outcome, Box::new(summary))
        };
        let waits = |kind: Value| {
            let question = json!({
                "id": "r.q1", "run": "r", "title": "?", "kind": kind, "freeText": true, "openedAt": 0,
                "state": { "state": "open" },
            });
            End::Waits(Box::new(serde_json::from_value(question).unwrap()))
        };
        let rows = [
            (over(RunOutcome::Succeeded, Verification::Passed), 0),
            (over(RunOutcome::Succeeded, Verification::NotNeeded), 0),
            (over(RunOutcome::Succeeded, Verification::Unverified), 5),
            (over(RunOutcome::Failed, Verification::Failed), 1),
            (over(RunOutcome::Cancelled, Verification::Passed), 130),
            (waits(json!({ "kind": "blocker", "reason": "asked" })), 3),
            (
                waits(json!({ "kind": "command", "command": "x", "cwd": null })),
                3,
            ),
            (waits(json!({ "kind": "blocker", "reason": "model" })), 6),
            (waits(json!({ "kind": "budget", "limit": "1 token" })), 4),
            (End::Left, 130),
        ];
        for (end, want) in rows {
            assert_eq!(code(&end), want, "{end:?}");
        }
    }
}
