//! JSON as tools print it: behind banners, in several values, cut off, with single items of an unknown form.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// At most so many places of a stream are tried as the beginning of the report.
const MAX_TRIES: usize = 64;

/// What was found in a stream.
#[derive(Debug)]
pub enum Found<T> {
    Whole(T),
    /// It begins as JSON does and does not end.
    CutOff,
    Absent,
}

/// The first JSON value of form `T` in a stream. A value begins at the start of a line; banners before it and text after
/// it are no matter.
pub fn find<T: DeserializeOwned>(bytes: &[u8]) -> Found<T> {
    let mut cut_off = false;
    for start in starts(bytes).take(MAX_TRIES) {
        let rest = bytes.get(start..).unwrap_or_default();
        match serde_json::Deserializer::from_slice(rest)
            .into_iter::<T>()
            .next()
        {
            Some(Ok(value)) => return Found::Whole(value),
            Some(Err(error)) => cut_off |= error.is_eof(),
            None => {}
        }
    }
    if cut_off {
        Found::CutOff
    } else {
        Found::Absent
    }
}

/// The JSON values of a stream of lines, each with whether it was understood; lines that are no JSON are skipped.
pub fn lines<T: DeserializeOwned>(bytes: &[u8]) -> impl Iterator<Item = Result<T, ()>> + '_ {
    bytes
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .filter(|line| line.starts_with(b"{"))
        .map(|line| serde_json::from_slice(line).map_err(|_| ()))
}

/// Items read one by one, so that one of an unknown form does not lose the others; and how many were lost.
pub fn items<T: DeserializeOwned>(raw: &[Box<RawValue>]) -> (Vec<T>, usize) {
    let read: Vec<T> = raw
        .iter()
        .filter_map(|item| serde_json::from_str(item.get()).ok())
        .collect();
    let lost = raw.len() - read.len();
    (read, lost)
}

/// A note about items that were not understood.
pub fn lost_note(lost: usize) -> Option<String> {
    (lost > 0).then(|| format!("{lost} findings had an unknown form and were left out"))
}

fn starts(bytes: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let mut line_start = 0;
    std::iter::from_fn(move || {
        while line_start < bytes.len() {
            let rest = bytes.get(line_start..)?;
            let line_len = rest
                .iter()
                .position(|byte| *byte == b'\n')
                .map_or(rest.len(), |at| at + 1);
            let line = rest.get(..line_len)?;
            let indent = line.len() - line.trim_ascii_start().len();
            let start = line_start + indent;
            line_start += line_len;
            if matches!(bytes.get(start), Some(b'{' | b'[')) {
                return Some(start);
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_is_found_in_the_noise() {
        type Report = Vec<u32>;
        let found = |text: &str| match find::<Report>(text.as_bytes()) {
            Found::Whole(numbers) => Ok(numbers),
            Found::CutOff => Err("cut"),
            Found::Absent => Err("absent"),
        };
        assert_eq!(found("[1,2]"), Ok(vec![1, 2]));
        assert_eq!(
            found("\n> x@1 lint\n[warn] z\n  [1]\n2 errors"),
            Ok(vec![1])
        );
        assert_eq!(found("[1,"), Err("cut"));
        assert_eq!(found("text"), Err("absent"));
        assert_eq!(found("{\"a\":1}"), Err("absent"));
        assert_eq!(found(""), Err("absent"));
    }
}
