//! The user's bytes are safe, whatever the agent does: real files, real links, real processes.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "files/bytes.rs"]
mod bytes;
#[path = "files/merge_like_git.rs"]
mod merge_like_git;
#[path = "files/paths.rs"]
mod paths;
#[path = "files/support.rs"]
mod support;
#[path = "files/tools.rs"]
mod tools;
#[path = "files/undo.rs"]
mod undo;
#[path = "files/writes.rs"]
mod writes;
