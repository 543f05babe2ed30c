//! What is said to a model and what it says, in no provider's dialect.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ids::ToolCallId;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    User,
    Assistant,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    pub role: Role,
    pub blocks: Vec<Block>,
}

/// A part of a message. `raw`, where present, is the block as the provider sent it, in JSON: it goes back unchanged, so
/// that signatures and kinds we do not know survive the round trip.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    tag = "type"
)]
pub enum Block {
    Text {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw: Option<String>,
    },
    Image {
        /// Such as `image/png`.
        media_type: String,
        base64: String,
    },
    Thinking {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw: Option<String>,
    },
    ToolCall(ToolCall),
    ToolResult {
        call: ToolCallId,
        text: String,
        #[serde(default)]
        is_error: bool,
    },
    /// A kind of block that we do not know.
    Opaque {
        raw: String,
    },
}

impl Block {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text {
            text: text.into(),
            raw: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    pub id: ToolCallId,
    pub name: String,
    /// The arguments as received: meant to be a JSON object, not checked.
    pub arguments: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

/// A request to a model. Schemas of the tools and the wire's details are added where it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelRequest {
    /// `provider/model`, or `scripted:FILE`.
    pub model: String,
    pub system: String,
    pub messages: Vec<Message>,
    /// Names of the tools the model may call.
    pub tools: Vec<String>,
    pub max_output_tokens: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    EndTurn,
    ToolUse,
    /// The output limit cut the answer.
    MaxTokens,
    /// The context window is full.
    ContextFull,
    ContentFilter,
    /// The provider wants the turn sent back unchanged.
    Pause,
    Other(String),
}

/// Tokens as the provider counts them; zero where it does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// All input tokens, the cached ones included.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// Part of `output`.
    pub reasoning: u64,
}

impl Usage {
    pub fn total(&self) -> u64 {
        self.input + self.output
    }
    pub fn add(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.reasoning += other.reasoning;
    }
}

impl Usage {
    /// The part of the input that came from the provider's cache, in percent; `None` before there was any input.
    pub fn cache_hit_percent(&self) -> Option<u32> {
        let percent = (self.cache_read.min(self.input) * 100).checked_div(self.input)?;
        u32::try_from(percent).ok()
    }
}

/// What calls cost, as far as their prices are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Cost {
    /// Millionths of a US dollar.
    pub micros: u64,
    /// Tokens of calls whose price is not known; they are not in `micros`.
    pub unpriced_tokens: u64,
}

impl Cost {
    /// Of one call, whose price may not be known.
    pub fn of(micros: Option<u64>, usage: &Usage) -> Self {
        match micros {
            Some(micros) => Self {
                micros,
                unpriced_tokens: 0,
            },
            None => Self {
                micros: 0,
                unpriced_tokens: usage.total(),
            },
        }
    }
    pub fn add(&mut self, other: Self) {
        self.micros = self.micros.saturating_add(other.micros);
        self.unpriced_tokens = self.unpriced_tokens.saturating_add(other.unpriced_tokens);
    }
}

/// What all runs together have cost, in millionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Spending {
    /// All runs of this run's task.
    pub task_micros: u64,
    /// All runs of this user since midnight (UTC), in all workspaces.
    pub day_micros: u64,
}

/// What one call cost, and what that adds up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Bill {
    pub cost: Cost,
    /// This call included.
    pub spending: Spending,
}

/// A complete answer of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelTurn {
    pub blocks: Vec<Block>,
    pub stop: StopReason,
    #[serde(default)]
    pub usage: Usage,
    /// The model as the provider names it.
    #[serde(default)]
    pub model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

impl ModelTurn {
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            _ => None,
        })
    }
    /// All text blocks, joined by line breaks.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .blocks
            .iter()
            .filter_map(|block| match block {
                Block::Text { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        texts.join("\n")
    }
}

/// What went wrong with a model call. Decides the recovery.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ModelErrorKind {
    PromptTooLong,
    RateLimit,
    Overloaded,
    Quota,
    Auth,
    ModelNotFound,
    ContentFilter,
    MaxOutput,
    Empty,
    MalformedToolCall,
    InvalidRequest,
    Network,
    Timeout,
    ServerError,
    Unknown,
}

/// A failed model call, classified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelFailure {
    pub kind: ModelErrorKind,
    /// Whether the same request may succeed later, without a change.
    pub retryable: bool,
    /// How long the provider asks us to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Tokens the request had and tokens allowed, where the text says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenCounts>,
    /// The classification rule that decided.
    pub rule: String,
    /// The provider's own words, at most 4 KiB, keys masked.
    pub raw: String,
    /// One sentence for people: what failed and what to do next.
    pub advice: String,
    /// What the provider counted before it failed; it is paid for all the same.
    #[serde(default)]
    pub usage: Usage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenCounts {
    pub actual: Option<u64>,
    pub limit: Option<u64>,
}
