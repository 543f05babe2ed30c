//! One reader per report format: pure functions from what a tool printed to findings.

pub mod cargo;
pub mod panic;
pub mod rustc_text;
