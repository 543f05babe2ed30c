//! From the name of a model to where and how it is asked. Pure.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::kernel::conversation::{ModelErrorKind, ModelFailure};

use super::classify::{Signal, Stage, classify, masked};
use super::clocks::Clocks;
use super::http::Transport;
use super::prices;
use super::secret::Secret;
use super::settings::{ModelSettings, QuirkSettings, Timeouts};
use super::wire::{Quirks, Wire};

/// A provider known by name.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    pub name: String,
    pub wire: Wire,
    #[serde(default)]
    pub base_url: Option<String>,
    #[serde(default)]
    pub base_url_env: Option<String>,
    #[serde(default)]
    pub keys: Vec<String>,
    #[serde(default)]
    pub default_model: Option<String>,
    #[serde(default)]
    pub local: bool,
    #[serde(default)]
    pub owned_by: Option<String>,
    #[serde(default)]
    pub quirks: Quirks,
}

#[derive(Deserialize)]
struct Table {
    provider: Vec<Provider>,
}

static PROVIDERS: LazyLock<Vec<Provider>> = LazyLock::new(|| {
    toml::from_str(include_str!("providers.toml"))
        .map_or_else(|_| Vec::new(), |table: Table| table.provider)
});

/// All providers known by name, in the order in which their keys are looked for.
pub fn providers() -> &'static [Provider] {
    &PROVIDERS
}

/// What a user says about a provider. Comes from the user's own settings or the editor's secret store; never from a
/// file of the workspace, because an address decides who gets the key.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProviderSettings {
    /// For a provider that is not known by name.
    pub wire: Option<Wire>,
    pub base_url: Option<String>,
    pub headers: Vec<(String, String)>,
    pub key: Option<Secret>,
    /// The environment variable that holds the key.
    pub key_env: Option<String>,
    pub quirks: Option<Quirks>,
    /// Over `quirks`, or over what is known.
    pub quirk_settings: QuirkSettings,
    pub clocks: Option<Clocks>,
    /// Over `clocks`, or over the usual ones.
    pub timeouts: Timeouts,
    pub context_window: Option<u64>,
    pub max_output: Option<u32>,
    pub default_model: Option<String>,
    /// In place of the one for all providers.
    pub transport: Option<Transport>,
    /// Fields added to the body of each request.
    pub extra_body: Map<String, Value>,
    /// By the beginning of a model's name.
    pub models: BTreeMap<String, ModelSettings>,
}

impl ProviderSettings {
    /// What is said about a model.
    pub fn of_model(&self, model: &str) -> ModelSettings {
        self.models
            .iter()
            .filter(|(beginning, _)| model.starts_with(beginning.as_str()))
            .max_by_key(|(beginning, _)| beginning.len())
            .map(|(_, settings)| *settings)
            .unwrap_or_default()
    }
}

/// The environment variables that matter here. Their values are never printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// The process's own.
    pub fn of_process() -> Self {
        Self(
            std::env::vars_os()
                .filter_map(|(name, value)| {
                    Some((name.into_string().ok()?, value.into_string().ok()?))
                })
                .collect(),
        )
    }
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .get(name)
            .map(|value| value.trim())
            .filter(|value| !value.is_empty())
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Environment {
    fn from(pairs: [(&str, &str); N]) -> Self {
        Self(
            pairs
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        )
    }
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Environment({} variables)", self.0.len())
    }
}

/// Where and how one model is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Endpoint {
    pub provider: String,
    pub model: String,
    pub wire: Wire,
    pub base_url: String,
    pub headers: Vec<(String, String)>,
    pub key: Option<Secret>,
    pub quirks: Quirks,
    pub clocks: Clocks,
    pub context_window: Option<u64>,
    pub max_output: Option<u32>,
    pub extra_body: Map<String, Value>,
    pub transport: Option<Transport>,
    pub is_local: bool,
}

impl Endpoint {
    /// A failure in our own client's words.
    pub fn client_failure(&self, message: &str) -> ModelFailure {
        classify(&Signal::new(Stage::Client, message).provider(&self.provider))
    }
}

/// Finds out where `provider/model` is asked.
///
/// # Errors
///
/// Nobody has that name, its address is not known, its key is missing, or the key would travel unprotected.
pub fn resolve(
    name: &str,
    settings: &BTreeMap<String, ProviderSettings>,
    environment: &Environment,
) -> Result<Endpoint, ModelFailure> {
    let Some((provider_name, model)) = name.split_once('/').filter(|(_, model)| !model.is_empty())
    else {
        return Err(refused(
            ModelErrorKind::ModelNotFound,
            &format!(
                "`{name}` is not a model's name; write it as provider/model, such as anthropic/claude-sonnet-5-5 or ollama/qwen3"
            ),
        ));
    };
    let known = providers()
        .iter()
        .find(|provider| provider.name == provider_name);
    let own = settings.get(provider_name).cloned().unwrap_or_default();
    let Some(wire) = own.wire.or(known.map(|provider| provider.wire)) else {
        let names: Vec<&str> = providers()
            .iter()
            .map(|provider| provider.name.as_str())
            .collect();
        return Err(refused(
            ModelErrorKind::ModelNotFound,
            &format!(
                "no provider is named `{provider_name}`; known are {}, others need a wire and an address in your settings",
                names.join(", ")
            ),
        ));
    };
    let from_environment = known
        .and_then(|provider| provider.base_url_env.as_deref())
        .and_then(|variable| environment.get(variable));
    let base_url = own
        .base_url
        .as_deref()
        .or(from_environment)
        .or_else(|| known.and_then(|provider| provider.base_url.as_deref()));
    let Some(base_url) = base_url.map(|url| url.trim_end_matches('/').to_owned()) else {
        let variable = known
            .and_then(|provider| provider.base_url_env.as_deref())
            .unwrap_or("base_url");
        return Err(refused(
            ModelErrorKind::InvalidRequest,
            &format!("the address of {provider_name} is not known; set {variable}"),
        ));
    };
    let host = reqwest::Url::parse(&base_url)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https"));
    let Some(url) = host else {
        return Err(refused(
            ModelErrorKind::InvalidRequest,
            &format!("the address of {provider_name}, {base_url}, is not an http address"),
        ));
    };
    let is_loopback = is_loopback(&url);
    let variables = own
        .key_env
        .iter()
        .chain(known.map_or(&[][..], |provider| &provider.keys));
    let key = own.key.clone().or_else(|| {
        variables
            .clone()
            .find_map(|variable| environment.get(variable).and_then(Secret::new))
    });
    let is_local = is_loopback || known.is_some_and(|provider| provider.local);
    let brings_its_own = !own.headers.is_empty();
    if key.is_none() && !is_local && !brings_its_own {
        let variables: Vec<&str> = variables.map(String::as_str).collect();
        let how = if variables.is_empty() {
            "a key in your settings".to_owned()
        } else {
            variables.join(" or ")
        };
        return Err(refused(
            ModelErrorKind::Auth,
            &format!("{provider_name} needs a key; set {how}"),
        ));
    }
    if key.is_some() && url.scheme() == "http" && !is_loopback {
        return Err(refused(
            ModelErrorKind::InvalidRequest,
            &format!(
                "the key of {provider_name} would travel unprotected to {base_url}; use https"
            ),
        ));
    }
    let headers = with_variables(provider_name, &own.headers, environment)?;
    let facts = prices::facts(provider_name, model);
    let said = own.of_model(model);
    let quirks = own
        .quirks
        .or_else(|| known.map(|provider| provider.quirks.clone()))
        .unwrap_or_default();
    let clocks = own.clocks.unwrap_or(if is_local {
        Clocks::LOCAL
    } else {
        Clocks::REMOTE
    });
    Ok(Endpoint {
        provider: provider_name.to_owned(),
        model: model.to_owned(),
        wire,
        base_url,
        headers,
        key,
        quirks: own.quirk_settings.over(quirks),
        clocks: own.timeouts.over(clocks),
        context_window: said
            .context_window
            .or(own.context_window)
            .or(facts.and_then(|facts| facts.context_window)),
        max_output: said
            .max_output
            .or(own.max_output)
            .or(facts.and_then(|facts| facts.max_output)),
        extra_body: own.extra_body,
        transport: own.transport,
        is_local,
    })
}

/// `${NAME}` in the values replaced by the environment's.
fn with_variables(
    provider: &str,
    headers: &[(String, String)],
    environment: &Environment,
) -> Result<Vec<(String, String)>, ModelFailure> {
    let filled = headers.iter().map(|(name, value)| {
        let mut text = String::new();
        let mut rest = value.as_str();
        while let Some((before, after)) = rest.split_once("${") {
            let Some((variable, behind)) = after.split_once('}') else {
                break;
            };
            let Some(found) = environment.get(variable) else {
                return Err(refused(
                    ModelErrorKind::Auth,
                    &format!("the header {name} of {provider} needs the variable {variable}, which is not set"),
                ));
            };
            text.push_str(before);
            text.push_str(found);
            rest = behind;
        }
        text.push_str(rest);
        Ok((name.clone(), text))
    });
    filled.collect()
}

/// Whether an address leads to this machine itself.
pub fn is_on_this_machine(address: &str) -> bool {
    reqwest::Url::parse(address).is_ok_and(|url| is_loopback(&url))
}

fn is_loopback(url: &reqwest::Url) -> bool {
    let Some(host) = url.host_str() else {
        return false;
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

fn refused(kind: ModelErrorKind, what: &str) -> ModelFailure {
    ModelFailure {
        kind,
        rule: "model.endpoint".to_owned(),
        raw: masked(what),
        advice: format!("The model could not be asked: {what}."),
        ..super::failure("model.endpoint", what)
    }
}
