pub fn first(text: &str) -> Option<char> {
    text.chars().next()
}

/// The user types this.
pub fn last(text: &str) -> Option<char> {
    text.chars().next_back()
}
