//! The app: one actor that owns the state of a workspace.
//!
//! Mailbox → record → step → perform. The actor runs on a thread of its own, so that recording (a disk write) never holds
//! up whoever reads from the editor. Performers run on tokio and answer with facts. The app knows nothing of LSP; several
//! clients may subscribe at once.

pub mod accept;
mod actor;
pub mod check;
mod clean;
mod clock;
mod gather;
pub mod list;
mod load;
mod perform;
mod record;
mod saved;
mod secrets;
mod share;
mod shelf;
pub mod tasks;
mod together;
mod undo;
mod write;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use thiserror::Error;
use tokio::sync::{mpsc, oneshot};

use crate::config::{Loaded, Sources};
use crate::kernel::State;
use crate::kernel::conflict::ConflictPolicy;
use crate::kernel::diff::ByteEdit;
use crate::kernel::effect::{Progress, Refusal, Reply};
use crate::kernel::event::{Record, ReviewPolicy, RunEvent, RunSpec, Steer};
use crate::kernel::file::OpenDocument;
use crate::kernel::finding::Finding;
use crate::kernel::ids::{QuestionId, RunId, TaskId};
use crate::kernel::input::{Command, DocumentNews};
use crate::kernel::path::RelPath;
use crate::kernel::question::Answer;
use crate::kernel::view::View;
pub use crate::model::secret::Secret;
pub use crate::model::{
    Asking, KeySource, Listing, ModelListing, ProviderListing, ProviderState, reach::Reach,
};
use crate::model::{Models, ModelsConfig};
use crate::store::state_dir::{StateDir, StateDirError};
use crate::workspace::Workspace;
use crate::workspace::ledger::{Ledger, LedgerError};

use self::share::Share;
use self::shelf::Shelf;
use self::tasks::Tasks;

pub use crate::config::EditorSettings;
pub use crate::store::mask::Mask;
pub use crate::store::overview::Overview;
pub use crate::store::state_dir::log_folder;
pub use crate::workspace::ledger::Change;
pub use crate::workspace::revert::{EditedSince, FileChangeKind, FileRevert, RevertReport};
pub use clean::{After, Clean, CleanError, Cleaned};
pub use clock::{time_of_day, wall_ms};
pub use undo::{ChangeSide, ChangedFile, Undo, UndoError, Undone};

/// Where an app works and what with.
pub struct Config {
    /// The workspace folder.
    pub root: PathBuf,
    /// Where state lies, as the user chose it; else the platform's custom.
    pub state_dir: Option<PathBuf>,
    pub models: Arc<Models>,
    pub settings: Sources,
}

/// A run that somebody wishes for.
#[derive(Debug, Clone, Default)]
pub struct RunWish {
    pub prompt: String,
    /// What differs from the configured settings, in their shape.
    pub call: serde_json::Value,
    /// The task that the run is an attempt at.
    pub task: Option<TaskId>,
}

#[derive(Debug, Error)]
pub enum SpecError {
    /// For people, with the shortest ways to get going.
    #[error("{0}")]
    NoModel(String),
    #[error("{0}")]
    Call(String),
}

#[derive(Debug, Error)]
pub enum StartError {
    #[error("failed to open the workspace {path}: {source}")]
    Workspace {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("failed to {0}")]
    State(#[from] StateDirError),
    #[error("failed to {0}")]
    Ledger(#[from] LedgerError),
    #[error("failed to start a thread: {0}")]
    Thread(std::io::Error),
}

/// A handle to a running app. Clones share it. Posting never blocks, and posts are handled in the order in which they are made.
#[derive(Clone)]
pub struct App {
    posts: mpsc::UnboundedSender<actor::Post>,
    shelf: Arc<Shelf>,
    /// The workspace's state folder.
    state: Arc<StateDir>,
    models: Arc<Models>,
    settings: Arc<Sources>,
    workspace: Arc<Workspace>,
    ledger: Arc<Ledger>,
    share: Arc<Share>,
    tasks: Arc<Tasks>,
    view: Arc<Mutex<View>>,
}

/// For people who have configured no model: how to get going.
pub const NO_MODEL: &str = crate::model::choose::NO_MODEL;

/// A page of a transcript.
pub type Events = crate::store::transcript::Page<Record>;

/// Completes "failed to read the run's events: ".
#[derive(Debug, Error)]
pub enum EventsError {
    #[error("there is no run {0} in this workspace; list them with outrigger/run/list")]
    UnknownRun(RunId),
    #[error("{0}")]
    Storage(String),
}

/// What clients are told. In the order in which it happened.
pub enum Notice {
    /// A line was added to a run's transcript.
    Recorded {
        run: RunId,
        record: Arc<Record>,
    },
    /// All findings to show on a file now. `document`: the file as it is open, if it is.
    Findings {
        path: RelPath,
        findings: Vec<Finding>,
        document: Option<(String, i32)>,
    },
    Progress {
        run: RunId,
        progress: Progress,
    },
    /// A run that an earlier process did not end can be taken up again.
    Parked {
        run: RunId,
    },
    /// Change an open document in the editor. Told to one subscriber only.
    Edit(EditOrder),
}

/// A change of an open document: to be applied only if the document still has that version.
pub struct EditOrder {
    pub path: RelPath,
    pub document: OpenDocument,
    /// In the document's text, in order, not overlapping.
    pub edits: Vec<ByteEdit>,
    /// For the editor's undo list: "Outrigger: change src/lib.rs".
    pub label: String,
    pub reply: oneshot::Sender<EditReply>,
    /// Sent by the app when the editor's new text has arrived: then the document may be saved.
    pub arrived: oneshot::Receiver<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditReply {
    /// The editor refused, or its document has moved on.
    Refused { reason: String },
    /// The editor said that it applied the edit, and its text says otherwise.
    Unproved,
    /// The editor takes no edits from us at all.
    Unable,
    /// Applied; the document is not saved yet.
    Applied(Saving),
}

/// How an applied edit gets to disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Saving {
    Saved,
    /// The editor cannot save on request.
    Unable,
    Failed {
        reason: String,
    },
}

impl App {
    /// Starts the actor. Needs a tokio runtime; ends when [`App::park`] is called.
    ///
    /// # Errors
    /// The workspace or the state folder cannot be used.
    pub fn start(mut config: Config) -> Result<Self, StartError> {
        let (posts, mailbox) = mpsc::unbounded_channel();
        let open = Workspace::open(&config.root);
        let mut workspace = open.map_err(|source| StartError::Workspace {
            path: config.root.clone(),
            source,
        })?;
        let state = Arc::new(StateDir::open(&config.root, config.state_dir.as_deref())?);
        workspace.keep_out_of(state.path());
        config.settings.trust_file = Some(check::trust_file(&state));
        let app = Self {
            posts,
            shelf: Arc::default(),
            ledger: Arc::new(Ledger::open(state.path())?),
            share: Arc::new(Share::new()),
            tasks: Arc::new(Tasks::of(Arc::clone(&state))),
            view: Arc::default(),
            state,
            models: config.models,
            settings: Arc::new(config.settings),
            workspace: Arc::new(workspace),
        };
        app.configure_models(&app.settings(&serde_json::Value::Null));
        actor::spawn(&config.root, app.clone(), mailbox)?;
        Ok(app)
    }

    /// Notices from now on.
    pub fn subscribe(&self) -> mpsc::UnboundedReceiver<Notice> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.post(actor::Post::Subscribe(sender));
        receiver
    }

    /// Runs that other processes on this workspace work on now, questions included.
    pub fn foreign(&self) -> Vec<Overview> {
        self.share.foreign()
    }

    /// Posted at once, to this process's actor or to the process that works on the run; the reply may be awaited or dropped.
    pub fn command(&self, command: Command) -> oneshot::Receiver<Result<Reply, Refusal>> {
        let (sender, receiver) = oneshot::channel();
        if let Some((command, sender)) = self.share.pass_on(command, sender) {
            self.post(actor::Post::Command(command, sender));
        }
        receiver
    }

    /// What the user has set, as it is now. `call`: what one call says, in the shape of [`crate::config::Settings`].
    /// Reads the settings' files.
    pub fn settings(&self, call: &serde_json::Value) -> Loaded {
        self.settings.load(call)
    }

    /// The settings of the editor, in place of those it sent before.
    pub fn set_editor_settings(&self, settings: EditorSettings) {
        self.settings.set_editor(settings);
    }

    /// Whether the editor trusts the workspace, which it asks its user itself.
    pub fn set_editors_trust(&self, trusted: bool) {
        self.settings.set_editors_trust(trusted);
    }

    /// What a run is started with: what the call says, and what is configured for the rest. `attended`: whether somebody is
    /// there who can be asked over a diff.
    ///
    /// # Errors
    /// No model is configured, or the call says something that a setting cannot be: for people.
    pub async fn spec(&self, wish: RunWish, attended: bool) -> Result<RunSpec, SpecError> {
        let loaded = self.settings(&wish.call);
        self.configure_models(&loaded);
        if let Some(problem) = loaded.problems_of_the_call().next() {
            return Err(SpecError::Call(problem.message.clone()));
        }
        let mut policy = loaded.settings.policy.clone();
        if !attended && !loaded.is_set("policy.conflict") {
            policy.conflict = ConflictPolicy::Edit;
        }
        if !attended && !loaded.is_set("policy.review") {
            policy.review = ReviewPolicy::Never;
        }
        let settings = loaded.settings;
        let set = settings.model.filter(|model| !model.trim().is_empty());
        let model = match set {
            Some(model) => model,
            None => self.choose_model().await.map_err(SpecError::NoModel)?,
        };
        Ok(RunSpec {
            prompt: wish.prompt,
            engine: settings.engine,
            model,
            fallback_model: settings.fallback_model,
            policy,
            budget: settings.budget,
            stall: settings.stall,
            task: wish.task,
        })
    }

    /// What is configured and reachable, and which model would answer.
    pub async fn models(&self, asking: Asking) -> Listing {
        self.configure_models(&self.settings(&serde_json::Value::Null));
        self.models.listing(asking).await
    }

    /// Takes a provider's key from an editor's secret store, or forgets it. In memory only.
    pub fn hand_over_key(&self, provider: &str, key: Option<Secret>) {
        self.models.hand_over(provider, key);
    }

    /// Every call of a real model is appended to this file from now on, as a script.
    pub fn record_models_to(&self, file: PathBuf) {
        self.models.configure(|config| ModelsConfig {
            record: Some(file),
            ..config
        });
    }

    fn configure_models(&self, loaded: &Loaded) {
        let settings = &loaded.settings;
        self.models.configure(|config| ModelsConfig {
            model: settings.model.clone(),
            fallback_model: settings.fallback_model.clone(),
            ..config.with_settings(&settings.models, &settings.providers)
        });
    }

    /// The model that answers when nothing is set.
    async fn choose_model(&self) -> Result<String, String> {
        let choice = self.models.choose().await;
        choice
            .map(|choice| choice.model)
            .map_err(|none| none.to_string())
    }

    /// Starts a run under a new id.
    pub fn start_run(&self, spec: RunSpec) -> oneshot::Receiver<Result<Reply, Refusal>> {
        self.command(Command::Start {
            run: clock::new_run_id(),
            spec,
        })
    }

    pub fn cancel(
        &self,
        run: RunId,
        by: impl Into<String>,
    ) -> oneshot::Receiver<Result<Reply, Refusal>> {
        self.command(Command::Cancel { run, by: by.into() })
    }

    /// A word of the user to a run that is under way.
    pub fn steer(
        &self,
        run: RunId,
        steer: Steer,
        by: impl Into<String>,
    ) -> oneshot::Receiver<Result<Reply, Refusal>> {
        self.command(Command::Steer {
            run,
            steer,
            by: by.into(),
        })
    }

    /// Takes up a run that an earlier process did not end.
    pub fn resume(
        &self,
        run: RunId,
        by: impl Into<String>,
    ) -> oneshot::Receiver<Result<Reply, Refusal>> {
        self.command(Command::Resume { run, by: by.into() })
    }

    pub fn answer(
        &self,
        question: QuestionId,
        answer: Answer,
        by: impl Into<String>,
    ) -> oneshot::Receiver<Result<Reply, Refusal>> {
        self.command(Command::Answer {
            question,
            answer,
            by: by.into(),
        })
    }

    /// What the editor says about a document. For `Opened` and `Saved` the app itself finds the hash on disk.
    pub fn document(&self, path: RelPath, news: DocumentNews) {
        self.post(actor::Post::Document(path, news));
    }

    fn checked(&self, rechecked: saved::Rechecked) {
        self.post(actor::Post::Checked(rechecked));
    }

    /// Others have made, renamed or deleted these files or folders; the app looks itself.
    pub fn files_changed(&self, paths: Vec<RelPath>) {
        self.post(actor::Post::Files(paths));
    }

    /// Looks at the state, after everything posted before.
    pub fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&State) -> T + Send + 'static,
    ) -> oneshot::Receiver<T> {
        let (sender, receiver) = oneshot::channel();
        let look = match self.shelf.look(look) {
            Ok(seen) => {
                // The receiver is still here.
                let _ = sender.send(seen);
                return receiver;
            }
            Err(look) => look,
        };
        self.post(actor::Post::Look(Box::new(move |state| {
            // A caller that went away does not need the answer.
            let _ = sender.send(look(state));
        })));
        receiver
    }

    /// What the user looks at now, for the context of runs to come.
    pub fn set_view(&self, view: View) {
        *self.view.lock().unwrap_or_else(PoisonError::into_inner) = view;
    }

    fn view(&self) -> View {
        let view = self.view.lock();
        view.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stops all work and the actor; runs stay as their transcripts have them. Ends within about 50 ms, commands killed.
    pub async fn park(&self) {
        let (sender, receiver) = oneshot::channel();
        self.share.stop();
        self.post(actor::Post::Park(sender));
        let _ = receiver.await;
    }

    /// A page of a run's transcript, of this process or an earlier one.
    ///
    /// # Errors
    /// There is no such run, or its transcript cannot be read. For people.
    pub async fn events(
        &self,
        run: RunId,
        after_seq: u64,
        limit: usize,
    ) -> Result<Events, EventsError> {
        let Some(path) = self.transcript(&run) else {
            return Err(EventsError::UnknownRun(run));
        };
        let (sender, receiver) = oneshot::channel();
        self.post(actor::Post::Flush(run.clone(), sender));
        let _ = receiver.await;
        if !path.exists() {
            return Err(EventsError::UnknownRun(run));
        }
        let read = tokio::task::spawn_blocking(move || {
            crate::store::transcript::read::<Record>(&path, after_seq, limit)
        })
        .await;
        match read {
            Ok(Ok(page)) => Ok(page),
            Ok(Err(error)) => Err(EventsError::Storage(error.to_string())),
            Err(error) => Err(EventsError::Storage(error.to_string())),
        }
    }

    /// Where a run's transcript is, or would be; `None` for a text that no run is called.
    pub fn transcript(&self, run: &RunId) -> Option<PathBuf> {
        self.state.transcript(run)
    }

    /// Whether a run was ever started here, by this process or an earlier one.
    pub fn has_trace_of(&self, run: &RunId) -> bool {
        // Its start is on disk before anybody is told of it.
        self.transcript(run).is_some_and(|path| path.exists())
    }

    /// The file in which a question may be answered; `None` for a question that no file can be called after.
    pub fn answer_file(&self, question: &QuestionId) -> Option<PathBuf> {
        self.state.answer_file(question)
    }

    pub fn root(&self) -> &Path {
        self.workspace.root()
    }

    /// The folder of the sidecar's own files about this workspace; the user's alone.
    pub fn state_folder(&self) -> &Path {
        self.state.path()
    }

    pub(crate) fn life(&self, run: RunId) {
        self.post(actor::Post::Life(run));
    }

    pub(crate) fn tick(&self) {
        self.post(actor::Post::Tick);
    }

    pub(crate) fn load(&self, run: RunId, records: Vec<Record>) {
        self.post(actor::Post::Load(run, records));
    }

    /// A run is another process's from now on, or is about to be loaded anew.
    pub(crate) fn forget(&self, run: RunId) {
        self.post(actor::Post::Forget(run));
    }

    /// A line that another process added to the transcript of its run.
    pub(crate) fn relay(&self, run: RunId, record: Record) {
        self.post(actor::Post::Relay(run, Arc::new(record)));
    }

    pub(crate) fn loaded(&self) {
        self.post(actor::Post::Loaded);
    }

    pub(crate) fn fact(&self, run: RunId, event: RunEvent) {
        self.post(actor::Post::Fact(run, event));
    }

    /// Hands an edit to an editor; whether there was one.
    pub(crate) async fn edit(&self, order: EditOrder) -> bool {
        let (sender, receiver) = oneshot::channel();
        self.post(actor::Post::Edit(order, sender));
        receiver.await.unwrap_or(false)
    }

    /// Resolves when the document has this text.
    pub(crate) fn await_text(&self, path: RelPath, text: Arc<str>) -> oneshot::Receiver<bool> {
        let (sender, receiver) = oneshot::channel();
        self.post(actor::Post::AwaitText(path, text, sender));
        receiver
    }

    fn post(&self, post: actor::Post) {
        self.shelf.expect_post();
        // After parking nobody listens, and nothing is owed.
        let _ = self.posts.send(post);
    }
}
