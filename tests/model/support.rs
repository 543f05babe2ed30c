//! Requests, tools and answers that the tests share.

use outrigger::kernel::conversation::{Block, Message, ModelRequest, ModelTurn, Role, ToolCall};
use outrigger::kernel::ids::{RunId, ToolCallId};
use outrigger::model::{Progress, ToolSpec};

pub fn run(name: &str) -> RunId {
    RunId::new(name)
}

pub fn tools() -> Vec<ToolSpec> {
    ["read", "edit"]
        .into_iter()
        .map(|name| ToolSpec {
            name: name.to_owned(),
            description: format!("{name} a file"),
            schema: serde_json::json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
        })
        .collect()
}

pub fn request(model: &str, text: &str) -> ModelRequest {
    ModelRequest {
        model: model.to_owned(),
        system: "You are careful.".to_owned(),
        messages: vec![user(text)],
        tools: vec!["read".to_owned(), "edit".to_owned()],
        max_output_tokens: None,
    }
}

pub fn user(text: &str) -> Message {
    Message {
        role: Role::User,
        blocks: vec![Block::text(text)],
    }
}

/// Appends the model's turn and one result for each of its calls.
pub fn answer(request: &mut ModelRequest, turn: &ModelTurn, results: &[&str]) {
    let calls: Vec<&ToolCall> = turn.tool_calls().collect();
    assert_eq!(calls.len(), results.len(), "one result for each call");
    let blocks = calls
        .iter()
        .zip(results)
        .map(|(call, text)| Block::ToolResult {
            call: ToolCallId::new(call.id.as_str()),
            text: (*text).to_owned(),
            is_error: false,
        })
        .collect();
    request.messages.push(Message {
        role: Role::Assistant,
        blocks: turn.blocks.clone(),
    });
    request.messages.push(Message {
        role: Role::User,
        blocks,
    });
}

/// What progress showed, put together.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub text: String,
    pub thinking: String,
    pub calls: Vec<String>,
    pub pieces: usize,
}

impl Seen {
    pub fn take(&mut self, progress: Progress) {
        self.pieces += 1;
        match progress {
            Progress::Text(text) => self.text.push_str(&text),
            Progress::Thinking(text) => self.thinking.push_str(&text),
            Progress::ToolCall { name } => self.calls.push(name),
            Progress::Bytes(_) => {}
        }
    }
}
