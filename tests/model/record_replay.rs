//! Recording a provider as a script, and replaying a run's transcript.

use outrigger::kernel::conversation::{ModelErrorKind, ModelTurn};
use outrigger::model::endpoint::ProviderSettings;
use outrigger::model::script::{Cursor, Script};
use outrigger::model::wire::Wire;
use outrigger::model::{Models, ModelsConfig};
use serde_json::json;

use crate::server::{Answer, Server};
use crate::support::{answer, request, run, tools};
use crate::wire_bytes::stream_of;

const SCRIPT: &str = r#"{"script":1,"model":"m-1"}
{"emit":[{"thinking":"hm","signature":"s"},{"text":"I read it: $${HOME} is not a reference."},{"tool":"read","id":"c1","args":{"path":"/home/someone/src/ü.rs"}}],"usage":{"in":40,"out":9}}
{"emit":[{"text":"Mail me at someone@example.org, key sk-ant-REDACTED"}],"usage":{"in":50,"out":3}}"#;

fn wire_turns(wire: Wire) -> Vec<String> {
    let script = Script::parse("s", SCRIPT).unwrap();
    let mut cursor = Cursor::default();
    (0..2)
        .map(|_| {
            stream_of(
                wire,
                &cursor
                    .next(&script, &request("scripted:s", "go"), &[])
                    .unwrap(),
            )
        })
        .collect()
}

/// Plays the conversation of this page against some model; the same requests whoever answers.
async fn converse(models: &Models, model: &str) -> Vec<Result<ModelTurn, ModelErrorKind>> {
    let mut history = request(model, "please read the peculiar file");
    let mut answers = Vec::new();
    let turn = models
        .call(&run("r"), history.clone(), &tools(), |_| {})
        .await
        .unwrap();
    answer(&mut history, &turn, &["fn extraordinary() {}"]);
    answers.push(Ok(turn));
    for _ in 0..2 {
        answers.push(
            models
                .call(&run("r"), history.clone(), &tools(), |_| {})
                .await
                .map_err(|failure| failure.kind),
        );
    }
    answers
}

#[tokio::test]
async fn a_recorded_provider_plays_again_without_the_provider() {
    let folder = tempfile::tempdir().unwrap();
    let streams = wire_turns(Wire::OpenAi);
    let mut limited = Answer::json(
        429,
        r#"{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}"#,
    );
    limited
        .headers
        .push(("retry-after".to_owned(), "3".to_owned()));
    let server = Server::start(vec![
        Answer::stream(streams[0].clone()),
        limited,
        Answer::stream(streams[1].clone()),
    ])
    .await;
    let settings = ProviderSettings {
        wire: Some(Wire::OpenAi),
        base_url: Some(server.base_url.clone()),
        ..ProviderSettings::default()
    };
    let recorder = Models::new(ModelsConfig {
        directory: Some(folder.path().to_owned()),
        providers: [("test".to_owned(), settings)].into(),
        record: Some("out.script.jsonl".into()),
        home: Some("/home/someone".to_owned()),
        ..ModelsConfig::default()
    });
    let first = converse(&recorder, "test/m-1").await;

    let text = std::fs::read_to_string(folder.path().join("out.script.jsonl")).unwrap();
    for secret in ["/home/someone", "someone@example.org", "abcdefghijklmnop"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    let second_line: serde_json::Value =
        serde_json::from_str(text.lines().nth(2).unwrap()).unwrap();
    assert_eq!(
        second_line["expect"],
        json!({"last": {"role": "tool", "id": "c1", "contains": ["extraordinary"]}})
    );
    assert_eq!(second_line["fault"]["http"], json!(429));

    let player = Models::new(ModelsConfig {
        directory: Some(folder.path().to_owned()),
        ..ModelsConfig::default()
    });
    let again = converse(&player, "scripted:out.script.jsonl").await;
    assert_eq!(player.finish(&run("r")), Ok(()));
    let texts = |answers: &[Result<ModelTurn, ModelErrorKind>]| -> Vec<Result<(usize, u64), ModelErrorKind>> {
        answers.iter().map(|answer| answer.as_ref().map(|turn| (turn.blocks.len(), turn.usage.input)).map_err(|kind| *kind)).collect()
    };
    assert_eq!(texts(&again), texts(&first));
    assert_eq!(
        again[0].as_ref().unwrap().text(),
        "I read it: ${HOME} is not a reference."
    );
    assert_eq!(
        again[0]
            .as_ref()
            .unwrap()
            .tool_calls()
            .next()
            .unwrap()
            .arguments,
        r#"{"path":"~/src/ü.rs"}"#
    );
    assert_eq!(again[1], Err(ModelErrorKind::RateLimit));
}

#[tokio::test]
async fn a_transcript_replays_its_answers_however_they_are_wrapped() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(
        wire_turns(Wire::OpenAi)
            .into_iter()
            .map(Answer::stream)
            .collect(),
    )
    .await;
    let said = server
        .models(Wire::OpenAi)
        .call(&run("r"), request("test/m-1", "go"), &tools(), |_| {})
        .await
        .unwrap();
    let failed = server
        .models(Wire::Anthropic)
        .call(&run("r"), request("test/m-1", "go"), &tools(), |_| {})
        .await
        .unwrap_err();
    let lines = [
        json!({"seq": 1, "fact": {"type": "runStarted", "prompt": "go"}}),
        json!({"seq": 2, "fact": {"type": "modelReplied", "call": 1, "turn": said}}),
        json!({"seq": 3, "fact": {"type": "toolFinished", "kind": "read", "blocks": 3}}),
        json!({"seq": 4, "fact": {"type": "modelFailed", "failure": failed}}),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(folder.path().join("run.jsonl"), text + "{\"seq\":5,\"fa").unwrap();
    let models = Models::new(ModelsConfig {
        directory: Some(folder.path().to_owned()),
        ..ModelsConfig::default()
    });
    let mut answers = Vec::new();
    for _ in 0..3 {
        answers.push(
            models
                .call(
                    &run("a"),
                    request("replay:run.jsonl", "go"),
                    &tools(),
                    |_| {},
                )
                .await,
        );
    }
    assert_eq!((&answers[0], &answers[1]), (&Ok(said), &Err(failed)));
    assert_eq!(
        answers[2].as_ref().unwrap_err().raw,
        "run.jsonl has 2 answer(s) of a model and was asked for one more"
    );

    std::fs::write(folder.path().join("empty.jsonl"), "{\"seq\":1}\n").unwrap();
    std::fs::write(folder.path().join("broken.jsonl"), "{\"seq\":\n{}\n").unwrap();
    for (name, problem) in [
        ("empty.jsonl", "empty.jsonl holds no answer of a model"),
        (
            "broken.jsonl",
            "broken.jsonl, line 1: not JSON (EOF while parsing a value at line 1 column 7)",
        ),
    ] {
        let failure = models
            .call(
                &run("a"),
                request(&format!("replay:{name}"), "go"),
                &[],
                |_| {},
            )
            .await
            .unwrap_err();
        assert_eq!(
            (failure.kind, failure.raw.as_str()),
            (ModelErrorKind::InvalidRequest, problem)
        );
    }
}
