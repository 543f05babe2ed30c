//! Asks a provider for its list of models: free of charge everywhere, and it shows whether address and key are right.

use std::time::Duration;

use reqwest::RequestBuilder;
use serde::Serialize;
use serde_json::Value;

use crate::kernel::conversation::{ModelErrorKind, ModelRequest};

use super::classify::{Signal, Stage, classify};
use super::endpoint::Endpoint;
use super::http::chain;
use super::wire::{self, Encoded, Wire};

/// How long a provider may take to say what it has.
const PATIENCE: Duration = Duration::from_secs(6);
/// Bytes of the list that are read.
const LIST_CAP: usize = 8 * 1024 * 1024;

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum Reach {
    /// It was not asked.
    NotTried,
    Answers,
    /// It cannot be used like this: for people.
    Fails {
        kind: ModelErrorKind,
        advice: String,
    },
}

/// Asks; and the models it names, where it lists any.
pub async fn ask(client: &reqwest::Client, endpoint: &Endpoint) -> (Reach, Vec<String>) {
    let asking = tokio::time::timeout(PATIENCE, exchange(client, endpoint));
    match asking.await {
        Ok(answer) => answer,
        Err(_) => failed(
            endpoint,
            Stage::Client,
            None,
            "timed out: no list of models",
        ),
    }
}

async fn exchange(client: &reqwest::Client, endpoint: &Endpoint) -> (Reach, Vec<String>) {
    let (path, encoded) = (list_path(endpoint.wire), nothing(endpoint));
    let request = client.get(format!("{}{path}", endpoint.base_url));
    let sent = with_headers(request, endpoint, &encoded).send().await;
    let mut response = match sent {
        Ok(response) => response,
        Err(error) => return failed(endpoint, Stage::Client, None, &chain(&error)),
    };
    let status = response.status();
    let mut body: Vec<u8> = Vec::new();
    while let Ok(Some(piece)) = response.chunk().await {
        body.extend_from_slice(&piece);
        if body.len() > LIST_CAP {
            break;
        }
    }
    let list = serde_json::from_slice::<Value>(&body).ok();
    match list {
        Some(list) if status.is_success() && list.get("error").is_none_or(Value::is_null) => {
            (Reach::Answers, names(&list))
        }
        // A gateway without such a list is reached all the same.
        _ if matches!(status.as_u16(), 404 | 405 | 501) => (Reach::Answers, Vec::new()),
        _ => {
            let text = String::from_utf8_lossy(&body);
            failed(endpoint, Stage::Http, Some(status.as_u16()), &text)
        }
    }
}

fn list_path(wire: Wire) -> &'static str {
    match wire {
        Wire::Anthropic => "/v1/models?limit=1000",
        Wire::OpenAi => "/models",
        Wire::Gemini => "/models?pageSize=1000",
    }
}

/// The headers of a call, from a request that says nothing.
fn nothing(endpoint: &Endpoint) -> Encoded {
    let request = ModelRequest {
        model: endpoint.model.clone(),
        system: String::new(),
        messages: Vec::new(),
        tools: Vec::new(),
        max_output_tokens: None,
    };
    let target = wire::Target {
        model: &endpoint.model,
        quirks: &endpoint.quirks,
        default_output: 1,
        extra: &endpoint.extra_body,
    };
    wire::encode(endpoint.wire, &target, &request, &[])
}

/// A key that no header can carry is left out: the answer then says that there is none.
fn with_headers(
    mut request: RequestBuilder,
    endpoint: &Endpoint,
    encoded: &Encoded,
) -> RequestBuilder {
    for (name, value) in &encoded.headers {
        request = request.header(*name, value);
    }
    if let Some(key) = &endpoint.key {
        let (name, prefix) = &encoded.key_header;
        let text = format!("{prefix}{}", key.reveal());
        if let Ok(mut value) = reqwest::header::HeaderValue::from_str(&text) {
            value.set_sensitive(true);
            request = request.header(name, value);
        }
    }
    for (name, value) in &endpoint.headers {
        request = request.header(name, value);
    }
    request
}

fn failed(
    endpoint: &Endpoint,
    stage: Stage,
    status: Option<u16>,
    body: &str,
) -> (Reach, Vec<String>) {
    let signal = Signal::new(stage, body).provider(&endpoint.provider);
    let failure = classify(&Signal { status, ..signal });
    let reach = Reach::Fails {
        kind: failure.kind,
        advice: failure.advice,
    };
    (reach, Vec::new())
}

/// `{"data":[{"id":…}]}`, a bare list of those, or Gemini's `{"models":[{"name":"models/…"}]}`.
fn names(list: &Value) -> Vec<String> {
    let rows = list
        .get("data")
        .or_else(|| list.get("models"))
        .unwrap_or(list);
    let rows = rows.as_array().map(Vec::as_slice).unwrap_or_default();
    let name = |row: &Value| {
        let name = row.get("id").or_else(|| row.get("name"))?.as_str()?;
        Some(name.strip_prefix("models/").unwrap_or(name).to_owned())
    };
    rows.iter().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_are_read_from_every_form_of_list() {
        let rows = [
            (
                json!({"data":[{"id":"a"},{"id":"b/c"},{"no":1}]}),
                vec!["a", "b/c"],
            ),
            (json!([{"id":"t"}]), vec!["t"]),
            (
                json!({"models":[{"name":"models/gemini-x"}]}),
                vec!["gemini-x"],
            ),
            (json!({"data":"x"}), vec![]),
            (json!(1), vec![]),
        ];
        for (list, wanted) in rows {
            assert_eq!(names(&list), wanted, "{list}");
        }
    }
}
