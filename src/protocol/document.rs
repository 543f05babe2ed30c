//! `outrigger/document/*`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `outrigger/document/read`: the text behind a URI of ours.
///
/// `outrigger:/question/<questionId>/base|current|proposed`: the three sides of an overwrite.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadParams {
    pub uri: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadResult {
    pub uri: String,
    pub text: String,
}

/// `outrigger/document/save`, a request to the client: save this open document now, without asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SaveParams {
    pub uri: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SaveResult {
    pub saved: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
