//! The text a tool saw: its bytes, its lines, and exact ways between a byte offset and a [`Position`].
//!
//! Owns: byte order mark, line ends, counts of UTF-16 units and code points. Promises: offsets are of the text without BOM;
//! every answer lies inside the text and between two characters, whatever number comes in; a byte that is not UTF-8 counts
//! as the replacement character it would be shown as, and keeps its own length in bytes.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use sha2::{Digest, Sha256};

use crate::kernel::finding::{Position, TextRange};
use crate::kernel::hash::ContentHash;

/// Distance in bytes between two remembered counts: a position in a line of a megabyte costs at most one such step.
const MARK_EVERY: usize = 1024;
const BOM: &[u8] = b"\xef\xbb\xbf";
/// `line_text` of a place is cut here.
const LINE_TEXT_BYTES: usize = 400;

/// What ends a line, in the eyes of a tool. The editor's own rule (LSP) is [`LineRule::Universal`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LineRule {
    /// LF, and CRLF through its LF: compilers (rustc, GCC, Clang, Go).
    Lf,
    /// LF, CRLF and a lone CR: Python's tools, YAML, LSP.
    Universal,
    /// Those and U+2028, U+2029: everything that follows ECMAScript.
    Ecma,
}

/// What [`SourceText::advance`] counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    Utf16,
    CodePoints,
}

#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    byte: usize,
    utf16: usize,
    utf32: usize,
}

/// A file as a tool read it.
#[derive(Debug)]
pub struct SourceText {
    bytes: Vec<u8>,
    bom: usize,
    ascii: bool,
    hash: ContentHash,
    marks: Vec<Mark>,
    lines: Vec<usize>,
    lf_lines: OnceLock<Vec<usize>>,
    ecma_lines: OnceLock<Vec<usize>>,
}

/// One character of a text that may hold bytes that are no UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glyph {
    /// Offset in bytes from where the iteration began.
    pub offset: usize,
    /// Length in bytes.
    pub len: usize,
    /// U+FFFD for bytes that are no UTF-8.
    pub char: char,
}

/// The characters of `bytes`, each with the bytes it takes.
pub fn glyphs(bytes: &[u8]) -> impl Iterator<Item = Glyph> + '_ {
    let mut at = 0;
    bytes.utf8_chunks().flat_map(move |chunk| {
        let start = at;
        let bad_at = start + chunk.valid().len();
        at = bad_at + chunk.invalid().len();
        let bad = (!chunk.invalid().is_empty()).then(|| Glyph {
            offset: bad_at,
            len: chunk.invalid().len(),
            char: char::REPLACEMENT_CHARACTER,
        });
        chunk
            .valid()
            .char_indices()
            .map(move |(offset, char)| Glyph {
                offset: start + offset,
                len: char.len_utf8(),
                char,
            })
            .chain(bad)
    })
}

impl SourceText {
    /// Takes a file's bytes as they are on disk.
    pub fn new(bytes: Vec<u8>) -> Self {
        let hash = hash_of(&bytes);
        let bom = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
        let body = bytes.get(bom..).unwrap_or_default();
        let ascii = body.is_ascii();
        let marks = if ascii { Vec::new() } else { marks_of(body) };
        let lines = line_starts(body, LineRule::Universal);
        Self {
            bytes,
            bom,
            ascii,
            hash,
            marks,
            lines,
            lf_lines: OnceLock::new(),
            ecma_lines: OnceLock::new(),
        }
    }

    /// The text without BOM; all offsets count from its start.
    pub fn body(&self) -> &[u8] {
        self.bytes.get(self.bom..).unwrap_or_default()
    }

    /// Hash of the file's bytes, BOM included.
    pub fn hash(&self) -> &ContentHash {
        &self.hash
    }

    /// Length of the BOM in bytes: 3 or 0.
    pub fn bom_len(&self) -> usize {
        self.bom
    }

    /// Lines as the editor counts them.
    pub fn line_count(&self) -> usize {
        self.lines.len()
    }

    /// Bytes of a 0-based line without its terminator, as `rule` counts lines; `None` past the last line.
    pub fn line(&self, rule: LineRule, line: usize) -> Option<Range<usize>> {
        let starts = self.starts(rule);
        let start = *starts.get(line)?;
        let end = starts.get(line + 1).copied().unwrap_or(self.body().len());
        let content = self.body().get(start..end).unwrap_or_default();
        Some(start..start + without_terminator(content, rule).len())
    }

    /// The 0-based line that holds `offset`, as `rule` counts lines.
    pub fn line_of(&self, rule: LineRule, offset: usize) -> usize {
        self.starts(rule)
            .partition_point(|start| *start <= offset)
            .saturating_sub(1)
    }

    /// The nearest offset at or before `offset` that lies between two characters of the text.
    pub fn floor(&self, offset: usize) -> usize {
        let offset = offset.min(self.body().len());
        if self.ascii {
            return offset;
        }
        let mark = self.mark_before(offset);
        let rest = self.body().get(mark.byte..).unwrap_or_default();
        let mut best = mark.byte;
        for glyph in glyphs(rest) {
            let at = mark.byte + glyph.offset;
            if at > offset {
                return best;
            }
            best = at;
            if at + glyph.len > offset {
                return best;
            }
        }
        self.body().len().min(offset)
    }

    /// `offset` is moved into the text and to the start of its character; a line's end is before its terminator.
    pub fn position(&self, offset: usize) -> Position {
        let offset = self.floor(offset);
        let line = self.line_of(LineRule::Universal, offset);
        let span = self.line(LineRule::Universal, line).unwrap_or(0..0);
        let offset = offset.min(span.end);
        let (utf16, utf32) = if self.ascii {
            (offset - span.start, offset - span.start)
        } else {
            let (start, at) = (self.count(span.start), self.count(offset));
            (at.utf16 - start.utf16, at.utf32 - start.utf32)
        };
        Position {
            line: narrow(line),
            utf8: narrow(offset - span.start),
            utf16: narrow(utf16),
            utf32: narrow(utf32),
        }
    }

    /// The range between two offsets, in any order.
    pub fn range(&self, start: usize, end: usize) -> TextRange {
        let (start, end) = (start.min(end), start.max(end));
        TextRange {
            start: self.position(start),
            end: self.position(end),
        }
    }

    /// Offset of a point in the editor's own terms: 0-based line, UTF-16 units. Clamped to the line.
    pub fn offset_utf16(&self, line: u32, units: u32) -> usize {
        let Some(span) = self.line(LineRule::Universal, line as usize) else {
            return self.body().len();
        };
        let mut left = units as usize;
        for glyph in glyphs(self.slice_bytes(span.clone())) {
            if left < glyph.char.len_utf16() {
                return span.start + glyph.offset;
            }
            left -= glyph.char.len_utf16();
        }
        span.end
    }

    /// Offset of a 0-based count of UTF-16 units from the start of the text, terminators counted as they are.
    pub fn offset_of_utf16_index(&self, index: usize) -> usize {
        self.advance(0, Counted::Utf16, index)
    }

    /// The offset that lies `units` after `from`, terminators counted as they are; inside a character is its start. Costs
    /// no more in a line of a megabyte than elsewhere.
    pub fn advance(&self, from: usize, counted: Counted, units: usize) -> usize {
        let end = self.body().len();
        if self.ascii {
            return from.saturating_add(units).min(end);
        }
        let of = |mark: &Mark| match counted {
            Counted::Utf16 => mark.utf16,
            Counted::CodePoints => mark.utf32,
        };
        let target = of(&self.count(self.floor(from))).saturating_add(units);
        let slot = self
            .marks
            .partition_point(|mark| of(mark) <= target)
            .saturating_sub(1);
        let mark = self.marks.get(slot).copied().unwrap_or_default();
        let mut left = target.saturating_sub(of(&mark));
        for glyph in glyphs(self.body().get(mark.byte..).unwrap_or_default()) {
            let width = match counted {
                Counted::Utf16 => glyph.char.len_utf16(),
                Counted::CodePoints => 1,
            };
            if left < width {
                return mark.byte + glyph.offset;
            }
            left -= width;
        }
        end
    }

    /// The text between two offsets, for people.
    pub fn slice(&self, range: Range<usize>) -> Cow<'_, str> {
        String::from_utf8_lossy(self.slice_bytes(range))
    }

    /// The bytes between two offsets; empty when they are not inside the text.
    pub fn slice_bytes(&self, range: Range<usize>) -> &[u8] {
        self.body().get(range).unwrap_or_default()
    }

    /// The editor's line that holds `offset`, cut at 400 bytes.
    pub fn line_text(&self, offset: usize) -> String {
        let line = self.line_of(LineRule::Universal, offset.min(self.body().len()));
        let span = self.line(LineRule::Universal, line).unwrap_or(0..0);
        // A minified file is one line: no more of it is copied than is kept.
        let span = span.start..span.end.min(span.start + LINE_TEXT_BYTES + 4);
        let mut text = self.slice(span).into_owned();
        if text.len() > LINE_TEXT_BYTES {
            let mut cut = LINE_TEXT_BYTES;
            while !text.is_char_boundary(cut) {
                cut -= 1;
            }
            text.truncate(cut);
        }
        text
    }

    fn starts(&self, rule: LineRule) -> &[usize] {
        match rule {
            LineRule::Universal => &self.lines,
            LineRule::Lf => self
                .lf_lines
                .get_or_init(|| line_starts(self.body(), LineRule::Lf)),
            LineRule::Ecma => self
                .ecma_lines
                .get_or_init(|| line_starts(self.body(), LineRule::Ecma)),
        }
    }

    fn mark_before(&self, offset: usize) -> Mark {
        let slot = self
            .marks
            .partition_point(|mark| mark.byte <= offset)
            .saturating_sub(1);
        self.marks.get(slot).copied().unwrap_or_default()
    }

    /// Counts up to `offset`, which must lie between two characters.
    fn count(&self, offset: usize) -> Mark {
        let mut mark = self.mark_before(offset);
        let rest = self.body().get(mark.byte..offset).unwrap_or_default();
        for glyph in glyphs(rest) {
            mark.utf16 += glyph.char.len_utf16();
            mark.utf32 += 1;
        }
        mark.byte = offset;
        mark
    }
}

/// SHA-256 of `bytes`.
pub fn hash_of(bytes: &[u8]) -> ContentHash {
    use std::fmt::Write as _;
    let digest = Sha256::digest(bytes);
    let mut hex = String::with_capacity(64);
    for byte in digest {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    ContentHash(hex)
}

fn marks_of(body: &[u8]) -> Vec<Mark> {
    let mut marks = vec![Mark::default()];
    let mut now = Mark::default();
    let mut next = MARK_EVERY;
    for glyph in glyphs(body) {
        if glyph.offset >= next {
            now.byte = glyph.offset;
            marks.push(now);
            next = glyph.offset + MARK_EVERY;
        }
        now.utf16 += glyph.char.len_utf16();
        now.utf32 += 1;
    }
    marks
}

fn line_starts(body: &[u8], rule: LineRule) -> Vec<usize> {
    let mut starts = vec![0];
    let mut at = 0;
    while let Some(byte) = body.get(at) {
        at += 1;
        match byte {
            b'\n' => starts.push(at),
            b'\r' if rule != LineRule::Lf && body.get(at) != Some(&b'\n') => starts.push(at),
            0xe2 if rule == LineRule::Ecma
                && body.get(at) == Some(&0x80)
                && matches!(body.get(at + 1), Some(0xa8 | 0xa9)) =>
            {
                at += 2;
                starts.push(at);
            }
            _ => {}
        }
    }
    starts
}

fn without_terminator(line: &[u8], rule: LineRule) -> &[u8] {
    if rule == LineRule::Ecma {
        for separator in ["\u{2028}", "\u{2029}"] {
            if let Some(rest) = line.strip_suffix(separator.as_bytes()) {
                return rest;
            }
        }
    }
    if let Some(rest) = line.strip_suffix(b"\n") {
        rest.strip_suffix(b"\r").unwrap_or(rest)
    } else if rule == LineRule::Lf {
        line
    } else {
        line.strip_suffix(b"\r").unwrap_or(line)
    }
}

/// Texts of more than 4 GiB are not read, see `locate::MAX_SOURCE_BYTES`.
pub(super) fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(bytes: &[u8]) -> SourceText {
        SourceText::new(bytes.to_vec())
    }

    #[test]
    fn positions_in_every_unit() {
        let text = text("\u{feff}\té漢😀x\r\nb\n".as_bytes());
        assert_eq!(text.bom_len(), 3);
        // Offset, line, bytes, UTF-16, code points.
        for (offset, line, utf8, utf16, utf32) in [
            (0, 0, 0, 0, 0),
            (1, 0, 1, 1, 1),
            (2, 0, 1, 1, 1), // inside é
            (3, 0, 3, 2, 2),
            (6, 0, 6, 3, 3),
            (8, 0, 6, 3, 3), // inside 😀
            (10, 0, 10, 5, 4),
            (11, 0, 11, 6, 5),
            (12, 0, 11, 6, 5), // between CR and LF is the line's end
            (13, 1, 0, 0, 0),
            (15, 2, 0, 0, 0),
            (99, 2, 0, 0, 0),
        ] {
            let want = Position {
                line,
                utf8,
                utf16,
                utf32,
            };
            assert_eq!(text.position(offset), want, "{offset}");
        }
    }

    #[test]
    fn lines_by_rule() {
        let text = text("a\rb\r\nc\u{2028}d\n".as_bytes());
        let lines = |rule| {
            (0..)
                .map_while(|line| text.line(rule, line))
                .map(|span| text.slice(span).into_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(lines(LineRule::Lf), ["a\rb", "c\u{2028}d", ""]);
        assert_eq!(lines(LineRule::Universal), ["a", "b", "c\u{2028}d", ""]);
        assert_eq!(lines(LineRule::Ecma), ["a", "b", "c", "d", ""]);
    }

    #[test]
    fn the_hash_is_of_the_bytes_on_disk() {
        assert_eq!(
            text(b"abc").hash().0,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    proptest! {
        /// Counting from the start is the law; the marks are only a shortcut.
        #[test]
        fn marks_agree_with_counting(
            parts in prop::collection::vec(prop_oneof![
                Just("é".as_bytes().to_vec()), Just("漢😀".as_bytes().to_vec()), Just(b"\xff\xe6\xbc".to_vec()),
                Just(b"\r\n".to_vec()), Just(b"\r".to_vec()), Just(vec![b'x'; 700]), Just("😀".repeat(300).into_bytes()),
            ], 0..12),
            offset in 0usize..6000,
        ) {
            let bytes = parts.concat();
            let text = SourceText::new(bytes.clone());
            let offset = text.floor(offset);
            prop_assert!(glyphs(&bytes).any(|glyph| glyph.offset == offset) || offset == bytes.len());
            let place = text.position(offset);
            let span = text.line(LineRule::Universal, place.line as usize).unwrap();
            let before = &bytes[span.start..offset.min(span.end)];
            prop_assert_eq!(place.utf8 as usize, before.len());
            prop_assert_eq!(place.utf32 as usize, glyphs(before).count());
            prop_assert_eq!(place.utf16 as usize, glyphs(before).map(|glyph| glyph.char.len_utf16()).sum::<usize>());
            prop_assert_eq!(text.offset_utf16(place.line, place.utf16), offset.min(span.end));
            let units = glyphs(&bytes[..offset]).map(|glyph| glyph.char.len_utf16()).sum();
            prop_assert_eq!(text.offset_of_utf16_index(units), offset);
            let points = place.utf32 as usize;
            prop_assert_eq!(text.advance(span.start, Counted::CodePoints, points), offset.min(span.end));
        }
    }
}
