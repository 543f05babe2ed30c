//! `outrigger/settings/list`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `outrigger/settings/list`: what holds now, and where each value comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ListParams {
    /// The workspace folder, by its URI, path or last name; may be left out where only one is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListResult {
    /// By name. Left out: what only the user's own file may say, where secrets can be.
    pub settings: Vec<Setting>,
    /// What is wrong with any, for people. It was left out; everything else holds.
    pub problems: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Setting {
    /// `budget.tokens`
    pub name: String,
    pub value: Value,
    /// For people: `default`, `outrigger.toml:3`, `$OUTRIGGER_MODEL`, `editor settings`.
    pub origin: String,
}
