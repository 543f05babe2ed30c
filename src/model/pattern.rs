//! Regular expressions that are constants of this program.

use regex::Regex;

/// Compiles a constant. Each one is compiled by some test, so a wrong one never leaves the house.
#[allow(clippy::unwrap_used)]
pub fn constant(pattern: &'static str) -> Regex {
    Regex::new(pattern).unwrap()
}
