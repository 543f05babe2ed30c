//! A call that cannot be meant: exit code 2, as for a flag that does not exist.

use thiserror::Error;

/// For people: what is wrong with the call, and what to say instead.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct Usage(String);

impl Usage {
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// The exit code of an error.
pub fn code(error: &anyhow::Error) -> u8 {
    if error.chain().any(|cause| cause.is::<Usage>()) {
        2
    } else {
        1
    }
}
