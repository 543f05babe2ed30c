//! Whether what a workspace says is run may be run.
//!
//! Somebody has to say so once: the editor, which asks its user itself, or `outrigger trust` for the files as they are now.
//! Where nobody has said anything, a workspace that brings no file of ours is worked on as its user asks, as `make` would;
//! what its `outrigger.toml` says is run or permitted does not hold.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WORKSPACE_FILE;
use crate::kernel::hash::ContentHash;

/// Files of a workspace whose content says what is run.
pub const FILES: [&str; 2] = [WORKSPACE_FILE, ".vscode/tasks.json"];

/// Tables of `outrigger.toml` that say what is run, or what is done unasked.
pub const POWERFUL: [&str; 2] = ["gate", "policy"];

/// Which folders are trusted that nobody has said anything about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TrustRule {
    /// Those whose own files say nothing that is run.
    #[default]
    Plain,
    /// None.
    Never,
    /// All of them: for containers and CI.
    Always,
}

/// What holds for a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// Somebody said so.
    Trusted,
    /// Nobody has said anything, and nothing speaks against it.
    Plain,
    /// Why not, and what to do: for people.
    Untrusted(String),
}

impl Trust {
    /// Why nothing of the workspace is run.
    pub fn refusal(&self) -> Option<&str> {
        match self {
            Self::Untrusted(why) => Some(why),
            Self::Trusted | Self::Plain => None,
        }
    }
}

/// What is known when it is decided.
#[derive(Debug, Clone, Copy)]
pub struct Said<'a> {
    pub editor: Option<bool>,
    pub rule: TrustRule,
    /// What `outrigger trust` was said of.
    pub trusted: Option<&'a str>,
    /// What the files are now.
    pub now: &'a str,
    /// Whether `outrigger.toml` says what is run or permitted.
    pub is_powerful: bool,
}

const READ_AND_TRUST: &str =
    "read it, then run `outrigger trust` or trust the folder in your editor";

pub fn decide(said: &Said<'_>) -> Trust {
    match said.editor {
        Some(true) => return Trust::Trusted,
        Some(false) => {
            return Trust::Untrusted(
                "your editor does not trust this folder; trust it there".to_owned(),
            );
        }
        None => {}
    }
    if said.rule == TrustRule::Always || said.trusted == Some(said.now) {
        return Trust::Trusted;
    }
    if said.is_powerful {
        let what = if said.trusted.is_some() {
            "has changed since you trusted this folder"
        } else {
            "says what is run here, and nobody has trusted this folder"
        };
        return Trust::Untrusted(format!("{WORKSPACE_FILE} {what}; {READ_AND_TRUST}"));
    }
    if said.rule == TrustRule::Never && said.trusted.is_none() {
        return Trust::Untrusted(
            "nobody has trusted this folder; run `outrigger trust` or trust it in your editor"
                .to_owned(),
        );
    }
    Trust::Plain
}

/// The hash of the files that say what is run; those that are not there count as such.
pub fn hash(root: &Path) -> String {
    let mut all = Vec::new();
    for name in FILES {
        let bytes = fs::read(root.join(name)).ok();
        all.extend_from_slice(format!("{name} {:?}\n", bytes.as_ref().map(Vec::len)).as_bytes());
        all.extend(bytes.unwrap_or_default());
    }
    ContentHash::of(&all).to_string()
}

/// What `outrigger trust` has written for a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustFile(pub PathBuf);

impl TrustFile {
    pub fn read(&self) -> Option<String> {
        let text = fs::read_to_string(&self.0).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// # Errors
    /// It cannot be written.
    pub fn write(&self, hash: &str) -> io::Result<()> {
        fs::write(&self.0, format!("{hash}\n"))
    }

    /// # Errors
    /// It cannot be removed.
    pub fn forget(&self) -> io::Result<()> {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_says_what_decides() {
        use TrustRule::{Always, Never, Plain};
        // Editor, rule, trusted, powerful => trusted, plain, or a word of the reason.
        for (editor, rule, trusted, is_powerful, want) in [
            (Some(true), Never, None, true, "trusted"),
            (Some(false), Always, Some("now"), false, "your editor"),
            (None, Plain, None, false, "plain"),
            (None, Plain, None, true, "nobody has trusted"),
            (None, Plain, Some("now"), true, "trusted"),
            (None, Plain, Some("before"), true, "has changed"),
            (None, Plain, Some("before"), false, "plain"),
            (None, Never, None, false, "nobody has trusted"),
            (None, Never, Some("now"), false, "trusted"),
            (None, Always, Some("before"), true, "trusted"),
        ] {
            let trust = decide(&Said {
                editor,
                rule,
                trusted,
                now: "now",
                is_powerful,
            });
            let got = match &trust {
                Trust::Trusted => "trusted",
                Trust::Plain => "plain",
                Trust::Untrusted(why) => why,
            };
            assert!(
                got.contains(want),
                "{got} for {editor:?} {rule:?} {trusted:?} {is_powerful}"
            );
        }
    }

    #[test]
    fn a_changed_or_a_new_file_is_another_hash() {
        let folder = tempfile::tempdir().unwrap();
        let empty = hash(folder.path());
        fs::write(folder.path().join(WORKSPACE_FILE), "").unwrap();
        let there = hash(folder.path());
        fs::write(folder.path().join(WORKSPACE_FILE), "x").unwrap();
        assert!(empty != there && there != hash(folder.path()));
    }
}
