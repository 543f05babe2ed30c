//! What each side offers, under `capabilities.experimental.outrigger` of `initialize` and of its result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the client takes. Left out: nothing; everything is then done by plain LSP.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientOffer {
    /// Version of the contract the client was written against.
    pub version: u32,
    /// Takes `outrigger/run/event`.
    pub events: bool,
    /// Shows questions itself and takes `outrigger/question/opened` and `outrigger/question/resolved`; it is then not asked
    /// by `window/showMessageRequest`.
    pub questions: bool,
    /// Answers `outrigger/document/save`.
    pub save: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerOffer {
    pub version: u32,
    /// The custom requests the server answers.
    pub methods: Vec<String>,
}
