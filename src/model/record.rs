//! Writes what a model says as a script, so that a real run can be played again without the provider. Pure; the file is
//! appended to in [`super::Models`].

use std::collections::HashMap;

use regex::Regex;
use serde_json::{Map, Value, json};

use crate::kernel::conversation::{Block, ModelFailure, ModelRequest, ModelTurn, Role, StopReason};

use super::classify::masked;
use super::pattern::constant;

/// What is known of one call, beside the request and the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timing {
    pub first_event_ms: u64,
    pub total_ms: u64,
    pub pieces: u64,
}

/// The first line of a recorded script.
pub fn header(name: &str, model: &str) -> String {
    json!({ "script": 1, "name": name, "model": model }).to_string()
}

/// The line of one call. Keys, mail addresses and the home folder are taken out; `home` is its path.
pub fn line(
    request: &ModelRequest,
    answer: &Result<ModelTurn, ModelFailure>,
    timing: Timing,
    home: Option<&str>,
) -> String {
    let mut line = Map::new();
    line.insert("expect".to_owned(), expectation(request));
    match answer {
        Ok(turn) => {
            let emit: Vec<Value> = turn.blocks.iter().filter_map(emitted).collect();
            line.insert("emit".to_owned(), Value::Array(emit));
            if let Some(word) = stop_word(&turn.stop) {
                line.insert("stop".to_owned(), json!(word));
            }
            line.insert(
                "usage".to_owned(),
                json!({ "in": turn.usage.input, "out": turn.usage.output, "cache_read": turn.usage.cache_read,
                        "cache_write": turn.usage.cache_write, "reasoning": turn.usage.reasoning }),
            );
            let gap = timing
                .total_ms
                .saturating_sub(timing.first_event_ms)
                .checked_div(timing.pieces)
                .unwrap_or(0);
            line.insert(
                "pace".to_owned(),
                json!({ "ttft_ms": timing.first_event_ms, "gap_ms": gap }),
            );
        }
        Err(failure) => {
            line.insert("fault".to_owned(), fault(failure));
        }
    }
    let mut line = Value::Object(line);
    clean(&mut line, home);
    line.to_string()
}

fn fault(failure: &ModelFailure) -> Value {
    let Some(status) = failure.status.filter(|status| *status >= 400) else {
        return json!({ "kind": failure.kind });
    };
    let body = serde_json::from_str::<Value>(&failure.raw).unwrap_or_else(|_| json!(failure.raw));
    let mut fields = Map::from_iter([
        ("http".to_owned(), json!(status)),
        ("body".to_owned(), body),
    ]);
    if let Some(ms) = failure.retry_after_ms {
        #[allow(clippy::cast_precision_loss)] // Below 2^52: a wait is at most a year.
        fields.insert("retry_after".to_owned(), json!(ms as f64 / 1000.0));
    }
    Value::Object(fields)
}

fn emitted(block: &Block) -> Option<Value> {
    match block {
        Block::Text { text, .. } => Some(json!({ "text": escaped(text) })),
        Block::Thinking {
            text, signature, ..
        } => {
            let mut item = json!({ "thinking": escaped(text) });
            if let (Some(signature), Value::Object(fields)) = (signature, &mut item) {
                fields.insert("signature".to_owned(), json!(signature));
            }
            Some(item)
        }
        Block::ToolCall(call) => Some(
            match serde_json::from_str::<Map<String, Value>>(&call.arguments) {
                Ok(mut args) => {
                    args.values_mut().for_each(escape_inside);
                    json!({ "tool": call.name, "id": call.id, "args": args })
                }
                Err(_) => {
                    json!({ "tool": call.name, "id": call.id, "raw_tool_args": escaped(&call.arguments) })
                }
            },
        ),
        Block::Image { .. } | Block::ToolResult { .. } | Block::Opaque { .. } => None,
    }
}

/// A text that a script would take for a reference is written so that it is none.
fn escaped(text: &str) -> String {
    text.replace("${", "$${")
}

fn escape_inside(value: &mut Value) {
    match value {
        Value::String(text) => *text = escaped(text),
        Value::Array(items) => items.iter_mut().for_each(escape_inside),
        Value::Object(fields) => fields.values_mut().for_each(escape_inside),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn stop_word(stop: &StopReason) -> Option<&'static str> {
    match stop {
        StopReason::MaxTokens => Some("max_tokens"),
        StopReason::ContextFull => Some("context_full"),
        StopReason::ContentFilter => Some("content_filter"),
        StopReason::Pause => Some("pause"),
        StopReason::EndTurn | StopReason::ToolUse | StopReason::Other(_) => None,
    }
}

/// Role, the id of the last tool result, and the three rarest words of what came last: enough to notice another
/// request, little enough to be edited by hand.
fn expectation(request: &ModelRequest) -> Value {
    let tail = request
        .messages
        .iter()
        .rev()
        .take_while(|message| message.role == Role::User);
    let blocks: Vec<&Block> = tail
        .flat_map(|message| message.blocks.iter().rev())
        .collect();
    let result = blocks.iter().find_map(|block| match block {
        Block::ToolResult { call, text, .. } => Some((call, text.as_str())),
        _ => None,
    });
    let said = blocks.iter().find_map(|block| match block {
        Block::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    let last = match (result, said) {
        (Some((call, text)), _) => {
            json!({ "role": "tool", "id": call, "contains": rarest_words(text, request) })
        }
        (None, Some(text)) => json!({ "role": "user", "contains": rarest_words(text, request) }),
        (None, None) => json!({}),
    };
    json!({ "last": last })
}

fn rarest_words(text: &str, request: &ModelRequest) -> Vec<String> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let all = request.messages.iter().flat_map(|message| &message.blocks);
    for block in all {
        if let Block::Text { text, .. } | Block::ToolResult { text, .. } = block {
            for word in words(text) {
                *counts.entry(word).or_default() += 1;
            }
        }
    }
    let mut own: Vec<&str> = words(text).filter(|word| masked(word) == **word).collect();
    own.sort_by_key(|word| {
        (
            counts.get(word).copied().unwrap_or(0),
            std::cmp::Reverse(word.len()),
            *word,
        )
    });
    own.dedup();
    own.into_iter().take(3).map(str::to_owned).collect()
}

/// Words of letters: numbers, paths and hashes change from run to run.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphabetic())
        .filter(|word| word.chars().count() >= 4 && word.chars().count() <= 30)
}

fn clean(value: &mut Value, home: Option<&str>) {
    static MAIL: std::sync::LazyLock<Regex> =
        std::sync::LazyLock::new(|| constant(r"[A-Za-z0-9._%+\-]+@[A-Za-z0-9.\-]+\.[A-Za-z]{2,}"));
    match value {
        Value::String(text) => {
            // Only short texts are cut by masking; a file's content must stay whole.
            let without_keys = super::classify::without_keys(text);
            let without_mail = MAIL.replace_all(&without_keys, "person@example.com");
            *text = match home.filter(|home| home.len() > 1) {
                Some(home) => without_mail.replace(home, "~"),
                None => without_mail.into_owned(),
            };
        }
        Value::Array(items) => items.iter_mut().for_each(|item| clean(item, home)),
        Value::Object(fields) => fields.values_mut().for_each(|field| clean(field, home)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
