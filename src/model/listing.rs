//! What is configured and reachable, and which model answers when nobody has said.

use serde::Serialize;

use super::Models;
use super::choose::{Choice, NoModel, choose};
use super::endpoint::{Provider, providers};
use super::local::{self, LocalServer};

/// One row of `outrigger models`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderListing {
    pub provider: String,
    pub state: ProviderState,
    pub base_url: Option<String>,
    /// Models that can be named: a local server's own list, else the default.
    pub models: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum ProviderState {
    /// A key is there; not tried, because that could cost money.
    Configured,
    /// A server on this machine answers.
    Reachable,
    /// A server on this machine does not answer.
    NotRunning,
    /// What to set.
    Missing { set: Vec<String> },
}

impl Models {
    /// Which model answers when a run names none.
    ///
    /// # Errors
    ///
    /// Nothing is configured; the message says how to get going.
    pub async fn choose(&self) -> Result<Choice, NoModel> {
        let config = &self.config;
        match choose(
            config.model.as_deref(),
            &config.providers,
            &config.environment,
            &[],
        ) {
            Ok(choice) => Ok(choice),
            Err(NoModel) => {
                let local = local::find(&self.clients, &config.environment).await;
                choose(None, &config.providers, &config.environment, &local)
            }
        }
    }

    /// What is configured and reachable, in the order of choice.
    pub async fn listing(&self) -> Vec<ProviderListing> {
        let local = local::find(&self.clients, &self.config.environment).await;
        let mut rows: Vec<ProviderListing> = providers()
            .iter()
            .map(|provider| self.listed(provider, &local))
            .collect();
        let is_known = |name: &str| providers().iter().any(|provider| provider.name == name);
        rows.extend(
            self.config
                .providers
                .iter()
                .filter(|(name, _)| !is_known(name))
                .map(|(name, own)| ProviderListing {
                    provider: name.clone(),
                    state: ProviderState::Configured,
                    base_url: own.base_url.clone(),
                    models: Vec::new(),
                }),
        );
        rows
    }

    fn listed(&self, provider: &Provider, local: &[LocalServer]) -> ProviderListing {
        let own = self.config.providers.get(&provider.name);
        let base_url = own
            .and_then(|own| own.base_url.clone())
            .or_else(|| provider.base_url.clone());
        if provider.local {
            let server = local.iter().find(|server| server.provider == provider.name);
            return ProviderListing {
                provider: provider.name.clone(),
                state: if server.is_some() {
                    ProviderState::Reachable
                } else {
                    ProviderState::NotRunning
                },
                base_url: server.map(|server| server.base_url.clone()).or(base_url),
                models: server
                    .map(|server| server.models.clone())
                    .unwrap_or_default(),
            };
        }
        let has_key = own.is_some_and(|own| own.key.is_some() || !own.headers.is_empty())
            || provider
                .keys
                .iter()
                .any(|variable| self.config.environment.get(variable).is_some());
        ProviderListing {
            provider: provider.name.clone(),
            state: if has_key {
                ProviderState::Configured
            } else {
                ProviderState::Missing {
                    set: provider.keys.clone(),
                }
            },
            base_url,
            models: provider.default_model.iter().cloned().collect(),
        }
    }
}
