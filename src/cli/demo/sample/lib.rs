//! Durations as people write them: `90s`, `5m`.

/// Units by their letter, in seconds.
const UNITS: [(char, u64); 2] = [('s', 1), ('m', 60)];

/// The seconds of a duration; `None` if the text is none.
pub fn seconds(text: &str) -> Option<u64> {
    let unit = text.chars().last()?;
    let number = text.strip_suffix(unit)?;
    let (_, seconds) = UNITS.iter().find(|(letter, _)| *letter == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*seconds)
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn units_are_known() {
        assert_eq!(seconds("90s"), Some(90));
        assert_eq!(seconds("5m"), Some(300));
    }
}
