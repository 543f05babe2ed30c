//! Models: providers on the net and on this machine, scripts and recordings, behind one call.
//!
//! Owns the wires, the classification of errors, the choice of a model and the scripted and replayed models. Promises:
//! a call ends in a turn that may be acted on or in a classified failure; a cut tool call is never in a turn; nothing
//! is retried here; dropping the future cancels the call; keys are never shown or stored.

pub mod classify;
pub mod clocks;
pub mod estimate;
mod pattern;
pub mod script;
pub mod turn;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::kernel::conversation::{ModelErrorKind, ModelFailure, ModelRequest, ModelTurn};
use crate::kernel::ids::RunId;

use clocks::Clocks;
use script::{Cursor, Script};

/// A tool as it is described to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments, an object.
    pub schema: serde_json::Value,
}

/// Signs of life while a turn arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    Text(String),
    Thinking(String),
    /// The model has begun to call a tool.
    ToolCall {
        name: String,
    },
    /// Bytes of something that has no text to show, such as a tool call's arguments.
    Bytes(usize),
}

/// What the models need to know from outside.
#[derive(Debug, Clone, Default)]
pub struct ModelsConfig {
    /// Against which a script's relative path is resolved; the process's folder when `None`.
    pub directory: Option<PathBuf>,
}

/// Everything that can answer a [`ModelRequest`].
#[derive(Debug)]
pub struct Models {
    config: ModelsConfig,
    built_in: HashMap<String, String>,
    scripts: Mutex<HashMap<String, Arc<Script>>>,
    cursors: Mutex<HashMap<(RunId, String), Cursor>>,
}

impl Models {
    pub fn new(config: ModelsConfig) -> Self {
        Self {
            config,
            built_in: HashMap::new(),
            scripts: Mutex::new(HashMap::new()),
            cursors: Mutex::new(HashMap::new()),
        }
    }

    /// Adds a built-in script, callable as `scripted:NAME`. It is read when it is first called.
    #[must_use]
    pub fn with_script(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.built_in.insert(name.into(), text.into());
        self
    }

    /// Asks the model that the request names. `tools` describes what `request.tools` names. Cancel by dropping the
    /// future.
    ///
    /// # Errors
    ///
    /// A classified failure; nothing has been retried.
    pub async fn call(
        &self,
        run: &RunId,
        request: ModelRequest,
        tools: &[ToolSpec],
        mut progress: impl FnMut(Progress) + Send,
    ) -> Result<ModelTurn, ModelFailure> {
        if let Some(name) = request.model.strip_prefix("scripted:") {
            let script = self.script(name)?;
            let planned = self.plan(run, &script, &request, tools)?;
            return script::play(&planned, &Clocks::REMOTE, &mut progress).await;
        }
        Err(failure(
            "model.unknown",
            format!("no model is named `{}`", request.model),
        ))
    }

    /// Ends a run's use of its scripts.
    ///
    /// # Errors
    ///
    /// Names the turns that a script still had to say.
    pub fn finish(&self, run: &RunId) -> Result<(), String> {
        let mut cursors = self.cursors.lock().unwrap_or_else(PoisonError::into_inner);
        let scripts = self.scripts.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left = Vec::new();
        cursors.retain(|(of_run, name), cursor| {
            if of_run != run {
                return true;
            }
            left.extend(
                scripts
                    .get(name)
                    .and_then(|script| cursor.finish(script).err()),
            );
            false
        });
        if left.is_empty() {
            Ok(())
        } else {
            Err(left.join("; "))
        }
    }

    fn plan(
        &self,
        run: &RunId,
        script: &Script,
        request: &ModelRequest,
        tools: &[ToolSpec],
    ) -> Result<script::PlannedTurn, ModelFailure> {
        let mut cursors = self.cursors.lock().unwrap_or_else(PoisonError::into_inner);
        cursors
            .entry((run.clone(), script.name.clone()))
            .or_insert_with(|| Cursor::resumed(script, request))
            .next(script, request, tools)
    }

    fn script(&self, name: &str) -> Result<Arc<Script>, ModelFailure> {
        if let Some(script) = self
            .scripts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(name)
        {
            return Ok(Arc::clone(script));
        }
        let text = match self.built_in.get(name) {
            Some(text) => text.clone(),
            None => {
                let path = self.config.directory.clone().unwrap_or_default().join(name);
                std::fs::read_to_string(&path).map_err(|error| {
                    failure(
                        "script.file",
                        format!("failed to read the script {}: {error}", path.display()),
                    )
                })?
            }
        };
        let script = Script::parse(name, &text)
            .map_err(|error| failure("script.format", error.to_string()))?;
        let script = Arc::new(script);
        self.scripts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name.to_owned(), Arc::clone(&script));
        Ok(script)
    }
}

/// A failure of our own making: the request never left.
fn failure(rule: &str, what: String) -> ModelFailure {
    ModelFailure {
        kind: ModelErrorKind::InvalidRequest,
        retryable: false,
        retry_after_ms: None,
        status: None,
        tokens: None,
        rule: rule.to_owned(),
        advice: format!("The model could not be asked: {what}."),
        raw: classify::masked(&what),
    }
}
