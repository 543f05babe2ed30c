//! `outrigger config`: what is set, where, and how to set it.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::output::say;
use super::workspace::WorkspaceArguments;
use crate::app::check;
use crate::config::{self, Origin, Sources, WORKSPACE_FILE};

/// Show the settings and where each comes from, or begin a settings file.
///
/// Settings lie over each other: defaults, your own file, the workspace's outrigger.toml, OUTRIGGER_… variables, the
/// editor's settings, flags. A changed file holds from its next use on.
///
/// Examples:
///   outrigger config show                       every setting, its value, its origin
///   outrigger config show budget --json         some of them, for tools
///   outrigger config init                       an outrigger.toml with everything explained
///   outrigger config schema > outrigger.schema.json     for completion in editors
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    workspace: WorkspaceArguments,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Every setting with its value and where that comes from; what is wrong with any is on standard error.
    Show {
        /// Only settings whose name begins like this: `budget`, `policy.merge`.
        name: Option<String>,
        /// As one JSON object: `settings` and `problems`.
        #[arg(long)]
        json: bool,
    },
    /// Write an outrigger.toml in which every setting is explained and commented out.
    Init,
    /// Print the JSON Schema of the settings files and of the editors' settings.
    Schema,
    /// Print every setting with its description, default and variable, as JSON.
    List,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let root = arguments.workspace.root()?;
    let show = Action::Show {
        name: None,
        json: false,
    };
    match arguments.action.as_ref().unwrap_or(&show) {
        Action::Show { name, json } => {
            // With what `outrigger trust` was said of; nothing holds that it was not.
            let settings = check::settings(&root, arguments.workspace.state_dir())
                .unwrap_or_else(|_| Sources::of_process(&root));
            let loaded = settings.load(&Value::Null);
            let begins = |full: &str| {
                let rest = name.as_deref().and_then(|name| full.strip_prefix(name));
                name.is_none() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            let mut listed = loaded.listed();
            listed.retain(|(name, _, _)| begins(name));
            if listed.is_empty() {
                let name = name.as_deref().unwrap_or_default();
                bail!("there is no setting `{name}`; `outrigger config show` lists them all");
            }
            if *json {
                say(&format!("{:#}\n", as_json(&listed, &loaded.problems)))?;
            } else {
                say(&as_table(&listed))?;
                for problem in &loaded.problems {
                    writeln!(io::stderr(), "{problem}").context("failed to write")?;
                }
            }
        }
        Action::Init => {
            let path = root.join(WORKSPACE_FILE);
            let file = OpenOptions::new().write(true).create_new(true).open(&path);
            match file {
                Ok(mut file) => file
                    .write_all(config::template().as_bytes())
                    .with_context(|| format!("failed to write {}", path.display()))?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    bail!("{} is there already; nothing was written", path.display())
                }
                Err(error) => {
                    return Err(error)
                        .with_context(|| format!("failed to write {}", path.display()));
                }
            }
            say(&format!("{} is written\n", path.display()))?;
        }
        Action::Schema => say(&format!("{:#}\n", config::schema().as_value()))?,
        Action::List => say(&format!("{:#}\n", json!(config::documented())))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn as_json(listed: &[(String, Value, Origin)], problems: &[config::Problem]) -> Value {
    let settings: serde_json::Map<String, Value> = listed
        .iter()
        .map(|(name, value, origin)| {
            let entry = json!({"value": value, "origin": origin.to_string()});
            (name.clone(), entry)
        })
        .collect();
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    json!({"settings": settings, "problems": problems})
}

fn as_table(listed: &[(String, Value, Origin)]) -> String {
    let values: Vec<String> = listed.iter().map(|(_, value, _)| in_words(value)).collect();
    let width = |texts: &mut dyn Iterator<Item = &String>| {
        texts.map(|text| text.chars().count()).max().unwrap_or(0)
    };
    let names = width(&mut listed.iter().map(|(name, _, _)| name));
    let widest = width(&mut values.iter()).min(WIDEST_VALUE);
    let line = |((name, _, origin), value): (&(String, Value, Origin), &String)| {
        format!("{name:names$}  {value:widest$}  {origin}\n")
    };
    listed.iter().zip(&values).map(line).collect()
}

/// Longer values push their origin to the right.
const WIDEST_VALUE: usize = 40;

fn in_words(value: &Value) -> String {
    match value {
        Value::Null => "(not set)".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
