//! Says what went wrong with a model call.
//!
//! Structure decides before words, and words are data: `classify/rules.toml` holds the rules in their order. Owns the
//! unwrapping of error bodies, the reading of wait times and token counts, and the masking of keys. Pure; what no rule
//! knows comes out as `unknown` with its text, never as a guess.

mod advice;
mod facts;
mod mask;
mod numbers;
mod rules;

use serde::Deserialize;

use crate::kernel::conversation::{ModelErrorKind, ModelFailure, Usage};

pub use mask::{masked, without_keys};

/// Where an error showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// An answer that is not a stream.
    Http,
    /// An event inside a stream.
    Stream,
    /// The end of a turn: why the model stopped.
    Finish,
    /// Our own client's words: connecting, reading, waiting.
    Client,
    /// Words of another program that wraps the provider.
    Text,
}

/// What is known about a failed call.
#[derive(Debug, Clone, Copy)]
pub struct Signal<'a> {
    pub stage: Stage,
    /// HTTP status, where there was an answer.
    pub status: Option<u16>,
    /// Names in lower case.
    pub headers: &'a [(String, String)],
    pub body: &'a str,
    /// For people only; decides nothing.
    pub provider: &'a str,
    /// Why the model stopped, where a decoder has found out already.
    pub finish: Option<&'a str>,
    /// Milliseconds since 1970, against which absolute reset times are read; `None` leaves those out.
    pub now_ms: Option<i64>,
}

impl<'a> Signal<'a> {
    pub fn new(stage: Stage, body: &'a str) -> Self {
        Self {
            stage,
            status: None,
            headers: &[],
            body,
            provider: "",
            finish: None,
            now_ms: None,
        }
    }
    #[must_use]
    pub fn status(self, status: u16) -> Self {
        Self {
            status: Some(status),
            ..self
        }
    }
    #[must_use]
    pub fn headers(self, headers: &'a [(String, String)]) -> Self {
        Self { headers, ..self }
    }
    #[must_use]
    pub fn provider(self, provider: &'a str) -> Self {
        Self { provider, ..self }
    }
}

/// Classifies a failed call.
pub fn classify(signal: &Signal) -> ModelFailure {
    let facts = facts::Facts::of(signal);
    let (kind, rule) = rules::decide(&facts);
    let retry_after_ms = numbers::retry_after_ms(signal, &facts);
    let tokens = numbers::token_counts(&facts);
    let told_not_to = signal
        .headers
        .iter()
        .any(|(name, value)| name == "x-should-retry" && value == "false");
    let mut failure = ModelFailure {
        kind,
        retryable: is_retryable(kind) && rule != "network.certificate" && !told_not_to,
        retry_after_ms,
        status: signal.status,
        tokens,
        rule,
        raw: masked(signal.body),
        advice: String::new(),
        usage: Usage::default(),
    };
    failure.advice = advice::advice(&failure, signal.provider);
    failure
}

/// Whether the same request may succeed later, without a change.
fn is_retryable(kind: ModelErrorKind) -> bool {
    match kind {
        ModelErrorKind::RateLimit
        | ModelErrorKind::Overloaded
        | ModelErrorKind::Empty
        | ModelErrorKind::MalformedToolCall
        | ModelErrorKind::Network
        | ModelErrorKind::Timeout
        | ModelErrorKind::ServerError => true,
        ModelErrorKind::PromptTooLong
        | ModelErrorKind::Quota
        | ModelErrorKind::Auth
        | ModelErrorKind::ModelNotFound
        | ModelErrorKind::ContentFilter
        | ModelErrorKind::MaxOutput
        | ModelErrorKind::InvalidRequest
        | ModelErrorKind::Unknown => false,
    }
}
