//! Decides. `step(state, input) -> effects`, pure: no clock, no I/O, no async, no randomness, no LSP, no JSON.

pub mod conflict;
pub mod conversation;
pub mod diff;
pub mod document;
pub mod edit;
pub mod file;
pub mod finding;
pub mod hash;
pub mod ids;
pub mod merge;
pub mod path;
pub mod question;
pub mod time;
pub mod tool;
