//! Making a conversation shorter when it no longer fits the model.
//!
//! What survives: the task, what the caller says must (plan, findings, changes, questions), and the last round. Results of
//! tools go first, the oldest and largest before the others; then whole rounds, the oldest first; then the middle of what
//! the last round's results hold. Calls and results stay paired, and the sides alternate.

use crate::kernel::conversation::{Block, Message, Role};

/// Bytes of a result that stay when its middle goes.
const ENDS: usize = 1024;

/// Stands after the task in place of what was left out.
const LEFT_OUT: &str = "[Earlier rounds were left out to save space. What matters of them:]\n";

/// How the words of the user begin that come in the middle of a run.
const USERS_WORDS: &str = "The user says:";

/// A shorter conversation, or `None` when it cannot be made to fit `target` bytes and would not even be a tenth shorter.
/// `memo` is said once, after the task.
pub fn compact(messages: &[Message], memo: &str, target: usize) -> Option<Vec<Message>> {
    let before = size(messages);
    let mut short = messages.to_vec();
    let last = last_round(&short);
    drop_results(&mut short, last, target);
    if size(&short) > target {
        short = drop_rounds(short, last, memo, target);
    }
    let last = last_round(&short);
    cut_results(&mut short, last, target);
    let after = size(&short);
    (after <= target || after * 10 <= before * 9).then_some(short)
}

/// Bytes of everything that is sent.
pub fn size(messages: &[Message]) -> usize {
    messages
        .iter()
        .flat_map(|message| &message.blocks)
        .map(block_size)
        .sum()
}

/// Bytes of a block as it is sent.
pub fn block_size(block: &Block) -> usize {
    match block {
        Block::Text { text, raw } | Block::Thinking { text, raw, .. } => {
            raw.as_ref().map_or(text.len(), String::len)
        }
        Block::Image { base64, .. } => base64.len(),
        Block::ToolCall(call) => call
            .raw
            .as_ref()
            .map_or(call.arguments.len() + call.name.len(), String::len),
        Block::ToolResult { text, .. } => text.len(),
        Block::Opaque { raw } => raw.len(),
    }
}

/// Index of the last answer of the model; what follows it are its results.
fn last_round(messages: &[Message]) -> usize {
    messages
        .iter()
        .rposition(|message| message.role == Role::Assistant)
        .unwrap_or(messages.len())
}

/// Blanks results before `end`, largest and oldest first, until it fits.
fn drop_results(messages: &mut [Message], end: usize, target: usize) {
    let mut results: Vec<(usize, usize, usize)> = Vec::new();
    for (at, message) in messages.iter().enumerate().take(end) {
        for (within, block) in message.blocks.iter().enumerate() {
            if let Block::ToolResult { text, .. } = block {
                results.push((text.len(), at, within));
            }
        }
    }
    results.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut total = size(messages);
    for (length, at, within) in results {
        if total <= target {
            return;
        }
        let note =
            format!("[{length} bytes of result left out; call the tool again if you need them]");
        if note.len() >= length {
            continue;
        }
        if let Some(Block::ToolResult { text, .. }) = messages
            .get_mut(at)
            .and_then(|message| message.blocks.get_mut(within))
        {
            total = total - length + note.len();
            *text = note;
        }
    }
}

/// Keeps the task, says the memo, and keeps as many of the latest rounds as fit; the last one always.
fn drop_rounds(messages: Vec<Message>, last: usize, memo: &str, target: usize) -> Vec<Message> {
    let Some((task, rest)) = messages.split_first() else {
        return messages;
    };
    let mut task = task.clone();
    let mut from = last.saturating_sub(1).min(rest.len());
    let mut budget = target
        .saturating_sub(size(std::slice::from_ref(&task)) + LEFT_OUT.len() + memo.len())
        .saturating_sub(rest.get(from..).map_or(0, size));
    while from >= 2 {
        let round = rest.get(from - 2..from).map_or(0, size);
        if round > budget {
            break;
        }
        budget -= round;
        from -= 2;
    }
    let mut said = words_of_the_user(rest.get(..from).unwrap_or_default());
    if !said.is_empty() {
        said.insert(0, '\n');
    }
    task.blocks
        .push(Block::text(format!("{LEFT_OUT}{memo}{said}")));
    std::iter::once(task)
        .chain(rest.iter().skip(from).cloned())
        .collect()
}

/// What the user has said in rounds that are left out: nobody else can say it again.
fn words_of_the_user(left_out: &[Message]) -> String {
    let said: Vec<&str> = left_out
        .iter()
        .filter(|message| message.role == Role::User)
        .flat_map(|message| &message.blocks)
        .filter_map(|block| match block {
            Block::Text { text, .. } if text.starts_with(USERS_WORDS) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    said.join("\n")
}

/// Cuts the middle out of the last round's results, largest first, until it fits.
fn cut_results(messages: &mut [Message], from: usize, target: usize) {
    loop {
        let total = size(messages);
        if total <= target {
            return;
        }
        let largest = messages
            .iter_mut()
            .skip(from)
            .flat_map(|message| &mut message.blocks)
            .filter_map(|block| match block {
                Block::ToolResult { text, .. } if text.len() > 2 * ENDS + 200 => Some(text),
                _ => None,
            })
            .max_by_key(|text| text.len());
        let Some(text) = largest else { return };
        let head = text.floor_char_boundary(ENDS);
        let tail = text.ceil_char_boundary(text.len() - ENDS);
        let cut = tail - head;
        *text = format!(
            "{}\n[{cut} bytes left out here]\n{}",
            &text[..head],
            &text[tail..]
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::conversation::ToolCall;
    use crate::kernel::ids::ToolCallId;

    fn user(blocks: Vec<Block>) -> Message {
        Message {
            role: Role::User,
            blocks,
        }
    }

    fn round(id: &str, result: &str) -> [Message; 2] {
        let call = ToolCall {
            id: ToolCallId::new(id),
            name: "read".into(),
            arguments: "{}".into(),
            raw: None,
        };
        let result = Block::ToolResult {
            call: ToolCallId::new(id),
            text: result.into(),
            is_error: false,
        };
        [
            Message {
                role: Role::Assistant,
                blocks: vec![Block::ToolCall(call)],
            },
            user(vec![result]),
        ]
    }

    fn conversation(results: &[&str]) -> Vec<Message> {
        let rounds = results
            .iter()
            .enumerate()
            .flat_map(|(at, result)| round(&format!("c{at}"), result));
        std::iter::once(user(vec![Block::text("task")]))
            .chain(rounds)
            .collect()
    }

    fn well_formed(messages: &[Message]) {
        for (at, message) in messages.iter().enumerate() {
            assert_eq!(
                message.role == Role::User,
                at % 2 == 0,
                "the sides alternate"
            );
        }
        for pair in messages[1..].chunks(2) {
            assert!(matches!(
                (&pair[0].blocks[..], &pair[1].blocks[..]),
                ([Block::ToolCall(call)], [Block::ToolResult { call: result, .. }]) if call.id == *result
            ));
        }
    }

    #[test]
    fn words_of_the_user_outlive_their_round() {
        let large = "x".repeat(10_000);
        let mut messages = conversation(&["a", &large, "b", "last"]);
        messages[2]
            .blocks
            .push(Block::text("The user says: keep the old name"));
        let calls = "y".repeat(9_000);
        if let Block::ToolCall(call) = &mut messages[1].blocks[0] {
            call.arguments = calls;
        }
        let short = compact(&messages, "memo", 400).unwrap();
        let all = format!("{short:?}");
        assert!(
            all.contains("keep the old name") && !all.contains("yyy"),
            "{all}"
        );
    }

    #[test]
    fn the_largest_old_result_goes_first() {
        let large = "x".repeat(10_000);
        let messages = conversation(&[&large, "small", "last"]);
        let short = compact(&messages, "memo", 2_000).unwrap();
        well_formed(&short);
        assert!(size(&short) <= 2_000);
        let text = format!("{short:?}");
        assert!(
            text.contains("10000 bytes of result left out")
                && text.contains("small")
                && !text.contains("memo")
        );
    }

    #[test]
    fn whole_rounds_go_next_and_the_memo_stays() {
        let many: Vec<String> = (0..200)
            .map(|at| format!("result {at} {}", "y".repeat(40)))
            .collect();
        let messages = conversation(&many.iter().map(String::as_str).collect::<Vec<_>>());
        let short = compact(&messages, "the plan", 3_000).unwrap();
        well_formed(&short);
        assert!(size(&short) <= 3_000, "{}", size(&short));
        let text = format!("{short:?}");
        assert!(
            text.contains("the plan") && text.contains("result 199") && !text.contains("result 0 ")
        );
    }

    #[test]
    fn a_single_long_turn_is_cut_in_the_middle() {
        let long = format!("begin{}ende\u{301}", "漢".repeat(50_000));
        let short = compact(&conversation(&[&long]), "", 10_000).unwrap();
        well_formed(&short);
        let text = format!("{short:?}");
        assert!(
            size(&short) <= 10_000
                && text.contains("begin")
                && text.contains("ende")
                && text.contains("bytes left out here")
        );
    }

    #[test]
    fn what_cannot_shrink_is_said() {
        assert_eq!(
            compact(&[user(vec![Block::text("t".repeat(5_000))])], "memo", 1_000),
            None
        );
    }
}
