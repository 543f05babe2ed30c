//! The flags by which one call differs from what is configured: of a run, and of every run of a batch.

use anyhow::Context;
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use crate::cli::usage::Usage;

#[derive(Debug, Clone, Default, Args)]
pub struct RunFlags {
    /// `provider/model`, `scripted:FILE` or `replay:TRANSCRIPT` [default: the configured model].
    #[arg(long)]
    pub model: Option<String>,
    /// The model that takes over when the first cannot be reached.
    #[arg(long)]
    fallback_model: Option<String>,
    /// How the run thinks.
    #[arg(long)]
    engine: Option<Engine>,
    /// Which plans of the engine `plan` are shown to you first [default: large ones in a terminal, else never].
    #[arg(long, value_name = "POLICY")]
    review: Option<Review>,
    /// What happens when a change meets content that the agent has not read [default: ask in a terminal, else edit].
    #[arg(long, value_name = "POLICY", visible_alias = "policy")]
    conflict: Option<Conflict>,
    /// What happens when the agent's change and another one do not overlap.
    #[arg(long, value_name = "POLICY")]
    merge: Option<Merge>,
    /// Whether the agent may run commands.
    #[arg(long, value_name = "POLICY")]
    commands: Option<Commands>,
    /// Ask nothing: commands are allowed unless --commands says otherwise, conflicts follow the policy, and what only you
    /// can know is left open.
    #[arg(long, short)]
    pub yes: bool,
    /// Seconds of work after which the run asks whether to go on.
    #[arg(long, value_name = "SECONDS")]
    max_seconds: Option<u64>,
    /// Tokens after which the run asks whether to go on.
    #[arg(long, value_name = "TOKENS")]
    max_tokens: Option<u64>,
    /// US dollars that the run may cost before it asks whether to go on; models without a known price count as nothing.
    #[arg(long, value_name = "DOLLARS")]
    max_cost: Option<f64>,
    /// Turns of the model after which the run asks whether to go on.
    #[arg(long, value_name = "TURNS")]
    max_turns: Option<u32>,
    /// Seconds without a sign of life after which what hangs is stopped; 0: never.
    #[arg(long, value_name = "SECONDS")]
    stall_timeout: Option<u64>,
    /// What is done when nothing has lived for that long.
    #[arg(long, value_name = "ACTION")]
    stall_action: Option<Stall>,
    /// Any other setting, by the name that `outrigger config show` prints; may be given several times.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Engine {
    /// A tool-use loop.
    React,
    /// A plan first, then its steps.
    Plan,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Review {
    Always,
    /// Those of more than six steps, and those that delete files.
    Large,
    Never,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Conflict {
    /// A human decides, over a diff.
    Ask,
    /// The agent is shown what is there and edits that.
    Edit,
    /// The proposal wins over what is on disk.
    Overwrite,
    /// The tool call fails.
    Fail,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Merge {
    Auto,
    Ask,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Commands {
    Ask,
    Allow,
    Deny,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Stall {
    /// What hangs is stopped and done once more; the second time the run fails.
    Retry,
    /// What hangs is stopped and a human is asked.
    Blocker,
    /// The run fails.
    Fail,
}

impl RunFlags {
    /// What the flags say, in the shape of the settings.
    ///
    /// # Errors
    /// A `--set` without a value.
    pub fn call(&self) -> anyhow::Result<Value> {
        let word = |value: Option<PossibleValue>| value.map(|value| value.get_name().to_owned());
        let unasked = self.yes.then_some(Commands::Allow);
        let commands = self.commands.or(unasked);
        let mut call = json!({
            "model": self.model,
            "fallbackModel": self.fallback_model,
            "engine": word(self.engine.and_then(|value| value.to_possible_value())),
            "policy": {
                "review": word(self.review.and_then(|value| value.to_possible_value())),
                "conflict": word(self.conflict.and_then(|value| value.to_possible_value())),
                "merge": word(self.merge.and_then(|value| value.to_possible_value())),
                "commands": word(commands.and_then(|value| value.to_possible_value())),
            },
            "budget": {
                "activeS": self.max_seconds,
                "tokens": self.max_tokens,
                "iterations": self.max_turns,
                "cost": self.max_cost,
            },
            "stall": {
                "timeoutS": self.stall_timeout,
                "action": word(self.stall_action.and_then(|value| value.to_possible_value())),
            },
        });
        for setting in &self.set {
            let (name, value) = setting
                .split_once('=')
                .filter(|(name, _)| !name.is_empty())
                .ok_or_else(|| {
                    Usage::new(format!("`--set {setting}` has no value; give NAME=VALUE"))
                })?;
            put(&mut call, name, value).with_context(|| format!("failed to set {name}"))?;
        }
        Ok(call)
    }
}

/// A value is read as JSON where it is some: numbers, lists, booleans.
fn put(call: &mut Value, name: &str, value: &str) -> anyhow::Result<()> {
    let mut at = call;
    for part in name.split('.') {
        if at.is_null() {
            *at = Value::Object(Map::new());
        }
        let fields = at
            .as_object_mut()
            .ok_or_else(|| Usage::new(format!("`{name}` is inside of a setting, not one")))?;
        at = fields.entry(part).or_insert(Value::Null);
    }
    *at = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Whole {
        #[command(flatten)]
        flags: RunFlags,
    }

    fn call(words: &[&str]) -> anyhow::Result<Value> {
        let words = std::iter::once("run").chain(words.iter().copied());
        Whole::try_parse_from(words).unwrap().flags.call()
    }

    #[test]
    fn flags_come_in_the_shape_of_the_settings() {
        let rows: [(&[&str], &str, Value); 8] = [
            (
                &["--policy", "overwrite"],
                "/policy/conflict",
                json!("overwrite"),
            ),
            (&["--yes"], "/policy/commands", json!("allow")),
            (
                &["-y", "--commands", "deny"],
                "/policy/commands",
                json!("deny"),
            ),
            (&["--stall-timeout", "5"], "/stall/timeoutS", json!(5)),
            (&["--stall-action", "fail"], "/stall/action", json!("fail")),
            (&["--set", "runs.keep=7"], "/runs/keep", json!(7)),
            (&["--set", "model=a=é"], "/model", json!("a=é")),
            (
                &["--set", "stall.timeoutS=3", "--stall-timeout", "5"],
                "/stall/timeoutS",
                json!(3),
            ),
        ];
        for (words, pointer, want) in rows {
            let call = call(words).unwrap();
            assert_eq!(call.pointer(pointer), Some(&want), "{words:?}");
        }
        for words in [
            ["--set", "runs.keep"],
            ["--set", "=7"],
            ["--set", "model.x.y=7"],
        ] {
            let is_an_object = words[1].starts_with("model");
            let refused = call(&words).is_err();
            assert_eq!(refused, !is_an_object, "{words:?}");
        }
        assert!(call(&["--max-turns", "3", "--set", "budget.iterations.x=7"]).is_err());
    }
}
