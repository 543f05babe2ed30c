//! Verification gates: running a project's own tools and turning what they say into exact findings.
//!
//! Owns: how each tool is called, how it counts columns, what its exit statuses mean, how its report is read. Promises:
//! readers are pure and never panic, whatever they are given; a place is always inside the text it was computed from; a
//! file is named as one of the workspace only when it is one; a tool that could not run is never the code's fault, and
//! silence is never a pass.
//!
//! The way of a report: [`run`] → [`output::ToolOutput`] → a reader in [`readers`], which asks [`locate`] for files and
//! [`place`] for ranges by the tool's [`columns`] → [`outcome::decide`] → `GateReport`. [`Gates`] is the door.

pub mod cargo;
pub mod catalogue;
mod check;
pub mod columns;
pub mod compile_commands;
pub mod declared;
pub mod detect;
pub mod disk;
pub mod environment;
pub mod facts;
pub mod kinds;
pub mod locate;
pub mod outcome;
pub mod output;
pub mod place;
pub mod programs;
pub mod readers;
pub mod reading;
pub mod run;
pub mod settings;
pub mod text;

pub use check::{Breadth, GateRequest, Gates, Listed, Tier, Unused};
pub use run::settled;
