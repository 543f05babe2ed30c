//! What all encoders share: turns of one role in a row become one, and raw blocks go only to the wire they came from.

use serde_json::{Map, Value, json};

use crate::kernel::conversation::{Block, Message, ModelRequest, Role};

use super::Wire;

/// Messages with neighbours of one role joined, empty texts left out, and the space trimmed off an answer that is to be
/// continued.
pub fn grouped(request: &ModelRequest) -> Vec<(Role, Vec<&Block>)> {
    let mut groups: Vec<(Role, Vec<&Block>)> = Vec::new();
    for Message { role, blocks } in &request.messages {
        let blocks = blocks.iter().filter(
            |block| !matches!(block, Block::Text { text, raw: None } if text.trim().is_empty()),
        );
        match groups.last_mut() {
            Some((last, group)) if last == role => group.extend(blocks),
            _ => groups.push((*role, blocks.collect())),
        }
    }
    groups.retain(|(_, blocks)| !blocks.is_empty());
    groups
}

/// Tool results before anything else, as two of the wires want them.
pub fn results_first(blocks: &mut [&Block]) {
    blocks.sort_by_key(|block| !matches!(block, Block::ToolResult { .. }));
}

/// The block as this wire sent it; `None` when it is another wire's, or was made here.
pub fn raw_for(wire: Wire, raw: Option<&str>) -> Option<Value> {
    let value: Value = serde_json::from_str(raw?).ok()?;
    let kind = value.get("type").and_then(Value::as_str);
    let is_ours = match wire {
        Wire::Anthropic => {
            kind.is_some_and(|kind| kind != "function" && !kind.starts_with("reasoning."))
        }
        Wire::OpenAi => kind == Some("function") || value.get("reasoning_details").is_some(),
        Wire::Gemini => kind.is_none() && value.get("reasoning_details").is_none(),
    };
    (is_ours && value.is_object()).then_some(value)
}

/// Arguments as an object. A broken call of the history must not make the whole request invalid.
pub fn arguments_object(arguments: &str) -> Value {
    match serde_json::from_str::<Map<String, Value>>(arguments) {
        Ok(fields) => Value::Object(fields),
        Err(_) if arguments.trim().is_empty() => json!({}),
        Err(_) => json!({ "unreadable_arguments": arguments }),
    }
}
