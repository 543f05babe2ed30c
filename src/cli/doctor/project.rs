//! What is so for this project: its settings, the model, git.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::Check;
use crate::app::check::{self, Listed};
use crate::app::{App, Asking, KeySource, NO_MODEL, ProviderState, Reach};
use crate::config::Sources;

/// A line for each setting that is wrong, or one that says that none is.
pub fn settings(root: &Path, state_dir: Option<&Path>) -> Vec<Check> {
    // Without a place for state nothing is trusted; that is a line of its own.
    let sources = check::settings(root, state_dir).unwrap_or_else(|_| Sources::of_process(root));
    let loaded = sources.load(&Value::Null);
    if loaded.problems.is_empty() {
        let files = [&sources.user_file, &sources.workspace_file];
        let there: Vec<String> = files
            .into_iter()
            .flatten()
            .filter(|file| file.is_file())
            .map(|file| file.display().to_string())
            .collect();
        let found = if there.is_empty() {
            "all are the defaults".to_owned()
        } else {
            there.join(", ")
        };
        return vec![Check::ok("settings", found)];
    }
    let wrong = loaded.problems.iter();
    wrong
        .map(|problem| {
            Check::warning(
                "settings",
                problem.to_string(),
                "`outrigger config show` says what holds",
            )
        })
        .collect()
}

/// Whether what the workspace says is run may be run, and the gates that apply, each with its program.
pub async fn gates(root: &Path, state_dir: Option<&Path>) -> Vec<Check> {
    // Without a place for state there is nothing to be said here; that is a line of its own.
    let Ok(checks) = check::Checks::open(root, state_dir) else {
        return Vec::new();
    };
    let (listed, _, checked) = checks.list().await;
    let mut lines = vec![match checked.refusal {
        Some(why) => Check::warning("trust", why, "no gate and no command of this folder is run"),
        None => Check::ok("trust", "what this folder says is run may be run"),
    }];
    if listed.is_empty() {
        lines.push(Check::warning(
            "gates",
            "none applies: nothing will verify what a run changes",
            "`outrigger gates list` says what was looked for",
        ));
    }
    // A tool that many folders use is one line.
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut missing: BTreeMap<String, (Vec<Listed>, String)> = BTreeMap::new();
    for gate in listed {
        match &gate.program {
            Ok(program) => {
                let programs = found.entry(program.display().to_string()).or_default();
                let name = gate.gate.to_string();
                if !programs.contains(&name) {
                    programs.push(name);
                }
            }
            Err(todo) => {
                let todo = todo.clone();
                let name = gate.gate.to_string();
                missing
                    .entry(name)
                    .or_insert((Vec::new(), todo))
                    .0
                    .push(gate);
            }
        }
    }
    for (program, gates) in found {
        lines.push(Check::ok(
            "gates",
            format!("{}: {program}", gates.join(", ")),
        ));
    }
    for (name, (uses, todo)) in missing {
        let Some(first) = uses.first() else { continue };
        let place = match (uses.len(), first.root.as_str()) {
            (1, "") => String::new(),
            (1, root) => format!(" in {root}"),
            (count, root) => format!(" in {count} folders, such as {root}"),
        };
        lines.push(Check::warning(
            "gates",
            format!("{name} is used{place} ({}), and not there", first.why),
            todo,
        ));
    }
    lines
}

/// The model that would answer, and whether it can be reached.
pub async fn models(app: &App, offline: bool) -> Vec<Check> {
    let asking = if offline {
        Asking::ThisMachineOnly
    } else {
        Asking::All
    };
    let listing = app.models(asking).await;
    let mut checks = vec![match &listing.choice {
        Some(choice) => Check::ok("model", format!("{}: {}", choice.model, choice.because)),
        None => Check::error("model", "none is configured", NO_MODEL.trim()),
    }];
    let mut keys = Vec::new();
    for provider in &listing.providers {
        match &provider.state {
            ProviderState::Configured { key, reach } => {
                if let Reach::Fails { advice, .. } = reach {
                    checks.push(Check::error(
                        "model",
                        format!("{} does not answer", provider.provider),
                        advice.clone(),
                    ));
                }
                keys.push(match key {
                    KeySource::Environment { variable } => variable.clone(),
                    KeySource::Editor => format!("{} in the editor", provider.provider),
                    KeySource::Keyring => format!("{} in the keyring", provider.provider),
                    KeySource::Header => format!("{} in a header", provider.provider),
                });
            }
            ProviderState::Unusable { why } => checks.push(Check::warning(
                "model",
                format!("{} cannot be used: {why}", provider.provider),
                "`outrigger models` says more",
            )),
            ProviderState::Reachable
            | ProviderState::Missing { .. }
            | ProviderState::NotRunning => {}
        }
    }
    checks.push(if keys.is_empty() {
        Check::ok("keys", "none is set; local servers and scripts need none")
    } else {
        Check::ok("keys", keys.join(", "))
    });
    checks
}

/// Git is needed for batches only.
pub fn git(root: &Path) -> Check {
    let version = words(Command::new("git").arg("--version"));
    let Some(version) = version else {
        return Check::warning(
            "git",
            "it is not on the PATH: batches are done in place",
            "install git 2.30 or newer",
        );
    };
    let inside = words(
        Command::new("git")
            .args(["rev-parse", "--show-toplevel"])
            .current_dir(root),
    );
    let Some(top) = inside else {
        return Check::warning(
            "git",
            format!(
                "{version}; {} is in no repository: batches are done in place",
                root.display()
            ),
            "git init",
        );
    };
    Check::ok("git", format!("{version}, repository {top}"))
}

fn words(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
