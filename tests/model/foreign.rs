//! Against servers that nobody here wrote: two mocks, one of which judges its clients, and a real small model.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use outrigger::kernel::conversation::{
    Block, Message, ModelErrorKind, ModelFailure, ModelRequest, ModelTurn, Role, StopReason,
    ToolCall,
};
use outrigger::kernel::ids::ToolCallId;
use outrigger::model::clocks::Clocks;
use outrigger::model::endpoint::{Environment, ProviderSettings};
use outrigger::model::http::{Clients, Place, Transport};
use outrigger::model::secret::Secret;
use outrigger::model::wire::Wire;
use outrigger::model::{Models, ModelsConfig};
use serde_json::{Map, Value, json};
use tokio::process::{Child, Command};

use crate::installed;
use crate::support::{Seen, request, run, tools, user};

/// A server in a process of its own, killed when it is dropped.
struct Foreign {
    _process: Child,
    port: u16,
    http: reqwest::Client,
}

impl Foreign {
    fn start(program: &Path, arguments: impl Fn(u16) -> Vec<String>) -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let process = Command::new(program)
            .args(arguments(port))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        // Also installs the TLS provider, which this plain HTTP client must have to be built.
        let http = Clients::default()
            .client(&Transport::default(), Place::LOCAL)
            .unwrap();
        Self {
            _process: process,
            port,
            http,
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Waits until the server answers there with success.
    async fn ready(&self, path: &str) {
        let asking = async {
            loop {
                let answer = self.http.get(self.url(path)).send().await;
                if answer.is_ok_and(|answer| answer.status().is_success()) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(120), asking)
            .await
            .expect("the server comes up");
    }

    async fn get(&self, path: &str, key: &str) -> Value {
        let answer = self
            .http
            .get(self.url(path))
            .bearer_auth(key)
            .send()
            .await
            .unwrap();
        serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap()
    }

    async fn post(&self, path: &str, body: &Value) {
        let request = self
            .http
            .post(self.url(path))
            .header("content-type", "application/json")
            .body(body.to_string());
        let answer = request.send().await.unwrap();
        let status = answer.status();
        assert!(
            status.is_success(),
            "{path}: {}",
            String::from_utf8_lossy(&answer.bytes().await.unwrap())
        );
    }

    fn models(&self, settings: &[(&str, Wire, &str, Clocks)], key: &str) -> Models {
        let providers: BTreeMap<String, ProviderSettings> = settings
            .iter()
            .map(|(name, wire, path, clocks)| {
                let settings = ProviderSettings {
                    wire: Some(*wire),
                    base_url: Some(self.url(path)),
                    key: Secret::new(key),
                    clocks: Some(*clocks),
                    // The mocks do not care; the small real model must not roll dice.
                    extra_body: if *wire == Wire::Gemini {
                        Map::new()
                    } else {
                        Map::from_iter([("temperature".to_owned(), json!(0))])
                    },
                    ..ProviderSettings::default()
                };
                ((*name).to_owned(), settings)
            })
            .collect();
        Models::new(ModelsConfig {
            providers,
            ..ModelsConfig::default()
        })
    }
}

/// The one owner of retries, as small as it can be: one more attempt, after the wait that was asked for.
async fn with_one_retry(
    models: &Models,
    request: &ModelRequest,
) -> (Option<ModelFailure>, Result<ModelTurn, ModelFailure>) {
    let first = models
        .call(&run("r"), request.clone(), &tools(), |_| {})
        .await;
    let failure = match first {
        Err(failure) if failure.retryable => failure,
        Err(failure) => return (Some(failure.clone()), Err(failure)),
        Ok(turn) => return (None, Ok(turn)),
    };
    tokio::time::sleep(Duration::from_millis(
        failure.retry_after_ms.unwrap_or(1000),
    ))
    .await;
    (
        Some(failure),
        models
            .call(&run("r"), request.clone(), &tools(), |_| {})
            .await,
    )
}

#[tokio::test]
async fn llmock_has_nothing_to_say_against_the_client() {
    let Some(program) = installed::part("llmock") else {
        return;
    };
    let server = Foreign::start(&program, |port| {
        vec!["serve".into(), "--port".into(), port.to_string()]
    });
    server.ready("/health").await;
    let clocks = Clocks {
        first_event: Duration::from_secs(10),
        idle: Duration::from_millis(900),
        ..Clocks::LOCAL
    };
    let wires = [
        ("openai-wire", "openai", Wire::OpenAi, "/v1", clocks),
        (
            "anthropic-wire",
            "anthropic",
            Wire::Anthropic,
            "/anthropic",
            clocks,
        ),
        (
            "gemini-wire",
            "gemini",
            Wire::Gemini,
            "/gemini/v1beta",
            clocks,
        ),
    ];
    let settings: Vec<_> = wires
        .iter()
        .map(|(name, _, wire, path, clocks)| (*name, *wire, *path, *clocks))
        .collect();
    let models = server.models(&settings, "k");
    let table = [
        (
            json!({"type": "fail", "status": 529}),
            Some(ModelErrorKind::Overloaded),
        ),
        (
            json!({"type": "fail", "status": 503}),
            Some(ModelErrorKind::Overloaded),
        ),
        (
            json!({"type": "fail", "status": 500}),
            Some(ModelErrorKind::ServerError),
        ),
        (
            json!({"type": "fail", "status": 429, "retry_after": 1}),
            Some(ModelErrorKind::RateLimit),
        ),
        (
            json!({"type": "fail", "status": 401}),
            Some(ModelErrorKind::Auth),
        ),
        (
            json!({"type": "fail", "status": 400}),
            Some(ModelErrorKind::InvalidRequest),
        ),
        (
            json!({"type": "stream_fault", "kind": "truncate", "after_chunks": 3}),
            Some(ModelErrorKind::Network),
        ),
        (
            json!({"type": "stream_fault", "kind": "disconnect", "after_chunks": 3}),
            Some(ModelErrorKind::Network),
        ),
        (
            json!({"type": "stream_fault", "kind": "malformed", "after_chunks": 2}),
            Some(ModelErrorKind::Network),
        ),
        (
            json!({"type": "stream_fault", "kind": "stall", "after_chunks": 2, "stall_seconds": 30}),
            Some(ModelErrorKind::Timeout),
        ),
        (
            json!({"type": "reply", "text": "A plain answer, größer."}),
            None,
        ),
        (
            json!({"type": "reply", "tool_calls": [{"name": "read", "arguments": {"path": "a.rs"}}, {"name": "edit", "arguments": {"path": "b.rs"}}]}),
            None,
        ),
    ];
    for (name, provider, wire, ..) in wires {
        server.post("/_llmock/reset", &json!({})).await;
        for (index, (behavior, kind)) in table.iter().enumerate() {
            let mut behavior = behavior.clone();
            behavior["match"] = json!({"provider": provider});
            server
                .post("/_llmock/scenario", &json!({"behaviors": [behavior]}))
                .await;
            let mut request = request(
                &format!("{name}/m"),
                &format!("case {index}: please answer in a few words"),
            );
            if behavior["type"] != "reply" {
                request.tools.clear();
            }
            let (failure, result) = with_one_retry(&models, &request).await;
            assert_eq!(
                failure.as_ref().map(|failure| failure.kind),
                *kind,
                "{wire:?} {behavior}: {failure:?} {result:?}"
            );
            match (&failure, &result) {
                (Some(failure), Ok(_)) => assert!(failure.retryable, "{wire:?} {behavior}"),
                (Some(failure), Err(_)) => {
                    assert!(!failure.retryable, "{wire:?} {behavior}: {result:?}");
                }
                (None, _) => {}
            }
            if let Some(wanted) = behavior.get("tool_calls") {
                let turn = result.unwrap();
                let called: Vec<Value> = turn
                    .tool_calls()
                    .map(|call| json!({"name": call.name, "arguments": serde_json::from_str::<Value>(&call.arguments).unwrap()}))
                    .collect();
                assert_eq!(
                    (json!(called), turn.stop.clone()),
                    (wanted.clone(), StopReason::ToolUse),
                    "{wire:?}"
                );
            }
        }
        let verdict = server.get("/_llmock/verdict", "k").await;
        assert_eq!(
            (&verdict["passed"], &verdict["errors"], &verdict["warnings"]),
            (&json!(true), &json!(0), &json!(0)),
            "{wire:?}: {verdict:#}"
        );
        assert!(verdict["attempts"].as_u64().unwrap() >= 20, "{verdict:#}");
    }
}

#[tokio::test]
async fn aimock_speaks_with_the_client_on_each_wire() {
    let Some(program) = installed::part("aimock") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let fixtures = folder.path().join("fixtures.json");
    let text = json!({"fixtures": [
        {"match": {"userMessage": "please fix it", "hasToolResult": true}, "response": {"content": "Done, größer."}},
        {"match": {"userMessage": "please fix it"}, "response": {"content": "Looking.", "toolCalls": [{"name": "read", "arguments": "{\"path\":\"ü.rs\"}"}]}},
        {"match": {"userMessage": "say boom"}, "response": {"error": {"message": "Overloaded", "type": "overloaded_error"}, "status": 529}},
        {"match": {"userMessage": "break off"}, "response": {"content": "word ".repeat(100)}, "truncateAfterChunks": 3, "latency": 5},
    ]});
    std::fs::write(&fixtures, text.to_string()).unwrap();
    let server = Foreign::start(&program, |port| {
        vec![
            "-p".into(),
            port.to_string(),
            "-f".into(),
            fixtures.display().to_string(),
            "-c".into(),
            "3".into(),
            "--log-level".into(),
            "silent".into(),
        ]
    });
    server.ready("/v1/models").await;
    let wires = [
        ("openai-wire", Wire::OpenAi, "/v1"),
        ("anthropic-wire", Wire::Anthropic, ""),
        ("gemini-wire", Wire::Gemini, "/v1beta"),
    ];
    let settings: Vec<_> = wires
        .iter()
        .map(|(name, wire, path)| (*name, *wire, *path, Clocks::LOCAL))
        .collect();
    let models = server.models(&settings, "k");
    for (name, wire, _) in wires {
        let mut history = request(&format!("{name}/m"), "please fix it");
        let turn = models
            .call(&run("r"), history.clone(), &tools(), |_| {})
            .await
            .unwrap_or_else(|failure| panic!("{wire:?}: {failure:?}"));
        let call = turn.tool_calls().next().unwrap().clone();
        assert_eq!(
            (turn.text().as_str(), call.name.as_str()),
            ("Looking.", "read"),
            "{wire:?}"
        );
        assert_eq!(
            serde_json::from_str::<Value>(&call.arguments).unwrap(),
            json!({"path": "ü.rs"}),
            "{wire:?}"
        );
        crate::support::answer(&mut history, &turn, &["fn main() {}"]);
        let turn = models
            .call(&run("r"), history, &tools(), |_| {})
            .await
            .unwrap();
        assert_eq!(
            (turn.text().as_str(), turn.stop.clone()),
            ("Done, größer.", StopReason::EndTurn),
            "{wire:?}"
        );
        let failure = models
            .call(
                &run("r"),
                request(&format!("{name}/m"), "say boom"),
                &[],
                |_| {},
            )
            .await
            .unwrap_err();
        assert_eq!(
            (failure.kind, failure.status),
            (ModelErrorKind::Overloaded, Some(529)),
            "{wire:?}"
        );
        let failure = models
            .call(
                &run("r"),
                request(&format!("{name}/m"), "break off"),
                &[],
                |_| {},
            )
            .await
            .unwrap_err();
        assert_eq!(
            failure.kind,
            ModelErrorKind::Network,
            "{wire:?}: {failure:?}"
        );
    }
}

const KEY: &str = "key-of-the-test-server";

#[tokio::test]
async fn a_real_model_streams_calls_a_tool_overflows_and_stops_when_dropped() {
    let Some(python) = installed::part("real") else {
        return;
    };
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/model");
    let weights: PathBuf = python.ancestors().nth(3).unwrap().join("model.gguf");
    let server = Foreign::start(&python, |port| {
        let paths = [
            here.join("serve.py"),
            weights.clone(),
            here.join("chatml-json-tools.jinja"),
        ];
        let [script, weights, template] = paths.map(|path| path.display().to_string());
        vec![script, weights, port.to_string(), template, KEY.to_owned()]
    });
    let wires = [
        ("openai-wire", Wire::OpenAi, "/v1", Clocks::LOCAL),
        ("anthropic-wire", Wire::Anthropic, "", Clocks::LOCAL),
    ];
    let models = server.models(&wires, KEY);

    // While it loads it refuses the connection, then says so; both mean: later.
    let mut kinds = Vec::new();
    let mut early = request("openai-wire/m", "hi");
    early.max_output_tokens = Some(1);
    early.tools.clear();
    while let Err(failure) = models.call(&run("r"), early.clone(), &[], |_| {}).await {
        assert!(failure.retryable, "{failure:?}");
        kinds.push(failure.kind);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    kinds.dedup();
    assert!(
        kinds
            .iter()
            .all(|kind| matches!(kind, ModelErrorKind::Network | ModelErrorKind::Overloaded)),
        "{kinds:?}"
    );
    assert!(
        kinds.contains(&ModelErrorKind::Overloaded),
        "503 \"Loading model\" was never seen: {kinds:?}"
    );

    for (name, wire, ..) in wires {
        let model = format!("{name}/m");
        // Streaming: text comes in pieces, and is counted.
        let mut plain = request(&model, "Count from one to ten.");
        (plain.tools, plain.max_output_tokens) = (Vec::new(), Some(12));
        let mut seen = Seen::default();
        let turn = models
            .call(&run("r"), plain, &[], |piece| seen.take(piece))
            .await
            .unwrap();
        assert_eq!(turn.text(), seen.text, "{wire:?}");
        assert!(
            seen.pieces >= 3 && turn.usage.input > 5 && (1..=13).contains(&turn.usage.output),
            "{wire:?}: {seen:?} {turn:?}"
        );

        // A tool call, with two worked examples in the history: without them this model only talks.
        let turn = models
            .call(&run("r"), worked_examples(&model), &tools(), |_| {})
            .await
            .unwrap();
        let call = turn
            .tool_calls()
            .next()
            .unwrap_or_else(|| panic!("{wire:?}: no call in {turn:?}"));
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
        assert_eq!(
            (call.name.as_str(), turn.stop.clone()),
            ("read", StopReason::ToolUse),
            "{wire:?}"
        );
        assert!(
            arguments["path"].as_str().unwrap().contains("main"),
            "{wire:?}: {arguments}"
        );

        // Overflow, with counts.
        let failure = models
            .call(
                &run("r"),
                request(&model, &"word ".repeat(6000)),
                &[],
                |_| {},
            )
            .await
            .unwrap_err();
        assert_eq!(
            (failure.kind, failure.status),
            (ModelErrorKind::PromptTooLong, Some(400)),
            "{wire:?}: {failure:?}"
        );
        let counts = failure.tokens.unwrap();
        assert!(
            counts.actual.unwrap() > 4096 && counts.limit == Some(4096),
            "{wire:?}: {counts:?}"
        );

        // The same as a server that is known by name: it says its window, and its own tokenizer counts before it is asked.
        if wire == Wire::OpenAi {
            let known = Models::new(ModelsConfig {
                environment: Environment::from([
                    ("LLAMACPP_BASE_URL", server.url("/v1").as_str()),
                    ("LLAMACPP_API_KEY", KEY),
                ]),
                ..ModelsConfig::default()
            });
            let same = request("llamacpp/m", &"word ".repeat(6000));
            let foreseen = known.call(&run("r"), same, &[], |_| {}).await.unwrap_err();
            assert_eq!(foreseen.status, None, "it was not sent: {foreseen:?}");
            let foretold = foreseen.tokens.unwrap();
            assert_eq!(foretold.limit, Some(4096));
            // The server's count may differ by the beginning-of-text mark.
            let difference = foretold.actual.unwrap().abs_diff(counts.actual.unwrap());
            assert!(difference <= 2, "{foretold:?} {counts:?}");
            assert_eq!(known.context_window("llamacpp/m"), Some(4096));
        }

        // A wrong key.
        let stranger = server.models(&wires, "another-key");
        let failure = stranger
            .call(&run("r"), request(&model, "hi"), &[], |_| {})
            .await
            .unwrap_err();
        assert_eq!(
            (failure.kind, failure.status),
            (ModelErrorKind::Auth, Some(401)),
            "{wire:?}"
        );
        assert!(!format!("{failure:?}").contains("another-key"));

        // A dropped call is gone from the server within a second.
        let (alive, mut is_alive) = tokio::sync::mpsc::unbounded_channel();
        let mut long = request(&model, "Tell me a very long story about the sea.");
        (long.tools, long.max_output_tokens) = (Vec::new(), Some(3000));
        let caller = server.models(&wires, KEY);
        let call = tokio::spawn(async move {
            caller
                .call(&run("r"), long, &[], move |_| {
                    let _ = alive.send(());
                })
                .await
        });
        is_alive.recv().await.expect("the story begins");
        assert_eq!(is_processing(&server).await, json!(true), "{wire:?}");
        call.abort();
        let idle = async {
            while is_processing(&server).await != json!(false) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(1), idle)
            .await
            .unwrap_or_else(|_| panic!("{wire:?}: the slot is still busy"));
    }
}

async fn is_processing(server: &Foreign) -> Value {
    server.get("/slots", KEY).await[0]["is_processing"].clone()
}

fn worked_examples(model: &str) -> ModelRequest {
    let mut request = request(model, "Read the file src/lib.rs");
    request.tools = vec!["read".to_owned()];
    request.max_output_tokens = Some(64);
    for (index, (path, next)) in [
        ("src/lib.rs", "Read the file Cargo.toml"),
        ("Cargo.toml", "Read the file src/main.rs"),
    ]
    .into_iter()
    .enumerate()
    {
        let id = ToolCallId::new(format!("call_{index}"));
        let call = ToolCall {
            id: id.clone(),
            name: "read".to_owned(),
            arguments: json!({"path": path}).to_string(),
            raw: None,
        };
        request.messages.push(Message {
            role: Role::Assistant,
            blocks: vec![Block::ToolCall(call)],
        });
        let result = Block::ToolResult {
            call: id,
            text: "ok".to_owned(),
            is_error: false,
        };
        request.messages.push(Message {
            role: Role::User,
            blocks: vec![result],
        });
        request.messages.push(Message {
            role: Role::Assistant,
            blocks: vec![Block::text("Done.")],
        });
        request.messages.push(user(next));
    }
    request
}
