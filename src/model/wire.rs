//! The three dialects that providers speak. Encoding a request and decoding a stream are pure; [`super::http`] performs.

pub mod anthropic;
mod blocks;
pub mod gemini;
pub mod openai;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::kernel::conversation::{Block, ModelRequest, StopReason, Usage};

use super::sse::Event;
use super::turn::Draft;
use super::{Progress, ToolSpec};

/// Bytes of one tool call's arguments.
pub(super) const ARGUMENTS_CAP: usize = 1024 * 1024;
/// Bytes of a whole turn, over which a stream is not read on.
pub(super) const TURN_CAP: usize = 32 * 1024 * 1024;

/// A dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Wire {
    /// Messages.
    Anthropic,
    /// Chat completions, which most others speak too.
    OpenAi,
    /// `streamGenerateContent`.
    Gemini,
}

/// Where servers that speak a dialect differ. The default suits a server nobody knows.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    /// The field of the output limit is `max_completion_tokens`.
    pub max_completion_tokens: bool,
    /// `stream_options` is refused, or usage comes without it.
    pub no_stream_options: bool,
    /// Ids of tool calls must be nine letters and digits.
    pub short_tool_ids: bool,
    /// The name of the message field that takes reasoning back: `reasoning_content` or `reasoning_details`.
    pub reasoning_field: Option<String>,
    /// Parts of messages may carry `cache_control`, for models whose name begins so.
    pub cache_control_for: Option<String>,
    /// The path of the chat endpoint, where it is not the usual one; `{model}` is replaced.
    pub path: Option<String>,
    /// The header that takes the key, in place of the wire's own; `authorization` gets `Bearer`.
    pub key_header: Option<String>,
    /// The model's name is not a field of the body but part of the address.
    pub model_in_path_only: bool,
}

/// A request that is ready to be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoded {
    /// Appended to the base address.
    pub path: String,
    pub headers: Vec<(&'static str, String)>,
    /// Header and prefix for the key.
    pub key_header: (String, &'static str),
    pub body: Value,
}

/// What an encoder needs to know beside the request.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The model as the provider names it.
    pub model: &'a str,
    pub quirks: &'a Quirks,
    /// Where a wire must have a limit and the request has none.
    pub default_output: u32,
    /// Fields added to the body, over those of ours.
    pub extra: &'a Map<String, Value>,
}

/// Encodes a request. `tools` may hold more tools than the request offers.
pub fn encode(wire: Wire, target: &Target, request: &ModelRequest, tools: &[ToolSpec]) -> Encoded {
    let offer = Offer::of(request, tools);
    let mut encoded = match wire {
        Wire::Anthropic => anthropic::encode(target, request, &offer),
        Wire::OpenAi => openai::encode(target, request, &offer),
        Wire::Gemini => gemini::encode(target, request, &offer),
    };
    if let Value::Object(body) = &mut encoded.body {
        body.extend(target.extra.clone());
    }
    if let Some(header) = &target.quirks.key_header {
        let prefix = if header == "authorization" {
            "Bearer "
        } else {
            ""
        };
        encoded.key_header = (header.clone(), prefix);
    }
    if let Some(path) = &target.quirks.path {
        encoded.path = path.replace("{model}", target.model);
    }
    encoded
}

/// The tools of a request.
pub struct Offer<'a> {
    pub tools: Vec<&'a ToolSpec>,
    /// The history has calls but nothing is on offer now: providers still want the tools described.
    pub is_history_only: bool,
}

impl<'a> Offer<'a> {
    fn of(request: &ModelRequest, tools: &'a [ToolSpec]) -> Self {
        let offered: Vec<&ToolSpec> = tools
            .iter()
            .filter(|tool| request.tools.contains(&tool.name))
            .collect();
        if !offered.is_empty() {
            return Self {
                tools: offered,
                is_history_only: false,
            };
        }
        let called = |name: &str| {
            let mut blocks = request.messages.iter().flat_map(|message| &message.blocks);
            blocks.any(|block| matches!(block, Block::ToolCall(call) if call.name == name))
        };
        let tools: Vec<&ToolSpec> = tools.iter().filter(|tool| called(&tool.name)).collect();
        Self {
            is_history_only: !tools.is_empty(),
            tools,
        }
    }
}

/// Why a stream cannot be read on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The provider reports an error inside the stream: the event as it came.
    Reported(String),
    /// The whole answer is an error, or nothing of this wire: its body.
    Refused(String),
    /// The stream is not what the wire promises.
    Broken(String),
    /// The stream ended before the turn was complete.
    Cut,
}

impl From<super::sse::TooLarge> for Fault {
    fn from(error: super::sse::TooLarge) -> Self {
        Self::Broken(error.to_string())
    }
}

/// What an event was good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Proves the link, not progress: a ping, a kind we do not know.
    Alive,
    Progress,
    /// The turn is complete; nothing more is expected.
    Done,
}

/// Decodes one stream of one wire.
#[derive(Debug, Clone)]
pub enum Decoder {
    Anthropic(anthropic::Decoder),
    OpenAi(openai::Decoder),
    Gemini(gemini::Decoder),
}

impl Decoder {
    pub fn new(wire: Wire, model: &str) -> Self {
        match wire {
            Wire::Anthropic => Self::Anthropic(anthropic::Decoder::new(model)),
            Wire::OpenAi => Self::OpenAi(openai::Decoder::new(model)),
            Wire::Gemini => Self::Gemini(gemini::Decoder::new(model)),
        }
    }

    /// Takes one event.
    ///
    /// # Errors
    ///
    /// The stream cannot be read on.
    pub fn event(
        &mut self,
        event: &Event,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Step, Fault> {
        let data = event.data.as_slice();
        if event.name == "error" {
            // Whatever the data looks like: some servers put a bare error there.
            return Err(Fault::Reported(String::from_utf8_lossy(data).into_owned()));
        }
        if data.trim_ascii() == b"[DONE]" {
            if let Self::OpenAi(decoder) = self {
                // Some servers only say that they are done, not why.
                decoder.draft.stop.get_or_insert(StopReason::EndTurn);
            }
            return Ok(Step::Done);
        }
        if data.trim_ascii().is_empty() {
            return Ok(Step::Alive);
        }
        let value: Value = serde_json::from_slice(data).map_err(|error| {
            Fault::Broken(format!("stream broken: an event is not JSON ({error})"))
        })?;
        if let Some(error) = reported_error(&value) {
            return Err(Fault::Reported(error));
        }
        match self {
            Self::Anthropic(decoder) => decoder.event(&value, progress),
            Self::OpenAi(decoder) => decoder.event(&value, progress),
            Self::Gemini(decoder) => decoder.event(&value, progress),
        }
    }

    /// Takes an answer that came whole, from a server that does not stream.
    ///
    /// # Errors
    ///
    /// It is an error, or no answer of this wire.
    pub fn whole(&mut self, body: &[u8], progress: &mut dyn FnMut(Progress)) -> Result<(), Fault> {
        let not_ours = || Fault::Refused(String::from_utf8_lossy(body).into_owned());
        let value: Value = serde_json::from_slice(body).map_err(|_| not_ours())?;
        if reported_error(&value).is_some() {
            return Err(not_ours());
        }
        match self {
            Self::Anthropic(decoder) => decoder.whole(&value, progress)?,
            Self::OpenAi(decoder) => {
                decoder.event(&value, progress)?;
            }
            Self::Gemini(decoder) => {
                let one = std::slice::from_ref(&value);
                for chunk in value.as_array().map_or(one, Vec::as_slice) {
                    decoder.event(chunk, progress)?;
                }
            }
        }
        if self.has_stop() {
            Ok(())
        } else {
            Err(not_ours())
        }
    }

    /// Whether the provider has said why it stopped, so that the end of the stream is the end of the turn.
    pub fn has_stop(&self) -> bool {
        match self {
            Self::Anthropic(decoder) => decoder.draft.stop.is_some(),
            Self::OpenAi(decoder) => decoder.draft.stop.is_some(),
            Self::Gemini(decoder) => decoder.draft.stop.is_some(),
        }
    }

    /// What has been counted up to now.
    pub fn usage(&self) -> Usage {
        match self {
            Self::Anthropic(decoder) => decoder.draft.usage,
            Self::OpenAi(decoder) => decoder.draft.usage,
            Self::Gemini(decoder) => decoder.draft.usage,
        }
    }

    pub fn into_draft(self) -> Draft {
        match self {
            Self::Anthropic(decoder) => decoder.into_draft(),
            Self::OpenAi(decoder) => decoder.into_draft(),
            Self::Gemini(decoder) => decoder.into_draft(),
        }
    }
}

/// The event, if it reports an error. `"error": null` does not.
fn reported_error(value: &Value) -> Option<String> {
    let first = value
        .as_array()
        .and_then(|items| items.first())
        .unwrap_or(value);
    let error = first
        .get("error")
        .filter(|error| !error.is_null() && **error != Value::Bool(false));
    let word = |key: &str| text_at(first, key).unwrap_or_default();
    let is_named = word("object") == "error" || word("type") == "error";
    let has_code = count_at(first, "/code").is_some_and(|code| (400..600).contains(&code));
    let is_flat =
        is_named || !word("message").is_empty() && (has_code || word("type").ends_with("error"));
    (error.is_some() || is_flat).then(|| value.to_string())
}

/// Adds a piece to a tool call's arguments.
fn add_arguments(arguments: &mut String, piece: &str) -> Result<(), Fault> {
    if arguments.len() + piece.len() > ARGUMENTS_CAP {
        return Err(Fault::Broken(format!(
            "stream broken: the arguments of a tool call are larger than {ARGUMENTS_CAP} bytes"
        )));
    }
    arguments.push_str(piece);
    Ok(())
}

fn text_at<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

fn count_at(value: &Value, path: &str) -> Option<u64> {
    value.pointer(path).and_then(Value::as_u64)
}

/// Blocks that are kept by the index a provider gives them, in the order they began.
type ByIndex = BTreeMap<u64, usize>;
