//! Open documents as an editor keeps them: text, version, and edits in the negotiated position encoding. Written apart
//! from the server's own, so that each checks the other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Editor;

/// The documents that are open in a test's editor.
#[derive(Debug, Default)]
pub struct Documents {
    open: BTreeMap<String, Document>,
    /// `utf-8`, `utf-16` or `utf-32`.
    pub encoding: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub path: PathBuf,
    pub version: i64,
    pub text: String,
}

impl Editor {
    /// Opens a file with this text, whatever the disk holds; gives its URI.
    pub fn open(&mut self, path: &Path, text: &str) -> String {
        let uri = format!("file://{}", path.display());
        self.open_as(&uri, path, text);
        uri
    }

    /// As [`Self::open`], under a URI of the test's choice.
    pub fn open_as(&mut self, uri: &str, path: &Path, text: &str) {
        let document = Document {
            path: path.to_owned(),
            version: 1,
            text: text.to_owned(),
        };
        self.documents.open.insert(uri.to_owned(), document);
        let item = json!({"uri": uri, "languageId": "text", "version": 1, "text": text});
        self.notify("textDocument/didOpen", json!({ "textDocument": item }));
    }

    /// Replaces the first occurrence of `old`, as if typed.
    pub fn type_over(&mut self, uri: &str, old: &str, new: &str) {
        let document = self.documents.get(uri);
        let start = document
            .text
            .find(old)
            .expect("the text to replace is there");
        let encoding = &self.documents.encoding;
        let range = json!({
            "start": position(&document.text, start, encoding),
            "end": position(&document.text, start + old.len(), encoding),
        });
        self.change(uri, &[json!({"range": range, "newText": new})]);
    }

    pub fn close(&mut self, uri: &str) {
        self.documents.open.remove(uri);
        self.notify(
            "textDocument/didClose",
            json!({"textDocument": {"uri": uri}}),
        );
    }

    pub fn document(&self, uri: &str) -> Document {
        self.documents.get(uri).clone()
    }

    /// Makes the edits, each in positions of the text before all of them, and tells the server.
    fn change(&mut self, uri: &str, edits: &[Value]) {
        let encoding = self.documents.encoding.clone();
        let document = self
            .documents
            .open
            .get_mut(uri)
            .expect("the document is open");
        let mut edits = edits.to_vec();
        let start = |edit: &Value| {
            let start = &edit["range"]["start"];
            (start["line"].as_u64(), start["character"].as_u64())
        };
        edits.sort_by_key(start);
        let mut changes = Vec::new();
        for edit in edits.iter().rev() {
            let from = offset(&document.text, &edit["range"]["start"], &encoding);
            let to = offset(&document.text, &edit["range"]["end"], &encoding);
            let new = edit["newText"].as_str().expect("an edit has a text");
            document.text.replace_range(from..to, new);
            changes.push(json!({"range": edit["range"], "text": new}));
        }
        document.version += 1;
        let identifier = json!({"uri": uri, "version": document.version});
        let params = json!({"textDocument": identifier, "contentChanges": changes});
        self.notify("textDocument/didChange", params);
    }

    /// Does what an editor does on `workspace/applyEdit`: edits only the version that is meant.
    pub fn apply_edit(&mut self, request: &Value) {
        let change = request["params"]["edit"]["documentChanges"][0].clone();
        let uri = change["textDocument"]["uri"]
            .as_str()
            .expect("a URI")
            .to_owned();
        let version = self.documents.get(&uri).version;
        if change["textDocument"]["version"] != version {
            let why = "the document is newer";
            return self.respond(request, json!({"applied": false, "failureReason": why}));
        }
        let edits = change["edits"].as_array().expect("edits").clone();
        self.change(&uri, &edits);
        self.respond(request, json!({"applied": true}));
    }

    /// Does what our extension does on `outrigger/document/save`.
    pub fn save(&mut self, request: &Value) {
        let uri = request["params"]["uri"].as_str().expect("a URI").to_owned();
        let document = self.documents.get(&uri);
        std::fs::write(&document.path, &document.text).expect("the file can be written");
        self.notify(
            "textDocument/didSave",
            json!({"textDocument": {"uri": uri}}),
        );
        self.respond(request, json!({"saved": true}));
    }
}

impl Documents {
    fn get(&self, uri: &str) -> &Document {
        self.open.get(uri).expect("the document is open")
    }
}

fn units(text: &str, encoding: &str) -> usize {
    match encoding {
        "utf-8" => text.len(),
        "utf-32" => text.chars().count(),
        _ => text.encode_utf16().count(),
    }
}

/// The position of a byte.
pub fn position(text: &str, byte: usize, encoding: &str) -> Value {
    let before = &text[..byte];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.matches('\n').count();
    json!({"line": line, "character": units(&before[line_start..], encoding)})
}

fn offset(text: &str, position: &Value, encoding: &str) -> usize {
    let wanted =
        |name: &str| usize::try_from(position[name].as_u64().expect("a number")).expect("small");
    let mut start = 0;
    for line in text.split_inclusive('\n').take(wanted("line")) {
        start += line.len();
    }
    let rest = &text[start..];
    let column = wanted("character");
    let inside = rest
        .char_indices()
        .map(|(at, _)| at)
        .chain([rest.len()])
        .find(|at| units(&rest[..*at], encoding) >= column);
    start + inside.expect("the column is in the line")
}
