//! Files as the kernel sees them: what is there now, what open documents lie over it, and what a write is meant to do.

use std::collections::BTreeMap;
use std::sync::Arc;

use ropey::Rope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hash::ContentHash;
use super::path::RelPath;

/// An open document of the editor, as a cheap snapshot. Its text is the truth over the disk.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenDocument {
    /// The URI as the client spells it; everything sent to the client about this file uses it.
    pub uri: String,
    pub version: i32,
    pub text: Rope,
    /// The text differs from what the editor last read or saved, as far as we were told.
    pub dirty: bool,
    /// Hash of the bytes on disk when the editor last read or saved the file; `None` when it was not there or is not known.
    pub saved: Option<ContentHash>,
}

/// All open documents of the workspace by path; cloned into each effect that reads files.
pub type Overlay = Arc<BTreeMap<RelPath, OpenDocument>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Encoding {
    Utf8,
    /// UTF-8 with a byte order mark.
    Utf8Bom,
    /// UTF-16 with a byte order mark.
    Utf16Le,
    Utf16Be,
}

impl Encoding {
    /// The bytes that `text` makes on disk, byte order mark included.
    pub fn encode(self, text: &str) -> Vec<u8> {
        match self {
            Self::Utf8 => text.as_bytes().to_vec(),
            Self::Utf8Bom => [b"\xEF\xBB\xBF", text.as_bytes()].concat(),
            Self::Utf16Le => std::iter::once(0xFEFF)
                .chain(text.encode_utf16())
                .flat_map(u16::to_le_bytes)
                .collect(),
            Self::Utf16Be => std::iter::once(0xFEFF)
                .chain(text.encode_utf16())
                .flat_map(u16::to_be_bytes)
                .collect(),
        }
    }
}

/// Where the current text of a file was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TextSource {
    Disk,
    /// An open document that equals the disk.
    CleanDocument,
    /// An open document with unsaved text.
    UnsavedDocument,
}

/// A text file as it is now: the open document's text where there is one, else the disk's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextNow {
    /// Without BOM, line endings as they are.
    pub text: Arc<str>,
    /// Hash of the bytes that `text` makes in `encoding`.
    pub hash: ContentHash,
    pub encoding: Encoding,
    pub source: TextSource,
    /// Hash of the bytes on disk; `None` when the file is not there.
    pub disk: Option<ContentHash>,
    /// There are two truths: unsaved text here, and on disk bytes that the editor has not read.
    #[serde(default)]
    pub newer_disk: bool,
}

/// What is at a path now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum FileNow {
    Absent {
        /// Names of existing files that look like the one asked for.
        #[serde(default)]
        nearest: Vec<RelPath>,
    },
    Text(TextNow),
    /// Bytes that are no text we can edit without loss, or too many of them.
    Opaque {
        hash: Option<ContentHash>,
        size: u64,
        reason: String,
    },
    /// A folder, a special file, a link out of the workspace, no permission.
    Refused {
        reason: String,
    },
}

impl FileNow {
    /// Hash of what is there; `None` when nothing is.
    pub fn hash(&self) -> Option<&ContentHash> {
        match self {
            Self::Text(now) => Some(&now.hash),
            Self::Opaque { hash, .. } => hash.as_ref(),
            Self::Absent { .. } | Self::Refused { .. } => None,
        }
    }
    pub fn text(&self) -> Option<&TextNow> {
        match self {
            Self::Text(now) => Some(now),
            Self::Absent { .. } | Self::Opaque { .. } | Self::Refused { .. } => None,
        }
    }
}

/// What a change does to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum NewContent {
    /// The whole new text, without BOM, line endings as they shall be.
    Text {
        text: Arc<str>,
        encoding: Encoding,
    },
    Deleted,
}

impl NewContent {
    /// Hash of what will be there; `None`: nothing.
    pub fn hash(&self) -> Option<ContentHash> {
        match self {
            Self::Text { text, encoding } => Some(ContentHash::of(&encoding.encode(text))),
            Self::Deleted => None,
        }
    }
}

/// A write, with the condition under which it may happen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteOrder {
    pub path: RelPath,
    /// Hash of what must be there for the write to happen; `None`: nothing may be there.
    pub expected: Option<ContentHash>,
    pub content: NewContent,
}

/// How a write ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "result")]
pub enum WriteOutcome {
    /// `after` is the hash of the new bytes (`None`: deleted), `through` says who wrote.
    Written {
        before: Option<ContentHash>,
        after: Option<ContentHash>,
        through: WrittenThrough,
    },
    /// Something else is there than was expected; nothing was written.
    Changed,
    /// The write failed and nothing was changed. For people.
    Failed { error: String },
    /// We were cut off and cannot tell; the file must be looked at.
    Unknown { error: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WrittenThrough {
    /// An atomic replacement on disk.
    Disk,
    /// An edit of the open document, which the editor then saved.
    EditorSaved,
    /// An edit of the open document in an editor that cannot save on request; the same bytes were then written on disk.
    EditorAndDisk,
    /// An edit of the open document whose text is not on disk: `error` of saving is in the run's log.
    EditorUnsaved,
}
