//! What is configured and reachable, and which model answers when nobody has said.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use super::choose::{Choice, NoModel, choose};
use super::endpoint::{
    Endpoint, Provider, ProviderSettings, is_on_this_machine, providers, resolve,
};
use super::local::{self, LocalServer};
use super::reach::{self, Reach};
use super::{Models, ModelsConfig};
use crate::kernel::conversation::{ModelErrorKind, Usage};

/// One row of `outrigger models`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderListing {
    pub provider: String,
    pub state: ProviderState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Models that can be named: a local server's own list, else the default and those of the settings.
    pub models: Vec<ModelListing>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelListing {
    /// As a run takes it: `provider/model`.
    pub name: String,
    /// Tokens of prompt and answer together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// Whether a call's cost is known; else its tokens alone are counted.
    pub is_priced: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum ProviderState {
    /// A key is there, and what came of asking for the list of models.
    Configured { key: KeySource, reach: Reach },
    /// A server on this machine answers.
    Reachable,
    /// A server on this machine does not answer.
    NotRunning,
    /// What to set: any of these variables.
    Missing { set: Vec<String> },
    /// The settings cannot be used: why.
    Unusable { why: String },
}

/// Who is asked what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    ThisMachineOnly,
    /// Providers on the net, too: a free request each, with the key.
    All,
}

/// Where a key is, never what it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "from")]
pub enum KeySource {
    Environment {
        variable: String,
    },
    Editor,
    Keyring,
    /// A header of the settings stands in for it.
    Header,
}

/// What is there, and what would answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listing {
    /// The model of a run that names none, and why; `None` when nothing is configured.
    pub choice: Option<Choice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_model: Option<String>,
    pub providers: Vec<ProviderListing>,
    /// The day of the table of prices.
    pub prices_of: &'static str,
}

impl Models {
    /// Which model answers when a run names none.
    ///
    /// # Errors
    ///
    /// Nothing is configured; the message says how to get going.
    pub async fn choose(&self) -> Result<Choice, NoModel> {
        let config = self.config();
        let settings = self.providers(&config);
        let set = config.model.as_deref();
        match choose(set, &settings, &config.environment, &[]) {
            Ok(choice) => Ok(choice),
            Err(NoModel) => {
                let mut settings = settings;
                // A keyring is asked only now: that starts programs, and may ask a person to unlock it.
                self.add_keys_of_keyring(&config, &mut settings).await;
                let local = local::find(&self.clients, &settings, &config.environment).await;
                choose(None, &settings, &config.environment, &local)
            }
        }
    }

    async fn add_keys_of_keyring(
        &self,
        config: &ModelsConfig,
        settings: &mut BTreeMap<String, ProviderSettings>,
    ) {
        let asked = providers().iter().filter(|provider| !provider.local);
        let asked = asked.map(async |provider| {
            let key = self.key_of_keyring(config, &provider.name).await;
            key.map(|key| (provider.name.clone(), key))
        });
        for (provider, key) in futures::future::join_all(asked).await.into_iter().flatten() {
            settings.entry(provider).or_default().key = Some(key);
        }
    }

    /// What is configured and reachable, in the order of choice, and which model would answer. `asking`: whether providers
    /// on the net are asked, too.
    pub async fn listing(&self, asking: Asking) -> Listing {
        let config = self.config();
        let settings = self.providers(&config);
        let local = local::find(&self.clients, &settings, &config.environment).await;
        let is_known = |name: &str| providers().iter().any(|provider| provider.name == name);
        let own = settings.keys().filter(|name| !is_known(name));
        let names: Vec<&str> = providers()
            .iter()
            .map(|provider| provider.name.as_str())
            .chain(own.map(String::as_str))
            .collect();
        let rows = names
            .into_iter()
            .map(|name| self.listed(&config, &settings, name, &local, asking));
        Listing {
            providers: futures::future::join_all(rows).await,
            choice: self.choose().await.ok(),
            fallback_model: config.fallback_model.clone(),
            prices_of: super::prices::date(),
        }
    }

    async fn listed(
        &self,
        config: &ModelsConfig,
        settings: &BTreeMap<String, ProviderSettings>,
        name: &str,
        local: &[LocalServer],
        asking: Asking,
    ) -> ProviderListing {
        let known = providers().iter().find(|provider| provider.name == name);
        let own = settings.get(name);
        let server = local.iter().find(|server| server.provider == name);
        let default_model = own
            .and_then(|own| own.default_model.clone())
            .or_else(|| known.and_then(|known| known.default_model.clone()));
        let mut names: Vec<String> = match server {
            Some(server) => server.models.clone(),
            None => default_model.iter().cloned().collect(),
        };
        let named = own.into_iter().flat_map(|own| own.models.keys()).cloned();
        names.extend(named.filter(|_| server.is_none()));
        let any = names.first().map_or("any", String::as_str).to_owned();
        let resolved = resolve(&format!("{name}/{any}"), settings, &config.environment);
        let base_url = match (&resolved, server) {
            (_, Some(server)) => Some(server.base_url.clone()),
            (Ok(endpoint), None) => Some(endpoint.base_url.clone()),
            (Err(_), None) => own
                .and_then(|own| own.base_url.clone())
                .or_else(|| known.and_then(|known| known.base_url.clone())),
        };
        let is_here = known.is_some_and(|known| known.local)
            || base_url.as_deref().is_some_and(is_on_this_machine);
        let state = match resolved {
            Ok(_) if is_here && server.is_some() => ProviderState::Reachable,
            Ok(_) if is_here => ProviderState::NotRunning,
            Ok(endpoint) => {
                let (reach, listed) = self.reach(&endpoint, asking).await;
                add_new(&mut names, listed);
                ProviderState::Configured {
                    key: self.key_source(own, known, &endpoint, config),
                    reach,
                }
            }
            Err(failure) if failure.kind == ModelErrorKind::Auth => {
                if self.key_of_keyring(config, name).await.is_some() {
                    let (reach, listed) = match self.endpoint(&format!("{name}/{any}")).await {
                        Ok(endpoint) => self.reach(&endpoint, asking).await,
                        Err(_) => (Reach::NotTried, Vec::new()),
                    };
                    add_new(&mut names, listed);
                    ProviderState::Configured {
                        key: KeySource::Keyring,
                        reach,
                    }
                } else {
                    let variables = own.and_then(|own| own.key_env.clone()).into_iter();
                    let keys = known.map_or(&[][..], |known| &known.keys);
                    ProviderState::Missing {
                        set: variables.chain(keys.iter().cloned()).collect(),
                    }
                }
            }
            Err(failure) => match known.and_then(|known| known.base_url_env.clone()) {
                // Nothing is said about it at all.
                Some(variable) if own.is_none() && base_url.is_none() => {
                    let keys = known.map(|known| known.keys.join(" or "));
                    let keys = keys.unwrap_or_default();
                    ProviderState::Missing {
                        set: vec![format!("{variable} and {keys}")],
                    }
                }
                _ => ProviderState::Unusable { why: failure.raw },
            },
        };
        let models = names
            .into_iter()
            .map(|model| self.model_listed(name, &model));
        ProviderListing {
            provider: name.to_owned(),
            state,
            base_url,
            models: models.collect(),
        }
    }

    async fn reach(&self, endpoint: &Endpoint, asking: Asking) -> (Reach, Vec<String>) {
        match (asking, self.client(endpoint)) {
            (Asking::ThisMachineOnly, _) => (Reach::NotTried, Vec::new()),
            (Asking::All, Ok(client)) => reach::ask(&client, endpoint).await,
            (Asking::All, Err(why)) => {
                let reach = Reach::Fails {
                    kind: ModelErrorKind::Network,
                    advice: why,
                };
                (reach, Vec::new())
            }
        }
    }

    fn model_listed(&self, provider: &str, model: &str) -> ModelListing {
        let name = format!("{provider}/{model}");
        ModelListing {
            context_window: self.context_window(&name),
            is_priced: self.cost_micros(&name, &Usage::default()).is_some(),
            name,
        }
    }

    fn key_source(
        &self,
        own: Option<&ProviderSettings>,
        known: Option<&Provider>,
        endpoint: &Endpoint,
        config: &ModelsConfig,
    ) -> KeySource {
        if own.is_some_and(|own| own.key.is_some()) {
            return KeySource::Editor;
        }
        let variables = own.and_then(|own| own.key_env.as_ref()).into_iter();
        let keys = known.map_or(&[][..], |known| &known.keys);
        let set = variables
            .chain(keys)
            .find(|variable| config.environment.get(variable).is_some());
        match set {
            Some(variable) if endpoint.key.is_some() => KeySource::Environment {
                variable: variable.clone(),
            },
            _ => KeySource::Header,
        }
    }
}

/// What a provider lists, after what is known by name already.
fn add_new(names: &mut Vec<String>, listed: Vec<String>) {
    let known: HashSet<String> = names.iter().cloned().collect();
    names.extend(listed.into_iter().filter(|name| !known.contains(name)));
}
