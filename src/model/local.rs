//! Asks the servers on this machine what they serve, how much fits, and how many tokens a prompt has.
//!
//! Promises: an answer that does not come soon, or is not understood, is `None`; nothing here fails a call.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::RequestBuilder;
use serde::Serialize;
use serde_json::{Value, json};

use super::endpoint::{
    Endpoint, Environment, Provider, ProviderSettings, is_on_this_machine, providers,
};
use super::http::{Clients, Place, Transport};
use super::secret::Secret;

/// How long a server on this machine may take to say what it has. Nobody waits where nothing listens; a busy machine's
/// server takes its time.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long it may take to count the tokens of a long prompt.
const COUNTING: Duration = Duration::from_secs(5);
/// Bytes of an answer that are read.
const ANSWER_CAP: usize = 4 * 1024 * 1024;

/// A server that answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalServer {
    pub provider: String,
    pub base_url: String,
    pub models: Vec<String>,
}

/// Where a server on this machine may answer.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Spot {
    provider: String,
    base_url: String,
    key: Option<Secret>,
    owned_by: Option<String>,
}

/// All servers that answer, in the table's order, then the user's own. Takes no longer than the slowest may.
pub async fn find(
    clients: &Clients,
    settings: &BTreeMap<String, ProviderSettings>,
    environment: &Environment,
) -> Vec<LocalServer> {
    let Ok(client) = clients.client(&Transport::default(), Place::LOCAL) else {
        return Vec::new();
    };
    let asked = spots(settings, environment)
        .into_iter()
        .map(|spot| ask(&client, spot));
    futures::future::join_all(asked)
        .await
        .into_iter()
        .flatten()
        .collect()
}

/// Where servers are looked for: the usual ports, or where the user says that they are.
fn spots(settings: &BTreeMap<String, ProviderSettings>, environment: &Environment) -> Vec<Spot> {
    let known = providers().iter().filter(|provider| provider.local);
    let known = known.filter_map(|provider| known_spot(provider, settings, environment));
    let is_known = |name: &str| providers().iter().any(|known| known.name == name);
    let own = settings.iter().filter(|(name, _)| !is_known(name));
    let own = own.filter_map(|(name, own)| {
        let base_url = own
            .base_url
            .as_deref()
            .filter(|url| is_on_this_machine(url))?;
        Some(Spot {
            provider: name.clone(),
            base_url: base_url.trim_end_matches('/').to_owned(),
            key: own.key.clone().or_else(|| {
                let variable = own.key_env.as_deref()?;
                environment.get(variable).and_then(Secret::new)
            }),
            owned_by: None,
        })
    });
    known.chain(own).collect()
}

fn known_spot(
    provider: &Provider,
    settings: &BTreeMap<String, ProviderSettings>,
    environment: &Environment,
) -> Option<Spot> {
    let own = settings.get(&provider.name);
    let moved = own.and_then(|own| own.base_url.as_deref()).or_else(|| {
        let variable = provider.base_url_env.as_deref()?;
        environment.get(variable)
    });
    let base_url = moved.or(provider.base_url.as_deref())?;
    let variables = own
        .and_then(|own| own.key_env.as_ref())
        .into_iter()
        .chain(&provider.keys);
    let from_environment = || {
        variables
            .clone()
            .find_map(|variable| environment.get(variable).and_then(Secret::new))
    };
    Some(Spot {
        provider: provider.name.clone(),
        base_url: base_url.trim_end_matches('/').to_owned(),
        key: own
            .and_then(|own| own.key.clone())
            .or_else(from_environment),
        // Where the user's settings say that it is, it is.
        owned_by: provider
            .owned_by
            .clone()
            .filter(|_| own.is_none_or(|own| own.base_url.is_none())),
    })
}

async fn ask(client: &reqwest::Client, spot: Spot) -> Option<LocalServer> {
    let list = read(
        with_key(
            client.get(format!("{}/models", spot.base_url)),
            spot.key.as_ref(),
        ),
        PATIENCE,
    )
    .await?;
    Some(LocalServer {
        models: models_in(&list, spot.owned_by.as_deref())?,
        provider: spot.provider,
        base_url: spot.base_url,
    })
}

/// Whether a provider is one of the servers that are known by name.
pub fn is_known(provider: &str) -> bool {
    providers()
        .iter()
        .any(|known| known.local && known.name == provider)
}

/// Tokens that fit a model of this server, prompt and answer together, as it is loaded now. Only servers known by name are
/// asked, each in the place where its kind says it: an address of somebody's own gets no requests but those for answers.
pub async fn context_window(client: &reqwest::Client, endpoint: &Endpoint) -> Option<u64> {
    let (base_url, root) = (&endpoint.base_url, root_of(&endpoint.base_url));
    let model = endpoint.model.as_str();
    let get = |address: String| {
        read(
            with_key(client.get(address), endpoint.key.as_ref()),
            PATIENCE,
        )
    };
    match endpoint.provider.as_str() {
        "vllm" => {
            let list = get(format!("{base_url}/models")).await?;
            count(row_of(&list, "data", model)?, "/max_model_len")
        }
        "llamacpp" => {
            let properties = get(format!("{root}/props")).await?;
            count(&properties, "/default_generation_settings/n_ctx")
        }
        "lmstudio" => {
            let list = get(format!("{root}/api/v0/models")).await?;
            count(row_of(&list, "data", model)?, "/loaded_context_length")
        }
        "ollama" => {
            let loaded = get(format!("{root}/api/ps")).await?;
            count(row_of(&loaded, "models", model)?, "/context_length")
        }
        _ => None,
    }
}

/// How many tokens the server's own tokenizer finds in a request, its template included; `None` where it has none to ask.
pub async fn count_tokens(
    client: &reqwest::Client,
    endpoint: &Endpoint,
    body: &Value,
) -> Option<u64> {
    let root = root_of(&endpoint.base_url);
    let key = endpoint.key.as_ref();
    let post = |path: &str, body: Value| {
        read(
            with_key(
                client
                    .post(format!("{root}{path}"))
                    .header("content-type", "application/json")
                    .body(body.to_string()),
                key,
            ),
            COUNTING,
        )
    };
    let mut chat = json!({ "model": body.get("model"), "messages": body.get("messages")? });
    if let (Some(tools), Some(chat)) = (body.get("tools"), chat.as_object_mut()) {
        chat.insert("tools".to_owned(), tools.clone());
    }
    match endpoint.provider.as_str() {
        "llamacpp" => {
            let applied = post("/apply-template", chat).await?;
            let prompt = applied.get("prompt")?.as_str()?.to_owned();
            let text = json!({ "content": prompt, "add_special": true });
            let answer = post("/tokenize", text).await?;
            u64::try_from(answer.get("tokens")?.as_array()?.len()).ok()
        }
        "vllm" => count(&post("/tokenize", chat).await?, "/count"),
        _ => None,
    }
}

/// The server without the `/v1` of its chat.
fn root_of(base_url: &str) -> &str {
    base_url.strip_suffix("/v1").unwrap_or(base_url)
}

fn with_key(request: RequestBuilder, key: Option<&Secret>) -> RequestBuilder {
    match key {
        Some(key) => request.bearer_auth(key.reveal()),
        None => request,
    }
}

/// The JSON of a successful answer that comes in time.
async fn read(request: RequestBuilder, patience: Duration) -> Option<Value> {
    let reading = async {
        let mut response = request.send().await.ok()?;
        if !response.status().is_success() {
            return None;
        }
        let mut body: Vec<u8> = Vec::new();
        while let Some(piece) = response.chunk().await.ok()? {
            body.extend_from_slice(&piece);
            if body.len() > ANSWER_CAP {
                return None;
            }
        }
        serde_json::from_slice(&body).ok()
    };
    tokio::time::timeout(patience, reading).await.ok()?
}

/// The models of `{"data":[{"id":…}]}`; `None` when it is another kind of server, as some ports are anybody's.
fn models_in(list: &Value, owned_by: Option<&str>) -> Option<Vec<String>> {
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

/// The row of a model, by any of the names that servers give it.
fn row_of<'a>(list: &'a Value, rows: &str, model: &str) -> Option<&'a Value> {
    let is_it = |row: &&Value| {
        ["id", "model", "name"].iter().any(|field| {
            let name = row.get(*field).and_then(Value::as_str);
            name.is_some_and(|name| name == model || name.strip_suffix(":latest") == Some(model))
        })
    };
    list.get(rows)?.as_array()?.iter().find(is_it)
}

fn count(value: &Value, path: &str) -> Option<u64> {
    value.pointer(path)?.as_u64().filter(|count| *count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_known_by_its_shape_and_owner() {
        let ours = json!({"object":"list","data":[{"id":"a","owned_by":"llamacpp"},{"id":"b","owned_by":"x"}]});
        assert_eq!(
            models_in(&ours, Some("llamacpp")),
            Some(vec!["a".to_owned()])
        );
        assert_eq!(models_in(&ours, None).map(|models| models.len()), Some(2));
        assert_eq!(models_in(&ours, Some("vllm")), None);
        assert_eq!(models_in(&json!({"data":[]}), None), Some(Vec::new()));
        assert_eq!(models_in(&json!("<html>"), None), None);
    }

    #[test]
    fn servers_are_looked_for_where_the_user_says() {
        let at = |url: &str| ProviderSettings {
            base_url: Some(url.to_owned()),
            key_env: Some("MINE".to_owned()),
            ..ProviderSettings::default()
        };
        let settings = BTreeMap::from([
            ("vllm".to_owned(), at("http://127.0.0.1:9/v1/")),
            ("mine".to_owned(), at("http://localhost:7/v1")),
            ("far".to_owned(), at("https://far.example/v1")),
        ]);
        let environment =
            Environment::from([("OLLAMA_BASE_URL", "http://127.0.0.1:5/v1"), ("MINE", "k")]);
        let spots = spots(&settings, &environment);
        let of = |name: &str| spots.iter().find(|spot| spot.provider == name);
        assert_eq!(of("vllm").unwrap().base_url, "http://127.0.0.1:9/v1");
        assert_eq!(of("vllm").unwrap().owned_by, None);
        assert_eq!(of("mine").unwrap().key, Secret::new("k"));
        assert_eq!(of("ollama").unwrap().base_url, "http://127.0.0.1:5/v1");
        assert!(of("llamacpp").unwrap().owned_by.is_some());
        assert!(of("far").is_none() && of("openai").is_none());
    }

    #[test]
    fn windows_are_found_where_servers_say_them() {
        let list = json!({"data":[{"id":"a","max_model_len":4096},{"id":"b"}]});
        let window = |model| count(row_of(&list, "data", model)?, "/max_model_len");
        assert_eq!(
            (window("a"), window("b"), window("c")),
            (Some(4096), None, None)
        );
        let ps = json!({"models":[{"name":"qwen3:latest","context_length":8192}]});
        let row = row_of(&ps, "models", "qwen3").unwrap();
        assert_eq!(count(row, "/context_length"), Some(8192));
    }
}
