//! Encodes requests.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::kernel::conversation::{Block, ModelRequest, Role, ToolCall};
use crate::model::wire::blocks::{arguments_object, grouped, raw_for, results_first};
use crate::model::wire::{Encoded, Offer, Quirks, Target, Wire, text_at};

/// The request's body.
pub fn encode(target: &Target, request: &ModelRequest, offer: &Offer) -> Encoded {
    let quirks = target.quirks;
    let can_mark = quirks
        .cache_control_for
        .as_deref()
        .is_some_and(|prefix| target.model.starts_with(prefix));
    let mut messages: Vec<Value> = Vec::new();
    if !request.system.is_empty() {
        messages.push(if can_mark {
            json!({ "role": "system", "content": [{ "type": "text", "text": request.system, "cache_control": { "type": "ephemeral" } }] })
        } else {
            json!({ "role": "system", "content": request.system })
        });
    }
    for (role, blocks) in grouped(request) {
        match role {
            Role::User => push_user(&mut messages, blocks, quirks),
            Role::Assistant => messages.extend(assistant(&blocks, quirks)),
        }
    }
    if can_mark {
        mark_last_text(&mut messages);
    }
    let mut body = Map::new();
    if !quirks.model_in_path_only {
        body.insert("model".to_owned(), json!(target.model));
    }
    body.insert("messages".to_owned(), Value::Array(messages));
    body.insert("stream".to_owned(), json!(true));
    if !quirks.no_stream_options {
        body.insert(
            "stream_options".to_owned(),
            json!({ "include_usage": true }),
        );
    }
    if let Some(limit) = request.max_output_tokens {
        let field = if quirks.max_completion_tokens {
            "max_completion_tokens"
        } else {
            "max_tokens"
        };
        body.insert(field.to_owned(), json!(limit));
    }
    if !offer.tools.is_empty() {
        let tools: Vec<Value> = offer
            .tools
            .iter()
            .map(|tool| json!({ "type": "function", "function": { "name": tool.name, "description": tool.description, "parameters": tool.schema } }))
            .collect();
        body.insert("tools".to_owned(), Value::Array(tools));
    }
    if offer.is_history_only {
        body.insert("tool_choice".to_owned(), json!("none"));
    }
    Encoded {
        path: "/chat/completions".to_owned(),
        headers: Vec::new(),
        key_header: ("authorization".to_owned(), "Bearer "),
        body: Value::Object(body),
    }
}

fn push_user(messages: &mut Vec<Value>, mut blocks: Vec<&Block>, quirks: &Quirks) {
    results_first(&mut blocks);
    let mut parts: Vec<Value> = Vec::new();
    let mut has_image = false;
    for block in blocks {
        match block {
            Block::ToolResult { call, text, .. } => {
                messages.push(json!({ "role": "tool", "tool_call_id": tool_id(call.as_str(), quirks), "content": text }));
            }
            Block::Text { text, .. } => parts.push(json!({ "type": "text", "text": text })),
            Block::Image { media_type, base64 } => {
                has_image = true;
                parts.push(json!({ "type": "image_url", "image_url": { "url": format!("data:{media_type};base64,{base64}") } }));
            }
            Block::Thinking { .. } | Block::ToolCall(_) | Block::Opaque { .. } => {}
        }
    }
    if parts.is_empty() {
        return;
    }
    // Servers that know no images often know no parts either.
    let content = if has_image {
        Value::Array(parts)
    } else {
        let texts: Vec<&str> = parts
            .iter()
            .filter_map(|part| text_at(part, "text"))
            .collect();
        json!(texts.join("\n\n"))
    };
    messages.push(json!({ "role": "user", "content": content }));
}

fn assistant(blocks: &[&Block], quirks: &Quirks) -> Option<Value> {
    let mut texts: Vec<&str> = Vec::new();
    let mut thoughts: Vec<&str> = Vec::new();
    let mut details: Vec<Value> = Vec::new();
    let mut calls: Vec<Value> = Vec::new();
    for block in blocks {
        match block {
            Block::Text { text, .. } => texts.push(text),
            Block::Thinking { text, raw, .. } => {
                thoughts.push(text);
                let raw = raw_for(Wire::OpenAi, raw.as_deref());
                details.extend(
                    raw.and_then(|raw| {
                        raw.get("reasoning_details")
                            .and_then(Value::as_array)
                            .cloned()
                    })
                    .into_iter()
                    .flatten(),
                );
            }
            Block::ToolCall(call) => calls.push(encode_call(call, quirks)),
            Block::Image { .. } | Block::ToolResult { .. } | Block::Opaque { .. } => {}
        }
    }
    if texts.is_empty() && calls.is_empty() {
        return None;
    }
    let text = texts.join("\n");
    let mut message = Map::from_iter([
        ("role".to_owned(), json!("assistant")),
        (
            "content".to_owned(),
            if text.is_empty() {
                Value::Null
            } else {
                json!(text)
            },
        ),
    ]);
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    match quirks.reasoning_field.as_deref() {
        Some("reasoning_details") if !details.is_empty() => {
            message.insert("reasoning_details".to_owned(), Value::Array(details));
        }
        Some(field) if field != "reasoning_details" && !thoughts.is_empty() => {
            message.insert(field.to_owned(), json!(thoughts.join("\n")));
        }
        _ => {}
    }
    Some(Value::Object(message))
}

fn encode_call(call: &ToolCall, quirks: &Quirks) -> Value {
    if let Some(raw) = raw_for(Wire::OpenAi, call.raw.as_deref()) {
        return raw;
    }
    // Arguments that are no object make some servers refuse the whole history.
    let is_object = serde_json::from_str::<Map<String, Value>>(&call.arguments).is_ok();
    let arguments = if is_object {
        call.arguments.clone()
    } else {
        arguments_object(&call.arguments).to_string()
    };
    json!({ "id": tool_id(call.id.as_str(), quirks), "type": "function", "function": { "name": call.name, "arguments": arguments } })
}

fn tool_id(id: &str, quirks: &Quirks) -> String {
    let is_short = id.len() == 9 && id.chars().all(|letter| letter.is_ascii_alphanumeric());
    if !quirks.short_tool_ids || is_short {
        return id.to_owned();
    }
    let digest = Sha256::digest(id.as_bytes());
    digest
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .take(9)
        .filter_map(|digit| char::from_digit(u32::from(digit), 16))
        .collect()
}

fn mark_last_text(messages: &mut [Value]) {
    let last = messages
        .iter_mut()
        .rev()
        .find(|message| text_at(message, "role") == Some("user"));
    let Some(content) = last.and_then(|message| message.get_mut("content")) else {
        return;
    };
    if let Value::String(text) = content {
        *content = json!([{ "type": "text", "text": text }]);
    }
    if let Some(Value::Object(part)) = content.as_array_mut().and_then(|parts| parts.last_mut()) {
        part.insert("cache_control".to_owned(), json!({ "type": "ephemeral" }));
    }
}
