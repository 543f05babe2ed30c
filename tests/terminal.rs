//! Runs from the terminal, as scripts and CI use them: what is printed, what the exit code says, and that a run that was
//! left can be gone on with.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::needless_pass_by_value,
    reason = "a test's own helpers fail by panicking"
)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use outrigger::kernel::event::{RunEvent, RunOutcome};
use outrigger::protocol::run::EventParams;
use serde_json::{Value, json};
use tempfile::TempDir;

#[path = "terminal/calls.rs"]
mod calls;
#[cfg(unix)]
#[path = "support/person.rs"]
mod person;
#[cfg(unix)]
use person::at_a_terminal;

/// A workspace with a script for the model, and its own state.
struct Workspace {
    folder: TempDir,
}

impl Workspace {
    /// `turns`: what the model says, one after the other.
    fn new(turns: &[Value]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("project")).unwrap();
        let mut script = json!({ "script": 1, "name": "test" }).to_string();
        for turn in turns {
            script.push('\n');
            script.push_str(&turn.to_string());
        }
        fs::write(folder.path().join("model.script.jsonl"), script).unwrap();
        Self { folder }
    }

    fn project(&self) -> std::path::PathBuf {
        self.folder.path().join("project")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_outrigger"));
        command
            .args(arguments)
            .current_dir(self.project())
            .env("OUTRIGGER_CONFIG", "")
            .env("OUTRIGGER_STATE_DIR", self.folder.path().join("state"))
            .env_remove("CLICOLOR_FORCE")
            .stdin(Stdio::null());
        command
    }

    fn outrigger(&self, arguments: &[&str]) -> Ended {
        Ended::of(self.command(arguments).output().unwrap())
    }

    /// With the scripted model.
    fn run(&self, arguments: &[&str]) -> Ended {
        let mut all = vec!["run", "--model", "scripted:../model.script.jsonl"];
        all.extend(arguments);
        self.outrigger(&all)
    }
}

struct Ended {
    code: Option<i32>,
    text: String,
    errors: String,
}

impl Ended {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            text: String::from_utf8(output.stdout).unwrap(),
            errors: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn with_code(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.text, self.errors);
        self
    }

    fn says(&self, text: &str) -> &Self {
        assert!(
            self.text.contains(text),
            "no {text:?} in:\n{}\n{}",
            self.text,
            self.errors
        );
        self
    }

    fn events(&self) -> Vec<EventParams> {
        self.text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

fn tool(id: &str, name: &str, args: Value) -> Value {
    json!({ "emit": [{ "tool": name, "id": id, "args": args }], "usage": { "in": 10, "out": 5 } })
}

fn done(expected: &[&str]) -> Value {
    json!({ "expect": { "last": { "contains": expected } }, "emit": [{ "text": "Fertig: é漢." }], "usage": { "in": 20, "out": 5 } })
}

fn asks() -> Value {
    tool(
        "a1",
        "ask",
        json!({ "question": "Which port?", "choices": ["80", "8080"] }),
    )
}

#[test]
fn a_run_is_told_and_ends_with_its_code() {
    let workspace = Workspace::new(&[
        tool(
            "w1",
            "write",
            json!({ "path": "src/é.txt", "content": "漢\n" }),
        ),
        done(&["was created"]),
    ]);
    let ended = workspace.run(&["write", "a", "file"]);
    // Nothing could verify a text file.
    ended
        .with_code(5)
        .says("write     src/é.txt")
        .says("✓ src/é.txt created, +1 -0 lines")
        .says("Fertig: é漢.");
    ended
        .says("gates       none could check the work")
        .says("transcript");
    assert_eq!(
        fs::read_to_string(workspace.project().join("src/é.txt")).unwrap(),
        "漢\n"
    );
    let shown = workspace.outrigger(&["show", "last"]);
    shown
        .with_code(0)
        .says("✓ src/é.txt created, +1 -0 lines")
        .says("Succeeded");
}

#[test]
fn events_come_as_on_the_wire_and_again_from_the_transcript() {
    let workspace = Workspace::new(&[done(&["nothing to do"])]);
    let file = workspace.folder.path().join("task.md");
    fs::write(&file, "There is nothing to do.\n").unwrap();
    let live = workspace.run(&["--json", "--file", file.to_str().unwrap()]);
    let events = live.with_code(0).events();
    let numbers: Vec<u64> = events.iter().map(|event| event.record.seq).collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>());
    assert!(matches!(
        events.last().unwrap().record.event,
        RunEvent::Ended {
            outcome: RunOutcome::Succeeded,
            ..
        }
    ));
    let beginning = &events[0].run_id.as_str()[..8];
    let again = workspace.outrigger(&["show", "--json", beginning]);
    assert_eq!(again.with_code(0).events(), events);
}

#[test]
fn a_run_that_waits_can_be_answered_later() {
    let workspace = Workspace::new(&[asks(), done(&["The user answered: 8080"])]);
    let left = workspace.run(&["serve it"]);
    left.with_code(3)
        .says("question  Which port?")
        .says("The run waits for an answer to");
    let question = left
        .text
        .split_whitespace()
        .find(|word| word.ends_with(".q1."))
        .unwrap();
    let question = question.trim_end_matches('.');
    // Taking it up again does not answer it.
    workspace
        .outrigger(&["resume", "last"])
        .with_code(3)
        .says(question);
    // An answer that is none changes nothing.
    let wrong = workspace.outrigger(&["answer", &question.replace(".q1", ".q9"), "1"]);
    assert!(
        wrong
            .with_code(1)
            .errors
            .contains("there is no open question"),
        "{}",
        wrong.errors
    );
    workspace
        .outrigger(&["answer", question, "2"])
        .with_code(0)
        .says("answer    8080 (terminal)")
        .says("Succeeded");
    let again = workspace.outrigger(&["answer", question, "2"]);
    assert!(
        again.with_code(1).errors.contains("has ended"),
        "{}",
        again.errors
    );
    let again = workspace.outrigger(&["resume", "last"]);
    assert!(
        again.with_code(1).errors.contains("has ended"),
        "{}",
        again.errors
    );
}

#[test]
fn why_a_run_waits_is_in_the_code() {
    let workspace = Workspace::new(&[tool("l1", "list", json!({})), done(&[])]);
    workspace
        .run(&["--max-turns", "1", "look"])
        .with_code(4)
        .says("budget");
    let unreachable = workspace.outrigger(&["run", "--model", "scripted:missing.jsonl", "look"]);
    unreachable.with_code(6).says("missing.jsonl");
    let workspace = Workspace::new(&[
        tool("c1", "command", json!({ "command": "echo hello" })),
        done(&["hello"]),
    ]);
    workspace
        .run(&["say hello"])
        .with_code(3)
        .says("$ echo hello");
    workspace
        .run(&["--commands", "allow", "say hello"])
        .with_code(0)
        .says("command   echo hello");
}

#[test]
fn without_a_person_a_conflict_follows_the_policy() {
    let write = tool(
        "w1",
        "write",
        json!({ "path": "a.txt", "content": "theirs\n" }),
    );
    for (policy, code, want) in [
        ("ask", 3, "mine\n"),
        ("overwrite", 5, "theirs\n"),
        ("edit", 0, "mine\n"),
    ] {
        let workspace = Workspace::new(&[write.clone(), done(&[])]);
        fs::write(workspace.project().join("a.txt"), "mine\n").unwrap();
        workspace
            .run(&["--conflict", policy, "write it"])
            .with_code(code);
        assert_eq!(
            fs::read_to_string(workspace.project().join("a.txt")).unwrap(),
            want,
            "{policy}"
        );
    }
}

#[test]
fn mistakes_are_usage_errors_with_words() {
    let workspace = Workspace::new(&[done(&[])]);
    workspace.outrigger(&["run"]).with_code(2);
    workspace
        .outrigger(&["run", "--conflict", "perhaps", "x"])
        .with_code(2);
    let shown = workspace.outrigger(&["show", "last"]);
    assert!(
        shown.with_code(1).errors.contains("there is no run yet"),
        "{}",
        shown.errors
    );
    let shown = workspace.outrigger(&["show", "../../etc/passwd"]);
    assert!(
        shown.with_code(1).errors.contains("is no run's id"),
        "{}",
        shown.errors
    );
    let answered = workspace.outrigger(&["answer", "what", "1"]);
    assert!(
        answered.with_code(1).errors.contains("is no question's id"),
        "{}",
        answered.errors
    );
}

/// Starts a run that hangs in a command, and waits until it does.
#[cfg(unix)]
fn hanging(workspace: &Workspace) -> (Child, impl Iterator<Item = String> + use<>) {
    let mut command = workspace.command(&[
        "run",
        "--json",
        "--commands",
        "allow",
        "--model",
        "scripted:../model.script.jsonl",
        "hang",
    ]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    assert!(lines.any(|line| line.contains("\"toolStarted\"")));
    (child, lines)
}

#[cfg(unix)]
fn interrupt(child: &Child) {
    let process = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
}

#[cfg(unix)]
fn hangs() -> Workspace {
    Workspace::new(&[
        tool(
            "c1",
            "command",
            json!({ "command": "echo $$ > pid; exec sleep 600" }),
        ),
        done(&[]),
    ])
}

#[cfg(unix)]
fn is_alive(project: &Path) -> bool {
    let Ok(text) = fs::read_to_string(project.join("pid")) else {
        return false;
    };
    // The shell makes the file before it writes the number.
    let Some(pid) = text
        .trim()
        .parse()
        .ok()
        .and_then(rustix::process::Pid::from_raw)
    else {
        return false;
    };
    rustix::process::test_kill_process(pid).is_ok()
}

#[cfg(unix)]
#[test]
fn an_interrupt_cancels_in_good_order() {
    let workspace = hangs();
    let (mut child, mut lines) = hanging(&workspace);
    interrupt(&child);
    assert!(lines.any(|line| line.contains("\"ended\"") && line.contains("\"cancelled\"")));
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!is_alive(&workspace.project()));
    workspace
        .outrigger(&["show", "last"])
        .with_code(0)
        .says("Cancelled");
}

#[cfg(unix)]
#[test]
fn a_person_at_a_terminal_is_asked() {
    use std::os::unix::fs::PermissionsExt;
    let workspace = Workspace::new(&[
        tool(
            "w1",
            "write",
            json!({ "path": "a.txt", "content": "theirs\n" }),
        ),
        asks(),
        done(&["The user answered: as you like"]),
    ]);
    fs::write(workspace.project().join("a.txt"), "mine\n").unwrap();
    let editor = workspace.folder.path().join("editor");
    fs::write(&editor, "#!/bin/sh\necho mine, too >> \"$1\"\n").unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = workspace.command(&[
        "run",
        "--model",
        "scripted:../model.script.jsonl",
        "write it",
    ]);
    command.env("EDITOR", &editor).env_remove("VISUAL");
    let (code, shown) = at_a_terminal(command, &["what?", "e", "as you like"]);
    assert_eq!(code, Some(5), "{shown}");
    for text in [
        "`what?` is none of a, k, s",
        "\u{1b}[31m-mine",
        "\u{1b}[32m+theirs",
        "take an edited version",
        "as you like",
        "Succeeded",
    ] {
        assert!(shown.contains(text), "no {text:?} in:\n{shown}");
    }
    let text = fs::read_to_string(workspace.project().join("a.txt")).unwrap();
    assert_eq!(text, "theirs\nmine, too\n");
}

#[test]
fn settings_are_shown_with_their_origin_and_their_mistakes() {
    let fixture = Workspace::new(&[]);
    let written = fixture.outrigger(&["config", "init"]);
    assert_eq!(written.code, Some(0), "{}", written.errors);
    let again = fixture.outrigger(&["config", "init"]);
    assert_eq!(again.code, Some(1));
    assert!(
        again.errors.contains("is there already"),
        "{}",
        again.errors
    );
    let file = fixture.project().join("outrigger.toml");
    fs::write(&file, "[budget]\ntokens = 7\niteration = 3\n").unwrap();
    let shown = fixture.outrigger(&["config", "show", "budget"]);
    let line = |name: &str| {
        let mut lines = shown.text.lines();
        let found = lines.find(|line| line.starts_with(name));
        found.unwrap_or_default().to_owned()
    };
    assert!(line("budget.tokens").contains(" 7 "), "{}", shown.text);
    assert!(line("budget.tokens").ends_with("outrigger.toml:2"));
    assert!(line("budget.activeS").ends_with("default"));
    assert!(
        shown.errors.contains("outrigger.toml:3: "),
        "{}",
        shown.errors
    );
    assert!(shown.errors.contains("did you mean `budget.iterations`"));
}

#[test]
fn the_log_is_a_file_of_the_user_and_holds_no_secret() {
    let workspace = Workspace::new(&[]);
    let key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    let mut command = workspace.command(&["run", "--log-level", "debug", "--log-format", "json"]);
    // The name of a model that cannot be is logged as it is.
    let model = format!("scripted:{key}");
    command.args(["--model", &model, "x"]);
    command.env("MY_TOKEN", "correct-horse-battery");
    let ended = Ended::of(command.output().unwrap());
    assert_ne!(ended.code, Some(0));
    let folder = workspace.folder.path().join("state").join("log");
    let files: Vec<_> = fs::read_dir(&folder).unwrap().flatten().collect();
    assert_eq!(files.len(), 1);
    let text = fs::read_to_string(files[0].path()).unwrap();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(line["level"].is_string(), "{line}");
    }
    assert!(!text.contains(key), "{text}");
    assert!(!ended.errors.contains(key), "{}", ended.errors);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&folder).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0);
    }
}

#[test]
fn shells_and_man_know_every_command() {
    let workspace = Workspace::new(&[]);
    let help = workspace.outrigger(&["--help"]);
    let commands = commands(&help.text);
    assert!(commands.len() > 5, "{}", help.text);
    let pages = workspace.folder.path().join("man");
    let written = workspace.outrigger(&["man", pages.to_str().unwrap()]);
    assert_eq!(written.code, Some(0), "{}", written.errors);
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let completions = workspace.outrigger(&["completions", shell]);
        for name in &commands {
            assert!(completions.text.contains(name), "{name} in {shell}");
        }
    }
    for name in &commands {
        assert!(
            pages.join(format!("outrigger-{name}.1")).is_file(),
            "{name}"
        );
    }
}

/// Two steps on one file, and one that makes another.
fn three_steps() -> [Value; 5] {
    let edit = |id: &str, old: &str, new: &str| {
        let edits = json!([{ "old": old, "new": new }]);
        tool(id, "edit", json!({ "path": "a.txt", "edits": edits }))
    };
    [
        tool("s1", "read", json!({ "path": "a.txt" })),
        edit("s2", "one", "1"),
        edit("s3", "nine", "9"),
        tool(
            "s4",
            "write",
            json!({ "path": "sub/é.txt", "content": "new\n" }),
        ),
        done(&["was created"]),
    ]
}

const NINE: &str = "one\n2\n3\n4\n5\n6\n7\n8\nnine\r\n";

#[test]
fn what_a_run_did_is_shown_as_a_patch_and_taken_back() {
    let workspace = Workspace::new(&three_steps());
    let file = |name: &str| fs::read_to_string(workspace.project().join(name)).ok();
    fs::write(workspace.project().join("a.txt"), NINE).unwrap();
    workspace.run(&["number them"]).with_code(5);
    let after = NINE.replace("one", "1").replace("nine", "9");
    assert_eq!(file("a.txt"), Some(after.clone()));

    let patch = workspace.outrigger(&["diff", "last"]);
    patch.with_code(0).says("-nine\r\n+9\r\n");
    let checked = Command::new("git")
        .args(["apply", "--reverse", "--check", "-"])
        .current_dir(workspace.project())
        .stdin(Stdio::piped())
        .spawn()
        .and_then(|mut git| {
            std::io::Write::write_all(&mut git.stdin.take().unwrap(), patch.text.as_bytes())?;
            git.wait()
        });
    assert!(checked.unwrap().success(), "{}", patch.text);
    workspace
        .outrigger(&["diff", "last", "--list"])
        .with_code(0)
        .says("a.txt  edited, 2 hunks, +2 -2\n    step 1  edit a.txt\n    step 2  edit a.txt\n")
        .says("sub/é.txt  created");

    // Looking touches nothing, and neither does being unable to ask.
    let look = workspace.outrigger(&["revert", "last", "--dry-run"]);
    look.with_code(0)
        .says("a.txt  will be restored")
        .says("sub/é.txt  will be removed");
    let unasked = workspace.outrigger(&["revert", "last"]);
    assert!(
        unasked.with_code(1).errors.contains("--yes"),
        "{}",
        unasked.errors
    );
    assert_eq!(file("a.txt"), Some(after.clone()));

    let step = workspace.outrigger(&["revert", "last", "--step", "2", "--yes"]);
    step.with_code(0).says("a.txt  restored");
    assert_eq!(file("a.txt"), Some(after.replace('9', "nine")));
    let all = workspace.outrigger(&["revert", "last", "--yes"]);
    all.with_code(0).says("sub/é.txt  removed");
    assert_eq!(
        (file("a.txt"), file("sub/é.txt")),
        (Some(NINE.to_owned()), None)
    );

    // A revert is taken back by its own name, or the beginning of it.
    let name = all.text.trim_end().rsplit(' ').next().unwrap().to_owned();
    let back = workspace.outrigger(&["revert", &name[..name.len() - 1], "--yes"]);
    back.with_code(0).says("a.txt  restored");
    assert_eq!(file("sub/é.txt"), Some("new\n".to_owned()));
}

#[test]
fn a_file_or_a_hunk_is_taken_back_alone_and_what_was_edited_since_is_left() {
    let workspace = Workspace::new(&three_steps());
    let path = workspace.project().join("a.txt");
    let a = || fs::read_to_string(&path).unwrap();
    fs::write(&path, NINE).unwrap();
    workspace.run(&["number them"]).with_code(5);
    fs::write(workspace.project().join("sub/é.txt"), "mine\n").unwrap();
    let both = workspace.outrigger(&["revert", "last", "--dry-run"]);
    both.with_code(1)
        .says("sub/é.txt  left as it is: it was created by the run");
    let hunk = workspace.outrigger(&["revert", "last", "./a.txt", "--hunks", "1", "-y"]);
    hunk.with_code(0).says("a.txt  merged");
    assert_eq!(a(), NINE.replace("nine", "9"));
    let file = workspace.outrigger(&["revert", "last", "a.txt", "-y"]);
    file.with_code(0).says("a.txt  merged");
    assert_eq!(a(), NINE);
    let rows: [(&[&str], i32, &str); 5] = [
        (
            &["revert", "last", "other.txt"],
            1,
            "did not change other.txt",
        ),
        (&["revert", "last", "../x"], 1, "outside the workspace"),
        (&["revert", "last", "--step", "7"], 1, "numbers them"),
        (&["revert", "nope"], 1, "whose id begins with `nope`"),
        (&["diff", "nope"], 1, "whose id begins with `nope`"),
    ];
    for (arguments, code, why) in rows {
        let ended = workspace.outrigger(arguments);
        assert!(
            ended.with_code(code).errors.contains(why),
            "{}",
            ended.errors
        );
    }
    assert_eq!(
        fs::read_to_string(workspace.project().join("sub/é.txt")).unwrap(),
        "mine\n"
    );
}

#[test]
fn what_failed_runs_left_is_cleaned_up_and_later_edits_only_by_force() {
    let workspace = Workspace::new(&[
        tool(
            "w1",
            "write",
            json!({ "path": "made.txt", "content": "run\n" }),
        ),
        tool(
            "w2",
            "write",
            json!({ "path": "é/left.txt", "content": "run\n" }),
        ),
        json!({ "fault": { "http": 401 } }),
    ]);
    let file = |name: &str| fs::read_to_string(workspace.project().join(name)).ok();
    // It waits for a word about the model that cannot be reached; it is given up.
    workspace.run(&["make two files"]).with_code(6);
    let early = workspace.outrigger(&["clean", "last"]);
    assert!(
        early.with_code(1).errors.contains("has not ended"),
        "{}",
        early.errors
    );
    let question = workspace.outrigger(&["questions", "--json"]);
    let question: Value = serde_json::from_str(&question.text).unwrap();
    let question = question[0]["id"].as_str().unwrap().to_owned();
    workspace
        .outrigger(&["answer", &question, "giveUp"])
        .with_code(1);
    fs::write(workspace.project().join("made.txt"), "run\nand mine\n").unwrap();

    let look = workspace.outrigger(&["clean", "last", "--dry-run"]);
    look.with_code(1)
        .says("made.txt  left as it is: it was created by the run and has been edited since")
        .says("é/left.txt  will be removed");
    assert_eq!(file("é/left.txt"), Some("run\n".to_owned()));
    let unasked = workspace.outrigger(&["clean", "last"]);
    assert!(
        unasked.with_code(1).errors.contains("--force"),
        "{}",
        unasked.errors
    );
    assert_eq!(file("é/left.txt"), Some("run\n".to_owned()));

    let forced = workspace.outrigger(&["clean", "last", "--force"]);
    forced
        .with_code(0)
        .says("made.txt  overruled")
        .says("é/left.txt  removed");
    assert_eq!(
        (file("made.txt"), workspace.project().join("é").exists()),
        (None, false)
    );
    // What was not the run's is kept all the same.
    let name = forced.text.trim_end().rsplit(' ').next().unwrap();
    workspace.outrigger(&["revert", name, "-y"]).with_code(0);
    assert_eq!(file("made.txt"), Some("run\nand mine\n".to_owned()));
}

#[test]
fn a_run_that_succeeded_is_not_cleaned_up() {
    let workspace = Workspace::new(&[
        tool("w1", "write", json!({ "path": "a", "content": "x\n" })),
        done(&[]),
    ]);
    workspace.run(&["make it"]).with_code(5);
    let ended = workspace.outrigger(&["clean", "last", "--force"]);
    assert!(
        ended.with_code(1).errors.contains("has succeeded"),
        "{}",
        ended.errors
    );
    assert!(workspace.project().join("a").exists());
}

#[test]
fn tasks_are_kept_between_commands_and_run_by_name() {
    let workspace = Workspace::new(&[done(&["src/é.py, line 2", "größer"])]);
    let source = workspace.project().join("src");
    fs::create_dir(&source).unwrap();
    fs::write(source.join("é.py"), "x = 1\n# TODO: größer\n").unwrap();
    workspace
        .outrigger(&["task", "add", "--todo", "src/é.py:2"])
        .with_code(0)
        .says("t1")
        .says("größer");
    fs::write(
        workspace.project().join("TODO.md"),
        "- [x] old\n- next é\n  Depends on: größer\n",
    )
    .unwrap();
    workspace
        .outrigger(&["task", "import", "TODO.md"])
        .with_code(0)
        .says("next é")
        .says("1 marked as done");
    workspace.outrigger(&["task", "ready", "t1"]).with_code(0);
    let waits = workspace.run(&["--task", "t2"]);
    waits.with_code(1);
    assert!(waits.errors.contains("waits for t1"), "{}", waits.errors);
    // What nothing could verify is 5; nothing was changed here.
    workspace
        .run(&["--task", "t1", "--unattended"])
        .says("Fertig");
    let listed = workspace.outrigger(&["task", "list", "--json"]);
    let tasks: Value = serde_json::from_str(&listed.with_code(0).text).unwrap();
    assert_eq!(tasks[0]["state"], "done", "{tasks:#}");
    assert_eq!(tasks[1]["state"], "backlog");
    workspace
        .outrigger(&["task", "edit", "t2", "--state", "done"])
        .with_code(1);
    workspace
        .outrigger(&["task", "edit", "t2", "--after", "", "--title", "später"])
        .with_code(0)
        .says("später");
    workspace
        .outrigger(&["task", "show", "t1"])
        .says("a comment in src/é.py, line 2")
        .says("backlog → ready");
}

/// The commands that a help lists.
fn commands(help: &str) -> Vec<&str> {
    help.lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty() && *name != "help")
        .collect()
}

#[test]
fn a_cleaned_task_is_as_if_nobody_had_tried() {
    let workspace = Workspace::new(&[
        tool(
            "w1",
            "write",
            json!({ "path": "left.txt", "content": "run\n" }),
        ),
        json!({ "fault": { "http": 401 } }),
    ]);
    let added = workspace.outrigger(&["task", "add", "make é"]);
    let id = added
        .with_code(0)
        .text
        .split_whitespace()
        .find(|word| word.starts_with('t'))
        .unwrap()
        .to_owned();
    workspace.run(&["--task", &id]).with_code(6);
    let question = workspace.outrigger(&["questions", "--json"]);
    let question: Value = serde_json::from_str(&question.text).unwrap();
    let question = question[0]["id"].as_str().unwrap().to_owned();
    workspace
        .outrigger(&["answer", &question, "giveUp"])
        .with_code(1);

    let look = workspace.outrigger(&["clean", &id, "--dry-run"]);
    look.with_code(0).says("left.txt  will be removed");
    let shown = workspace.outrigger(&["task", "show", &id, "--json"]);
    assert!(
        shown.with_code(0).text.contains("\"failed\""),
        "{}",
        shown.text
    );
    let cleaned = workspace.outrigger(&["clean", &id, "--force"]);
    cleaned
        .with_code(0)
        .says("left.txt  removed")
        .says(&format!("task {id} (backlog): make é"));
    assert!(!workspace.project().join("left.txt").exists());
    let shown = workspace.outrigger(&["task", "show", &id, "--json"]);
    shown
        .with_code(0)
        .says("\"backlog\"")
        .says("cleaned up after r");
}
