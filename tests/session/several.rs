//! Deleting, moving, changing several files together; and who may work on a file at which time.

use std::fs;

use serde_json::{Value, json};

use super::{Job, done, knowing, shown, tool};

fn edits(files: &[(&str, &str, &str)]) -> Value {
    let file = |(path, old, new): &(&str, &str, &str)| json!({"path": path, "edits": [{"old": old, "new": new}]});
    json!({"files": files.iter().map(file).collect::<Vec<_>>()})
}

fn question(job: &mut Job) -> Value {
    let opened = job
        .editor
        .notification("outrigger/question/opened", |_| true);
    opened["question"].clone()
}

fn answer(job: &mut Job, question: &Value, answer: Value) {
    let params = json!({"questionId": question["id"], "answer": answer});
    job.editor.request("outrigger/question/answer", params);
    job.editor
        .notification("outrigger/question/resolved", |_| true);
}

/// The events of a run of one type, from its transcript.
fn events(job: &mut Job, run: &str, kind: &str) -> Vec<Value> {
    let page = job
        .editor
        .request("outrigger/run/events", json!({ "runId": run }));
    let records = page["records"].as_array().unwrap().iter();
    let events = records.map(|record| record["event"].clone());
    events.filter(|event| event["type"] == kind).collect()
}

#[test]
fn several_files_are_changed_together_or_not_at_all() {
    let files = [("a.txt", "one\r\n"), ("é/b.txt", "two\n")];
    let mut job = Job::new(knowing(), &files);
    let run = job.start(&[
        tool("r1", "read", json!({"path": "a.txt"})),
        tool("r2", "read", json!({"path": "é/b.txt"})),
        tool(
            "m1",
            "multi_edit",
            edits(&[("a.txt", "one", "1"), ("é/b.txt", "zwei", "2")]),
        ),
        shown(
            "é/b.txt was not changed",
            tool(
                "m2",
                "multi_edit",
                edits(&[("a.txt", "one", "1"), ("é/b.txt", "two", "2")]),
            ),
        ),
        shown("2 files were changed", done("Done.")),
    ]);
    let end = job.end_of_run();
    assert_eq!(end["outcome"], "succeeded", "{end}");
    assert_eq!(
        (job.read("a.txt"), job.read("é/b.txt")),
        ("1\r\n".into(), "2\n".into())
    );
    assert_eq!(events(&mut job, &run, "changeMade").len(), 2);
    let reverted = job
        .editor
        .request("outrigger/run/revert", json!({"runId": run, "step": "m2"}));
    assert_eq!(reverted["files"][1]["outcome"], "restored", "{reverted}");
    assert_eq!(
        (job.read("a.txt"), job.read("é/b.txt")),
        ("one\r\n".into(), "two\n".into())
    );
}

#[test]
fn always_for_this_run_answers_what_is_queued_and_a_kept_file_keeps_all() {
    let rows = [
        (
            json!({"type": "choice", "choice": "takeAllForRun"}),
            "1\n",
            "2\n",
            "2 files were changed",
        ),
        (
            json!({"type": "keepMine", "reason": "mine é"}),
            "my one\n",
            "my two\n",
            "They say: mine é",
        ),
    ];
    for (given, a, b, told) in rows {
        let mut job = Job::new(knowing(), &[("a.txt", "one\n"), ("b.txt", "two\n")]);
        job.start(&[
            tool("r1", "read", json!({"path": "a.txt"})),
            tool("r2", "read", json!({"path": "b.txt"})),
            tool(
                "q1",
                "ask",
                json!({"question": "Ready?", "choices": ["yes"]}),
            ),
            tool(
                "m1",
                "multi_edit",
                edits(&[("a.txt", "one", "1"), ("b.txt", "two", "2")]),
            ),
            shown(told, done("As the user wished.")),
        ]);
        let ready = question(&mut job);
        fs::write(job.path("a.txt"), "my one\n").unwrap();
        fs::write(job.path("b.txt"), "my two\n").unwrap();
        answer(&mut job, &ready, json!({"type": "choice", "choice": "1"}));
        // Both files are in conflict; one answer is enough.
        let asked = question(&mut job);
        assert_eq!(asked["kind"]["path"], "a.txt");
        answer(&mut job, &asked, given);
        assert_eq!(job.end_of_run()["outcome"], "succeeded");
        assert_eq!((job.read("a.txt"), job.read("b.txt")), (a.into(), b.into()));
    }
}

#[test]
fn what_one_editor_refuses_is_taken_back_in_the_others() {
    let mut job = Job::new(knowing(), &[("a.txt", "one\n"), ("b.txt", "two\n")]);
    let path = job.path("b.txt");
    job.editor.open(&path, "two\n");
    let run = job.start(&[
        tool(
            "m1",
            "multi_edit",
            edits(&[("a.txt", "one", "1"), ("b.txt", "two", "2")]),
        ),
        shown("None of the files was changed", done("Left.")),
    ]);
    let request = job.editor.server_request("workspace/applyEdit", |_| true);
    // The first is written at this moment; the second is not to be.
    assert_eq!(job.read("a.txt"), "1\n");
    let refusal = json!({"applied": false, "failureReason": "no"});
    job.editor.respond(&request, refusal);
    job.end_of_run();
    assert_eq!(
        (job.read("a.txt"), job.read("b.txt")),
        ("one\n".into(), "two\n".into())
    );
    assert_eq!(events(&mut job, &run, "changeMade"), Vec::<Value>::new());
    let changes = job
        .editor
        .request("outrigger/run/changes", json!({ "runId": run }));
    assert_eq!(changes["files"], json!([]));
}

#[test]
fn deletion_of_what_the_run_did_not_make_is_asked_about() {
    let rows = [
        (json!({"type": "keepMine"}), true, "kept their own version"),
        (json!({"type": "takeAll"}), false, "mine.txt was deleted"),
    ];
    for (given, stays, told) in rows {
        let mut job = Job::new(knowing(), &[("mine.txt", "x\n")]);
        let run = job.start(&[
            tool("w1", "write", json!({"path": "own.txt", "content": "y\n"})),
            // Its own file needs no word.
            tool("d1", "delete", json!({"path": "own.txt"})),
            shown(
                "own.txt was deleted",
                tool("d2", "delete", json!({"path": "gone.txt"})),
            ),
            shown(
                "nothing had to be deleted",
                tool("d3", "delete", json!({"path": "mine.txt"})),
            ),
            shown(told, done("As the user wished.")),
        ]);
        let asked = question(&mut job);
        assert_eq!(asked["kind"]["reason"], "deletion", "{asked}");
        assert!(
            asked["title"]
                .as_str()
                .unwrap()
                .starts_with("Delete mine.txt?"),
            "{asked}"
        );
        assert!(job.path("mine.txt").exists() && !job.path("own.txt").exists());
        answer(&mut job, &asked, given);
        assert_eq!(job.end_of_run()["outcome"], "succeeded");
        assert_eq!(job.path("mine.txt").exists(), stays);
        job.editor
            .request("outrigger/run/revert", json!({ "runId": run }));
        assert_eq!(job.read("mine.txt"), "x\n");
    }
}

#[cfg(unix)]
#[test]
fn a_moved_file_stays_the_file_that_it_is_and_goes_back() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let mut job = Job::new(knowing(), &[("old é.sh", "#!\r\n"), ("taken.sh", "t\n")]);
    let mode = fs::Permissions::from_mode(0o750);
    fs::set_permissions(job.path("old é.sh"), mode).unwrap();
    let before = job.path("old é.sh").metadata().unwrap();
    let run = job.start(&[
        tool("v1", "move", json!({"from": "old é.sh", "to": "taken.sh"})),
        shown(
            "taken.sh is there already",
            tool(
                "v2",
                "move",
                json!({"from": "old é.sh", "to": "new/deep/#1.sh"}),
            ),
        ),
        shown(
            "old é.sh was moved to new/deep/#1.sh.",
            tool("v3", "move", json!({"from": "taken.sh", "to": "TAKEN.sh"})),
        ),
        shown("taken.sh was moved to TAKEN.sh.", done("Moved.")),
    ]);
    assert_eq!(job.end_of_run()["outcome"], "succeeded");
    let after = job.path("new/deep/#1.sh").metadata().unwrap();
    assert_eq!(
        (after.ino(), after.mode(), after.mtime_nsec()),
        (before.ino(), before.mode(), before.mtime_nsec())
    );
    assert!(!job.path("old é.sh").exists() && !job.path("taken.sh").exists());
    assert_eq!(job.read("TAKEN.sh"), "t\n");
    let reverted = job
        .editor
        .request("outrigger/run/revert", json!({ "runId": run }));
    assert!(reverted["revertId"].is_string(), "{reverted}");
    assert_eq!(
        (job.read("old é.sh"), job.read("taken.sh")),
        ("#!\r\n".into(), "t\n".into())
    );
    let back = job.path("old é.sh").metadata().unwrap();
    assert_eq!(back.mode(), before.mode());
    assert!(!job.path("new").exists() && !job.path("TAKEN.sh").exists());
}

#[test]
fn a_file_is_the_users_while_they_type_in_it() {
    let mut job = Job::new(knowing(), &[("a.txt", "one\ntwo\n")]);
    let path = job.path("a.txt");
    let uri = job.editor.open(&path, "one\ntwo\n");
    job.editor.type_over(&uri, "two", "two, typed");
    let run = job.start(&[
        tool(
            "e1",
            "edit",
            json!({"path": "a.txt", "edits": [{"old": "one", "new": "1"}]}),
        ),
        done("Done."),
    ]);
    let waits = job.editor.notification("outrigger/run/event", |params| {
        params["record"]["event"]["waiting"]["for"] == "lease"
    });
    assert_eq!(
        waits["record"]["event"]["waiting"]["detail"],
        "you to pause typing in a.txt"
    );
    let request = job.editor.server_request("workspace/applyEdit", |_| true);
    job.editor.apply_edit(&request);
    let save = job
        .editor
        .server_request("outrigger/document/save", |_| true);
    job.editor.save(&save);
    assert_eq!(job.end_of_run()["outcome"], "succeeded");
    assert_eq!(job.editor.document(&uri).text, "1\ntwo, typed\n");
    assert_eq!(events(&mut job, &run, "fileHeld").len(), 1);
    assert_eq!(events(&mut job, &run, "fileFreed").len(), 1);
}

#[test]
fn two_runs_change_one_file_one_after_the_other() {
    let mut job = Job::new(knowing(), &[("a.txt", "one\ntwo\n")]);
    let path = job.path("a.txt");
    job.editor.open(&path, "one\ntwo\n");
    let edit = |id: &str, old: &str, new: &str| {
        [
            tool(
                id,
                "edit",
                json!({"path": "a.txt", "edits": [{"old": old, "new": new}]}),
            ),
            done("Done."),
        ]
    };
    job.start(&edit("e1", "one", "1"));
    // The first has the file until its edit is applied, saved and looked at.
    let first = job.editor.server_request("workspace/applyEdit", |_| true);
    let second_run = job.start(&edit("e2", "two", "2"));
    job.editor.notification("outrigger/run/event", |params| {
        params["runId"] == second_run.as_str() && params["record"]["event"]["type"] == "fileHeld"
    });
    job.editor.apply_edit(&first);
    for _ in 0..2 {
        let save = job
            .editor
            .server_request("outrigger/document/save", |_| true);
        job.editor.save(&save);
        if job.read("a.txt") != "1\n2\n" {
            let second = job.editor.server_request("workspace/applyEdit", |_| true);
            job.editor.apply_edit(&second);
        }
    }
    for _ in 0..2 {
        assert_eq!(job.end_of_run()["outcome"], "succeeded");
    }
    assert_eq!(job.read("a.txt"), "1\n2\n");
}
