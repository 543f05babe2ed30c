//! Ten small but real tasks in four languages, through the real binary with the projects' real checks. In each the model goes
//! wrong in a way of its own; each must end as it should, with the very bytes that it should.
//!
//! `tests/tasks/NAME/` has the project `before` and `after` and what the model says. `tests/gates/install-tools` puts the checks
//! into `target/tools`; where it was not run, the tasks that need them say so and check nothing, unless
//! `OUTRIGGER_TESTS_REQUIRE` names `tasks`.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test fails by panicking"
)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use support::{Editor, Start};

/// What no project has of its own.
const NOT_COMPARED: [&str; 3] = [".venv", "node_modules", "target"];

/// Which checks a project needs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    Python,
    Rust,
    TypeScript,
    Shell,
}

struct Task {
    name: &'static str,
    editor: Editor,
    project: tempfile::TempDir,
    run: Value,
}

impl Task {
    /// Starts the run; `None`: the checks are not here. `with`: more parameters of the start.
    fn start(name: &'static str, language: Language, with: Value) -> Option<Self> {
        let tools = tools(language)?;
        let project = tempfile::tempdir().unwrap();
        copy(&folder(name).join("before"), project.path());
        match language {
            Language::Python | Language::Shell => {
                let venv = project.path().join(".venv");
                std::os::unix::fs::symlink(tools.join("py"), venv).unwrap();
            }
            Language::TypeScript => link_modules(&tools, project.path()),
            Language::Rust => {}
        }
        let client = json!({
            "clientInfo": {"name": "tasks"},
            "rootUri": format!("file://{}", project.path().display()),
            "capabilities": {
                "general": {"positionEncodings": ["utf-8"]},
                "workspace": {"applyEdit": true, "workspaceEdit": {"documentChanges": true}},
                "experimental": {"outrigger": {"version": 1, "events": true, "questions": true, "save": true}},
            },
        });
        let start = Start::default().folder(project.path());
        // shellcheck is beside the other tools here, and on a person's path.
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut all = vec![tools.join("py/bin")];
        all.extend(std::env::split_paths(&path));
        let start = match language {
            Language::Shell => start.env("PATH", std::env::join_paths(all).unwrap()),
            _ => start,
        };
        let (mut editor, _) = start.ready_as(client);
        for method in [
            "outrigger/run/event",
            "textDocument/publishDiagnostics",
            "outrigger/question/resolved",
        ] {
            editor.allow(method);
        }
        let script = folder(name).join("model.script.jsonl");
        let mut params = json!({
            "prompt": fs::read_to_string(folder(name).join("task.txt")).unwrap(),
            "model": format!("scripted:{}", script.display()),
        });
        for (field, value) in with.as_object().unwrap() {
            params[field] = value.clone();
        }
        let mut task = Self {
            name,
            editor,
            project,
            run: Value::Null,
        };
        task.run = params;
        Some(task)
    }

    fn begin(&mut self) {
        let params = self.run.take();
        self.run = self.editor.request("outrigger/run/start", params)["runId"].clone();
    }

    /// The next question of this kind.
    fn asked(&mut self, kind: &str) -> Value {
        let wanted = |params: &Value| params["question"]["kind"]["kind"] == kind;
        let mut opened = self
            .editor
            .notification("outrigger/question/opened", wanted);
        opened["question"].take()
    }

    fn answer(&mut self, question: &Value, answer: Value) {
        let params = json!({"questionId": question["id"], "answer": answer});
        self.editor.request("outrigger/question/answer", params);
    }

    /// Ends as `outcome`, and the project is as it should be. Gives the summary.
    fn ends(&mut self, outcome: &str) -> Value {
        let ended = |params: &Value| params["record"]["event"]["type"] == "ended";
        let mut params = self.editor.notification("outrigger/run/event", ended);
        let event = params["record"]["event"].take();
        assert_eq!(event["outcome"], outcome, "{}: {event:#}", self.name);
        assert_eq!(
            self.bytes(),
            bytes(&folder(self.name).join("after")),
            "{}",
            self.name
        );
        event["summary"].clone()
    }

    fn bytes(&self) -> BTreeMap<PathBuf, String> {
        bytes(self.project.path())
    }

    /// All events of the run so far that have this type.
    fn events(&mut self, kind: &str) -> Vec<Value> {
        let all = self
            .editor
            .request("outrigger/run/events", json!({"runId": self.run}));
        let records = all["records"].as_array().unwrap().iter();
        let events = records.map(|record| record["event"].clone());
        events.filter(|event| event["type"] == kind).collect()
    }
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/tasks")
        .join(name)
}

/// Where the checks of a language are.
fn tools(language: Language) -> Option<PathBuf> {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools");
    let there = match language {
        Language::Python => tools.join("py/bin/mypy").exists(),
        Language::Shell => tools.join("py/bin/shellcheck").exists(),
        Language::TypeScript => tools.join("node/node_modules/typescript").exists(),
        Language::Rust => true,
    };
    let required = std::env::var("OUTRIGGER_TESTS_REQUIRE").unwrap_or_default();
    assert!(
        there || !required.split(',').any(|name| name == "tasks"),
        "run tests/gates/install-tools first"
    );
    if !there {
        eprintln!("not checked: run tests/gates/install-tools first");
    }
    there.then_some(tools)
}

fn link_modules(tools: &Path, project: &Path) {
    let modules = project.join("node_modules");
    fs::create_dir(&modules).unwrap();
    for entry in fs::read_dir(tools.join("node/node_modules")).unwrap() {
        let entry = entry.unwrap();
        std::os::unix::fs::symlink(entry.path(), modules.join(entry.file_name())).unwrap();
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let walk = ignore::WalkBuilder::new(folder)
        .standard_filters(false)
        .filter_entry(|entry| !NOT_COMPARED.iter().any(|name| entry.file_name() == *name))
        .build();
    let entries = walk.map(|entry| entry.unwrap().into_path());
    entries.filter(|path| path.is_file()).collect()
}

fn bytes(folder: &Path) -> BTreeMap<PathBuf, String> {
    let read = |path: PathBuf| {
        let name = path.strip_prefix(folder).unwrap().to_owned();
        (name, fs::read_to_string(path).unwrap())
    };
    files(folder).into_iter().map(read).collect()
}

fn copy(from: &Path, to: &Path) {
    for file in files(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(file, target).unwrap();
    }
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[test]
fn creates_what_exists() {
    let Some(mut task) = Task::start("creates_what_exists", Language::Python, json!({})) else {
        return;
    };
    let before = task.bytes();
    task.begin();
    let question = task.asked("overwrite");
    assert_eq!(question["kind"]["reason"], "exists", "{question:#}");
    assert_eq!(task.bytes(), before);
    task.answer(
        &question,
        json!({"type": "keepMine", "reason": "hello() is still needed"}),
    );
    let summary = task.ends("succeeded");
    assert_eq!(summary["verification"], "passed");
    assert_eq!(summary["files"][0]["path"], "orbit/hello.py");
}

#[test]
fn breaks_types() {
    let Some(mut task) = Task::start("breaks_types", Language::Python, json!({})) else {
        return;
    };
    task.begin();
    assert_eq!(task.ends("succeeded")["verification"], "passed");
    let judged = task.events("gatesJudged");
    let rejected = |event: &&Value| event["verdict"]["newFindings"] == 1;
    assert_eq!(judged.iter().filter(rejected).count(), 1, "{judged:#?}");
}

#[test]
fn loops() {
    let Some(mut task) = Task::start("loops", Language::Rust, json!({})) else {
        return;
    };
    task.begin();
    let question = task.asked("blocker");
    assert_eq!(question["kind"]["reason"], "circles");
    task.answer(&question, text("a minute has 60 seconds"));
    assert_eq!(task.ends("succeeded")["verification"], "passed");
}

#[test]
fn hangs() {
    let stall = json!({"stall": {"timeoutS": 2, "action": "retry"}});
    let Some(mut task) = Task::start("hangs", Language::TypeScript, stall) else {
        return;
    };
    task.begin();
    assert_eq!(task.ends("succeeded")["verification"], "passed");
    let stalls = task.events("stallDetected");
    assert_eq!(stalls.len(), 1, "{stalls:#?}");
    let idle = stalls[0]["idleMs"].as_u64().unwrap();
    assert!((2000..3000).contains(&idle), "{idle} ms");
}

#[test]
fn is_cut_off() {
    let Some(mut task) = Task::start("cut_off", Language::Shell, json!({})) else {
        return;
    };
    task.begin();
    assert_eq!(task.ends("succeeded")["verification"], "passed");
    // The write that was cut off is not among them, the linter's own repair is.
    assert_eq!(task.events("changeMade").len(), 3);
}

#[test]
fn hits_a_rate_limit() {
    let with = json!({"policy": {"commands": "allow"}});
    let Some(mut task) = Task::start("rate_limited", Language::Python, with) else {
        return;
    };
    task.begin();
    assert_eq!(task.ends("succeeded")["verification"], "passed");
    let waits = task.events("statusChanged");
    let parked = |event: &&Value| {
        event["waiting"]["for"] == "rateLimit" && event["waiting"]["until"].is_i64()
    };
    assert!(waits.iter().any(|event| parked(&event)), "{waits:#?}");
}

#[test]
fn edits_a_file_in_which_the_user_types() {
    let Some(mut task) = Task::start("user_is_typing", Language::Rust, json!({})) else {
        return;
    };
    let path = task.project.path().join("src/lib.rs");
    let before = fs::read_to_string(&path).unwrap();
    let uri = task.editor.open(&path, &before);
    task.begin();
    let edit = task.editor.server_request("workspace/applyEdit", |_| true);
    // The user was faster: the editor refuses an edit of the text before.
    task.editor
        .type_over(&uri, "pub fn last", "/// The user types this.\npub fn last");
    task.editor.apply_edit(&edit);
    let edit = task.editor.server_request("workspace/applyEdit", |_| true);
    task.editor.apply_edit(&edit);
    let save = task
        .editor
        .server_request("outrigger/document/save", |_| true);
    task.editor.save(&save);
    task.ends("succeeded");
    assert!(
        task.editor
            .document(&uri)
            .text
            .contains("The user types this.")
    );
}

#[test]
fn deletes_a_test() {
    let Some(mut task) = Task::start("deletes_a_test", Language::Python, json!({})) else {
        return;
    };
    let before = task.bytes();
    task.begin();
    let question = task.asked("command");
    assert_eq!(question["kind"]["command"], "rm tests/test_even.py");
    assert_eq!(task.bytes(), before);
    task.answer(&question, text("No: the test is right, the code is wrong."));
    assert_eq!(task.ends("succeeded")["verification"], "passed");
}

#[test]
fn needs_what_only_the_user_knows() {
    let Some(mut task) = Task::start("only_the_user_knows", Language::TypeScript, json!({})) else {
        return;
    };
    task.begin();
    let question = task.asked("blocker");
    assert_eq!(question["title"], "Which port?");
    assert_eq!(question["place"]["path"], "src/server.ts");
    task.answer(&question, text("8443"));
    assert_eq!(task.ends("succeeded")["verification"], "passed");
}

#[test]
fn exceeds_its_budget() {
    let with = json!({"budget": {"iterations": 2}});
    let Some(mut task) = Task::start("over_budget", Language::Shell, with) else {
        return;
    };
    let before = task.bytes();
    task.begin();
    let question = task.asked("budget");
    let half = task.bytes();
    assert_ne!(half, before, "what was done stays");
    assert_ne!(half, bytes(&folder("over_budget").join("after")));
    task.answer(&question, json!({"type": "choice", "choice": "raise"}));
    let summary = task.ends("succeeded");
    assert_eq!(summary["modelCalls"], 4, "nothing is done twice");
}
