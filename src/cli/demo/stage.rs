//! The demo's stage: which part of the sidecar's messages are about what, read into plain data.

use serde::Deserialize;
use serde_json::Value;

use super::editor::Range;

/// `textDocument/publishDiagnostics`.
#[derive(Debug, Deserialize)]
pub struct Published {
    pub uri: String,
    pub diagnostics: Vec<Diagnostic>,
}

#[derive(Debug, Deserialize)]
pub struct Diagnostic {
    pub range: Range,
    #[serde(default)]
    pub code: Value,
    #[serde(default)]
    pub source: String,
    pub message: String,
}

/// `$/progress`, of work that is done.
#[derive(Debug, Deserialize)]
pub struct Progress {
    pub token: Value,
    pub value: ProgressValue,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ProgressValue {
    Begin(Shown),
    Report(Shown),
    End {},
}

#[derive(Debug, Deserialize)]
pub struct Shown {
    #[serde(default)]
    pub message: Option<String>,
    #[serde(default)]
    pub percentage: Option<u32>,
}

impl Shown {
    /// ` 33% editing`; nothing where there is nothing to show.
    pub fn line(&self) -> Option<String> {
        let message = self
            .message
            .as_deref()
            .filter(|message| !message.is_empty())?;
        Some(match self.percentage {
            Some(percentage) => format!("{percentage:>3}% {message}"),
            None => message.to_owned(),
        })
    }
}
