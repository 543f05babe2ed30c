//! Noticing that nothing lives: an idle watchdog over model bytes, tool output and finished work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kernel::run::WaitingFor;

/// What a run does when nothing has lived for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct StallPolicy {
    /// Seconds without a sign of life; 0: never.
    pub timeout_s: u64,
    /// What is done about it.
    pub action: StallAction,
}

impl Default for StallPolicy {
    fn default() -> Self {
        Self {
            timeout_s: 300,
            action: StallAction::default(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StallAction {
    /// What hangs is stopped and done once more; the second time the run fails.
    Retry,
    /// What hangs is stopped and a human is asked.
    #[default]
    Blocker,
    /// The run fails.
    Fail,
}

/// Whether the run has stalled: `idle_ms` since the last sign of life, waiting for `what`.
pub fn is_stalled(policy: &StallPolicy, idle_ms: u64, what: Option<WaitingFor>) -> bool {
    let watched = match what {
        Some(WaitingFor::Model | WaitingFor::Tool | WaitingFor::File | WaitingFor::Gate) | None => {
            true
        }
        // A human who thinks and a provider that named a time are no stalls; stopping has its own bound.
        Some(
            WaitingFor::You
            | WaitingFor::RateLimit
            | WaitingFor::Retry
            | WaitingFor::Lease
            | WaitingFor::Stop,
        ) => false,
    };
    watched && policy.timeout_s > 0 && idle_ms >= policy.timeout_s.saturating_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_work_of_machines_stalls() {
        let policy = StallPolicy {
            timeout_s: 2,
            ..StallPolicy::default()
        };
        let off = StallPolicy {
            timeout_s: 0,
            ..StallPolicy::default()
        };
        let rows = [
            (&policy, 1_999, Some(WaitingFor::Model), false),
            (&policy, 2_000, Some(WaitingFor::Model), true),
            (&policy, 2_000, Some(WaitingFor::Tool), true),
            (&policy, 2_000, Some(WaitingFor::Gate), true),
            (&policy, 2_000, None, true),
            (&policy, 9_999_999, Some(WaitingFor::You), false),
            (&policy, 9_999_999, Some(WaitingFor::RateLimit), false),
            (&policy, 9_999_999, Some(WaitingFor::Lease), false),
            (&policy, 9_999_999, Some(WaitingFor::Retry), false),
            (&off, u64::MAX, Some(WaitingFor::Model), false),
        ];
        for (policy, idle, what, want) in rows {
            assert_eq!(is_stalled(policy, idle, what), want, "{idle} {what:?}");
        }
    }
}
