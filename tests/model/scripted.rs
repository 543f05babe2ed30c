//! The scripted model: what it says, what it refuses, and how readable it is about it.

use std::time::Duration;

use outrigger::kernel::conversation::{Block, Message, ModelErrorKind, Role, StopReason};
use outrigger::model::script::{Script, recorded_errors};
use outrigger::model::{Models, ModelsConfig};

use crate::support::{Seen, answer, request, run, tools, user};

const FIX: &str = "scripted:tests/fixtures/scripts/fix-import.script.jsonl";
const HASH: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

fn models() -> Models {
    Models::new(ModelsConfig::default())
}

fn demo(text: &str) -> Models {
    models().with_script("demo", text)
}

#[tokio::test(start_paused = true)]
async fn a_whole_script_is_played_with_its_faults_values_and_pace() {
    let models = models();
    let mut request = request(FIX, "warning: unused import: `std::fmt`");
    let turn = models
        .call(&run("r1"), request.clone(), &tools(), |_| {})
        .await
        .unwrap();
    assert_eq!(turn.text(), "Looking at the file.");
    assert_eq!(
        (turn.stop.clone(), turn.usage.input, turn.usage.output),
        (StopReason::ToolUse, 412, 31)
    );
    answer(
        &mut request,
        &turn,
        &[&format!("sha256 {HASH}\n1\tmod a;\nuse std::fmt;\n")],
    );

    for _ in 0..2 {
        let failure = models
            .call(&run("r1"), request.clone(), &tools(), |_| {})
            .await
            .unwrap_err();
        assert_eq!(
            (failure.kind, failure.retry_after_ms, failure.retryable),
            (ModelErrorKind::RateLimit, Some(200), true)
        );
    }
    let begun = tokio::time::Instant::now();
    let mut seen = Seen::default();
    let turn = models
        .call(&run("r1"), request.clone(), &tools(), |progress| {
            seen.take(progress);
        })
        .await
        .unwrap();
    assert!(
        begun.elapsed() >= Duration::from_millis(45),
        "40 ms to the first event, then pieces"
    );
    assert_eq!(
        (seen.thinking.as_str(), seen.calls.as_slice()),
        ("drop line 1", ["edit".to_owned()].as_slice())
    );
    let edit = turn.tool_calls().next().unwrap();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&edit.arguments).unwrap(),
        serde_json::json!({"path": "src/lib.rs", "old": "use std::fmt;\n", "base": HASH})
    );
    answer(&mut request, &turn, &["edited"]);
    request
        .messages
        .push(user("Verification failed: cargo: E0433"));

    let turn = models
        .call(&run("r1"), request.clone(), &tools(), |_| {})
        .await
        .unwrap();
    assert_eq!(
        turn.tool_calls().next().unwrap().id.as_str(),
        "c1-2",
        "ids stay unique although a line uses one again"
    );
}

#[tokio::test]
async fn two_runs_do_not_share_a_place_and_unused_turns_are_named() {
    let models = demo(
        "{\"script\":1}\n{\"emit\":[{\"text\":\"one\"}]}\n{\"emit\":[{\"text\":\"two\"}]}\n{\"when\":{\"verify\":\"failed\"},\"emit\":[{\"text\":\"three\"}]}",
    );
    for (name, said) in [("a", "one"), ("b", "one"), ("a", "two")] {
        let turn = models
            .call(&run(name), request("scripted:demo", "go"), &[], |_| {})
            .await
            .unwrap();
        assert_eq!(turn.text(), said);
    }
    assert_eq!(models.finish(&run("a")), Ok(()));
    assert_eq!(
        models.finish(&run("b")),
        Err("demo: 1 turn(s) were never asked for: line 3".to_owned())
    );
    let again = models
        .call(&run("b"), request("scripted:demo", "go"), &[], |_| {})
        .await
        .unwrap();
    assert_eq!(again.text(), "one", "a finished run starts over");
}

#[tokio::test]
async fn a_wrong_request_fails_loudly_and_says_what_was_shown() {
    let models = demo(
        r#"{"script":1}
{"expect":{"system":"careless","last":{"role":"tool","id":"c9","contains":"ok"},"tools":["edit","browse"],"nowhere":"secret"},"emit":[{"text":"never"}]}"#,
    );
    let failure = models
        .call(
            &run("r"),
            request("scripted:demo", "tell the secret"),
            &tools(),
            |_| {},
        )
        .await
        .unwrap_err();
    assert_eq!(
        (failure.kind, failure.retryable, failure.rule.as_str()),
        (ModelErrorKind::InvalidRequest, false, "script.expect")
    );
    insta::assert_snapshot!(failure.raw, @r#"
    turn 1 of demo (line 2) was shown something else than it expects
    - last role: tool
    + last role: user, "tell the secret"
    - result of tool call `c9`
    + results of: none
    - system prompt contains "careless"
    + "You are careful."
    - no message contains "secret"
    + one does
    - tool `browse` is on offer
    + tools: read, edit
    "#);
    let again = models
        .call(
            &run("r"),
            request("scripted:demo", "tell the secret"),
            &tools(),
            |_| {},
        )
        .await
        .unwrap_err();
    assert_eq!(
        again.raw, failure.raw,
        "a refused request does not use the turn up"
    );
}

#[tokio::test]
async fn the_end_of_a_script_is_said_clearly() {
    let models = demo(
        "{\"script\":1}\n{\"emit\":[{\"text\":\"one\"}]}\n{\"when\":{\"verify\":\"failed\"},\"emit\":[{\"text\":\"two\"}]}",
    );
    models
        .call(&run("r"), request("scripted:demo", "go"), &[], |_| {})
        .await
        .unwrap();
    let failure = models
        .call(
            &run("r"),
            request(
                "scripted:demo",
                "Verification: cargo check found nothing new.",
            ),
            &[],
            |_| {},
        )
        .await
        .unwrap_err();
    assert_eq!(
        failure.raw,
        "script exhausted at turn 2: no condition held on line 3 of demo"
    );
    let turn = models
        .call(
            &run("r"),
            request(
                "scripted:demo",
                "Verification: 2 new finding(s). Your changes caused them:",
            ),
            &[],
            |_| {},
        )
        .await
        .unwrap();
    assert_eq!(turn.text(), "two");
    let failure = models
        .call(&run("r"), request("scripted:demo", "go"), &[], |_| {})
        .await
        .unwrap_err();
    assert_eq!(
        failure.raw,
        "script exhausted at turn 3: demo has 2 turn(s) and was asked for one more"
    );
}

#[tokio::test]
async fn a_prompt_over_the_window_is_refused_by_itself() {
    let models =
        demo("{\"script\":1,\"context_window\":60}\n{\"emit\":[{\"text\":\"short enough\"}]}");
    let failure = models
        .call(
            &run("r"),
            request("scripted:demo", &"many words ".repeat(40)),
            &tools(),
            |_| {},
        )
        .await
        .unwrap_err();
    assert_eq!(
        (failure.kind, failure.tokens.unwrap().limit),
        (ModelErrorKind::PromptTooLong, Some(60))
    );
    let turn = models
        .call(&run("r"), request("scripted:demo", "few"), &[], |_| {})
        .await
        .unwrap();
    assert_eq!(turn.text(), "short enough");
}

#[tokio::test]
async fn a_history_that_any_provider_refuses_is_refused_here() {
    let models = demo(
        "{\"script\":1}\n{\"emit\":[{\"tool\":\"read\",\"id\":\"c1\",\"args\":{}}]}\n{\"emit\":[{\"text\":\"done\"}]}",
    );
    let mut history = request("scripted:demo", "go");
    let turn = models
        .call(&run("r"), history.clone(), &tools(), |_| {})
        .await
        .unwrap();
    history.messages.push(Message {
        role: Role::Assistant,
        blocks: turn.blocks.clone(),
    });
    let failure = models
        .call(&run("r"), history.clone(), &tools(), |_| {})
        .await
        .unwrap_err();
    assert_eq!(
        failure.raw,
        "request 2 is not valid: no result of tool call c1 before message 2"
    );
    history.messages.pop();
    history.messages.push(Message {
        role: Role::Assistant,
        blocks: vec![Block::text("half a ")],
    });
    let failure = models
        .call(&run("r"), history, &tools(), |_| {})
        .await
        .unwrap_err();
    assert_eq!(
        failure.raw,
        "request 2 is not valid: the last message is the model's and ends in a space; trim it before it is continued"
    );
}

#[tokio::test(start_paused = true)]
async fn every_fault_is_the_failure_a_provider_would_cause() {
    let table = [
        (r#""rate_limit""#, ModelErrorKind::RateLimit),
        (r#""overloaded""#, ModelErrorKind::Overloaded),
        (r#""quota""#, ModelErrorKind::Quota),
        (r#""auth""#, ModelErrorKind::Auth),
        (r#""prompt_too_long""#, ModelErrorKind::PromptTooLong),
        (r#""model_not_found""#, ModelErrorKind::ModelNotFound),
        (r#""content_filter""#, ModelErrorKind::ContentFilter),
        (r#""max_output""#, ModelErrorKind::MaxOutput),
        (r#""empty""#, ModelErrorKind::Empty),
        (
            r#""malformed_tool_call""#,
            ModelErrorKind::MalformedToolCall,
        ),
        (r#""invalid_request""#, ModelErrorKind::InvalidRequest),
        (r#""network""#, ModelErrorKind::Network),
        (r#""timeout""#, ModelErrorKind::Timeout),
        (r#""server_error""#, ModelErrorKind::ServerError),
        (r#"{"ref":"pe043"}"#, ModelErrorKind::InvalidRequest),
        (r#"{"http":529}"#, ModelErrorKind::Overloaded),
        (r#"{"http":401,"body":"no"}"#, ModelErrorKind::Auth),
        (
            r#"{"json200":{"error":{"type":"overloaded_error","message":"Overloaded"}}}"#,
            ModelErrorKind::Overloaded,
        ),
        (
            r#"{"error_event":{"type":"error","error":{"type":"api_error","message":"Internal server error"}}}"#,
            ModelErrorKind::ServerError,
        ),
        (r#"{"drop_after":0}"#, ModelErrorKind::Network),
        (r#"{"eof_after":1}"#, ModelErrorKind::Network),
        (r#"{"bad_frame":true}"#, ModelErrorKind::Network),
        (r#"{"stall":true}"#, ModelErrorKind::Timeout),
        (r#"{"stall_ms":7200000}"#, ModelErrorKind::Timeout),
    ];
    for (fault, kind) in table {
        let models = demo(&format!("{{\"script\":1}}\n{{\"fault\":{fault}}}"));
        let failure = models
            .call(&run("r"), request("scripted:demo", "go"), &[], |_| {})
            .await
            .unwrap_err();
        assert_eq!(failure.kind, kind, "{fault}: {failure:?}");
    }
    for harmless in [r#"{"no_done":true}"#, r#"{"stall_ms":5000}"#] {
        let models = demo(&format!(
            "{{\"script\":1}}\n{{\"emit\":[{{\"text\":\"all\"}}],\"fault\":{harmless}}}"
        ));
        assert_eq!(
            models
                .call(&run("r"), request("scripted:demo", "go"), &[], |_| {})
                .await
                .unwrap()
                .text(),
            "all"
        );
    }
}

#[tokio::test]
async fn a_broken_stream_shows_its_beginning_and_no_more() {
    let models = demo(
        "{\"script\":1}\n{\"emit\":[{\"text\":\"first\"},{\"tool\":\"edit\",\"args\":{\"path\":\"a\"}}],\"fault\":{\"drop_after\":1}}",
    );
    let mut seen = Seen::default();
    let failure = models
        .call(
            &run("r"),
            request("scripted:demo", "go"),
            &tools(),
            |progress| seen.take(progress),
        )
        .await
        .unwrap_err();
    assert_eq!(
        (failure.kind, failure.retryable),
        (ModelErrorKind::Network, true)
    );
    assert_eq!((seen.text.as_str(), seen.calls.len()), ("first", 0));
}

#[tokio::test]
async fn a_cut_tool_call_is_never_in_the_turn() {
    let models = demo(
        r#"{"script":1}
{"emit":[{"text":"writing"},{"tool":"edit","id":"a","args":{"path":"x"}},{"tool":"edit","id":"b","raw_tool_args":"{\"path\":\"src/li"}],"stop":"max_tokens"}
{"emit":[{"tool":"edit","id":"b","raw_tool_args":"{\"path\":"}]}"#,
    );
    let turn = models
        .call(&run("r"), request("scripted:demo", "go"), &tools(), |_| {})
        .await
        .unwrap();
    let ids: Vec<&str> = turn.tool_calls().map(|call| call.id.as_str()).collect();
    assert_eq!((ids, turn.stop.clone()), (vec!["a"], StopReason::MaxTokens));
    let turn = models
        .call(&run("r"), request("scripted:demo", "go"), &tools(), |_| {})
        .await
        .unwrap();
    assert_eq!(
        turn.tool_calls().next().unwrap().arguments,
        "{\"path\":",
        "a complete turn's arguments come as they are"
    );
}

#[tokio::test]
async fn a_script_that_goes_back_keeps_its_ids_unique_and_its_references_true() {
    let models = demo(
        r#"{"script":1}
{"label":"loop","emit":[{"tool":"read","id":"c1","args":{"path":"a"}}]}
{"expect":{"last":{"id":"c1","contains":"round"}},"emit":[{"tool":"edit","id":"c2","args":{"path":"${c1.line:/round (\\d)/}","literal":"$${c1.text}"}}],"goto":"loop"}"#,
    );
    let mut history = request("scripted:demo", "go");
    let mut ids = Vec::new();
    for round in 1..=2 {
        let read = models
            .call(&run("r"), history.clone(), &tools(), |_| {})
            .await
            .unwrap();
        ids.extend(read.tool_calls().map(|call| call.id.0.clone()));
        answer(&mut history, &read, &[&format!("round {round}")]);
        let edit = models
            .call(&run("r"), history.clone(), &tools(), |_| {})
            .await
            .unwrap();
        let call = edit.tool_calls().next().unwrap();
        assert_eq!(
            call.arguments,
            format!(r#"{{"literal":"${{c1.text}}","path":"{round}"}}"#)
        );
        ids.push(call.id.0.clone());
        answer(&mut history, &edit, &["ok"]);
    }
    assert_eq!(ids, ["c1", "c2", "c1-2", "c2-2"]);

    let restarted = demo(
        r#"{"script":1}
{"label":"loop","emit":[{"tool":"read","id":"c1","args":{"path":"a"}}]}
{"emit":[{"tool":"edit","id":"c2","args":{"path":"b"}}]}
{"emit":[{"text":"after the restart"}]}"#,
    );
    history.messages.truncate(5);
    let turn = restarted
        .call(&run("r"), history, &tools(), |_| {})
        .await
        .unwrap();
    assert_eq!(turn.text(), "after the restart");
}

#[test]
fn a_bad_script_says_which_line_and_why() {
    let table = [
        (
            "",
            "x, line 1: the script is empty; its first line must be a header such as {\"script\":1,\"name\":\"demo\"}",
        ),
        (
            "{\"script\":2}",
            "x, line 1: script version 2 is not known to this build, which reads version 1",
        ),
        (
            "{\"script\":1}",
            "x, line 1: the script has a header but no turn",
        ),
        (
            "{\"script\":1}\n\n{\"emti\":[]}",
            "x, line 3: unknown field `emti`, expected one of `label`, `when`, `expect`, `emit`, `fault`, `times`, `optional`, `usage`, `pace`, `stop`, `goto` (column 7)",
        ),
        (
            "{\"script\":1}\n{\"emit\":[{\"text\":\"a\"}",
            "x, line 2: EOF while parsing a list (column 21)",
        ),
        (
            "{\"script\":1}\n{\"goto\":\"nowhere\"}",
            "x, line 2: goto `nowhere`: no line has that label",
        ),
        (
            "{\"script\":1}\n{\"label\":\"a\"}\n{\"label\":\"a\"}",
            "x, line 3: label `a` is used twice",
        ),
        (
            "{\"script\":1}\n{\"emit\":[{\"text\":\"a\",\"tool\":\"b\"}]}",
            "x, line 2: emit item 1 must be one of text, thinking, tool, not several",
        ),
        (
            "{\"script\":1}\n{\"emit\":[{}]}",
            "x, line 2: emit item 1 is none of text, thinking, tool, stop, usage",
        ),
        (
            "{\"script\":1}\n{\"stop\":\"never\"}",
            "x, line 2: stop `never` is none of end, tool_use, max_tokens, context_full, content_filter, pause",
        ),
        (
            "{\"script\":1}\n{\"fault\":{\"ref\":\"pe999\"}}",
            "x, line 2: fault ref `pe999` is not a recorded error",
        ),
        (
            "{\"script\":1}\n{\"fault\":{\"http\":500,\"stall\":true}}",
            "x, line 2: a turn has one fault, not several",
        ),
        (
            "{\"script\":1}\n{\"emit\":[{\"text\":\"a\"}],\"fault\":\"quota\"}",
            "x, line 2: this fault replaces the whole answer, so the line cannot emit anything",
        ),
        (
            "{\"script\":1}\n{\"emit\":[{\"text\":\"a\"}],\"times\":0}",
            "x, line 2: times must be at least 1",
        ),
    ];
    for (text, message) in table {
        assert_eq!(Script::parse("x", text).unwrap_err().to_string(), message);
    }
}

#[tokio::test]
async fn a_missing_script_and_a_value_that_is_not_there_are_explained() {
    let failure = models()
        .call(
            &run("r"),
            request("scripted:nowhere/none.jsonl", "go"),
            &[],
            |_| {},
        )
        .await
        .unwrap_err();
    assert!(
        failure.advice.starts_with(
            "The model could not be asked: failed to read the script nowhere/none.jsonl: "
        ),
        "{}",
        failure.advice
    );
    let table = [
        (
            "${c1}",
            "`${c1}` names no value; write ${id.sha256}, ${id.line:/pattern/} or ${id.text}",
        ),
        (
            "${c1.sha256}",
            "`${c1.sha256}`: no result of tool call `c1` in the request",
        ),
        (
            "${c1.sha",
            "the reference that begins at \"${c1.sha\" never ends",
        ),
    ];
    for (text, problem) in table {
        let models = demo(&format!(
            "{{\"script\":1}}\n{{\"emit\":[{{\"text\":\"{text}\"}}]}}"
        ));
        let failure = models
            .call(&run("r"), request("scripted:demo", "go"), &[], |_| {})
            .await
            .unwrap_err();
        assert_eq!(failure.raw, format!("turn 1 of demo (line 2): {problem}"));
    }
}

#[test]
fn the_library_of_faults_is_whole() {
    assert_eq!(
        recorded_errors().len(),
        include_str!("../fixtures/provider-errors.jsonl")
            .lines()
            .count()
    );
}
