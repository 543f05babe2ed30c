//! Encodes requests.

use serde_json::{Value, json};

use crate::kernel::conversation::{Block, ModelRequest, Role};
use crate::model::wire::blocks::{arguments_object, grouped, raw_for, results_first};
use crate::model::wire::{Encoded, Offer, Target, Wire};

const VERSION: &str = "2023-06-01";

/// The request's body. The stable parts come first and end in a cache mark each: tools, system, the last two turns of
/// the user, so that the next request finds this one's prefix.
pub fn encode(target: &Target, request: &ModelRequest, offer: &Offer) -> Encoded {
    let mut messages: Vec<Value> = Vec::new();
    for (role, mut blocks) in grouped(request) {
        if role == Role::User {
            results_first(&mut blocks);
        }
        let content: Vec<Value> = blocks.into_iter().filter_map(encode_block).collect();
        if !content.is_empty() {
            messages.push(json!({ "role": role_word(role), "content": content }));
        }
    }
    trim_open_end(&mut messages);
    let mut marks = 0;
    for message in messages.iter_mut().rev() {
        if marks < 2 && message.get("role") == Some(&json!("user")) && mark_last_block(message) {
            marks += 1;
        }
    }
    let mut body = json!({
        "model": target.model,
        "max_tokens": request.max_output_tokens.unwrap_or(target.default_output),
        "stream": true,
        "messages": messages,
    });
    if let Value::Object(fields) = &mut body {
        if !request.system.is_empty() {
            let system = json!([{ "type": "text", "text": request.system, "cache_control": { "type": "ephemeral" } }]);
            fields.insert("system".to_owned(), system);
        }
        if !offer.tools.is_empty() {
            let mut tools: Vec<Value> = offer
                .tools
                .iter()
                .map(|tool| json!({ "name": tool.name, "description": tool.description, "input_schema": tool.schema }))
                .collect();
            if let Some(last) = tools.last_mut() {
                mark(last);
            }
            fields.insert("tools".to_owned(), Value::Array(tools));
        }
        if offer.is_history_only {
            fields.insert("tool_choice".to_owned(), json!({ "type": "none" }));
        }
    }
    Encoded {
        path: "/v1/messages".to_owned(),
        headers: vec![("anthropic-version", VERSION.to_owned())],
        key_header: ("x-api-key".to_owned(), ""),
        body,
    }
}

fn role_word(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}

fn encode_block(block: &Block) -> Option<Value> {
    match block {
        Block::Text { text, raw } => raw_for(Wire::Anthropic, raw.as_deref())
            .or_else(|| (!text.trim().is_empty()).then(|| json!({ "type": "text", "text": text }))),
        Block::Image { media_type, base64 } => {
            Some(json!({ "type": "image", "source": { "type": "base64", "media_type": media_type, "data": base64 } }))
        }
        // Thinking that another model did has no signature of this one, and would be refused.
        Block::Thinking { text, signature, raw } => raw_for(Wire::Anthropic, raw.as_deref()).or_else(|| {
            let signature = signature.as_ref()?;
            Some(json!({ "type": "thinking", "thinking": text, "signature": signature }))
        }),
        Block::ToolCall(call) => raw_for(Wire::Anthropic, call.raw.as_deref()).or_else(|| {
            Some(json!({ "type": "tool_use", "id": call.id.0, "name": call.name, "input": arguments_object(&call.arguments) }))
        }),
        Block::ToolResult { call, text, is_error } => {
            let mut result = json!({ "type": "tool_result", "tool_use_id": call.0 });
            if let Value::Object(fields) = &mut result {
                if !text.is_empty() {
                    fields.insert("content".to_owned(), json!([{ "type": "text", "text": text }]));
                }
                if *is_error {
                    fields.insert("is_error".to_owned(), json!(true));
                }
            }
            Some(result)
        }
        Block::Opaque { raw } => raw_for(Wire::Anthropic, Some(raw)),
    }
}

/// A final turn of the model is continued by the provider, which refuses one that ends in a space.
fn trim_open_end(messages: &mut [Value]) {
    let Some(last) = messages
        .last_mut()
        .filter(|message| message.get("role") == Some(&json!("assistant")))
    else {
        return;
    };
    let text = last
        .pointer_mut("/content")
        .and_then(Value::as_array_mut)
        .and_then(|blocks| blocks.last_mut())
        .and_then(|block| block.get_mut("text"));
    if let Some(Value::String(text)) = text {
        text.truncate(text.trim_end().len());
    }
}

fn mark_last_block(message: &mut Value) -> bool {
    let last = message
        .get_mut("content")
        .and_then(Value::as_array_mut)
        .and_then(|blocks| blocks.last_mut());
    last.is_some_and(mark)
}

fn mark(block: &mut Value) -> bool {
    let Value::Object(fields) = block else {
        return false;
    };
    fields.insert("cache_control".to_owned(), json!({ "type": "ephemeral" }));
    true
}
