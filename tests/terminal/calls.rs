//! How commands are called: help, prompts from wherever they come, ids that are shortened, calls that a queue repeats.

use std::io::Write;
use std::process::Stdio;

use serde_json::json;

use super::{Ended, Workspace, asks, done, tool};

#[test]
fn every_command_has_examples_and_says_what_its_codes_mean() {
    let workspace = Workspace::new(&[]);
    let help = workspace.outrigger(&["--help"]);
    let commands = super::commands(&help.text);
    assert!(commands.len() > 15, "{}", help.text);
    for name in &commands {
        let help = workspace.outrigger(&[name, "--help"]);
        help.with_code(0)
            .says("Examples:")
            .says(&format!("outrigger {name}"));
        // What the subcommands of a command can do is said by it.
        for inner in super::commands(&help.text) {
            workspace
                .outrigger(&[name, inner, "--help"])
                .with_code(0)
                .says("Usage:");
        }
    }
    let help = workspace.outrigger(&["run", "--help"]);
    for code in [
        "0 succeeded",
        "1 failed",
        "2 usage",
        "3 waits",
        "4 waits",
        "5 succeeded",
        "6 the model",
        "130 cancelled",
    ] {
        help.says(code);
    }
}

#[test]
fn a_prompt_comes_in_words_from_a_file_or_through_a_pipe() {
    let workspace = Workspace::new(&[done(&["sag é"])]);
    let file = workspace.folder.path().join("task.md");
    std::fs::write(&file, "sag é\n").unwrap();
    workspace.run(&["sag", "é"]).with_code(0);
    workspace
        .run(&["--file", file.to_str().unwrap()])
        .with_code(0);
    for words in [&["-"][..], &[]] {
        let all = [&["run", "--model", "scripted:../model.script.jsonl"], words].concat();
        let mut child = workspace
            .command(&all)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all("sag é".as_bytes())
            .unwrap();
        Ended::of(child.wait_with_output().unwrap()).with_code(0);
    }
    for words in [
        &[][..],
        &["  "],
        &["--file", "missing.md"],
        &["--set", "budget.tokens=many", "x"],
        &["--set", "x", "x"],
    ] {
        let ended = workspace.run(words);
        assert!(!ended.with_code(2).errors.is_empty(), "{words:?}");
    }
}

#[test]
fn a_question_may_be_named_shortly() {
    for shorten in [
        |id: &str| id.to_owned(),
        |_: &str| "last".to_owned(),
        |id: &str| id[..6].to_owned(),
        |id: &str| format!("{}.q1", &id[..6]),
        |_: &str| "last.q1".to_owned(),
    ] {
        let workspace = Workspace::new(&[asks(), done(&["The user answered: 8080"])]);
        workspace.run(&["serve it"]).with_code(3);
        let open = workspace.outrigger(&["questions", "--json"]);
        let open: serde_json::Value = serde_json::from_str(&open.text).unwrap();
        let id = shorten(open[0]["id"].as_str().unwrap());
        workspace.outrigger(&["answer", &id, "8080"]).with_code(0);
    }
}

#[test]
fn a_queue_may_repeat_a_call() {
    let workspace = Workspace::new(&[asks(), done(&["The user answered: 8080"])]);
    let once = |code: i32| {
        let ended = workspace.run(&["--once", "--json", "serve it"]);
        ended.with_code(code);
        ended
    };
    let first = once(3).events();
    // It still waits: the same run, and not another one.
    once(3);
    let runs = |workspace: &Workspace| {
        workspace
            .outrigger(&["runs"])
            .text
            .lines()
            .filter(|line| line.starts_with('r'))
            .count()
    };
    assert_eq!(runs(&workspace), 1);
    workspace
        .outrigger(&["answer", "last", "8080"])
        .with_code(0);
    // It is done: told again.
    let again = once(0).events();
    assert_eq!(again[0], first[0]);
    assert_eq!(runs(&workspace), 1);
    // Another prompt is another run.
    workspace.run(&["--once", "something else"]).with_code(3);
    assert_eq!(runs(&workspace), 2);
}

#[test]
fn yes_allows_commands_and_answers_no_question() {
    let workspace = Workspace::new(&[
        tool("c1", "command", json!({ "command": "echo hello" })),
        asks(),
        done(&[]),
    ]);
    workspace
        .run(&["--yes", "say it"])
        .with_code(3)
        .says("→")
        .says("Which port?");
    workspace
        .run(&["--yes", "--commands", "deny", "say it"])
        .with_code(3)
        .says("Which port?");
}

#[cfg(unix)]
#[test]
fn no_home_no_terminal_and_a_checkout_that_cannot_be_written() {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    let workspace = Workspace::new(&[
        tool("w1", "write", json!({ "path": "a.txt", "content": "x\n" })),
        done(&[]),
    ]);
    let bare = |words: &[&str]| {
        let mut command = workspace.command(words);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("OUTRIGGER_CONFIG", "");
        Ended::of(command.output().unwrap())
    };
    let run = [
        "run",
        "--json",
        "--model",
        "scripted:../model.script.jsonl",
        "write",
    ];
    // Without a place for state it says which variable names one.
    let ended = bare(&run);
    assert!(
        ended.with_code(1).errors.contains("OUTRIGGER_STATE_DIR"),
        "{}",
        ended.errors
    );
    let state = workspace.folder.path().join("elsewhere");
    let with_state = [&run[..], &["--state-dir", state.to_str().unwrap()]].concat();
    bare(&with_state).with_code(5);
    bare(&[
        "doctor",
        "--offline",
        "--state-dir",
        state.to_str().unwrap(),
    ])
    .says("HOME");
    // As root every folder can be written: then there is nothing to see.
    let project = workspace.project();
    fs::remove_file(project.join("a.txt")).unwrap();
    fs::set_permissions(&project, fs::Permissions::from_mode(0o555)).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    let ended = bare(&with_state);
    assert!(
        is_root || ended.text.contains("ermission"),
        "{}",
        ended.text
    );
    let doctor = bare(&[
        "doctor",
        "--offline",
        "--state-dir",
        state.to_str().unwrap(),
    ]);
    assert!(
        is_root || doctor.text.contains("cannot be written"),
        "{}",
        doctor.text
    );
    fs::set_permissions(&project, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_doctor_says_what_is_wrong_and_what_to_do() {
    let workspace = Workspace::new(&[]);
    std::fs::write(
        workspace.project().join("outrigger.toml"),
        "[budget]\ntoken = 7\n",
    )
    .unwrap();
    let page = |model: Option<&str>| {
        let mut command = workspace.command(&["doctor", "--offline", "--json"]);
        command
            .env_remove("OUTRIGGER_MODEL")
            .envs(model.map(|model| ("OUTRIGGER_MODEL", model)));
        let ended = Ended::of(command.output().unwrap());
        let page: serde_json::Value = serde_json::from_str(&ended.text).unwrap();
        (ended.code, page["checks"].as_array().unwrap().clone())
    };
    let (code, checks) = page(Some("scripted:../model.script.jsonl"));
    assert_eq!(code, Some(0), "{checks:?}");
    let state = |name: &str| {
        let check = checks.iter().find(|check| check["name"] == name);
        check.unwrap_or_else(|| panic!("no {name} in {checks:?}"))["state"].clone()
    };
    for name in [
        "version",
        "model",
        "keys",
        "state",
        "locks",
        "disk",
        "permissions",
        "clock",
    ] {
        assert_ne!(state(name), "error", "{name}");
    }
    assert_eq!(state("settings"), "warning");
    let settings = checks
        .iter()
        .find(|check| check["name"] == "settings")
        .unwrap();
    assert!(
        settings["found"]
            .as_str()
            .unwrap()
            .contains("outrigger.toml:2"),
        "{settings}"
    );
    for check in &checks {
        let has_advice = check["todo"].as_str().is_some_and(|todo| !todo.is_empty());
        assert!(check["state"] == "ok" || has_advice, "{check}");
    }
    for name in ["git", "encoding", "editors"] {
        state(name);
    }
}
