//! The whole job through the real binary, as editors of different ability see it: a run is started, followed, asked
//! about, answered and cancelled, with the scripted model.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test fails by panicking"
)]

mod support;

#[path = "session/folders.rs"]
mod folders;
#[path = "session/gates.rs"]
mod gates;
#[path = "session/plans.rs"]
mod plans;
#[path = "session/several.rs"]
mod several;
#[path = "session/steering.rs"]
mod steering;
#[path = "session/tasks.rs"]
mod tasks;
#[path = "session/undo.rs"]
mod undo;
#[path = "session/windows.rs"]
mod windows;
#[path = "session/writing.rs"]
mod writing;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::{Editor, Start, position};

/// A client that has everything that LSP has, and knows nothing of us.
fn plain() -> Value {
    json!({
        "clientInfo": {"name": "plain"},
        "capabilities": {
            "general": {"positionEncodings": ["utf-16"]},
            "window": {"workDoneProgress": true},
            "workspace": {"applyEdit": true, "workspaceEdit": {"documentChanges": true}},
            "textDocument": {
                "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix"]}}},
                "publishDiagnostics": {"relatedInformation": true, "dataSupport": true, "codeDescriptionSupport": true},
            },
        },
    })
}

/// A client that takes all of our own protocol as well.
fn knowing() -> Value {
    let mut client = plain();
    client["clientInfo"]["name"] = json!("knowing");
    client["capabilities"]["experimental"] =
        json!({"outrigger": {"version": 1, "events": true, "questions": true, "save": true}});
    client
}

/// A session with a script for the model, and files in its workspace.
struct Job {
    editor: Editor,
    scripts: tempfile::TempDir,
}

impl Job {
    fn new(client: Value, files: &[(&str, &str)]) -> Self {
        let (mut editor, _) = Start::default().ready_as(client);
        for (name, text) in files {
            let path = editor.workspace().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        // Progress and events are looked at where a test is about them.
        editor.answer("window/workDoneProgress/create", |_| Value::Null);
        for method in [
            "$/progress",
            "outrigger/run/event",
            "textDocument/publishDiagnostics",
        ] {
            editor.allow(method);
        }
        let scripts = tempfile::tempdir().unwrap();
        Self { editor, scripts }
    }

    /// The name of a model that says these turns.
    fn model(&self, turns: &[Value]) -> String {
        let mut text = json!({"script": 1, "name": "test", "model": "scripted/test"}).to_string();
        for turn in turns {
            text.push('\n');
            text.push_str(&turn.to_string());
        }
        text.push('\n');
        let path = self.scripts.path().join("test.script.jsonl");
        fs::write(&path, text).unwrap();
        format!("scripted:{}", path.display())
    }

    fn start(&mut self, turns: &[Value]) -> String {
        let params = json!({"prompt": "do it", "model": self.model(turns)});
        let started = self.editor.request("outrigger/run/start", params);
        started["runId"].as_str().unwrap().to_owned()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.editor.workspace().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn uri(&self, name: &str) -> String {
        format!("file://{}", self.path(name).display())
    }

    fn end_of_run(&mut self) -> Value {
        let ended = |params: &Value| params["record"]["event"]["type"] == "ended";
        self.editor.notification("outrigger/run/event", ended)["record"]["event"].take()
    }
}

fn tool(id: &str, name: &str, args: Value) -> Value {
    json!({"emit": [{"tool": name, "id": id, "args": args}]})
}

fn done(text: &str) -> Value {
    json!({"emit": [{"text": text}], "stop": "end"})
}

/// The model must have been shown this last.
fn shown(text: &str, mut turn: Value) -> Value {
    turn["expect"] = json!({"last": {"contains": [text]}});
    turn
}

fn overwrite(then: Value) -> [Value; 2] {
    [
        tool(
            "c1",
            "write",
            json!({"path": "a.txt", "content": "neu é\n"}),
        ),
        then,
    ]
}

#[test]
fn a_client_without_any_support_does_the_whole_job() {
    let mut job = Job::new(json!({"capabilities": {}}), &[("a.txt", "old\n")]);
    let model = job.model(&overwrite(done("Written.")));
    let arguments = json!([{"prompt": "write it", "model": model}]);
    let run = json!({"command": "outrigger.run", "arguments": arguments});
    let started = job.editor.request("workspace/executeCommand", run);
    assert!(started["runId"].is_string(), "{started}");
    let asked = job
        .editor
        .server_request("window/showMessageRequest", |_| true);
    let message = asked["params"]["message"].as_str().unwrap();
    assert!(message.contains("a.txt"), "{message}");
    let uri = job.uri("a.txt");
    let on_file = |params: &Value| params["uri"] == uri.as_str();
    let diagnostics = job
        .editor
        .notification("textDocument/publishDiagnostics", on_file);
    assert_eq!(diagnostics["diagnostics"][0]["severity"], 3);
    assert_eq!(diagnostics["diagnostics"][0]["source"], "outrigger");
    assert_eq!(diagnostics["diagnostics"][0]["code"], "overwrite");
    assert_eq!(job.read("a.txt"), "old\n");
    let first = asked["params"]["actions"][0].clone();
    job.editor.respond(&asked, first);
    let cleared = job
        .editor
        .notification("textDocument/publishDiagnostics", on_file);
    assert_eq!(cleared["diagnostics"], json!([]));
    let end = job.editor.notification("window/showMessage", |_| true);
    assert_eq!(end["message"], "Outrigger: done, 1 file changed. Written.");
    assert_eq!(job.read("a.txt"), "neu é\n");
}

#[test]
fn a_dismissed_message_is_no_answer_and_the_question_stays_open() {
    let mut job = Job::new(plain(), &[("a.txt", "old\n")]);
    job.start(&overwrite(shown("ask first", done("Left alone."))));
    let asked = job
        .editor
        .server_request("window/showMessageRequest", |_| true);
    job.editor.respond(&asked, Value::Null);
    // The question may be answered before our reply to its message has been looked at; the message is then withdrawn.
    job.editor.allow("$/cancelRequest");
    let listed = job.editor.request("outrigger/question/list", json!({}));
    let question = listed["questions"][0]["id"].as_str().unwrap().to_owned();
    let answer = json!({"type": "keepMine", "reason": "ask first"});
    let params = json!({"questionId": question, "answer": answer});
    job.editor.request("outrigger/question/answer", params);
    job.editor.notification("window/showMessage", |params| {
        params["message"] == "Outrigger: done. Left alone."
    });
    assert_eq!(job.read("a.txt"), "old\n");
    let listed = job.editor.request("outrigger/question/list", json!({}));
    assert_eq!(listed["questions"], json!([]));
    let listed = job
        .editor
        .request("outrigger/question/list", json!({"all": true}));
    assert_eq!(listed["questions"][0]["state"]["state"], "answered");
}

#[test]
fn a_client_that_knows_us_is_told_everything_in_order() {
    let mut job = Job::new(knowing(), &[("a.txt", "old\n")]);
    let run = job.start(&overwrite(done("Written.")));
    let opened = job
        .editor
        .notification("outrigger/question/opened", |_| true);
    let question = opened["question"].clone();
    assert_eq!(question["kind"]["kind"], "overwrite");
    for (side, text) in [("base", ""), ("current", "old\n"), ("proposed", "neu é\n")] {
        let uri = format!(
            "outrigger:/question/{}/{side}",
            question["id"].as_str().unwrap()
        );
        let read = job
            .editor
            .request("outrigger/document/read", json!({ "uri": uri }));
        assert_eq!(read, json!({"uri": uri, "text": text}));
    }
    let params = json!({"questionId": question["id"], "answer": {"type": "takeAll"}, "by": "me"});
    let answered = job
        .editor
        .request("outrigger/question/answer", params.clone());
    assert_eq!(answered, json!({"questionId": question["id"]}));
    let again = job
        .editor
        .request_error("outrigger/question/answer", params);
    assert_eq!(again["data"]["kind"], "alreadyAnswered", "{again}");
    let resolved = job
        .editor
        .notification("outrigger/question/resolved", |_| true);
    assert_eq!(resolved["runId"], run.as_str());
    assert_eq!(resolved["state"]["state"], "answered");
    assert_eq!(resolved["state"]["by"], "me");
    let end = job.end_of_run();
    assert_eq!(end["outcome"], "succeeded");
    assert_eq!(job.read("a.txt"), "neu é\n");

    let mut told = vec![end];
    while let Some(at) = first_event(&job.editor) {
        let event = job.editor.notification("outrigger/run/event", |params| {
            params["record"]["seq"] == at
        });
        told.push(event["record"].clone());
    }
    let replay = job
        .editor
        .request("outrigger/run/events", json!({ "runId": run }));
    let records = replay["records"].as_array().unwrap();
    let sequence: Vec<u64> = records
        .iter()
        .map(|record| record["seq"].as_u64().unwrap())
        .collect();
    let gapless: Vec<u64> = (1..=u64::try_from(records.len()).unwrap()).collect();
    assert_eq!(sequence, gapless);
    assert_eq!(told.len(), records.len(), "each record was told once");
    for event in &told[1..] {
        assert!(
            records.contains(event),
            "{event} was told otherwise than it is recorded"
        );
    }
    let rest = job.editor.request(
        "outrigger/run/events",
        json!({"runId": run, "afterSeq": 3, "limit": 2}),
    );
    assert_eq!(
        (&rest["records"][0]["seq"], &rest["more"]),
        (&json!(4), &json!(true))
    );

    let runs = job.editor.request("outrigger/run/list", json!({}));
    assert_eq!(runs["runs"][0]["runId"], run.as_str());
    assert_eq!(runs["runs"][0]["status"], "succeeded");
    assert!(
        fs::metadata(runs["runs"][0]["transcript"].as_str().unwrap())
            .unwrap()
            .is_file()
    );
}

/// The lowest number of an event that is not claimed yet.
fn first_event(editor: &Editor) -> Option<u64> {
    editor
        .waiting("outrigger/run/event")
        .filter_map(|params| params["record"]["seq"].as_u64())
        .min()
}

#[test]
fn progress_begins_reports_and_ends_once() {
    let mut job = Job::new(knowing(), &[]);
    let run = job.start(&[
        tool("c1", "write", json!({"path": "b.txt", "content": "b\n"})),
        done("Written."),
    ]);
    job.end_of_run();
    let token = format!("outrigger/run/{run}");
    let ended = |params: &Value| params["value"]["kind"] == "end";
    let end = job.editor.notification("$/progress", ended);
    assert_eq!(end["token"], token.as_str());
    let begin = job
        .editor
        .notification("$/progress", |params| params["value"]["kind"] == "begin");
    assert_eq!(begin["token"], token.as_str());
    assert_eq!(begin["value"]["cancellable"], true);
    assert!(!begin["value"]["title"].as_str().unwrap().is_empty());
    job.editor.request("outrigger/run/list", json!({}));
    let others = job.editor.waiting("$/progress");
    let kinds: Vec<&Value> = others.map(|params| &params["value"]["kind"]).collect();
    assert!(kinds.iter().all(|kind| **kind == "report"), "{kinds:?}");
}

#[test]
fn an_open_document_is_edited_in_the_editor_and_saved_there() {
    let text = "eins\r\nzwei é😀 drei\r\nvier\r\n";
    for encoding in ["utf-8", "utf-16", "utf-32"] {
        let mut client = knowing();
        client["capabilities"]["general"]["positionEncodings"] = json!([encoding]);
        let mut job = Job::new(client, &[("é.txt", text)]);
        let path = job.path("é.txt");
        let uri = job.uri("%C3%A9.txt");
        job.editor.open_as(&uri, &path, text);
        job.editor.type_over(&uri, "vier", "vier, not saved");
        job.start(&[
            tool("c1", "read", json!({"path": "é.txt"})),
            shown(
                "not saved",
                tool(
                    "c2",
                    "edit",
                    json!({"path": "é.txt", "edits": [{"old": "drei", "new": "漢字"}]}),
                ),
            ),
            done("Edited."),
        ]);
        let edit = job.editor.server_request("workspace/applyEdit", |_| true);
        let change = &edit["params"]["edit"]["documentChanges"][0];
        let at = text.find("drei").unwrap();
        assert_eq!(
            change["textDocument"],
            json!({"uri": uri, "version": 2}),
            "{encoding}"
        );
        assert_eq!(
            change["edits"],
            json!([{
                "range": {
                    "start": position(text, at, encoding),
                    "end": position(text, at + 4, encoding),
                },
                "newText": "漢字",
            }]),
            "{encoding}"
        );
        job.editor.apply_edit(&edit);
        let save = job
            .editor
            .server_request("outrigger/document/save", |_| true);
        assert_eq!(save["params"], json!({ "uri": uri }));
        job.editor.save(&save);
        assert_eq!(job.end_of_run()["outcome"], "succeeded");
        let want = "eins\r\nzwei é😀 漢字\r\nvier, not saved\r\n";
        assert_eq!(job.editor.document(&uri).text, want);
        assert_eq!(job.read("é.txt"), want);
    }
}

#[test]
fn a_document_in_an_editor_that_cannot_save_is_edited_there_and_written_on_disk() {
    let mut job = Job::new(plain(), &[("a.txt", "one\ntwo\n")]);
    let path = job.path("a.txt");
    let uri = job.editor.open(&path, "one\ntwo\n");
    job.start(&[
        tool("c1", "read", json!({"path": "a.txt"})),
        tool(
            "c2",
            "edit",
            json!({"path": "a.txt", "edits": [{"old": "two", "new": "2"}]}),
        ),
        done("Edited."),
    ]);
    let edit = job.editor.server_request("workspace/applyEdit", |_| true);
    job.editor.apply_edit(&edit);
    job.editor.notification("window/showMessage", |_| true);
    assert_eq!(job.editor.document(&uri).text, "one\n2\n");
    assert_eq!(job.read("a.txt"), "one\n2\n");
}

#[test]
fn a_blocker_is_a_diagnostic_and_is_answered_by_its_code_action() {
    let mut job = Job::new(plain(), &[("port.txt", "first\nport = ?\n")]);
    let ask = json!({"question": "Which port?", "choices": ["80", "8080"], "path": "port.txt", "line": 2});
    job.start(&[
        tool("c1", "ask", ask),
        shown("8080", done("The port is known now.")),
    ]);
    let asked = job
        .editor
        .server_request("window/showMessageRequest", |_| true);
    let uri = job.uri("port.txt");
    let published = job
        .editor
        .notification("textDocument/publishDiagnostics", |params| {
            params["uri"] == uri.as_str()
        });
    let diagnostic = published["diagnostics"][0].clone();
    assert_eq!(diagnostic["range"]["start"]["line"], 1);
    assert_eq!(diagnostic["severity"], 3);
    assert_eq!(diagnostic["code"], "blocker");
    let context = json!({"diagnostics": [diagnostic]});
    let params =
        json!({"textDocument": {"uri": uri}, "range": diagnostic["range"], "context": context});
    let actions = job.editor.request("textDocument/codeAction", params);
    let action = actions
        .as_array()
        .unwrap()
        .iter()
        .find(|action| action["title"].as_str().unwrap().ends_with(": 8080"))
        .unwrap()
        .clone();
    assert_eq!(action["diagnostics"], json!([diagnostic]));
    let command = json!({
        "command": action["command"]["command"],
        "arguments": action["command"]["arguments"],
    });
    job.editor.request("workspace/executeCommand", command);
    let id = asked["id"].clone();
    job.editor
        .notification("$/cancelRequest", |params| params["id"] == id);
    job.editor.respond_error(&asked, -32800, "cancelled");
    job.editor.notification("window/showMessage", |params| {
        params["message"] == "Outrigger: done. The port is known now."
    });
    let actions = job.editor.request(
        "textDocument/codeAction",
        json!({"textDocument": {"uri": uri}, "range": diagnostic["range"], "context": {"diagnostics": []}}),
    );
    assert_eq!(actions, json!([]));
}

#[test]
fn cancelling_the_progress_cancels_the_run_and_withdraws_its_question() {
    let mut job = Job::new(plain(), &[("a.txt", "old\n")]);
    let run = job.start(&overwrite(done("never said")));
    let asked = job
        .editor
        .server_request("window/showMessageRequest", |_| true);
    let token = format!("outrigger/run/{run}");
    job.editor
        .notify("window/workDoneProgress/cancel", json!({ "token": token }));
    let id = asked["id"].clone();
    job.editor
        .notification("$/cancelRequest", |params| params["id"] == id);
    job.editor.respond_error(&asked, -32800, "cancelled");
    let ended =
        |params: &Value| params["token"] == token.as_str() && params["value"]["kind"] == "end";
    job.editor.notification("$/progress", ended);
    let end = job.editor.notification("window/showMessage", |_| true);
    assert!(
        end["message"]
            .as_str()
            .unwrap()
            .starts_with("Outrigger: cancelled"),
        "{end}"
    );
    assert_eq!(job.read("a.txt"), "old\n");
    let again = job
        .editor
        .request("outrigger/run/cancel", json!({ "runId": run }));
    assert_eq!(again, json!({"runId": run, "outcome": "cancelled"}));
}

#[test]
fn squiggles_cover_the_right_characters_in_every_encoding_and_go_when_fixed() {
    for encoding in ["utf-8", "utf-16", "utf-32"] {
        let mut client = knowing();
        client["capabilities"]["general"]["positionEncodings"] = json!([encoding]);
        let manifest =
            "[package]\nname = \"probe\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
        let mut job = Job::new(
            client,
            &[("Cargo.toml", manifest), ("src/lib.rs", "pub fn a() {}\n")],
        );
        let bad = "pub fn a() { /* é漢😀 */ let _é: u8 = \"x\"; }\n";
        let uri = job.uri("src/lib.rs");
        let edit = |old: &str, new: &str| json!({"path": "src/lib.rs", "edits": [{"old": old, "new": new}]});
        job.start(&[
            tool("c1", "read", json!({"path": "src/lib.rs"})),
            tool("c2", "edit", edit("pub fn a() {}", bad.trim_end())),
            shown("E0308", tool("c3", "edit", edit("\"x\"", "1"))),
            done("Fixed."),
        ]);
        let broken =
            |params: &Value| params["uri"] == uri.as_str() && params["diagnostics"] != json!([]);
        let published = job
            .editor
            .notification("textDocument/publishDiagnostics", broken);
        let diagnostic = &published["diagnostics"][0];
        let at = bad.find("\"x\"").unwrap();
        let range = json!({
            "start": position(bad, at, encoding),
            "end": position(bad, at + 3, encoding),
        });
        assert_eq!(diagnostic["range"], range, "{encoding}");
        assert_eq!(diagnostic["severity"], 1);
        assert_eq!(diagnostic["code"], "E0308");
        assert_eq!(diagnostic["source"], "cargo");
        assert!(
            diagnostic["codeDescription"]["href"].is_string(),
            "{diagnostic}"
        );
        assert!(
            diagnostic["relatedInformation"][0]["location"]["uri"] == uri.as_str(),
            "{diagnostic}"
        );
        let fixed =
            |params: &Value| params["uri"] == uri.as_str() && params["diagnostics"] == json!([]);
        job.editor
            .notification("textDocument/publishDiagnostics", fixed);
        assert_eq!(job.end_of_run()["outcome"], "succeeded");
    }
}

#[test]
fn bad_input_gets_an_error_that_says_what_to_do() {
    let mut job = Job::new(knowing(), &[]);
    let answer = json!({"type": "takeAll"});
    let rows = [
        ("outrigger/run/start", json!({}), "invalidParams", "prompt"),
        (
            "outrigger/run/start",
            json!({"prompt": " ", "model": "scripted:x"}),
            "invalidParams",
            "prompt",
        ),
        (
            "outrigger/run/start",
            json!({"prompt": "x", "engine": "magic"}),
            "invalidParams",
            "magic",
        ),
        (
            "outrigger/run/cancel",
            json!({"runId": "nope"}),
            "unknownRun",
            "nope",
        ),
        (
            "outrigger/run/events",
            json!({"runId": "nope"}),
            "unknownRun",
            "nope",
        ),
        (
            "outrigger/run/events",
            json!({"runId": "../../etc/passwd"}),
            "unknownRun",
            "passwd",
        ),
        (
            "outrigger/question/answer",
            json!({"questionId": "nope", "answer": answer}),
            "unknownQuestion",
            "nope",
        ),
        (
            "outrigger/question/answer",
            json!({"questionId": "nope", "answer": {"type": "what"}}),
            "invalidParams",
            "what",
        ),
        (
            "outrigger/document/read",
            json!({"uri": "outrigger:/question/nope/base"}),
            "unknownQuestion",
            "nope",
        ),
        (
            "outrigger/document/read",
            json!({"uri": "file:///etc/passwd"}),
            "unknownDocument",
            "proposed",
        ),
        (
            "workspace/executeCommand",
            json!({"command": "outrigger.fly"}),
            "invalidParams",
            "outrigger.run",
        ),
        (
            "workspace/executeCommand",
            json!({"command": "outrigger.cancel"}),
            "unknownRun",
            "no such run",
        ),
    ];
    for (method, params, kind, words) in rows {
        let error = job.editor.request_error(method, params.clone());
        assert_eq!(error["data"]["kind"], kind, "{method} {params}: {error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(words), "{method} {params}: {message}");
    }
}

#[test]
fn documents_outside_the_workspace_and_unknown_schemes_do_no_harm() {
    let mut job = Job::new(plain(), &[]);
    for uri in [
        "untitled:Untitled-1",
        "file:///etc/hosts",
        "git:/x?y#z",
        "file://host/share",
    ] {
        let document = json!({"uri": uri, "languageId": "x", "version": 1, "text": "x"});
        job.editor
            .notify("textDocument/didOpen", json!({ "textDocument": document }));
        let id = json!({"uri": uri, "version": 2});
        let change = json!([{"text": "y"}]);
        job.editor.notify(
            "textDocument/didChange",
            json!({"textDocument": id, "contentChanges": change}),
        );
        job.editor.notify(
            "textDocument/didSave",
            json!({"textDocument": {"uri": uri}}),
        );
        let zero = json!({"line": 0, "character": 0});
        let context = json!({"diagnostics": []});
        let params = json!({"textDocument": {"uri": uri}, "range": {"start": zero, "end": zero}, "context": context});
        assert_eq!(
            job.editor.request("textDocument/codeAction", params),
            Value::Null
        );
        job.editor.notify(
            "textDocument/didClose",
            json!({"textDocument": {"uri": uri}}),
        );
    }
}

#[test]
fn a_uri_that_the_client_did_not_encode_finds_its_file() {
    let mut job = Job::new(plain(), &[("a b/é[1].txt", "on disk\n")]);
    let path = job.path("a b/é[1].txt");
    job.editor.open(&path, "unsaved text\n");
    job.start(&[
        tool("c1", "read", json!({"path": "a b/é[1].txt"})),
        shown("unsaved text", done("Seen.")),
    ]);
    job.editor.notification("window/showMessage", |params| {
        params["message"] == "Outrigger: done. Seen."
    });
}

/// A workspace and a state folder that outlive a server.
struct Lasting {
    workspace: tempfile::TempDir,
    state: tempfile::TempDir,
}

impl Lasting {
    fn new() -> Self {
        Self {
            workspace: tempfile::tempdir().unwrap(),
            state: tempfile::tempdir().unwrap(),
        }
    }

    fn editor(&self) -> Editor {
        self.editor_as(plain())
    }

    fn editor_as(&self, client: Value) -> Editor {
        let start = Start::default()
            .folder(self.workspace.path())
            .state(self.state.path());
        let (mut editor, _) = start.ready_as(client);
        editor.answer("window/workDoneProgress/create", |_| Value::Null);
        // When the server is killed it may have asked, and be owed nothing.
        editor.allow("window/workDoneProgress/create");
        editor.allow("$/progress");
        editor.allow("textDocument/publishDiagnostics");
        editor
    }

    fn path(&self, name: &str) -> PathBuf {
        self.workspace.path().join(name)
    }

    /// A script in the workspace that says these turns; gives the model's name.
    fn script(&self, turns: &[Value]) -> String {
        let header = json!({"script": 1, "name": "test", "model": "scripted/test"});
        let lines = [&[header], turns].concat();
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        fs::write(self.path("t.script.jsonl"), lines.join("\n")).unwrap();
        "scripted:t.script.jsonl".to_owned()
    }
}

#[test]
fn a_question_that_was_open_when_the_editor_ended_is_asked_again_by_the_next_server() {
    let lasting = Lasting::new();
    fs::write(lasting.path("a.txt"), "old\n").unwrap();
    let model = lasting.script(&overwrite(done("Written.")));
    let mut first = lasting.editor();
    first.request(
        "outrigger/run/start",
        json!({"prompt": "x", "model": model}),
    );
    let asked = first.server_request("window/showMessageRequest", |_| true);
    first.close_input();
    assert_eq!(first.exit_code().0, 1);

    // The script of an earlier process is at its beginning again.
    lasting.script(&[done("Written.")]);
    let mut second = lasting.editor();
    let again = second.server_request("window/showMessageRequest", |_| true);
    assert_eq!(again["params"], asked["params"]);
    second.respond(&again, asked["params"]["actions"][0].clone());
    second.notification("window/showMessage", |params| {
        params["message"] == "Outrigger: done, 1 file changed. Written."
    });
    assert_eq!(
        fs::read_to_string(lasting.path("a.txt")).unwrap(),
        "neu é\n"
    );
}

#[test]
fn a_run_that_was_interrupted_is_offered_for_resuming() {
    for by_button in [true, false] {
        let lasting = Lasting::new();
        let mut slow = done("never said");
        slow["pace"] = json!({"ttft_ms": 600_000});
        let model = lasting.script(&[slow]);
        let mut first = lasting.editor();
        let params = json!({"prompt": "do é\nand more", "model": model});
        let started = first.request("outrigger/run/start", params);
        let run = started["runId"].as_str().unwrap().to_owned();
        let deadline = Instant::now() + support::DEADLINE;
        loop {
            let listed = first.request("outrigger/run/list", json!({}));
            if listed["runs"][0]["waiting"]["for"] == "model" {
                break;
            }
            assert!(Instant::now() < deadline, "{listed}");
        }
        first.kill();
        drop(first);

        lasting.script(&[done("Now done.")]);
        let mut second = lasting.editor();
        let offered = second.server_request("window/showMessageRequest", |_| true);
        let message = offered["params"]["message"].as_str().unwrap();
        assert!(
            message.contains("do é\n") && message.contains(&run),
            "{message}"
        );
        if by_button {
            second.respond(&offered, json!({"title": "Resume"}));
        } else {
            second.respond(&offered, Value::Null);
            let resume = json!({"command": "outrigger.resume"});
            let resumed = second.request("workspace/executeCommand", resume);
            assert_eq!(resumed, json!({ "runId": run }));
        }
        second.notification("window/showMessage", |params| {
            params["message"] == "Outrigger: done. Now done."
        });
    }
}

#[cfg(unix)]
#[test]
fn a_sidecar_that_is_killed_takes_its_commands_with_it() {
    let mut job = Job::new(knowing(), &[]);
    let (_, group) = run_with_hanging_command(&mut job);
    assert!(is_running(group));
    job.editor.kill();
    let deadline = Instant::now() + support::DEADLINE;
    while is_running(group) {
        assert!(Instant::now() < deadline, "the command lives on");
    }
}

/// Starts a run whose command writes its process group to a file and hangs; gives the run and the group.
fn run_with_hanging_command(job: &mut Job) -> (String, i32) {
    let command = "echo $$ > started.tmp && mv started.tmp started && sleep 600 & wait";
    let turns = [
        tool("c1", "command", json!({ "command": command })),
        done("never said"),
    ];
    let model = job.model(&turns);
    let params = json!({"prompt": "x", "model": model, "policy": {"commands": "allow"}});
    let started = job.editor.request("outrigger/run/start", params);
    let run = started["runId"].as_str().unwrap().to_owned();
    let path = job.path("started");
    let deadline = Instant::now() + support::DEADLINE;
    while !path.exists() {
        assert!(Instant::now() < deadline, "the command does not start");
        // The file is the fact that is waited for; a request keeps the pace.
        job.editor.request("outrigger/run/list", json!({}));
    }
    (run, job.read("started").trim().parse().unwrap())
}

/// Whether a process of the command's group is alive. Corpses that their new parent has not collected yet are not.
fn is_running(group: i32) -> bool {
    let listed = Command::new("ps")
        .args(["-A", "-o", "pgid=,stat="])
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    listed.lines().any(|line| {
        let mut fields = line.split_whitespace();
        let of_group = fields.next() == Some(group.to_string().as_str());
        of_group && fields.next().is_some_and(|state| !state.starts_with('Z'))
    })
}

#[cfg(unix)]
#[test]
fn cancel_is_acknowledged_when_the_commands_processes_are_gone() {
    let mut job = Job::new(knowing(), &[]);
    let (run, group) = run_with_hanging_command(&mut job);
    assert!(is_running(group));
    let start = Instant::now();
    let cancelled = job
        .editor
        .request("outrigger/run/cancel", json!({ "runId": run }));
    assert!(!is_running(group), "the command outlives the cancel");
    assert_eq!(cancelled, json!({"runId": run, "outcome": "cancelled"}));
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(job.end_of_run()["outcome"], "cancelled");
}

#[cfg(unix)]
#[test]
fn the_end_of_the_editor_leaves_no_process_behind() {
    type End = fn(&mut Editor);
    let ends: [(&str, i32, End); 3] = [
        ("input closed", 1, Editor::close_input),
        ("shutdown and exit", 0, |editor| {
            editor.request("shutdown", Value::Null);
            editor.notify("exit", Value::Null);
        }),
        ("garbage", 2, |editor| {
            editor.raw(b"garbage\r\n");
            editor.response(Value::Null).unwrap_err();
        }),
    ];
    for (name, code, end) in ends {
        let mut job = Job::new(knowing(), &[]);
        let (_, group) = run_with_hanging_command(&mut job);
        end(&mut job.editor);
        assert_eq!(job.editor.exit_code().0, code, "{name}");
        // Killed is killed, but the system may need a moment to do it.
        let deadline = Instant::now() + Duration::from_secs(5);
        while is_running(group) {
            assert!(
                Instant::now() < deadline,
                "{name}: the command outlives the server"
            );
        }
    }
}

#[test]
fn what_is_typed_while_an_edit_is_on_its_way_is_kept() {
    let mut job = Job::new(knowing(), &[("a.txt", "one\ntwo\nthree\n")]);
    let path = job.path("a.txt");
    let uri = job.editor.open(&path, "one\ntwo\nthree\n");
    let edit = json!({"path": "a.txt", "edits": [{"old": "two", "new": "2"}]});
    job.start(&[
        tool("c1", "read", json!({"path": "a.txt"})),
        tool("c2", "edit", edit),
        done("Edited."),
    ]);
    let first = job.editor.server_request("workspace/applyEdit", |_| true);
    job.editor.type_over(&uri, "three", "three, typed");
    // The edit is of the version before: the editor refuses it.
    job.editor.apply_edit(&first);
    let second = job.editor.server_request("workspace/applyEdit", |_| true);
    let change = &second["params"]["edit"]["documentChanges"][0];
    assert_eq!(change["textDocument"]["version"], 2);
    job.editor.apply_edit(&second);
    let save = job
        .editor
        .server_request("outrigger/document/save", |_| true);
    job.editor.save(&save);
    assert_eq!(job.end_of_run()["outcome"], "succeeded");
    assert_eq!(job.read("a.txt"), "one\n2\nthree, typed\n");
    assert_eq!(job.editor.document(&uri).text, "one\n2\nthree, typed\n");
}

#[test]
fn an_editor_that_says_applied_and_did_not_is_not_believed() {
    let mut job = Job::new(knowing(), &[("a.txt", "one\ntwo\n")]);
    let path = job.path("a.txt");
    let uri = job.editor.open(&path, "one\ntwo\n");
    let edit = json!({"path": "a.txt", "edits": [{"old": "two", "new": "2"}]});
    job.start(&[
        tool("c1", "read", json!({"path": "a.txt"})),
        tool("c2", "edit", edit),
        done("Edited."),
    ]);
    let first = job.editor.server_request("workspace/applyEdit", |_| true);
    job.editor.respond(&first, json!({"applied": true}));
    let second = job.editor.server_request("workspace/applyEdit", |_| true);
    assert_eq!(job.read("a.txt"), "one\ntwo\n");
    job.editor.apply_edit(&second);
    let save = job
        .editor
        .server_request("outrigger/document/save", |_| true);
    job.editor.save(&save);
    assert_eq!(job.end_of_run()["outcome"], "succeeded");
    assert_eq!(job.editor.document(&uri).text, "one\n2\n");
}

#[test]
fn the_unsaved_text_that_overlaps_a_change_is_asked_about_and_kept_when_the_user_says_so() {
    let mut job = Job::new(knowing(), &[("a.txt", "one\ntwo\n")]);
    let path = job.path("a.txt");
    job.start(&[
        tool("c1", "read", json!({"path": "a.txt"})),
        tool(
            "c2",
            "ask",
            json!({"question": "Ready?", "choices": ["yes"]}),
        ),
        tool(
            "c3",
            "edit",
            json!({"path": "a.txt", "edits": [{"old": "two", "new": "2"}]}),
        ),
        shown("mine is better", done("Left it.")),
    ]);
    let asked = job
        .editor
        .notification("outrigger/question/opened", |_| true);
    let uri = job.editor.open(&path, "one\ntwo\n");
    job.editor.type_over(&uri, "two", "TWO two");
    let yes =
        json!({"questionId": asked["question"]["id"], "answer": {"type": "choice", "choice": "1"}});
    job.editor.request("outrigger/question/answer", yes);
    let is_overwrite = |params: &Value| params["question"]["kind"]["kind"] == "overwrite";
    let opened = job
        .editor
        .notification("outrigger/question/opened", is_overwrite);
    let question = &opened["question"];
    assert_eq!(question["kind"]["unsaved"], true, "{question}");
    let keep = json!({"type": "keepMine", "reason": "mine is better"});
    let keep = json!({"questionId": question["id"], "answer": keep});
    job.editor.request("outrigger/question/answer", keep);
    assert_eq!(job.end_of_run()["outcome"], "succeeded");
    assert_eq!(job.editor.document(&uri).text, "one\nTWO two\n");
    assert_eq!(job.read("a.txt"), "one\ntwo\n");
    for _ in 0..2 {
        job.editor
            .notification("outrigger/question/resolved", |_| true);
    }
}

#[test]
fn an_answer_can_be_typed_as_a_command() {
    for (words, told) in [("8080", "8080"), ("use port 90", "use port 90")] {
        let mut job = Job::new(plain(), &[]);
        let ask = json!({"question": "Which port?", "choices": ["80", "8080"]});
        job.start(&[
            tool("c1", "ask", ask),
            shown(told, done("The port is known now.")),
        ]);
        let asked = job
            .editor
            .server_request("window/showMessageRequest", |_| true);
        let listed = job.editor.request("outrigger/question/list", json!({}));
        let id = listed["questions"][0]["id"].clone();
        let answer = json!({"command": "outrigger.answer", "arguments": [id, words]});
        job.editor.request("workspace/executeCommand", answer);
        let withdrawn = asked["id"].clone();
        job.editor
            .notification("$/cancelRequest", |params| params["id"] == withdrawn);
        job.editor.notification("window/showMessage", |params| {
            params["message"] == "Outrigger: done. The port is known now."
        });
    }
}
