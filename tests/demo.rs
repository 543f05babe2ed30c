//! `outrigger demo`, as a newcomer runs it: what it shows, what it leaves, what it ends with, and that it cannot succeed
//! when the sidecar or the tools do not do their work.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::needless_pass_by_value
)] // a test may panic

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const ESCAPE: char = '\u{1b}';

/// A demo in a temporary folder of its own, so that what it leaves can be seen.
struct Demo {
    command: Command,
    folder: tempfile::TempDir,
    typed: String,
}

impl Demo {
    fn new(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_outrigger"));
        command
            .arg("demo")
            .args(arguments)
            .env("TMPDIR", folder.path())
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR")
            .env_remove("CLICOLOR_FORCE");
        Self {
            command,
            folder,
            typed: String::new(),
        }
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    fn typing(mut self, lines: &str) -> Self {
        self.typed = lines.to_owned();
        self
    }

    fn run(mut self) -> Shown {
        let mut child = self
            .command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        // A demo that asks nothing does not read, and may be gone already.
        let _ = input.write_all(self.typed.as_bytes());
        drop(input);
        let Output {
            status,
            stdout,
            stderr,
        } = child.wait_with_output().unwrap();
        Shown {
            code: status.code(),
            text: String::from_utf8(stdout).unwrap(),
            errors: String::from_utf8(stderr).unwrap(),
            left: fs::read_dir(self.folder.path())
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .collect(),
            _folder: self.folder,
        }
    }
}

struct Shown {
    code: Option<i32>,
    text: String,
    errors: String,
    left: Vec<PathBuf>,
    _folder: tempfile::TempDir,
}

impl Shown {
    fn succeeded(&self) -> &Self {
        assert_eq!(self.code, Some(0), "{}\n{}", self.text, self.errors);
        self
    }

    /// The texts stand in the output in this order.
    fn shows_in_order(&self, texts: &[&str]) {
        let mut rest = self.text.as_str();
        for text in texts {
            let at = rest.find(text).unwrap_or_else(|| {
                panic!(
                    "{text:?} is not shown after what comes before it:\n{}",
                    self.text
                )
            });
            rest = &rest[at + text.len()..];
        }
    }
}

#[test]
fn every_stage_is_shown_in_plain_text_when_piped() {
    let started = Instant::now();
    let shown = Demo::new(&[]).run();
    assert!(
        started.elapsed() < Duration::from_secs(30),
        "{:?}",
        started.elapsed()
    );
    shown.succeeded().shows_in_order(&[
        "scripted model, no network",
        "opens src/lib.rs with a line that is not saved",
        "Let durations be given in hours",
        "progress",
        // The plan and the tool calls.
        "◐ Read how units are kept",
        "read      src/lib.rs",
        "edit      src/lib.rs",
        "applies an edit to src/lib.rs, now version 2",
        // The first edit is rejected, and corrected.
        "cargo-check rejects it",
        "src/lib.rs:4:33 error E0308",
        "underlines `[('s', 1), ('m', 60), ('h', 3600)]`",
        "edit      src/lib.rs",
        "cargo-check passes",
        "underlines nothing any more",
        // The overwrite, its diff and its answer.
        "question  Overwrite README.md?",
        "-Durations as people write them, for our timers.",
        "+Durations as people write them: `90s`, `5m`, `2h`.",
        "+| `h`  | 3600    |",
        "answer    take change 2 only",
        "saves README.md",
        // The blocker and its answer.
        "question  Shall days be a unit as well",
        "at src/lib.rs:4",
        "answer    No, hours are enough",
        "command   cargo test",
        "exit status 0",
        "final     ✓ cargo-check, cargo-test pass",
        // The summary.
        "Succeeded",
        "README.md edited, +1 -0",
        "src/lib.rs edited, +3 -2",
        "gates       passed: cargo-check",
        "time ",
        "tokens ",
        "transcript  ",
        ".jsonl",
    ]);
    assert!(!shown.text.contains(ESCAPE));
    assert_eq!(
        shown.left,
        Vec::<PathBuf>::new(),
        "without --keep nothing is left"
    );
}

#[test]
fn colour_can_be_forced_and_the_folder_kept() {
    let shown = Demo::new(&["--keep"]).env("CLICOLOR_FORCE", "1").run();
    shown.succeeded();
    assert!(
        shown
            .text
            .contains("\u{1b}[32m+| `h`  | 3600    |\u{1b}[0m"),
        "{}",
        shown.text
    );
    let [kept] = shown.left.as_slice() else {
        panic!("one folder should be left: {:?}", shown.left);
    };
    let code = fs::read_to_string(kept.join("tempo/src/lib.rs")).unwrap();
    assert!(
        code.contains("('h', 3600)") && code.contains("Whole numbers only"),
        "{code}"
    );
    let transcript = shown
        .text
        .split_whitespace()
        .find(|word| word.ends_with(".jsonl") && !word.contains("script"))
        .unwrap();
    let transcript = fs::read_to_string(Path::new(transcript)).unwrap();
    for line in transcript.lines() {
        serde_json::from_str::<outrigger::kernel::event::Record>(line).unwrap();
    }
    assert!(transcript.lines().last().unwrap().contains("\"succeeded\""));
}

#[test]
fn a_person_answers_in_an_interactive_demo() {
    // A mistake first, which is explained and asked again.
    let typed = "seven\nk I am still typing: é\nyes, add days\n";
    let shown = Demo::new(&["--interactive"]).typing(typed).run();
    shown.succeeded().shows_in_order(&[
        "question  Overwrite README.md?",
        "take one change only",
        "`seven` is none of",
        "answer    keep mine: I am still typing: é (you)",
        "question  Shall days be a unit as well",
        "an answer in your own words",
        "answer    Yes, add days (you)",
        "Days, then.",
        "✓ cargo-check passes",
        "exit status 0",
        "Succeeded",
        "src/lib.rs edited",
    ]);
    assert!(!shown.text.contains("README.md edited"), "{}", shown.text);
    assert_eq!(shown.left, Vec::<PathBuf>::new());
}

#[test]
fn a_person_can_take_all_and_answer_in_words() {
    let shown = Demo::new(&["--interactive"])
        .typing("a\nperhaps later\n")
        .run();
    shown.succeeded().shows_in_order(&[
        "answer    take the agent's version (you)",
        "✓ README.md changed, +2 -1",
        "answer    perhaps later (you)",
        "Succeeded",
    ]);
}

#[test]
fn a_person_can_stop_the_run() {
    let shown = Demo::new(&["--interactive"]).typing("s\n").run();
    assert_eq!(shown.code, Some(130), "{}\n{}", shown.text, shown.errors);
    shown.shows_in_order(&["answer    stop the run (you)", "Cancelled", "transcript"]);
    assert_eq!(shown.left, Vec::<PathBuf>::new());
}

#[test]
fn no_answer_is_an_error_and_leaves_nothing() {
    let shown = Demo::new(&["--interactive"]).run();
    assert_eq!(shown.code, Some(1), "{}", shown.text);
    assert!(
        shown.errors.contains("standard input has ended"),
        "{}",
        shown.errors
    );
    assert_eq!(shown.left, Vec::<PathBuf>::new());
}

#[test]
fn a_missing_cargo_is_said_at_once() {
    let nothing = tempfile::tempdir().unwrap();
    let shown = Demo::new(&[])
        .env("PATH", nothing.path().to_str().unwrap())
        .run();
    assert_eq!(shown.code, Some(1));
    assert!(
        shown.errors.contains("failed to start cargo") && shown.errors.contains("install Rust"),
        "{}",
        shown.errors
    );
    assert_eq!(shown.left, Vec::<PathBuf>::new());
}

/// A cargo that checks nothing: then nothing is rejected, and the demo must not pretend otherwise.
#[cfg(unix)]
#[test]
fn it_fails_when_what_it_shows_does_not_happen() {
    use std::os::unix::fs::PermissionsExt;
    let tools = tempfile::tempdir().unwrap();
    let cargo = tools.path().join("cargo");
    fs::write(&cargo, "#!/bin/sh\nexit 0\n").unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", tools.path().display());
    let shown = Demo::new(&[]).env("PATH", &path).run();
    assert_eq!(shown.code, Some(1), "{}", shown.text);
    assert!(
        shown.errors.contains("the demo has no answer to"),
        "{}",
        shown.errors
    );
    assert!(!shown.text.contains("All of it happened"));
    assert_eq!(shown.left, Vec::<PathBuf>::new());
}

/// Ctrl-C in the middle: the sidecar is ended in good order, and nothing is left.
#[cfg(unix)]
#[test]
fn an_interrupted_demo_leaves_nothing() {
    use std::io::{BufRead, BufReader};
    let mut demo = Demo::new(&[]);
    let mut child = demo
        .command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    assert!(lines.any(|line| line.contains("edit      src/lib.rs")));
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    assert!(lines.any(|line| line.contains("Interrupted; the sidecar has ended.")));
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(fs::read_dir(demo.folder.path()).unwrap().count(), 0);
}
