//! What is sent: bodies on each wire, keys and where they may go, addresses, the choice of a model.

use std::collections::BTreeMap;

use outrigger::kernel::conversation::{
    Block, Message, ModelErrorKind, ModelRequest, Role, ToolCall,
};
use outrigger::kernel::ids::ToolCallId;
use outrigger::model::endpoint::{Environment, ProviderSettings, providers, resolve};
use outrigger::model::secret::Secret;
use outrigger::model::wire::{Quirks, Target, Wire, encode};
use outrigger::model::{Asking, Models, ModelsConfig, ProviderState};
use serde_json::{Map, Value, json};

use crate::server::{Answer, Server};
use crate::support::{request, run, tools, user};
use crate::wire_bytes::{WIRES, bare_stop};

/// A conversation with everything in it: an image, parallel calls, a failed result, a broken call of the past.
fn conversation() -> ModelRequest {
    let mut request = request("p/m", "look");
    request.tools = vec!["read".to_owned()];
    request.max_output_tokens = Some(900);
    request.messages[0].blocks.push(Block::Image {
        media_type: "image/png".to_owned(),
        base64: "iVBO".to_owned(),
    });
    let call = |id: &str, arguments: &str| {
        Block::ToolCall(ToolCall {
            id: ToolCallId::new(id),
            name: "read".to_owned(),
            arguments: arguments.to_owned(),
            raw: None,
        })
    };
    request.messages.push(Message {
        role: Role::Assistant,
        blocks: vec![
            Block::Thinking {
                text: "unsigned".to_owned(),
                signature: None,
                raw: None,
            },
            Block::text("Two files."),
            call("c1", r#"{"path":"a"}"#),
            call("c2", r#"{"path":"#),
        ],
    });
    let result = |id: &str, text: &str, is_error| Block::ToolResult {
        call: ToolCallId::new(id),
        text: text.to_owned(),
        is_error,
    };
    request.messages.push(Message {
        role: Role::User,
        blocks: vec![
            Block::text("and this"),
            result("c1", "A", false),
            result("c2", "not readable", true),
        ],
    });
    request.messages.push(user("go on"));
    request
}

fn body(wire: Wire, quirks: &Quirks, model: &str, request: &ModelRequest) -> Value {
    let target = Target {
        model,
        quirks,
        default_output: 8192,
        extra: &Map::new(),
    };
    encode(wire, &target, request, &tools()).body
}

#[test]
fn anthropic_gets_results_first_cache_marks_and_an_object_for_every_input() {
    let mark = json!({"type": "ephemeral"});
    let expected = json!({
        "model": "m", "max_tokens": 900, "stream": true,
        "system": [{"type": "text", "text": "You are careful.", "cache_control": mark}],
        "tools": [{"name": "read", "description": "read a file", "input_schema": tools()[0].schema, "cache_control": mark}],
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "look"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}, "cache_control": mark}]},
            {"role": "assistant", "content": [
                {"type": "text", "text": "Two files."},
                {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}},
                {"type": "tool_use", "id": "c2", "name": "read", "input": {"unreadable_arguments": "{\"path\":"}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "A"}]},
                {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "not readable"}], "is_error": true},
                {"type": "text", "text": "and this"},
                {"type": "text", "text": "go on", "cache_control": mark}]},
        ],
    });
    assert_eq!(
        body(Wire::Anthropic, &Quirks::default(), "m", &conversation()),
        expected
    );
}

#[test]
fn openai_gets_tool_messages_and_what_each_server_wants() {
    let plain = body(Wire::OpenAi, &Quirks::default(), "m", &conversation());
    let expected = json!([
        {"role": "system", "content": "You are careful."},
        {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}}]},
        {"role": "assistant", "content": "Two files.", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}},
            {"id": "c2", "type": "function", "function": {"name": "read", "arguments": "{\"unreadable_arguments\":\"{\\\"path\\\":\"}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "A"},
        {"role": "tool", "tool_call_id": "c2", "content": "not readable"},
        {"role": "user", "content": "and this\n\ngo on"},
    ]);
    assert_eq!(plain["messages"], expected);
    assert_eq!(
        (&plain["max_tokens"], &plain["stream_options"]),
        (&json!(900), &json!({"include_usage": true}))
    );

    let mistral = Quirks {
        short_tool_ids: true,
        no_stream_options: true,
        ..Quirks::default()
    };
    let sent = body(Wire::OpenAi, &mistral, "m", &conversation());
    let id = sent["messages"][2]["tool_calls"][0]["id"].as_str().unwrap();
    assert!(
        id.len() == 9 && id.chars().all(|letter| letter.is_ascii_alphanumeric()),
        "{id}"
    );
    assert_eq!(
        (
            sent["messages"][3]["tool_call_id"].as_str(),
            sent.get("stream_options")
        ),
        (Some(id), None)
    );

    let deepseek = Quirks {
        reasoning_field: Some("reasoning_content".to_owned()),
        max_completion_tokens: true,
        ..Quirks::default()
    };
    let sent = body(Wire::OpenAi, &deepseek, "m", &conversation());
    assert_eq!(
        (
            &sent["messages"][2]["reasoning_content"],
            &sent["max_completion_tokens"]
        ),
        (&json!("unsigned"), &json!(900))
    );

    let router = Quirks {
        cache_control_for: Some("anthropic/".to_owned()),
        ..Quirks::default()
    };
    assert!(
        body(Wire::OpenAi, &router, "anthropic/x", &conversation())
            .to_string()
            .matches("ephemeral")
            .count()
            == 2
    );
    assert!(
        !body(Wire::OpenAi, &router, "qwen/x", &conversation())
            .to_string()
            .contains("ephemeral")
    );
}

#[test]
fn gemini_gets_parts_and_names_for_results() {
    let sent = body(
        Wire::Gemini,
        &Quirks::default(),
        "gemini-2.5-pro",
        &conversation(),
    );
    let expected = json!([
        {"role": "user", "parts": [{"text": "look"}, {"inlineData": {"mimeType": "image/png", "data": "iVBO"}}]},
        {"role": "model", "parts": [{"text": "Two files."}, {"functionCall": {"name": "read", "args": {"path": "a"}}},
            {"functionCall": {"name": "read", "args": {"unreadable_arguments": "{\"path\":"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"output": "A"}}},
            {"functionResponse": {"name": "read", "response": {"error": "not readable"}}}, {"text": "and this"}, {"text": "go on"}]},
    ]);
    assert_eq!(sent["contents"], expected);
    assert_eq!(
        sent["systemInstruction"],
        json!({"parts": [{"text": "You are careful."}]})
    );
    assert_eq!(
        sent["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"],
        tools()[0].schema
    );
    let newer = body(
        Wire::Gemini,
        &Quirks::default(),
        "gemini-3-pro",
        &conversation(),
    );
    assert_eq!(
        newer["contents"][1]["parts"][1]["thoughtSignature"],
        json!("skip_thought_signature_validator")
    );
    assert_eq!(
        newer["contents"][1]["parts"][2].get("thoughtSignature"),
        None,
        "only the first call of a turn needs one"
    );
}

#[test]
fn a_history_with_calls_describes_their_tools_even_when_none_is_on_offer() {
    let mut request = conversation();
    request.tools.clear();
    let places = [
        ("/tools/0/name", "/tool_choice/type"),
        ("/tools/0/function/name", "/tool_choice"),
        (
            "/tools/0/functionDeclarations/0/name",
            "/toolConfig/functionCallingConfig/mode",
        ),
    ];
    for (wire, (name, choice)) in WIRES.into_iter().zip(places) {
        let sent = body(wire, &Quirks::default(), "m", &request);
        assert_eq!(sent.pointer(name), Some(&json!("read")), "{wire:?}");
        assert!(
            sent.pointer(choice)
                .and_then(Value::as_str)
                .unwrap()
                .eq_ignore_ascii_case("none"),
            "{wire:?}"
        );
        assert!(
            !sent.to_string().contains("edit a file"),
            "{wire:?}: only tools of the history"
        );
    }
}

#[test]
fn an_answer_that_is_to_be_continued_does_not_end_in_a_space() {
    let mut request = request("p/m", "write");
    request.messages.push(Message {
        role: Role::Assistant,
        blocks: vec![Block::text("Once upon \n")],
    });
    let sent = body(Wire::Anthropic, &Quirks::default(), "m", &request);
    assert_eq!(
        sent["messages"][1]["content"][0]["text"],
        json!("Once upon")
    );
}

#[tokio::test]
async fn keys_headers_and_extra_fields_arrive_and_nothing_shows_the_key() {
    let table = [
        (Wire::Anthropic, "x-api-key", "sesame", "/v1/messages"),
        (
            Wire::OpenAi,
            "authorization",
            "Bearer sesame",
            "/chat/completions",
        ),
        (
            Wire::Gemini,
            "x-goog-api-key",
            "sesame",
            "/models/m-1:streamGenerateContent?alt=sse",
        ),
    ];
    for (wire, header, value, path) in table {
        let server = Server::start(vec![Answer::stream(bare_stop(wire, None))]).await;
        let settings = ProviderSettings {
            wire: Some(wire),
            key: Secret::new("sesame"),
            headers: vec![("x-team".to_owned(), "blue".to_owned())],
            extra_body: Map::from_iter([("temperature".to_owned(), json!(0))]),
            ..ProviderSettings::default()
        };
        let models = server.models_with(settings);
        assert!(!format!("{models:?}").contains("sesame"));
        let failure = models
            .call(&run("r"), request("test/m-1", "hi"), &tools(), |_| {})
            .await
            .unwrap_err();
        assert_eq!(failure.kind, ModelErrorKind::Empty);
        let sent = server.last_request();
        assert_eq!(
            (
                sent.headers.get(header).map(String::as_str),
                sent.path.as_str()
            ),
            (Some(value), path),
            "{wire:?}"
        );
        assert_eq!(
            (
                sent.headers.get("x-team").map(String::as_str),
                &sent.body["temperature"]
            ),
            (Some("blue"), &json!(0))
        );
    }
}

#[tokio::test]
async fn a_redirect_does_not_carry_the_key_away() {
    let elsewhere = Server::start(vec![Answer::json(200, "{}")]).await;
    let mut redirect = Answer::json(307, "");
    redirect.headers.push((
        "location".to_owned(),
        format!("{}/v1/messages", elsewhere.base_url),
    ));
    let server = Server::start(vec![redirect]).await;
    let models = server.models_with(ProviderSettings {
        wire: Some(Wire::Anthropic),
        key: Secret::new("sesame"),
        ..ProviderSettings::default()
    });
    let failure = models
        .call(&run("r"), request("test/m", "hi"), &[], |_| {})
        .await
        .unwrap_err();
    assert_eq!(
        (failure.kind, failure.status, failure.retryable),
        (ModelErrorKind::InvalidRequest, Some(307), false)
    );
    assert!(elsewhere.received.lock().unwrap().is_empty());
}

#[test]
fn a_name_becomes_an_address_or_a_sentence_that_says_what_to_set() {
    let none = Environment::default();
    let keys = Environment::from([
        ("ANTHROPIC_API_KEY", "k"),
        ("AZURE_OPENAI_API_KEY", "k"),
        ("OPENAI_API_KEY", "k"),
        ("OPENAI_BASE_URL", "https://proxy.example/v1/"),
    ]);
    let own = |url: &str, key: Option<&str>| {
        let settings = ProviderSettings {
            wire: Some(Wire::OpenAi),
            base_url: Some(url.to_owned()),
            key: key.and_then(Secret::new),
            ..ProviderSettings::default()
        };
        BTreeMap::from([("mine".to_owned(), settings)])
    };
    let nothing = BTreeMap::new();
    let good = [
        (
            resolve("anthropic/claude-sonnet-4-5", &nothing, &keys),
            "https://api.anthropic.com",
            false,
        ),
        (
            resolve("openai/gpt-5", &nothing, &keys),
            "https://proxy.example/v1",
            false,
        ),
        (
            resolve("ollama/qwen3:8b", &nothing, &none),
            "http://127.0.0.1:11434/v1",
            true,
        ),
        (
            resolve("mine/a/b", &own("https://m.example", Some("k")), &none),
            "https://m.example",
            false,
        ),
        (
            resolve("mine/a", &own("http://[::1]:9/v1", Some("k")), &none),
            "http://[::1]:9/v1",
            true,
        ),
        (
            resolve("mine/a", &own("http://localhost:9", None), &none),
            "http://localhost:9",
            true,
        ),
    ];
    for (endpoint, url, is_local) in good {
        let endpoint = endpoint.unwrap();
        assert_eq!(
            (endpoint.base_url.as_str(), endpoint.is_local),
            (url, is_local)
        );
    }
    let bad = [
        (
            resolve("gpt-5", &nothing, &keys),
            ModelErrorKind::ModelNotFound,
            "write it as provider/model",
        ),
        (
            resolve("nobody/x", &nothing, &keys),
            ModelErrorKind::ModelNotFound,
            "known are anthropic, openai, gemini",
        ),
        (
            resolve("openai/", &nothing, &keys),
            ModelErrorKind::ModelNotFound,
            "write it as provider/model",
        ),
        (
            resolve("gemini/gemini-2.5-pro", &nothing, &keys),
            ModelErrorKind::Auth,
            "set GEMINI_API_KEY or GOOGLE_API_KEY",
        ),
        (
            resolve("azure/x", &nothing, &keys),
            ModelErrorKind::InvalidRequest,
            "set AZURE_OPENAI_BASE_URL",
        ),
        (
            resolve("mine/a", &own("http://m.example", Some("k")), &none),
            ModelErrorKind::InvalidRequest,
            "would travel unprotected",
        ),
        (
            resolve("mine/a", &own("ftp://m.example", Some("k")), &none),
            ModelErrorKind::InvalidRequest,
            "is not an http address",
        ),
        (
            resolve("mine/a", &own("https://m.example", None), &none),
            ModelErrorKind::Auth,
            "mine needs a key",
        ),
    ];
    for (endpoint, kind, part) in bad {
        let failure = endpoint.unwrap_err();
        assert_eq!(
            (failure.kind, failure.retryable),
            (kind, false),
            "{}",
            failure.advice
        );
        assert!(failure.advice.contains(part), "{}", failure.advice);
    }
}

#[test]
fn the_table_of_providers_is_whole() {
    assert!(providers().len() >= 13);
    for provider in providers() {
        assert!(
            provider.base_url.is_some() || provider.base_url_env.is_some(),
            "{}",
            provider.name
        );
        assert!(
            provider.local || !provider.keys.is_empty(),
            "{}",
            provider.name
        );
    }
}

#[tokio::test]
async fn local_servers_are_found_by_asking_and_listed() {
    let list = json!({"object": "list", "data": [{"id": "nomic-embed-text"}, {"id": "qwen3:8b"}]});
    let server = Server::start(vec![Answer::json(200, list.to_string())]).await;
    let nowhere = "http://127.0.0.1:9/v1";
    let environment = Environment::from([
        ("OLLAMA_BASE_URL", server.base_url.as_str()),
        ("LMSTUDIO_BASE_URL", nowhere),
        ("LLAMACPP_BASE_URL", nowhere),
        ("VLLM_BASE_URL", server.base_url.as_str()),
    ]);
    let models = Models::new(ModelsConfig {
        environment,
        ..ModelsConfig::default()
    });
    let choice = models.choose().await.unwrap();
    assert_eq!(choice.model, "ollama/qwen3:8b");
    let listing = models.listing(Asking::All).await;
    assert_eq!(listing.choice.unwrap().model, "ollama/qwen3:8b");
    let rows = listing.providers;
    let state = |name: &str| {
        rows.iter()
            .find(|row| row.provider == name)
            .map(|row| row.state.clone())
            .unwrap()
    };
    assert_eq!(state("ollama"), ProviderState::Reachable);
    assert_eq!(state("lmstudio"), ProviderState::NotRunning);
    assert_eq!(
        state("vllm"),
        ProviderState::NotRunning,
        "a port that is anybody's must say who it is"
    );
    assert_eq!(
        state("xai"),
        ProviderState::Missing {
            set: vec!["XAI_API_KEY".to_owned()]
        }
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_key_may_come_from_the_keyring_and_a_missing_one_says_what_to_set() {
    let wire = Wire::OpenAi;
    let print = |script: &str| {
        Some(vec![
            "sh".to_owned(),
            "-c".to_owned(),
            script.to_owned(),
            "{provider}".to_owned(),
        ])
    };
    let ask = async |key_command| {
        // Not on loopback by its name, so that a key is needed.
        let settings = ProviderSettings {
            wire: Some(wire),
            base_url: Some("https://m.invalid".to_owned()),
            ..ProviderSettings::default()
        };
        let providers = BTreeMap::from([("mine".to_owned(), settings)]);
        let models = Models::new(ModelsConfig {
            providers,
            key_command,
            ..ModelsConfig::default()
        });
        models
            .call(&run("r"), request("mine/m", "hi"), &[], |_| {})
            .await
            .unwrap_err()
            .kind
    };
    // With a key the call leaves, and finds nobody.
    assert_eq!(
        ask(print("printf 'key-of-%s' \"$0\"")).await,
        ModelErrorKind::Network
    );
    for nothing in [
        print("exit 1"),
        print("true"),
        Some(vec!["no-such-tool-here".to_owned()]),
        None,
    ] {
        assert_eq!(ask(nothing).await, ModelErrorKind::Auth);
    }
}

#[test]
fn the_net_is_reached_through_what_the_user_says() {
    use outrigger::model::http::{Clients, Place, Transport};
    let client = |transport: Transport, place| Clients::default().client(&transport, place);
    let proxied = |proxy: &str| Transport {
        proxy: Some(proxy.to_owned()),
        ..Transport::default()
    };
    assert!(client(Transport::default(), Place::REMOTE).is_ok());
    assert!(client(proxied("http://127.0.0.1:3128"), Place::REMOTE).is_ok());
    assert!(
        client(proxied("not a url"), Place::REMOTE)
            .unwrap_err()
            .starts_with("failed to use the proxy: ")
    );
    assert!(
        client(proxied("not a url"), Place::LOCAL).is_ok(),
        "this machine is never reached through a proxy"
    );
    let roots = Transport {
        extra_roots_pem: vec![
            b"-----BEGIN CERTIFICATE-----\nnope\n-----END CERTIFICATE-----".to_vec(),
        ],
        ..Transport::default()
    };
    let problem = client(roots, Place::REMOTE).unwrap_err();
    assert!(
        problem.starts_with("failed to set up HTTP with your CA certificates: "),
        "{problem}"
    );
    let file = Transport {
        ca_files: vec!["no/such/file.pem".into()],
        ..Transport::default()
    };
    let problem = client(file, Place::REMOTE).unwrap_err();
    assert!(problem.contains("no/such/file.pem"), "{problem}");
}

#[tokio::test]
async fn a_server_on_this_machine_says_its_window_and_counts_with_its_own_tokenizer() {
    let tokens = |count: usize| Answer::json(200, json!({ "tokens": vec![7; count] }).to_string());
    let props = Answer::json(
        200,
        r#"{"default_generation_settings":{"n_ctx":512},"total_slots":1}"#,
    );
    let prompt = Answer::json(200, r#"{"prompt":"<|im_start|>…"}"#);
    let answer = Answer::stream(
        "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    );
    let server = Server::start(vec![
        props,
        prompt.clone(),
        tokens(600),
        prompt,
        tokens(480),
        answer,
    ])
    .await;
    let url = format!("{}/v1", server.base_url);
    let models = Models::new(ModelsConfig {
        environment: Environment::from([("LLAMACPP_BASE_URL", url.as_str())]),
        ..ModelsConfig::default()
    });
    let long = "word ".repeat(400);
    let failure = models
        .call(&run("r"), request("llamacpp/m", &long), &tools(), |_| {})
        .await
        .unwrap_err();
    assert_eq!(failure.kind, ModelErrorKind::PromptTooLong, "{failure:?}");
    let counted = failure.tokens.unwrap();
    assert_eq!((counted.actual, counted.limit), (Some(600), Some(512)));
    assert_eq!(models.context_window("llamacpp/m"), Some(512));
    let turn = models
        .call(&run("r"), request("llamacpp/m", &long), &tools(), |_| {})
        .await
        .unwrap();
    assert_eq!(turn.text(), "Hi");
    let paths: Vec<String> = server
        .received
        .lock()
        .unwrap()
        .iter()
        .map(|received| received.path.clone())
        .collect();
    assert_eq!(
        paths,
        [
            "/props",
            "/apply-template",
            "/tokenize",
            "/apply-template",
            "/tokenize",
            "/v1/chat/completions"
        ]
    );
}
