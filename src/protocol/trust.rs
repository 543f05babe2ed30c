//! `outrigger/trust`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `outrigger/trust`: the editor has asked its user whether what a folder says is run may be run. Said at the start as
/// `initializationOptions.trusted`, later on by this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustParams {
    pub trusted: bool,
    /// URI, path or last name of a workspace folder. Left out: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustResult {
    pub trusted: bool,
}
