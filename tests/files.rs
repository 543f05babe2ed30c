//! The user's bytes are safe, whatever the agent does: real files, real links, real processes.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "files/merge_like_git.rs"]
mod merge_like_git;
