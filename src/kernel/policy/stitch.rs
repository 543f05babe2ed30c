//! Joining an answer that was cut off with its continuation.

/// The shortest and longest overlap, in characters, that counts as a repetition rather than as chance.
const SHORTEST: usize = 20;
const LONGEST: usize = 400;

/// `first` and `second` as one text; what `second` repeats of the end of `first` is there once.
pub fn join(first: &str, second: &str) -> String {
    let overlap = overlap(first, second);
    format!("{first}{}", second.get(overlap..).unwrap_or_default())
}

/// Bytes at the start of `second` that are also the end of `first`.
fn overlap(first: &str, second: &str) -> usize {
    let ends = second
        .char_indices()
        .map(|(at, c)| at + c.len_utf8())
        .take(LONGEST);
    let candidates: Vec<usize> = ends.skip(SHORTEST - 1).collect();
    candidates
        .into_iter()
        .rev()
        .find(|end| second.get(..*end).is_some_and(|head| first.ends_with(head)))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repetition_is_there_once() {
        let rows = [
            ("", "all", "all"),
            (
                "The first half of the sentence",
                " and the rest.",
                "The first half of the sentence and the rest.",
            ),
            (
                "It begins: the quick brown fox jumps",
                "the quick brown fox jumps over it",
                "It begins: the quick brown fox jumps over it",
            ),
            ("short end", "end of it", "short endend of it"),
            (
                "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字",
                "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字!",
                "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字!",
            ),
        ];
        for (first, second, want) in rows {
            assert_eq!(join(first, second), want);
        }
    }
}
