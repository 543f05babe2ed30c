//! Several workspace folders in one editor, files that come and go, and documents that are in no file.

use super::*;

/// An editor with two folders of these names, each with `a.txt`, and one run of the model in the second.
fn two_folders() -> (Job, tempfile::TempDir) {
    let place = tempfile::tempdir().unwrap();
    let mut client = knowing();
    let mut folders = Vec::new();
    for name in ["one", "zwei é"] {
        let folder = place.path().join(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("a.txt"), format!("{name}\n")).unwrap();
        folders.push(json!({"uri": format!("file://{}", folder.display()), "name": name}));
    }
    client["workspaceFolders"] = json!(folders);
    (Job::new(client, &[]), place)
}

#[test]
fn each_folder_has_its_own_runs_and_nothing_ambiguous_is_guessed() {
    let (mut job, place) = two_folders();
    let turns = overwrite(shown("\"kept\"", done("Done as asked.")));
    let model = job.model(&[turns[0].clone(), done("Done as asked.")]);
    let start = |folder: Value| {
        let mut params = json!({"prompt": "do it", "model": model});
        if !folder.is_null() {
            params["folder"] = folder;
        }
        params
    };
    let refused = job
        .editor
        .request_error("outrigger/run/start", start(Value::Null));
    assert_eq!(refused["data"]["kind"], "invalidParams");
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.contains("one") && message.contains("zwei"),
        "{message}"
    );
    let unknown = job
        .editor
        .request_error("outrigger/run/start", start(json!("three")));
    assert_eq!(unknown["data"]["kind"], "invalidParams");
    // Both have such a file.
    let prompt = json!({"command": "outrigger.writePrompt",
        "arguments": [{"path": "a.txt", "firstLine": 1, "lastLine": 1}]});
    let ambiguous = job.editor.request_error("workspace/executeCommand", prompt);
    assert!(
        ambiguous["message"]
            .as_str()
            .unwrap()
            .contains("several folders"),
        "{ambiguous}"
    );

    let started = job
        .editor
        .request("outrigger/run/start", start(json!("zwei é")));
    let run = started["runId"].clone();
    let opened = job
        .editor
        .notification("outrigger/question/opened", |_| true);
    let question = opened["question"]["id"].clone();
    let listed = job.editor.request("outrigger/run/list", json!({}));
    assert_eq!(listed["runs"].as_array().unwrap().len(), 1);
    assert!(
        listed["runs"][0]["folder"]
            .as_str()
            .unwrap()
            .contains("zwei"),
        "{listed}"
    );
    let questions = job
        .editor
        .request("outrigger/question/list", json!({ "runId": run }));
    assert_eq!(questions["questions"][0]["id"], question);
    job.editor.request(
        "outrigger/question/answer",
        json!({"questionId": question, "answer": {"type": "takeAll"}}),
    );
    job.editor
        .notification("outrigger/question/resolved", |_| true);
    assert_eq!(job.end_of_run()["outcome"], "succeeded");
    let read = |folder: &str| fs::read_to_string(place.path().join(folder).join("a.txt")).unwrap();
    assert_eq!(
        (read("one"), read("zwei é")),
        ("one\n".into(), "neu é\n".into())
    );

    let reverted = job
        .editor
        .request("outrigger/run/revert", json!({ "runId": run }));
    assert_eq!(read("zwei é"), "zwei é\n", "{reverted}");
    // A revert is known to its folder's ledger only.
    let again = json!({ "runId": reverted["revertId"] });
    job.editor.request("outrigger/run/revert", again);
    assert_eq!(read("zwei é"), "neu é\n");
}

#[test]
fn folders_come_and_go() {
    let (mut job, place) = two_folders();
    let third = place.path().join("drei");
    fs::create_dir(&third).unwrap();
    let folder =
        |path: &std::path::Path| json!({"uri": format!("file://{}", path.display()), "name": "x"});
    let change = json!({"event": {
        "added": [folder(&third)],
        "removed": [folder(&place.path().join("one")), folder(&place.path().join("zwei é"))],
    }});
    job.editor
        .notify("workspace/didChangeWorkspaceFolders", change);
    let turns = [
        tool("c1", "write", json!({"path": "neu.txt", "content": "漢\n"})),
        done("Done as asked."),
    ];
    job.start(&turns);
    assert_eq!(job.end_of_run()["outcome"], "succeeded");
    assert_eq!(fs::read_to_string(third.join("neu.txt")).unwrap(), "漢\n");
}

#[test]
fn the_sides_of_an_overwrite_are_documents_of_the_protocol() {
    let (editor, answer) = Start::default().ready_as(knowing());
    assert_eq!(
        answer["capabilities"]["workspace"]["textDocumentContent"],
        json!({"schemes": ["outrigger"]})
    );
    editor.finish();
    let mut job = Job::new(knowing(), &[("a.txt", "old\n")]);
    job.start(&overwrite(done("Done as asked.")));
    let opened = job
        .editor
        .notification("outrigger/question/opened", |_| true);
    let id = opened["question"]["id"].as_str().unwrap().to_owned();
    for (side, text) in [
        ("current", "old\n"),
        ("proposed", "neu é\n"),
        ("base", ""),
        ("merged", "old\n"),
    ] {
        let params = json!({"uri": format!("outrigger:/question/{id}/{side}")});
        let read = job.editor.request("workspace/textDocumentContent", params);
        assert_eq!(read, json!({ "text": text }), "{side}");
    }
    let params = json!({"uri": "outrigger:/question/none.q1/base"});
    let error = job
        .editor
        .request_error("workspace/textDocumentContent", params);
    assert_eq!(error["data"]["kind"], "unknownQuestion");
    job.editor.request(
        "outrigger/question/answer",
        json!({"questionId": id, "answer": {"type": "stopRun"}}),
    );
    job.editor
        .notification("outrigger/question/resolved", |_| true);
    job.end_of_run();
}

#[test]
fn what_is_deleted_or_renamed_outside_shows_nothing_any_more() {
    let files = [
        (
            "Cargo.toml",
            "[package]\nname = \"gone\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
        ),
        ("src/lib.rs", "pub mod teil;\n"),
        ("src/teil.rs", "pub fn eins() -> u32 {\n    1\n}\n"),
    ];
    let mut job = Job::new(knowing(), &files);
    let edit = json!({"path": "src/teil.rs", "edits": [{"old": "    1\n", "new": "    \"é\"\n"}]});
    job.start(&[
        tool("c1", "read", json!({"path": "src/teil.rs"})),
        tool("c2", "edit", edit),
        tool("c3", "ask", json!({"question": "And now?", "choices": []})),
        done("Done as asked."),
    ]);
    let opened = job
        .editor
        .notification("outrigger/question/opened", |_| true);
    let uri = job.uri("src/teil.rs");
    let on_file = |params: &Value| params["uri"] == uri.as_str();
    let found = job
        .editor
        .notification("textDocument/publishDiagnostics", on_file);
    assert_eq!(found["diagnostics"][0]["code"], "E0308", "{found}");
    let gate = job.editor.request(
        "workspace/textDocumentContent",
        json!({"uri": "outrigger:/gate/cargo-check"}),
    );
    assert!(
        gate["text"].as_str().unwrap().contains("mismatched types"),
        "{gate}"
    );

    fs::rename(job.path("src"), job.path("quelle")).unwrap();
    let renamed = json!({"files": [{"oldUri": job.uri("src"), "newUri": job.uri("quelle")}]});
    job.editor.notify("workspace/didRenameFiles", renamed);
    let cleared = job
        .editor
        .notification("textDocument/publishDiagnostics", on_file);
    assert_eq!(cleared["diagnostics"], json!([]));
    // It is back: what was found there is shown again until the next look of the gate.
    fs::rename(job.path("quelle"), job.path("src")).unwrap();
    let changes = json!({"changes": [{"uri": job.uri("src"), "type": 1}]});
    job.editor
        .notify("workspace/didChangeWatchedFiles", changes);
    let shown = job
        .editor
        .notification("textDocument/publishDiagnostics", on_file);
    assert_eq!(shown["diagnostics"][0]["code"], "E0308");
    job.editor.request(
        "outrigger/question/answer",
        json!({"questionId": opened["question"]["id"], "answer": {"type": "stopRun"}}),
    );
    job.editor
        .notification("outrigger/question/resolved", |_| true);
    job.end_of_run();
}
