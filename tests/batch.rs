//! Batches through the real binary: worktrees of a real git, processes of their own, results taken by choice.

#![cfg(unix)]
#![allow(
    clippy::needless_pass_by_value,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test's own helpers fail by panicking"
)]

#[path = "support/person.rs"]
mod person;
#[path = "batch/support.rs"]
mod support;

#[path = "batch/outcomes.rs"]
mod outcomes;
#[path = "batch/results.rs"]
mod results;
