//! `outrigger gates` and `outrigger trust` as scripts and CI use them.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Finds every line that says `bad`, in the form `file|line|column|message`, and a report in SARIF.
const LINT: &str = r#"#!/bin/sh
echo run >> "$OUTRIGGER_TEST_MARK"
status=0
for file in "$@"; do
  n=0
  while IFS= read -r line; do
    n=$((n + 1))
    case $line in *bad*) before=${line%%bad*}; echo "$file|$n|$((${#before} + 1))|\`bad\` is bad"; status=1;; esac
  done < "$file"
done
exit $status
"#;

const DECLARED: &str = r#"
[gate.house]
command = ["./lint.sh", "{files}"]
format = "pattern"
columns = "bytes"
triggers = ["*.txt"]
[gate.house.pattern]
regexp = '^(.*)\|(\d+)\|(\d+)\|(.*)$'
file = 1
line = 2
column = 3
message = 4
"#;

struct Project {
    folder: tempfile::TempDir,
}

struct Ended {
    code: i32,
    said: String,
    errors: String,
}

impl Project {
    fn new(toml: &str) -> Self {
        use std::os::unix::fs::PermissionsExt as _;
        let project = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir(project.root()).unwrap();
        project.write("outrigger.toml", toml);
        project.write("lint.sh", LINT);
        let script = project.root().join("lint.sh");
        std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).unwrap();
        project
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn mark(&self) -> PathBuf {
        self.folder.path().join("mark")
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.root().join(name), text).unwrap();
    }

    fn outrigger(&self, arguments: &[&str]) -> Ended {
        let output = Command::new(env!("CARGO_BIN_EXE_outrigger"))
            .args(arguments)
            .current_dir(self.root())
            .env("OUTRIGGER_CONFIG", "")
            .env("OUTRIGGER_STATE_DIR", self.folder.path().join("state"))
            .env("OUTRIGGER_TEST_MARK", self.mark())
            .env_remove("CLICOLOR_FORCE")
            .output()
            .unwrap();
        Ended {
            code: output.status.code().unwrap(),
            said: String::from_utf8(output.stdout).unwrap(),
            errors: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

#[test]
fn what_a_workspace_declares_runs_when_it_is_trusted_as_it_is() {
    let project = Project::new(DECLARED);
    project.write("é.txt", "good\n\té bad here\n");
    let refused = project.outrigger(&["gates"]);
    assert_eq!(refused.code, 2, "{}{}", refused.said, refused.errors);
    assert!(
        refused.errors.contains("nothing was run") && refused.errors.contains("outrigger trust")
    );
    assert!(!project.mark().exists(), "it did not run");

    assert_eq!(project.outrigger(&["trust"]).code, 0);
    let found = project.outrigger(&["gates"]);
    assert_eq!(found.code, 1, "{}{}", found.said, found.errors);
    let wanted = "error: `bad` is bad\n --> é.txt:2:4\n";
    assert!(
        found.said.contains("`bad` is bad") && found.said.contains("é.txt:2:"),
        "{}",
        found.said
    );
    let caret = found
        .said
        .lines()
        .find(|line| line.trim_end().ends_with("^^^"))
        .unwrap_or_default();
    assert!(!caret.is_empty(), "{wanted}{}", found.said);
    project.write("é.txt", "good\n");
    let clean = project.outrigger(&["gates", "house"]);
    assert_eq!(clean.code, 0, "{}{}", clean.said, clean.errors);

    // Another command in it is another file.
    std::fs::remove_file(project.mark()).unwrap();
    project.write(
        "outrigger.toml",
        &DECLARED.replace("\"./lint.sh\"", "\"./lint.sh\", \"é.txt\""),
    );
    let refused = project.outrigger(&["gates"]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.errors.contains("has changed since"),
        "{}",
        refused.errors
    );
    assert!(!project.mark().exists());
}

#[test]
fn each_form_says_the_same() {
    let project = Project::new(DECLARED);
    project.write("a b.txt", "é bad\n");
    assert_eq!(project.outrigger(&["trust"]).code, 0);
    let sarif = project.outrigger(&["gates", "--format", "sarif"]);
    assert_eq!(sarif.code, 1);
    let sarif: Value = serde_json::from_str(&sarif.said).unwrap();
    let place = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "a%20b.txt");
    assert_eq!(place["region"]["startLine"], 1);
    let github = project.outrigger(&["gates", "--format", "github"]);
    assert!(
        github
            .said
            .starts_with("::error file=a b.txt,line=1,endLine=1,col="),
        "{}",
        github.said
    );
    let json = project.outrigger(&["gates", "--format", "json", "a b.txt"]);
    let json: Value = serde_json::from_str(&json.said).unwrap();
    assert_eq!(json["verdict"], "findings");
    assert_eq!(json["reports"][0]["findings"][0]["message"], "`bad` is bad");
}

#[test]
fn mistakes_and_missing_tools_are_not_clean() {
    let project = Project::new("[gate.x]\ncommand = [\"no-such-tool-here\"]\nformat = \"gnu\"\n");
    assert_eq!(project.outrigger(&["trust"]).code, 0);
    let missing = project.outrigger(&["gates"]);
    assert_eq!(missing.code, 2);
    assert!(
        missing.said.contains("missing") && missing.said.contains("was looked for in"),
        "{}",
        missing.said
    );
    project.write(
        "outrigger.toml",
        "[gate.x]\ncommand = [\"true\"]\nformat = \"sarf\"\n",
    );
    assert_eq!(project.outrigger(&["trust"]).code, 0);
    let wrong = project.outrigger(&["gates"]);
    assert_eq!(wrong.code, 2);
    assert!(
        wrong.errors.contains("outrigger.toml:3: ") && wrong.errors.contains("sarif"),
        "{}",
        wrong.errors
    );
    let unknown = project.outrigger(&["gates", "nope"]);
    assert!(
        unknown.code != 0 && unknown.errors.contains("is no gate and no file"),
        "{}",
        unknown.errors
    );
}

#[test]
fn the_list_says_what_was_found_and_what_was_not() {
    let project = Project::new(DECLARED);
    project.write("ruff.toml", "");
    let listed = project.outrigger(&["gates", "list", "--format", "json"]);
    assert_eq!(listed.code, 0, "{}", listed.errors);
    let listed: Value = serde_json::from_str(&listed.said).unwrap();
    let on = |name: &str| {
        let all = listed["on"].as_array().unwrap();
        all.iter().find(|gate| gate["gate"] == name).cloned()
    };
    assert_eq!(on("ruff").unwrap()["why"], "ruff.toml is there");
    assert!(on("house").is_none(), "it is not trusted yet");
    assert!(
        listed["untrusted"]
            .as_str()
            .unwrap()
            .contains("outrigger trust")
    );
    let off = listed["off"].as_array().unwrap();
    let mypy = off.iter().find(|gate| gate["gate"] == "mypy").unwrap();
    assert!(mypy["why"].as_str().unwrap().contains("mypy.ini"), "{mypy}");
    assert!(!Path::new(&project.mark()).exists());
}
