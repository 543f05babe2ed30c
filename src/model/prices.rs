//! What models cost and take: data with a date, and arithmetic on it.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kernel::conversation::Usage;

/// What is known about a model.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFacts {
    provider: String,
    prefix: String,
    price: Price,
    #[serde(default)]
    long_context: Option<LongContext>,
    #[serde(default)]
    pub context_window: Option<u64>,
    #[serde(default)]
    pub max_output: Option<u32>,
}

/// US dollars for a million tokens, which is the same as millionths of a dollar for one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// As dear as input where the provider has no price of its own.
    #[serde(default)]
    pub cache_read: Option<f64>,
    /// As dear as input where the provider has no price of its own.
    #[serde(default)]
    pub cache_write: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
struct LongContext {
    above: u64,
    #[serde(flatten)]
    price: Price,
}

#[derive(Deserialize)]
struct Table {
    date: String,
    model: Vec<ModelFacts>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    toml::from_str(include_str!("prices.toml")).unwrap_or_else(|_| Table {
        date: String::new(),
        model: Vec::new(),
    })
});

/// The day the prices were looked up, as `YYYY-MM-DD`.
pub fn date() -> &'static str {
    &TABLE.date
}

/// The row of a model; a model behind a gateway (`openrouter/anthropic/…`) has none, because the gateway sets the price.
pub fn facts(provider: &str, model: &str) -> Option<&'static ModelFacts> {
    TABLE
        .model
        .iter()
        .filter(|row| row.provider == provider && model.starts_with(&row.prefix))
        .max_by_key(|row| row.prefix.len())
}

/// What a call cost, in millionths of a US dollar. `None` for a model without a price; zero for scripts, replays and
/// models on this machine.
pub fn cost_micros(model: &str, usage: &Usage) -> Option<u64> {
    if model.starts_with("scripted:") || model.starts_with("replay:") {
        return Some(0);
    }
    let (provider, name) = model.split_once('/')?;
    if super::endpoint::providers()
        .iter()
        .any(|known| known.local && known.name == provider)
    {
        return Some(0);
    }
    let row = facts(provider, name)?;
    let price = row
        .long_context
        .filter(|long| usage.input > long.above)
        .map_or(row.price, |long| long.price);
    Some(price.micros(usage))
}

impl Price {
    /// What a call cost, in millionths of a US dollar.
    pub fn micros(&self, usage: &Usage) -> u64 {
        let fresh = usage
            .input
            .saturating_sub(usage.cache_read)
            .saturating_sub(usage.cache_write);
        let micros = tokens(fresh) * self.input
            + tokens(usage.cache_read) * self.cache_read.unwrap_or(self.input)
            + tokens(usage.cache_write) * self.cache_write.unwrap_or(self.input)
            + tokens(usage.output) * self.output;
        // From above and at zero: a price that somebody wrote may be negative or no number.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let micros = micros.round() as u64;
        micros
    }
}

#[allow(clippy::cast_precision_loss)] // Far below 2^52.
fn tokens(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_model_has_a_price_and_a_window() {
        for provider in crate::model::endpoint::providers() {
            let Some(model) = &provider.default_model else {
                continue;
            };
            if provider.name != "openrouter" {
                let facts = facts(&provider.name, model).expect(model);
                assert!(facts.context_window.is_some(), "{model}");
            }
        }
    }

    #[test]
    fn costs_follow_the_table() {
        assert!(date().len() == 10 && TABLE.model.len() > 20);
        let usage = Usage {
            input: 1_000_000,
            output: 100_000,
            cache_read: 600_000,
            cache_write: 100_000,
            reasoning: 0,
        };
        let table = [
            (
                "anthropic/claude-sonnet-4-5-20250929",
                Some(900_000 + 180_000 + 375_000 + 1_500_000),
            ),
            (
                "openai/gpt-5-mini",
                Some(75_000 + 15_000 + 25_000 + 200_000),
            ),
            (
                "gemini/gemini-2.5-pro",
                Some(750_000 + 150_000 + 250_000 + 1_500_000),
            ),
            ("ollama/qwen3:8b", Some(0)),
            ("scripted:demo", Some(0)),
            ("openrouter/anthropic/claude-sonnet-4.5", None),
            ("nobody", None),
        ];
        for (model, micros) in table {
            assert_eq!(cost_micros(model, &usage), micros, "{model}");
        }
    }
}
