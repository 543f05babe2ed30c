//! `outrigger/editor/*`: what the user does in the editor, for the model's context.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kernel::view::ViewedDocument;

/// `outrigger/editor/view`: what the user looks at now, whole each time. Send it when that has changed, not at each key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ViewParams {
    /// The workspace folder, by its URI, path or last name, where several are open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Those of the workspace that are open; the one in which the user works comes first.
    pub documents: Vec<ViewedDocument>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ViewResult {}
