//! What a run did is known, and can be taken back: only that, and only where nobody has edited since.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use outrigger::kernel::file::{NewContent, WriteOrder, WriteOutcome};
use outrigger::kernel::hash::ContentHash;
use outrigger::kernel::ids::{ChangeId, RunId};
use outrigger::workspace::ledger::{ChangeState, Contents, Ledger, Settled, Why};
use outrigger::workspace::revert::{FileChangeKind, FileRevert, LeftWhy, RevertReport, Selection};

use super::support::{Desk, names, order, rel};

struct Study {
    desk: Desk,
    ledger: Ledger,
    next: u32,
}

impl Study {
    fn new() -> Self {
        let desk = Desk::new();
        let ledger = Ledger::open(&desk.outside("state")).unwrap();
        Self {
            desk,
            ledger,
            next: 1,
        }
    }

    fn why(&mut self, run: &str) -> Why {
        let change = ChangeId(self.next);
        self.next += 1;
        Why {
            run: RunId::new(run),
            change,
            step: Some(format!("step {}", change.0)),
            reason: "the task".into(),
            at: 1_700_000_000_000,
        }
    }

    /// A run makes a file so (`None`: deletes it).
    fn run(&mut self, run: &str, path: &str, text: Option<&str>) -> WriteOutcome {
        let before = fs::read(self.desk.path(path)).ok();
        let order = match text {
            Some(text) => order(path, before.as_deref(), text),
            None => WriteOrder {
                path: rel(path),
                expected: before.as_deref().map(ContentHash::of),
                content: NewContent::Deleted,
            },
        };
        let why = self.why(run);
        self.desk
            .workspace
            .write_recorded(&order, &self.ledger, &why)
    }

    fn revert(&mut self, selection: &Selection) -> Vec<(String, FileRevert)> {
        let why = self.why("undo");
        // Ids are counted on from there.
        self.next += 100;
        self.revert_as(selection, &why)
            .into_iter()
            .map(|report| {
                assert_eq!(report.failed, None, "{report:?}");
                (report.path.to_string(), report.revert)
            })
            .collect()
    }

    fn revert_as(&self, selection: &Selection, why: &Why) -> Vec<RevertReport> {
        let steps = self
            .desk
            .workspace
            .plan_revert(&self.ledger, selection, &self.desk.overlay)
            .unwrap();
        self.desk
            .workspace
            .perform_revert(&steps, &self.ledger, why)
    }
}

fn of(run: &str) -> Selection {
    Selection {
        runs: vec![RunId::new(run)],
        ..Selection::default()
    }
}

fn left(why: LeftWhy) -> FileRevert {
    FileRevert::Left { why }
}

/// Every path below a folder with its bytes, and its times unless it is a folder.
fn everything(folder: &Path) -> Vec<(PathBuf, Vec<u8>, i64)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.push((path.clone(), vec![], 0));
            found.extend(everything(&path));
        } else {
            let stat = path.metadata().unwrap();
            let time = stat.mtime() * 1_000_000_000 + stat.mtime_nsec();
            found.push((path.clone(), fs::read(&path).unwrap(), time));
        }
    }
    found.sort();
    found
}

#[test]
fn a_run_is_taken_back_whole_and_back_again() {
    let mut study = Study::new();
    study.desk.put("edited", "a\r\nb\r\n");
    study.desk.put("deleted.sh", "#!\n");
    fs::set_permissions(
        study.desk.path("deleted.sh"),
        fs::Permissions::from_mode(0o750),
    )
    .unwrap();
    let before: Vec<_> = everything(&study.desk.path(""))
        .into_iter()
        .map(|(p, b, _)| (p, b))
        .collect();
    study.run("r1", "new/folder/made", Some("x"));
    study.run("r1", "edited", Some("a\r\nB\r\n"));
    study.run("r1", "edited", Some("a\r\nC\r\n"));
    study.run("r1", "deleted.sh", None);
    let after: Vec<_> = everything(&study.desk.path(""))
        .into_iter()
        .map(|(p, b, _)| (p, b))
        .collect();

    let reports = study.revert(&of("r1"));
    assert_eq!(
        reports,
        [
            ("deleted.sh".into(), FileRevert::Restored),
            ("edited".into(), FileRevert::Restored),
            ("new/folder/made".into(), FileRevert::Removed),
        ]
    );
    let now: Vec<_> = everything(&study.desk.path(""))
        .into_iter()
        .map(|(p, b, _)| (p, b))
        .collect();
    assert_eq!(now, before, "also the folders that the run made are gone");
    let mode = study.desk.path("deleted.sh").metadata().unwrap().mode();
    assert_eq!(mode & 0o7777, 0o750);

    let again = study.revert(&of("r1"));
    assert!(
        again
            .iter()
            .all(|(_, revert)| *revert == FileRevert::AlreadyAsBefore),
        "{again:?}"
    );

    // The undoing is a change like any other.
    study.revert(&of("undo"));
    let now: Vec<_> = everything(&study.desk.path(""))
        .into_iter()
        .map(|(p, b, _)| (p, b))
        .collect();
    assert_eq!(now, after);
}

#[test]
fn what_the_user_did_since_stays() {
    let mut study = Study::new();
    for file in ["apart", "there", "gone"] {
        study.desk.put(file, "a\nm\nz\n");
        study.run("r1", file, Some("A\nm\nz\n"));
    }
    study.run("r1", "made", Some("run\n"));
    study.desk.put("apart", "A\nm\nmine\n");
    study.desk.put("there", "mine\nm\nz\n");
    fs::remove_file(study.desk.path("gone")).unwrap();
    study.desk.put("made", "run and mine\n");
    study.desk.put("untracked", "mine");

    // The preview says it, and touches nothing.
    let before = everything(study.desk.folder.path());
    let steps = study
        .desk
        .workspace
        .plan_revert(&study.ledger, &of("r1"), &study.desk.overlay)
        .unwrap();
    assert_eq!(everything(study.desk.folder.path()), before);
    let patches: Vec<&str> = steps
        .iter()
        .map(|step| step.report.patch.as_str())
        .collect();
    assert!(patches[0].contains("-A\n+a\n m\n mine\n"), "{}", patches[0]);
    assert!(
        patches[2].contains("-run\n+run and mine\n"),
        "{}",
        patches[2]
    );

    assert_eq!(
        study.revert(&of("r1")),
        [
            ("apart".into(), FileRevert::Merged),
            ("gone".into(), left(LeftWhy::DeletedSince)),
            ("made".into(), left(LeftWhy::CreatedAndEdited)),
            ("there".into(), left(LeftWhy::EditedSince)),
        ]
    );
    assert_eq!(study.desk.bytes("apart"), b"a\nm\nmine\n");
    assert_eq!(study.desk.bytes("there"), b"mine\nm\nz\n");
    assert_eq!(study.desk.bytes("made"), b"run and mine\n");
    assert!(!study.desk.path("gone").exists());
}

#[test]
fn unsaved_text_counts_as_edited_since() {
    let mut study = Study::new();
    study.run("r1", "made", Some("run\n"));
    study.desk.open("made", "run\nand typed\n", true);
    assert_eq!(
        study.revert(&of("r1")),
        [("made".into(), left(LeftWhy::CreatedAndEdited))]
    );
}

#[test]
fn a_file_changed_after_the_preview_is_looked_at_again() {
    let mut study = Study::new();
    study.run("r1", "made", Some("run\n"));
    let steps = study
        .desk
        .workspace
        .plan_revert(&study.ledger, &of("r1"), &study.desk.overlay)
        .unwrap();
    study.desk.put("made", "mine now\n");
    let why = study.why("undo");
    let reports = study
        .desk
        .workspace
        .perform_revert(&steps, &study.ledger, &why);
    assert!(reports[0].failed.is_some());
    assert_eq!(study.desk.bytes("made"), b"mine now\n");
}

#[test]
fn a_step_a_file_or_a_hunk_is_taken_back_alone() {
    let mut study = Study::new();
    study.desk.put("f", "a\nm\nz\n");
    study.desk.put("g", "g\n");
    study.run("r1", "f", Some("A\nm\nZ\n"));
    study.run("r1", "g", Some("G\n"));
    let hunk = Selection {
        path: Some(rel("f")),
        hunks: vec![1],
        ..of("r1")
    };
    study.revert(&hunk);
    assert_eq!(study.desk.bytes("f"), b"A\nm\nz\n");
    let file = Selection {
        path: Some(rel("f")),
        ..of("r1")
    };
    assert_eq!(study.revert(&file), [("f".into(), FileRevert::Merged)]);
    assert_eq!(study.desk.bytes("f"), b"a\nm\nz\n");
    assert_eq!(study.desk.bytes("g"), b"G\n");
    let step = Selection {
        step: Some("step 2".into()),
        ..of("r1")
    };
    assert_eq!(study.revert(&step), [("g".into(), FileRevert::Restored)]);
    assert_eq!(study.desk.bytes("g"), b"g\n");
}

/// Cleaning up after a task: all its failed runs together, whatever other runs did in between.
#[test]
fn failed_runs_are_cleaned_up_together() {
    let mut study = Study::new();
    study.desk.put("f", "1\n2\n3\n4\n5\n");
    study.run("failed 1", "f", Some("one\n2\n3\n4\n5\n"));
    study.run("good", "f", Some("one\n2\nthree\n4\n5\n"));
    study.run("failed 2", "f", Some("one\n2\nthree\n4\nfive\n"));
    study.run("failed 2", "left over", Some("x"));
    let failed = Selection {
        runs: vec![RunId::new("failed 1"), RunId::new("failed 2")],
        ..Selection::default()
    };
    assert_eq!(
        study.revert(&failed),
        [
            ("f".into(), FileRevert::Merged),
            ("left over".into(), FileRevert::Removed)
        ]
    );
    assert_eq!(study.desk.bytes("f"), b"1\n2\nthree\n4\n5\n");
    assert_eq!(names(&study.desk.path("")), ["f"]);
}

#[test]
fn what_a_run_did_is_one_patch_that_git_takes() {
    let mut study = Study::new();
    study.desk.put("e f", "a\r\nb");
    study.desk.put("gone", "x\n");
    study.desk.put("same", "s\n");
    let copy = study.desk.outside("copy");
    fs::create_dir(&copy).unwrap();
    for file in ["e f", "gone", "same"] {
        fs::copy(study.desk.path(file), copy.join(file)).unwrap();
    }
    study.run("r1", "e f", Some("a\r\nB\n"));
    study.run("r1", "é/new", Some("n"));
    study.run("r1", "gone", None);
    study.run("r1", "same", Some("t\n"));
    study.run("r1", "same", Some("s\n"));
    let kinds: Vec<_> = study
        .ledger
        .file_changes(&of("r1"))
        .unwrap()
        .into_iter()
        .map(|change| (change.path.to_string(), change.kind, change.changes.len()))
        .collect();
    assert_eq!(
        kinds,
        [
            ("e f".into(), FileChangeKind::Edited, 1),
            ("gone".into(), FileChangeKind::Deleted, 1),
            ("same".into(), FileChangeKind::Unchanged, 2),
            ("é/new".into(), FileChangeKind::Created, 1),
        ]
    );
    let patch = study.ledger.patch(&of("r1")).unwrap();
    fs::write(study.desk.outside("patch"), patch).unwrap();
    let git = Command::new("git")
        .args(["apply", "../patch"])
        .current_dir(&copy)
        .output()
        .unwrap();
    assert!(git.status.success(), "{git:?}");
    let relative = |root: PathBuf| -> Vec<_> {
        everything(&root)
            .into_iter()
            .map(|(path, bytes, _)| (path.strip_prefix(&root).unwrap().to_owned(), bytes))
            .collect()
    };
    assert_eq!(relative(copy), relative(study.desk.path("")));
}

#[test]
fn git_and_foreign_files_are_not_touched() {
    let mut study = Study::new();
    let git = |args: &[&str]| {
        let output = Command::new("git")
            .args(["-c", "user.name=n", "-c", "user.email=e"])
            .args(args)
            .current_dir(study.desk.path(""))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    study.desk.put("tracked", "a\n");
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "c"]);
    study.desk.put("tracked", "staged\n");
    git(&["add", "."]);
    study.desk.put("untracked", "mine");
    let before = everything(&study.desk.path(""));
    study.run("r1", "made", Some("x"));
    study.revert(&of("r1"));
    assert_eq!(everything(&study.desk.path("")), before);
}

#[test]
fn nothing_that_did_not_happen_is_in_the_ledger() {
    let mut study = Study::new();
    study.desk.put("f", "theirs");
    study.desk.put("locked", "x");
    fs::set_permissions(study.desk.path("locked"), fs::Permissions::from_mode(0o444)).unwrap();
    let why = study.why("r1");
    let stale = order("f", Some(b"older"), "mine");
    assert_eq!(
        study
            .desk
            .workspace
            .write_recorded(&stale, &study.ledger, &why),
        WriteOutcome::Changed
    );
    study.run("r1", "f", Some("theirs"));
    assert!(study.ledger.changes().unwrap().is_empty());
    assert!(matches!(
        study.run("r1", "locked", Some("y")),
        WriteOutcome::Failed { .. }
    ));
    assert_eq!(
        study.ledger.changes().unwrap()[0].state,
        ChangeState::NotMade
    );
    assert!(
        study
            .ledger
            .changes_of(&RunId::new("r1"))
            .unwrap()
            .is_empty()
    );
    assert!(study.ledger.file_changes(&of("r1")).unwrap().is_empty());
}

/// A crash between the intent and its end: the file tells.
#[test]
fn open_changes_are_settled_by_what_is_in_the_file() {
    let mut study = Study::new();
    for (file, now) in [
        ("made", Some("after")),
        ("not made", Some("before")),
        ("neither", Some("mine")),
        ("gone", None),
    ] {
        let why = study.why("r1");
        let contents = Contents {
            before: Some(b"before"),
            after: Some(b"after"),
        };
        study.ledger.begin(&rel(file), contents, &why).unwrap();
        if let Some(now) = now {
            study.desk.put(file, now);
        }
    }
    // Another process reads the same ledger.
    let ledger = Ledger::open(&study.desk.outside("state")).unwrap();
    let settled: Vec<_> = ledger
        .recover(&study.desk.workspace, 1)
        .unwrap()
        .into_iter()
        .map(|recovered| recovered.settled)
        .collect();
    assert_eq!(
        settled,
        [
            Settled::Made,
            Settled::NotMade,
            Settled::Unclear {
                found: Some(ContentHash::of(b"mine"))
            },
            Settled::Unclear { found: None },
        ]
    );
    assert!(
        ledger.recover(&study.desk.workspace, 2).unwrap().is_empty(),
        "each is settled once"
    );
    let states: Vec<_> = ledger
        .changes()
        .unwrap()
        .into_iter()
        .map(|change| change.state)
        .collect();
    assert_eq!(
        states,
        [
            ChangeState::Made,
            ChangeState::NotMade,
            ChangeState::Unclear,
            ChangeState::Unclear
        ]
    );
}

#[test]
fn a_damaged_snapshot_is_said_and_nothing_is_touched() {
    let mut study = Study::new();
    study.desk.put("f", "before\n");
    study.run("r1", "f", Some("after\n"));
    let hash = ContentHash::of(b"before\n").0;
    let snapshot = study
        .desk
        .outside("state/snapshots")
        .join(&hash[..2])
        .join(format!("{}.zst", &hash[2..]));
    fs::write(snapshot, "damage").unwrap();
    let reverted = study.revert(&of("r1"));
    assert!(
        matches!(
            &reverted[0].1,
            FileRevert::Left {
                why: LeftWhy::Unreadable { .. }
            }
        ),
        "{reverted:?}"
    );
    assert_eq!(study.desk.bytes("f"), b"after\n");
}

#[test]
fn what_the_ledger_keeps_is_the_users_alone() {
    let mut study = Study::new();
    study.run("r1", "f", Some("secret"));
    for (path, mode) in [("state/snapshots", 0o700), ("state/changes.jsonl", 0o600)] {
        let found = study.desk.outside(path).metadata().unwrap().mode();
        assert_eq!(found & 0o777, mode, "{path}");
    }
}
