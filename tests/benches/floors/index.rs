//! A workspace in which many runs were made: how long until its list is there.

use std::fs;
use std::time::Instant;

use outrigger::store::database::Database;
use serde_json::json;

use super::table::{Row, Target, median, milliseconds};

pub fn open() -> Row {
    const RUNS: usize = 10_000;
    const TIMES: usize = 9;
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let runs = folder.path().join("runs");
    fs::create_dir(&runs).unwrap();
    let started = json!({"seq": 1, "at": 5, "mono": 1, "kind": "state_transition", "v": 1, "event": {
        "type": "runStarted", "spec": {"prompt": "Fix it.", "engine": "react", "model": "scripted:x",
        "policy": {}, "budget": {}}}});
    for n in 0..RUNS {
        fs::write(runs.join(format!("r{n}.jsonl")), format!("{started}\n")).unwrap();
    }
    let path = folder.path().join("state.db");
    let refreshed = Database::open(&path).unwrap().0.refresh(&runs).unwrap();
    assert_eq!(
        (refreshed.changed.len(), refreshed.problems.len()),
        (RUNS, 0)
    );
    let mut ours = Vec::new();
    let mut floor = Vec::new();
    for _ in 0..TIMES {
        let begun = Instant::now();
        let (mut database, _) = Database::open(&path).unwrap();
        assert!(database.refresh(&runs).unwrap().changed.is_empty());
        assert_eq!(database.runs(50).unwrap().len(), 50);
        ours.push(begun.elapsed());
        let begun = Instant::now();
        let sizes = fs::read_dir(&runs)
            .unwrap()
            .map(|entry| entry.unwrap().metadata().unwrap().len());
        assert!(sizes.sum::<u64>() > 0);
        floor.push(begun.elapsed());
    }
    Row {
        ours: milliseconds(median(&mut ours)),
        floor: Some(milliseconds(median(&mut floor))),
        unit: "ms",
        target: Target::AtMost(50.0),
        note: format!("{RUNS} runs, of which 50 are listed; floor: a look at each file"),
        ..Row::default()
    }
}
