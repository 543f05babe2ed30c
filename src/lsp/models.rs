//! `outrigger/models/*`: what can answer, and keys from the editor's secret store.

use serde_json::Value;
use tower_lsp::jsonrpc::Result;

use super::errors::error;
use super::methods::read;
use super::server::Server;
use crate::app::{
    Asking, KeySource, ModelListing, NO_MODEL, ProviderListing, ProviderState, Reach, Secret,
};
use crate::protocol::error::ErrorKind;
use crate::protocol::method;
use crate::protocol::models::{self, KeyParams, KeyResult, ListParams, ListResult};

pub async fn list(server: &Server, params: Value) -> Result<ListResult> {
    let session = server.folders.first()?;
    let ListParams { offline } = read(method::MODELS_LIST, params)?;
    let asking = if offline {
        Asking::ThisMachineOnly
    } else {
        Asking::All
    };
    let listing = session.app.models(asking).await;
    Ok(ListResult {
        advice: listing.choice.is_none().then(|| NO_MODEL.to_owned()),
        choice: listing.choice.map(|choice| models::ChosenModel {
            model: choice.model,
            because: choice.because,
        }),
        fallback_model: listing.fallback_model,
        providers: listing.providers.into_iter().map(provider).collect(),
        prices_of: listing.prices_of.to_owned(),
    })
}

/// The reply to a wrong request must not repeat the key, so the reader's own words are left out.
pub async fn key(server: &Server, params: Value) -> Result<KeyResult> {
    server.folders.first()?;
    let KeyParams { provider, key } = serde_json::from_value(params).map_err(|_| {
        let message = format!(
            "failed to read the parameters of {}: `provider` and `key` must be texts",
            method::MODELS_KEY
        );
        error(ErrorKind::InvalidParams, message)
    })?;
    if provider.trim().is_empty() {
        return Err(error(
            ErrorKind::InvalidParams,
            "the provider's name is empty".to_owned(),
        ));
    }
    let key = key.as_deref().and_then(Secret::new);
    let held = key.is_some();
    for session in server.folders.all() {
        session.app.hand_over_key(&provider, key.clone());
    }
    Ok(KeyResult { provider, held })
}

fn provider(listed: ProviderListing) -> models::Provider {
    models::Provider {
        provider: listed.provider,
        state: match listed.state {
            ProviderState::Configured { key, reach } => models::ProviderState::Configured {
                key: key_source(key),
                reach: match reach {
                    Reach::NotTried => models::Reach::NotTried,
                    Reach::Answers => models::Reach::Answers,
                    Reach::Fails { kind, advice } => models::Reach::Fails { kind, advice },
                },
            },
            ProviderState::Reachable => models::ProviderState::Reachable,
            ProviderState::NotRunning => models::ProviderState::NotRunning,
            ProviderState::Missing { set } => models::ProviderState::Missing { set },
            ProviderState::Unusable { why } => models::ProviderState::Unusable { why },
        },
        base_url: listed.base_url,
        models: listed.models.into_iter().map(model).collect(),
    }
}

fn key_source(source: KeySource) -> models::KeySource {
    match source {
        KeySource::Environment { variable } => models::KeySource::Environment { variable },
        KeySource::Editor => models::KeySource::Editor,
        KeySource::Keyring => models::KeySource::Keyring,
        KeySource::Header => models::KeySource::Header,
    }
}

fn model(listed: ModelListing) -> models::Model {
    models::Model {
        name: listed.name,
        context_window: listed.context_window,
        is_priced: listed.is_priced,
    }
}
