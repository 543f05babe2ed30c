//! Bytes as text and back, without loss.

use thiserror::Error;

use crate::kernel::file::Encoding;

/// Why bytes cannot be edited as text without loss.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotText {
    #[error("it holds NUL characters, so it is a binary file")]
    Binary,
    #[error(
        "it is not UTF-8 (byte {byte:#04x} in line {line}); convert it to UTF-8 to have it edited"
    )]
    NotUtf8 {
        byte: u8,
        /// 1-based.
        line: usize,
    },
    #[error("it starts as UTF-16 but is not valid UTF-16")]
    NotUtf16,
}

/// The text that the bytes make, without its byte order mark. [`Encoding::encode`] gives back the very bytes.
///
/// # Errors
/// Bytes that are no text in UTF-8, or in UTF-16 with a byte order mark.
pub fn decode(bytes: &[u8]) -> Result<(String, Encoding), NotText> {
    let (text, encoding) = match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => (utf8(rest)?, Encoding::Utf8Bom),
        [0xff, 0xfe, rest @ ..] => (utf16(rest, u16::from_le_bytes)?, Encoding::Utf16Le),
        [0xfe, 0xff, rest @ ..] => (utf16(rest, u16::from_be_bytes)?, Encoding::Utf16Be),
        bytes => (utf8(bytes)?, Encoding::Utf8),
    };
    if text.contains('\0') {
        return Err(NotText::Binary);
    }
    Ok((text, encoding))
}

fn utf8(bytes: &[u8]) -> Result<String, NotText> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) if bytes.contains(&0) => Err(NotText::Binary),
        Err(error) => {
            let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line_ends = before.iter().filter(|byte| **byte == b'\n').count();
            Err(NotText::NotUtf8 {
                byte: bytes.get(error.valid_up_to()).copied().unwrap_or_default(),
                line: 1 + line_ends,
            })
        }
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, NotText> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(NotText::NotUtf16);
    }
    char::decode_utf16(pairs.iter().copied().map(unit))
        .collect::<Result<String, _>>()
        .map_err(|_| NotText::NotUtf16)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_text_is_not_decoded() {
        let rows: [(&[u8], NotText); 7] = [
            (b"a\0b", NotText::Binary),
            (b"\x7fELF\x02\0\xff", NotText::Binary),
            (
                b"ok\nna\xefve",
                NotText::NotUtf8 {
                    byte: 0xef,
                    line: 2,
                },
            ),
            (
                b"\xed\xa0\x80",
                NotText::NotUtf8 {
                    byte: 0xed,
                    line: 1,
                },
            ),
            (b"\xff\xfea", NotText::NotUtf16),
            (b"\xfe\xff\xd8\x00", NotText::NotUtf16),
            // UTF-32 starts like UTF-16.
            (b"\xff\xfe\0\0a\0\0\0", NotText::Binary),
        ];
        for (bytes, want) in rows {
            assert_eq!(decode(bytes), Err(want), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn decoded_bytes_come_back(
            bytes in prop_oneof![
                any::<Vec<u8>>(),
                any::<String>().prop_map(|text| Encoding::Utf16Le.encode(&text)),
                any::<String>().prop_map(|text| Encoding::Utf16Be.encode(&text)),
                any::<String>().prop_map(|text| Encoding::Utf8Bom.encode(&text)),
            ]
        ) {
            if let Ok((text, encoding)) = decode(&bytes) {
                prop_assert_eq!(encoding.encode(&text), bytes);
            }
        }
    }
}
