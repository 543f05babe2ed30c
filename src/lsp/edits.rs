//! A new text for an open document as the smallest edits of its old one, bound to the version that they are edits of.

use lsp_types::{
    DocumentChanges, OneOf, OptionalVersionedTextDocumentIdentifier, Range, TextDocumentEdit,
    TextEdit, WorkspaceEdit,
};
use ropey::Rope;

use super::places::{parse_uri, position_at};
use crate::kernel::diff::ByteEdit;
use crate::kernel::document::PositionEncoding;
use crate::kernel::file::OpenDocument;

/// The edits in positions of `old`, the text that they are edits of.
pub fn text_edits(old: &Rope, edits: &[ByteEdit], encoding: PositionEncoding) -> Vec<TextEdit> {
    edits
        .iter()
        .map(|edit| TextEdit {
            range: Range {
                start: position_at(old, edit.start, encoding),
                end: position_at(old, edit.end, encoding),
            },
            new_text: edit.new_text.clone(),
        })
        .collect()
}

/// Whether the client checks versions of documents in edits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Versions {
    Checked,
    /// It takes edits by URI alone; the caller has to see by itself that the text is still the same.
    Unchecked,
}

/// The edits as the protocol's type; `None` when the document's URI is none.
pub fn workspace_edit(
    document: &OpenDocument,
    edits: Vec<TextEdit>,
    versions: Versions,
) -> Option<WorkspaceEdit> {
    let uri = parse_uri(&document.uri)?;
    Some(match versions {
        Versions::Checked => WorkspaceEdit {
            document_changes: Some(DocumentChanges::Edits(vec![TextDocumentEdit {
                text_document: OptionalVersionedTextDocumentIdentifier {
                    uri,
                    version: Some(document.version),
                },
                edits: edits.into_iter().map(OneOf::Left).collect(),
            }])),
            ..WorkspaceEdit::default()
        },
        Versions::Unchecked => WorkspaceEdit {
            changes: Some([(uri, edits)].into()),
            ..WorkspaceEdit::default()
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::diff::minimal_edits;
    use crate::kernel::document::{ClientPosition, DocumentChange, apply_changes};
    use proptest::prelude::*;

    fn edits_to(old: &str, new: &str, encoding: PositionEncoding) -> Vec<TextEdit> {
        text_edits(&Rope::from_str(old), &minimal_edits(old, new), encoding)
    }

    fn document(text: &str) -> OpenDocument {
        OpenDocument {
            uri: "file:///w/a.rs".into(),
            version: 7,
            text: Rope::from_str(text),
            dirty: false,
            saved: None,
        }
    }

    /// Does what a client does with the edits: from the last to the first, since all are in positions of the old text.
    fn applied(old: &str, edits: &[TextEdit], encoding: PositionEncoding) -> String {
        let mut document = document(old);
        let client = |position: lsp_types::Position| ClientPosition {
            line: position.line,
            column: position.character,
        };
        for edit in edits.iter().rev() {
            let change = DocumentChange::Range {
                start: client(edit.range.start),
                end: client(edit.range.end),
                text: edit.new_text.clone(),
            };
            apply_changes(&mut document, &[change], encoding).unwrap();
        }
        document.text.to_string()
    }

    #[test]
    fn edits_are_small_and_in_the_clients_units() {
        let old = "fn a() {}\r\nlet é = \"😀x\";\r\nend\r\n";
        let new = "fn a() {}\r\nlet é = \"😀y\";\r\nend\r\n";
        for (encoding, column) in [
            (PositionEncoding::Utf8, 14),
            (PositionEncoding::Utf16, 11),
            (PositionEncoding::Utf32, 10),
        ] {
            let edits = edits_to(old, new, encoding);
            let at = |character| lsp_types::Position { line: 1, character };
            let want = TextEdit {
                range: Range {
                    start: at(column),
                    end: at(column + 1),
                },
                new_text: "y".into(),
            };
            assert_eq!(edits, [want], "{encoding:?}");
        }
        assert_eq!(edits_to(old, old, PositionEncoding::Utf16), []);
    }

    #[test]
    fn an_edit_names_the_version_where_the_client_checks_it() {
        let edit = |versions| {
            let edits = edits_to("a", "b", PositionEncoding::Utf16);
            serde_json::to_value(workspace_edit(&document("a"), edits, versions)).unwrap()
        };
        let edits = serde_json::json!([{
            "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}},
            "newText": "b",
        }]);
        assert_eq!(
            edit(Versions::Checked),
            serde_json::json!({"documentChanges": [
                {"textDocument": {"uri": "file:///w/a.rs", "version": 7}, "edits": edits}
            ]})
        );
        assert_eq!(
            edit(Versions::Unchecked),
            serde_json::json!({"changes": {"file:///w/a.rs": edits}})
        );
    }

    proptest! {
        #[test]
        fn applying_the_edits_gives_the_new_text(
            old in "([aé漢😀]|\r\n|\n|\r){0,30}",
            new in "([aé漢😀b]|\r\n|\n|\r){0,30}",
        ) {
            for encoding in [PositionEncoding::Utf8, PositionEncoding::Utf16, PositionEncoding::Utf32] {
                let edits = edits_to(&old, &new, encoding);
                prop_assert_eq!(applied(&old, &edits, encoding), new.clone());
            }
        }
    }
}
