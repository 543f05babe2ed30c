//! Policies: small decisions as plain functions, each with its table of tests.

pub mod baseline;
pub mod budget;
pub mod compaction;
pub mod done;
pub mod fixes;
pub mod ladder;
pub mod lease;
pub mod loops;
pub mod pace;
pub mod recovery;
pub mod relevance;
pub mod stall;
pub mod stitch;
