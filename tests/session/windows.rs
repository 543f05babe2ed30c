//! Several processes on one workspace: windows of an editor, and a terminal beside them.

use std::process::{Child, Command, Stdio};

use super::support::Editor;
use super::*;

const OUTRIGGER: &str = env!("CARGO_BIN_EXE_outrigger");

fn window(lasting: &Lasting) -> Editor {
    let mut editor = lasting.editor_as(knowing());
    for method in ["outrigger/run/event", "outrigger/question/resolved"] {
        editor.allow(method);
    }
    editor
}

/// The turns of a run that asks, and is done with the answer.
fn asking(answer: &str) -> [Value; 2] {
    let args = json!({"question": "Which port é?", "choices": ["80", "8080"]});
    [
        tool("c1", "ask", args),
        shown(answer, done("Done as asked.")),
    ]
}

fn start(window: &mut Editor, model: &str) -> String {
    let params = json!({"prompt": "do é", "model": model});
    let started = window.request("outrigger/run/start", params);
    started["runId"].as_str().unwrap().to_owned()
}

fn opened(window: &mut Editor) -> Value {
    let opened = window.notification("outrigger/question/opened", |_| true);
    opened["question"].clone()
}

fn ended(window: &mut Editor, run: &str) -> Value {
    let ended =
        |params: &Value| params["runId"] == run && params["record"]["event"]["type"] == "ended";
    window.notification("outrigger/run/event", ended)["record"]["event"]["outcome"].clone()
}

impl Lasting {
    fn terminal(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(OUTRIGGER);
        command
            .args(arguments)
            .current_dir(self.workspace.path())
            .env("OUTRIGGER_CONFIG", "")
            .env("OUTRIGGER_STATE_DIR", self.state.path())
            .stdin(Stdio::null());
        command
    }

    fn said(&self, arguments: &[&str]) -> String {
        let output = self.terminal(arguments).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }
}

#[test]
fn a_question_of_one_window_is_answered_in_the_other() {
    let lasting = Lasting::new();
    let model = lasting.script(&asking("8080"));
    let (mut one, mut other) = (window(&lasting), window(&lasting));
    let run = start(&mut one, &model);
    let question = opened(&mut one);
    assert_eq!(
        opened(&mut other),
        question,
        "the other window shows it, too"
    );
    let listed = other.request("outrigger/run/list", json!({}));
    assert_eq!(listed["runs"][0]["runId"], run.as_str());
    assert_eq!(listed["runs"][0]["elsewhere"], true);
    assert_eq!(listed["runs"][0]["openQuestions"], json!([question["id"]]));
    let questions = other.request("outrigger/question/list", json!({}));
    assert_eq!(questions["questions"], json!([question]));
    let answer = json!({"questionId": question["id"], "answer": {"type": "text", "text": "8080"}});
    other.request("outrigger/question/answer", answer.clone());
    assert_eq!(ended(&mut one, &run), "succeeded");
    assert_eq!(ended(&mut other, &run), "succeeded", "followed live");
    let refused = other.request_error("outrigger/question/answer", answer);
    assert!(!refused["message"].as_str().unwrap().is_empty());
    // Both have all of it, without a gap.
    let events = |window: &mut Editor| {
        window.request("outrigger/run/events", json!({"runId": run}))["records"].clone()
    };
    assert_eq!(events(&mut one), events(&mut other));
}

#[test]
fn a_window_that_comes_late_shows_what_is_open_and_may_cancel() {
    let lasting = Lasting::new();
    let model = lasting.script(&asking("never"));
    let mut one = window(&lasting);
    let run = start(&mut one, &model);
    let question = opened(&mut one);
    let mut late = window(&lasting);
    assert_eq!(opened(&mut late)["id"], question["id"]);
    let cancelled = late.request("outrigger/run/cancel", json!({"runId": run}));
    assert_eq!(cancelled["outcome"], "cancelled");
    assert_eq!(ended(&mut one, &run), "cancelled");
}

#[test]
fn a_run_whose_window_dies_is_taken_over_by_exactly_one() {
    let lasting = Lasting::new();
    let model = lasting.script(&asking("80"));
    let mut one = window(&lasting);
    let run = start(&mut one, &model);
    let question = opened(&mut one);
    let (mut two, mut three) = (window(&lasting), window(&lasting));
    for other in [&mut two, &mut three] {
        assert_eq!(opened(other)["id"], question["id"]);
    }
    one.kill();
    drop(one);
    for other in [&mut two, &mut three] {
        other.notification("outrigger/run/interrupted", |params| {
            params["run"]["runId"] == run.as_str()
        });
    }
    // An answer takes the run up; in both at once, one of them gets it.
    let answer = json!({"questionId": question["id"], "answer": {"type": "text", "text": "80"}});
    let asked = [
        two.ask("outrigger/question/answer", answer.clone()),
        three.ask("outrigger/question/answer", answer),
    ];
    let replies = [two.response(asked[0]), three.response(asked[1])];
    assert!(replies.iter().any(Result::is_ok), "{replies:?}");
    for other in [&mut two, &mut three] {
        assert_eq!(ended(other, &run), "succeeded");
    }
    let shown = lasting.said(&["show", &run, "--json"]);
    let answered = shown.matches("\"questionAnswered\"").count();
    assert_eq!(answered, 1, "{shown}");
}

#[test]
fn a_terminal_follows_answers_and_cancels_a_run_of_an_editor() {
    let lasting = Lasting::new();
    let model = lasting.script(&asking("80"));
    let mut one = window(&lasting);
    let run = start(&mut one, &model);
    let question = opened(&mut one);
    let id = question["id"].as_str().unwrap();
    let follower = |run: &str| -> Child {
        let mut follow = lasting.terminal(&["follow", run]);
        follow.stdout(Stdio::piped()).spawn().unwrap()
    };
    let following = follower(&run);
    assert!(lasting.said(&["runs"]).contains(&format!("{run}  waiting")));
    let questions = lasting.said(&["questions"]);
    assert!(
        questions.contains(id) && questions.contains("Which port é?"),
        "{questions}"
    );
    let answered = lasting.said(&["answer", id, "1"]);
    assert!(
        answered.contains("goes on where it is worked on"),
        "{answered}"
    );
    assert_eq!(ended(&mut one, &run), "succeeded");
    let followed = following.wait_with_output().unwrap();
    let followed = String::from_utf8(followed.stdout).unwrap();
    assert!(
        followed.contains("Which port é?") && followed.contains("Succeeded"),
        "{followed}"
    );

    let model = lasting.script(&asking("never"));
    let run = start(&mut one, &model);
    opened(&mut one);
    let cancelled = lasting.said(&["cancel", "last"]);
    assert_eq!(cancelled, format!("run {run} is cancelled\n"));
    assert_eq!(ended(&mut one, &run), "cancelled");
    let listed = lasting.said(&["runs", "--json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed[0]["status"], "cancelled");
    assert_eq!(listed[1]["status"], "succeeded");
}
