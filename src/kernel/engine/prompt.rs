//! What the model is told. Stable parts first, so that providers can cache them.

use crate::kernel::conversation::{Block, ModelRequest, Role};
use crate::kernel::event::{Context, PromptPart};
use crate::kernel::policy::compaction;

/// Names of the tools the engine offers.
pub const TOOLS: [&str; 11] = [
    "read",
    "write",
    "edit",
    "multi_edit",
    "delete",
    "move",
    "list",
    "search",
    "command",
    "ask",
    "plan",
];

pub fn system(context: &Context) -> String {
    let mut text = String::from(
        "You are a coding agent inside the user's editor. You work on the workspace through tools only.\n\
         - Look before you write: read a file before you change it. The listing below says which files exist; change those with `edit`, create others with `write`.\n\
         - After each change the project's checks run, and their findings come back with the tool's result. Fix what you broke before you go on.\n\
         - The user may refuse a change or take only a part of it; the result says so. Never work around a refusal.\n\
         - Ask with `ask` only what the user alone can know. Keep the plan up to date with `plan`.\n\
         - You are done when you answer without calling a tool: then say in a few sentences what you did, or why nothing had to be done.\n",
    );
    for convention in &context.conventions {
        text.push_str(&format!(
            "\nThe project's own rules, from {}:\n{}\n",
            convention.path,
            convention.text.trim_end()
        ));
    }
    text
}

pub fn task(prompt: &str, context: &Context) -> String {
    let mut text = format!(
        "Task:\n{}\n\nFiles of the workspace `{}`:\n{}\n",
        prompt.trim(),
        context.folder,
        context.files.trim_end()
    );
    for note in &context.notes {
        text.push_str(&format!("({note})\n"));
    }
    text
}

/// What a request is made of, in the order in which it is sent; parts without anything in them are left out.
pub fn parts(request: &ModelRequest) -> Vec<PromptPart> {
    let mut sizes = [
        ("instructions", request.system.len()),
        ("task", 0),
        ("answers", 0),
        ("results", 0),
        ("notes", 0),
    ];
    let [_, task, answers, results, notes] = &mut sizes;
    for (at, message) in request.messages.iter().enumerate() {
        for block in &message.blocks {
            let part = match (message.role, block) {
                (Role::Assistant, _) => &mut *answers,
                (Role::User, Block::ToolResult { .. }) => &mut *results,
                (Role::User, _) if at == 0 => &mut *task,
                (Role::User, _) => &mut *notes,
            };
            part.1 += compaction::block_size(block);
        }
    }
    sizes
        .into_iter()
        .filter(|(_, bytes)| *bytes > 0)
        .map(|(name, bytes)| PromptPart {
            name: name.to_owned(),
            bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::conversation::Message;
    use crate::kernel::ids::ToolCallId;

    #[test]
    fn every_byte_is_in_one_part() {
        let user = |blocks| Message {
            role: Role::User,
            blocks,
        };
        let result = Block::ToolResult {
            call: ToolCallId::new("c"),
            text: "123".into(),
            is_error: false,
        };
        let request = ModelRequest {
            model: "m".into(),
            system: "12345".into(),
            messages: vec![
                user(vec![Block::text("1234")]),
                Message {
                    role: Role::Assistant,
                    blocks: vec![Block::text("12")],
                },
                user(vec![result, Block::text("1")]),
            ],
            tools: Vec::new(),
            max_output_tokens: None,
        };
        let parts = parts(&request);
        let sizes: Vec<(&str, u64)> = parts
            .iter()
            .map(|part| (part.name.as_str(), part.bytes))
            .collect();
        let wanted = [
            ("instructions", 5),
            ("task", 4),
            ("answers", 2),
            ("results", 3),
            ("notes", 1),
        ];
        assert_eq!(sizes, wanted);
        let all = request.system.len() + compaction::size(&request.messages);
        let sum: u64 = parts.iter().map(|part| part.bytes).sum();
        assert_eq!(sum, all as u64);
    }
}
