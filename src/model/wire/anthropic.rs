//! Anthropic Messages.

mod decode;
mod encode;

pub use decode::Decoder;
pub use encode::encode;
