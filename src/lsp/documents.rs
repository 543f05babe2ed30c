//! What the editor says about its documents, in the kernel's words.

use lsp_types::{
    DidChangeTextDocumentParams, DidOpenTextDocumentParams, TextDocumentContentChangeEvent,
};

use super::places::client_position;
use crate::kernel::document::{DocumentChange, PositionEncoding};
use crate::kernel::input::DocumentNews;

pub fn opened(params: DidOpenTextDocumentParams) -> DocumentNews {
    let document = params.text_document;
    DocumentNews::Opened {
        // Found out by the app, which may look at the disk.
        disk: None,
        unsaved: false,
        uri: document.uri.as_str().to_owned(),
        version: document.version,
        text: document.text,
    }
}

pub fn changed(params: DidChangeTextDocumentParams, encoding: PositionEncoding) -> DocumentNews {
    DocumentNews::Changed {
        version: params.text_document.version,
        changes: params.content_changes.into_iter().map(change).collect(),
        encoding,
    }
}

fn change(event: TextDocumentContentChangeEvent) -> DocumentChange {
    match event.range {
        None => DocumentChange::Whole { text: event.text },
        Some(range) => DocumentChange::Range {
            start: client_position(range.start),
            end: client_position(range.end),
            text: event.text,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::document::ClientPosition;
    use serde_json::json;

    #[test]
    fn changes_keep_their_order_and_units() {
        let params = json!({
            "textDocument": {"uri": "file:///w/a", "version": 3},
            "contentChanges": [
                {"text": "whole 漢"},
                {
                    "range": {"start": {"line": 1, "character": 2}, "end": {"line": 3, "character": 4}},
                    "rangeLength": 9,
                    "text": "part",
                },
            ],
        });
        let at = |line, column| ClientPosition { line, column };
        assert_eq!(
            changed(
                serde_json::from_value(params).unwrap(),
                PositionEncoding::Utf32
            ),
            DocumentNews::Changed {
                version: 3,
                changes: vec![
                    DocumentChange::Whole {
                        text: "whole 漢".into()
                    },
                    DocumentChange::Range {
                        start: at(1, 2),
                        end: at(3, 4),
                        text: "part".into(),
                    },
                ],
                encoding: PositionEncoding::Utf32,
            }
        );
    }
}
