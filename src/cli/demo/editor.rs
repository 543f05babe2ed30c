//! The editor that the demo plays: open documents with versions, edited and saved as an editor does it.
//!
//! An edit for a version that is no longer there is refused, as real editors do.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ropey::Rope;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::kernel::document::{
    ClientPosition, DocumentChange, PositionEncoding, apply_changes, char_index,
};
use crate::kernel::file::OpenDocument;

const IN_PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// A `file:` URI of an absolute path.
pub fn file_uri(path: &Path) -> String {
    let path = path
        .to_string_lossy()
        .replace(std::path::MAIN_SEPARATOR, "/");
    let slash = if path.starts_with('/') { "" } else { "/" };
    format!("file://{slash}{}", utf8_percent_encode(&path, IN_PATH))
}

/// Open documents by URI.
#[derive(Debug)]
pub struct Editor {
    pub encoding: PositionEncoding,
    documents: BTreeMap<String, (PathBuf, OpenDocument)>,
}

/// A range as LSP has it.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Range {
    start: Place,
    end: Place,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct Place {
    line: u32,
    character: u32,
}

impl From<Place> for ClientPosition {
    fn from(place: Place) -> Self {
        Self {
            line: place.line,
            column: place.character,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ApplyEdit {
    edit: WorkspaceEdit,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WorkspaceEdit {
    document_changes: Vec<DocumentEdit>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DocumentEdit {
    text_document: Versioned,
    edits: Vec<TextEdit>,
}

#[derive(Deserialize)]
struct Versioned {
    uri: String,
    version: Option<i32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TextEdit {
    range: Range,
    new_text: String,
}

/// A document that an edit has changed.
#[derive(Debug)]
pub struct Edited {
    pub path: PathBuf,
    pub version: i32,
    /// The params of `textDocument/didChange`.
    pub did_change: Value,
}

impl Editor {
    pub fn new(encoding: PositionEncoding) -> Self {
        Self {
            encoding,
            documents: BTreeMap::new(),
        }
    }

    /// Opens a document with a text that need not be the one on disk. Gives the params of `textDocument/didOpen`.
    pub fn open(&mut self, path: &Path, language: &str, text: &str) -> Value {
        let uri = file_uri(path);
        let document = OpenDocument {
            uri: uri.clone(),
            version: 1,
            text: Rope::from_str(text),
            dirty: true,
            saved: None,
        };
        self.documents
            .insert(uri.clone(), (path.to_owned(), document));
        json!({ "textDocument": { "uri": uri, "languageId": language, "version": 1, "text": text } })
    }

    pub fn text(&self, path: &Path) -> Option<String> {
        let (_, document) = self.documents.get(&file_uri(path))?;
        Some(document.text.to_string())
    }

    /// The text at a range of a document.
    pub fn text_at(&self, uri: &str, range: Range) -> Option<String> {
        let (_, document) = self.documents.get(uri)?;
        let at = |place: Place| char_index(&document.text, place.into(), self.encoding);
        let (start, end) = (at(range.start), at(range.end));
        Some(document.text.get_slice(start..end)?.to_string())
    }

    /// Carries out the params of `workspace/applyEdit`, all of it or nothing.
    ///
    /// # Errors
    /// Why the edit is refused.
    pub fn apply(&mut self, params: &Value) -> Result<Vec<Edited>, String> {
        let wanted = ApplyEdit::deserialize(params)
            .map_err(|error| format!("the edit is not one of document versions: {error}"))?;
        for change in &wanted.edit.document_changes {
            let Versioned { uri, version } = &change.text_document;
            let (_, document) = self
                .documents
                .get(uri)
                .ok_or_else(|| format!("{uri} is not open"))?;
            if version.is_some_and(|version| version != document.version) {
                return Err(format!(
                    "{uri} has moved on to version {}",
                    document.version
                ));
            }
        }
        let mut edited = Vec::new();
        for change in wanted.edit.document_changes {
            edited.push(self.change(change)?);
        }
        Ok(edited)
    }

    fn change(&mut self, mut wanted: DocumentEdit) -> Result<Edited, String> {
        let uri = wanted.text_document.uri;
        let (path, document) = self
            .documents
            .get_mut(&uri)
            .ok_or_else(|| format!("{uri} is not open"))?;
        // All ranges are of the text as it was: from the end towards the start none of them moves.
        wanted.edits.sort_by_key(|edit| {
            std::cmp::Reverse((edit.range.start.line, edit.range.start.character))
        });
        let mut said = Vec::new();
        for edit in wanted.edits {
            let Range { start, end } = edit.range;
            said.push(json!({
                "range": {
                    "start": { "line": start.line, "character": start.character },
                    "end": { "line": end.line, "character": end.character },
                },
                "text": edit.new_text,
            }));
            let change = DocumentChange::Range {
                start: start.into(),
                end: end.into(),
                text: edit.new_text,
            };
            apply_changes(document, &[change], self.encoding).map_err(|error| error.to_string())?;
        }
        document.version += 1;
        document.dirty = true;
        Ok(Edited {
            path: path.clone(),
            version: document.version,
            did_change: json!({
                "textDocument": { "uri": uri, "version": document.version },
                "contentChanges": said,
            }),
        })
    }

    /// Writes a document to its file. Gives its path.
    ///
    /// # Errors
    /// It is not open, or its file cannot be written.
    pub fn save(&mut self, uri: &str) -> io::Result<PathBuf> {
        let (path, document) = self
            .documents
            .get_mut(uri)
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("{uri} is not open")))?;
        fs::write(&path, document.text.to_string())?;
        document.dirty = false;
        Ok(path.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(version: i32, edits: &Value) -> Value {
        let uri = file_uri(Path::new("/w/a é.rs"));
        json!({ "label": "x", "edit": { "documentChanges": [
            { "textDocument": { "uri": uri, "version": version }, "edits": edits },
        ] } })
    }

    fn at(line: u32, from: u32, to: u32, text: &str) -> Value {
        json!({
            "range": { "start": { "line": line, "character": from }, "end": { "line": line, "character": to } },
            "newText": text,
        })
    }

    #[test]
    fn edits_are_of_the_text_as_it_was() {
        let path = Path::new("/w/a é.rs");
        let mut editor = Editor::new(PositionEncoding::Utf16);
        let opened = editor.open(path, "rust", "é😀b\ncd\n");
        assert_eq!(opened["textDocument"]["uri"], "file:///w/a%20%C3%A9.rs");
        let edits = json!([at(0, 0, 0, "new\n"), at(0, 3, 4, "B"), at(1, 2, 2, "!")]);
        let edited = editor.apply(&edit(1, &edits)).unwrap();
        assert_eq!(editor.text(path).unwrap(), "new\né😀B\ncd!\n");
        assert_eq!(edited[0].version, 2);
        // What is said to the server makes the same text, in the order in which it is said.
        let mut other = Editor::new(PositionEncoding::Utf16);
        other.open(path, "rust", "é😀b\ncd\n");
        for change in edited[0].did_change["contentChanges"].as_array().unwrap() {
            let version = other.documents[&file_uri(path)].1.version;
            let one = json!([{ "range": change["range"], "newText": change["text"] }]);
            other.apply(&edit(version, &one)).unwrap();
        }
        assert_eq!(other.text(path), editor.text(path));
    }

    #[test]
    fn an_edit_of_another_version_changes_nothing() {
        let path = Path::new("/w/a é.rs");
        let mut editor = Editor::new(PositionEncoding::Utf8);
        editor.open(path, "rust", "a\n");
        assert!(editor.apply(&edit(7, &json!([at(0, 0, 1, "b")]))).is_err());
        assert_eq!(editor.text(path).unwrap(), "a\n");
    }
}
