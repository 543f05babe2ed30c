//! A project under git, a script for the model of each task, and `outrigger batch` on them.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

pub struct Project {
    folder: TempDir,
}

impl Project {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = Self { folder };
        fs::create_dir(project.root()).unwrap();
        fs::write(
            project.root().join("a.txt"),
            "one\ntwo\nthree\nfour\nfive\n",
        )
        .unwrap();
        project
    }

    pub fn with_git() -> Self {
        let project = Self::new();
        project.git(&["init", "--quiet", "--initial-branch=main"]);
        project.git(&["add", "."]);
        project.commit("first");
        project
    }

    pub fn commit(&self, message: &str) {
        let who = ["-c", "user.name=é", "-c", "user.email=e@example"];
        self.git(&[&who[..], &["commit", "--quiet", "-m", message]].concat());
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path().join("pro ject")
    }

    pub fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    pub fn git(&self, words: &[&str]) -> String {
        let output = Command::new("git")
            .args(words)
            .current_dir(self.root())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// What the model says in a task, as a setting of it.
    pub fn script(&self, name: &str, turns: &[Value]) -> String {
        let mut script = json!({ "script": 1, "name": name }).to_string();
        for turn in turns {
            script.push('\n');
            script.push_str(&turn.to_string());
        }
        let path = self.folder.path().join(format!("{name}.script.jsonl"));
        fs::write(&path, script).unwrap();
        format!("scripted:{}", path.display())
    }

    /// A list of tasks, each with its script.
    pub fn list(&self, tasks: &[Value]) -> String {
        let path = self.folder.path().join("list.json");
        fs::write(&path, json!(tasks).to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_outrigger"));
        command
            .args(words)
            .current_dir(self.root())
            .env("OUTRIGGER_CONFIG", "")
            .env("OUTRIGGER_STATE_DIR", self.folder.path().join("state"))
            .env_remove("CLICOLOR_FORCE")
            .stdin(Stdio::null());
        command
    }

    pub fn batch(&self, words: &[&str]) -> Ended {
        let words = [&["batch"], words].concat();
        Ended::of(self.command(&words).output().unwrap())
    }

    pub fn shown(&self) -> Value {
        let shown = self.batch(&["show", "--json"]);
        serde_json::from_str(&shown.text).unwrap()
    }

    pub fn outcomes(&self) -> Vec<String> {
        let shown = self.shown();
        let tasks = shown["tasks"].as_array().unwrap();
        tasks
            .iter()
            .map(|task| task["outcome"].as_str().unwrap().to_owned())
            .collect()
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }
}

pub struct Ended {
    pub code: Option<i32>,
    pub text: String,
    pub errors: String,
}

impl Ended {
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            text: String::from_utf8(output.stdout).unwrap(),
            errors: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub fn with_code(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.text, self.errors);
        self
    }

    pub fn says(&self, text: &str) -> &Self {
        let all = format!("{}\n{}", self.text, self.errors);
        assert!(all.contains(text), "no {text:?} in:\n{all}");
        self
    }
}

pub fn tool(id: &str, name: &str, args: Value) -> Value {
    json!({ "emit": [{ "tool": name, "id": id, "args": args }], "usage": { "in": 10, "out": 5 } })
}

pub fn write(path: &str, content: &str) -> Value {
    tool("w1", "write", json!({ "path": path, "content": content }))
}

pub fn done() -> Value {
    json!({ "emit": [{ "text": "Fertig: é漢." }], "usage": { "in": 20, "out": 5 } })
}

pub fn task(title: &str, model: &str, after: &[&str]) -> Value {
    json!({ "title": title, "settings": { "model": model }, "dependsOn": after })
}
