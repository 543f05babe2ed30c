//! From what arrived to a turn that may be acted on. Every wire and the scripted model end here, so the promises hold
//! for all: a cut tool call is never returned, an empty answer is no answer, ids are there and unique.

use std::collections::HashSet;

use crate::kernel::conversation::{
    Block, ModelErrorKind, ModelFailure, ModelTurn, StopReason, Usage,
};

use super::classify::{Signal, Stage, classify};

/// A turn that is being assembled.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    pub blocks: Vec<Block>,
    /// `None` until the provider says why it stopped.
    pub stop: Option<StopReason>,
    /// The event that said so, for the record.
    pub stop_raw: String,
    pub usage: Usage,
    pub model: String,
    pub request_id: Option<String>,
    /// Makes the ids of tool calls that came without one.
    pub id_seed: String,
    pub provider: String,
}

impl Draft {
    pub fn new(model: String) -> Self {
        Self {
            blocks: Vec::new(),
            stop: None,
            stop_raw: String::new(),
            usage: Usage::default(),
            model,
            request_id: None,
            id_seed: "0".to_owned(),
            provider: String::new(),
        }
    }
}

/// Turns a draft into a turn. `context_window` tells a full window from a reached output limit.
///
/// # Errors
///
/// The answer was refused, empty, broken off or a tool call the provider itself could not read.
pub fn finish(mut draft: Draft, context_window: Option<u64>) -> Result<ModelTurn, ModelFailure> {
    let Some(mut stop) = draft.stop.take() else {
        return Err(failed(
            &draft,
            Stage::Client,
            "stream ended before the turn was complete",
        ));
    };
    if stop == StopReason::ContentFilter {
        return Err(failed_finish(&draft, "content_filter"));
    }
    if let StopReason::Other(word) = &stop {
        let failure = failed_finish(&draft, &word.to_lowercase());
        if failure.kind != ModelErrorKind::Empty {
            return Err(failure);
        }
    }
    if stop == StopReason::MaxTokens
        && context_window.is_some_and(|window| draft.usage.total() >= window)
    {
        stop = StopReason::ContextFull;
    }
    let is_cut = matches!(stop, StopReason::MaxTokens | StopReason::ContextFull);
    draft.blocks.retain(|block| match block {
        Block::ToolCall(call) => !is_cut || is_object(&call.arguments),
        Block::Text { text, raw } => {
            !text.is_empty() || raw.as_deref().is_some_and(|raw| !raw.is_empty())
        }
        Block::Thinking { .. }
        | Block::Image { .. }
        | Block::ToolResult { .. }
        | Block::Opaque { .. } => true,
    });
    name_calls(&mut draft);
    let has_calls = draft
        .blocks
        .iter()
        .any(|block| matches!(block, Block::ToolCall(_)));
    stop = match stop {
        StopReason::EndTurn | StopReason::Other(_) if has_calls => StopReason::ToolUse,
        StopReason::ToolUse if !has_calls => StopReason::EndTurn,
        other => other,
    };
    let says_nothing = draft
        .blocks
        .iter()
        .all(|block| matches!(block, Block::Text { text, .. } if text.trim().is_empty()));
    if says_nothing {
        match stop {
            StopReason::EndTurn | StopReason::ToolUse | StopReason::Other(_) => {
                return Err(failed_finish(&draft, "empty"));
            }
            StopReason::ContextFull => {
                return Err(failed_finish(&draft, "model_context_window_exceeded"));
            }
            StopReason::MaxTokens | StopReason::Pause | StopReason::ContentFilter => {}
        }
    }
    Ok(ModelTurn {
        blocks: draft.blocks,
        stop,
        usage: draft.usage,
        model: draft.model,
        request_id: draft.request_id,
    })
}

/// Gives every call an id of its own and arguments that are at least an empty object.
fn name_calls(draft: &mut Draft) {
    let mut taken: HashSet<String> = HashSet::new();
    let seed = draft.id_seed.clone();
    for (index, block) in draft.blocks.iter_mut().enumerate() {
        let Block::ToolCall(call) = block else {
            continue;
        };
        if call.arguments.trim().is_empty() {
            call.arguments = "{}".to_owned();
        }
        let is_taken = taken.contains(call.id.as_str());
        if is_taken {
            // The provider's own block carries the id that was no use.
            call.raw = None;
        }
        if is_taken || call.id.as_str().is_empty() {
            call.id.0 = format!("call_{seed}_{index}");
        }
        taken.insert(call.id.0.clone());
    }
}

fn is_object(arguments: &str) -> bool {
    serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(arguments).is_ok()
}

fn failed_finish(draft: &Draft, word: &str) -> ModelFailure {
    let raw = if draft.stop_raw.is_empty() {
        format!(r#"{{"stop_reason":"{word}"}}"#)
    } else {
        draft.stop_raw.clone()
    };
    let mut signal = Signal::new(Stage::Finish, &raw)
        .status(200)
        .provider(&draft.provider);
    signal.finish = Some(word);
    ModelFailure {
        usage: draft.usage,
        ..classify(&signal)
    }
}

fn failed(draft: &Draft, stage: Stage, message: &str) -> ModelFailure {
    ModelFailure {
        usage: draft.usage,
        ..classify(&Signal::new(stage, message).provider(&draft.provider))
    }
}
