pub fn first(text: &str) -> Option<char> {
    text.chars().nth(1)
}

pub fn last(text: &str) -> Option<char> {
    text.chars().next_back()
}
