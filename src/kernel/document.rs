//! Open documents: the editor's text, kept by applying its changes.

use ropey::Rope;
use thiserror::Error;

use super::file::OpenDocument;

/// How the client counts columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PositionEncoding {
    Utf8,
    #[default]
    Utf16,
    Utf32,
}

/// One change as the client sends it: a range in the client's own units, or the whole text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentChange {
    Whole {
        text: String,
    },
    Range {
        start: ClientPosition,
        end: ClientPosition,
        text: String,
    },
}

/// 0-based line, and column in the client's encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientPosition {
    pub line: u32,
    pub column: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DocumentError {
    #[error("the change's range ends before it starts (lines {start} to {end})")]
    Backwards { start: u32, end: u32 },
}

/// Applies changes in order; each range is in the text that the one before left. Columns beyond a line's end mean its
/// end, lines beyond the text mean its end, as the protocol says.
///
/// # Errors
/// A range that ends before it starts; the document is then as after the changes before it.
pub fn apply_changes(
    document: &mut OpenDocument,
    changes: &[DocumentChange],
    encoding: PositionEncoding,
) -> Result<(), DocumentError> {
    for change in changes {
        match change {
            DocumentChange::Whole { text } => document.text = Rope::from_str(text),
            DocumentChange::Range { start, end, text } => {
                let from = char_index(&document.text, *start, encoding);
                let to = char_index(&document.text, *end, encoding);
                if to < from {
                    return Err(DocumentError::Backwards {
                        start: start.line,
                        end: end.line,
                    });
                }
                document.text.remove(from..to);
                document.text.insert(from, text);
            }
        }
    }
    Ok(())
}

/// The char index of a client's position, clamped into the text.
pub fn char_index(text: &Rope, position: ClientPosition, encoding: PositionEncoding) -> usize {
    let line = position.line as usize;
    if line >= text.len_lines() {
        return text.len_chars();
    }
    let start = text.line_to_char(line);
    let slice = text.line(line);
    let mut end = slice.len_chars();
    while end > 0 && matches!(slice.char(end - 1), '\n' | '\r') {
        end -= 1;
    }
    let body = slice.slice(..end);
    let column = position.column as usize;
    let within = match encoding {
        PositionEncoding::Utf8 => body.byte_to_char(column.min(body.len_bytes())),
        PositionEncoding::Utf16 => body.utf16_cu_to_char(column.min(body.len_utf16_cu())),
        PositionEncoding::Utf32 => column.min(body.len_chars()),
    };
    start + within
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> OpenDocument {
        OpenDocument {
            uri: "file:///a".into(),
            version: 1,
            text: Rope::from_str(text),
            dirty: false,
            saved: None,
        }
    }

    fn at(line: u32, column: u32) -> ClientPosition {
        ClientPosition { line, column }
    }

    #[test]
    fn ranges_are_counted_in_the_clients_units() {
        // "é漢😀" is 9 bytes, 4 UTF-16 units, 3 code points.
        let rows = [
            (PositionEncoding::Utf8, 9),
            (PositionEncoding::Utf16, 4),
            (PositionEncoding::Utf32, 3),
        ];
        for (encoding, column) in rows {
            let mut doc = document("a\r\né漢😀b\nlast");
            let change = DocumentChange::Range {
                start: at(1, column),
                end: at(1, column + 1),
                text: "X".into(),
            };
            apply_changes(&mut doc, &[change], encoding).unwrap();
            assert_eq!(doc.text.to_string(), "a\r\né漢😀X\nlast", "{encoding:?}");
        }
    }

    #[test]
    fn positions_beyond_the_text_mean_its_end() {
        let mut doc = document("ab\r\ncd");
        let beyond_line = DocumentChange::Range {
            start: at(0, 99),
            end: at(0, 99),
            text: "!".into(),
        };
        let beyond_text = DocumentChange::Range {
            start: at(9, 0),
            end: at(9, 0),
            text: "\nnew".into(),
        };
        apply_changes(
            &mut doc,
            &[beyond_line, beyond_text],
            PositionEncoding::Utf16,
        )
        .unwrap();
        assert_eq!(doc.text.to_string(), "ab!\r\ncd\nnew");
    }

    #[test]
    fn a_backward_range_is_refused() {
        let mut doc = document("abc");
        let change = DocumentChange::Range {
            start: at(0, 2),
            end: at(0, 1),
            text: String::new(),
        };
        assert!(apply_changes(&mut doc, &[change], PositionEncoding::Utf16).is_err());
        assert_eq!(doc.text.to_string(), "abc");
    }
}
