//! A word to a run that works, and runs that are taken up again.

use serde_json::json;

use super::{Job, Lasting, done, knowing, plain, shown, tool};

fn ended(params: &serde_json::Value) -> bool {
    params["record"]["event"]["type"] == "ended"
}

#[test]
fn a_run_is_told_something_paused_and_let_go_on() {
    let mut job = Job::new(knowing(), &[]);
    let ask = json!({"question": "Which port?", "choices": ["80"]});
    let run = job.start(&[
        tool("c1", "ask", ask),
        shown("use é instead", done("Understood.")),
    ]);
    let opened = job
        .editor
        .notification("outrigger/question/opened", |_| true);
    let steer = |steer| json!({"runId": run, "steer": steer, "by": "Ada"});
    let message = steer(json!({"type": "message", "text": "use é instead"}));
    for params in [steer(json!({"type": "pause"})), message] {
        let steered = job.editor.request("outrigger/run/steer", params);
        assert_eq!(steered, json!({ "runId": run }));
    }
    let answer = json!({"type": "choice", "choice": "1"});
    let params = json!({"questionId": opened["question"]["id"], "answer": answer});
    job.editor.request("outrigger/question/answer", params);
    job.editor
        .notification("outrigger/question/resolved", |_| true);
    // Everything that the answer led to is recorded before this is answered: nothing was begun.
    let called = |job: &mut Job| {
        let events = job
            .editor
            .request("outrigger/run/events", json!({ "runId": run }));
        let records = events["records"].as_array().unwrap().clone();
        let calls = records
            .iter()
            .filter(|record| record["event"]["type"] == "modelCalled");
        calls.count()
    };
    assert_eq!(called(&mut job), 1);
    let go_on = steer(json!({"type": "goOn"}));
    job.editor.request("outrigger/run/steer", go_on.clone());
    let end = job.end_of_run();
    assert_eq!(end["outcome"], "succeeded", "{end}");
    assert_eq!(called(&mut job), 2);
    let steered = |params: &serde_json::Value| params["record"]["event"]["type"] == "steered";
    let first = job.editor.notification("outrigger/run/event", steered);
    assert_eq!(first["record"]["event"]["by"], "Ada");

    let over = job.editor.request_error("outrigger/run/steer", go_on);
    assert_eq!(over["data"]["kind"], "runOver", "{over}");
    let over = job
        .editor
        .request_error("outrigger/run/resume", json!({ "runId": run }));
    assert_eq!(over["data"]["kind"], "runOver", "{over}");
}

#[test]
fn a_word_to_nobody_and_no_word_are_refused() {
    let mut job = Job::new(knowing(), &[]);
    let rows = [
        (
            "steer",
            json!({"runId": "nope", "steer": {"type": "pause"}}),
            "unknownRun",
        ),
        (
            "steer",
            json!({"runId": "nope", "steer": {"type": "message", "text": " "}}),
            "invalidParams",
        ),
        (
            "steer",
            json!({"runId": "nope", "steer": {"type": "model", "model": ""}}),
            "invalidParams",
        ),
        (
            "steer",
            json!({"runId": "nope", "steer": {"type": "dance"}}),
            "invalidParams",
        ),
        ("resume", json!({"runId": "nope"}), "unknownRun"),
        ("resume", json!({}), "invalidParams"),
    ];
    for (name, params, kind) in rows {
        let method = format!("outrigger/run/{name}");
        let error = job.editor.request_error(&method, params.clone());
        assert_eq!(error["data"]["kind"], kind, "{name} {params}: {error}");
    }
}

#[test]
fn a_run_that_was_started_survives_a_kill_at_once_and_is_resumed_by_its_panel() {
    let lasting = Lasting::new();
    let mut slow = done("never said");
    slow["pace"] = json!({"ttft_ms": 600_000});
    let model = lasting.script(&[slow]);
    let mut first = lasting.editor_as(knowing());
    first.allow("outrigger/run/event");
    let params = json!({"prompt": "do é", "model": model});
    let started = first.request("outrigger/run/start", params);
    first.kill();
    drop(first);

    lasting.script(&[done("Now done.")]);
    let mut second = lasting.editor_as(knowing());
    second.allow("outrigger/run/event");
    let told = second.notification("outrigger/run/interrupted", |_| true);
    let run = &told["run"];
    assert_eq!(run["runId"], started["runId"]);
    assert_eq!(run["status"], "interrupted");
    assert_eq!(run["prompt"], "do é");
    let listed = second.request("outrigger/run/list", json!({}));
    assert_eq!(listed["runs"][0], *run);
    let resume = json!({"runId": run["runId"], "by": "Ada"});
    let resumed = second.request("outrigger/run/resume", resume);
    assert_eq!(resumed, json!({"runId": run["runId"]}));
    let end = second.notification("outrigger/run/event", ended);
    let end = &end["record"]["event"];
    assert_eq!(end["summary"]["text"], "Now done.", "{end}");
}

#[test]
fn a_client_that_offered_no_events_is_sent_none_of_a_run_that_was_interrupted() {
    let lasting = Lasting::new();
    let ask = json!({"question": "Which port?", "choices": ["80"]});
    let model = lasting.script(&[tool("c1", "ask", ask)]);
    let mut first = lasting.editor();
    let params = json!({"prompt": "x", "model": model});
    first.request("outrigger/run/start", params);
    let asked = first.server_request("window/showMessageRequest", |_| true);
    first.kill();
    drop(first);

    lasting.script(&[shown("80", done("The port is known now."))]);
    let mut client = plain();
    client["capabilities"]["experimental"] = json!({"outrigger": {"version": 1}});
    let mut second = lasting.editor_as(client);
    // What nobody claims fails the test: the question is all that comes.
    let again = second.server_request("window/showMessageRequest", |_| true);
    assert_eq!(again["params"], asked["params"]);
    second.respond(&again, json!({"title": "80"}));
    second.notification("window/showMessage", |params| {
        params["message"] == "Outrigger: done. The port is known now."
    });
}
