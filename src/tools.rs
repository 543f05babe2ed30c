//! What an agent may do besides files: run commands; and what it is told about all of its tools.
//!
//! Owns the processes that a run's commands start, and the JSON Schemas of the tools. Promises: no process outlives the run
//! that started it, a call that does not fit its tool is answered with words that help the model to repair it, and nothing
//! that a model sends can make us panic.

pub mod command;
pub mod schema;
