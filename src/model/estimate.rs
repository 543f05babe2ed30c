//! How many tokens a text will be, before a provider has counted them.
//!
//! No tokenizer of any one family: letters of alphabets come about four to a token, digits, signs and white space about
//! two, and ideographs about one. [`Calibration`] corrects that by what the provider reports.

use crate::kernel::conversation::{Block, ModelRequest};

use super::ToolSpec;

/// Tokens that frame one message or block on every wire.
const FRAME: u64 = 4;
/// What providers count for one image of a usual size.
const IMAGE: u64 = 1500;

/// What a request is thought to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    pub tokens: u64,
    /// Whether the model has reported counts by which the estimate was corrected.
    pub is_calibrated: bool,
}

/// The estimate for a text alone.
pub fn estimate_text(text: &str) -> u64 {
    // In twelfths of a token, so that the sum is exact.
    let twelfths: u64 = text
        .chars()
        .map(|letter| match letter {
            'a'..='z' | 'A'..='Z' => 3,
            ' ' => 2,
            _ if letter.is_ascii() => 5,
            '\u{80}'..='\u{24ff}' => 6,
            _ => 12,
        })
        .sum();
    twelfths.div_ceil(12)
}

/// The estimate for a whole request, the tools' schemas included.
pub fn estimate_request(request: &ModelRequest, tools: &[ToolSpec]) -> u64 {
    let offered = tools
        .iter()
        .filter(|tool| request.tools.contains(&tool.name));
    let tools: u64 = offered
        .map(|tool| {
            FRAME
                + estimate_text(&tool.name)
                + estimate_text(&tool.description)
                + estimate_text(&tool.schema.to_string())
        })
        .sum();
    let messages: u64 = request
        .messages
        .iter()
        .map(|message| FRAME + message.blocks.iter().map(estimate_block).sum::<u64>())
        .sum();
    estimate_text(&request.system) + tools + messages
}

fn estimate_block(block: &Block) -> u64 {
    match block {
        Block::Text { text, .. }
        | Block::Thinking { text, .. }
        | Block::ToolResult { text, .. } => FRAME + estimate_text(text),
        Block::Image { .. } => IMAGE,
        Block::ToolCall(call) => FRAME + estimate_text(&call.name) + estimate_text(&call.arguments),
        Block::Opaque { raw } => FRAME + estimate_text(raw),
    }
}

/// How far a model's own counts are from the estimate, learnt from the usage it reports.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    ratio: f64,
}

impl Default for Calibration {
    fn default() -> Self {
        Self { ratio: 1.0 }
    }
}

impl Calibration {
    /// Takes one pair in. Short requests say little and are left out; a ratio far off is a count of something else.
    pub fn learn(&mut self, estimated: u64, reported: u64) {
        if estimated < 50 || reported == 0 {
            return;
        }
        let ratio = as_float(reported) / as_float(estimated);
        if (0.3..=4.0).contains(&ratio) {
            self.ratio += (ratio - self.ratio) * 0.5;
        }
    }

    pub fn apply(&self, estimated: u64) -> u64 {
        let tokens = (as_float(estimated) * self.ratio).ceil();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        // Finite and not negative: both factors are.
        let tokens = tokens as u64;
        tokens
    }
}

#[allow(clippy::cast_precision_loss)] // Token counts stay far below 2^52.
fn as_float(count: u64) -> f64 {
    count as f64
}
