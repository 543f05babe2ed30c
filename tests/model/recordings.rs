//! Streams that providers really sent, recorded by other people. Read where their package keeps them, never copied.

use std::path::{Path, PathBuf};

use outrigger::kernel::conversation::{Block, ModelTurn};
use outrigger::model::stream::Incoming;
use outrigger::model::turn::finish;
use outrigger::model::wire::{Fault, Wire};
use serde_json::Value;

use crate::installed;

/// The folders whose recordings are of one of our wires.
const FOLDERS: [(&str, Wire); 8] = [
    ("anthropic", Wire::Anthropic),
    ("openai", Wire::OpenAi),
    ("open_router", Wire::OpenAi),
    ("github_copilot", Wire::OpenAi),
    ("mistral", Wire::OpenAi),
    ("aihubmix", Wire::OpenAi),
    ("gemini", Wire::Gemini),
    ("opencode_go", Wire::Anthropic),
];

struct Recording {
    name: String,
    wire: Wire,
    bytes: Vec<u8>,
}

fn recordings() -> Vec<Recording> {
    let Some(root) = installed::part("recordings") else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (folder, wire) in FOLDERS {
        let mut files: Vec<PathBuf> = Vec::new();
        collect(&root.join(folder), &mut files);
        files.sort();
        for file in files {
            let bytes = std::fs::read(&file).unwrap();
            let name = file.strip_prefix(&root).unwrap().display().to_string();
            // One gateway is recorded on both wires.
            let wire = if name.contains("opencode_go/openai") {
                Wire::OpenAi
            } else {
                wire
            };
            found.push(Recording { name, wire, bytes });
        }
    }
    assert!(
        found.len() > 25,
        "the package has changed: only {} recordings",
        found.len()
    );
    found
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("response_"))
        {
            files.push(path);
        }
    }
}

fn decode(wire: Wire, pieces: &[&[u8]]) -> Result<ModelTurn, String> {
    let mut incoming = Incoming::new(wire, "recorded");
    let fault = |fault: Fault| format!("{fault:?}");
    for piece in pieces {
        incoming.push(piece, &mut |_| {}).map_err(fault)?;
    }
    finish(incoming.end(&mut |_| {}).map_err(fault)?, None)
        .map_err(|failure| format!("{failure:?}"))
}

/// A second, naive reading of the same bytes: every string under these keys, in order, whatever it is nested in.
#[derive(Debug, Default, PartialEq)]
struct Facts {
    text: String,
    thinking: String,
    calls: Vec<(String, Value)>,
}

fn naive(wire: Wire, bytes: &[u8]) -> Facts {
    let text = String::from_utf8_lossy(bytes);
    let mut facts = Facts::default();
    let mut arguments: Vec<String> = Vec::new();
    let documents: Vec<Value> = if text.trim_start().starts_with('{') {
        vec![serde_json::from_str(&text).unwrap()]
    } else {
        let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
        data.filter_map(|data| serde_json::from_str(data.trim()).ok())
            .collect()
    };
    for document in &documents {
        match wire {
            Wire::Anthropic => {
                let blocks = document["content"].as_array().cloned().unwrap_or_default();
                for block in blocks.iter().chain(document.get("content_block")) {
                    facts.text += block["text"].as_str().unwrap_or_default();
                    facts.thinking += block["thinking"].as_str().unwrap_or_default();
                    if block["type"] == "tool_use" {
                        facts.calls.push((
                            block["name"].as_str().unwrap().to_owned(),
                            block["input"].clone(),
                        ));
                        arguments.push(String::new());
                    }
                }
                let delta = &document["delta"];
                facts.text += delta["text"].as_str().unwrap_or_default();
                facts.thinking += delta["thinking"].as_str().unwrap_or_default();
                if let (Some(piece), Some(last)) =
                    (delta["partial_json"].as_str(), arguments.last_mut())
                {
                    last.push_str(piece);
                }
            }
            Wire::OpenAi => {
                for choice in document["choices"].as_array().into_iter().flatten() {
                    let delta = if choice["delta"].is_object() {
                        &choice["delta"]
                    } else {
                        &choice["message"]
                    };
                    facts.text += delta["content"].as_str().unwrap_or_default();
                    for part in delta["content"].as_array().into_iter().flatten() {
                        facts.text += part["text"].as_str().unwrap_or_default();
                        for inner in part["thinking"].as_array().into_iter().flatten() {
                            facts.thinking += inner["text"].as_str().unwrap_or_default();
                        }
                    }
                    facts.thinking += delta["reasoning_content"]
                        .as_str()
                        .or(delta["reasoning"].as_str())
                        .unwrap_or_default();
                    for call in delta["tool_calls"].as_array().into_iter().flatten() {
                        if let Some(name) = call["function"]["name"].as_str() {
                            facts.calls.push((name.to_owned(), Value::Null));
                            arguments.push(String::new());
                        }
                        if let Some(last) = arguments.last_mut() {
                            last.push_str(
                                call["function"]["arguments"].as_str().unwrap_or_default(),
                            );
                        }
                    }
                }
            }
            Wire::Gemini => {
                for part in document["candidates"][0]["content"]["parts"]
                    .as_array()
                    .into_iter()
                    .flatten()
                {
                    let text = part["text"].as_str().unwrap_or_default();
                    if part["thought"] == true {
                        facts.thinking += text;
                    } else {
                        facts.text += text;
                    }
                    if let Some(name) = part["functionCall"]["name"].as_str() {
                        facts
                            .calls
                            .push((name.to_owned(), part["functionCall"]["args"].clone()));
                    }
                }
            }
        }
    }
    for (call, arguments) in facts
        .calls
        .iter_mut()
        .zip(arguments)
        .filter(|(_, arguments)| !arguments.is_empty())
    {
        call.1 = serde_json::from_str(&arguments).unwrap_or(Value::Null);
    }
    // A call that was cut is nothing to act on.
    facts.calls.retain(|(_, arguments)| arguments.is_object());
    facts
}

fn facts_of(turn: &ModelTurn) -> Facts {
    let mut facts = Facts::default();
    for block in &turn.blocks {
        match block {
            Block::Text { text, .. } => facts.text += text,
            Block::Thinking { text, .. } => facts.thinking += text,
            Block::ToolCall(call) => facts.calls.push((
                call.name.clone(),
                serde_json::from_str(&call.arguments).unwrap(),
            )),
            Block::Image { .. } | Block::ToolResult { .. } | Block::Opaque { .. } => {}
        }
    }
    facts
}

#[test]
fn recorded_streams_in_seven_byte_pieces_are_the_turns_that_were_sent() {
    for recording in recordings() {
        let whole = decode(recording.wire, &[&recording.bytes])
            .unwrap_or_else(|problem| panic!("{}: {problem}", recording.name));
        let sevenths: Vec<&[u8]> = recording.bytes.chunks(7).collect();
        assert_eq!(
            decode(recording.wire, &sevenths).as_ref(),
            Ok(&whole),
            "{}",
            recording.name
        );
        assert_eq!(
            facts_of(&whole),
            naive(recording.wire, &recording.bytes),
            "{}",
            recording.name
        );
        assert!(
            whole.usage.output > 0 || !recording.name.contains("usage"),
            "{}",
            recording.name
        );
    }
}

/// Both ends of a cut stream, at every byte: in order (what is held back still counts) and by a reset (it does not).
#[test]
fn recorded_streams_cut_at_every_byte_are_whole_turns_or_failures() {
    for recording in recordings() {
        let whole = decode(recording.wire, &[&recording.bytes]).unwrap();
        let mut incoming = Incoming::new(recording.wire, "recorded");
        for (cut, byte) in recording.bytes.iter().enumerate() {
            let ended = incoming.clone().end(&mut |_| {}).ok();
            let reset = incoming
                .has_stop()
                .then(|| incoming.clone().broken_off())
                .flatten();
            for draft in [ended, reset].into_iter().flatten() {
                let turn = finish(draft, None).unwrap_or_else(|failure| {
                    panic!("{} cut at {cut}: {failure:?}", recording.name)
                });
                assert_eq!(
                    (&turn.blocks, &turn.stop),
                    (&whole.blocks, &whole.stop),
                    "{} cut at {cut}",
                    recording.name
                );
            }
            incoming
                .push(std::slice::from_ref(byte), &mut |_| {})
                .unwrap_or_else(|fault| panic!("{} at {cut}: {fault:?}", recording.name));
        }
    }
}
