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
pub mod reach;
mod record;
pub mod replay;
pub mod script;
pub mod secret;
pub mod settings;
pub mod sse;
pub mod stream;
pub mod turn;
pub mod wire;

use std::collections::{BTreeMap, HashMap};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use crate::kernel::conversation::{ModelErrorKind, ModelFailure, ModelRequest, ModelTurn, Usage};
use crate::kernel::ids::RunId;

use clocks::Clocks;
use endpoint::{Endpoint, Environment, ProviderSettings, resolve};
use estimate::{Calibration, Estimate, estimate_request};
use http::{Clients, Transport};
pub use listing::{Asking, KeySource, Listing, ModelListing, ProviderListing, ProviderState};
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
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelsConfig {
    /// Against which a script's or a recording's relative path is resolved; the process's folder when `None`.
    pub directory: Option<PathBuf>,
    /// The model the user has set, as `provider/model`, `scripted:FILE` or `replay:TRANSCRIPT`.
    pub model: Option<String>,
    /// The model that takes over, where a run names none.
    pub fallback_model: Option<String>,
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
    config: RwLock<Arc<ModelsConfig>>,
    clients: Clients,
    built_in: HashMap<String, String>,
    /// As each run found them: a script that is edited holds for the next run.
    scripts: Mutex<HashMap<(RunId, String), Arc<Script>>>,
    cursors: Mutex<HashMap<(RunId, String), Cursor>>,
    replays: Mutex<HashMap<(RunId, String), Replay>>,
    calibrations: Mutex<HashMap<String, Calibration>>,
    /// Keys that the keyring gave, by provider.
    keys: Mutex<HashMap<String, Secret>>,
    /// Keys that an editor handed over, by provider. In memory only.
    handed: Mutex<HashMap<String, Secret>>,
    /// What servers on this machine said of their windows, by model.
    windows: Mutex<HashMap<String, Window>>,
}

/// What a server said of its window, or how often it did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Window {
    Tokens(u64),
    Unknown { asked: u32 },
}

/// A server that has not said its window by then never will.
const WINDOW_ASKED: u32 = 3;

#[derive(Debug)]
struct Replay {
    answers: Vec<replay::Recorded>,
    next: usize,
}

impl Models {
    pub fn new(config: ModelsConfig) -> Self {
        Self {
            clients: Clients::default(),
            config: RwLock::new(Arc::new(config)),
            built_in: HashMap::new(),
            scripts: Mutex::default(),
            cursors: Mutex::default(),
            replays: Mutex::default(),
            calibrations: Mutex::default(),
            keys: Mutex::default(),
            handed: Mutex::default(),
            windows: Mutex::default(),
        }
    }

    /// Takes new settings, made of those that hold; calls under way end as they began.
    pub fn configure(&self, make: impl FnOnce(ModelsConfig) -> ModelsConfig) {
        let mut holds = self.config.write().unwrap_or_else(PoisonError::into_inner);
        let made = make(ModelsConfig::clone(&holds));
        if made != **holds {
            *holds = Arc::new(made);
            drop(holds);
            locked(&self.keys).clear();
            locked(&self.windows).clear();
        }
    }

    fn config(&self) -> Arc<ModelsConfig> {
        Arc::clone(&self.config.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes a provider's key from an editor's secret store, or forgets it. It counts before all others, stays in memory
    /// and ends with the process.
    pub fn hand_over(&self, provider: &str, key: Option<Secret>) {
        match key {
            Some(key) => locked(&self.handed).insert(provider.to_owned(), key),
            None => locked(&self.handed).remove(provider),
        };
    }

    /// What is said about providers, with the keys that were handed over.
    fn providers(&self, config: &ModelsConfig) -> BTreeMap<String, ProviderSettings> {
        let mut providers = config.providers.clone();
        for (provider, key) in locked(&self.handed).iter() {
            providers.entry(provider.clone()).or_default().key = Some(key.clone());
        }
        providers
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
            let script = self.script_of(run, name)?;
            let planned = self.plan(run, &script, &request, tools)?;
            return script::play(&planned, &Clocks::REMOTE, &mut progress).await;
        }
        if let Some(name) = request.model.strip_prefix("replay:") {
            return self.replayed(run, name);
        }
        let mut endpoint = self.endpoint(&request.model).await?;
        if local::is_known(&endpoint.provider) && endpoint.context_window.is_none() {
            endpoint.context_window = self.window_of(&endpoint, &request.model).await;
        }
        self.ask(&endpoint, &request, tools, &mut progress).await
    }

    async fn endpoint(&self, model: &str) -> Result<Endpoint, ModelFailure> {
        let config = self.config();
        let mut settings = self.providers(&config);
        let missing = match resolve(model, &settings, &config.environment) {
            Err(failure) if failure.kind == ModelErrorKind::Auth => failure,
            result => return result,
        };
        let Some((provider, _)) = model.split_once('/') else {
            return Err(missing);
        };
        let key = self
            .key_of_keyring(&config, provider)
            .await
            .ok_or(missing)?;
        settings.entry(provider.to_owned()).or_default().key = Some(key);
        resolve(model, &settings, &config.environment)
    }

    /// What the keyring has for a provider. Asked once; what it does not have may be put there meanwhile.
    async fn key_of_keyring(&self, config: &ModelsConfig, provider: &str) -> Option<Secret> {
        let known = locked(&self.keys).get(provider).cloned();
        if known.is_some() {
            return known;
        }
        let key = keyring::look_up(config.key_command.as_ref()?, provider).await?;
        locked(&self.keys).insert(provider.to_owned(), key.clone());
        Some(key)
    }

    /// The window of a model on this machine, from its server. Some know it only once the model is loaded.
    async fn window_of(&self, endpoint: &Endpoint, model: &str) -> Option<u64> {
        let known = locked(&self.windows).get(model).copied();
        let asked = match known {
            Some(Window::Tokens(tokens)) => return Some(tokens),
            Some(Window::Unknown { asked }) if asked >= WINDOW_ASKED => return None,
            Some(Window::Unknown { asked }) => asked,
            None => 0,
        };
        let client = self.client(endpoint).ok()?;
        let window = local::context_window(&client, endpoint).await;
        let learnt = window.map_or(Window::Unknown { asked: asked + 1 }, Window::Tokens);
        locked(&self.windows).insert(model.to_owned(), learnt);
        window
    }

    fn client(&self, endpoint: &Endpoint) -> Result<reqwest::Client, String> {
        let config = self.config();
        let transport = endpoint.transport.as_ref().unwrap_or(&config.transport);
        let place = http::Place {
            is_local: endpoint.is_local,
            connect: endpoint.clocks.connect,
        };
        self.clients.client(transport, place)
    }

    /// Whether a prompt is certain not to fit. Servers on this machine that get too much cut it without a word, answer
    /// nothing, or fail late; those on the net refuse it themselves.
    async fn overflow(
        &self,
        endpoint: &Endpoint,
        client: &reqwest::Client,
        body: &serde_json::Value,
        estimated: Estimate,
    ) -> Option<ModelFailure> {
        let window = endpoint.context_window.filter(|_| endpoint.is_local)?;
        if estimated.tokens * 2 < window {
            return None;
        }
        let counted = local::count_tokens(client, endpoint, body).await;
        let limit = match (counted, estimated.is_calibrated) {
            // The answer needs some room, too.
            (Some(_), _) => window.saturating_sub(16),
            (None, true) => window,
            // A guess: only where it is far off.
            (None, false) => window.saturating_add(window / 2),
        };
        let actual = counted.unwrap_or(estimated.tokens);
        (actual > limit).then(|| {
            let text = format!(
                "prompt is too long: {actual} tokens > {window}, which the server of {} takes at most",
                endpoint.model
            );
            endpoint.client_failure(&text)
        })
    }

    async fn ask(
        &self,
        endpoint: &Endpoint,
        request: &ModelRequest,
        tools: &[ToolSpec],
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<ModelTurn, ModelFailure> {
        let config = self.config();
        let client = self
            .client(endpoint)
            .map_err(|problem| failure("model.http", &problem))?;
        let target = wire::Target {
            model: &endpoint.model,
            quirks: &endpoint.quirks,
            default_output: endpoint.max_output.unwrap_or(8192),
            extra: &endpoint.extra_body,
        };
        let encoded = wire::encode(endpoint.wire, &target, request, tools);
        let estimated = self.estimate(request, tools);
        if let Some(failure) = self
            .overflow(endpoint, &client, &encoded.body, estimated)
            .await
        {
            return Err(failure);
        }
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
        let answer = answer.map_err(|failure| without_secrets(failure, endpoint));
        if let Some(path) = &config.record {
            let line = record::line(request, &answer, timing, config.home.as_deref());
            // An answer that is paid for is not thrown away because of it.
            if let Err(failure) = self.append(path, &line, &request.model) {
                tracing::warn!("{}", failure.advice);
            }
        }
        answer
    }

    /// How many tokens a request will be, by what this model has reported so far.
    pub fn estimate(&self, request: &ModelRequest, tools: &[ToolSpec]) -> Estimate {
        let calibration = locked(&self.calibrations).get(&request.model).copied();
        Estimate {
            tokens: calibration
                .unwrap_or_default()
                .apply(estimate_request(request, tools)),
            is_calibrated: calibration.is_some(),
        }
    }

    /// Tokens that fit the model, prompt and answer together, where that is known.
    pub fn context_window(&self, model: &str) -> Option<u64> {
        if let Some(name) = model.strip_prefix("scripted:") {
            return self.script(name).ok()?.context_window;
        }
        let (provider, name) = model.split_once('/')?;
        let own = self.config().providers.get(provider).and_then(|settings| {
            let said = settings.of_model(name).context_window;
            said.or(settings.context_window)
        });
        let asked = match locked(&self.windows).get(model) {
            Some(Window::Tokens(tokens)) => Some(*tokens),
            Some(Window::Unknown { .. }) | None => None,
        };
        own.or(asked)
            .or_else(|| prices::facts(provider, name).and_then(|facts| facts.context_window))
    }

    /// What a call cost, in millionths of a US dollar; `None` where no price is known, so that tokens alone are counted.
    pub fn cost_micros(&self, model: &str, usage: &Usage) -> Option<u64> {
        let own = model.split_once('/').and_then(|(provider, name)| {
            let config = self.config();
            config.providers.get(provider)?.of_model(name).price
        });
        match own {
            Some(price) => Some(price.micros(usage)),
            None => prices::cost_micros(model, usage),
        }
    }

    /// Ends a run's use of its scripts and replays.
    ///
    /// # Errors
    ///
    /// Names the turns that a script still had to say.
    pub fn finish(&self, run: &RunId) -> Result<(), String> {
        locked(&self.replays).retain(|(of_run, _), _| of_run != run);
        let mut cursors = locked(&self.cursors);
        let mut scripts = locked(&self.scripts);
        let mut left = Vec::new();
        cursors.retain(|place, cursor| {
            if place.0 != *run {
                return true;
            }
            let script = scripts.get(place);
            left.extend(script.and_then(|script| cursor.finish(script).err()));
            false
        });
        scripts.retain(|(of_run, _), _| of_run != run);
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

    fn script_of(&self, run: &RunId, name: &str) -> Result<Arc<Script>, ModelFailure> {
        let place = (run.clone(), name.to_owned());
        if let Some(script) = locked(&self.scripts).get(&place) {
            return Ok(Arc::clone(script));
        }
        let script = Arc::new(self.script(name)?);
        locked(&self.scripts).insert(place, Arc::clone(&script));
        Ok(script)
    }

    fn script(&self, name: &str) -> Result<Script, ModelFailure> {
        let text = match self.built_in.get(name) {
            Some(text) => text.clone(),
            None => self.read("script", name)?,
        };
        Script::parse(name, &text).map_err(|error| failure("script.format", &error.to_string()))
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
        let path = self
            .config()
            .directory
            .clone()
            .unwrap_or_default()
            .join(name);
        std::fs::read_to_string(&path).map_err(|error| {
            failure(
                "model.file",
                &format!("failed to read the {what} {}: {error}", path.display()),
            )
        })
    }

    fn append(&self, path: &std::path::Path, line: &str, model: &str) -> Result<(), ModelFailure> {
        let path = self
            .config()
            .directory
            .clone()
            .unwrap_or_default()
            .join(path);
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

/// What went to the provider as a secret may come back in its words, in no shape that anybody knows.
fn without_secrets(mut failure: ModelFailure, endpoint: &Endpoint) -> ModelFailure {
    const SHORTEST: usize = 8;
    let key = endpoint.key.iter().map(Secret::reveal);
    let headers = endpoint.headers.iter().map(|(_, value)| value.as_str());
    for secret in key.chain(headers).filter(|text| text.len() >= SHORTEST) {
        failure.raw = failure.raw.replace(secret, "***");
        failure.advice = failure.advice.replace(secret, "***");
    }
    failure
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
        usage: Usage::default(),
    }
}
