//! Gemini `streamGenerateContent`.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::kernel::conversation::{Block, ModelRequest, Role, StopReason, ToolCall};
use crate::kernel::ids::ToolCallId;
use crate::model::Progress;
use crate::model::turn::Draft;

use super::blocks::{arguments_object, grouped, raw_for, results_first};
use super::{Encoded, Fault, Offer, Step, Target, Wire, count_at, text_at};

/// What Google documents for calls that another model made, which have no signature of this one.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// The request's body.
pub fn encode(target: &Target, request: &ModelRequest, offer: &Offer) -> Encoded {
    // Results name their function; the history knows which call was which.
    let names: HashMap<&str, &str> = request
        .messages
        .iter()
        .flat_map(|message| &message.blocks)
        .filter_map(|block| match block {
            Block::ToolCall(call) => Some((call.id.as_str(), call.name.as_str())),
            _ => None,
        })
        .collect();
    let wants_signatures = target.model.contains("gemini-3");
    let mut contents: Vec<Value> = Vec::new();
    for (role, mut blocks) in grouped(request) {
        if role == Role::User {
            results_first(&mut blocks);
        }
        let mut is_first_call = true;
        let mut parts: Vec<Value> = Vec::new();
        for block in blocks {
            let Some(mut part) = encode_part(block, &names) else {
                continue;
            };
            if let (true, true, Some(fields)) =
                (wants_signatures, is_first_call, part.as_object_mut())
                && fields.contains_key("functionCall")
            {
                is_first_call = false;
                fields
                    .entry("thoughtSignature")
                    .or_insert_with(|| json!(NO_SIGNATURE));
            }
            parts.push(part);
        }
        if !parts.is_empty() {
            let role = match role {
                Role::User => "user",
                Role::Assistant => "model",
            };
            contents.push(json!({ "role": role, "parts": parts }));
        }
    }
    let mut body = Map::from_iter([("contents".to_owned(), Value::Array(contents))]);
    if !request.system.is_empty() {
        body.insert(
            "systemInstruction".to_owned(),
            json!({ "parts": [{ "text": request.system }] }),
        );
    }
    if !offer.tools.is_empty() {
        let declarations: Vec<Value> = offer
            .tools
            .iter()
            .map(|tool| json!({ "name": tool.name, "description": tool.description, "parametersJsonSchema": tool.schema }))
            .collect();
        body.insert(
            "tools".to_owned(),
            json!([{ "functionDeclarations": declarations }]),
        );
    }
    if offer.is_history_only {
        body.insert(
            "toolConfig".to_owned(),
            json!({ "functionCallingConfig": { "mode": "NONE" } }),
        );
    }
    if let Some(limit) = request.max_output_tokens {
        body.insert(
            "generationConfig".to_owned(),
            json!({ "maxOutputTokens": limit }),
        );
    }
    Encoded {
        path: format!("/models/{}:streamGenerateContent?alt=sse", target.model),
        headers: Vec::new(),
        key_header: ("x-goog-api-key".to_owned(), ""),
        body: Value::Object(body),
    }
}

fn encode_part(block: &Block, names: &HashMap<&str, &str>) -> Option<Value> {
    match block {
        Block::Text { text, raw } => raw_for(Wire::Gemini, raw.as_deref())
            .or_else(|| (!text.is_empty()).then(|| json!({ "text": text }))),
        Block::Image { media_type, base64 } => Some(json!({ "inlineData": { "mimeType": media_type, "data": base64 } })),
        Block::Thinking { raw, .. } => raw_for(Wire::Gemini, raw.as_deref()),
        Block::ToolCall(call) => raw_for(Wire::Gemini, call.raw.as_deref())
            .or_else(|| Some(json!({ "functionCall": { "name": call.name, "args": arguments_object(&call.arguments) } }))),
        Block::ToolResult { call, text, is_error } => {
            let name = names.get(call.as_str()).copied().unwrap_or_else(|| call.as_str());
            let key = if *is_error { "error" } else { "output" };
            Some(json!({ "functionResponse": { "name": name, "response": { key: text } } }))
        }
        Block::Opaque { raw } => raw_for(Wire::Gemini, Some(raw)),
    }
}

/// Decodes chunks until the stream ends; the wire has no end mark of its own.
#[derive(Debug, Clone)]
pub struct Decoder {
    pub(super) draft: Draft,
}

impl Decoder {
    pub fn new(model: &str) -> Self {
        Self {
            draft: Draft::new(model.to_owned()),
        }
    }

    pub(super) fn event(
        &mut self,
        chunk: &Value,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Step, Fault> {
        if let Some(model) = text_at(chunk, "modelVersion") {
            model.clone_into(&mut self.draft.model);
        }
        if let Some(id) = text_at(chunk, "responseId") {
            self.draft.request_id = Some(id.to_owned());
        }
        let mut step = Step::Alive;
        if let Some(usage) = chunk.get("usageMetadata") {
            self.read_usage(usage);
            step = Step::Progress;
        }
        if let Some(feedback) = chunk
            .get("promptFeedback")
            .filter(|feedback| text_at(feedback, "blockReason").is_some())
        {
            self.draft.stop = Some(StopReason::ContentFilter);
            self.draft.stop_raw = json!({ "promptFeedback": feedback }).to_string();
            return Ok(Step::Progress);
        }
        let Some(candidate) = chunk
            .get("candidates")
            .and_then(Value::as_array)
            .and_then(|candidates| candidates.first())
        else {
            return Ok(step);
        };
        let parts = candidate
            .pointer("/content/parts")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        for part in parts {
            self.part(part, progress);
        }
        if let Some(reason) = text_at(candidate, "finishReason").filter(|reason| !reason.is_empty())
        {
            self.draft.stop = Some(stop_reason(reason));
            let mut end = json!({ "finishReason": reason });
            if let (Some(message), Some(fields)) =
                (candidate.get("finishMessage"), end.as_object_mut())
            {
                fields.insert("finishMessage".to_owned(), message.clone());
            }
            self.draft.stop_raw = json!({ "candidates": [end] }).to_string();
        }
        Ok(Step::Progress)
    }

    fn part(&mut self, part: &Value, progress: &mut dyn FnMut(Progress)) {
        let has_signature = part.get("thoughtSignature").is_some();
        let raw = has_signature.then(|| part.to_string());
        if let Some(call) = part.get("functionCall") {
            let name = text_at(call, "name").unwrap_or_default();
            progress(Progress::ToolCall {
                name: name.to_owned(),
            });
            let arguments = call
                .get("args")
                .filter(|args| args.is_object())
                .map_or_else(|| "{}".to_owned(), Value::to_string);
            progress(Progress::Bytes(arguments.len()));
            self.draft.blocks.push(Block::ToolCall(ToolCall {
                id: ToolCallId::new(text_at(call, "id").unwrap_or_default()),
                name: name.to_owned(),
                arguments,
                raw,
            }));
            return;
        }
        let Some(text) = text_at(part, "text") else {
            self.draft.blocks.push(Block::Opaque {
                raw: part.to_string(),
            });
            return;
        };
        if part.get("thought").and_then(Value::as_bool) == Some(true) {
            progress(Progress::Thinking(text.to_owned()));
            match self.draft.blocks.last_mut() {
                Some(Block::Thinking {
                    text: so_far,
                    raw: None,
                    ..
                }) if !has_signature => so_far.push_str(text),
                _ => self.draft.blocks.push(Block::Thinking {
                    text: text.to_owned(),
                    signature: None,
                    raw,
                }),
            }
            return;
        }
        if !text.is_empty() {
            progress(Progress::Text(text.to_owned()));
        }
        match self.draft.blocks.last_mut() {
            // A part that carries a signature must go back as it came, so nothing is joined to it.
            Some(Block::Text {
                text: so_far,
                raw: None,
            }) if !has_signature => so_far.push_str(text),
            _ => self.draft.blocks.push(Block::Text {
                text: text.to_owned(),
                raw,
            }),
        }
    }

    fn read_usage(&mut self, usage: &Value) {
        let ours = &mut self.draft.usage;
        let prompt = count_at(usage, "/promptTokenCount")
            .map(|prompt| prompt + count_at(usage, "/toolUsePromptTokenCount").unwrap_or(0));
        ours.input = prompt.unwrap_or(ours.input);
        ours.cache_read = count_at(usage, "/cachedContentTokenCount").unwrap_or(ours.cache_read);
        ours.reasoning = count_at(usage, "/thoughtsTokenCount").unwrap_or(ours.reasoning);
        if let Some(answer) = count_at(usage, "/candidatesTokenCount") {
            ours.output = answer + ours.reasoning;
        }
    }

    pub(super) fn into_draft(self) -> Draft {
        self.draft
    }
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "STOP" | "FINISH_REASON_UNSPECIFIED" => StopReason::EndTurn,
        "MAX_TOKENS" => StopReason::MaxTokens,
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION"
        | "LANGUAGE"
        | "MODEL_ARMOR" => StopReason::ContentFilter,
        other => StopReason::Other(other.to_owned()),
    }
}
