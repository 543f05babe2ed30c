//! Paths inside the workspace, as data: relative, normalised, never outside.
//!
//! A [`RelPath`] says nothing about the disk: symlinks and special files are looked at where a file is opened.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A file of the workspace: components joined by `/`, no empty, `.` or `..` component, never absolute, at least one
/// component, nothing under `.git`. The bytes of each name stay as given: no case or Unicode folding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct RelPath(String);

/// Why a text is not a path inside the workspace. Completes "failed to use the path: ".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PathRefusal {
    #[error("it is empty")]
    Empty,
    #[error("`{0}` is outside the workspace; give a path relative to the workspace root")]
    Outside(String),
    #[error("`{0}` is inside .git, which only git may touch")]
    GitFolder(String),
    #[error("`{0}` contains a NUL or line break")]
    Unprintable(String),
}

impl RelPath {
    /// Reads `text` as a path relative to the workspace root. `\` separates on no platform: it is a letter of a name on Unix.
    ///
    /// # Errors
    /// Absolute paths, drive letters, `~/`, `..` that leaves the root, `.git` and control characters are refused.
    pub fn parse(text: &str) -> Result<Self, PathRefusal> {
        if text.is_empty() {
            return Err(PathRefusal::Empty);
        }
        if text.chars().any(|c| c == '\0' || c == '\n' || c == '\r') {
            return Err(PathRefusal::Unprintable(text.escape_debug().to_string()));
        }
        if text.starts_with('/')
            || text.starts_with("\\\\")
            || text == "~"
            || text.starts_with("~/")
            || has_drive(text)
        {
            return Err(PathRefusal::Outside(text.to_owned()));
        }
        let mut parts: Vec<&str> = Vec::new();
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    if parts.pop().is_none() {
                        return Err(PathRefusal::Outside(text.to_owned()));
                    }
                }
                name => parts.push(name),
            }
        }
        if parts.is_empty() {
            return Err(PathRefusal::Empty);
        }
        if parts.iter().any(|part| part.eq_ignore_ascii_case(".git")) {
            return Err(PathRefusal::GitFolder(text.to_owned()));
        }
        let path = parts.join("/");
        // `./C:/x` must not become what is refused when it is read again.
        if has_drive(&path) {
            return Err(PathRefusal::Outside(text.to_owned()));
        }
        Ok(Self(path))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last component.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    pub fn components(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }
}

/// `C:`, `C:/x`, `C:\\x`: a place on another system's drive. `c:x` is a name like any other.
fn has_drive(text: &str) -> bool {
    let mut chars = text.chars();
    matches!(
        (chars.next(), chars.next(), chars.next()),
        (Some(letter), Some(':'), None | Some('/' | '\\')) if letter.is_ascii_alphabetic()
    )
}

impl std::fmt::Display for RelPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for RelPath {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_judged_by_component() {
        let good = [
            ("a.rs", "a.rs"),
            ("./src//a b#%.rs", "src/a b#%.rs"),
            ("a/../b", "b"),
            ("..a/b", "..a/b"),
            ("-x", "-x"),
            ("a\\b", "a\\b"),
            ("é/漢😀", "é/漢😀"),
            (".github/x", ".github/x"),
            ("a:b", "a:b"),
            ("c:x/y", "c:x/y"),
            ("é:/x", "é:/x"),
            ("ab:/x", "ab:/x"),
            ("x/C:", "x/C:"),
        ];
        for (text, want) in good {
            assert_eq!(
                RelPath::parse(text).map(|path| path.to_string()),
                Ok(want.to_owned()),
                "{text}"
            );
        }
        for text in [
            "",
            ".",
            "a/..",
            "..",
            "a/../../b",
            "/etc/passwd",
            "~",
            "~/x",
            "C:",
            "c:/",
            "C:/x",
            "C:\\x",
            "./C:/x",
            "a/../C:",
            "\\\\host\\share",
            ".git",
            "a/.GIT/config",
            "a\0b",
            "a\nb",
        ] {
            assert!(RelPath::parse(text).is_err(), "{text:?}");
        }
    }
}
