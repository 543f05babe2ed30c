//! `outrigger/models/*`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kernel::conversation::ModelErrorKind;

/// `outrigger/models/list`: what can answer, what is reachable, and what to set where nothing is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ListParams {
    /// Ask nobody but this machine. Otherwise each configured provider gets a request that costs nothing.
    pub offline: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListResult {
    /// The model of a run that names none; missing when nothing is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<ChosenModel>,
    /// The model that takes over when it cannot be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_model: Option<String>,
    /// In the order of choice.
    pub providers: Vec<Provider>,
    /// The day of the table of prices, as `YYYY-MM-DD`.
    pub prices_of: String,
    /// For people, when nothing is configured: how to get going.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChosenModel {
    pub model: String,
    /// Why it was taken, for people.
    pub because: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Provider {
    pub provider: String,
    pub state: ProviderState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Models that can be named: what it lists, else what is known of it.
    pub models: Vec<Model>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// As a run takes it: `provider/model`.
    pub name: String,
    /// Tokens of prompt and answer together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// Whether a call's cost is known; else its tokens alone are counted.
    pub is_priced: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum ProviderState {
    /// A key is there.
    Configured { key: KeySource, reach: Reach },
    /// A server on this machine answers.
    Reachable,
    /// A server on this machine does not answer.
    NotRunning,
    /// What to set: any of these variables.
    Missing { set: Vec<String> },
    /// The settings cannot be used: why.
    Unusable { why: String },
}

/// Where a key is, never what it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "from")]
pub enum KeySource {
    Environment {
        variable: String,
    },
    /// An editor handed it over, see `outrigger/models/key`.
    Editor,
    Keyring,
    /// A header of the settings stands in for it.
    Header,
}

/// What came of asking a provider for its list of models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum Reach {
    NotTried,
    Answers,
    Fails {
        kind: ModelErrorKind,
        /// For people.
        advice: String,
    },
}

/// `outrigger/models/key`: hands over a provider's key from the editor's secret store. It is kept in memory only, is part of
/// no log and no file, counts before all others, and ends with the process: hand it over again after each start.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyParams {
    /// `anthropic`, `openai`, or a name from the user's settings.
    pub provider: String,
    /// Missing or empty: forget it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl std::fmt::Debug for KeyParams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyParams")
            .field("provider", &self.provider)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyResult {
    pub provider: String,
    /// Whether there is a key from an editor now.
    pub held: bool,
}
