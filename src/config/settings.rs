//! The one shape of all layers. Every table has its defaults, so that each setting can stand alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::trust::TrustRule;
use crate::gates::settings::{GatesSettings, NamedGates};
use crate::kernel::event::{Budget, Engine, Policy};
use crate::kernel::policy::stall::StallPolicy;
use crate::model::settings::{ModelsSettings, ProvidersSettings};

/// Settings of Outrigger.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// The model of runs that name none: `provider/model`, `scripted:FILE` or `replay:TRANSCRIPT`. Unset: the first that
    /// has a key in the environment, else a local server.
    pub model: Option<String>,
    /// The model that takes over when the first cannot be reached.
    pub fallback_model: Option<String>,
    /// How a run thinks.
    pub engine: Engine,
    /// How a run deals with what it must not decide alone.
    pub policy: Policy,
    /// Limits of a run. Reaching one is a question, never a silent end.
    pub budget: Budget,
    /// What a run does when nothing has lived for a while.
    pub stall: StallPolicy,
    /// How models are reached: the net, and where keys are found.
    pub models: ModelsSettings,
    /// By name: what is different about a known provider, or everything about one of your own. Keys are never written here.
    pub providers: ProvidersSettings,
    /// The runs of a workspace.
    pub runs: RunsSettings,
    /// Rules for all gates.
    pub gates: GatesSettings,
    /// By name: what is different about a known gate, or everything about one of your own.
    pub gate: NamedGates,
    /// Which folders are trusted that nobody has said anything about.
    pub trust: TrustRule,
    /// The log of the sidecar itself.
    pub log: LogSettings,
}

/// The runs of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RunsSettings {
    /// What happens when the editor comes back to a run that its process did not end.
    pub on_restart: OnRestart,
    /// How many ended runs are kept.
    pub keep: u32,
}

impl Default for RunsSettings {
    fn default() -> Self {
        Self {
            on_restart: OnRestart::default(),
            keep: 200,
        }
    }
}

/// What happens when the editor comes back to a run that its process did not end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OnRestart {
    /// It is offered, with what is certain and what is not.
    #[default]
    Ask,
    /// It goes on by itself, unless something is uncertain.
    Resume,
    /// It stays where it is until it is asked for.
    Park,
}

/// The log of the sidecar itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LogSettings {
    /// `error`, `warn`, `info`, `debug` or `trace`, or by module: `info,outrigger::gates=debug`.
    pub level: String,
    /// How a line looks.
    pub format: LogFormat,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self {
            level: "warn".to_owned(),
            format: LogFormat::default(),
        }
    }
}

/// How a line of the log looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}
