//! What an error body says, whatever it is wrapped in: objects, arrays, texts that hold JSON, another language's
//! printed dictionaries.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::model::pattern::constant;

use super::mask::clipped;
use super::{Signal, Stage};

/// How deep wrappers are opened.
const DEEPEST: usize = 12;
/// Bytes of a body that are looked at; what decides stands at the beginning.
const LOOKED_AT: usize = 64 * 1024;

/// What the rules decide on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    pub stage: Option<Stage>,
    /// The answer's status, or the one the body gives where the answer has none that is an error.
    pub status: Option<u16>,
    /// Types, codes, reasons, exception names: lower case, letters and digits only.
    pub codes: Vec<String>,
    /// All messages, lower case, without addresses, quotes and line breaks.
    pub text: String,
    /// Why the model stopped, as written, lower case.
    pub finish: Vec<String>,
    /// The body has an error in it, not only an end of turn.
    pub has_error: bool,
    /// Google's `RetryInfo.retryDelay`.
    pub retry_delay: Option<String>,
    /// Numbers in fields of their own.
    pub prompt_tokens: Option<u64>,
    pub window_tokens: Option<u64>,
    /// Times to wait or to come back at, as (name in lower-case letters and digits, value).
    pub inner_headers: Vec<(String, String)>,
}

impl Facts {
    pub fn of(signal: &Signal) -> Self {
        let mut facts = Self {
            stage: Some(signal.stage),
            ..Self::default()
        };
        let body = clipped(signal.body, LOOKED_AT).trim();
        let mut inner_status = None;
        let mut messages: Vec<String> = Vec::new();
        match serde_json::from_str::<Value>(body) {
            Ok(value) => walk(&value, "", 0, &mut facts, &mut messages, &mut inner_status),
            Err(_) => read_text(body, 0, &mut facts, &mut messages, &mut inner_status),
        }
        if messages.is_empty() && facts.codes.is_empty() && facts.finish.is_empty() {
            messages.push(body.to_owned());
        }
        facts.finish.extend(signal.finish.map(str::to_lowercase));
        facts.text = normalised(&messages.join(" \n "));
        facts.status = match signal.status {
            Some(status) if status >= 300 => Some(status),
            other => inner_status.or(other),
        };
        facts
    }

    /// Whether one of the codes is one of these, which must be normalised.
    pub fn has_code(&self, wanted: &str) -> bool {
        self.codes.iter().any(|code| code == wanted)
    }
}

fn walk(
    value: &Value,
    key: &str,
    depth: usize,
    facts: &mut Facts,
    messages: &mut Vec<String>,
    inner_status: &mut Option<u16>,
) {
    if depth > DEEPEST {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                facts.has_error |= name == "error" && !field.is_null();
                walk(field, name, depth + 1, facts, messages, inner_status);
            }
        }
        Value::Array(items) => {
            for item in items.iter().take(64) {
                walk(item, key, depth + 1, facts, messages, inner_status);
            }
        }
        Value::String(text) => read_string(text, key, depth, facts, messages, inner_status),
        Value::Number(number) => read_number(number, key, facts, inner_status),
        Value::Null | Value::Bool(_) => {}
    }
}

fn read_string(
    text: &str,
    key: &str,
    depth: usize,
    facts: &mut Facts,
    messages: &mut Vec<String>,
    inner_status: &mut Option<u16>,
) {
    match key.to_ascii_lowercase().as_str() {
        "finish_reason"
        | "stop_reason"
        | "finishreason"
        | "native_finish_reason"
        | "stopreason"
        | "done_reason" => facts.finish.push(text.to_lowercase()),
        // Whatever it says, a prompt with a reason to be blocked was blocked.
        "blockreason" | "block_reason" => facts.finish.push("prompt_blocked".to_owned()),
        "type" | "code" | "status" | "reason" | "error_code" | "errorcode" | "__type"
        | "quotaid" | "name" | "kind" | "error_type" => {
            if let Ok(number) = text.trim().parse::<u16>()
                && (400..600).contains(&number)
            {
                inner_status.get_or_insert(number);
            } else {
                facts.codes.push(code(text));
            }
            if text.contains(' ') {
                messages.push(text.to_owned());
            }
            // Responses-style `incomplete_details.reason`.
            if key == "reason" && text.starts_with("max_") {
                facts.finish.push(text.to_lowercase());
            }
        }
        "retrydelay" => facts.retry_delay = Some(text.to_owned()),
        "message" | "msg" | "errmsg" | "error_msg" | "errormsg" | "error" | "detail"
        | "details" | "raw" | "title" | "description" | "error_description" | "body" | "cause"
        | "error_message" | "errormessage" | "errors" | "statusmessage" | "blockreasonmessage"
        | "finishmessage" | "finish_message" | "stop_details" | "refusal" | "explanation" => {
            read_text(text, depth + 1, facts, messages, inner_status);
        }
        name => keep_time(name, text, facts),
    }
}

/// Fields that say when, with headers that a gateway repeats in its body among them.
fn keep_time(name: &str, value: &str, facts: &mut Facts) {
    let plain = code(name);
    let says_when = [
        "retryafter",
        "ratelimitreset",
        "resetsin",
        "resetin",
        "resetsat",
        "resetat",
    ]
    .iter()
    .any(|part| plain.contains(part))
        || plain == "estimatedtime";
    if says_when {
        facts.inner_headers.push((plain, value.to_owned()));
    }
}

fn read_number(
    number: &serde_json::Number,
    key: &str,
    facts: &mut Facts,
    inner_status: &mut Option<u16>,
) {
    keep_time(key, &number.to_string(), facts);
    let Some(number) = number.as_u64() else {
        return;
    };
    match key {
        "code" | "status" | "status_code" | "statusCode" | "raw_status_code" => {
            match u16::try_from(number) {
                Ok(status) if (400..600).contains(&status) => {
                    inner_status.get_or_insert(status);
                }
                _ => facts.codes.push(number.to_string()),
            }
        }
        "n_prompt_tokens" => facts.prompt_tokens = Some(number),
        "n_ctx" => facts.window_tokens = Some(number),
        _ => {}
    }
}

/// A message: opens the JSON or the printed dictionary in it, and keeps the words.
fn read_text(
    text: &str,
    depth: usize,
    facts: &mut Facts,
    messages: &mut Vec<String>,
    inner_status: &mut Option<u16>,
) {
    messages.push(text.to_owned());
    if depth == 0
        && let Some(status) = leading_status(text)
    {
        inner_status.get_or_insert(status);
    }
    if depth <= DEEPEST
        && let (Some(start), Some(end)) = (text.find(['{', '[']), text.rfind(['}', ']']))
        && start < end
        && let Some(inside) = text.get(start..=end)
        && let Ok(value) = serde_json::from_str::<Value>(inside)
    {
        walk(&value, "", depth + 1, facts, messages, inner_status);
        return;
    }
    for pair in PRINTED_CODES.captures_iter(text) {
        let (Some(key), Some(value)) = (pair.get(1), pair.get(2)) else {
            continue;
        };
        let is_finish = key
            .as_str()
            .to_ascii_lowercase()
            .replace('_', "")
            .ends_with("reason")
            && key.as_str() != "reason";
        if is_finish {
            facts.finish.push(value.as_str().to_lowercase());
        } else {
            facts.codes.push(code(value.as_str()));
        }
    }
    for name in EXCEPTIONS.find_iter(text) {
        facts.codes.push(code(name.as_str()));
    }
}

/// `'code': 'invalid_prompt'`, `finish_reason=length`, `"status":"UNAVAILABLE"` inside a text that is not JSON.
static PRINTED_CODES: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r#"(?i)['"]?\b(code|type|status|reason|error_code|quotaId|finish_?reason|stop_?reason|block_?reason)['"]?\s*[:=]\s*['"]?([A-Za-z][\w.\-]*)"#,
    )
});

/// `ThrottlingException`, `litellm.RateLimitError`.
static EXCEPTIONS: LazyLock<Regex> =
    LazyLock::new(|| constant(r"\b[A-Za-z]{3,60}(?:Exception|Error)\b"));

static LEADING_STATUS: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)^\W*(?:[\w.]+(?:error|exception)\W+)?(?:(?:api )?error(?: occurred)?\W+)?(?:(?:http|status|error|response)\W*)*(?:code\W*)?([45]\d\d)\b",
    )
});

static STATUS_WORD: LazyLock<Regex> =
    LazyLock::new(|| constant(r"(?i)\b(?:http|status|status code|error code)\W{1,3}([45]\d\d)\b"));

fn leading_status(text: &str) -> Option<u16> {
    let found = LEADING_STATUS
        .captures(text)
        .or_else(|| STATUS_WORD.captures(text))?;
    found.get(1)?.as_str().parse().ok()
}

/// Letters and digits in lower case, so that `RateLimitError` and `rate_limit_error` are one.
pub fn code(text: &str) -> String {
    text.chars()
        .filter(|letter| letter.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .take(120)
        .collect()
}

static ADDRESS: LazyLock<Regex> = LazyLock::new(|| constant(r"https?://[^\s)'\x22\]}>]+"));

/// Lower case, no addresses (their words are not the message's), no quotes, one space between words.
fn normalised(text: &str) -> String {
    let text = ADDRESS
        .replace_all(text, " ")
        .replace(['\u{2019}', '\u{2018}'], "'")
        .to_lowercase();
    let letters: Vec<char> = text.chars().collect();
    let mut clean = String::with_capacity(text.len());
    for (index, letter) in letters.iter().enumerate() {
        let is_inside_a_word = || {
            let before = index.checked_sub(1).and_then(|before| letters.get(before));
            let after = letters.get(index + 1);
            before.is_some_and(|letter| letter.is_alphanumeric())
                && after.is_some_and(|letter| letter.is_alphanumeric())
        };
        match letter {
            '`' | '"' | '\\' | '*' => {}
            '\'' if !is_inside_a_word() => {}
            letter if letter.is_whitespace() => {
                if !clean.ends_with(' ') {
                    clean.push(' ');
                }
            }
            letter => clean.push(*letter),
        }
    }
    clean
}
