//! `outrigger doctor`: what works here and what does not, one line each, with what to do.

mod machine;
mod project;

use anyhow::Context;
use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::output::say;
use super::words::{ASKS, BAD, DIM, GOOD, clean, styled};
use super::workspace::{Open, WorkspaceArguments};

/// Check what runs need: model, keys, settings, gates, git, trust, permissions, locks, disk, encoding, clock, versions,
/// editors. Each line is ok, a warning or an error, with what to do.
///
/// Examples:
///   outrigger doctor
///   outrigger doctor --offline
///   outrigger doctor --json | jq -r '.checks[] | select(.state != "ok") | .todo'
///
/// Exit codes: 0 no error (warnings do not count), 1 an error.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// One JSON object.
    #[arg(long)]
    json: bool,
    /// Ask no provider on the net.
    #[arg(long)]
    offline: bool,
    #[command(flatten)]
    workspace: WorkspaceArguments,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
enum State {
    Ok,
    Warning,
    Error,
}

/// One line of the page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    name: &'static str,
    state: State,
    /// What was found.
    found: String,
    /// What to do about it; empty where there is nothing to do.
    #[serde(skip_serializing_if = "String::is_empty")]
    todo: String,
}

impl Check {
    fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self {
            name,
            state: State::Ok,
            found: found.into(),
            todo: String::new(),
        }
    }

    fn warning(name: &'static str, found: impl Into<String>, todo: impl Into<String>) -> Self {
        Self {
            name,
            state: State::Warning,
            found: found.into(),
            todo: todo.into(),
        }
    }

    fn error(name: &'static str, found: impl Into<String>, todo: impl Into<String>) -> Self {
        Self {
            state: State::Error,
            ..Self::warning(name, found, todo)
        }
    }
}

pub async fn doctor(arguments: &Arguments, open: &Open) -> anyhow::Result<u8> {
    let root = arguments.workspace.root()?;
    let mut checks = vec![machine::versions()];
    checks.extend(project::settings(&root, arguments.workspace.state_dir()));
    match arguments.workspace.open(open) {
        Ok(app) => {
            checks.extend(project::models(&app, arguments.offline).await);
            checks.extend(machine::state(app.state_folder()));
            app.park().await;
        }
        Err(why) => checks.push(Check::error(
            "state",
            format!("{why:#}"),
            "choose a folder of yours with --state-dir or OUTRIGGER_STATE_DIR",
        )),
    }
    checks.extend(project::gates(&root, arguments.workspace.state_dir()).await);
    checks.push(project::git(&root));
    checks.push(machine::permissions(&root));
    checks.push(machine::home(|name| std::env::var(name).ok()));
    checks.push(machine::encoding(|name| std::env::var(name).ok()));
    checks.push(machine::clock(&std::env::temp_dir()));
    checks.push(machine::editors());
    let worst = checks.iter().map(|check| check.state).max();
    let text = if arguments.json {
        format!(
            "{:#}\n",
            json!({ "version": env!("CARGO_PKG_VERSION"), "checks": checks })
        )
    } else {
        checks.iter().map(line).collect()
    };
    say(&text).context("failed to write to standard output")?;
    Ok(u8::from(worst == Some(State::Error)))
}

fn line(check: &Check) -> String {
    let (word, style) = match check.state {
        State::Ok => ("ok", GOOD),
        State::Warning => ("warning", ASKS),
        State::Error => ("error", BAD),
    };
    let mut text = format!(
        "{}  {:12} {}\n",
        styled(style, format!("{word:>7}")),
        check.name,
        clean(&check.found)
    );
    if !check.todo.is_empty() {
        let todo = format!("{:22}→ {}\n", "", clean(&check.todo));
        text.push_str(&styled(DIM, todo));
    }
    text
}
