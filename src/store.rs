//! What outlives the process: transcripts of runs and where they lie.
//!
//! Owns the state folder of a workspace, which lies outside of it. Promises: what was synchronised is there after a crash,
//! what a crash cut off is cut away and never read as something else, secrets are masked before they reach the disk, and
//! a full disk or a damaged file is an error in words, not a panic and not a silent loss.

pub mod database;
pub mod lease;
pub mod mask;
pub mod overview;
pub mod state_dir;
pub mod transcript;
