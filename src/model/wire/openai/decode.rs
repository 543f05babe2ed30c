//! Decodes streams.

use serde_json::{Map, Value, json};

use crate::kernel::conversation::{Block, StopReason, ToolCall};
use crate::kernel::ids::ToolCallId;
use crate::model::Progress;
use crate::model::turn::Draft;
use crate::model::wire::{Fault, Step, add_arguments, count_at, text_at};

/// A tool call while it arrives.
#[derive(Debug, Clone)]
struct OpenCall {
    index: Option<u64>,
    call: ToolCall,
    /// Fields beside id, type and function, such as a signature, which go back as they came.
    extra: Map<String, Value>,
}

#[derive(Debug, Clone)]
enum Open {
    Text(String),
    Thinking { text: String, details: Vec<Value> },
    Call(OpenCall),
}

/// Decodes chunks until `[DONE]`, or until the stream ends after a finish reason.
#[derive(Debug, Clone)]
pub struct Decoder {
    pub(in crate::model::wire) draft: Draft,
    blocks: Vec<Open>,
    is_refused: bool,
}

impl Decoder {
    pub fn new(model: &str) -> Self {
        Self {
            draft: Draft::new(model.to_owned()),
            blocks: Vec::new(),
            is_refused: false,
        }
    }

    pub(in crate::model::wire) fn event(
        &mut self,
        chunk: &Value,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Step, Fault> {
        if let Some(model) = text_at(chunk, "model").filter(|model| !model.is_empty()) {
            model.clone_into(&mut self.draft.model);
        }
        let usage = chunk
            .get("usage")
            .filter(|usage| usage.is_object())
            .or_else(|| chunk.pointer("/x_groq/usage"));
        let mut step = Step::Alive;
        if let Some(usage) = usage {
            self.read_usage(usage);
            step = Step::Progress;
        }
        let choices = chunk
            .get("choices")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        // One answer was asked for; further choices belong to nobody.
        let Some(choice) = choices
            .iter()
            .find(|choice| count_at(choice, "/index").unwrap_or(0) == 0)
        else {
            return Ok(step);
        };
        let delta = choice
            .get("delta")
            .filter(|delta| delta.is_object())
            .or_else(|| choice.get("message"));
        if let Some(delta) = delta {
            self.delta(delta, progress)?;
        }
        if let Some(reason) = text_at(choice, "finish_reason").filter(|reason| !reason.is_empty()) {
            if reason == "error" {
                return Err(Fault::Reported(chunk.to_string()));
            }
            self.draft.stop = Some(stop_reason(reason));
            self.draft.stop_raw = json!({ "choices": [{ "finish_reason": reason }] }).to_string();
        }
        Ok(Step::Progress)
    }

    fn delta(&mut self, delta: &Value, progress: &mut dyn FnMut(Progress)) -> Result<(), Fault> {
        let details = delta.get("reasoning_details").and_then(Value::as_array);
        let thought = text_at(delta, "reasoning_content").or_else(|| text_at(delta, "reasoning"));
        if thought.is_some_and(|text| !text.is_empty())
            || details.is_some_and(|details| !details.is_empty())
        {
            self.think(
                thought.unwrap_or_default(),
                details.map_or(&[][..], Vec::as_slice),
                progress,
            );
        }
        match delta.get("content") {
            Some(Value::String(text)) => self.say(text, progress),
            // Mistral: a list of chunks, thinking and text.
            Some(Value::Array(parts)) => {
                for part in parts {
                    self.part(part, progress);
                }
            }
            _ => {}
        }
        if let Some(text) = text_at(delta, "refusal").filter(|text| !text.is_empty()) {
            self.is_refused = true;
            self.say(text, progress);
        }
        let calls = delta
            .get("tool_calls")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        for call in calls {
            self.call(call, progress)?;
        }
        Ok(())
    }

    fn part(&mut self, part: &Value, progress: &mut dyn FnMut(Progress)) {
        match text_at(part, "type").unwrap_or_default() {
            "text" => self.say(text_at(part, "text").unwrap_or_default(), progress),
            "thinking" => match part.get("thinking") {
                Some(Value::String(text)) => self.think(text, &[], progress),
                Some(Value::Array(inner)) => {
                    for text in inner.iter().filter_map(|part| text_at(part, "text")) {
                        self.think(text, &[], progress);
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn say(&mut self, text: &str, progress: &mut dyn FnMut(Progress)) {
        if text.is_empty() {
            return;
        }
        match self.blocks.last_mut() {
            Some(Open::Text(so_far)) => so_far.push_str(text),
            _ => self.blocks.push(Open::Text(text.to_owned())),
        }
        progress(Progress::Text(text.to_owned()));
    }

    fn think(&mut self, text: &str, details: &[Value], progress: &mut dyn FnMut(Progress)) {
        if !matches!(self.blocks.last(), Some(Open::Thinking { .. })) {
            self.blocks.push(Open::Thinking {
                text: String::new(),
                details: Vec::new(),
            });
        }
        if let Some(Open::Thinking {
            text: so_far,
            details: kept,
        }) = self.blocks.last_mut()
        {
            so_far.push_str(text);
            for detail in details {
                merge_detail(kept, detail);
            }
        }
        if !text.is_empty() {
            progress(Progress::Thinking(text.to_owned()));
        }
    }

    fn call(&mut self, piece: &Value, progress: &mut dyn FnMut(Progress)) -> Result<(), Fault> {
        let index = count_at(piece, "/index");
        let id = text_at(piece, "id").unwrap_or_default();
        let function = piece.get("function").unwrap_or(&Value::Null);
        let name = text_at(function, "name").unwrap_or_default();
        let found = self
            .blocks
            .iter()
            .rposition(|block| matches!(block, Open::Call(open) if open.index == index));
        // A server that numbers every call 0 still gives each its own id.
        let goes_on = found.filter(|at| match self.blocks.get(*at) {
            Some(Open::Call(open)) => {
                let is_same_id = id.is_empty()
                    || open.call.id.as_str().is_empty()
                    || open.call.id.as_str() == id;
                let begins_anew = index.is_none() && !name.is_empty() && !open.call.name.is_empty();
                is_same_id && !begins_anew
            }
            _ => false,
        });
        let at = match goes_on {
            Some(at) => at,
            None => {
                self.blocks.push(Open::Call(OpenCall {
                    index,
                    call: ToolCall {
                        id: ToolCallId::new(""),
                        name: String::new(),
                        arguments: String::new(),
                        raw: None,
                    },
                    extra: Map::new(),
                }));
                self.blocks.len() - 1
            }
        };
        let Some(Open::Call(open)) = self.blocks.get_mut(at) else {
            return Ok(());
        };
        if open.call.id.as_str().is_empty() {
            id.clone_into(&mut open.call.id.0);
        }
        if open.call.name.is_empty() && !name.is_empty() {
            name.clone_into(&mut open.call.name);
            progress(Progress::ToolCall {
                name: name.to_owned(),
            });
        }
        if let Some(fields) = piece.as_object() {
            let more = fields.iter().filter(|(key, value)| {
                !matches!(key.as_str(), "index" | "id" | "type" | "function") && !value.is_null()
            });
            open.extra
                .extend(more.map(|(key, value)| (key.clone(), value.clone())));
        }
        match function.get("arguments") {
            Some(Value::String(text)) => {
                add_arguments(&mut open.call.arguments, text)?;
                progress(Progress::Bytes(text.len()));
            }
            Some(whole @ Value::Object(_)) => {
                add_arguments(&mut open.call.arguments, &whole.to_string())?;
            }
            _ => {}
        }
        Ok(())
    }

    fn read_usage(&mut self, usage: &Value) {
        let ours = &mut self.draft.usage;
        let first = |paths: &[&str]| paths.iter().find_map(|path| count_at(usage, path));
        ours.input = first(&["/prompt_tokens", "/input_tokens"]).unwrap_or(ours.input);
        ours.output = first(&["/completion_tokens", "/output_tokens"]).unwrap_or(ours.output);
        ours.cache_read = first(&[
            "/prompt_tokens_details/cached_tokens",
            "/prompt_cache_hit_tokens",
            "/cached_tokens",
        ])
        .unwrap_or(ours.cache_read);
        ours.cache_write = first(&[
            "/prompt_tokens_details/cache_write_tokens",
            "/cache_creation_input_tokens",
        ])
        .unwrap_or(ours.cache_write);
        ours.reasoning = first(&[
            "/completion_tokens_details/reasoning_tokens",
            "/reasoning_tokens",
        ])
        .unwrap_or(ours.reasoning);
    }

    pub(in crate::model::wire) fn into_draft(mut self) -> Draft {
        if self.is_refused && self.draft.stop == Some(StopReason::EndTurn) {
            self.draft.stop = Some(StopReason::ContentFilter);
        }
        self.draft.blocks = self.blocks.into_iter().map(Open::into_block).collect();
        self.draft
    }
}

impl Open {
    fn into_block(self) -> Block {
        match self {
            Self::Text(text) => Block::Text { text, raw: None },
            Self::Thinking { text, details } => Block::Thinking {
                text,
                signature: None,
                raw: (!details.is_empty())
                    .then(|| json!({ "reasoning_details": details }).to_string()),
            },
            Self::Call(OpenCall {
                mut call,
                mut extra,
                ..
            }) => {
                if !extra.is_empty() && !call.id.as_str().is_empty() {
                    extra.insert("id".to_owned(), json!(call.id.0));
                    extra.insert("type".to_owned(), json!("function"));
                    extra.insert(
                        "function".to_owned(),
                        json!({ "name": call.name, "arguments": call.arguments }),
                    );
                    call.raw = Some(Value::Object(extra).to_string());
                }
                Block::ToolCall(call)
            }
        }
    }
}

/// Pieces of one reasoning detail share their index; their texts are joined, their other fields replaced.
fn merge_detail(kept: &mut Vec<Value>, piece: &Value) {
    let is_same = |other: &&mut Value| {
        other.get("index") == piece.get("index")
            && other.get("type") == piece.get("type")
            && piece.get("index").is_some()
    };
    let Some(Value::Object(whole)) = kept.iter_mut().find(is_same) else {
        kept.push(piece.clone());
        return;
    };
    for (key, value) in piece.as_object().into_iter().flatten() {
        match (key.as_str(), whole.get_mut(key), value) {
            ("text" | "summary" | "data", Some(Value::String(so_far)), Value::String(more)) => {
                so_far.push_str(more);
            }
            (_, _, Value::Null) => {}
            _ => {
                whole.insert(key.clone(), value.clone());
            }
        }
    }
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "stop" | "end_turn" | "eos" | "stop_sequence" => StopReason::EndTurn,
        "tool_calls" | "function_call" | "tool_use" => StopReason::ToolUse,
        "length" | "max_tokens" => StopReason::MaxTokens,
        "model_length" => StopReason::ContextFull,
        "content_filter" | "sensitive" | "refusal" => StopReason::ContentFilter,
        other => StopReason::Other(other.to_owned()),
    }
}
