//! What becomes of a run when its provider fails: the real binary over stdio, and a provider over HTTP that nothing but
//! its bytes makes a real one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::needless_pass_by_value,
    reason = "a test fails by panicking"
)]

#[path = "model_runs/provider.rs"]
mod provider;
mod support;

use std::fs;

use provider::{Answer, Provider, call};
use serde_json::{Value, json};
use support::{Editor, Start};

/// A client that takes all of our protocol.
fn client() -> Value {
    json!({
        "clientInfo": {"name": "client"},
        "capabilities": {
            "general": {"positionEncodings": ["utf-16"]},
            "window": {"workDoneProgress": true},
            "experimental": {"outrigger": {"version": 1, "events": true, "questions": true}},
        },
    })
}

struct Job {
    editor: Editor,
    settings: tempfile::TempDir,
}

impl Job {
    /// `more`: settings in the user's file beside those of the provider.
    fn new(provider: &Provider, more: &str) -> Self {
        let settings = tempfile::tempdir().unwrap();
        let file = settings.path().join("config.toml");
        let text = format!(
            "model = \"test/first\"\n{more}\n[providers.test]\nwire = \"openai\"\nbaseUrl = \"{}\"\n\
             [providers.test.models.first]\nprice = {{ input = 2.0, output = 10.0, cacheRead = 0.5 }}\n",
            provider.base_url
        );
        fs::write(&file, text).unwrap();
        let start = Start::default()
            .env("OUTRIGGER_CONFIG", file)
            .env("OUTRIGGER_LOG", "trace");
        let (mut editor, _) = start.ready_as(client());
        editor.answer("window/workDoneProgress/create", |_| Value::Null);
        for method in [
            "$/progress",
            "outrigger/run/event",
            "outrigger/question/resolved",
            "textDocument/publishDiagnostics",
        ] {
            editor.allow(method);
        }
        Self { editor, settings }
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.editor.workspace().join(name), text).unwrap();
    }

    fn start(&mut self) -> String {
        let started = self
            .editor
            .request("outrigger/run/start", json!({"prompt": "Do it: ünïcödé."}));
        started["runId"].as_str().unwrap().to_owned()
    }

    fn event(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        let wanted = |params: &Value| wanted(&params["record"]["event"]);
        self.editor.notification("outrigger/run/event", wanted)["record"].take()
    }

    fn end(&mut self) -> Value {
        self.event(|event| event["type"] == "ended")["event"].take()
    }

    fn blocker(&mut self) -> Value {
        let opened = self
            .editor
            .notification("outrigger/question/opened", |_| true);
        opened["question"].clone()
    }

    fn give_up(&mut self, question: &Value) -> Value {
        let answer =
            json!({"questionId": question["id"], "answer": {"type": "choice", "choice": "giveUp"}});
        self.editor.request("outrigger/question/answer", answer);
        self.end()
    }

    fn events(&mut self, run: &str) -> Vec<Value> {
        let events = self
            .editor
            .request("outrigger/run/events", json!({"runId": run, "afterSeq": 0}));
        events["records"].as_array().unwrap().clone()
    }
}

fn of_type<'a>(records: &'a [Value], name: &str) -> Vec<&'a Value> {
    let events = records.iter().map(|record| &record["event"]);
    events.filter(|event| event["type"] == name).collect()
}

fn openai_error(message: &str, code: &str) -> Value {
    json!({"error": {"message": message, "type": "invalid_request_error", "code": code}})
}

#[test]
fn a_rate_limit_parks_the_run_until_a_time_of_day_and_the_same_step_goes_on() {
    let limit = openai_error(
        "Rate limit reached. Please try again in 1s.",
        "rate_limit_exceeded",
    );
    let provider = Provider::start(vec![
        Answer::call("c1", "write", r#"{"path":"a.txt","content":"one\n"}"#),
        Answer::error(429, &limit).header("retry-after", "1"),
        Answer::text("Written."),
    ]);
    let mut job = Job::new(&provider, "");
    let run = job.start();
    let parked = job.event(|event| event["waiting"]["for"] == "rateLimit");
    let until = parked["event"]["waiting"]["until"].as_i64().unwrap();
    assert!((900..=1100).contains(&(until - parked["at"].as_i64().unwrap())));
    let message = job.editor.notification("$/progress", |params| {
        params["value"]["message"]
            .as_str()
            .is_some_and(|message| message.contains("rate limited until"))
    })["value"]["message"]
        .clone();
    let message = message.as_str().unwrap();
    let clock = message.split("until ").nth(1).unwrap();
    assert!(
        clock.as_bytes()[2] == b':' && clock.as_bytes()[..2].iter().all(u8::is_ascii_digit),
        "{message}"
    );
    let end = job.end();
    assert_eq!(end["outcome"], "succeeded", "{end}");
    let asked = provider.asked();
    assert_eq!(asked.len(), 3);
    assert_eq!(
        asked[1].body, asked[2].body,
        "the same step, and nothing else"
    );
    // The failure was no turn of the model, and nothing of it is in the history or was paid for twice.
    let records = job.events(&run);
    assert_eq!(of_type(&records, "modelReplied").len(), 2);
    assert_eq!(of_type(&records, "changeMade").len(), 1);
    assert_eq!(end["summary"]["usage"]["input"], 2000);
    job.editor.finish();
}

#[test]
fn a_prompt_that_is_too_long_is_shortened_once_inside_one_long_turn() {
    let overflow = openai_error(
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 40000 tokens.",
        "context_length_exceeded",
    );
    let provider = Provider::start(vec![
        Answer::call("c1", "read", r#"{"path":"big.txt"}"#),
        Answer::call("c2", "write", r#"{"path":"a.txt","content":"one\n"}"#),
        Answer::call("c3", "read", r#"{"path":"small.txt"}"#),
        Answer::error(400, &overflow),
        Answer::text("Done in spite of it."),
    ]);
    let mut job = Job::new(&provider, "");
    job.write("big.txt", &"A line of the large file, é.\n".repeat(3000));
    job.write("small.txt", "the needle\n");
    let run = job.start();
    let end = job.end();
    assert_eq!(end["outcome"], "succeeded", "{end}");
    let asked = provider.asked();
    let (long, short) = (asked[3].said(), asked[4].said());
    assert!(
        short.len() * 3 < long.len(),
        "{} of {}",
        short.len(),
        long.len()
    );
    // What matters of it is still there: the task, the latest result, and each call with its result.
    for kept in ["ünïcödé", "the needle", "c1", "c2", "c3"] {
        assert!(short.contains(kept), "{kept}");
    }
    let ids = |role: &str, path: &str| {
        let messages = asked[4].body["messages"].as_array().unwrap().clone();
        let of_role = messages
            .into_iter()
            .filter(|message| message["role"] == role);
        let found = of_role.filter_map(|message| Some(message.pointer(path)?.as_str()?.to_owned()));
        found.collect::<Vec<String>>()
    };
    assert_eq!(
        ids("assistant", "/tool_calls/0/id"),
        ids("tool", "/tool_call_id")
    );
    let records = job.events(&run);
    let retried = of_type(&records, "modelRetried");
    assert_eq!(retried[0]["kind"], "prompt_too_long");
    assert!(
        retried[0]["what"]
            .as_str()
            .unwrap()
            .contains("shortened from")
    );
    job.editor.finish();
}

#[test]
fn a_prompt_that_stays_too_long_is_a_blocker_with_counts() {
    let overflow = openai_error(
        "This model's maximum context length is 10 tokens. However, your messages resulted in 400 tokens.",
        "context_length_exceeded",
    );
    let provider = Provider::start(vec![Answer::error(400, &overflow)]);
    let mut job = Job::new(&provider, "");
    job.start();
    let question = job.blocker();
    let detail = question["detail"].as_str().unwrap();
    assert!(
        detail.contains("400") && detail.contains("bytes"),
        "{question}"
    );
    assert_eq!(job.give_up(&question)["outcome"], "failed");
    assert!(provider.asked().len() <= 2);
    job.editor.finish();
}

#[test]
fn a_cut_answer_is_continued_and_a_cut_call_is_never_done() {
    let provider = Provider::start(vec![
        Answer::chat(
            &[
                json!({"content": "First half of the an"}),
                call("c1", "write", r#"{"path":"cut.txt","content":"half a fi"#),
            ],
            "length",
        ),
        Answer::text("swer, and the rest of it."),
    ]);
    let mut job = Job::new(&provider, "");
    job.start();
    let end = job.end();
    assert_eq!(end["outcome"], "succeeded", "{end}");
    assert_eq!(
        end["summary"]["text"],
        "First half of the answer, and the rest of it."
    );
    assert!(!job.editor.workspace().join("cut.txt").exists());
    let asked = provider.asked();
    assert!(!asked[1].said().contains("cut.txt"), "{}", asked[1].said());
    job.editor.finish();
}

#[test]
fn an_empty_answer_gets_one_hint_that_is_not_in_the_history() {
    let provider = Provider::start(vec![
        Answer::chat(&[], "stop"),
        Answer::call("c1", "write", r#"{"path":"a.txt","content":"x\n"}"#),
        Answer::text("Done as asked."),
    ]);
    let mut job = Job::new(&provider, "");
    let run = job.start();
    assert_eq!(job.end()["outcome"], "succeeded");
    let asked = provider.asked();
    assert!(asked[1].said().contains("was empty"));
    assert!(
        !asked[2].said().contains("was empty"),
        "{}",
        asked[2].said()
    );
    let records = job.events(&run);
    assert_eq!(of_type(&records, "modelRetried").len(), 1);
    job.editor.finish();
}

#[test]
fn a_call_that_cannot_be_read_goes_back_as_its_own_result() {
    let provider = Provider::start(vec![
        Answer::call("c1", "write", r#"{"path":"a.txt","content":"#),
        Answer::text("I see."),
    ]);
    let mut job = Job::new(&provider, "");
    job.start();
    assert_eq!(job.end()["outcome"], "succeeded");
    let asked = provider.asked();
    let messages = asked[1].body["messages"].as_array().unwrap();
    let result = messages
        .iter()
        .find(|message| message["role"] == "tool")
        .unwrap();
    assert_eq!(result["tool_call_id"], "c1");
    assert!(!job.editor.workspace().join("a.txt").exists());
    job.editor.finish();
}

#[test]
fn a_stream_that_breaks_after_visible_words_starts_the_turn_again() {
    let whole = "All of this was said before the line broke, and it is long enough to be cut in its middle.";
    let provider = Provider::start(vec![
        Answer::text(whole).breaking(),
        Answer::text("Said once."),
    ]);
    let mut job = Job::new(&provider, "");
    job.start();
    let end = job.end();
    assert_eq!(end["summary"]["text"], "Said once.", "{end}");
    let asked = provider.asked();
    assert_eq!(asked[0].body, asked[1].body);
    job.editor.finish();
}

#[test]
fn a_provider_that_stays_overloaded_gives_way_to_the_fallback_model() {
    let busy = openai_error("The engine is currently overloaded", "overloaded");
    let mut answers = vec![Answer::error(503, &busy).header("retry-after-ms", "5"); 16];
    answers.push(Answer::text("The second model did it."));
    let provider = Provider::start(answers);
    let mut job = Job::new(&provider, "fallbackModel = \"test/second\"");
    job.start();
    let end = job.end();
    assert_eq!(end["outcome"], "succeeded", "{end}");
    let asked = provider.asked();
    let models: Vec<&str> = asked.iter().map(provider::Asked::model).collect();
    assert_eq!(models.last(), Some(&"second"));
    assert!(
        models[..models.len() - 1]
            .iter()
            .all(|model| *model == "first")
    );
    job.editor.finish();
}

#[test]
fn what_no_wait_mends_is_a_blocker_at_once_and_never_a_success() {
    let table = [
        (
            429,
            openai_error(
                "You exceeded your current quota, please check your plan and billing details.",
                "insufficient_quota",
            ),
            "credit",
        ),
        (
            401,
            openai_error("Incorrect API key provided", "invalid_api_key"),
            "key",
        ),
        (
            404,
            openai_error("The model `first` does not exist", "model_not_found"),
            "outrigger models",
        ),
        (
            400,
            openai_error(
                "Invalid prompt: flagged as violating our usage policy",
                "invalid_prompt",
            ),
            "policy",
        ),
    ];
    for (status, body, advice) in table {
        let provider = Provider::start(vec![Answer::error(status, &body)]);
        let mut job = Job::new(&provider, "");
        job.start();
        let question = job.blocker();
        let title = question["title"].as_str().unwrap();
        assert!(title.contains(advice), "{title}");
        assert_eq!(provider.asked().len(), 1, "{title}");
        let end = job.give_up(&question);
        assert_eq!(end["outcome"], "failed", "{end}");
        job.editor.finish();
    }
}

#[test]
fn a_run_says_what_it_cost_and_how_much_came_from_the_cache() {
    let provider = Provider::start(vec![
        Answer::call("c1", "write", r#"{"path":"a.txt","content":"x\n"}"#),
        Answer::text("Done as asked."),
    ]);
    let mut job = Job::new(&provider, "");
    let run = job.start();
    let end = job.end();
    // Each call: 600 fresh tokens at 2, 400 cached at 0.5, 100 out at 10 millionths of a dollar.
    let call = 600 * 2 + 200 + 100 * 10;
    assert_eq!(
        end["summary"]["cost"],
        json!({"micros": 2 * call, "unpricedTokens": 0})
    );
    assert_eq!(end["summary"]["usage"]["cacheRead"], 800);
    let records = job.events(&run);
    let bills: Vec<&Value> = of_type(&records, "modelReplied")
        .into_iter()
        .map(|event| &event["bill"])
        .collect();
    assert_eq!(bills[0]["spending"]["dayMicros"], call);
    assert_eq!(bills[1]["spending"]["dayMicros"], 2 * call);
    // A second run of the same day starts with what the first has cost.
    let second = job.start();
    job.end();
    let records = job.events(&second);
    assert_eq!(
        of_type(&records, "contextGathered")[0]["spending"]["dayMicros"],
        2 * call
    );
    job.editor.finish();
}

#[test]
fn a_budget_of_money_is_read_before_each_call_and_can_be_raised() {
    for (limit, about) in [("cost", "for this run"), ("dayCost", "for this day")] {
        let provider = Provider::start(vec![
            Answer::call("c1", "write", r#"{"path":"a.txt","content":"x\n"}"#),
            Answer::text("Done as asked."),
        ]);
        // A call costs 0.0024 dollars.
        let mut job = Job::new(&provider, &format!("budget.{limit} = 0.002"));
        job.start();
        let question = job.blocker();
        let title = question["title"].as_str().unwrap();
        assert!(
            title.contains("$0.0020") && title.contains(about),
            "{title}"
        );
        assert_eq!(provider.asked().len(), 1, "the second call was not made");
        let raise =
            json!({"questionId": question["id"], "answer": {"type": "choice", "choice": "raise"}});
        job.editor.request("outrigger/question/answer", raise);
        assert_eq!(job.end()["outcome"], "succeeded");
        job.editor.finish();
    }
}

#[test]
fn a_key_of_the_editor_goes_into_the_header_and_nowhere_else() {
    const KEY: &str = "unmistakable.Key-9fQ_72";
    let refused = openai_error(
        &format!("Incorrect API key provided: {KEY}"),
        "invalid_api_key",
    );
    let provider = Provider::start(vec![
        Answer::error(401, &refused),
        Answer::text("Done as asked."),
    ]);
    let mut job = Job::new(&provider, "");
    let given = json!({"provider": "test", "key": KEY});
    let held = job.editor.request("outrigger/models/key", given);
    assert_eq!(held, json!({"provider": "test", "held": true}));
    let wrong = json!({"provider": "test", "key": [KEY]});
    let error = job.editor.request_error("outrigger/models/key", wrong);
    assert!(!error.to_string().contains(KEY), "{error}");
    let listed = job
        .editor
        .request("outrigger/models/list", json!({"offline": true}));
    assert!(!listed.to_string().contains(KEY));
    let run = job.start();
    let question = job.blocker();
    assert!(!question.to_string().contains(KEY), "{question}");
    let again =
        json!({"questionId": question["id"], "answer": {"type": "choice", "choice": "retry"}});
    job.editor.request("outrigger/question/answer", again);
    assert_eq!(job.end()["outcome"], "succeeded");
    for asked in provider.asked() {
        assert!(
            asked.head.contains(&format!("Bearer {KEY}")),
            "{}",
            asked.head
        );
    }
    let records = job.events(&run);
    assert!(!json!(records).to_string().contains(KEY));
    for entry in walk(job.editor.state_dir()).chain(walk(job.settings.path())) {
        let bytes = fs::read(&entry).unwrap();
        let found = bytes
            .windows(KEY.len())
            .any(|window| window == KEY.as_bytes());
        assert!(!found, "{}", entry.display());
    }
    assert!(!job.editor.errors().contains(KEY), "the log has it");
    job.editor.finish();
}

fn walk(folder: &std::path::Path) -> Box<dyn Iterator<Item = std::path::PathBuf>> {
    let entries: Vec<_> = fs::read_dir(folder).unwrap().flatten().collect();
    Box::new(entries.into_iter().flat_map(|entry| {
        if entry.path().is_dir() {
            walk(&entry.path())
        } else {
            Box::new(std::iter::once(entry.path()))
        }
    }))
}

#[test]
fn a_workspace_says_nothing_about_where_keys_are_sent() {
    let provider = Provider::start(vec![Answer::text("Done as asked.")]);
    let elsewhere = Provider::start(vec![Answer::text("Got your key.")]);
    let mut job = Job::new(&provider, "");
    let evil = format!("[providers.test]\nbaseUrl = \"{}\"\n", elsewhere.base_url);
    job.write("outrigger.toml", &evil);
    job.editor.allow("window/showMessage");
    job.start();
    assert_eq!(job.end()["outcome"], "succeeded");
    assert_eq!((provider.asked().len(), elsewhere.asked().len()), (1, 0));
    job.editor.finish();
}
