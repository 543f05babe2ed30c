//! The server that does nothing yet: its start, its round trip, its size.

use std::time::{Duration, Instant};

use serde_json::json;

use super::process::resident_mb;
use super::table::{Row, Target, median, microseconds, milliseconds};
use super::{echo, wire::Peer};

/// A custom request whose answer is as short as its question.
const METHOD: &str = "outrigger/run/list";

pub fn start() -> Row {
    const TIMES: usize = 60;
    let state = tempfile::tempdir().unwrap();
    let root = tempfile::tempdir().unwrap();
    let measure = |start: &dyn Fn() -> Peer, greet: &dyn Fn(&mut Peer)| {
        let begun = Instant::now();
        let mut peer = start();
        greet(&mut peer);
        begun.elapsed()
    };
    let greeting = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "processId": null, "rootUri": format!("file://{}", root.path().display()), "capabilities": {}}})
    .to_string();
    let greet = |peer: &mut Peer| {
        peer.send(greeting.as_bytes());
        peer.receive();
    };
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..TIMES {
        ours.push(measure(&|| Peer::outrigger(state.path()), &greet));
        floor.push(measure(&echo::start, &greet));
    }
    Row {
        ours: milliseconds(median(&mut ours)),
        floor: Some(milliseconds(median(&mut floor))),
        unit: "ms",
        target: Target::AtMost(10.0),
        note: format!("{TIMES} starts; floor: the echo child and its first echo"),
        ..Row::default()
    }
}

pub fn round_trip() -> Row {
    const BLOCKS: usize = 40;
    const BLOCK: usize = 100;
    let state = tempfile::tempdir().unwrap();
    let root = tempfile::tempdir().unwrap();
    let mut server = Peer::outrigger(state.path());
    server.initialize(root.path(), &json!({}));
    server.request(METHOD, &json!({}));
    let mut echo = echo::start();
    let request = json!({"jsonrpc": "2.0", "id": 7, "method": METHOD, "params": {}}).to_string();
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    let block = |peer: &mut Peer, samples: &mut Vec<Duration>| {
        for _ in 0..BLOCK {
            let begun = Instant::now();
            peer.send(request.as_bytes());
            peer.receive();
            samples.push(begun.elapsed());
        }
    };
    for _ in 0..BLOCKS {
        block(&mut server, &mut ours);
        block(&mut echo, &mut floor);
    }
    Row {
        ours: microseconds(median(&mut ours)),
        floor: Some(microseconds(median(&mut floor))),
        unit: "µs",
        target: Target::TimesFloor(3.0),
        note: format!(
            "{} of `{METHOD}`; floor: an echo over the same pipes",
            BLOCKS * BLOCK
        ),
        ..Row::default()
    }
}

pub fn idle_memory() -> Row {
    let state = tempfile::tempdir().unwrap();
    let root = tempfile::tempdir().unwrap();
    let mut server = Peer::outrigger(state.path());
    server.initialize(root.path(), &json!({}));
    // Whatever the handshake started has begun when this is answered.
    server.request(METHOD, &json!({}));
    let mut echo = echo::start();
    echo.send(b"{}");
    echo.receive();
    Row {
        ours: resident_mb(server.child.id()),
        floor: Some(resident_mb(echo.child.id())),
        unit: "MB",
        target: Target::AtMost(12.0),
        note: "after the handshake; floor: the echo child".to_owned(),
        ..Row::default()
    }
}

pub fn binary_size() -> Row {
    let binary = env!("CARGO_BIN_EXE_outrigger");
    #[allow(clippy::cast_precision_loss, reason = "megabytes")]
    let bytes = std::fs::metadata(binary).unwrap().len() as f64;
    Row {
        ours: bytes / 1e6,
        floor: None,
        unit: "MB",
        target: Target::AtMost(25.0),
        note: "stripped, as the release profile says".to_owned(),
        ..Row::default()
    }
}
