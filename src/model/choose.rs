//! Which model answers when the user has not said. Pure; [`super::local`] does the asking.

use std::collections::BTreeMap;

use serde::Serialize;

use super::endpoint::{Environment, ProviderSettings, providers};
use super::local::LocalServer;

/// A model, and why it was taken: shown to the user before the first call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Choice {
    pub model: String,
    pub because: String,
}

/// For people who have configured nothing.
pub const NO_MODEL: &str = "no model is configured. The three shortest ways to get going:\n  \
     1. a key:          export ANTHROPIC_API_KEY=…   (or OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY, …)\n  \
     2. a local model:  start Ollama, LM Studio or llama.cpp's server; it is found by itself\n  \
     3. the demo:       outrigger demo   (no key, no network)\n\
     `outrigger models` shows what is found.";

/// Nothing is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{NO_MODEL}")]
pub struct NoModel;

/// The order: what the user set, a key (settings or environment), a server on this machine.
///
/// # Errors
///
/// There is none of them.
pub fn choose(
    setting: Option<&str>,
    settings: &BTreeMap<String, ProviderSettings>,
    environment: &Environment,
    local: &[LocalServer],
) -> Result<Choice, NoModel> {
    if let Some(model) = setting.map(str::trim).filter(|model| !model.is_empty()) {
        return Ok(Choice {
            model: model.to_owned(),
            because: "set by you".to_owned(),
        });
    }
    for provider in providers().iter().filter(|provider| !provider.local) {
        let own = settings.get(&provider.name);
        let default_model = own
            .and_then(|own| own.default_model.as_ref())
            .or(provider.default_model.as_ref());
        let Some(default_model) = default_model else {
            continue;
        };
        let model = format!("{}/{default_model}", provider.name);
        if own.is_some_and(|own| own.key.is_some()) {
            return Ok(Choice {
                model,
                because: format!("your editor has a key of {}", provider.name),
            });
        }
        let variables = own.and_then(|own| own.key_env.as_ref()).into_iter();
        if let Some(variable) = variables
            .chain(&provider.keys)
            .find(|variable| environment.get(variable).is_some())
        {
            return Ok(Choice {
                model,
                because: format!("{variable} is set"),
            });
        }
    }
    let is_known = |name: &str| providers().iter().any(|provider| provider.name == name);
    for (name, own) in settings.iter().filter(|(name, _)| !is_known(name)) {
        let variable = own.key_env.as_deref();
        let has_key = own.key.is_some()
            || variable.is_some_and(|variable| environment.get(variable).is_some())
            || !own.headers.is_empty();
        if let (Some(model), true) = (&own.default_model, has_key) {
            return Ok(Choice {
                model: format!("{name}/{model}"),
                because: format!("{name} is in your settings"),
            });
        }
    }
    for server in local {
        if let Some(model) = server.models.iter().find(|model| can_chat(model)) {
            return Ok(Choice {
                model: format!("{}/{model}", server.provider),
                because: format!("{} answers at {}", server.provider, server.base_url),
            });
        }
    }
    Err(NoModel)
}

/// Servers list models for embeddings, ranking and speech along with the others.
fn can_chat(model: &str) -> bool {
    let name = model.to_lowercase();
    !["embed", "rerank", "whisper", "bge-", "clip", "tts"]
        .iter()
        .any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::super::secret::Secret;
    use super::*;

    #[test]
    fn the_order_is_setting_then_keys_then_local_then_a_clear_word() {
        let ollama = LocalServer {
            provider: "ollama".to_owned(),
            base_url: "http://127.0.0.1:11434/v1".to_owned(),
            models: vec!["nomic-embed-text".to_owned(), "qwen3:8b".to_owned()],
        };
        let only_embeddings = LocalServer {
            models: vec!["bge-m3".to_owned()],
            ..ollama.clone()
        };
        let keys = Environment::from([
            ("OPENAI_API_KEY", "k"),
            ("GEMINI_API_KEY", "k"),
            ("ANTHROPIC_API_KEY", "  "),
        ]);
        let none = Environment::default();
        let own = BTreeMap::from([(
            "mistral".to_owned(),
            ProviderSettings {
                key: Secret::new("k"),
                ..ProviderSettings::default()
            },
        )]);
        let nothing = BTreeMap::new();
        let table = [
            (
                choose(Some("xai/grok-4"), &nothing, &keys, &[]),
                Some(("xai/grok-4", "set by you")),
            ),
            (
                choose(Some(" "), &nothing, &keys, std::slice::from_ref(&ollama)),
                Some(("openai/gpt-6.1-sol", "OPENAI_API_KEY is set")),
            ),
            (
                choose(None, &own, &none, std::slice::from_ref(&ollama)),
                Some((
                    "mistral/mistral-large-latest",
                    "your editor has a key of mistral",
                )),
            ),
            (
                choose(None, &nothing, &none, &[only_embeddings.clone(), ollama]),
                Some((
                    "ollama/qwen3:8b",
                    "ollama answers at http://127.0.0.1:11434/v1",
                )),
            ),
            (choose(None, &nothing, &none, &[only_embeddings]), None),
        ];
        for (choice, expected) in table {
            assert_eq!(
                choice
                    .as_ref()
                    .ok()
                    .map(|choice| (choice.model.as_str(), choice.because.as_str())),
                expected
            );
        }
        let message = NoModel.to_string();
        assert!(
            message.contains("ANTHROPIC_API_KEY")
                && message.contains("Ollama")
                && message.contains("outrigger demo")
        );
    }
}
