//! Keeps keys out of everything that is shown or stored, and texts short enough to be.

use std::sync::LazyLock;

use regex::Regex;

/// Bytes of a provider's words that are kept.
const CAP: usize = 4096;

/// Shapes of secrets, and what to leave of them.
static SECRETS: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    let shapes = [
        // Keys by their provider's prefix. A key that was masked by the provider stays as it is.
        (
            r"\b(sk|pk|rk|gsk|xai|hf|r8|fw|pplx|nvapi|csk|tgp|key|sess|ghp|gho|ghs|glpat|tvly)([-_])[A-Za-z0-9_\-]{12,}",
            "$1$2***",
        ),
        (r"\bAIza[A-Za-z0-9_\-]{20,}", "AIza***"),
        (r"\b(AKIA|ASIA)[A-Z0-9]{12,}", "$1***"),
        (
            r"\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{4,}(\.[A-Za-z0-9_\-]*)?",
            "eyJ***",
        ),
        (
            r"(?i)\b(bearer|basic)(\s+)[A-Za-z0-9._~+/=\-]{8,}",
            "$1$2***",
        ),
        (
            r#"(?i)\b((?:x-)?(?:api|goog-api|subscription|access|secret)[-_ ]?(?:key|token)["']?\s*[:=]\s*["']?)[A-Za-z0-9._~+/=\-]{8,}"#,
            "$1***",
        ),
        (
            r"(?i)([?&](?:key|api_key|api-key|access_token|token)=)[^&\s]+",
            "$1***",
        ),
        (r"(?i)(https?://)[^/\s:@]+:[^/\s@]+@", "$1***@"),
    ];
    shapes
        .into_iter()
        .filter_map(|(shape, left)| Some((Regex::new(shape).ok()?, left)))
        .collect()
});

/// The text without keys, at most 4 KiB of it.
pub fn masked(text: &str) -> String {
    // A key that crosses the cut must still be seen whole, so the cut comes last; the first one only bounds the work.
    let mut masked = without_keys(clipped(text, 4 * CAP));
    if masked.len() > CAP {
        let mark = "…";
        masked = clipped(&masked, CAP - mark.len()).to_owned();
        masked.push_str(mark);
    }
    masked
}

/// The text without keys, however long.
pub fn without_keys(text: &str) -> String {
    let mut masked = text.to_owned();
    for (shape, left) in SECRETS.iter() {
        if let std::borrow::Cow::Owned(replaced) = shape.replace_all(&masked, *left) {
            masked = replaced;
        }
    }
    masked
}

/// The beginning of a text that has at most `most` bytes, cut between characters.
pub(super) fn clipped(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::masked;

    #[test]
    fn keys_of_every_shape_are_masked() {
        let table = [
            (
                "Incorrect API key provided: sk-proj-abcdefghijklmnop1234.",
                "Incorrect API key provided: sk-***.",
            ),
            (
                "key AIzaSyA1234567890abcdefghijklmnopqrs is bad",
                "key AIza*** is bad",
            ),
            (
                "Authorization: Bearer abc.def-ghi_jkl",
                "Authorization: Bearer ***",
            ),
            (
                r#"{"x-api-key": "0123456789abcdef"}"#,
                r#"{"x-api-key": "***"}"#,
            ),
            (
                "https://host/v1?key=secret123&alt=sse",
                "https://host/v1?key=***&alt=sse",
            ),
            (
                "http://me:pass@proxy:3128 refused",
                "http://***@proxy:3128 refused",
            ),
            ("gsk_abcdefghijklmnopqrstuvwx", "gsk_***"),
            (
                "prompt is too long: 208310 tokens > 200000 maximum",
                "prompt is too long: 208310 tokens > 200000 maximum",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(masked(text), expected);
        }
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let long = masked(&"ö".repeat(5000));
        assert!(long.len() <= 4096 && long.ends_with('…'));
        let key_at_the_cut = format!("{}sk-ant-{}", "x ".repeat(2046), "k".repeat(60));
        assert!(!masked(&key_at_the_cut).contains("kkkk"));
    }
}
