//! Encodes a planned turn the way a provider would send it, so that one script drives the in-process model and a server.

use outrigger::kernel::conversation::StopReason;
use outrigger::model::script::{Emit, PlannedTurn};
use outrigger::model::wire::Wire;
use serde_json::{Value, json};

pub const WIRES: [Wire; 3] = [Wire::Anthropic, Wire::OpenAi, Wire::Gemini];

/// The whole stream, end mark included.
pub fn stream_of(wire: Wire, turn: &PlannedTurn) -> String {
    match wire {
        Wire::Anthropic => anthropic(turn),
        Wire::OpenAi => openai(turn),
        Wire::Gemini => gemini(turn),
    }
}

/// An error event in the middle of a stream.
pub fn error_event(wire: Wire, body: &Value) -> String {
    match wire {
        Wire::Anthropic => format!("event: error\ndata: {body}\n\n"),
        Wire::OpenAi | Wire::Gemini => format!("data: {body}\n\n"),
    }
}

/// The stream's first event, closed.
pub fn first_event(stream: &str) -> String {
    let end = stream
        .replace('\r', "")
        .find("\n\n")
        .expect("a stream has an event");
    stream.replace('\r', "")[..end].to_owned() + "\n\n"
}

/// A stream that says nothing and stops for that reason, in the provider's own word.
pub fn bare_stop(wire: Wire, word: Option<&str>) -> String {
    match wire {
        Wire::Anthropic => {
            let stop = word.map_or(Value::Null, |word| json!(word));
            event(
                "message_start",
                &json!({"message": {"model": "m", "usage": {"input_tokens": 3}}}),
            ) + &event("message_delta", &json!({"delta": {"stop_reason": stop}}))
                + &event("message_stop", &json!({}))
        }
        Wire::OpenAi => {
            let stop = word.unwrap_or("stop");
            format!(
                "data: {}\n\ndata: [DONE]\n\n",
                json!({"choices": [{"index": 0, "delta": {}, "finish_reason": stop}]})
            )
        }
        Wire::Gemini => {
            let stop = word.unwrap_or("STOP");
            format!(
                "data: {}\n\n",
                json!({"candidates": [{"content": {}, "finishReason": stop}]})
            )
        }
    }
}

fn event(name: &str, fields: &Value) -> String {
    let mut data = fields.clone();
    data["type"] = json!(name);
    format!("event: {name}\ndata: {data}\n\n")
}

/// Arguments in two pieces, cut inside a character if there is one to cut between.
fn halves(text: &str) -> [String; 2] {
    let letters: Vec<char> = text.chars().collect();
    let (first, second) = letters.split_at(letters.len() / 2);
    [first.iter().collect(), second.iter().collect()]
}

fn arguments(item: &Emit) -> Option<(&str, &str, String)> {
    match item {
        Emit::Tool { name, id, args } => Some((name, id, args.to_string())),
        Emit::RawTool { name, id, args } => Some((name, id, args.clone())),
        Emit::Text(_) | Emit::Thinking { .. } => None,
    }
}

fn anthropic(turn: &PlannedTurn) -> String {
    let usage = turn.usage;
    let fresh = usage.input - usage.cache_read - usage.cache_write;
    let mut stream = event(
        "message_start",
        &json!({"message": {"id": "msg_1", "model": turn.model, "usage": {"input_tokens": fresh, "cache_read_input_tokens": usage.cache_read,
            "cache_creation_input_tokens": usage.cache_write, "output_tokens": 1}}}),
    );
    stream.push_str(": keep-alive\n\n");
    stream.push_str(&event("ping", &json!({})));
    for (index, item) in turn.emit.iter().enumerate() {
        let delta = |delta: Value| {
            event(
                "content_block_delta",
                &json!({"index": index, "delta": delta}),
            )
        };
        let start = |block: Value| {
            event(
                "content_block_start",
                &json!({"index": index, "content_block": block}),
            )
        };
        match item {
            Emit::Text(text) => {
                stream.push_str(&start(json!({"type": "text", "text": ""})));
                for half in halves(text) {
                    stream.push_str(&delta(json!({"type": "text_delta", "text": half})));
                }
            }
            Emit::Thinking { text, signature } => {
                stream.push_str(&start(
                    json!({"type": "thinking", "thinking": "", "signature": ""}),
                ));
                stream.push_str(&delta(json!({"type": "thinking_delta", "thinking": text})));
                stream.push_str(&delta(json!({"type": "some_new_delta", "shine": 1})));
                if let Some(signature) = signature {
                    stream.push_str(&delta(
                        json!({"type": "signature_delta", "signature": signature}),
                    ));
                }
            }
            Emit::Tool { .. } | Emit::RawTool { .. } => {
                let (name, id, arguments) = arguments(item).unwrap();
                stream.push_str(&start(
                    json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
                ));
                for half in halves(&arguments) {
                    stream.push_str(&delta(
                        json!({"type": "input_json_delta", "partial_json": half}),
                    ));
                }
            }
        }
        stream.push_str(&event("content_block_stop", &json!({"index": index})));
    }
    let stop = match turn.stop {
        StopReason::ToolUse => "tool_use",
        StopReason::MaxTokens => "max_tokens",
        _ => "end_turn",
    };
    stream.push_str(&event(
        "message_delta",
        &json!({"delta": {"stop_reason": stop}, "usage": {"output_tokens": usage.output}}),
    ));
    stream.push_str(&event("message_stop", &json!({})));
    stream
}

fn openai(turn: &PlannedTurn) -> String {
    let mut stream = String::new();
    let mut chunk = |fields: Value| {
        let mut whole = json!({"id": "c", "object": "chat.completion.chunk", "model": turn.model, "error": null});
        whole
            .as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        stream.push_str(&format!("data: {whole}\r\n\r\n"));
    };
    let delta =
        |delta: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    chunk(delta(json!({"role": "assistant", "content": ""})));
    let mut calls = 0;
    for item in &turn.emit {
        match item {
            Emit::Text(text) => halves(text)
                .into_iter()
                .for_each(|half| chunk(delta(json!({"content": half})))),
            Emit::Thinking { text, .. } => chunk(delta(json!({"reasoning_content": text}))),
            Emit::Tool { .. } | Emit::RawTool { .. } => {
                let (name, id, arguments) = arguments(item).unwrap();
                chunk(delta(
                    json!({"tool_calls": [{"index": calls, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}]}),
                ));
                for half in halves(&arguments) {
                    chunk(delta(
                        json!({"tool_calls": [{"index": calls, "function": {"arguments": half}}]}),
                    ));
                }
                calls += 1;
            }
        }
    }
    let stop = match turn.stop {
        StopReason::ToolUse => "tool_calls",
        StopReason::MaxTokens => "length",
        _ => "stop",
    };
    chunk(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": stop}]}));
    chunk(
        json!({"choices": [], "usage": {"prompt_tokens": turn.usage.input, "completion_tokens": turn.usage.output,
        "prompt_tokens_details": {"cached_tokens": turn.usage.cache_read}}}),
    );
    stream.push_str("data: [DONE]\r\n\r\n");
    stream
}

fn gemini(turn: &PlannedTurn) -> String {
    let mut stream = String::new();
    let mut chunk = |parts: Value, rest: Value| {
        let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
        candidate
            .as_object_mut()
            .unwrap()
            .extend(rest.as_object().unwrap().clone());
        let usage = json!({"promptTokenCount": turn.usage.input, "candidatesTokenCount": turn.usage.output, "cachedContentTokenCount": turn.usage.cache_read});
        stream.push_str(&format!(
            "data: {}\r\n\r\n",
            json!({"candidates": [candidate], "usageMetadata": usage, "modelVersion": turn.model})
        ));
    };
    for item in &turn.emit {
        match item {
            Emit::Text(text) => halves(text)
                .into_iter()
                .for_each(|half| chunk(json!([{"text": half}]), json!({}))),
            Emit::Thinking { text, .. } => {
                chunk(json!([{"text": text, "thought": true}]), json!({}));
            }
            Emit::Tool { .. } | Emit::RawTool { .. } => {
                let (name, id, arguments) = arguments(item).unwrap();
                // The wire sends calls whole or not at all.
                let Ok(args) = serde_json::from_str::<Value>(&arguments) else {
                    continue;
                };
                chunk(
                    json!([{"functionCall": {"name": name, "id": id, "args": args}}]),
                    json!({}),
                );
            }
        }
    }
    let stop = if turn.stop == StopReason::MaxTokens {
        "MAX_TOKENS"
    } else {
        "STOP"
    };
    chunk(json!([]), json!({"finishReason": stop}));
    stream
}
