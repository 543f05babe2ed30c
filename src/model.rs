//! Models: providers on the net and on this machine, scripts and recordings, behind one call.
//!
//! Owns the wires, the classification of errors, the choice of a model, prices, and the scripted and replayed models.
//! Promises: a call ends in a turn that may be acted on or in a classified failure; a cut tool call is never in a turn;
//! nothing is retried here; dropping the future cancels the call; keys are never shown or stored.

pub mod choose;
pub mod classify;
pub mod clocks;
pub mod endpoint;
pub mod estimate;
pub mod http;
pub mod keyring;
pub mod listing;
pub mod local;
mod pattern;
pub mod prices;
mod record;
pub mod replay;
pub mod script;
pub mod secret;
pub mod sse;
pub mod stream;
pub mod turn;
pub mod wire;

use std::collections::{BTreeMap, HashMap};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::kernel::conversation::{ModelErrorKind, ModelFailure, ModelRequest, ModelTurn};
use crate::kernel::ids::RunId;

use clocks::Clocks;
use endpoint::{Endpoint, Environment, ProviderSettings, resolve};
use estimate::{Calibration, estimate_request};
use http::{Clients, Transport};
pub use listing::{ProviderListing, ProviderState};
use script::{Cursor, PlannedTurn, Script};
use secret::Secret;

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
    /// Against which a script's or a recording's relative path is resolved; the process's folder when `None`.
    pub directory: Option<PathBuf>,
    /// The model the user has set, as `provider/model`, `scripted:FILE` or `replay:TRANSCRIPT`.
    pub model: Option<String>,
    pub environment: Environment,
    /// By provider. The user's own; never a workspace's.
    pub providers: BTreeMap<String, ProviderSettings>,
    pub transport: Transport,
    /// Asked for the key of a provider that has none otherwise; see [`keyring::platform_command`].
    pub key_command: Option<Vec<String>>,
    /// Every call to a real provider is appended to this file, as a script.
    pub record: Option<PathBuf>,
    /// Taken out of recordings.
    pub home: Option<String>,
}

/// Everything that can answer a [`ModelRequest`].
#[derive(Debug)]
pub struct Models {
    config: ModelsConfig,
    clients: Clients,
    built_in: HashMap<String, String>,
    scripts: Mutex<HashMap<String, Arc<Script>>>,
    cursors: Mutex<HashMap<(RunId, String), Cursor>>,
    replays: Mutex<HashMap<(RunId, String), Replay>>,
    calibrations: Mutex<HashMap<String, Calibration>>,
    /// Keys that the keyring gave, by provider.
    keys: Mutex<HashMap<String, Secret>>,
}

#[derive(Debug)]
struct Replay {
    answers: Vec<replay::Recorded>,
    next: usize,
}

impl Models {
    pub fn new(config: ModelsConfig) -> Self {
        Self {
            clients: Clients::new(config.transport.clone()),
            config,
            built_in: HashMap::new(),
            scripts: Mutex::default(),
            cursors: Mutex::default(),
            replays: Mutex::default(),
            calibrations: Mutex::default(),
            keys: Mutex::default(),
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
        if let Some(name) = request.model.strip_prefix("replay:") {
            return self.replayed(run, name);
        }
        let endpoint = self.endpoint(&request.model).await?;
        self.ask(&endpoint, &request, tools, &mut progress).await
    }

    async fn endpoint(&self, model: &str) -> Result<Endpoint, ModelFailure> {
        let (settings, environment) = (&self.config.providers, &self.config.environment);
        let missing = match resolve(model, settings, environment) {
            Err(failure) if failure.kind == ModelErrorKind::Auth => failure,
            result => return result,
        };
        let (Some(command), Some((provider, _))) =
            (&self.config.key_command, model.split_once('/'))
        else {
            return Err(missing);
        };
        let known = locked(&self.keys).get(provider).cloned();
        let key = match known {
            Some(key) => key,
            None => keyring::look_up(command, provider).await.ok_or(missing)?,
        };
        locked(&self.keys).insert(provider.to_owned(), key.clone());
        let mut settings = settings.clone();
        settings.entry(provider.to_owned()).or_default().key = Some(key);
        resolve(model, &settings, environment)
    }

    async fn ask(
        &self,
        endpoint: &Endpoint,
        request: &ModelRequest,
        tools: &[ToolSpec],
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<ModelTurn, ModelFailure> {
        let client = self
            .clients
            .client(endpoint.is_local)
            .map_err(|problem| failure("model.http", &problem))?;
        let target = wire::Target {
            model: &endpoint.model,
            quirks: &endpoint.quirks,
            default_output: endpoint.max_output.unwrap_or(8192),
            extra: &endpoint.extra_body,
        };
        let encoded = wire::encode(endpoint.wire, &target, request, tools);
        let begun = Instant::now();
        let mut timing = record::Timing::default();
        let mut counted = |piece: Progress| {
            if timing.pieces == 0 {
                timing.first_event_ms = whole_ms(begun.elapsed());
            }
            timing.pieces += 1;
            progress(piece);
        };
        let answer = http::perform(&client, endpoint, &encoded, &mut counted).await;
        timing.total_ms = whole_ms(begun.elapsed());
        if let Ok(turn) = &answer {
            let estimated = estimate_request(request, tools);
            locked(&self.calibrations)
                .entry(request.model.clone())
                .or_default()
                .learn(estimated, turn.usage.input);
        }
        if let Some(path) = &self.config.record {
            self.append(
                path,
                &record::line(request, &answer, timing, self.config.home.as_deref()),
                &request.model,
            )?;
        }
        answer
    }

    /// How many tokens a request will be, by what this model has reported so far.
    pub fn estimate(&self, request: &ModelRequest, tools: &[ToolSpec]) -> u64 {
        let calibration = locked(&self.calibrations)
            .get(&request.model)
            .copied()
            .unwrap_or_default();
        calibration.apply(estimate_request(request, tools))
    }

    /// Tokens that fit the model, prompt and answer together, where that is known.
    pub fn context_window(&self, model: &str) -> Option<u64> {
        if let Some(name) = model.strip_prefix("scripted:") {
            return self.script(name).ok()?.context_window;
        }
        let (provider, name) = model.split_once('/')?;
        let own = self
            .config
            .providers
            .get(provider)
            .and_then(|settings| settings.context_window);
        own.or_else(|| prices::facts(provider, name).and_then(|facts| facts.context_window))
    }

    /// Ends a run's use of its scripts and replays.
    ///
    /// # Errors
    ///
    /// Names the turns that a script still had to say.
    pub fn finish(&self, run: &RunId) -> Result<(), String> {
        locked(&self.replays).retain(|(of_run, _), _| of_run != run);
        let mut cursors = locked(&self.cursors);
        let scripts = locked(&self.scripts);
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
    ) -> Result<PlannedTurn, ModelFailure> {
        locked(&self.cursors)
            .entry((run.clone(), script.name.clone()))
            .or_insert_with(|| Cursor::resumed(script, request))
            .next(script, request, tools)
    }

    fn script(&self, name: &str) -> Result<Arc<Script>, ModelFailure> {
        if let Some(script) = locked(&self.scripts).get(name) {
            return Ok(Arc::clone(script));
        }
        let text = match self.built_in.get(name) {
            Some(text) => text.clone(),
            None => self.read("script", name)?,
        };
        let script = Script::parse(name, &text)
            .map_err(|error| failure("script.format", &error.to_string()))?;
        let script = Arc::new(script);
        locked(&self.scripts).insert(name.to_owned(), Arc::clone(&script));
        Ok(script)
    }

    fn replayed(&self, run: &RunId, name: &str) -> Result<ModelTurn, ModelFailure> {
        let mut replays = locked(&self.replays);
        let replay = match replays.entry((run.clone(), name.to_owned())) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                let text = self.read("transcript", name)?;
                let answers = replay::answers_in(name, &text)
                    .map_err(|problem| failure("replay.format", &problem))?;
                entry.insert(Replay { answers, next: 0 })
            }
        };
        let Some(answer) = replay.answers.get(replay.next) else {
            let count = replay.answers.len();
            return Err(failure(
                "replay.exhausted",
                &format!("{name} has {count} answer(s) of a model and was asked for one more"),
            ));
        };
        replay.next += 1;
        answer.clone()
    }

    fn read(&self, what: &str, name: &str) -> Result<String, ModelFailure> {
        let path = self.config.directory.clone().unwrap_or_default().join(name);
        std::fs::read_to_string(&path).map_err(|error| {
            failure(
                "model.file",
                &format!("failed to read the {what} {}: {error}", path.display()),
            )
        })
    }

    fn append(&self, path: &std::path::Path, line: &str, model: &str) -> Result<(), ModelFailure> {
        let path = self.config.directory.clone().unwrap_or_default().join(path);
        let write = || -> std::io::Result<()> {
            let mut file = std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(&path)?;
            let mut text = String::new();
            if file.metadata()?.len() == 0 {
                let name = path
                    .file_stem()
                    .map(|stem| stem.to_string_lossy().into_owned())
                    .unwrap_or_default();
                text = record::header(&name, model) + "\n";
            }
            text.push_str(line);
            text.push('\n');
            file.write_all(text.as_bytes())
        };
        write().map_err(|error| {
            failure(
                "model.record",
                &format!("failed to record to {}: {error}", path.display()),
            )
        })
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn whole_ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// A failure of our own making: the request never left.
fn failure(rule: &str, what: &str) -> ModelFailure {
    ModelFailure {
        kind: ModelErrorKind::InvalidRequest,
        retryable: false,
        retry_after_ms: None,
        status: None,
        tokens: None,
        rule: rule.to_owned(),
        advice: format!("The model could not be asked: {what}."),
        raw: classify::masked(what),
    }
}
