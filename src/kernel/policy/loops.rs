//! Noticing that a run goes in circles: the same tool with the same arguments and the same result, again and again.

use crate::kernel::hash::ContentHash;

/// Calls that are looked back at.
pub const WINDOW: usize = 12;
/// The same call with the same result so often: the model is told.
const TOLD: usize = 3;
/// So often: a human is asked.
const STUCK: usize = 5;

/// What makes two calls the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature(ContentHash);

impl Signature {
    pub fn of(tool: &str, arguments: &str, result: &str) -> Self {
        Self(ContentHash::of(
            format!("{tool}\u{1f}{arguments}\u{1f}{result}").as_bytes(),
        ))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Circling {
    No,
    /// The model is to be told that it repeats itself.
    Tell,
    Stuck,
}

/// Judges the newest call, the last of `recent`.
pub fn judge(recent: &[Signature]) -> Circling {
    let Some(newest) = recent.last() else {
        return Circling::No;
    };
    match recent
        .iter()
        .filter(|signature| *signature == newest)
        .count()
    {
        count if count >= STUCK => Circling::Stuck,
        count if count >= TOLD => Circling::Tell,
        _ => Circling::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_call_with_the_same_result_is_circling() {
        let calls = |names: &str| -> Vec<Signature> {
            names
                .chars()
                .map(|name| Signature::of("edit", &name.to_string(), "same"))
                .collect()
        };
        let rows = [
            ("", Circling::No),
            ("aa", Circling::No),
            ("abcd", Circling::No),
            ("aaa", Circling::Tell),
            ("ababa", Circling::Tell),
            ("abababaabb", Circling::Stuck),
            ("aaaaa", Circling::Stuck),
            ("aaaab", Circling::No),
        ];
        for (names, want) in rows {
            assert_eq!(judge(&calls(names)), want, "{names}");
        }
        assert_ne!(
            Signature::of("a", "b", "c"),
            Signature::of("a", "b", "d"),
            "another result is progress"
        );
    }
}
