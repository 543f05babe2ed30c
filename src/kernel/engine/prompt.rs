//! What the model is told. Stable parts first, so that providers can cache them.

use crate::kernel::event::Context;

/// Names of the tools the engine offers.
pub const TOOLS: [&str; 8] = [
    "read", "write", "edit", "list", "search", "command", "ask", "plan",
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
