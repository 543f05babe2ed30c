//! Frames of the base protocol as a client needs them: one body at a time from a blocking reader.

use std::io::{self, BufRead, Read};

/// A body longer than this is a mistake, in bytes.
const BODY_LIMIT: u64 = 64 * 1024 * 1024;

/// The body with its header.
pub fn frame(body: &[u8]) -> Vec<u8> {
    let mut frame = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    frame.extend_from_slice(body);
    frame
}

/// The next body; `None` at the end of the input.
///
/// # Errors
/// The input ends inside a frame, or is no sequence of frames.
pub fn read(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let mut length = None;
    let mut is_first = true;
    loop {
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            return if is_first {
                Ok(None)
            } else {
                Err(io::ErrorKind::UnexpectedEof.into())
            };
        }
        is_first = false;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line
            .split_once(':')
            .ok_or_else(|| invalid(format!("it printed `{line}` where a message was due")))?;
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse::<u64>().ok();
        }
    }
    let length = length
        .filter(|length| *length <= BODY_LIMIT)
        .ok_or_else(|| invalid("it sent a message without a usable length".to_owned()))?;
    let mut body = Vec::new();
    if input.take(length).read_to_end(&mut body)? as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_one_by_one() {
        let mut bytes = frame("{\"é\":1}".as_bytes());
        bytes.extend(b"content-type: x\r\nCONTENT-LENGTH: 2\r\n\r\n{}");
        let mut input = bytes.as_slice();
        assert_eq!(read(&mut input).unwrap(), Some("{\"é\":1}".into()));
        assert_eq!(read(&mut input).unwrap(), Some(b"{}".to_vec()));
        assert_eq!(read(&mut input).unwrap(), None);
    }

    #[test]
    fn what_is_no_frame_is_an_error() {
        for bad in [
            &b"Content-Length: 3\r\n\r\n{}"[..],
            b"Content-Length: 3\r\n",
            b"hello\r\n\r\n",
            b"Content-Length: x\r\n\r\n{}",
            b"Content-Length: 99999999999\r\n\r\n{}",
            b"Other: 1\r\n\r\n{}",
        ] {
            let mut input = bad;
            assert!(read(&mut input).is_err(), "{}", bad.escape_ascii());
        }
    }
}
