//! Places in the editor's terms: its URIs for our paths, its positions for ours.
//!
//! A path is looked up by its decoded name, so every spelling of a URI that a client may use finds its file. Towards the
//! client a file keeps the spelling that the client itself used.

use lsp_types::{Position, Range, Uri};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use ropey::Rope;

use crate::kernel::document::{ClientPosition, PositionEncoding};
use crate::kernel::finding::{self, SourceFile, TextRange};
use crate::kernel::path::RelPath;

/// What stays unencoded in the path of a URI, besides letters and digits.
const IN_PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// The workspace's root as the client spells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Without a slash at the end.
    uri: String,
    /// Absolute, decoded, without a slash at the end.
    path: String,
}

impl Root {
    /// `None`: the URI does not name a folder of this machine's disk.
    pub fn from_uri(uri: &str) -> Option<Self> {
        let path = file_path(uri)?.trim_end_matches('/').to_owned();
        let uri = if path.is_empty() {
            "file://".to_owned()
        } else {
            uri.trim_end_matches('/').to_owned()
        };
        Some(Self { uri, path })
    }

    /// For a client that names no folder.
    pub fn from_path(path: &str) -> Self {
        let path = path.trim_end_matches('/').to_owned();
        Self {
            uri: file_uri(&path),
            path,
        }
    }

    /// The folder's absolute path.
    pub fn path(&self) -> &str {
        if self.path.is_empty() {
            "/"
        } else {
            &self.path
        }
    }

    /// The folder as URI, as the client spells it.
    pub fn folder_uri(&self) -> &str {
        &self.uri
    }

    /// Whether a URI, in whatever spelling, names this folder.
    pub fn is_at(&self, uri: &str) -> bool {
        Self::from_uri(uri).is_some_and(|other| other.path == self.path)
    }

    /// The file of the workspace that a URI names; `None` for files elsewhere and documents without a file.
    pub fn relative(&self, uri: &str) -> Option<RelPath> {
        let path = file_path(uri)?;
        let inside = path.strip_prefix(&self.path)?.strip_prefix('/')?;
        RelPath::parse(inside).ok()
    }

    /// A URI for a file that the client has not named itself.
    pub fn uri(&self, path: &RelPath) -> String {
        let relative = utf8_percent_encode(path.as_str(), IN_PATH);
        format!("{}/{relative}", self.uri)
    }

    pub fn source_uri(&self, file: &SourceFile) -> String {
        match file {
            SourceFile::Workspace(path) => self.uri(path),
            SourceFile::Outside(path) => file_uri(path),
        }
    }
}

/// The absolute path, with `/` between names, that a `file` URI of this machine stands for.
fn file_path(uri: &str) -> Option<String> {
    let (scheme, rest) = uri.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let path = match rest.strip_prefix("//") {
        Some(with_host) => {
            let (host, _) = with_host.split_once('/')?;
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return None;
            }
            with_host.get(host.len()..)?
        }
        None => rest,
    };
    // A fragment or a query is no part of the name.
    let path = path.split(['?', '#']).next()?;
    let decoded = percent_decode_str(path).decode_utf8().ok()?;
    if !decoded.starts_with('/') || decoded.contains('\0') {
        return None;
    }
    Some(with_plain_drive(&decoded))
}

/// `/C:/x` and `/c:/x` are one folder: the letter is made small.
fn with_plain_drive(path: &str) -> String {
    let mut chars = path.chars();
    match (chars.next(), chars.next(), chars.next()) {
        (Some('/'), Some(letter), Some(':')) if letter.is_ascii_alphabetic() => {
            format!("/{}:{}", letter.to_ascii_lowercase(), chars.as_str())
        }
        _ => path.to_owned(),
    }
}

/// The URI of an absolute path with `/` between names.
pub fn file_uri(path: &str) -> String {
    let encoded = utf8_percent_encode(path, IN_PATH);
    if path.starts_with('/') {
        format!("file://{encoded}")
    } else {
        format!("file:///{encoded}")
    }
}

/// As the protocol's type. `None` for what only looks like a URI.
pub fn parse_uri(uri: &str) -> Option<Uri> {
    uri.parse().ok()
}

pub fn position(position: finding::Position, encoding: PositionEncoding) -> Position {
    let character = match encoding {
        PositionEncoding::Utf8 => position.utf8,
        PositionEncoding::Utf16 => position.utf16,
        PositionEncoding::Utf32 => position.utf32,
    };
    Position {
        line: position.line,
        character,
    }
}

pub fn range(range: TextRange, encoding: PositionEncoding) -> Range {
    Range {
        start: position(range.start, encoding),
        end: position(range.end, encoding),
    }
}

pub fn client_position(position: Position) -> ClientPosition {
    ClientPosition {
        line: position.line,
        column: position.character,
    }
}

/// The position of a byte of `text`; of its end when there is no such byte.
pub fn position_at(text: &Rope, byte: usize, encoding: PositionEncoding) -> Position {
    let byte = byte.min(text.len_bytes());
    let line = text.byte_to_line(byte);
    let before = text.byte_slice(text.line_to_byte(line)..byte);
    let column = match encoding {
        PositionEncoding::Utf8 => before.len_bytes(),
        PositionEncoding::Utf16 => before.len_utf16_cu(),
        PositionEncoding::Utf32 => before.len_chars(),
    };
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Position {
        line: count(line),
        character: count(column),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_uri_finds_its_file() {
        let root = Root::from_uri("file:///home/m%C3%A9/my%20work/").unwrap();
        assert_eq!(root.path(), "/home/mé/my work");
        let rows = [
            ("file:///home/m%C3%A9/my%20work/src/a.rs", Some("src/a.rs")),
            (
                "file:///home/m%c3%a9/my%20work/src%2Fa.rs",
                Some("src/a.rs"),
            ),
            (
                "file://localhost/home/mé/my%20work/a%23b%25.rs",
                Some("a#b%.rs"),
            ),
            (
                "file:/home/m%C3%A9/my%20work/%E6%BC%A2/%F0%9F%98%80",
                Some("漢/😀"),
            ),
            ("FILE:///home/m%C3%A9/my%20work/a", Some("a")),
            ("file:///home/m%C3%A9/my%20work/a?x=1#L3", Some("a")),
            ("file:///home/m%C3%A9/my%20work", None),
            ("file:///home/m%C3%A9/my%20workshop/a", None),
            ("file:///home/m%C3%A9/my%20work/../a", None),
            ("file:///home/m%C3%A9/my%20work/.git/config", None),
            ("file:///elsewhere/a", None),
            ("file://host/home/m%C3%A9/my%20work/a", None),
            ("untitled:Untitled-1", None),
            ("vscode-notebook-cell:/home/m%C3%A9/my%20work/a", None),
            ("file:///home/m%C3%A9/my%20work/%FF", None),
        ];
        for (uri, want) in rows {
            let got = root.relative(uri);
            assert_eq!(got.as_ref().map(RelPath::as_str), want, "{uri}");
        }
        let drive = Root::from_uri("file:///c%3A/Work").unwrap();
        for uri in ["file:///C:/Work/a", "file:///c%3a/Work/a"] {
            assert_eq!(drive.relative(uri).unwrap().as_str(), "a", "{uri}");
        }
        assert_eq!(
            Root::from_uri("file:///")
                .unwrap()
                .relative("file:///a")
                .unwrap()
                .as_str(),
            "a"
        );
    }

    #[test]
    fn uris_of_ours_are_in_the_roots_spelling_and_come_back() {
        for root in ["file:///w%20%C3%A9", "file:///c%3A/w", "file:///"] {
            let root = Root::from_uri(root).unwrap();
            for name in ["a.rs", "é/漢 😀#%?.rs", "-x", "ab:c&d"] {
                let path = RelPath::parse(name).unwrap();
                let uri = root.uri(&path);
                assert!(parse_uri(&uri).is_some(), "{uri}");
                assert_eq!(root.relative(&uri), Some(path), "{uri}");
            }
        }
        let outside = SourceFile::Outside("/usr/lib/a b.h".into());
        assert_eq!(
            Root::from_path("/w").source_uri(&outside),
            "file:///usr/lib/a%20b.h"
        );
    }

    #[test]
    fn bytes_become_positions_in_each_encoding() {
        let text = Rope::from_str("a\r\né漢😀b\rc\n");
        // (byte, line, columns in UTF-8, UTF-16, UTF-32)
        let rows = [
            (0, 0, [0, 0, 0]),
            (1, 0, [1, 1, 1]),
            (3, 1, [0, 0, 0]),
            (5, 1, [2, 1, 1]),
            (8, 1, [5, 2, 2]),
            (12, 1, [9, 4, 3]),
            (13, 1, [10, 5, 4]),
            (14, 2, [0, 0, 0]),
            (16, 3, [0, 0, 0]),
            (99, 3, [0, 0, 0]),
        ];
        let encodings = [
            PositionEncoding::Utf8,
            PositionEncoding::Utf16,
            PositionEncoding::Utf32,
        ];
        for (byte, line, columns) in rows {
            for (encoding, character) in encodings.into_iter().zip(columns) {
                let got = position_at(&text, byte, encoding);
                assert_eq!(got, Position { line, character }, "{byte} {encoding:?}");
            }
        }
    }
}
