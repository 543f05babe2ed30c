//! Decodes streams.

use serde_json::{Map, Value, json};

use crate::kernel::conversation::{Block, StopReason, ToolCall};
use crate::kernel::ids::ToolCallId;
use crate::model::Progress;
use crate::model::turn::Draft;
use crate::model::wire::{ByIndex, Fault, Step, add_arguments, count_at, text_at};

/// A block while it arrives.
#[derive(Debug, Clone)]
struct Open {
    /// As `content_block_start` gave it; deltas are merged in at the end.
    start: Map<String, Value>,
    kind: String,
    text: String,
    signature: String,
    arguments: String,
    citations: Vec<Value>,
}

/// Decodes `message_start` … `message_stop`.
#[derive(Debug, Clone)]
pub struct Decoder {
    pub(in crate::model::wire) draft: Draft,
    blocks: Vec<Open>,
    by_index: ByIndex,
}

impl Decoder {
    pub fn new(model: &str) -> Self {
        Self {
            draft: Draft::new(model.to_owned()),
            blocks: Vec::new(),
            by_index: ByIndex::new(),
        }
    }

    pub(in crate::model::wire) fn event(
        &mut self,
        event: &Value,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Step, Fault> {
        match text_at(event, "type").unwrap_or_default() {
            "message_start" => {
                let message = event.get("message").unwrap_or(&Value::Null);
                if let Some(model) = text_at(message, "model") {
                    model.clone_into(&mut self.draft.model);
                }
                self.read_usage(message.get("usage"));
                Ok(Step::Progress)
            }
            "content_block_start" => {
                let block = event
                    .get("content_block")
                    .and_then(Value::as_object)
                    .cloned()
                    .unwrap_or_default();
                self.start(index_of(event), block, progress);
                Ok(Step::Progress)
            }
            "content_block_delta" => self.delta(event, progress),
            "content_block_stop" => {
                self.by_index.remove(&index_of(event));
                Ok(Step::Progress)
            }
            "message_delta" => {
                self.read_usage(event.get("usage"));
                let delta = event.get("delta").unwrap_or(&Value::Null);
                if let Some(reason) = text_at(delta, "stop_reason") {
                    self.draft.stop = Some(stop_reason(reason));
                    self.draft.stop_raw = delta.to_string();
                }
                Ok(Step::Progress)
            }
            "message_stop" => {
                self.draft.stop.get_or_insert(StopReason::EndTurn);
                Ok(Step::Done)
            }
            // `ping`, and kinds that are newer than this program.
            _ => Ok(Step::Alive),
        }
    }

    /// A message that was not streamed.
    pub(in crate::model::wire) fn whole(
        &mut self,
        message: &Value,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), Fault> {
        if let Some(model) = text_at(message, "model") {
            model.clone_into(&mut self.draft.model);
        }
        self.read_usage(message.get("usage"));
        let blocks = message
            .get("content")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        for (index, block) in (0u64..).zip(blocks) {
            let fields = block.as_object().cloned().unwrap_or_default();
            self.start(index, fields, progress);
        }
        self.by_index.clear();
        if let Some(reason) = text_at(message, "stop_reason") {
            self.draft.stop = Some(stop_reason(reason));
            self.draft.stop_raw = json!({ "stop_reason": reason }).to_string();
        }
        Ok(())
    }

    fn start(&mut self, index: u64, start: Map<String, Value>, progress: &mut dyn FnMut(Progress)) {
        let field = |name: &str| {
            start
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let kind = field("type");
        let open = Open {
            text: if kind == "thinking" {
                field("thinking")
            } else {
                field("text")
            },
            signature: field("signature"),
            arguments: String::new(),
            citations: Vec::new(),
            kind,
            start,
        };
        match open.kind.as_str() {
            "tool_use" => progress(Progress::ToolCall {
                name: open
                    .start
                    .get("name")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned(),
            }),
            "text" if !open.text.is_empty() => progress(Progress::Text(open.text.clone())),
            "thinking" if !open.text.is_empty() => progress(Progress::Thinking(open.text.clone())),
            _ => {}
        }
        self.by_index.insert(index, self.blocks.len());
        self.blocks.push(open);
    }

    fn delta(&mut self, event: &Value, progress: &mut dyn FnMut(Progress)) -> Result<Step, Fault> {
        let delta = event.get("delta").unwrap_or(&Value::Null);
        let kind = text_at(delta, "type").unwrap_or_default();
        let index = index_of(event);
        if !self.by_index.contains_key(&index) {
            // A delta without its start: text is still text, anything else has no name to go by.
            let started_as = match kind {
                "text_delta" => "text",
                "thinking_delta" => "thinking",
                _ => return Ok(Step::Alive),
            };
            let start = Map::from_iter([("type".to_owned(), json!(started_as))]);
            self.start(index, start, progress);
        }
        let Some(open) = self
            .by_index
            .get(&index)
            .and_then(|at| self.blocks.get_mut(*at))
        else {
            return Ok(Step::Alive);
        };
        match kind {
            "text_delta" => {
                let text = text_at(delta, "text").unwrap_or_default();
                open.text.push_str(text);
                progress(Progress::Text(text.to_owned()));
            }
            "thinking_delta" => {
                let text = text_at(delta, "thinking").unwrap_or_default();
                open.text.push_str(text);
                progress(Progress::Thinking(text.to_owned()));
            }
            "signature_delta" => open
                .signature
                .push_str(text_at(delta, "signature").unwrap_or_default()),
            "input_json_delta" => {
                let piece = text_at(delta, "partial_json").unwrap_or_default();
                add_arguments(&mut open.arguments, piece)?;
                progress(Progress::Bytes(piece.len()));
            }
            "citations_delta" => open.citations.extend(delta.get("citation").cloned()),
            _ => return Ok(Step::Alive),
        }
        Ok(Step::Progress)
    }

    fn read_usage(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage else {
            return;
        };
        let ours = &mut self.draft.usage;
        let cached = (
            count_at(usage, "/cache_read_input_tokens"),
            count_at(usage, "/cache_creation_input_tokens"),
        );
        ours.cache_read = cached.0.unwrap_or(ours.cache_read);
        ours.cache_write = cached.1.unwrap_or(ours.cache_write);
        // The wire counts cached tokens apart.
        if let Some(input) =
            count_at(usage, "/input_tokens").filter(|input| *input > 0 || ours.input == 0)
        {
            ours.input = input + ours.cache_read + ours.cache_write;
        }
        ours.output = count_at(usage, "/output_tokens").unwrap_or(ours.output);
    }

    pub(in crate::model::wire) fn into_draft(mut self) -> Draft {
        self.draft.blocks = self.blocks.into_iter().map(Open::into_block).collect();
        self.draft
    }
}

impl Open {
    fn into_block(mut self) -> Block {
        match self.kind.as_str() {
            "text" => {
                let has_more = !self.citations.is_empty()
                    || self
                        .start
                        .keys()
                        .any(|key| key != "type" && key != "text" && key != "citations");
                let raw = has_more.then(|| {
                    self.start.insert("text".to_owned(), json!(self.text));
                    if !self.citations.is_empty() {
                        self.start
                            .insert("citations".to_owned(), json!(self.citations));
                    }
                    Value::Object(self.start).to_string()
                });
                Block::Text {
                    text: self.text,
                    raw,
                }
            }
            "thinking" => {
                self.start.insert("thinking".to_owned(), json!(self.text));
                self.start
                    .insert("signature".to_owned(), json!(self.signature));
                Block::Thinking {
                    text: self.text,
                    signature: (!self.signature.is_empty()).then_some(self.signature),
                    raw: Some(Value::Object(self.start).to_string()),
                }
            }
            "tool_use" => {
                let field = |name: &str| {
                    self.start
                        .get(name)
                        .and_then(Value::as_str)
                        .unwrap_or_default()
                        .to_owned()
                };
                let (id, name) = (field("id"), field("name"));
                if self.arguments.is_empty() {
                    // Some servers give the whole input at once.
                    let whole = self
                        .start
                        .get("input")
                        .filter(|input| input.as_object().is_some_and(|fields| !fields.is_empty()));
                    self.arguments = whole.map(Value::to_string).unwrap_or_default();
                }
                let has_more = self
                    .start
                    .keys()
                    .any(|key| !matches!(key.as_str(), "type" | "id" | "name" | "input"));
                let input = serde_json::from_str::<Map<String, Value>>(&self.arguments).ok();
                let raw = match input {
                    Some(input) if has_more => {
                        self.start.insert("input".to_owned(), Value::Object(input));
                        Some(Value::Object(self.start).to_string())
                    }
                    _ => None,
                };
                Block::ToolCall(ToolCall {
                    id: ToolCallId(id),
                    name,
                    arguments: self.arguments,
                    raw,
                })
            }
            _ => {
                if let Ok(input) = serde_json::from_str::<Value>(&self.arguments) {
                    self.start.insert("input".to_owned(), input);
                }
                Block::Opaque {
                    raw: Value::Object(self.start).to_string(),
                }
            }
        }
    }
}

fn index_of(event: &Value) -> u64 {
    count_at(event, "/index").unwrap_or(0)
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "end_turn" | "stop_sequence" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "model_context_window_exceeded" => StopReason::ContextFull,
        "refusal" => StopReason::ContentFilter,
        "pause_turn" => StopReason::Pause,
        other => StopReason::Other(other.to_owned()),
    }
}
