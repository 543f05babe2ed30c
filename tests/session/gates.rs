//! Findings outside of runs: checked on save, fixed from the editor, and nothing run where nobody trusts the folder.
#![cfg(unix)]

use super::*;

/// A gate of its own that finds `bad` and knows how to mend it, in SARIF's words for all of it.
const GATE: &str = r#"
[gates]
onSave = "always"
[gate.house]
command = ["sh", "-c", '''
echo ran >> ran.log
if grep -q bad b.md; then
  printf 'a.txt:1:1: error: bad word [house/word]\n'; exit 1
fi
''']
format = "gnu"
triggers = ["*.txt"]
"#;

fn job(trusted: Option<bool>) -> Job {
    let mut client = plain();
    if let Some(trusted) = trusted {
        client["initializationOptions"] = json!({"trusted": trusted});
    }
    Job::new(
        client,
        &[
            ("outrigger.toml", GATE),
            ("a.txt", "bad word\n"),
            ("b.md", "bad\n"),
        ],
    )
}

fn saved(job: &mut Job, uri: &str) {
    let params = json!({"textDocument": {"uri": uri}});
    job.editor.notify("textDocument/didSave", params);
}

fn published(job: &mut Job, count: usize) -> Value {
    job.editor
        .notification("textDocument/publishDiagnostics", |message| {
            message["diagnostics"]
                .as_array()
                .is_some_and(|all| all.len() == count)
        })
}

#[test]
fn a_saved_file_is_checked_and_its_findings_go_when_it_is_mended() {
    let mut job = job(Some(true));
    let path = job.path("a.txt");
    let uri = job.editor.open(&path, "bad word\n");
    saved(&mut job, &uri);
    let sent = published(&mut job, 1);
    let message = sent["diagnostics"][0]["message"].as_str().unwrap();
    assert!(message.starts_with("bad word"), "{sent}");
    // Not by typing over it, which hides it by itself.
    fs::write(job.path("b.md"), "good\n").unwrap();
    saved(&mut job, &uri);
    published(&mut job, 0);
}

#[test]
fn nothing_runs_where_the_editor_does_not_trust_the_folder() {
    let mut client = knowing();
    client["initializationOptions"] = json!({"trusted": false});
    let mut job = Job::new(
        client,
        &[
            ("outrigger.toml", GATE),
            ("a.txt", "bad word\n"),
            ("b.md", "bad\n"),
        ],
    );
    job.editor.allow("window/showMessage");
    job.editor.allow("outrigger/question/opened");
    let turns = [
        tool("c1", "write", json!({"path": "c.txt", "content": "new\n"})),
        tool("c2", "command", json!({"command": "echo ran >> ran.log"})),
        shown("no command is run here", done("Nothing more to do.")),
    ];
    let params =
        json!({"prompt": "do it", "model": job.model(&turns), "policy": {"commands": "allow"}});
    job.editor.request("outrigger/run/start", params);
    job.end_of_run();
    assert!(!job.path("ran.log").exists());
    // The same folder, trusted.
    job.editor
        .notify("outrigger/trust", json!({"trusted": true}));
    let path = job.path("a.txt");
    let uri = job.editor.open(&path, "bad word\n");
    saved(&mut job, &uri);
    published(&mut job, 1);
    assert!(job.path("ran.log").exists());
}
