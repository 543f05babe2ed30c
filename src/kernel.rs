//! Decides. `step(state, input) -> effects`, pure: no clock, no I/O, no async, no randomness, no LSP, no JSON.
//!
//! Inputs are what happened, effects are what is to be done; performers outside do it and answer with inputs. The facts of
//! a run (see [`event::RunEvent::is_fact`]) fed again give the same state.

mod commands;
pub mod conflict;
pub mod conversation;
pub mod course;
pub mod diff;
pub mod document;
pub mod edit;
pub mod effect;
mod engine;
pub mod event;
pub mod file;
pub mod file_set;
pub mod finding;
pub mod hash;
pub mod ids;
pub mod input;
pub mod merge;
pub mod money;
pub mod path;
pub mod plan;
pub mod policy;
pub mod question;
pub mod questions;
pub mod recheck;
pub mod run;
mod shift;
pub mod state;
mod step;
pub mod task;
pub mod time;
pub mod tool;
pub mod view;

pub use state::State;
pub use step::step;
