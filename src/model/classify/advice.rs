//! One sentence for people: what failed and what to do next.

use crate::kernel::conversation::{ModelErrorKind, ModelFailure};

/// `provider` may be empty.
pub fn advice(failure: &ModelFailure, provider: &str) -> String {
    let who = if provider.is_empty() {
        "The model's provider"
    } else {
        provider
    };
    let wait = failure
        .retry_after_ms
        .map(|ms| format!(" and asks to wait {}", span(ms)))
        .unwrap_or_default();
    match failure.kind {
        ModelErrorKind::PromptTooLong => {
            format!("The prompt is too long for the model{}; shorten it or choose a model with a larger window.", counts(failure))
        }
        ModelErrorKind::RateLimit => {
            format!("{who} limits the rate of requests{wait}; wait, or choose another model or a higher tier.")
        }
        ModelErrorKind::Overloaded => {
            format!("{who} is overloaded or still loading the model{wait}; try again later or choose another model.")
        }
        ModelErrorKind::Quota => {
            format!("{who} refuses because a quota, budget or balance is used up; add credit, raise the limit or choose another model.")
        }
        ModelErrorKind::Auth => {
            format!("{who} does not accept the key or does not allow this access; set a valid key for it and check its permissions.")
        }
        ModelErrorKind::ModelNotFound => {
            format!("{who} does not have this model; list the available ones with `outrigger models` and choose one.")
        }
        ModelErrorKind::ContentFilter => {
            format!("{who} refused the content by its policy; change the task's wording or choose another model.")
        }
        ModelErrorKind::MaxOutput => {
            "The model reached its output limit before it was done; raise the limit or ask for smaller parts.".to_owned()
        }
        ModelErrorKind::Empty => {
            "The model answered with nothing; ask again, and check that the prompt fits the model's window.".to_owned()
        }
        ModelErrorKind::MalformedToolCall => {
            "The model made a tool call that cannot be read; ask it again, or choose a model that is better at tools.".to_owned()
        }
        ModelErrorKind::InvalidRequest => {
            format!("{who} does not accept the request; check the model, its address and its settings.")
        }
        ModelErrorKind::Network if failure.rule == "network.certificate" => {
            format!("The certificate of {who} cannot be verified; check the address, or add your organisation's CA file.")
        }
        ModelErrorKind::Network => {
            format!("The connection to {who} failed or broke; check the network, the proxy and the address, then try again.")
        }
        ModelErrorKind::Timeout => {
            format!("{who} did not answer in time; try again, or raise the model's timeouts.")
        }
        ModelErrorKind::ServerError => format!("{who} had an internal error; try again, or choose another model."),
        ModelErrorKind::Unknown => {
            format!("{who} answered in a way that is not understood; read its own words and try again.")
        }
    }
}

fn counts(failure: &ModelFailure) -> String {
    match failure.tokens.map(|tokens| (tokens.actual, tokens.limit)) {
        Some((Some(actual), Some(limit))) => format!(" ({actual} of {limit} tokens)"),
        Some((Some(actual), None)) => format!(" ({actual} tokens)"),
        Some((None, Some(limit))) => format!(" (at most {limit} tokens)"),
        Some((None, None)) | None => String::new(),
    }
}

fn span(ms: u64) -> String {
    let seconds = ms.div_ceil(1000);
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}
