//! What outlives the process: the transcripts of runs, an index of them, and where they lie.
//!
//! Owns the state folder of a workspace, which lies outside of it. Transcripts are the truth of runs; the database is an index
//! of them, the tasks, and what processes say to each other. Promises: what was synchronised is there after a crash,
//! what a crash cut off is cut away and never read as something else, secrets are masked before they reach the disk, and
//! a full disk or a damaged file is an error in words, not a panic and not a silent loss.

pub mod database;
pub mod lease;
pub mod mask;
pub mod overview;
pub mod retention;
pub mod spendings;
pub mod state_dir;
pub mod transcript;
