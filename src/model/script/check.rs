//! Checks that every request must pass, whoever answers it: a provider would refuse what fails here.

use std::collections::HashSet;

use crate::kernel::conversation::{Block, Message, ModelRequest, Role};

/// Tool results pair with calls, the user speaks first, and an answer that is to be continued does not end in a space.
///
/// # Errors
///
/// The first thing a provider would refuse.
pub fn check_history(request: &ModelRequest) -> Result<(), String> {
    let mut open: HashSet<&str> = HashSet::new();
    let mut seen: HashSet<&str> = HashSet::new();
    let mut previous: Option<&Message> = None;
    for (index, message) in request.messages.iter().enumerate() {
        if index == 0 && message.role == Role::Assistant {
            return Err("the first message is the model's; the user must speak first".to_owned());
        }
        if message.role == Role::Assistant
            && previous.is_some_and(|previous| previous.role == Role::User)
            && !open.is_empty()
        {
            return Err(without_result(&open, index));
        }
        for block in &message.blocks {
            match (message.role, block) {
                (Role::Assistant, Block::ToolCall(call)) => {
                    if !seen.insert(call.id.as_str()) {
                        return Err(format!(
                            "tool call id `{}` is used twice (message {index})",
                            call.id
                        ));
                    }
                    open.insert(call.id.as_str());
                }
                (Role::User, Block::ToolCall(call)) => {
                    return Err(format!(
                        "message {index} is the user's but holds the tool call `{}`",
                        call.id
                    ));
                }
                (Role::User, Block::ToolResult { call, .. }) => {
                    if !open.remove(call.as_str()) {
                        return Err(format!(
                            "message {index} holds a result of `{call}`, which no tool call before it waits for"
                        ));
                    }
                }
                (Role::Assistant, Block::ToolResult { call, .. }) => {
                    return Err(format!(
                        "message {index} is the model's but holds the result of `{call}`"
                    ));
                }
                (
                    Role::User | Role::Assistant,
                    Block::Text { .. }
                    | Block::Image { .. }
                    | Block::Thinking { .. }
                    | Block::Opaque { .. },
                ) => {}
            }
        }
        previous = Some(message);
    }
    if !open.is_empty() {
        return Err(without_result(&open, request.messages.len()));
    }
    let Some(last) = request.messages.last() else {
        return Err("the request has no message".to_owned());
    };
    if last.role == Role::Assistant
        && let Some(Block::Text { text, .. }) = last.blocks.last()
        && text.ends_with(char::is_whitespace)
    {
        return Err(
            "the last message is the model's and ends in a space; trim it before it is continued"
                .to_owned(),
        );
    }
    Ok(())
}

fn without_result(open: &HashSet<&str>, before: usize) -> String {
    let mut ids: Vec<&str> = open.iter().copied().collect();
    ids.sort_unstable();
    format!(
        "no result of tool call {} before message {before}",
        ids.join(", ")
    )
}
