//! Commands of the terminal, whole processes: beside `true`, which starts and ends.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::table::{Row, Target, median, milliseconds};

const TIMES: usize = 60;

fn time(command: &mut Command) -> Duration {
    let begun = Instant::now();
    let output = command.stdin(Stdio::null()).output().unwrap();
    let time = begun.elapsed();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    time
}

fn outrigger(words: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_outrigger"));
    command
        .args(words)
        .current_dir(folder)
        .env("OUTRIGGER_CONFIG", "")
        .env("OUTRIGGER_STATE_DIR", folder.with_file_name("state"));
    command
}

fn measured(words: &[&str], folder: &Path, target: f64, what: &str) -> Row {
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..TIMES {
        ours.push(time(&mut outrigger(words, folder)));
        floor.push(time(&mut Command::new("true")));
    }
    Row {
        ours: milliseconds(median(&mut ours)),
        floor: Some(milliseconds(median(&mut floor))),
        unit: "ms",
        target: Target::AtMost(target),
        note: format!("{TIMES} processes{what}; floor: /bin/true"),
        ..Row::default()
    }
}

pub fn help() -> Row {
    let folder = tempfile::tempdir().unwrap();
    measured(&["--help"], folder.path(), 5.0, "")
}

pub fn runs() -> Row {
    const RUNS: usize = 10_000;
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let project = folder.path().join("project");
    fs::create_dir(&project).unwrap();
    // Makes the state folder, whose name is not ours to know.
    time(&mut outrigger(&["runs"], &project));
    let state = fs::read_dir(folder.path().join("state")).unwrap().flatten();
    let state = state
        .map(|entry| entry.path())
        .find(|path| path.join("state.db").exists())
        .unwrap();
    let started = json!({"seq": 1, "at": 5, "mono": 1, "kind": "state_transition", "v": 1, "event": {
        "type": "runStarted", "spec": {"prompt": "Fix it.", "engine": "react", "model": "scripted:x",
        "policy": {}, "budget": {}}}});
    let ended = json!({"seq": 2, "at": 9, "mono": 5, "kind": "state_transition", "v": 1, "event": {
        "type": "ended", "outcome": "succeeded", "summary": {}}});
    fs::create_dir_all(state.join("runs")).unwrap();
    for n in 0..RUNS {
        let path = state.join("runs").join(format!("r{n:05}.jsonl"));
        fs::write(path, format!("{started}\n{ended}\n")).unwrap();
    }
    // Read once: from then on it is the list of a workspace that has been in use.
    time(&mut outrigger(&["runs"], &project));
    measured(&["runs"], &project, 30.0, &format!(" with {RUNS} runs"))
}
