//! Whether a run that changed nothing may call itself done: it must say why nothing had to be changed.

/// Words that say no more than that it is over.
const EMPTY: [&str; 24] = [
    "all",
    "am",
    "and",
    "complete",
    "completed",
    "done",
    "everything",
    "finished",
    "good",
    "great",
    "i",
    "is",
    "it",
    "ok",
    "okay",
    "ready",
    "set",
    "sure",
    "task",
    "the",
    "well",
    "work",
    "yes",
    "that",
];

/// Whether these closing words give a reason: something beyond "Done.".
pub fn gives_a_reason(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let mut words = words.filter(|word| !word.is_empty());
    words.any(|word| !EMPTY.contains(&word.to_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn done_is_no_reason() {
        let rows = [
            ("Done.", false),
            ("OK, all done!", false),
            ("The task is complete.", false),
            ("", false),
            ("  …  ", false),
            ("The function already handles an empty list.", true),
            ("Nothing to do: größer ist es schon.", true),
            ("完了", true),
            ("README.md", true),
        ];
        for (text, want) in rows {
            assert_eq!(gives_a_reason(text), want, "{text:?}");
        }
    }
}
