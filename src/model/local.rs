//! Asks the servers on this machine what they serve.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::endpoint::{Environment, Provider, providers};
use super::http::Clients;

/// How long a server on this machine may take to say what it has.
const PATIENCE: Duration = Duration::from_millis(600);
/// Bytes of a list of models that are read.
const LIST_CAP: usize = 1024 * 1024;

/// A server that answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalServer {
    pub provider: String,
    pub base_url: String,
    pub models: Vec<String>,
}

/// All servers that answer, in the table's order. Takes no longer than the slowest may.
pub async fn find(clients: &Clients, environment: &Environment) -> Vec<LocalServer> {
    let Ok(client) = clients.client(true) else {
        return Vec::new();
    };
    let asked = providers()
        .iter()
        .filter(|provider| provider.local)
        .map(|provider| ask(&client, provider, environment));
    futures::future::join_all(asked)
        .await
        .into_iter()
        .flatten()
        .collect()
}

async fn ask(
    client: &reqwest::Client,
    provider: &Provider,
    environment: &Environment,
) -> Option<LocalServer> {
    let moved = provider
        .base_url_env
        .as_deref()
        .and_then(|variable| environment.get(variable));
    let base_url = moved
        .or(provider.base_url.as_deref())?
        .trim_end_matches('/')
        .to_owned();
    let asking = async {
        let mut response = client.get(format!("{base_url}/models")).send().await.ok()?;
        let mut body: Vec<u8> = Vec::new();
        while let Some(piece) = response.chunk().await.ok()? {
            body.extend_from_slice(&piece);
            if body.len() > LIST_CAP {
                return None;
            }
        }
        models_in(&body, provider.owned_by.as_deref())
    };
    let models = tokio::time::timeout(PATIENCE, asking).await.ok()??;
    Some(LocalServer {
        provider: provider.name.clone(),
        base_url,
        models,
    })
}

/// The models of `{"data":[{"id":…}]}`; `None` when it is another kind of server, as some ports are anybody's.
fn models_in(body: &[u8], owned_by: Option<&str>) -> Option<Vec<String>> {
    let list: Value = serde_json::from_slice(body).ok()?;
    let rows = list.get("data")?.as_array()?;
    let is_of = |row: &&Value| {
        owned_by.is_none_or(|owner| row.get("owned_by").and_then(Value::as_str) == Some(owner))
    };
    let models: Vec<String> = rows
        .iter()
        .filter(is_of)
        .filter_map(|row| Some(row.get("id")?.as_str()?.to_owned()))
        .collect();
    (owned_by.is_none() || !models.is_empty()).then_some(models)
}

#[cfg(test)]
mod tests {
    use super::models_in;

    #[test]
    fn a_list_is_known_by_its_shape_and_owner() {
        let ours = br#"{"object":"list","data":[{"id":"a","owned_by":"llamacpp"},{"id":"b","owned_by":"x"}]}"#;
        assert_eq!(
            models_in(ours, Some("llamacpp")),
            Some(vec!["a".to_owned()])
        );
        assert_eq!(models_in(ours, None).map(|models| models.len()), Some(2));
        assert_eq!(models_in(ours, Some("vllm")), None);
        assert_eq!(models_in(br#"{"data":[]}"#, None), Some(Vec::new()));
        assert_eq!(models_in(b"<html>", None), None);
    }
}
