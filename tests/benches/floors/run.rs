//! A whole run by the scripted model: what each tool call costs beyond its own work, with the transcript on.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use outrigger::kernel::event::{Record, RunEvent};
use outrigger::kernel::ids::RunId;
use outrigger::kernel::input::{Input, Stimulus};
use outrigger::kernel::time::Moment;
use outrigger::kernel::{State, step};
use serde_json::{Value, json};

use super::table::{Row, Target, median, microseconds};
use super::wire::Peer;

const CALLS: u32 = 25;
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
        target: Target::AtMost(1000.0),
        note: format!(
            "{RUNS} runs of {CALLS} `read` calls; floor: read the file, append as many bytes"
        ),
        ..Row::default()
    }
}

/// What the kernel takes for one input: the facts of real runs, fed to a new kernel.
pub fn kernel_step() -> Row {
    let state = tempfile::tempdir().unwrap();
    let root = tempfile::tempdir().unwrap();
    for n in 0..CALLS {
        fs::write(root.path().join(format!("{n}.txt")), format!("text {n}\n")).unwrap();
    }
    let scripts = tempfile::tempdir().unwrap();
    let with = scripts.path().join("with.script.jsonl");
    fs::write(&with, script(CALLS)).unwrap();
    let mut server = Peer::outrigger(state.path());
    server.initialize(
        root.path(),
        &json!({"experimental": {"outrigger": {"version": 1, "events": true}}}),
    );
    let (_, transcript) = run(&mut server, &with);
    let records = transcript
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    let records: Vec<Record> = records
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    let mut steps = Vec::new();
    for _ in 0..RUNS {
        let mut kernel = State::default();
        for record in &records {
            if !record.event.is_fact() {
                continue;
            }
            let input = Input {
                at: Moment {
                    wall_ms: record.at,
                    mono_ms: record.mono,
                },
                what: Stimulus::Fact {
                    run: RunId::new("r"),
                    event: record.event.clone(),
                },
            };
            let begun = Instant::now();
            std::hint::black_box(step(&mut kernel, input));
            steps.push(begun.elapsed());
        }
    }
    let count = steps.len();
    Row {
        ours: microseconds(median(&mut steps)),
        unit: "µs",
        target: Target::AtMost(20.0),
        note: format!("{count} facts of runs of {CALLS} `read` calls"),
        ..Row::default()
    }
}

/// Five turns that change a file, with one Python check: beside what the check itself takes.
pub fn with_a_check() -> Row {
    let linter = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/py");
    let note = |text: &str| Row {
        unit: "ms",
        note: text.to_owned(),
        ..Row::default()
    };
    if !linter.join("bin/mypy").exists() {
        return note("not measured: run tests/gates/install-tools first");
    }
    let (state, root, scripts) = (
        tempfile::tempdir().unwrap(),
        tempfile::tempdir().unwrap(),
        tempfile::tempdir().unwrap(),
    );
    #[cfg(unix)]
    std::os::unix::fs::symlink(&linter, root.path().join(".venv")).unwrap();
    fs::write(
        root.path().join("pyproject.toml"),
        "[tool.mypy]\nstrict = true\n",
    )
    .unwrap();
    fs::write(root.path().join("a.py"), "x: int = 0\n").unwrap();
    let mut text =
        String::from("{\"script\":1,\"name\":\"floors\",\"model\":\"scripted/floors\"}\n");
    writeln!(
        text,
        "{}",
        json!({"emit": [{"tool": "read", "id": "r", "args": {"path": "a.py"}}]})
    )
    .unwrap();
    for n in 0..3 {
        let edit = json!({"path": "a.py", "edits": [{"old": format!("= {n}"), "new": format!("= {}", n + 1)}]});
        writeln!(
            text,
            "{}",
            json!({"emit": [{"tool": "edit", "id": format!("e{n}"), "args": edit}]})
        )
        .unwrap();
    }
    writeln!(
        text,
        "{}",
        json!({"emit": [{"text": "x is three now."}], "stop": "end"})
    )
    .unwrap();
    let script = scripts.path().join("model.script.jsonl");
    fs::write(&script, text).unwrap();
    let mut server = Peer::outrigger(state.path());
    server.initialize(
        root.path(),
        &json!({"experimental": {"outrigger": {"version": 1, "events": true}}}),
    );
    let (took, transcript) = run(&mut server, &script);
    let mut checks = 0;
    for line in transcript
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let record: Record = serde_json::from_slice(line).unwrap();
        if let RunEvent::GatesReported { reports, .. } = record.event {
            checks += reports.iter().map(|report| report.duration_ms).sum::<u64>();
        }
    }
    Row {
        ours: microseconds(took) / 1000.0,
        floor: Some(microseconds(Duration::from_millis(checks)) / 1000.0),
        unit: "ms",
        target: Target::TimesFloor(1.3),
        note: "a run of 5 turns; floor: the sum of the check's own times".to_owned(),
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
        json!({"emit": [{"text": "All files were read."}], "stop": "end"})
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
