//! Tests of `outrigger::model` through its public API.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A test that cannot go on must stop.

#[path = "model/client.rs"]
mod client;
#[path = "model/foreign.rs"]
mod foreign;
#[path = "model/installed.rs"]
mod installed;
#[path = "model/recorded_errors.rs"]
mod recorded_errors;
#[path = "model/recordings.rs"]
mod recordings;
#[path = "model/scripted.rs"]
mod scripted;
#[path = "model/server.rs"]
mod server;
#[path = "model/support.rs"]
mod support;
#[path = "model/wire_bytes.rs"]
mod wire_bytes;
