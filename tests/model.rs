//! Tests of `outrigger::model` through its public API.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A test that cannot go on must stop.

#[path = "model/client.rs"]
mod client;
#[path = "model/foreign.rs"]
mod foreign;
#[path = "model/fuzzed.rs"]
mod fuzzed;
#[path = "model/hostile.rs"]
mod hostile;
#[path = "model/installed.rs"]
mod installed;
#[path = "fuzz/model_stream.rs"]
mod model_stream;
#[path = "model/record_replay.rs"]
mod record_replay;
#[path = "model/recorded_errors.rs"]
mod recorded_errors;
#[path = "model/recordings.rs"]
mod recordings;
#[path = "model/requests.rs"]
mod requests;
#[path = "model/scripted.rs"]
mod scripted;
#[path = "model/server.rs"]
mod server;
#[path = "model/support.rs"]
mod support;
#[path = "model/wire_bytes.rs"]
mod wire_bytes;
