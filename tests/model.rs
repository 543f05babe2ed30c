//! Tests of `outrigger::model` through its public API.

#[path = "model/recorded_errors.rs"]
mod recorded_errors;
#[path = "model/scripted.rs"]
mod scripted;
#[path = "model/support.rs"]
mod support;
