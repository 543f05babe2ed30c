//! What a user says about models and their providers: the tables `[models]` and `[providers]` of the user's own file.
//!
//! Promises: no key is ever part of it, only where a key is found; nothing here is taken from a workspace's file, because
//! an address decides who gets the key. Unknown fields are left to whoever reads the file, who can name the line.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ModelsConfig;
use super::clocks::Clocks;
use super::endpoint::ProviderSettings;
use super::http::Transport;
use super::keyring;
use super::prices::Price;
use super::wire::{Quirks, Wire};

/// How models are reached: the net, and where keys are found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelsSettings {
    /// `http://…` or `https://…`: the proxy of all calls that leave this machine. Unset: the system's settings decide.
    pub proxy: Option<String>,
    /// PEM files with certificates to trust besides the system's, such as those of an organisation's proxy.
    pub ca_files: Vec<PathBuf>,
    /// Whether keys are looked for in the system's keyring when no variable holds one.
    pub keyring: bool,
    /// A command that prints a provider's key, in place of the system's keyring; `{provider}` stands for its name.
    pub key_command: Option<Vec<String>>,
}

impl Default for ModelsSettings {
    fn default() -> Self {
        Self {
            proxy: None,
            ca_files: Vec::new(),
            keyring: true,
            key_command: None,
        }
    }
}

/// `[providers.NAME]`: what is different about a known provider, or everything about one of your own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ProviderConfig {
    /// The dialect of a provider that is not known by name.
    pub wire: Option<Wire>,
    /// Where it answers, without the path of the chat itself: `https://gateway.example/v1`.
    pub base_url: Option<String>,
    /// The environment variable that holds the key.
    pub key_env: Option<String>,
    /// Headers of each request. `${NAME}` in a value stands for an environment variable, so that no secret is written here.
    pub headers: BTreeMap<String, String>,
    /// What is asked when only the provider is known.
    pub default_model: Option<String>,
    /// In place of the proxy of `[models]`.
    pub proxy: Option<String>,
    /// Besides those of `[models]`.
    pub ca_files: Vec<PathBuf>,
    /// Tokens of prompt and answer together, for all its models.
    pub context_window: Option<u64>,
    /// Tokens of one answer, for all its models.
    pub max_output: Option<u32>,
    pub timeouts: Timeouts,
    pub quirks: QuirkSettings,
    /// Fields added to the body of each request.
    pub extra_body: Map<String, Value>,
    /// By the beginning of a model's name; the longest that fits counts.
    pub models: BTreeMap<String, ModelSettings>,
}

/// What is known about a model, over the table that is compiled in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelSettings {
    /// Tokens of prompt and answer together.
    pub context_window: Option<u64>,
    /// Tokens of one answer.
    pub max_output: Option<u32>,
    pub price: Option<Price>,
}

/// Seconds; without them those for the net or for a server on this machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Timeouts {
    /// Until the connection stands.
    pub connect_s: Option<u64>,
    /// From the request to the headers of the answer.
    pub headers_s: Option<u64>,
    /// From the headers to the first event.
    pub first_event_s: Option<u64>,
    /// Between two events.
    pub idle_s: Option<u64>,
    /// The whole call.
    pub total_s: Option<u64>,
}

impl Timeouts {
    pub fn over(self, usual: Clocks) -> Clocks {
        let or = |seconds: Option<u64>, usual| seconds.map_or(usual, Duration::from_secs);
        Clocks {
            connect: or(self.connect_s, usual.connect),
            headers: or(self.headers_s, usual.headers),
            first_event: or(self.first_event_s, usual.first_event),
            idle: or(self.idle_s, usual.idle),
            total: or(self.total_s, usual.total),
        }
    }
}

/// Where a server differs from others of its dialect; what is not named stays as it is known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct QuirkSettings {
    /// The field of the output limit is `max_completion_tokens`.
    pub max_completion_tokens: Option<bool>,
    /// `stream_options` is refused, or usage comes without it.
    pub no_stream_options: Option<bool>,
    /// Ids of tool calls must be nine letters and digits.
    pub short_tool_ids: Option<bool>,
    /// The name of the message field that takes reasoning back.
    pub reasoning_field: Option<String>,
    /// Parts of messages may carry `cache_control`, for models whose name begins so.
    pub cache_control_for: Option<String>,
    /// The path of the chat, where it is not the usual one; `{model}` is replaced.
    pub path: Option<String>,
    /// The header that takes the key; `authorization` gets `Bearer`.
    pub key_header: Option<String>,
    /// The model's name is not a field of the body but part of the address.
    pub model_in_path_only: Option<bool>,
}

impl QuirkSettings {
    pub fn over(&self, known: Quirks) -> Quirks {
        let text = |own: &Option<String>, known| own.clone().or(known);
        Quirks {
            max_completion_tokens: self
                .max_completion_tokens
                .unwrap_or(known.max_completion_tokens),
            no_stream_options: self.no_stream_options.unwrap_or(known.no_stream_options),
            short_tool_ids: self.short_tool_ids.unwrap_or(known.short_tool_ids),
            reasoning_field: text(&self.reasoning_field, known.reasoning_field),
            cache_control_for: text(&self.cache_control_for, known.cache_control_for),
            path: text(&self.path, known.path),
            key_header: text(&self.key_header, known.key_header),
            model_in_path_only: self.model_in_path_only.unwrap_or(known.model_in_path_only),
        }
    }
}

/// By name.
pub type ProvidersSettings = BTreeMap<String, ProviderConfig>;

impl ModelsConfig {
    /// Takes a user's settings in. What is not theirs to set (the environment, the folder) stays as it is.
    #[must_use]
    pub fn with_settings(mut self, models: &ModelsSettings, providers: &ProvidersSettings) -> Self {
        self.transport = Transport {
            proxy: models.proxy.clone(),
            ca_files: models.ca_files.clone(),
            ..Transport::default()
        };
        self.key_command = match &models.key_command {
            Some(command) => Some(command.clone()),
            None if models.keyring => keyring::platform_command(),
            None => None,
        };
        self.providers = providers
            .iter()
            .map(|(name, own)| (name.clone(), settings_of(own, &self.transport)))
            .collect();
        self
    }
}

fn settings_of(own: &ProviderConfig, usual: &Transport) -> ProviderSettings {
    let has_transport = own.proxy.is_some() || !own.ca_files.is_empty();
    ProviderSettings {
        wire: own.wire,
        base_url: own.base_url.clone(),
        headers: own
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
        key_env: own.key_env.clone(),
        default_model: own.default_model.clone(),
        transport: has_transport.then(|| Transport {
            proxy: own.proxy.clone().or_else(|| usual.proxy.clone()),
            ca_files: usual
                .ca_files
                .iter()
                .chain(&own.ca_files)
                .cloned()
                .collect(),
            ..usual.clone()
        }),
        context_window: own.context_window,
        max_output: own.max_output,
        timeouts: own.timeouts,
        quirk_settings: own.quirks.clone(),
        extra_body: own.extra_body.clone(),
        models: own.models.clone(),
        ..ProviderSettings::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::endpoint::{Environment, resolve};

    const FILE: &str = r#"
        [models]
        proxy = "http://proxy.example:3128"
        caFiles = ["/etc/ssl/company.pem"]

        [providers.gateway]
        wire = "openai"
        baseUrl = "https://gateway.example/v1"
        keyEnv = "GATEWAY_TOKEN"
        headers = { x-team = "${TEAM}-a" }
        proxy = "http://other.example:3128"
        contextWindow = 32768
        timeouts = { idleS = 5 }
        quirks = { maxCompletionTokens = true }
        extraBody = { top_k = 3 }
        models = { big = { maxOutput = 999, price = { input = 1.5, output = 2.0 } } }

        [providers.mistral]
        quirks = { noStreamOptions = false }
    "#;

    #[derive(Deserialize)]
    struct File {
        models: ModelsSettings,
        providers: ProvidersSettings,
    }

    fn config() -> ModelsConfig {
        let file: File = toml::from_str(FILE).unwrap();
        ModelsConfig::default().with_settings(&file.models, &file.providers)
    }

    #[test]
    fn a_file_becomes_an_endpoint() {
        let config = config();
        let environment = Environment::from([("GATEWAY_TOKEN", "k"), ("TEAM", "blue")]);
        let endpoint = resolve("gateway/big-2", &config.providers, &environment).unwrap();
        assert_eq!(endpoint.base_url, "https://gateway.example/v1");
        assert_eq!(
            endpoint.headers,
            [("x-team".to_owned(), "blue-a".to_owned())]
        );
        assert_eq!(endpoint.key.unwrap().reveal(), "k");
        assert_eq!(
            (endpoint.context_window, endpoint.max_output),
            (Some(32768), Some(999))
        );
        assert_eq!(endpoint.clocks.idle, Duration::from_secs(5));
        assert_eq!(endpoint.clocks.total, Clocks::REMOTE.total);
        assert!(endpoint.quirks.max_completion_tokens);
        let transport = endpoint.transport.unwrap();
        assert_eq!(
            transport.proxy.as_deref(),
            Some("http://other.example:3128")
        );
        assert_eq!(transport.ca_files, config.transport.ca_files);
    }

    #[test]
    fn one_flag_leaves_the_others_as_they_are_known() {
        let environment = Environment::from([("MISTRAL_API_KEY", "k")]);
        let endpoint = resolve("mistral/m", &config().providers, &environment).unwrap();
        assert!(endpoint.quirks.short_tool_ids && !endpoint.quirks.no_stream_options);
    }

    #[test]
    fn a_variable_that_is_not_set_is_named() {
        let environment = Environment::from([("GATEWAY_TOKEN", "k")]);
        let failure = resolve("gateway/big", &config().providers, &environment).unwrap_err();
        assert!(
            failure.raw.contains("TEAM") && failure.raw.contains("x-team"),
            "{failure:?}"
        );
    }

    #[test]
    fn nothing_at_all_is_a_valid_setting() {
        let file: ModelsSettings = toml::from_str("").unwrap();
        assert_eq!(file, ModelsSettings::default());
        assert!(
            ModelsConfig::default()
                .with_settings(&file, &BTreeMap::new())
                .model
                .is_none()
        );
    }
}
