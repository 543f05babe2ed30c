//! A whole run by the scripted model: what each tool call costs beyond its own work, with the transcript on.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::table::{Row, Target, median, microseconds};
use super::wire::Peer;

const CALLS: u32 = 40;
const RUNS: usize = 9;

pub fn per_tool_call() -> Row {
    let state = tempfile::tempdir().unwrap();
    let root = tempfile::tempdir().unwrap();
    for n in 0..CALLS {
        fs::write(root.path().join(format!("{n}.txt")), format!("text {n}\n")).unwrap();
    }
    let scripts = tempfile::tempdir().unwrap();
    let without = scripts.path().join("without.script.jsonl");
    let with = scripts.path().join("with.script.jsonl");
    fs::write(&without, script(0)).unwrap();
    fs::write(&with, script(CALLS)).unwrap();

    let mut server = Peer::outrigger(state.path());
    let capabilities = json!({"experimental": {"outrigger": {"version": 1, "events": true}}});
    server.initialize(root.path(), &capabilities);
    run(&mut server, &with);
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let (nothing, _) = run(&mut server, &without);
        let (calls, transcript) = run(&mut server, &with);
        ours.push(calls.saturating_sub(nothing) / CALLS);
        floor.push(bare(root.path(), state.path(), &transcript) / CALLS);
    }
    Row {
        ours: microseconds(median(&mut ours)),
        floor: Some(microseconds(median(&mut floor))),
        unit: "µs",
        target: Target::None,
        note: format!(
            "{RUNS} runs of {CALLS} `read` calls; floor: read the file, append as many bytes"
        ),
        ..Row::default()
    }
}

/// A turn for each call, and one that says that it is done.
fn script(calls: u32) -> String {
    let mut text =
        String::from("{\"script\":1,\"name\":\"floors\",\"model\":\"scripted/floors\"}\n");
    for n in 0..calls {
        let call =
            json!({"tool": "read", "id": format!("c{n}"), "args": {"path": format!("{n}.txt")}});
        writeln!(text, "{}", json!({"emit": [call]})).unwrap();
    }
    writeln!(
        text,
        "{}",
        json!({"emit": [{"text": "Done."}], "stop": "end"})
    )
    .unwrap();
    text
}

/// Runs a script to its end; how long it took, and its transcript.
fn run(server: &mut Peer, script: &Path) -> (Duration, Vec<u8>) {
    let params = json!({
        "prompt": "Read the files.",
        "model": format!("scripted:{}", script.display()),
        "budget": {"iterations": 2 * CALLS, "tokens": 1_000_000_000_u64},
    });
    let begun = Instant::now();
    let id = server.request("outrigger/run/start", &params)["runId"].take();
    loop {
        let message = server.message();
        if message["method"] == "outrigger/run/event"
            && message["params"]["runId"] == id
            && message["params"]["record"]["kind"] == "terminal"
        {
            break;
        }
    }
    let took = begun.elapsed();
    let mut runs = server.request("outrigger/run/list", &json!({}));
    let view = runs["runs"]
        .as_array_mut()
        .and_then(|runs| runs.iter_mut().find(|view| view["runId"] == id))
        .map(Value::take)
        .expect("the run is listed");
    assert_eq!(view["status"], "succeeded", "{view}");
    let transcript = view["transcript"]
        .as_str()
        .expect("the path of the transcript");
    (took, fs::read(transcript).unwrap())
}

/// The same reads and the same bytes, without us.
fn bare(root: &Path, state: &Path, transcript: &[u8]) -> Duration {
    let path = state.join("bare");
    let mut file = OpenOptions::new()
        .create_new(true)
        .append(true)
        .open(&path)
        .unwrap();
    let share = transcript.len() / CALLS as usize;
    let begun = Instant::now();
    for (n, bytes) in (0..CALLS).zip(transcript.chunks(share.max(1))) {
        fs::read(root.join(format!("{n}.txt"))).unwrap();
        file.write_all(bytes).unwrap();
    }
    let took = begun.elapsed();
    fs::remove_file(&path).unwrap();
    took
}
