//! What the model is told. Stable parts first, so that providers can cache them.

use crate::kernel::conversation::{Block, ModelRequest, Role};
use crate::kernel::course::Phase;
use crate::kernel::event::{Context, PromptPart};
use crate::kernel::plan::Step;
use crate::kernel::policy::compaction;

/// Names of the tools that the model may call now.
pub fn tools(phase: Phase) -> &'static [&'static str] {
    match phase {
        Phase::Free => &[
            "read",
            "write",
            "edit",
            "multi_edit",
            "delete",
            "move",
            "list",
            "glob",
            "search",
            "command",
            "check",
            "diagnostics",
            "ask",
            "plan",
            "finish",
        ],
        Phase::Drafting | Phase::Drafted => &[
            "read",
            "list",
            "glob",
            "search",
            "diagnostics",
            "ask",
            "propose_plan",
        ],
        Phase::Step(_) | Phase::Closing => &[
            "read",
            "write",
            "edit",
            "multi_edit",
            "delete",
            "move",
            "list",
            "glob",
            "search",
            "command",
            "check",
            "diagnostics",
            "ask",
        ],
    }
}

pub fn system(context: &Context) -> String {
    let mut text = String::from(
        "You are a coding agent inside the user's editor. You work on the workspace through tools only.\n\
         - Look before you write: read a file before you change it. The listing below says which files exist; change those with `edit`, create others with `write`.\n\
         - After each change the project's checks run, and their findings come back with the tool's result. Fix what you broke before you go on.\n\
         - The user may refuse a change or take only a part of it; the result says so. Never work around a refusal.\n\
         - Ask with `ask` only what the user alone can know. Keep the plan up to date with `plan`.\n\
         - You are done when you call `finish`, or answer without calling a tool: then say in a few sentences what you did, or why nothing had to be done.\n",
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
    let parts = [
        ("Open in the user's editor", &context.open),
        ("Changed last", &context.recent),
        ("Where names of the task occur", &context.mentions),
    ];
    for (title, lines) in parts {
        if !lines.is_empty() {
            text.push_str(&format!("\n{title}:\n{}\n", lines.trim_end()));
        }
    }
    for file in &context.named {
        text.push_str(&format!(
            "\n{} as it is now:\n{}\n",
            file.path,
            numbered(&file.text)
        ));
    }
    let view = context.view.describe();
    if !view.is_empty() {
        text.push_str(&format!("\nWhat the user looks at:\n{view}"));
    }
    for note in &context.notes {
        text.push_str(&format!("({note})\n"));
    }
    text
}

fn numbered(text: &str) -> String {
    let lines = text.lines().zip(1..);
    lines
        .map(|(line, number)| format!("{number}\t{line}\n"))
        .collect()
}

/// What the model is told when it shall make a plan.
pub const DRAFT: &str = "\
First make a plan; nothing is changed yet. Look at the files that matter (`read`, `list`, `search`), ask the user what only \
they can know (`ask`), then call `propose_plan` once with all steps. A file that exists is edited, never created. A step is \
one file or one command. Name with `depends_on` what a step really needs.";

/// What the model is told when a step begins. `shown`: what the engine has looked up for it.
pub fn step(step: &Step, steps: usize, shown: &str) -> String {
    let mut text = format!(
        "Step {} of {steps}: {}\n",
        step.number.min(u32::try_from(steps).unwrap_or(u32::MAX)),
        step.title()
    );
    if !shown.is_empty() {
        text.push_str(shown.trim_end());
        text.push('\n');
    }
    text.push_str(
        "Do this step and nothing else. The checks run after each change; mend what it breaks. When it is done, answer in one sentence without a call.",
    );
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
