//! `${c1.sha256}`, `${c1.line:/re/}` and `${c1.text}`: values taken from earlier tool results, so that a script
//! survives edits of the files it works on.

use regex::Regex;
use serde_json::Value;

use crate::kernel::conversation::{Block, ModelRequest};

/// Replaces every reference in `text`. `$${` stands for a literal `${`.
///
/// # Errors
///
/// Says which reference could not be resolved, and why.
pub fn fill(
    text: &str,
    request: &ModelRequest,
    actual_id: &dyn Fn(&str) -> String,
) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, from) = rest.split_at(start);
        if let Some(before) = before.strip_suffix('$') {
            filled.push_str(before);
            filled.push_str("${");
            rest = from.get(2..).unwrap_or_default();
            continue;
        }
        filled.push_str(before);
        let body = from.get(2..).unwrap_or_default();
        // A pattern may hold braces, so a reference with a pattern ends at `/}`.
        let (end, skip) = match body
            .find(":/")
            .filter(|at| body.get(..*at).is_some_and(is_reference_head))
        {
            Some(at) => (
                body.get(at + 2..)
                    .and_then(|tail| tail.find("/}"))
                    .map(|end| at + 2 + end + 1),
                1,
            ),
            None => (body.find('}'), 1),
        };
        let Some(end) = end else {
            return Err(format!("the reference that begins at {from:?} never ends"));
        };
        let reference = body.get(..end).unwrap_or_default();
        filled.push_str(&resolve(reference, request, actual_id)?);
        rest = body.get(end + skip..).unwrap_or_default();
    }
    filled.push_str(rest);
    Ok(filled)
}

/// [`fill`] for every text inside a JSON value.
///
/// # Errors
///
/// As [`fill`].
pub fn fill_json(
    value: &Value,
    request: &ModelRequest,
    actual_id: &dyn Fn(&str) -> String,
) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => Value::String(fill(text, request, actual_id)?),
        Value::Array(items) => {
            let items: Result<_, String> = items
                .iter()
                .map(|item| fill_json(item, request, actual_id))
                .collect();
            Value::Array(items?)
        }
        Value::Object(fields) => {
            let fields: Result<_, String> = fields
                .iter()
                .map(|(key, item)| Ok((key.clone(), fill_json(item, request, actual_id)?)))
                .collect();
            Value::Object(fields?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    })
}

fn is_reference_head(head: &str) -> bool {
    head.ends_with(".line") && !head.contains(['}', '{', ' '])
}

fn resolve(
    reference: &str,
    request: &ModelRequest,
    actual_id: &dyn Fn(&str) -> String,
) -> Result<String, String> {
    let Some((id, what)) = reference.split_once('.') else {
        return Err(format!(
            "`${{{reference}}}` names no value; write ${{id.sha256}}, ${{id.line:/pattern/}} or ${{id.text}}"
        ));
    };
    let call = actual_id(id);
    let Some(result) = result_of(request, &call) else {
        return Err(format!(
            "`${{{reference}}}`: no result of tool call `{call}` in the request"
        ));
    };
    if what == "text" {
        return Ok(result.to_owned());
    }
    if what == "sha256" {
        return sha256_in(result).map(str::to_owned).ok_or_else(|| {
            format!("`${{{reference}}}`: the result of `{call}` holds no SHA-256 (64 hex digits)")
        });
    }
    let pattern = what
        .strip_prefix("line:/")
        .and_then(|rest| rest.strip_suffix('/'));
    let Some(pattern) = pattern else {
        return Err(format!(
            "`${{{reference}}}`: `{what}` is none of sha256, line:/pattern/, text"
        ));
    };
    let pattern_of = Regex::new(pattern).map_err(|error| format!("`${{{reference}}}`: {error}"))?;
    for line in result.lines() {
        if let Some(captures) = pattern_of.captures(line) {
            return Ok(captures
                .get(1)
                .map_or(line, |group| group.as_str())
                .to_owned());
        }
    }
    Err(format!(
        "`${{{reference}}}`: no line of the result of `{call}` matches"
    ))
}

fn result_of<'a>(request: &'a ModelRequest, wanted: &str) -> Option<&'a str> {
    let blocks = request
        .messages
        .iter()
        .rev()
        .flat_map(|message| message.blocks.iter().rev());
    blocks.into_iter().find_map(|block| match block {
        Block::ToolResult { call, text, .. } if call.as_str() == wanted => Some(text.as_str()),
        _ => None,
    })
}

fn sha256_in(text: &str) -> Option<&str> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric())
        .find(|word| word.len() == 64 && word.chars().all(|letter| letter.is_ascii_hexdigit()))
}
