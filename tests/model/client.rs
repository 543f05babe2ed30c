//! The real client against a server that sends exactly these bytes.

use std::time::Duration;

use outrigger::kernel::conversation::{Block, ModelErrorKind, ModelFailure, ModelTurn, StopReason};
use outrigger::model::classify::Stage;
use outrigger::model::clocks::Clocks;
use outrigger::model::endpoint::ProviderSettings;
use outrigger::model::script::{Cursor, PlannedTurn, Script};
use outrigger::model::turn::finish;
use outrigger::model::wire::Wire;
use serde_json::{Value, json};

use crate::recorded_errors::rows;
use crate::server::{Answer, End, Server};
use crate::support::{Seen, answer, request, run, tools};
use crate::wire_bytes::{WIRES, bare_stop, error_event, first_event, stream_of};

const SCRIPT: &str = r#"{"script":1,"model":"m-1"}
{"emit":[{"thinking":"größer… 考える","signature":"c2ln"},{"text":"Ich lese beide: 完了 🦀."},{"tool":"read","id":"call_a","args":{"path":"src/ü.rs"}},{"tool":"edit","id":"call_b","args":{"path":"b","new":"\"quoted\"\n\t\\"}}],"usage":{"in":412,"out":31,"cache_read":100}}
{"emit":[{"text":"The limit came fi"},{"tool":"edit","id":"call_c","raw_tool_args":"{\"path\":\"src/li"}],"stop":"max_tokens","usage":{"in":9,"out":8}}
{"emit":[{"text":"Done."}],"usage":{"in":1,"out":2}}"#;

fn planned_turns() -> Vec<PlannedTurn> {
    let script = Script::parse("client", SCRIPT).unwrap();
    let mut cursor = Cursor::default();
    (0..3)
        .map(|_| {
            cursor
                .next(&script, &request("scripted:client", "go"), &[])
                .unwrap()
        })
        .collect()
}

/// What both ways must agree on: everything but the provider's raw blocks, and signatures, which one wire alone has.
fn comparable(mut turn: ModelTurn) -> ModelTurn {
    for block in &mut turn.blocks {
        match block {
            Block::Text { raw, .. } => *raw = None,
            Block::Thinking { raw, signature, .. } => (*raw, *signature) = (None, None),
            Block::ToolCall(call) => {
                call.raw = None;
                if let Ok(arguments) = serde_json::from_str::<Value>(&call.arguments) {
                    call.arguments = arguments.to_string();
                }
            }
            Block::Image { .. } | Block::ToolResult { .. } | Block::Opaque { .. } => {}
        }
    }
    turn
}

async fn ask(server: &Server, wire: Wire) -> Result<ModelTurn, ModelFailure> {
    server
        .models(wire)
        .call(&run("r"), request("test/m-1", "go"), &tools(), |_| {})
        .await
}

#[tokio::test]
async fn a_script_in_process_and_as_wire_bytes_gives_the_same_turn() {
    for planned in planned_turns() {
        let expected = comparable(finish(planned.draft(), None).unwrap());
        for wire in WIRES {
            let whole = Answer::stream(stream_of(wire, &planned));
            let no_final_line = Answer::stream(stream_of(wire, &planned).trim_end().to_owned());
            for answer in [
                whole.clone(),
                whole.clone().in_pieces(7),
                whole.ending(End::InsideChunk).in_pieces(100),
                no_final_line,
            ] {
                let server = Server::start(vec![answer.clone()]).await;
                let turn = ask(&server, wire)
                    .await
                    .unwrap_or_else(|failure| panic!("{wire:?} {:?}: {failure:?}", answer.end));
                assert_eq!(comparable(turn), expected, "{wire:?}");
            }
        }
    }
}

#[tokio::test]
async fn progress_shows_the_turn_while_it_arrives() {
    let planned = &planned_turns()[0];
    for wire in WIRES {
        let server =
            Server::start(vec![Answer::stream(stream_of(wire, planned)).in_pieces(7)]).await;
        let mut seen = Seen::default();
        server
            .models(wire)
            .call(&run("r"), request("test/m-1", "go"), &tools(), |piece| {
                seen.take(piece);
            })
            .await
            .unwrap();
        assert_eq!(
            (
                seen.text.as_str(),
                seen.thinking.as_str(),
                seen.calls.as_slice()
            ),
            (
                "Ich lese beide: 完了 🦀.",
                "größer… 考える",
                ["read".to_owned(), "edit".to_owned()].as_slice()
            ),
            "{wire:?}"
        );
    }
}

/// A cut anywhere gives the complete turn, if nothing was missing from it, or a network failure.
#[tokio::test]
async fn a_stream_cut_at_any_byte_is_a_complete_turn_or_a_failure_and_never_half_a_call() {
    let planned = &planned_turns()[0];
    let expected = comparable(finish(planned.draft(), None).unwrap());
    for wire in WIRES {
        let stream = stream_of(wire, planned).into_bytes();
        for end in [End::Fin, End::InsideChunk, End::Reset] {
            let answers: Vec<Answer> = (0..stream.len())
                .map(|cut| Answer::stream(&stream[..cut]).ending(end))
                .collect();
            let server = Server::start(answers).await;
            let models = server.models(wire);
            let mut complete = 0;
            for cut in 0..stream.len() {
                match models
                    .call(&run("r"), request("test/m-1", "go"), &tools(), |_| {})
                    .await
                {
                    Ok(turn) => {
                        complete += 1;
                        let turn = comparable(turn);
                        assert_eq!(
                            (&turn.blocks, &turn.stop),
                            (&expected.blocks, &expected.stop),
                            "{wire:?} {end:?} cut at {cut}"
                        );
                    }
                    Err(failure) => {
                        assert_eq!(
                            (failure.kind, failure.retryable),
                            (ModelErrorKind::Network, true),
                            "{wire:?} {end:?} cut at {cut}: {failure:?}"
                        );
                    }
                }
            }
            // Only a cut behind the stop reason leaves a complete turn; a reset may throw even that away.
            let most = stream.len() / 3;
            assert!(
                complete < most && (complete > 0 || end == End::Reset),
                "{wire:?} {end:?}: {complete} of {}",
                stream.len()
            );
        }
    }
}

#[tokio::test]
async fn every_recorded_error_is_right_through_the_client_on_each_wire() {
    let mut wrong = Vec::new();
    let rows = rows();
    for wire in WIRES {
        let answers: Vec<Answer> = rows
            .iter()
            .map(|row| replayed(wire, row.stage, row.status, &row.body))
            .collect();
        let server = Server::start(answers).await;
        let models = server.models(wire);
        for row in &rows {
            let result = models
                .call(&run("r"), request("test/m-1", "go"), &tools(), |_| {})
                .await;
            let kind = match &result {
                // An answer that is merely cut is a turn, whose stop reason says so.
                Ok(turn) if turn.stop == StopReason::MaxTokens => ModelErrorKind::MaxOutput,
                Ok(turn) => panic!("{} became a turn: {turn:?}", row.id),
                Err(failure) => failure.kind,
            };
            if kind != row.class {
                wrong.push(format!(
                    "{wire:?} {}: is {:?}, was taken for {kind:?}: {result:?}",
                    row.id, row.class
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a script says by reference to a recorded error is what a server that sends it comes to.
#[tokio::test]
async fn a_recorded_error_fails_the_same_in_process_and_as_wire_bytes() {
    if std::env::var_os("OUTRIGGER_PROVIDER_ERRORS").is_some() {
        // Scripts refer to the recorded errors that are compiled in.
        return;
    }
    let rows = rows();
    let faults: Vec<String> = rows
        .iter()
        .map(|row| format!(r#"{{"fault":{{"ref":"{}"}}}}"#, row.id))
        .collect();
    let script = format!("{{\"script\":1}}\n{}", faults.join("\n"));
    let scripted = outrigger::model::Models::new(outrigger::model::ModelsConfig::default())
        .with_script("faults", script);
    let answers: Vec<Answer> = rows
        .iter()
        .map(|row| replayed(Wire::OpenAi, row.stage, row.status, &row.body))
        .collect();
    let server = Server::start(answers).await;
    let models = server.models(Wire::OpenAi);
    let kind = |result: Result<ModelTurn, ModelFailure>| match result {
        Ok(turn) => {
            assert_eq!(turn.stop, StopReason::MaxTokens, "{turn:?}");
            (ModelErrorKind::MaxOutput, None)
        }
        Err(failure) => (failure.kind, failure.tokens),
    };
    for row in &rows {
        let in_process = scripted
            .call(
                &run("r"),
                request("scripted:faults", "go"),
                &tools(),
                |_| {},
            )
            .await;
        let on_the_wire = models
            .call(&run("r"), request("test/m-1", "go"), &tools(), |_| {})
            .await;
        assert_eq!(kind(in_process), kind(on_the_wire), "{}", row.id);
    }
}

/// The error as a server would send it: by status and body, by an event inside a stream, or by the reason to stop.
fn replayed(wire: Wire, stage: Stage, status: Option<u16>, body: &str) -> Answer {
    if let Some(status) = status.filter(|status| *status >= 400) {
        return Answer::json(status, body);
    }
    let json = serde_json::from_str::<Value>(body).ok();
    if stage == Stage::Finish {
        let word = json.as_ref().and_then(|body| {
            let paths = [
                "/stop_reason",
                "/choices/0/finish_reason",
                "/candidates/0/finishReason",
                "/finish_reason",
                "/delta/stop_reason",
                "/promptFeedback/blockReason",
            ];
            paths.iter().find_map(|path| body.pointer(path)?.as_str())
        });
        let own = match (word.unwrap_or_default(), wire) {
            ("end_turn" | "stop" | "STOP" | "", _) => None,
            ("length" | "max_tokens" | "MAX_TOKENS", Wire::Anthropic) => Some("max_tokens"),
            ("length" | "max_tokens" | "MAX_TOKENS", Wire::OpenAi) => Some("length"),
            ("length" | "max_tokens" | "MAX_TOKENS", Wire::Gemini) => Some("MAX_TOKENS"),
            (word, _) => Some(word),
        };
        return Answer::stream(bare_stop(wire, own));
    }
    let event = json
        .filter(|body| body.get("error").is_some())
        .unwrap_or_else(|| json!({"error": {"message": body}}));
    let beginning = first_event(&stream_of(wire, &planned_turns()[2]));
    Answer::stream(beginning + &error_event(wire, &event))
}

#[tokio::test]
async fn a_success_that_is_an_error_is_an_error_whatever_it_calls_itself() {
    for wire in WIRES {
        for answer in [
            Answer::json(
                200,
                r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            ),
            Answer::stream(r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#),
            Answer::json(
                200,
                r#"[{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]"#,
            ),
        ] {
            let server = Server::start(vec![answer]).await;
            let failure = ask(&server, wire).await.unwrap_err();
            assert_eq!(
                (failure.kind, failure.status),
                (ModelErrorKind::Overloaded, Some(200)),
                "{wire:?}"
            );
        }
        for nonsense in ["<html>Login</html>", "{}", "[]", "{\"half\":", "[1"] {
            let server = Server::start(vec![Answer::json(200, nonsense)]).await;
            assert!(ask(&server, wire).await.is_err(), "{wire:?} {nonsense}");
        }
    }
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let table = [
        (
            Wire::Anthropic,
            json!({"type": "message", "model": "m", "content": [{"type": "text", "text": "Hi"}, {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "x"}}], "stop_reason": "tool_use", "usage": {"input_tokens": 5, "output_tokens": 6}}),
        ),
        (
            Wire::OpenAi,
            json!({"model": "m", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"x\"}"}}]}, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 5, "completion_tokens": 6}}),
        ),
        (
            Wire::Gemini,
            json!([{"modelVersion": "m", "candidates": [{"content": {"parts": [{"text": "Hi"}, {"functionCall": {"id": "a", "name": "read", "args": {"path": "x"}}}]}, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 6}}]),
        ),
    ];
    for (wire, body) in table {
        let server = Server::start(vec![Answer::json(200, body.to_string())]).await;
        let turn = ask(&server, wire).await.unwrap();
        let call = turn.tool_calls().next().unwrap();
        assert_eq!(
            (turn.text(), call.id.as_str(), call.arguments.as_str()),
            ("Hi".to_owned(), "a", r#"{"path":"x"}"#),
            "{wire:?}"
        );
        assert_eq!(
            (turn.usage.input, turn.usage.output, turn.stop.clone()),
            (5, 6, StopReason::ToolUse)
        );
    }
}

#[tokio::test]
async fn waits_that_a_provider_asks_for_are_read_from_header_and_body() {
    let rate = r#"{"error":{"message":"Rate limit reached. Please try again in 1m2.5s."}}"#;
    let google =
        r#"{"error":{"code":429,"message":"Resource exhausted","details":[{"retryDelay":"26s"}]}}"#;
    type Row<'a> = (&'a [(&'a str, &'a str)], &'a str, Option<u64>);
    let table: [Row; 8] = [
        (&[("retry-after", "2")], "", Some(2_000)),
        (
            &[("retry-after-ms", "150"), ("retry-after", "1")],
            "",
            Some(150),
        ),
        (&[("retry-after", "0.5")], rate, Some(500)),
        (&[], rate, Some(62_500)),
        (&[], google, Some(26_000)),
        (
            &[("retry-after", "soon")],
            "Please retry after 60 seconds.",
            Some(60_000),
        ),
        (
            &[
                ("x-ratelimit-remaining-tokens", "0"),
                ("x-ratelimit-reset-tokens", "6m0s"),
            ],
            "",
            Some(360_000),
        ),
        (&[], "Too Many Requests", None),
    ];
    for (headers, body, wait) in table {
        let mut answer = Answer::json(429, body);
        answer.headers.extend(
            headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        let server = Server::start(vec![answer]).await;
        let failure = ask(&server, Wire::OpenAi).await.unwrap_err();
        assert_eq!(
            (failure.kind, failure.retry_after_ms),
            (ModelErrorKind::RateLimit, wait),
            "{headers:?} {body}"
        );
    }
}

fn hurried(wire: Wire) -> ProviderSettings {
    let clocks = Clocks {
        connect: Duration::from_secs(5),
        headers: Duration::from_secs(5),
        first_event: Duration::from_millis(150),
        idle: Duration::from_millis(150),
        total: Duration::from_secs(20),
    };
    ProviderSettings {
        wire: Some(wire),
        clocks: Some(clocks),
        ..ProviderSettings::default()
    }
}

#[tokio::test]
async fn silence_is_a_timeout_and_comments_and_pings_are_silence() {
    for wire in WIRES {
        let stream = stream_of(wire, &planned_turns()[2]);
        let first = first_event(&stream);
        let pings = ": keep-alive\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n".repeat(50);
        for body in [String::new(), first.clone(), first + &pings, pings] {
            let server = Server::start(vec![Answer::stream(body).ending(End::Hang)]).await;
            let failure = server
                .models_with(hurried(wire))
                .call(&run("r"), request("test/m", "go"), &[], |_| {})
                .await
                .unwrap_err();
            assert_eq!(
                (failure.kind, failure.retryable),
                (ModelErrorKind::Timeout, true),
                "{wire:?}: {failure:?}"
            );
        }
    }
}

#[tokio::test]
async fn the_total_clock_ends_a_stream_that_never_stops() {
    let mut settings = hurried(Wire::OpenAi);
    if let Some(clocks) = &mut settings.clocks {
        clocks.total = Duration::from_millis(200);
        clocks.idle = Duration::from_secs(60);
    }
    let body = "data: {\"choices\":[{\"delta\":{\"content\":\"and so on \"}}]}\n\n".repeat(20);
    let server = Server::start(vec![Answer::stream(body).ending(End::Hang)]).await;
    let failure = server
        .models_with(settings)
        .call(&run("r"), request("test/m", "go"), &[], |_| {})
        .await
        .unwrap_err();
    assert_eq!(
        (failure.kind, failure.raw.as_str()),
        (
            ModelErrorKind::Timeout,
            "timed out: the whole call took longer than 0 s"
        )
    );
}

#[tokio::test]
async fn a_dropped_call_closes_its_connection() {
    for wire in WIRES {
        let stream = stream_of(wire, &planned_turns()[0]);
        let half = stream[..stream.floor_char_boundary(stream.len() / 2)].to_owned();
        let server = Server::start(vec![Answer::stream(half).ending(End::Hang)]).await;
        let models = server.models(wire);
        let (alive, mut is_alive) = tokio::sync::mpsc::unbounded_channel();
        let call = tokio::spawn(async move {
            models
                .call(&run("r"), request("test/m", "go"), &tools(), move |_| {
                    let _ = alive.send(());
                })
                .await
        });
        is_alive.recv().await.expect("the call shows life");
        call.abort();
        tokio::time::timeout(Duration::from_secs(1), server.closed.notified())
            .await
            .expect("the server notices within a second");
    }
}

#[tokio::test]
async fn a_missing_end_mark_is_no_error_even_when_the_connection_stays() {
    let stream = stream_of(Wire::OpenAi, &planned_turns()[2]).replace("data: [DONE]\r\n\r\n", "");
    for end in [End::Fin, End::Reset, End::Hang] {
        let server = Server::start(vec![Answer::stream(stream.clone()).ending(end)]).await;
        match ask(&server, Wire::OpenAi).await {
            Ok(turn) => assert_eq!(turn.text(), "Done."),
            // A reset may overtake the bytes before it.
            Err(failure) => assert!(
                end == End::Reset && failure.kind == ModelErrorKind::Network,
                "{end:?} {failure:?}"
            ),
        }
    }
}

#[tokio::test]
async fn nothing_listens_and_nobody_has_that_name() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let server = Server {
        base_url,
        received: Default::default(),
        closed: Default::default(),
    };
    let failure = ask(&server, Wire::Anthropic).await.unwrap_err();
    assert_eq!(
        (failure.kind, failure.status),
        (ModelErrorKind::Network, None),
        "{failure:?}"
    );
}

#[tokio::test]
async fn a_history_round_trips_to_the_wire_it_came_from() {
    let table = [
        (
            Wire::Anthropic,
            concat!(
                "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"m\"}}\n\n",
                "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n",
                "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm \"}}\n\n",
                "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"EqQB\"}}\n\n",
                "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
                "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"redacted_thinking\",\"data\":\"Zm9v\"}}\n\n",
                "data: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
                "data: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"read\",\"input\":{},\"caller\":{\"type\":\"direct\"}}}\n\n",
                "data: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"path\\\":\\\"a\\\"}\"}}\n\n",
                "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
            ),
            "/messages/1/content",
            json!([
                {"type": "thinking", "thinking": "hm ", "signature": "EqQB"},
                {"type": "redacted_thinking", "data": "Zm9v"},
                {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a"}, "caller": {"type": "direct"}}
            ]),
        ),
        (
            Wire::Gemini,
            concat!(
                "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hm\",\"thought\":true}]}}]}\n\n",
                "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"On \"}]}}]}\n\ndata: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"it.\"}]}}]}\n\n",
                "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"read\",\"args\":{\"path\":\"a\"}},\"thoughtSignature\":\"c2ln\"}]},\"finishReason\":\"STOP\"}]}\n\n",
            ),
            "/contents/1/parts",
            json!([{"text": "On it."}, {"functionCall": {"name": "read", "args": {"path": "a"}}, "thoughtSignature": "c2ln"}]),
        ),
        (
            Wire::OpenAi,
            concat!(
                "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"h\",\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"h\",\"index\":0}]}}]}\n\n",
                "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"m\",\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"m\",\"index\":0,\"signature\":\"s\"}]}}]}\n\n",
                "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"t1\",\"type\":\"function\",\"function\":{\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\\\"a\\\"}\"},\"extra_content\":{\"google\":{\"thought_signature\":\"x\"}}}]},\"finish_reason\":\"tool_calls\"}]}\n\n",
                "data: [DONE]\n\n",
            ),
            "/messages/2",
            json!({
                "role": "assistant", "content": null,
                "reasoning_details": [{"type": "reasoning.text", "text": "hm", "index": 0, "signature": "s"}],
                "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}, "extra_content": {"google": {"thought_signature": "x"}}}]
            }),
        ),
    ];
    let quirks = outrigger::model::wire::Quirks {
        reasoning_field: Some("reasoning_details".to_owned()),
        ..Default::default()
    };
    for (wire, stream, place, expected) in table {
        let server = Server::start(vec![Answer::stream(stream), Answer::stream(stream)]).await;
        let models = server.models_with(ProviderSettings {
            wire: Some(wire),
            quirks: Some(quirks.clone()),
            ..ProviderSettings::default()
        });
        let mut history = request("test/m", "go");
        let turn = models
            .call(&run("r"), history.clone(), &tools(), |_| {})
            .await
            .unwrap();
        answer(&mut history, &turn, &["content of a"]);
        models
            .call(&run("r"), history.clone(), &tools(), |_| {})
            .await
            .unwrap();
        let sent = server.last_request().body;
        assert_eq!(sent.pointer(place), Some(&expected), "{wire:?}: {sent:#}");

        // Another wire gets what it understands of it, and nothing it would refuse.
        for other in WIRES.into_iter().filter(|other| *other != wire) {
            let end =
                Server::start(vec![Answer::stream(stream_of(other, &planned_turns()[2]))]).await;
            end.models(other)
                .call(&run("r"), history.clone(), &tools(), |_| {})
                .await
                .unwrap();
            let sent = end.last_request().body.to_string();
            for foreign in [
                "EqQB",
                "redacted",
                "caller",
                "c2ln",
                "reasoning",
                "extra_content",
                "thoughtSignature",
            ] {
                assert!(
                    !sent.contains(foreign),
                    "{wire:?} to {other:?}: {foreign} in {sent}"
                );
            }
            assert!(
                sent.contains("content of a") && sent.contains("read"),
                "{sent}"
            );
        }
    }
}

#[tokio::test]
async fn an_error_event_is_an_error_in_every_form_it_is_sent() {
    let flat = r#"{"code":500,"message":"The model produced output that does not match the expected format","type":"server_error"}"#;
    for wire in WIRES {
        let first = first_event(&stream_of(wire, &planned_turns()[2]));
        for event in [
            format!("event: error\ndata: {flat}\n\n"),
            format!("error: {flat}\n\n"),
            format!("data: {flat}\n\n"),
            format!("data: {{\"error\":{flat}}}\n\n"),
        ] {
            let server = Server::start(vec![Answer::stream(format!("{first}{event}"))]).await;
            let failure = ask(&server, wire).await.unwrap_err();
            assert_eq!(
                (failure.kind, failure.status),
                (ModelErrorKind::MalformedToolCall, Some(200)),
                "{wire:?} {event}"
            );
        }
    }
}
