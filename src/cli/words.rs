//! Text on a terminal: styles, and foreign text made harmless.

use std::borrow::Cow;

use anstyle::{AnsiColor, Style};

use crate::kernel::conversation::Cost;
use crate::kernel::money::Dollars;

pub const BOLD: Style = Style::new().bold();
pub const DIM: Style = Style::new().dimmed();
pub const GOOD: Style = AnsiColor::Green.on_default();
pub const BAD: Style = AnsiColor::Red.on_default().bold();
pub const ADDED: Style = AnsiColor::Green.on_default();
pub const REMOVED: Style = AnsiColor::Red.on_default();
pub const ASKS: Style = AnsiColor::Yellow.on_default().bold();
pub const NAME: Style = AnsiColor::Cyan.on_default();

/// `text` in a style.
pub fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Text from outside, such as a model's or a file's: what would steer the terminal, or show letters in another order than
/// they stand, becomes a visible mark.
pub fn clean(text: &str) -> Cow<'_, str> {
    let steers = |c: char| {
        (c.is_control() && c != '\t' && c != '\n')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if text.contains(steers) {
        Cow::Owned(
            text.replace("\r\n", "\n")
                .chars()
                .map(|c| if steers(c) { '\u{fffd}' } else { c })
                .collect(),
        )
    } else {
        Cow::Borrowed(text)
    }
}

/// The first line, cut at `longest` characters.
pub fn headline(text: &str, longest: usize) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    if line.chars().count() <= longest {
        return clean(line).into_owned();
    }
    let cut: String = line.chars().take(longest.saturating_sub(1)).collect();
    format!("{}…", clean(&cut))
}

/// What calls cost, as far as it is known; `None` for what costs nothing.
pub fn cost(cost: Cost) -> Option<String> {
    let mut text = String::new();
    if cost.micros > 0 {
        text = Dollars::from_micros(cost.micros).to_string();
    }
    if cost.unpriced_tokens > 0 {
        let and = if text.is_empty() { "" } else { ", and " };
        text.push_str(&format!(
            "{and}{} tokens of models without a known price",
            grouped(cost.unpriced_tokens)
        ));
    }
    (!text.is_empty()).then_some(text)
}

/// Digits in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Milliseconds as seconds with one digit.
pub fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1000, ms % 1000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_steer_the_terminal() {
        let rows = [
            ("plain é漢😀\ttab\n", "plain é漢😀\ttab\n"),
            ("\u{1b}[2Jgone\u{7}", "\u{fffd}[2Jgone\u{fffd}"),
            ("a\u{202e}b", "a\u{fffd}b"),
            ("one\r\ntwo\rthree", "one\ntwo\u{fffd}three"),
            ("\u{9b}31m", "\u{fffd}31m"),
        ];
        for (text, want) in rows {
            assert_eq!(clean(text), want, "{text:?}");
        }
    }

    #[test]
    fn numbers_and_lines_are_short() {
        let rows = [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1234567, "1,234,567"),
        ];
        for (number, want) in rows {
            assert_eq!(grouped(number), want);
        }
        assert_eq!(seconds(1_250), "1.2 s");
        assert_eq!(headline("\n  漢字漢字\nmore", 4), "漢字漢字");
        assert_eq!(headline("漢字漢字漢", 4), "漢字漢…");
    }
}
