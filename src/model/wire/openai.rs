//! OpenAI Chat Completions, and the many servers that speak nearly it.

mod decode;
mod encode;

pub use decode::Decoder;
pub use encode::encode;
