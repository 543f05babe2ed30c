//! The promise under test: killed between any two system calls of a write, every file is old or new, never half, and the
//! ledger can say which.
//!
//! A child process makes a series of changes and kills itself at a given point (see [`super::fault`]), or is killed as it
//! enters a given system call, by `strace` where that is installed; the parent then looks at what is there, recovers, and
//! takes everything back.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::Workspace;
use super::fault::tested::VARIABLE;
use super::ledger::{ChangeState, Ledger, Settled, Why};
use super::revert::Selection;
use crate::kernel::file::{Encoding, NewContent, Overlay, WriteOrder, WriteOutcome};
use crate::kernel::hash::ContentHash;
use crate::kernel::ids::{ChangeId, RunId};
use crate::kernel::path::RelPath;

/// Where the child finds its workspace and its state.
const FOLDER: &str = "OUTRIGGER_TEST_CRASH_FOLDER";
const SERIES: &str = "OUTRIGGER_TEST_CRASH_SERIES";

/// From where, to where.
const MOVED: (&str, &str) = ("moved", "to/there");

/// Kills that the test makes at least.
const KILLS: usize = 500;

/// A file that the run changes: content before and after, `None` for absence. No path occurs twice, so that what is
/// there afterwards can only be one of the two.
struct Planned {
    path: &'static str,
    before: Option<Vec<u8>>,
    after: Option<String>,
    /// The file under another name too: the one kind that is written in place.
    linked: bool,
}

/// Different sizes in each series, so that a torn write would be seen.
fn planned(series: usize) -> Vec<Planned> {
    let long = |word: &str, times: usize| word.repeat(times * (series + 1) * 37 % 9_000 + 1);
    let row = |path, before: Option<String>, after: Option<String>| Planned {
        path,
        before: before.map(String::into_bytes),
        after,
        linked: false,
    };
    vec![
        row("created", None, Some(long("new é\n", 3))),
        row("a/b/created", None, Some(long("x", 5))),
        row(
            "edited",
            Some(long("old\r\n", 7)),
            Some(long("new\r\n", 11)),
        ),
        row("shortened", Some(long("old ", 29)), Some("é".into())),
        row("emptied", Some(long("old", 13)), Some(String::new())),
        row("deleted", Some(long("old", 2)), None),
        Planned {
            linked: true,
            ..row("linked", Some(long("old", 19)), Some(long("newer", 17)))
        },
        row("real/target", Some("old".into()), Some(long("漢", 23))),
        // One file that gets another name: what is not at the one is at the other.
        row(MOVED.0, Some(long("moved", 31)), None),
        row(MOVED.1, None, Some(long("moved", 31))),
    ]
}

/// Names by which the run changes a file.
fn name(path: &str) -> &str {
    if path == "real/target" { "link" } else { path }
}

fn prepare(folder: &Path, series: usize) {
    let root = folder.join("work");
    fs::create_dir_all(root.join("real")).unwrap();
    for file in planned(series) {
        if let Some(before) = file.before {
            fs::write(root.join(file.path), before).unwrap();
        }
        if file.linked {
            fs::hard_link(root.join(file.path), folder.join("other name")).unwrap();
        }
    }
    std::os::unix::fs::symlink("real/target", root.join("link")).unwrap();
}

#[test]
#[ignore = "the child of killed_at_any_point_every_file_is_old_or_new"]
fn child() {
    let folder = std::env::var_os(FOLDER).unwrap();
    let series = std::env::var(SERIES).unwrap().parse().unwrap();
    let folder = Path::new(&folder);
    let workspace = Workspace::open(&folder.join("work")).unwrap();
    let ledger = Ledger::open(&folder.join("state")).unwrap();
    let order = |file: Planned| WriteOrder {
        path: RelPath::parse(name(file.path)).unwrap(),
        expected: file.before.as_deref().map(ContentHash::of),
        content: match file.after {
            Some(text) => NewContent::Text {
                text: text.into(),
                encoding: Encoding::Utf8,
            },
            None => NewContent::Deleted,
        },
    };
    let mut files = planned(series);
    let (to, from) = (files.pop().unwrap(), files.pop().unwrap());
    for (n, file) in files.into_iter().enumerate() {
        let outcome = workspace.write_recorded(&order(file), &ledger, &why("run", n));
        assert!(
            matches!(outcome, WriteOutcome::Written { .. }),
            "{outcome:?}"
        );
    }
    let to = (&order(to), &why("run", 101));
    for outcome in workspace.relocate(to, (&order(from), &why("run", 102)), &ledger) {
        assert!(
            matches!(outcome, WriteOutcome::Written { .. }),
            "{outcome:?}"
        );
    }
}

fn why(run: &str, change: usize) -> Why {
    Why {
        run: RunId::new(run),
        change: ChangeId(u32::try_from(change).unwrap() + 1),
        step: None,
        reason: "test".into(),
        at: 1,
    }
}

/// Runs the child up to a point. Whether it was killed there; `false`: it came to its end.
fn killed(folder: &Path, series: usize, point: usize) -> bool {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(CHILD).env(VARIABLE, point.to_string());
    was_killed(&mut command, folder, series)
}

const CHILD: [&str; 4] = [
    "--exact",
    "workspace::crash::child",
    "--ignored",
    "--test-threads=1",
];

fn was_killed(command: &mut Command, folder: &Path, series: usize) -> bool {
    use std::os::unix::process::ExitStatusExt;
    let output = command
        .env(FOLDER, folder)
        .env(SERIES, series.to_string())
        .output()
        .unwrap();
    match output.status.signal() {
        Some(9) => true,
        _ => {
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(
                output.status.success() && text.contains("1 passed"),
                "{text}"
            );
            false
        }
    }
}

#[test]
fn killed_at_any_point_every_file_is_old_or_new() {
    let mut kills = 0;
    let mut states: BTreeMap<String, usize> = BTreeMap::new();
    for series in 0.. {
        for point in 1.. {
            let folder = in_memory();
            prepare(folder.path(), series);
            if !killed(folder.path(), series, point) {
                break;
            }
            kills += 1;
            for state in look(folder.path(), series, point) {
                *states.entry(state).or_default() += 1;
            }
        }
        if kills >= KILLS {
            break;
        }
    }
    // Every kind of end must have been seen, or the points are at the wrong places.
    for state in [
        "settled by the ledger",
        "Made",
        "NotMade",
        "Unclear",
        "not begun",
    ] {
        assert!(states.contains_key(state), "{states:?}");
    }
}

/// Every system call by which a write, a deletion, a move or the ledger can change anything, or wait for the disk.
const CALLS: [&str; 17] = [
    "openat",
    "write",
    "pwrite64",
    "fsync",
    "fdatasync",
    "ftruncate",
    "fallocate",
    "fchmod",
    "fchown",
    "fsetxattr",
    "mkdirat",
    "renameat",
    "renameat2",
    "linkat",
    "unlinkat",
    "flock",
    "close",
];

/// As `killed_at_any_point…`, with the points where the system has them and not where we thought of them: the process is
/// killed as it enters each of its system calls in turn.
#[test]
fn killed_at_every_system_call_every_file_is_old_or_new() {
    let has_strace = Command::new("strace").arg("-V").output().is_ok();
    if !has_strace {
        say("skipped: no strace to kill a process at its system calls with");
        return;
    }
    let mut kills = BTreeMap::new();
    for call in CALLS {
        // What the process does before its first write is of no interest.
        let start = calls_of_an_idle_child(call);
        for n in start + 1.. {
            let folder = in_memory();
            prepare(folder.path(), 0);
            let mut command = Command::new("strace");
            command
                .args(["-f", "-qq", "-o", "/dev/null", "-e"])
                .arg(format!("trace={call}"))
                .arg("-e")
                .arg(format!("inject={call}:signal=KILL:when={n}"))
                .arg(std::env::current_exe().unwrap())
                .args(CHILD);
            if !was_killed(&mut command, folder.path(), 0) {
                break;
            }
            look(folder.path(), 0, n);
            *kills.entry(call).or_insert(0) += 1;
        }
    }
    let all: usize = kills.values().sum();
    say(&format!(
        "killed {all} times, at each system call: {kills:?}"
    ));
    assert!(all > 200, "{kills:?}");
}

fn calls_of_an_idle_child(call: &str) -> usize {
    let folder = in_memory();
    let log = folder.path().join("log");
    let status = Command::new("strace")
        .args(["-f", "-qq", "-o"])
        .arg(&log)
        .args(["-e", &format!("trace={call}"), "-e", "signal=none"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "no such test", "--test-threads=1"])
        .output()
        .unwrap();
    assert!(status.status.success());
    fs::read_to_string(log).unwrap().lines().count()
}

/// To the terminal also when the test passes: a figure is of use only if it is seen.
fn say(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// What a killed process leaves is in the system's memory either way; on a disk the test would only wait for it.
fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

/// Looks at what a killed process left, recovers and reverts. How each file's state became known.
fn look(folder: &Path, series: usize, point: usize) -> Vec<String> {
    let at = format!("series {series}, point {point}");
    let root = folder.join("work");
    let read = |path: &str| fs::read(root.join(path)).ok();
    let old_or_new = |file: &Planned| {
        let now = read(file.path);
        now == file.before || now == file.after.clone().map(String::into_bytes)
    };
    for file in planned(series) {
        assert!(old_or_new(&file) || file.linked, "{} at {at}", file.path);
    }
    let (from, to) = (read(MOVED.0), read(MOVED.1));
    assert!(from.is_some() != to.is_some(), "lost or doubled at {at}");
    let workspace = Workspace::open(&root).unwrap();
    let ledger = Ledger::open(&folder.join("state")).unwrap();
    let recovered = ledger.recover(&workspace, 2).unwrap();
    let changes = ledger.changes().unwrap();
    let mut found = Vec::new();
    for file in planned(series) {
        let now = read(file.path);
        let after = file.after.clone().map(String::into_bytes);
        let is_this = |path: &RelPath| path.as_str() == name(file.path);
        let Some(change) = changes.iter().find(|change| is_this(&change.path)) else {
            assert_eq!(now, file.before, "{} at {at}", file.path);
            found.push("not begun".to_owned());
            continue;
        };
        // Whatever happened, both contents are known.
        for (hash, want) in [(&change.before, &file.before), (&change.after, &after)] {
            let kept = hash.as_ref().map(|hash| ledger.snapshot(hash).unwrap());
            assert_eq!(kept, *want, "{} at {at}", file.path);
        }
        match change.state {
            ChangeState::Made => assert_eq!(now, after, "{} at {at}", file.path),
            ChangeState::NotMade => assert_eq!(now, file.before, "{} at {at}", file.path),
            ChangeState::Unclear => assert!(file.linked, "{} at {at}", file.path),
            ChangeState::Begun => panic!("{} is not settled at {at}", file.path),
        }
        let settled = recovered
            .iter()
            .find(|recovered| is_this(&recovered.change.path));
        found.push(match settled.map(|recovered| &recovered.settled) {
            None => "settled by the ledger".to_owned(),
            Some(Settled::Unclear { .. }) => "Unclear".to_owned(),
            Some(settled) => format!("{settled:?}"),
        });
    }
    let remains = walk(&root)
        .into_iter()
        .filter(|name| name.contains(".outrigger-"));
    assert_eq!(remains.collect::<Vec<_>>(), Vec::<String>::new(), "at {at}");

    let selection = Selection {
        runs: vec![RunId::new("run")],
        ..Selection::default()
    };
    let steps = workspace
        .plan_revert(&ledger, &selection, &Overlay::default())
        .unwrap();
    for report in workspace.perform_revert(&steps, &ledger, &why("undo", 0)) {
        assert_eq!(report.failed, None, "at {at}");
    }
    for file in planned(series) {
        let unclear = changes.iter().any(|change| {
            change.state == ChangeState::Unclear && change.path.as_str() == name(file.path)
        });
        if !unclear {
            assert_eq!(
                read(file.path),
                file.before,
                "{} reverted at {at}",
                file.path
            );
        }
    }
    found
}

fn walk(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            names.extend(walk(&path));
        }
        names.push(path.to_string_lossy().into_owned());
    }
    names
}

/// Killed right after the exchange, while somebody was saving: their text came out of the exchange and nobody else has it.
#[test]
fn a_save_that_a_crash_caught_goes_back() {
    let folder = in_memory();
    let root = folder.path().join("work");
    fs::create_dir(&root).unwrap();
    let mut process = Command::new("true").spawn().unwrap();
    let ended = process.id();
    process.wait().unwrap();
    let mark = super::write::target_mark("f".as_ref());
    let remains = root.join(format!(".outrigger-{ended:x}-0-{mark}.tmp"));
    let rows = [
        // What came out, and what stands there in the end.
        (
            "mine, just saved",
            "mine, just saved",
            Settled::Unclear {
                found: Some(ContentHash::of(b"mine, just saved")),
            },
        ),
        ("before", "after", Settled::Made),
        // The start of our own text: it was never put in place, and another process wrote the same.
        ("aft", "after", Settled::Made),
    ];
    for (n, (out, stands, settled)) in rows.into_iter().enumerate() {
        fs::write(root.join("f"), "after").unwrap();
        fs::write(&remains, out).unwrap();
        let workspace = Workspace::open(&root).unwrap();
        let ledger = Ledger::open(&folder.path().join("state")).unwrap();
        let contents = super::ledger::Contents {
            before: Some(b"before"),
            after: Some(b"after"),
        };
        ledger
            .begin(&RelPath::parse("f").unwrap(), contents, &why("run", n))
            .unwrap();
        let recovered = ledger.recover(&workspace, 1).unwrap();
        assert_eq!(recovered[0].settled, settled, "{out}");
        assert_eq!(fs::read_to_string(root.join("f")).unwrap(), stands, "{out}");
        assert!(!remains.exists());
    }
}
