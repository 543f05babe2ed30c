//! On a line whose comment asks for something: do it now, or keep it as a task.

use lsp_types::{CodeAction, CodeActionKind};
use serde_json::json;

use super::{Situation, command};
use crate::kernel::task::{TaskOrigin, comment};
use crate::lsp::commands;
use crate::lsp::questions::as_title;

/// Letters of what the comment asks for.
const WISH_LETTERS: usize = 60;

pub fn of_comment(situation: &Situation<'_>) -> Vec<CodeAction> {
    let line = situation.range.start.line;
    let at = usize::try_from(line).unwrap_or(usize::MAX);
    let text = situation
        .document
        .filter(|_| situation.range.end.line == line)
        .and_then(|document| document.text.get_line(at));
    let Some(wish) = text.and_then(|text| comment::wish_of(&text.to_string())) else {
        return Vec::new();
    };
    let shown = as_title(&wish, WISH_LETTERS);
    let folder = situation.root.folder_uri();
    let origin = TaskOrigin::Todo {
        path: situation.path.clone(),
        line: line + 1,
        text: wish,
    };
    let action = |title: String, name: &str, argument| {
        let command = command(name, &title, argument);
        CodeAction {
            title,
            kind: Some(CodeActionKind::REFACTOR),
            command: Some(command),
            ..CodeAction::default()
        }
    };
    vec![
        action(
            format!("Do with Outrigger: {shown}"),
            commands::RUN,
            json!({ "prompt": origin.describe(), "folder": folder }),
        ),
        action(
            format!("Keep as a task: {shown}"),
            commands::ADD_TASK,
            json!({ "origin": origin, "folder": folder }),
        ),
    ]
}
