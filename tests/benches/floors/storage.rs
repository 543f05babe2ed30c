//! The transcript: appended with and without waiting for the disk, and read.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use outrigger::store::mask::Mask;
use outrigger::store::transcript::{self, Transcript};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::table::{Row, Target};

/// As long as a usual event of a run.
#[derive(Clone, Serialize, Deserialize)]
struct Event {
    seq: u64,
    at: i64,
    kind: String,
    event: Value,
}

fn event(seq: u64) -> Event {
    Event {
        seq,
        at: 1_700_000_000_000,
        kind: "tool_lifecycle".to_owned(),
        event: serde_json::json!({"type": "toolCompleted", "call": "c1", "output": {
            "text": "exit status 0 after 0.52 s\noutput:\nrunning 3 tests\ntest result: ok. 3 passed; 0 failed\n",
            "isError": false}}),
    }
}

fn mask() -> Arc<Mask> {
    let environment = [
        ("SOME_API_KEY", "an0therS3cret"),
        ("OTHER_TOKEN", "t0ken-t0ken"),
    ];
    Arc::new(Mask::new(environment, []).unwrap())
}

fn bare(folder: &Path) -> File {
    let path = folder.join("bare");
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .unwrap()
}

fn rate(count: u64, begun: Instant) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "a rate")]
    let count = count as f64;
    count / begun.elapsed().as_secs_f64()
}

fn middle(rates: &mut [f64]) -> f64 {
    rates.sort_unstable_by(f64::total_cmp);
    rates[rates.len() / 2]
}

pub fn durable_append() -> Row {
    const BLOCKS: usize = 15;
    const BLOCK: u64 = 40;
    // Beside the build: the folder for temporary files is often memory, where nothing waits for a disk.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut transcript = Transcript::create(&folder.path().join("t.jsonl"), mask()).unwrap();
    let mut file = bare(folder.path());
    let line = serde_json::to_string(&event(1)).unwrap() + "\n";
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    let mut seq = 0;
    for _ in 0..BLOCKS {
        let begun = Instant::now();
        for _ in 0..BLOCK {
            seq += 1;
            transcript.append(&event(seq)).unwrap();
            transcript.sync().unwrap();
        }
        ours.push(rate(BLOCK, begun));
        let begun = Instant::now();
        for _ in 0..BLOCK {
            file.write_all(line.as_bytes()).unwrap();
            file.sync_data().unwrap();
        }
        floor.push(rate(BLOCK, begun));
    }
    Row {
        ours: middle(&mut ours),
        floor: Some(middle(&mut floor)),
        unit: "/s",
        target: Target::ShareOfFloor(0.8),
        note: format!(
            "{} of {} bytes; floor: write + fdatasync",
            BLOCKS as u64 * BLOCK,
            line.len()
        ),
        ..Row::default()
    }
}

pub fn append() -> Row {
    const BLOCKS: usize = 9;
    const BLOCK: u64 = 100_000;
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut transcript = Transcript::create(&folder.path().join("t.jsonl"), mask()).unwrap();
    let mut file = bare(folder.path());
    let line = serde_json::to_string(&event(1)).unwrap() + "\n";
    let record = event(1);
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..BLOCKS {
        let begun = Instant::now();
        for _ in 0..BLOCK {
            transcript.append(&record).unwrap();
        }
        transcript.flush().unwrap();
        ours.push(rate(BLOCK, begun));
        let mut buffer = Vec::new();
        let begun = Instant::now();
        for _ in 0..BLOCK {
            buffer.extend_from_slice(line.as_bytes());
            if buffer.len() >= 64 * 1024 {
                file.write_all(&buffer).unwrap();
                buffer.clear();
            }
        }
        file.write_all(&buffer).unwrap();
        floor.push(rate(BLOCK, begun));
    }
    Row {
        ours: middle(&mut ours),
        floor: Some(middle(&mut floor)),
        unit: "/s",
        target: Target::AtLeast(500_000.0),
        note: format!("{BLOCKS} × {BLOCK}, masked; floor: ready bytes, write per 64 KiB"),
        ..Row::default()
    }
}

pub fn read() -> Row {
    const RECORDS: u64 = 300_000;
    const PAGE: usize = 100;
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("t.jsonl");
    let mut transcript = Transcript::create(&path, mask()).unwrap();
    for seq in 1..=RECORDS {
        transcript.append(&event(seq)).unwrap();
    }
    drop(transcript);
    let mut times = Vec::new();
    for n in 1..30 {
        let after = RECORDS * n / 30;
        let begun = Instant::now();
        let page: transcript::Page<Event> = transcript::read(&path, after, PAGE).unwrap();
        times.push(begun.elapsed());
        assert_eq!(
            page.records.first().map(|record| record.seq),
            Some(after + 1)
        );
    }
    #[allow(clippy::cast_precision_loss, reason = "megabytes")]
    let size = std::fs::metadata(&path).unwrap().len() as f64 / 1e6;
    Row {
        ours: super::table::milliseconds(super::table::median(&mut times)),
        floor: None,
        unit: "ms",
        target: Target::AtMost(5.0),
        note: format!("{PAGE} records of a transcript of {size:.0} MB"),
        ..Row::default()
    }
}
