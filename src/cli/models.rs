//! `outrigger models`: what can answer, what is reachable, and what to set where nothing is.

use anyhow::Context;
use clap::Args;
use serde_json::json;

use super::output::say;
use super::words::{BAD, BOLD, DIM, GOOD, NAME, clean, grouped, styled};
use super::workspace::{Open, WorkspaceArguments};
use crate::app::{Asking, KeySource, Listing, ModelListing, NO_MODEL, ProviderListing};
use crate::app::{ProviderState, Reach};

/// Models of one provider that are named without `--all`.
const NAMED: usize = 6;

/// List the models that can answer: which is used, what is configured, and what is reachable.
///
/// Servers on this machine (Ollama, LM Studio, llama.cpp, vLLM) are found by asking their usual ports. Providers on the
/// net are asked for their list of models, which costs nothing.
///
/// Examples:
///   outrigger models
///   outrigger models --offline
///   outrigger models --json | jq -r '.choice.model'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// One JSON object.
    #[arg(long)]
    json: bool,
    /// Ask nobody but this machine.
    #[arg(long)]
    offline: bool,
    /// Name every model that a provider lists.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    workspace: WorkspaceArguments,
}

pub async fn models(arguments: &Arguments, open: &Open) -> anyhow::Result<u8> {
    let app = arguments.workspace.open(open)?;
    let asking = if arguments.offline {
        Asking::ThisMachineOnly
    } else {
        Asking::All
    };
    let listing = app.models(asking).await;
    let text = if arguments.json {
        format!("{:#}\n", as_json(&listing)?)
    } else {
        let named = if arguments.all { usize::MAX } else { NAMED };
        as_text(&listing, named)
    };
    say(&text).context("failed to write to standard output")?;
    Ok(0)
}

fn as_json(listing: &Listing) -> anyhow::Result<serde_json::Value> {
    let mut value = serde_json::to_value(listing).context("failed to write the list as JSON")?;
    if listing.choice.is_none()
        && let Some(fields) = value.as_object_mut()
    {
        fields.insert("advice".to_owned(), json!(NO_MODEL));
    }
    Ok(value)
}

fn as_text(listing: &Listing, named: usize) -> String {
    let mut text = String::new();
    match &listing.choice {
        Some(choice) => text.push_str(&format!(
            "Runs that name no model use {}: {}.\n",
            styled(BOLD, clean(&choice.model)),
            clean(&choice.because)
        )),
        None => text.push_str(&format!("{NO_MODEL}\n")),
    }
    if let Some(fallback) = &listing.fallback_model {
        let fallback = clean(fallback);
        text.push_str(&format!(
            "{fallback} takes over when it cannot be reached.\n"
        ));
    }
    let (there, missing): (Vec<_>, Vec<_>) = listing
        .providers
        .iter()
        .partition(|row| !is_missing(&row.state));
    if !there.is_empty() {
        text.push('\n');
    }
    for row in there {
        text.push_str(&provider(row, named));
    }
    if !missing.is_empty() {
        text.push_str(&format!("\n{}\n", styled(DIM, "not there:")));
    }
    for row in missing {
        let name = format!("{:<12}", row.provider);
        text.push_str(&format!("  {}{}\n", styled(NAME, name), what_to_do(row)));
    }
    let date = listing.prices_of;
    text.push_str(&format!(
        "\nPrices are of {date}; calls of models without one are counted in tokens only.\n"
    ));
    text
}

fn is_missing(state: &ProviderState) -> bool {
    match state {
        ProviderState::Missing { .. } | ProviderState::NotRunning => true,
        ProviderState::Configured { .. }
        | ProviderState::Reachable
        | ProviderState::Unusable { .. } => false,
    }
}

fn what_to_do(row: &ProviderListing) -> String {
    match &row.state {
        ProviderState::Missing { set } => format!("set {}", set.join(" or ")),
        _ => format!(
            "does not answer at {}",
            row.base_url.as_deref().unwrap_or("any address")
        ),
    }
}

fn provider(row: &ProviderListing, named: usize) -> String {
    let state = match &row.state {
        ProviderState::Configured { key, reach } => {
            let key = match key {
                KeySource::Environment { variable } => format!("key in {variable}"),
                KeySource::Editor => "key of your editor".to_owned(),
                KeySource::Keyring => "key in the keyring".to_owned(),
                KeySource::Header => "headers of your settings".to_owned(),
            };
            let reach = match reach {
                Reach::NotTried => styled(DIM, "not asked"),
                Reach::Answers => styled(GOOD, "answers"),
                Reach::Fails { advice, .. } => styled(BAD, clean(advice)),
            };
            format!("{key}, {reach}")
        }
        ProviderState::Reachable => styled(GOOD, "answers"),
        ProviderState::Unusable { why } => styled(BAD, clean(why)),
        ProviderState::Missing { .. } | ProviderState::NotRunning => String::new(),
    };
    let name = format!("{:<12}", row.provider);
    let address = styled(DIM, clean(row.base_url.as_deref().unwrap_or_default()));
    let mut text = format!("  {}{state}  {address}\n", styled(NAME, name));
    for model in row.models.iter().take(named) {
        text.push_str(&format!("    {}\n", self::model(model)));
    }
    if let more @ 1.. = row.models.len().saturating_sub(named) {
        text.push_str(&styled(DIM, format!("    and {more} more (--all)\n")));
    }
    text
}

fn model(model: &ModelListing) -> String {
    let mut about: Vec<String> = Vec::new();
    if let Some(window) = model.context_window {
        about.push(format!("{} tokens", grouped(window)));
    }
    if !model.is_priced {
        about.push("no known price".to_owned());
    }
    let name = clean(&model.name);
    if about.is_empty() {
        name.into_owned()
    } else {
        format!("{name}  {}", styled(DIM, about.join(", ")))
    }
}
