//! Decides. `step(state, input) -> effects`, pure: no clock, no I/O, no async, no randomness, no LSP, no JSON.

pub mod conversation;
pub mod finding;
pub mod hash;
pub mod ids;
pub mod path;
pub mod time;
