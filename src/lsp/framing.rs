//! Frames of the base protocol: a header block with `Content-Length`, an empty line, and so many bytes of body.
//!
//! Without I/O: bytes go in in whatever pieces they came, whole bodies come out. Promises: the pieces' sizes make no
//! difference; memory grows with the bytes that arrived, never with a number that a header claims; after a [`Fault`] the
//! place of the next frame is unknown, so the stream must be given up. What is inside a body is of no concern here.

use thiserror::Error;

/// The longest body accepted unless told otherwise, in bytes.
pub const DEFAULT_BODY_LIMIT: usize = 64 * 1024 * 1024;

/// The longest header line accepted, in bytes.
const HEADER_LINE_LIMIT: usize = 4 * 1024;

/// Space reserved for a body before any of it has arrived, in bytes.
const FIRST_RESERVE: usize = 64 * 1024;

/// Why the stream can no longer be cut into frames. Completes "failed to read from the editor: ".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    #[error("a header line is longer than {HEADER_LINE_LIMIT} bytes")]
    HeaderTooLong,
    #[error("`{0}` is not a header line; the Content-Length before it was probably wrong")]
    NotAHeader(String),
    #[error("a header block has no Content-Length")]
    NoLength,
    #[error("`{0}` is not a Content-Length")]
    BadLength(String),
    #[error("a header block gives Content-Length twice, {0} and {1}")]
    TwoLengths(usize, usize),
    #[error("Content-Length {length} is over the limit of {limit} bytes")]
    TooLong { length: String, limit: usize },
    #[error("the input ended inside a header block")]
    EndInHeader,
    #[error("the input ended after {got} of {length} bytes that Content-Length promised")]
    EndInBody { got: usize, length: usize },
}

/// Cuts a stream of bytes into bodies.
#[derive(Debug)]
pub struct Decoder {
    limit: usize,
    state: State,
}

#[derive(Debug)]
enum State {
    Header {
        line: Vec<u8>,
        length: Option<usize>,
        /// No byte of this block has been seen: the one place where the input may end.
        untouched: bool,
    },
    Body {
        bytes: Vec<u8>,
        length: usize,
    },
}

impl State {
    fn start() -> Self {
        Self::Header {
            line: Vec::new(),
            length: None,
            untouched: true,
        }
    }
}

impl Decoder {
    /// `limit`: the longest body accepted, in bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            state: State::start(),
        }
    }

    /// Takes bytes off the front of `input` until a body is complete or `input` is empty. Call it again with what is left.
    ///
    /// # Errors
    /// The stream cannot be cut from here on; see [`Fault`].
    pub fn next_body(&mut self, input: &mut &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        loop {
            match &mut self.state {
                State::Header {
                    line,
                    length,
                    untouched,
                } => {
                    if input.is_empty() {
                        return Ok(None);
                    }
                    *untouched = false;
                    let Some(ended) = take_line(line, input)? else {
                        return Ok(None);
                    };
                    if !ended.is_empty() {
                        read_header(&ended, length, self.limit)?;
                        continue;
                    }
                    let length = length.ok_or(Fault::NoLength)?;
                    self.state = State::Body {
                        bytes: Vec::with_capacity(length.min(FIRST_RESERVE)),
                        length,
                    };
                }
                State::Body { bytes, length } => {
                    let wanted = (*length - bytes.len()).min(input.len());
                    let (now, later) = input.split_at(wanted);
                    bytes.extend_from_slice(now);
                    *input = later;
                    if bytes.len() < *length {
                        return Ok(None);
                    }
                    let body = std::mem::take(bytes);
                    self.state = State::start();
                    return Ok(Some(body));
                }
            }
        }
    }

    /// Whether the input may end here.
    ///
    /// # Errors
    /// It ended inside a frame.
    pub fn end(&self) -> Result<(), Fault> {
        match &self.state {
            State::Header {
                untouched: true, ..
            } => Ok(()),
            State::Header { .. } => Err(Fault::EndInHeader),
            State::Body { bytes, length } => Err(Fault::EndInBody {
                got: bytes.len(),
                length: *length,
            }),
        }
    }
}

/// Moves bytes from `input` to `line` up to a line feed; gives the line without its end once it is complete.
fn take_line(line: &mut Vec<u8>, input: &mut &[u8]) -> Result<Option<Vec<u8>>, Fault> {
    let feed = input.iter().position(|byte| *byte == b'\n');
    let (now, later) = match feed {
        Some(at) => (input.get(..at), input.get(at + 1..)),
        None => (Some(*input), Some(&[][..])),
    };
    let (now, later) = (now.unwrap_or_default(), later.unwrap_or_default());
    if line.len() + now.len() > HEADER_LINE_LIMIT {
        return Err(Fault::HeaderTooLong);
    }
    line.extend_from_slice(now);
    *input = later;
    if feed.is_none() {
        return Ok(None);
    }
    let mut ended = std::mem::take(line);
    if ended.last() == Some(&b'\r') {
        ended.pop();
    }
    Ok(Some(ended))
}

fn read_header(line: &[u8], length: &mut Option<usize>, limit: usize) -> Result<(), Fault> {
    let not_a_header = || Fault::NotAHeader(excerpt(line));
    let colon = line
        .iter()
        .position(|byte| *byte == b':')
        .ok_or_else(not_a_header)?;
    let (name, value) = line.split_at(colon);
    // A wrong length leaves the rest of a body glued to the next name: names are checked so that this is noticed.
    if name.is_empty() || !name.iter().all(is_name_byte) {
        return Err(not_a_header());
    }
    if !name.eq_ignore_ascii_case(b"content-length") {
        return Ok(());
    }
    let value = value.get(1..).unwrap_or_default().trim_ascii();
    let found = read_length(value, limit)?;
    match *length {
        Some(earlier) if earlier != found => Err(Fault::TwoLengths(earlier, found)),
        _ => {
            *length = Some(found);
            Ok(())
        }
    }
}

fn read_length(value: &[u8], limit: usize) -> Result<usize, Fault> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return Err(Fault::BadLength(excerpt(value)));
    }
    // Digits alone fail to parse only when the number is too large for the type.
    match excerpt(value).parse::<usize>() {
        Ok(length) if length <= limit => Ok(length),
        _ => Err(Fault::TooLong {
            length: excerpt(value),
            limit,
        }),
    }
}

/// The letters of an HTTP token, of which header names are made.
fn is_name_byte(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte)
}

/// At most 60 bytes, printable, for a message.
fn excerpt(bytes: &[u8]) -> String {
    let cut = bytes.get(..60).unwrap_or(bytes);
    String::from_utf8_lossy(cut).escape_debug().to_string()
}

/// Puts `Content-Length` before a body and both at the end of `out`.
pub fn encode(body: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"Content-Length: ");
    out.extend_from_slice(body.len().to_string().as_bytes());
    out.extend_from_slice(b"\r\n\r\n");
    out.extend_from_slice(body);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All bodies of `pieces`, then whether the input may end, or the first fault.
    fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<String>, Fault> {
        let mut decoder = Decoder::new(100);
        let mut bodies = Vec::new();
        for mut piece in pieces {
            while let Some(body) = decoder.next_body(&mut piece)? {
                bodies.push(String::from_utf8(body).unwrap());
            }
        }
        decoder.end()?;
        Ok(bodies)
    }

    const SAMPLES: &[(&str, &[&str])] = &[
        ("", &[]),
        ("Content-Length: 2\r\n\r\n{}", &["{}"]),
        (
            "content-length:2\r\n\r\n{}CONTENT-LENGTH: \t3 \r\n\r\n[1]",
            &["{}", "[1]"],
        ),
        (
            "X-One: a:b\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\nX-Two:\r\n\r\n{}",
            &["{}"],
        ),
        (
            "Content-Type: application/vscode-jsonrpc\r\nContent-Length: 2\r\n\r\n{}",
            &["{}"],
        ),
        ("Content-Length: 2\n\n{}", &["{}"]),
        ("Content-Length: 2\r\nContent-Length: 02\r\n\r\n{}", &["{}"]),
        (
            "Content-Length: 0\r\n\r\nContent-Length: 2\r\n\r\n{}",
            &["", "{}"],
        ),
        ("Content-Length: 11\r\n\r\n\"é漢😀\"", &["\"é漢😀\""]),
    ];

    #[test]
    fn whole_samples_are_cut() {
        for (text, bodies) in SAMPLES {
            let want: Vec<String> = bodies.iter().map(|body| (*body).to_owned()).collect();
            assert_eq!(decode([text.as_bytes()]), Ok(want), "{text:?}");
        }
    }

    #[test]
    fn every_split_into_two_or_three_pieces_gives_the_same() {
        for (text, _) in SAMPLES {
            let bytes = text.as_bytes();
            let whole = decode([bytes]);
            for first in 0..=bytes.len() {
                for second in first..=bytes.len() {
                    let pieces = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                    assert_eq!(decode(pieces), whole, "{text:?} at {first} and {second}");
                }
            }
            assert_eq!(decode(bytes.chunks(1)), whole, "{text:?} byte by byte");
        }
    }

    #[test]
    fn each_fault_has_its_class_at_every_split() {
        let long = format!("X: {}\r\n\r\n", "y".repeat(HEADER_LINE_LIMIT));
        let endless = "z".repeat(HEADER_LINE_LIMIT + 1);
        let cases: &[(&str, Fault)] = &[
            (&long, Fault::HeaderTooLong),
            (&endless, Fault::HeaderTooLong),
            ("nonsense\r\n", Fault::NotAHeader("nonsense".into())),
            (": 2\r\n", Fault::NotAHeader(": 2".into())),
            (
                "Content-Length : 2\r\n",
                Fault::NotAHeader("Content-Length : 2".into()),
            ),
            (
                // The length before was too small by two.
                "Content-Length: 2\r\n\r\n{} }Content-Length: 2\r\n\r\n{}",
                Fault::NotAHeader(" }Content-Length: 2".into()),
            ),
            (
                // The length before was too large by four.
                "Content-Length: 6\r\n\r\n{}Content-Length: 2\r\n\r\n{}",
                Fault::NoLength,
            ),
            ("\r\n", Fault::NoLength),
            ("X: 1\r\n\r\n", Fault::NoLength),
            ("Content-Length:\r\n", Fault::BadLength(String::new())),
            ("Content-Length: -1\r\n", Fault::BadLength("-1".into())),
            ("Content-Length: +1\r\n", Fault::BadLength("+1".into())),
            ("Content-Length: 1 0\r\n", Fault::BadLength("1 0".into())),
            ("Content-Length: 0x1\r\n", Fault::BadLength("0x1".into())),
            (
                "Content-Length: 2\r\nContent-Length: 3\r\n",
                Fault::TwoLengths(2, 3),
            ),
            (
                "Content-Length: 101\r\n",
                Fault::TooLong {
                    length: "101".into(),
                    limit: 100,
                },
            ),
            (
                "Content-Length: 99999999999999999999999\r\n",
                Fault::TooLong {
                    length: "99999999999999999999999".into(),
                    limit: 100,
                },
            ),
            ("C", Fault::EndInHeader),
            ("Content-Length: 2\r\n", Fault::EndInHeader),
            (
                "Content-Length: 2\r\n\r\n",
                Fault::EndInBody { got: 0, length: 2 },
            ),
            (
                "Content-Length: 2\r\n\r\n{",
                Fault::EndInBody { got: 1, length: 2 },
            ),
        ];
        for (text, fault) in cases {
            let bytes = text.as_bytes();
            for split in 0..=bytes.len() {
                let pieces = [&bytes[..split], &bytes[split..]];
                assert_eq!(decode(pieces), Err(fault.clone()), "{text:.80?} at {split}");
            }
        }
    }

    #[test]
    fn a_body_at_the_limit_passes_and_the_longest_line_passes() {
        let body = "b".repeat(100);
        let line = format!("X:{}", "y".repeat(HEADER_LINE_LIMIT - 3));
        let text = format!("{line}\r\nContent-Length: 100\r\n\r\n{body}");
        assert_eq!(decode([text.as_bytes()]), Ok(vec![body]));
    }

    #[test]
    fn a_claimed_length_takes_no_memory() {
        let mut decoder = Decoder::new(usize::MAX);
        let header = format!("Content-Length: {}\r\n\r\n{{", usize::MAX);
        assert_eq!(decoder.next_body(&mut header.as_bytes()), Ok(None));
        let State::Body { bytes, .. } = &decoder.state else {
            panic!("not in a body");
        };
        assert!(bytes.capacity() <= FIRST_RESERVE);
    }

    #[test]
    fn what_is_encoded_decodes() {
        let mut out = Vec::new();
        encode("{\"é\":1}".as_bytes(), &mut out);
        encode(b"[]", &mut out);
        assert_eq!(
            decode([out.as_slice()]),
            Ok(vec!["{\"é\":1}".to_owned(), "[]".to_owned()])
        );
    }
}
