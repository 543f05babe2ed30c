//! Outrigger: an editor sidecar for coding-agent runs.

pub mod kernel;
pub mod workspace;
