//! Tasks over the wire: made from words, a comment and a list, started, and where they stand then.

use super::*;

fn states(job: &mut Job) -> Vec<String> {
    let listed = job.editor.request("outrigger/task/list", json!({}));
    let tasks = listed["tasks"].as_array().unwrap().clone();
    let line = |task: &Value| {
        format!(
            "{} {} {}",
            task["id"].as_str().unwrap(),
            task["title"].as_str().unwrap(),
            task["state"].as_str().unwrap()
        )
    };
    tasks.iter().map(line).collect()
}

#[test]
fn a_task_goes_from_a_comment_in_unsaved_text_to_done() {
    let mut job = Job::new(knowing(), &[("é.py", "x = 1\n")]);
    let uri = format!("file://{}/%C3%A9.py", job.editor.workspace().display());
    job.editor.notify(
        "textDocument/didOpen",
        json!({"textDocument": {"uri": uri, "languageId": "python", "version": 1, "text": "x = 1\n# TODO(ada): größer\n"}}),
    );
    let todo = json!({"origin": {"type": "todo", "path": "é.py", "line": 2}});
    let added = job.editor.request("outrigger/task/add", todo);
    assert_eq!(added["task"]["title"], "größer");
    assert_eq!(added["task"]["log"][0]["by"], "knowing");
    let list = json!({"text": "- after é\n  Depends on: größer\n- [x] old\n"});
    let imported = job.editor.request("outrigger/task/import", list);
    assert_eq!(
        (&imported["alreadyDone"], &imported["tasks"][0]["dependsOn"]),
        (&json!(1), &json!(["t1"]))
    );
    job.editor
        .request("outrigger/task/ready", json!({"taskId": "t1"}));
    assert_eq!(states(&mut job), ["t1 größer ready", "t2 after é backlog"]);

    let model = job.model(&[shown(
        "what a comment in é.py, line 2 asks for: größer",
        done("Nothing to do."),
    )]);
    let waits = job.editor.request_error(
        "outrigger/task/start",
        json!({"taskId": "t2", "model": model}),
    );
    assert_eq!(waits["data"]["kind"], "taskState");
    assert!(
        waits["message"]
            .as_str()
            .unwrap()
            .contains("t1 (ready: größer)"),
        "{waits}"
    );
    let started = job.editor.request(
        "outrigger/task/start",
        json!({"taskId": "t1", "model": model}),
    );
    let run = started["runId"].clone();
    job.end_of_run();
    assert_eq!(states(&mut job)[0], "t1 größer done");
    let listed = job
        .editor
        .request("outrigger/task/list", json!({"states": ["done"]}));
    assert_eq!(listed["tasks"][0]["runs"][0]["run"], run);
}

#[test]
fn a_run_that_waits_blocks_its_task_and_a_start_that_fails_gives_it_back() {
    let mut job = Job::new(knowing(), &[]);
    job.editor.request(
        "outrigger/task/add",
        json!({"title": "decide", "settings": {"budget": {"iterations": 9}}}),
    );
    let failed = job.editor.request_error(
        "outrigger/task/start",
        json!({"taskId": "t1", "policy": {"commands": "maybe"}}),
    );
    assert_eq!(failed["data"]["kind"], "invalidParams", "{failed}");
    assert_eq!(states(&mut job), ["t1 decide ready"]);
    let model = job.model(&[
        tool("c1", "ask", json!({"question": "Which?"})),
        done("Kept."),
    ]);
    job.editor.request(
        "outrigger/task/start",
        json!({"taskId": "t1", "model": model}),
    );
    let opened = job
        .editor
        .notification("outrigger/question/opened", |_| true);
    // The question is told before the run's state, which is recorded next.
    job.editor.notification("outrigger/run/event", |params| {
        let event = &params["record"]["event"];
        event["type"] == "statusChanged" && event["to"] == "waiting"
    });
    assert_eq!(states(&mut job), ["t1 decide blocked"]);
    let again = job.editor.request_error(
        "outrigger/task/start",
        json!({"taskId": "t1", "model": model}),
    );
    assert_eq!(again["data"]["kind"], "taskState", "{again}");
    let moved = job.editor.request_error(
        "outrigger/task/edit",
        json!({"taskId": "t1", "state": "backlog"}),
    );
    assert!(
        moved["message"]
            .as_str()
            .unwrap()
            .contains("works on task t1"),
        "{moved}"
    );
    let answer =
        json!({"questionId": opened["question"]["id"], "answer": {"type": "text", "text": "this"}});
    job.editor.request("outrigger/question/answer", answer);
    job.editor
        .notification("outrigger/question/resolved", |_| true);
    job.end_of_run();
    assert_eq!(states(&mut job), ["t1 decide done"]);
    let unknown = job
        .editor
        .request_error("outrigger/task/ready", json!({"taskId": "t9"}));
    assert_eq!(unknown["data"]["kind"], "unknownTask");
}

#[test]
fn the_model_is_told_what_the_user_looks_at() {
    let mut job = Job::new(knowing(), &[("é.py", "x = 1\n")]);
    let view = json!({"documents": [{
        "path": "é.py",
        "visible": true,
        "selection": {"firstLine": 1, "lastLine": 1, "text": "x = 1\n"},
        "problems": [{"line": 1, "severity": "warning", "source": "mine", "message": "größer"}],
    }]});
    job.editor.request("outrigger/editor/view", view);
    let told = "What the user looks at:\né.py (in view)\n  selected, lines 1 to 1:\nx = 1\n  é.py:1: warning mine: größer\n";
    job.start(&[shown(told, done("Nothing to do."))]);
    assert_eq!(job.end_of_run()["outcome"], "succeeded");
}
