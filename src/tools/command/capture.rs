//! What is kept of a command's output: its beginning and its end. Pure.

use std::collections::VecDeque;

/// Bytes kept from the beginning: what was run and how it began.
const HEAD: usize = 8 * 1024;
/// Bytes kept from the end: errors and summaries come last.
const TAIL: usize = 24 * 1024;

/// Collects output in arrival order, in bounded memory.
#[derive(Debug, Default)]
pub struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Capture {
    pub fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let room = HEAD.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        // Of a piece longer than the tail only its end can stay.
        let rest = rest
            .get(rest.len().saturating_sub(TAIL)..)
            .unwrap_or_default();
        let surplus = (self.tail.len() + rest.len()).saturating_sub(TAIL);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    /// The output as text. What is no UTF-8 shows as U+FFFD, what was cut is named where it was.
    pub fn text(&self) -> String {
        let (front, back) = self.tail.as_slices();
        let tail = [front, back].concat();
        let kept = self.head.len() + tail.len();
        if self.total == kept as u64 {
            return visible(&[self.head.as_slice(), &tail].concat());
        }
        let head = up_to_line_end(&self.head);
        let tail = from_line_start(&tail);
        let cut = self.total - (head.len() + tail.len()) as u64;
        format!(
            "{}\n[{cut} of {} bytes of output cut here]\n{}",
            visible(head).trim_end_matches('\n'),
            self.total,
            visible(tail)
        )
    }
}

/// NUL is legal in JSON but refused by some providers.
fn visible(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\0', "\u{2400}")
}

/// Whole lines where there are any; else whole characters.
fn up_to_line_end(bytes: &[u8]) -> &[u8] {
    let end = match bytes.iter().rposition(|byte| *byte == b'\n') {
        Some(newline) => newline + 1,
        None => match bytes.iter().rposition(|byte| !is_continuation(*byte)) {
            Some(start) if bytes.get(start).is_some_and(|byte| *byte >= 0x80) => start,
            _ => bytes.len(),
        },
    };
    bytes.get(..end).unwrap_or(bytes)
}

fn from_line_start(bytes: &[u8]) -> &[u8] {
    let start = match bytes.iter().position(|byte| *byte == b'\n') {
        Some(newline) if newline + 1 < bytes.len() => newline + 1,
        _ => bytes
            .iter()
            .position(|byte| !is_continuation(*byte))
            .unwrap_or(0),
    };
    bytes.get(start..).unwrap_or(bytes)
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(pieces: &[&[u8]]) -> String {
        let mut capture = Capture::default();
        for piece in pieces {
            capture.push(piece);
        }
        capture.text()
    }

    #[test]
    fn short_output_stays_as_it_is() {
        assert_eq!(captured(&[]), "");
        assert_eq!(captured(&[b"a\n", b"b"]), "a\nb");
        assert_eq!(captured(&["é漢😀\n".as_bytes()]), "é漢😀\n");
        assert_eq!(captured(&[b"\xff\0\n"]), "\u{fffd}\u{2400}\n");
        // A character that arrives in two pieces is one character.
        assert_eq!(captured(&[b"\xc3", b"\xa9"]), "é");
    }

    #[test]
    fn exactly_as_much_as_fits_is_not_cut() {
        let full = "x".repeat(HEAD + TAIL);
        assert_eq!(captured(&[full.as_bytes()]), full);
        assert!(captured(&[full.as_bytes(), b"y"]).contains("bytes of output cut here"));
    }

    #[test]
    fn long_output_keeps_whole_lines_of_both_ends_and_counts_the_rest() {
        let lines: Vec<String> = (0..10_000).map(|n| format!("line {n} é\n")).collect();
        let whole = lines.concat();
        for size in [1, 7, 4096, whole.len()] {
            let pieces: Vec<&[u8]> = whole.as_bytes().chunks(size).collect();
            let text = captured(&pieces);
            let (head, rest) = text.split_once("\n[").unwrap();
            let (notice, tail) = rest.split_once("]\n").unwrap();
            assert!(head.starts_with("line 0 é\nline 1 é\n") && head.ends_with('é'));
            assert!(tail.starts_with("line ") && tail.ends_with("line 9999 é\n"));
            assert!(!text.contains('\u{fffd}'));
            let cut: usize = notice.split(' ').next().unwrap().parse().unwrap();
            // The line end before the notice belongs to the head.
            assert_eq!(head.len() + 1 + cut + tail.len(), whole.len());
            assert!(head.len() <= HEAD && tail.len() <= TAIL && tail.len() > TAIL / 2);
        }
    }

    #[test]
    fn one_endless_line_is_cut_between_characters() {
        for shift in 0..4 {
            let text = captured(&[&b"abc"[..shift.min(3)], "😀".repeat(50_000).as_bytes()]);
            assert!(!text.contains('\u{fffd}'), "shift {shift}");
        }
    }
}
