//! What runs did to files: listed, shown as a patch, taken back on disk and in the editor.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{Job, Lasting, done, knowing, plain, tool};

const BEFORE: &str = "one\ntwo\n3\n4\n5\n6\n7\neight\r\nnine é\n";
const AFTER: &str = "one\n2\n3\n4\n5\n6\n7\n8\r\nnine é\n";

fn edit(path: &str, edits: &[(&str, &str)]) -> Value {
    let edits: Vec<Value> = edits
        .iter()
        .map(|(old, new)| json!({"old": old, "new": new}))
        .collect();
    json!({"path": path, "edits": edits})
}

/// Edits `a.txt` in two places and makes `sub/é.txt`.
fn turns() -> [Value; 4] {
    [
        tool("c1", "read", json!({"path": "a.txt"})),
        tool("c2", "edit", edit("a.txt", &[("two", "2"), ("eight", "8")])),
        tool(
            "c3",
            "write",
            json!({"path": "sub/é.txt", "content": "new\n"}),
        ),
        done("Done as asked."),
    ]
}

/// Answers what the editor is asked while it reverts `a.txt`, and gives the response.
fn revert_through_editor(job: &mut Job, params: Value) -> Value {
    let id = job.editor.ask("outrigger/run/revert", params);
    let edit = job.editor.server_request("workspace/applyEdit", |_| true);
    job.editor.apply_edit(&edit);
    let save = job
        .editor
        .server_request("outrigger/document/save", |_| true);
    job.editor.save(&save);
    job.editor.response(id).unwrap()
}

fn outcomes(result: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let files = result["files"].as_array().unwrap();
    files
        .iter()
        .map(|file| (text(&file["path"]), text(&file["outcome"])))
        .collect()
}

fn pairs(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    rows.iter()
        .map(|(path, outcome)| ((*path).to_owned(), (*outcome).to_owned()))
        .collect()
}

#[test]
fn all_that_a_run_did_is_listed_and_taken_back_and_that_is_taken_back_too() {
    let mut job = Job::new(knowing(), &[("a.txt", BEFORE)]);
    let run = job.start(&turns());
    assert_eq!(job.end_of_run()["outcome"], "succeeded");
    assert_eq!(job.read("a.txt"), AFTER);
    let of_run = json!({ "runId": run });
    let changes = job.editor.request("outrigger/run/changes", of_run.clone());
    let files = changes["files"].as_array().unwrap();
    assert_eq!(files.len(), 2, "{changes}");
    assert_eq!(
        (&files[0]["path"], &files[0]["kind"]),
        (&json!("a.txt"), &json!("edited"))
    );
    assert_eq!(files[0]["hunks"].as_array().unwrap().len(), 2);
    assert_eq!(files[0]["hunks"][1]["added"], json!(["8\r\n"]));
    assert_eq!(files[0]["changes"][0]["step"], "c2");
    assert_eq!(files[0]["changes"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&files[1]["path"], &files[1]["kind"], &files[1]["before"]),
        (&json!("sub/é.txt"), &json!("created"), &Value::Null)
    );
    let diff = job.editor.request("outrigger/run/diff", of_run.clone());
    let patch = |at: usize| files[at]["patch"].as_str().unwrap();
    assert_eq!(diff["patch"], format!("{}{}", patch(0), patch(1)));
    assert!(patch(0).contains("-two\n+2\n"), "{diff}");

    let preview = json!({"runId": run, "preview": true});
    let preview = job.editor.request("outrigger/run/revert", preview);
    let want = pairs(&[("a.txt", "restored"), ("sub/é.txt", "removed")]);
    assert_eq!(outcomes(&preview), want);
    assert_eq!(preview.get("revertId"), None);
    assert!(
        preview["files"][0]["patch"]
            .as_str()
            .unwrap()
            .contains("-2\n+two\n")
    );
    assert_eq!(job.read("a.txt"), AFTER);

    let reverted = job.editor.request("outrigger/run/revert", of_run.clone());
    assert_eq!(outcomes(&reverted), want);
    assert_eq!(job.read("a.txt"), BEFORE);
    assert!(!job.path("sub").exists(), "the folder that the run made");
    let again = job.editor.request("outrigger/run/revert", of_run);
    let already = pairs(&[
        ("a.txt", "alreadyAsBefore"),
        ("sub/é.txt", "alreadyAsBefore"),
    ]);
    assert_eq!(outcomes(&again), already);

    let back = json!({"runId": reverted["revertId"]});
    let back = job.editor.request("outrigger/run/revert", back);
    let want = pairs(&[("a.txt", "restored"), ("sub/é.txt", "restored")]);
    assert_eq!(outcomes(&back), want);
    assert_eq!(job.read("a.txt"), AFTER);
    assert_eq!(job.read("sub/é.txt"), "new\n");
}

#[test]
fn an_open_document_is_reverted_in_the_editor_and_what_was_typed_since_stays() {
    let mut job = Job::new(knowing(), &[("a.txt", BEFORE)]);
    let path = job.path("a.txt");
    let uri = job.editor.open(&path, BEFORE);
    let run = job.start(&turns());
    let request = job.editor.server_request("workspace/applyEdit", |_| true);
    job.editor.apply_edit(&request);
    let save = job
        .editor
        .server_request("outrigger/document/save", |_| true);
    job.editor.save(&save);
    assert_eq!(job.end_of_run()["outcome"], "succeeded");
    // What went through the editor is in the ledger, too.
    let changes = job
        .editor
        .request("outrigger/run/changes", json!({ "runId": run }));
    assert_eq!(changes["files"][0]["path"], "a.txt", "{changes}");

    job.editor.type_over(&uri, "nine", "9, typed");
    let hunk = json!({"runId": run, "paths": ["a.txt"], "hunks": [0]});
    let reverted = revert_through_editor(&mut job, hunk);
    assert_eq!(outcomes(&reverted), pairs(&[("a.txt", "merged")]));
    let want = AFTER
        .replace("\n2\n", "\ntwo\n")
        .replace("nine", "9, typed");
    assert_eq!(job.editor.document(&uri).text, want);
    assert_eq!(job.read("a.txt"), want);

    let rest = json!({"runId": run, "step": "c2"});
    let reverted = revert_through_editor(&mut job, rest);
    assert_eq!(outcomes(&reverted), pairs(&[("a.txt", "merged")]));
    let want = BEFORE.replace("nine", "9, typed");
    assert_eq!(job.editor.document(&uri).text, want);
    assert_eq!(job.read("a.txt"), want);
    assert_eq!(job.read("sub/é.txt"), "new\n");
}

#[test]
fn an_edit_that_the_editor_refuses_is_not_said_to_be_reverted() {
    let mut job = Job::new(knowing(), &[("a.txt", BEFORE)]);
    let run = job.start(&turns());
    assert_eq!(job.end_of_run()["outcome"], "succeeded");
    let path = job.path("a.txt");
    let uri = job.editor.open(&path, AFTER);
    let params = json!({"runId": run, "paths": ["a.txt"]});
    let id = job.editor.ask("outrigger/run/revert", params);
    let request = job.editor.server_request("workspace/applyEdit", |_| true);
    job.editor
        .respond(&request, json!({"applied": false, "failureReason": "no"}));
    let result = job.editor.response(id).unwrap();
    assert_eq!(outcomes(&result), pairs(&[("a.txt", "failed")]));
    assert!(result["files"][0]["reason"].is_string(), "{result}");
    assert_eq!(result.get("revertId"), None);
    assert_eq!(job.read("a.txt"), AFTER);
    assert_eq!(job.editor.document(&uri).text, AFTER);
}

#[test]
fn hunks_of_several_files_and_unknown_runs_are_refused() {
    let mut job = Job::new(knowing(), &[("a.txt", BEFORE)]);
    let run = job.start(&turns());
    job.end_of_run();
    let rows = [
        ("revert", json!({"runId": "nope"}), "unknownRun"),
        ("changes", json!({"runId": "nope"}), "unknownRun"),
        ("diff", json!({"runId": "../../etc/passwd"}), "unknownRun"),
        (
            "revert",
            json!({"runId": run, "hunks": [0]}),
            "invalidParams",
        ),
        (
            "revert",
            json!({"runId": run, "paths": ["../x"]}),
            "invalidParams",
        ),
    ];
    for (name, params, kind) in rows {
        let method = format!("outrigger/run/{name}");
        let error = job.editor.request_error(&method, params.clone());
        assert_eq!(error["data"]["kind"], kind, "{name} {params}: {error}");
    }
    let unknown = json!({"runId": run, "paths": ["a.txt"], "hunks": [7]});
    let result = job.editor.request("outrigger/run/revert", unknown);
    assert_eq!(outcomes(&result), pairs(&[("a.txt", "left")]));
    assert_eq!(job.read("a.txt"), AFTER);
}

#[test]
fn a_plain_client_reverts_a_run_of_an_earlier_process() {
    let lasting = Lasting::new();
    let read = |name: &str| fs::read_to_string(lasting.path(name)).unwrap();
    fs::write(lasting.path("a.txt"), BEFORE).unwrap();
    let model = lasting.script(&turns());
    let mut first = lasting.editor();
    let started = first.request(
        "outrigger/run/start",
        json!({"prompt": "x", "model": model}),
    );
    first.notification("window/showMessage", |_| true);
    first.finish();
    assert_eq!(read("a.txt"), AFTER);
    fs::write(lasting.path("sub/é.txt"), "mine\n").unwrap();

    let mut second = lasting.editor();
    let command = |argument: Value| json!({"command": "outrigger.revert", "arguments": [argument]});
    let preview = command(json!({"runId": started["runId"], "preview": true}));
    let result = second.request("workspace/executeCommand", preview);
    let want = pairs(&[("a.txt", "restored"), ("sub/é.txt", "left")]);
    assert_eq!(outcomes(&result), want);
    let said = second.notification("window/showMessage", |_| true);
    let said = said["message"].as_str().unwrap().to_owned();
    assert!(said.contains("a.txt: as before the run"), "{said}");
    assert!(said.contains("sub/é.txt: left as it is: "), "{said}");
    assert_eq!(read("a.txt"), AFTER);

    let result = second.request(
        "workspace/executeCommand",
        command(started["runId"].clone()),
    );
    assert_eq!(outcomes(&result), want);
    second.notification("window/showMessage", |_| true);
    assert_eq!(read("a.txt"), BEFORE);
    assert_eq!(read("sub/é.txt"), "mine\n");
}

#[test]
fn a_plain_client_reverts_what_ended_last_in_a_document_that_it_has_open() {
    let mut job = Job::new(plain(), &[("a.txt", BEFORE)]);
    job.start(&turns());
    job.editor.notification("window/showMessage", |_| true);
    let path = job.path("a.txt");
    let uri = job.editor.open(&path, AFTER);
    let id = job.editor.ask(
        "workspace/executeCommand",
        json!({"command": "outrigger.revert"}),
    );
    let request = job.editor.server_request("workspace/applyEdit", |_| true);
    job.editor.apply_edit(&request);
    let result = job.editor.response(id).unwrap();
    let want = pairs(&[("a.txt", "restored"), ("sub/é.txt", "removed")]);
    assert_eq!(outcomes(&result), want);
    job.editor.notification("window/showMessage", |_| true);
    assert_eq!(job.editor.document(&uri).text, BEFORE);
    assert_eq!(job.read("a.txt"), BEFORE);
    assert!(!Path::new(&job.path("sub")).exists());
}

#[test]
fn what_a_changed_file_was_and_became_can_be_read_whatever_is_there_now() {
    let mut job = Job::new(knowing(), &[("a.txt", BEFORE)]);
    let run = job.start(&turns());
    assert_eq!(job.end_of_run()["outcome"], "succeeded");
    fs::write(job.path("a.txt"), "something else\n").unwrap();
    let mut read = |side: &str, path: &str| {
        let uri = format!("outrigger:/run/{run}/{side}/{path}");
        let read = job
            .editor
            .request("outrigger/document/read", json!({ "uri": uri }));
        read["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(read("before", "a.txt"), BEFORE);
    assert_eq!(read("after", "a.txt"), AFTER);
    assert_eq!(read("before", "sub/%C3%A9.txt"), "");
    assert_eq!(read("after", "sub/%C3%A9.txt"), "new\n");
    let uri = format!("outrigger:/run/{run}/before/b.txt");
    let error = job
        .editor
        .request_error("outrigger/document/read", json!({ "uri": uri }));
    assert_eq!(error["data"]["kind"], "unknownDocument", "{error}");
}
