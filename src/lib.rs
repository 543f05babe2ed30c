//! Outrigger: an editor sidecar for coding-agent runs.

pub mod gates;
pub mod cli;
pub mod kernel;
pub mod lsp;
pub mod model;
pub mod protocol;
pub mod tools;
