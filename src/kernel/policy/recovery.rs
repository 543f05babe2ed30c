//! What is done about a failed model call. One owner of retries: nothing below this retries.
//!
//! Each kind has its own recovery and its own bound; none uses up an iteration, none leaves a trace in the history.

use crate::kernel::conversation::{ModelErrorKind, ModelFailure};

/// Failed calls in a row after which another model, or a human, is asked.
pub const ATTEMPTS: u32 = 4;
/// A provider that wants us to wait longer than this is a blocker.
pub const LONGEST_WAIT_MS: u64 = 60 * 60 * 1000;
/// The output limit is doubled up to this many tokens.
pub const LARGEST_OUTPUT: u32 = 64_000;
/// What a call may answer when the run does not say.
pub const USUAL_OUTPUT: u32 = 8_000;

/// What has been tried since the last call that succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tried {
    /// Failed calls in a row, this one included; at least 1.
    pub failures: u32,
    pub compacted: bool,
    pub hinted: bool,
    /// Whether a fallback model is configured and not yet in use.
    pub fallback: bool,
    /// The output limit of the failed call, where one was set.
    pub max_output: Option<u32>,
    /// Spreads the waits of runs that fail at the same moment.
    pub jitter: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recovery {
    /// The same call again, after that long. `parked`: the provider named the time.
    Again { after_ms: u64, parked: bool },
    /// The same call again, with a note that the model alone sees.
    Hint { note: &'static str },
    /// The same call again, with a shorter history.
    Compact,
    /// The same call again, with room for a longer answer.
    LongerOutput { max_output: u32 },
    /// The same call again, to the fallback model.
    Fallback,
    /// Only a human can help.
    Ask,
}

pub fn decide(failure: &ModelFailure, tried: &Tried) -> Recovery {
    use ModelErrorKind as Kind;
    match failure.kind {
        Kind::Quota
        | Kind::Auth
        | Kind::ModelNotFound
        | Kind::ContentFilter
        | Kind::InvalidRequest => Recovery::Ask,
        Kind::RateLimit | Kind::Overloaded | Kind::Network | Kind::Timeout | Kind::ServerError => {
            wait(failure, tried)
        }
        Kind::PromptTooLong if tried.compacted => Recovery::Ask,
        Kind::PromptTooLong => Recovery::Compact,
        Kind::MaxOutput => longer_output(tried),
        Kind::Empty => hint(
            tried,
            "Your last answer was empty. Go on with the task: call a tool, or say in words what you did and why you are done.",
        ),
        Kind::MalformedToolCall => hint(
            tried,
            "Your last tool call was not valid JSON. Call the tool again with arguments that fit its schema.",
        ),
        Kind::Unknown => Recovery::Ask,
    }
}

fn wait(failure: &ModelFailure, tried: &Tried) -> Recovery {
    let asked = failure.retry_after_ms;
    let after_ms = asked.unwrap_or_else(|| backoff_ms(tried));
    let waits = after_ms <= LONGEST_WAIT_MS;
    // A named time is waited for however often: the provider says that it will go on.
    if waits && (tried.failures < ATTEMPTS || asked.is_some() && tried.failures < 4 * ATTEMPTS) {
        Recovery::Again {
            after_ms,
            parked: asked.is_some(),
        }
    } else if tried.fallback {
        Recovery::Fallback
    } else {
        Recovery::Ask
    }
}

fn longer_output(tried: &Tried) -> Recovery {
    let now = tried.max_output.unwrap_or(USUAL_OUTPUT);
    if now < LARGEST_OUTPUT {
        Recovery::LongerOutput {
            max_output: now.saturating_mul(2).min(LARGEST_OUTPUT),
        }
    } else {
        hint(
            tried,
            "Your last answer was cut off by the output limit and was not used. Do it in several smaller steps: write large files in parts, with several small edits.",
        )
    }
}

fn hint(tried: &Tried, note: &'static str) -> Recovery {
    if tried.hinted {
        Recovery::Ask
    } else {
        Recovery::Hint { note }
    }
}

/// 1 s, 2 s, 4 s … at most 64 s, each up to a quarter longer.
fn backoff_ms(tried: &Tried) -> u64 {
    let base = 1000_u64 << tried.failures.saturating_sub(1).min(6);
    base + tried.jitter % (base / 4)
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
            usage: Default::default(),
        }
    }

    fn tried(failures: u32) -> Tried {
        Tried {
            failures,
            ..Tried::default()
        }
    }

    #[test]
    fn each_kind_has_its_recovery_and_its_bound() {
        let again = |after_ms, parked| Recovery::Again { after_ms, parked };
        let compacted = Tried {
            compacted: true,
            ..tried(2)
        };
        let hinted = Tried {
            hinted: true,
            ..tried(2)
        };
        let fallback = Tried {
            fallback: true,
            ..tried(4)
        };
        let cap = Tried {
            max_output: Some(LARGEST_OUTPUT),
            ..tried(1)
        };
        let rows = [
            (Kind::RateLimit, Some(200), tried(1), again(200, true)),
            (Kind::RateLimit, Some(200), tried(9), again(200, true)),
            (Kind::RateLimit, Some(200), tried(16), Recovery::Ask),
            (Kind::RateLimit, Some(86_400_000), tried(1), Recovery::Ask),
            (
                Kind::RateLimit,
                Some(86_400_000),
                fallback,
                Recovery::Fallback,
            ),
            (Kind::Overloaded, None, tried(1), again(1000, false)),
            (Kind::Network, None, tried(3), again(4000, false)),
            (Kind::Timeout, None, tried(2), again(2000, false)),
            (Kind::ServerError, None, tried(4), Recovery::Ask),
            (Kind::ServerError, None, fallback, Recovery::Fallback),
            (Kind::PromptTooLong, None, tried(1), Recovery::Compact),
            (Kind::PromptTooLong, None, compacted, Recovery::Ask),
            (
                Kind::MaxOutput,
                None,
                tried(1),
                Recovery::LongerOutput { max_output: 16_000 },
            ),
            (Kind::Quota, Some(1), fallback, Recovery::Ask),
            (Kind::Auth, None, tried(1), Recovery::Ask),
            (Kind::ModelNotFound, None, tried(1), Recovery::Ask),
            (Kind::ContentFilter, None, tried(1), Recovery::Ask),
            (Kind::InvalidRequest, None, tried(1), Recovery::Ask),
            (Kind::Unknown, None, tried(1), Recovery::Ask),
            (Kind::Empty, None, hinted, Recovery::Ask),
            (Kind::MalformedToolCall, None, hinted, Recovery::Ask),
        ];
        for (kind, after, tried, want) in rows {
            assert_eq!(
                decide(&failure(kind, after), &tried),
                want,
                "{kind:?} {tried:?}"
            );
        }
        for (kind, tried) in [
            (Kind::Empty, tried(1)),
            (Kind::MalformedToolCall, tried(1)),
            (Kind::MaxOutput, cap),
        ] {
            assert!(
                matches!(decide(&failure(kind, None), &tried), Recovery::Hint { .. }),
                "{kind:?}"
            );
        }
    }

    #[test]
    fn waits_are_spread_but_bounded() {
        for jitter in [0, 1, 249, 250, u64::MAX] {
            let Recovery::Again { after_ms, .. } =
                decide(&failure(Kind::Network, None), &Tried { jitter, ..tried(1) })
            else {
                panic!("not retried");
            };
            assert!((1000..1250).contains(&after_ms), "{after_ms}");
        }
    }
}
