//! Words of the user in clients that know nothing of us: written into a document, sent when it is saved.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Job, done, plain, shown, tool};

fn showing() -> Value {
    let mut client = plain();
    client["capabilities"]["window"]["showDocument"] = json!({"support": true});
    client
}

/// The editor opens the document that it is asked to; gives its file.
fn opened(job: &mut Job) -> PathBuf {
    let asked = job.editor.server_request("window/showDocument", |_| true);
    assert_eq!(asked["params"]["takeFocus"], true);
    job.editor.respond(&asked, json!({"success": true}));
    let uri = asked["params"]["uri"].as_str().unwrap();
    PathBuf::from(uri.strip_prefix("file://").unwrap())
}

/// Writes above the text that is there, and saves.
fn write_above(file: &PathBuf, words: &str) {
    let text = fs::read_to_string(file).unwrap();
    fs::write(file, format!("{words}\n{text}")).unwrap();
}

fn ask(place: Value) -> Value {
    let mut args = json!({"question": "Which port?", "choices": ["80", "8080"]});
    if let (Some(args), Some(place)) = (args.as_object_mut(), place.as_object()) {
        args.extend(place.clone());
    }
    tool("c1", "ask", args)
}

fn message(job: &mut Job, text: &str) {
    job.editor
        .notification("window/showMessage", |params| params["message"] == text);
}

/// The message by which the question was asked closes.
fn withdrawn(job: &mut Job, asked: &Value) {
    let id = asked["id"].clone();
    job.editor
        .notification("$/cancelRequest", |params| params["id"] == id);
    job.editor.respond_error(asked, -32800, "cancelled");
}

#[test]
fn a_code_action_opens_a_document_that_answers_when_it_is_saved() {
    let mut job = Job::new(showing(), &[("port.txt", "first\nport = ?\n")]);
    let place = json!({"path": "port.txt", "line": 2});
    job.start(&[
        ask(place),
        shown("take é\n90", done("The port is known now.")),
    ]);
    let asked = job
        .editor
        .server_request("window/showMessageRequest", |_| true);
    let at = json!({"line": 1, "character": 0});
    let params = json!({
        "textDocument": {"uri": job.uri("port.txt")},
        "range": {"start": at, "end": at},
        "context": {"diagnostics": []},
    });
    let actions = job.editor.request("textDocument/codeAction", params);
    let in_words = |action: &&Value| {
        let title = action["title"].as_str().unwrap();
        title == "Which port?: answer in your own words…"
    };
    let action = actions.as_array().unwrap().iter().find(in_words);
    let command = &action.unwrap()["command"];
    let command = json!({"command": command["command"], "arguments": command["arguments"]});
    let result = job.editor.request("workspace/executeCommand", command);
    let file = opened(&mut job);
    assert_eq!(result["path"], file.to_str().unwrap());
    assert!(!file.starts_with(job.editor.workspace()));
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("Which port?") && text.contains("- 8080"),
        "{text}"
    );
    // Saved without a word of one's own: no answer.
    fs::write(&file, format!("\n \n{text}")).unwrap();
    write_above(&file, "take é\n90");
    withdrawn(&mut job, &asked);
    message(&mut job, "Outrigger: answered: Which port?");
    message(&mut job, "Outrigger: done. The port is known now.");
}

#[test]
fn a_button_opens_the_document_and_a_choice_may_be_written() {
    let mut job = Job::new(showing(), &[]);
    job.start(&[
        ask(json!({})),
        shown("8080", done("The port is known now.")),
    ]);
    let asked = job
        .editor
        .server_request("window/showMessageRequest", |_| true);
    let last = asked["params"]["actions"].as_array().unwrap().last();
    let button = last.unwrap().clone();
    assert_eq!(button["title"], "Write an answer…");
    job.editor.respond(&asked, button);
    let file = opened(&mut job);
    write_above(&file, "8080");
    message(&mut job, "Outrigger: answered: Which port?");
    message(&mut job, "Outrigger: done. The port is known now.");
    let listed = json!({"all": true});
    let listed = job.editor.request("outrigger/question/list", listed);
    let answer = &listed["questions"][0]["state"]["answer"];
    assert_eq!(*answer, json!({"type": "choice", "choice": "2"}));
}

#[test]
fn where_no_document_can_be_shown_the_message_names_a_file() {
    let mut job = Job::new(plain(), &[]);
    job.start(&[
        ask(json!({})),
        shown("neunzig é", done("The port is known now.")),
    ]);
    let asked = job
        .editor
        .server_request("window/showMessageRequest", |_| true);
    let said = asked["params"]["message"].as_str().unwrap().to_owned();
    let (_, rest) = said.split_once("write it into ").unwrap();
    let (file, _) = rest.split_once(" and save").unwrap();
    // Whoever is quicker than the sidecar makes the file.
    fs::create_dir_all(PathBuf::from(file).parent().unwrap()).unwrap();
    fs::write(file, "neunzig é").unwrap();
    withdrawn(&mut job, &asked);
    message(&mut job, "Outrigger: answered: Which port?");
    message(&mut job, "Outrigger: done. The port is known now.");
}

#[test]
fn a_document_that_the_editor_does_not_open_is_named() {
    let mut job = Job::new(showing(), &[]);
    let prompt = json!({"command": "outrigger.writePrompt"});
    let result = job.editor.request("workspace/executeCommand", prompt);
    let asked = job.editor.server_request("window/showDocument", |_| true);
    job.editor.respond(&asked, json!({"success": false}));
    let path = result["path"].as_str().unwrap().to_owned();
    job.editor.notification("window/showMessage", |params| {
        params["message"].as_str().unwrap().contains(&path)
    });
    // A run that cannot start says so, and the document may be saved again.
    fs::write(&path, "do it").unwrap();
    job.editor
        .notification("window/showMessage", |params| params["type"] == 2);
    fs::write(&path, "do it, please").unwrap();
    job.editor
        .notification("window/showMessage", |params| params["type"] == 2);
}

#[test]
fn a_selection_is_changed_by_a_run_whose_prompt_is_written_in_a_document() {
    let mut client = showing();
    // In the workspace, so that the model can be named before there is a job.
    client["initializationOptions"] = json!({"model": "scripted:t.script.jsonl"});
    let header = json!({"script": 1, "name": "test", "model": "scripted/test"});
    let script = format!("{header}\n{}\n", shown("lines 2 to 3", done("Seen.")));
    let text = "one\nzwei é\ndrei\nfour\n";
    let mut job = Job::new(client, &[("t.script.jsonl", &script), ("a.txt", text)]);
    let path = job.path("a.txt");
    let uri = job.editor.open(&path, text);
    job.editor.type_over(&uri, "drei", "unsaved");
    let params = json!({
        "textDocument": {"uri": uri},
        "range": {"start": {"line": 1, "character": 0}, "end": {"line": 3, "character": 0}},
        "context": {"diagnostics": [], "only": ["refactor"]},
    });
    let actions = job.editor.request("textDocument/codeAction", params);
    assert_eq!(actions.as_array().unwrap().len(), 1, "{actions}");
    assert_eq!(actions[0]["title"], "Outrigger: change this…");
    assert_eq!(actions[0]["kind"], "refactor.rewrite");
    let command = &actions[0]["command"];
    let command = json!({"command": command["command"], "arguments": command["arguments"]});
    job.editor.request("workspace/executeCommand", command);
    let file = opened(&mut job);
    write_above(&file, "Say it in English.");
    message(&mut job, "Outrigger: the run has started");
    message(&mut job, "Outrigger: done. Seen.");
    let listed = job.editor.request("outrigger/run/list", json!({}));
    assert_eq!(
        listed["runs"][0]["prompt"],
        "Say it in English.\n\nThis is about a.txt, lines 2 to 3:\n    zwei é\n    unsaved"
    );
}

#[test]
fn settings_come_from_files_and_the_editor_and_hold_from_the_next_run_on() {
    let mut client = showing();
    client["initializationOptions"] =
        json!({"model": "scripted:t.script.jsonl", "budget": {"iterations": 7}});
    let header = json!({"script": 1, "name": "test", "model": "scripted/test"});
    let script = format!("{header}\n{}\n", shown("", done("Seen.")));
    let file = "[budget]\ntokens = 70\niterations = 1\n[polcy]\n";
    let files = [
        ("t.script.jsonl", script.as_str()),
        ("outrigger.toml", file),
    ];
    let mistake = |job: &mut Job| {
        job.editor.notification("window/showMessage", |params| {
            let message = params["message"].as_str().unwrap_or_default();
            message.contains("outrigger.toml:4: ") && message.contains("did you mean `policy`?")
        });
    };
    let mut job = Job::new(client, &files);
    mistake(&mut job);
    let settings = json!({"settings": {"outrigger": {"budget": {"activeS": 99}}}});
    job.editor
        .notify("workspace/didChangeConfiguration", settings);
    mistake(&mut job);
    let budget_of_a_run = |job: &mut Job, params: serde_json::Value| {
        let started = job.editor.request("outrigger/run/start", params);
        let run = started["runId"].clone();
        message(job, "Outrigger: done. Seen.");
        let params = json!({"runId": run, "afterSeq": 0});
        let events = job.editor.request("outrigger/run/events", params);
        events["records"][0]["event"]["spec"]["budget"].clone()
    };
    let budget = budget_of_a_run(&mut job, json!({"prompt": "x"}));
    assert_eq!(
        budget,
        json!({"activeS": 99, "tokens": 70, "iterations": 7}),
        "each from its own layer"
    );
    fs::write(job.path("outrigger.toml"), "[budget]\ntokens = 71\n").unwrap();
    let params = json!({"prompt": "x", "budget": {"activeS": 5}});
    let budget = budget_of_a_run(&mut job, params);
    assert_eq!(
        budget,
        json!({"activeS": 5, "tokens": 71, "iterations": 7}),
        "read again; what the call says wins"
    );
    let listed = job.editor.request("outrigger/settings/list", json!({}));
    let from = |name: &str| {
        let settings = listed["settings"].as_array().unwrap().iter();
        let mut settings = settings.filter(|setting| setting["name"] == name);
        let setting = settings.next().cloned().unwrap_or_default();
        let origin = setting["origin"].as_str().unwrap_or("").to_owned();
        (setting["value"].clone(), origin)
    };
    let file = job.path("outrigger.toml").display().to_string();
    assert_eq!(from("budget.tokens"), (json!(71), format!("{file}:2")));
    assert_eq!(
        from("budget.activeS"),
        (json!(99), "editor settings".into())
    );
    assert_eq!(from("engine"), (json!("react"), "default".into()));
    assert_eq!(
        from("models.keyring").0,
        json!(null),
        "only the user's file says it"
    );
    let params = json!({"prompt": "x", "budget": {"tokens": "many"}});
    let refused = job.editor.request_error("outrigger/run/start", params);
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("budget.tokens"), "{message}");
}
