//! Runs that make a plan first: shown, edited, followed step by step, taken up again.

use serde_json::{Value, json};

use super::{Job, Lasting, done, knowing, plain, shown, tool};

fn propose(steps: Value) -> Value {
    tool("p1", "propose_plan", json!({ "steps": steps }))
}

fn write(path: &str, content: &str) -> Value {
    tool("w1", "write", json!({"path": path, "content": content}))
}

fn start(job: &mut Job, review: &str, turns: &[Value]) -> String {
    let params = json!({
        "prompt": "do it",
        "model": job.model(turns),
        "engine": "plan",
        "policy": {"review": review, "commands": "allow"},
    });
    let started = job.editor.request("outrigger/run/start", params);
    started["runId"].as_str().unwrap().to_owned()
}

fn items(job: &mut Job) -> Vec<(String, String)> {
    let listed = job.editor.request("outrigger/run/list", json!({}));
    let items = listed["runs"][0]["plan"].as_array().unwrap().clone();
    let text = |item: &Value, name: &str| item[name].as_str().unwrap().to_owned();
    items
        .iter()
        .map(|item| (text(item, "state"), text(item, "title")))
        .collect()
}

#[test]
fn what_exists_is_edited_and_the_steps_are_done_in_order() {
    let mut job = Job::new(knowing(), &[("a.txt", "old é\n")]);
    let steps = json!([
        {"kind": "create", "target": "b/ü.txt", "why": "new", "depends_on": [2]},
        {"kind": "create", "target": "a.txt", "why": "there"},
        {"kind": "command", "command": "cat a.txt > c.txt", "why": "copy", "depends_on": [1]},
        {"kind": "verify", "why": ""},
    ]);
    start(
        &mut job,
        "never",
        &[
            propose(steps),
            shown("old é", write("a.txt", "neu é\n")),
            done("Changed."),
            shown("Step 2 of 4: create b/ü.txt: new", write("b/ü.txt", "ü\n")),
            done("Made."),
        ],
    );
    let end = job.end_of_run();
    assert_eq!(end["outcome"], "succeeded", "{end}");
    assert_eq!(job.read("a.txt"), "neu é\n");
    assert_eq!(job.read("b/ü.txt"), "ü\n");
    assert_eq!(job.read("c.txt"), "neu é\n");
    let text = end["summary"]["text"].as_str().unwrap();
    assert!(text.starts_with("4 of 4 steps are done."), "{text}");
    let said = items(&mut job);
    assert!(said.iter().all(|(state, _)| state == "done"), "{said:?}");
    assert_eq!(said[0].1, "edit a.txt: there");
    let is = |name: &'static str| move |params: &Value| params["record"]["event"]["type"] == name;
    for name in ["targetsFound", "stepStarted", "stepEnded"] {
        job.editor.notification("outrigger/run/event", is(name));
    }
}

#[test]
fn an_edited_plan_is_what_is_followed() {
    let mut job = Job::new(knowing(), &[]);
    let steps = json!([
        {"kind": "create", "target": "a.txt", "why": "one"},
        {"kind": "delete", "target": "b.txt", "why": "gone"},
    ]);
    start(
        &mut job,
        "large",
        &[
            propose(steps),
            shown("Step 1 of 1: create é.txt: one", write("é.txt", "é\n")),
            done("Made."),
        ],
    );
    let opened = job
        .editor
        .notification("outrigger/question/opened", |_| true);
    let question = opened["question"].clone();
    assert_eq!(question["kind"]["kind"], "plan");
    let id = question["id"].as_str().unwrap();
    let uri = format!("outrigger:/question/{id}/plan");
    let read = job
        .editor
        .request("outrigger/document/read", json!({ "uri": uri }));
    let text = read["text"].as_str().unwrap();
    assert_eq!(read["text"], question["kind"]["document"]);
    let edited: String = text
        .lines()
        .filter(|line| !line.contains("delete `b.txt`"))
        .map(|line| line.replace("`a.txt`", "`é.txt`") + "\n")
        .collect();
    let answer =
        |text: &str| json!({"questionId": id, "answer": {"type": "takeText", "text": text}});
    let refused = job
        .editor
        .request_error("outrigger/question/answer", answer("1. paint `x`"));
    assert_eq!(refused["data"]["kind"], "wrongAnswer", "{refused}");
    job.editor
        .request("outrigger/question/answer", answer(&edited));
    job.editor
        .notification("outrigger/question/resolved", |_| true);
    let end = job.end_of_run();
    assert_eq!(end["outcome"], "succeeded", "{end}");
    assert_eq!(job.read("é.txt"), "é\n");
}

#[test]
fn a_plain_client_says_yes_to_a_plan_by_a_button() {
    let mut job = Job::new(plain(), &[]);
    let steps = json!([{"kind": "create", "target": "a.txt", "why": "one"}]);
    start(
        &mut job,
        "always",
        &[propose(steps), write("a.txt", "a\n"), done("Made.")],
    );
    let asked = job
        .editor
        .server_request("window/showMessageRequest", |_| true);
    let message = asked["params"]["message"].as_str().unwrap();
    assert!(message.contains("1. create `a.txt`: one"), "{message}");
    let first = asked["params"]["actions"][0].clone();
    assert_eq!(first["title"], "Follow it");
    job.editor.respond(&asked, first);
    job.editor.notification("window/showMessage", |params| {
        params["message"]
            .as_str()
            .is_some_and(|text| text.contains("1 of 1 steps are done"))
    });
    assert_eq!(job.read("a.txt"), "a\n");
}

#[test]
fn a_killed_run_goes_on_at_the_step_where_it_was() {
    let lasting = Lasting::new();
    let mut slow = shown("Step 2 of 2", write("b.txt", "never\n"));
    slow["pace"] = json!({"ttft_ms": 600_000});
    let steps = json!([
        {"kind": "create", "target": "a.txt", "why": "one"},
        {"kind": "create", "target": "b.txt", "why": "two"},
    ]);
    let model = lasting.script(&[propose(steps), write("a.txt", "a\n"), done("Made."), slow]);
    let mut first = lasting.editor_as(knowing());
    first.allow("outrigger/run/event");
    let params = json!({
        "prompt": "do é", "model": model, "engine": "plan", "policy": {"review": "never"},
    });
    let started = first.request("outrigger/run/start", params);
    let second_step = |params: &Value| {
        let event = &params["record"]["event"];
        event["type"] == "modelCalled" && event["call"] == 4
    };
    first.notification("outrigger/run/event", second_step);
    // Answered after what the call needs has been made safe.
    first.request("outrigger/run/list", json!({}));
    first.kill();
    drop(first);

    // A script goes on after the calls that it made: this one makes another.
    let second = tool("w2", "write", json!({"path": "b.txt", "content": "b\n"}));
    lasting.script(&[shown("Step 2 of 2", second), done("Made.")]);
    let mut second = lasting.editor_as(knowing());
    second.allow("outrigger/run/event");
    second.notification("outrigger/run/interrupted", |_| true);
    let resume = json!({"runId": started["runId"], "by": "Ada"});
    second.request("outrigger/run/resume", resume);
    let ended = |params: &Value| params["record"]["event"]["type"] == "ended";
    let end = second.notification("outrigger/run/event", ended);
    assert_eq!(end["record"]["event"]["outcome"], "succeeded", "{end}");
    let text = |name: &str| std::fs::read_to_string(lasting.path(name)).unwrap();
    assert_eq!((text("a.txt"), text("b.txt")), ("a\n".into(), "b\n".into()));
}
