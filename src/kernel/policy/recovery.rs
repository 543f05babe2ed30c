//! What is done about a failed model call. One owner of retries: nothing below this retries.

use crate::kernel::conversation::{ModelErrorKind, ModelFailure};

/// Failed calls in a row after which a human is asked.
pub const ATTEMPTS: u32 = 4;
/// A provider that wants us to wait longer than this is a blocker.
pub const LONGEST_WAIT_MS: u64 = 15 * 60 * 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recovery {
    /// The same call again, after that long. `parked`: the provider named the time.
    Again { after_ms: u64, parked: bool },
    /// The same call again, with a note that the model alone sees.
    Hint { note: String },
    /// Only a human can help.
    Ask,
}

/// `failures` counts the failed calls in a row, this one included; at least 1.
pub fn decide(failure: &ModelFailure, failures: u32) -> Recovery {
    use ModelErrorKind as Kind;
    match failure.kind {
        Kind::Quota
        | Kind::Auth
        | Kind::ModelNotFound
        | Kind::ContentFilter
        | Kind::InvalidRequest
        | Kind::PromptTooLong => Recovery::Ask,
        Kind::RateLimit | Kind::Overloaded | Kind::Network | Kind::Timeout | Kind::ServerError => {
            let after_ms = failure
                .retry_after_ms
                .unwrap_or_else(|| backoff_ms(failures));
            if failures >= ATTEMPTS || after_ms > LONGEST_WAIT_MS {
                Recovery::Ask
            } else {
                Recovery::Again {
                    after_ms,
                    parked: failure.retry_after_ms.is_some(),
                }
            }
        }
        Kind::Empty if failures == 1 => hint(
            "Your last answer was empty. Go on with the task: call a tool, or say in words what you did and why you are done.",
        ),
        Kind::MaxOutput if failures == 1 => hint(
            "Your last answer was cut off by the output limit before it was complete. Answer shorter, and change large files in several small edits.",
        ),
        Kind::MalformedToolCall if failures == 1 => hint(
            "Your last tool call was not valid JSON. Call the tool again with arguments that fit its schema.",
        ),
        Kind::Empty | Kind::MaxOutput | Kind::MalformedToolCall | Kind::Unknown => Recovery::Ask,
    }
}

fn hint(note: &str) -> Recovery {
    Recovery::Hint {
        note: note.to_owned(),
    }
}

fn backoff_ms(failures: u32) -> u64 {
    1000_u64.saturating_mul(1 << failures.saturating_sub(1).min(6))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ModelErrorKind as Kind;

    fn failure(kind: Kind, retry_after_ms: Option<u64>) -> ModelFailure {
        ModelFailure {
            kind,
            retryable: true,
            retry_after_ms,
            status: None,
            tokens: None,
            rule: String::new(),
            raw: String::new(),
            advice: String::new(),
        }
    }

    #[test]
    fn each_kind_has_its_recovery() {
        let again = |after_ms, parked| Recovery::Again { after_ms, parked };
        let rows = [
            (Kind::RateLimit, Some(200), 1, again(200, true)),
            (Kind::RateLimit, Some(86_400_000), 1, Recovery::Ask),
            (Kind::Overloaded, None, 1, again(1000, false)),
            (Kind::Network, None, 3, again(4000, false)),
            (Kind::ServerError, None, 4, Recovery::Ask),
            (Kind::Quota, Some(1), 1, Recovery::Ask),
            (Kind::Auth, None, 1, Recovery::Ask),
            (Kind::Unknown, None, 1, Recovery::Ask),
            (Kind::Empty, None, 2, Recovery::Ask),
        ];
        for (kind, after, failures, want) in rows {
            assert_eq!(
                decide(&failure(kind, after), failures),
                want,
                "{kind:?} {failures}"
            );
        }
        for kind in [Kind::Empty, Kind::MaxOutput, Kind::MalformedToolCall] {
            assert!(
                matches!(decide(&failure(kind, None), 1), Recovery::Hint { .. }),
                "{kind:?}"
            );
        }
    }
}
