//! Performs effects on tokio, each cancellable, and posts what came of it as a fact of its run.

use std::any::Any;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::FutureExt;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tracing::{Instrument, Span};

use super::clock::wall_ms;
use super::together::{self, Together};
use super::{App, gather, write};
use crate::gates::{self, GateRequest, Gates, Tier};
use crate::kernel::conversation::{
    Bill, Cost, ModelErrorKind, ModelFailure, ModelRequest, Spending, Usage,
};
use crate::kernel::event::{GateRound, ReadCall, ReadTool, RunEvent};
use crate::kernel::file::{FileNow, OpenDocument, Overlay, WriteOrder, WriteOutcome};
use crate::kernel::finding::{GateReport, Outcome};
use crate::kernel::ids::{ChangeId, GateId, GateRoundId, ModelCallId, RunId, TaskId, ToolCallId};
use crate::kernel::path::RelPath;
use crate::kernel::plan::Targets;
use crate::kernel::tool::{ToolOutput, ToolUse};
use crate::model::{Models, ToolSpec};
use crate::store::spendings::{Entry, Spendings};
use crate::tools;
use crate::tools::command::Commands;
use crate::workspace::Workspace;
use crate::workspace::ledger::{Ledger, Why};

pub struct Performer {
    pub app: App,
    pub runtime: Handle,
    pub root: PathBuf,
    pub workspace: Arc<Workspace>,
    pub ledger: Arc<Ledger>,
    pub gates: Gates,
    pub models: Arc<Models>,
    pub spendings: Arc<Spendings>,
    pub works: HashMap<RunId, Work>,
}

/// How long an edit that an editor was asked for is waited for when its run is stopped.
const EDIT_TIME: Duration = Duration::from_millis(500);

/// The changes that one write makes.
type Changes = Vec<(ChangeId, RelPath)>;

/// What goes on for one run.
#[derive(Default)]
pub struct Work {
    tasks: Vec<JoinHandle<()>>,
    /// Writes through an editor: it may be about to do them, so their end is waited for.
    edits: Vec<(JoinHandle<()>, Changes)>,
    commands: Commands,
}

impl Performer {
    /// Runs `future` for the run; its fact is posted, and so is the one that `panicked` makes if it panics.
    fn start(
        &mut self,
        run: &RunId,
        future: impl Future<Output = RunEvent> + Send + 'static,
        panicked: impl FnOnce(String) -> RunEvent + Send + 'static,
    ) {
        let task = self.spawn(run, future, panicked);
        self.keep(run, task);
    }

    fn spawn(
        &self,
        run: &RunId,
        future: impl Future<Output = RunEvent> + Send + 'static,
        panicked: impl FnOnce(String) -> RunEvent + Send + 'static,
    ) -> JoinHandle<()> {
        let (app, id) = (self.app.clone(), run.clone());
        let work = async move {
            let fact = AssertUnwindSafe(future)
                .catch_unwind()
                .await
                .unwrap_or_else(|panic| panicked(words(panic.as_ref())));
            app.fact(id, fact);
        };
        self.runtime.spawn(work.instrument(Span::current()))
    }

    /// As [`Self::start`], for work that blocks and, once begun, is waited for rather than aborted.
    fn start_blocking(
        &mut self,
        run: &RunId,
        work: impl FnOnce() -> RunEvent + Send + 'static,
        panicked: impl FnOnce(String) -> RunEvent + Send + 'static,
    ) {
        let (app, id) = (self.app.clone(), run.clone());
        let span = Span::current();
        let task = self.runtime.spawn_blocking(move || {
            let _inside = span.entered();
            let fact = std::panic::catch_unwind(AssertUnwindSafe(work))
                .unwrap_or_else(|panic| panicked(words(panic.as_ref())));
            app.fact(id, fact);
        });
        self.keep(run, task);
    }

    fn keep(&mut self, run: &RunId, task: JoinHandle<()>) {
        let work = self.works.entry(run.clone()).or_default();
        work.tasks.retain(|task| !task.is_finished());
        work.tasks.push(task);
    }

    /// The name under which the costs of a run's task are added up, over all workspaces.
    fn account(&self, run: &RunId, task: Option<&TaskId>) -> String {
        let folder = self.app.state_folder().file_name();
        match (task, folder.and_then(|name| name.to_str())) {
            (Some(task), Some(folder)) => format!("{folder}/{task}"),
            _ => run.to_string(),
        }
    }

    pub fn gather(
        &mut self,
        (run, task): (&RunId, Option<&TaskId>),
        prompt: String,
        overlay: Overlay,
    ) {
        let workspace = Arc::clone(&self.workspace);
        let view = self.app.view();
        let (spendings, account) = (Arc::clone(&self.spendings), self.account(run, task));
        let look = move || RunEvent::ContextGathered {
            context: gather::context(&workspace, &prompt, &overlay, view),
            spending: spent(&spendings, &account),
        };
        self.start_blocking(run, look, |panic| {
            let files = format!("(the workspace could not be looked at: {panic})");
            RunEvent::ContextGathered {
                context: crate::kernel::event::Context {
                    files,
                    ..Default::default()
                },
                spending: Spending::default(),
            }
        });
    }

    pub fn call_model(
        &mut self,
        (run, task): (&RunId, Option<&TaskId>),
        call: ModelCallId,
        request: ModelRequest,
    ) {
        let account = self.account(run, task);
        let (models, id) = (Arc::clone(&self.models), run.clone());
        let spendings = Arc::clone(&self.spendings);
        let pulse = Pulse::new(self.app.clone(), run.clone());
        let future = async move {
            let specs: Vec<ToolSpec> = tools::schema::specs()
                .into_iter()
                .filter(|spec| request.tools.iter().any(|name| name == spec.name))
                .map(|spec| ToolSpec {
                    name: spec.name.to_owned(),
                    description: spec.description,
                    schema: spec.schema,
                })
                .collect();
            let model = request.model.clone();
            let answer = models
                .call(&id, request, &specs, |_life| pulse.beat())
                .await;
            let usage = match &answer {
                Ok(turn) => turn.usage,
                Err(failure) => failure.usage,
            };
            let cost = Cost::of(models.cost_micros(&model, &usage), &usage);
            let bill = billed(spendings, account, model, usage, cost).await;
            match answer {
                Ok(turn) => {
                    let read = |call: &crate::kernel::conversation::ToolCall| ReadCall {
                        id: call.id.clone(),
                        name: call.name.clone(),
                        tool: tools::schema::parse(&call.name, &call.arguments)
                            .map_or_else(ReadTool::Malformed, ReadTool::Use),
                    };
                    let tools = turn.tool_calls().map(read).collect();
                    RunEvent::ModelReplied {
                        call,
                        turn,
                        tools,
                        bill,
                    }
                }
                Err(failure) => RunEvent::ModelFailed {
                    call,
                    failure,
                    bill,
                },
            }
        };
        self.start(run, future, move |panic| RunEvent::ModelFailed {
            call,
            failure: broken_client(panic),
            bill: Bill::default(),
        });
    }

    pub fn run_tool(&mut self, run: &RunId, call: ToolCallId, tool: ToolUse, overlay: Overlay) {
        let started = Instant::now();
        let finished = {
            move |output| RunEvent::ToolFinished {
                call: call.clone(),
                output,
                duration_ms: millis(started.elapsed()),
            }
        };
        let panicked = {
            let finished = finished.clone();
            move |panic: String| {
                finished(ToolOutput {
                    text: format!("the tool broke: {panic}"),
                    is_error: true,
                    seen: None,
                })
            }
        };
        let workspace = Arc::clone(&self.workspace);
        match tool {
            ToolUse::Read(read) => self.start_blocking(
                run,
                move || finished(workspace.read(&read, &overlay)),
                panicked,
            ),
            ToolUse::List(list) => self.start_blocking(
                run,
                move || finished(workspace.list(&list, &overlay)),
                panicked,
            ),
            ToolUse::Glob(find) => self.start_blocking(
                run,
                move || finished(workspace.list(&find.into(), &overlay)),
                panicked,
            ),
            ToolUse::Diagnostics(wanted) => {
                // What our own gates found the kernel knows.
                let output = ToolOutput {
                    text: self.app.view().problems_of(wanted.path.as_ref()),
                    is_error: false,
                    seen: None,
                };
                self.app.fact(run.clone(), finished(output));
            }
            ToolUse::Search(search) => self.start_blocking(
                run,
                move || finished(workspace.search(&search, &overlay)),
                panicked,
            ),
            ToolUse::Command(command) => {
                let commands = self.works.entry(run.clone()).or_default().commands.clone();
                let (root, app) = (self.root.clone(), self.app.clone());
                let pulse = Pulse::new(self.app.clone(), run.clone());
                self.start(
                    run,
                    async move {
                        let trust = app.settings(&serde_json::Value::Null).trust;
                        if let Some(why) = trust.refusal() {
                            return finished(ToolOutput {
                                text: format!("no command is run here: {why}"),
                                is_error: true,
                                seen: None,
                            });
                        }
                        finished(
                            commands
                                .run(&root, &command, move |_bytes| pulse.beat())
                                .await,
                        )
                    },
                    panicked,
                );
            }
            ToolUse::Write(_)
            | ToolUse::Edit(_)
            | ToolUse::MultiEdit(_)
            | ToolUse::Delete(_)
            | ToolUse::Move(_)
            | ToolUse::Ask(_)
            | ToolUse::Plan(_)
            | ToolUse::Check(_)
            | ToolUse::Finish(_)
            | ToolUse::ProposePlan(_) => {
                let output = ToolOutput {
                    text: "this tool is not performed here".to_owned(),
                    is_error: true,
                    seen: None,
                };
                self.app.fact(run.clone(), finished(output));
            }
        }
    }

    pub fn inspect(&mut self, run: &RunId, call: ToolCallId, path: RelPath, overlay: Overlay) {
        let workspace = Arc::clone(&self.workspace);
        let (broken_call, broken_path) = (call.clone(), path.clone());
        let look = move || {
            let now = workspace.inspect(&path, &overlay);
            RunEvent::FileInspected { call, path, now }
        };
        self.start_blocking(run, look, move |panic| RunEvent::FileInspected {
            call: broken_call,
            path: broken_path,
            now: FileNow::Refused {
                reason: format!("it could not be looked at: {panic}"),
            },
        });
    }

    /// Which of a plan's targets are there.
    pub fn find_targets(
        &mut self,
        run: &RunId,
        call: ToolCallId,
        paths: Vec<RelPath>,
        overlay: Overlay,
    ) {
        let workspace = Arc::clone(&self.workspace);
        let broken = call.clone();
        let look = move || {
            let targets = workspace.targets(paths, &overlay);
            RunEvent::TargetsFound { call, targets }
        };
        // Without an answer nothing is known to be there: the plan is refused, not followed blindly.
        self.start_blocking(run, look, move |panic| {
            tracing::error!("the targets of a plan could not be looked at: {panic}");
            RunEvent::TargetsFound {
                call: broken,
                targets: Targets::default(),
            }
        });
    }

    /// Every write is in the ledger before it is made.
    pub fn write(&mut self, why: Why, order: WriteOrder, document: Option<OpenDocument>) {
        let run = why.run.clone();
        let (change, path) = (why.change, order.path.clone());
        let (broken, at) = (path.clone(), path.clone());
        let panicked = move |panic| RunEvent::WriteFinished {
            change,
            path: broken,
            outcome: WriteOutcome::Unknown { error: panic },
        };
        let finished = move |outcome| RunEvent::WriteFinished {
            change,
            path,
            outcome,
        };
        match document {
            Some(document) => {
                let app = self.app.clone();
                let future =
                    async move { finished(write::in_editor(&app, &why, order, document).await) };
                let task = self.spawn(&run, future, panicked);
                let work = self.works.entry(run).or_default();
                work.edits.retain(|(task, ..)| !task.is_finished());
                work.edits.push((task, vec![(change, at)]));
            }
            None => {
                let (workspace, ledger) = (Arc::clone(&self.workspace), Arc::clone(&self.ledger));
                let work = move || finished(workspace.write_recorded(&order, &ledger, &why));
                self.start_blocking(&run, work, panicked);
            }
        }
    }

    /// All of these or none.
    pub fn write_together(&mut self, run: &RunId, writes: Vec<Together>) {
        let changes = changes_of(&writes);
        let (app, id, told) = (self.app.clone(), run.clone(), changes.clone());
        let work = async move {
            let written = AssertUnwindSafe(together::write_all(&app, &writes));
            let outcomes = written.catch_unwind().await;
            tell_outcomes(
                &app,
                &id,
                told,
                outcomes.map_err(|panic| words(panic.as_ref())),
            );
        };
        let task = self.runtime.spawn(work.instrument(Span::current()));
        let work = self.works.entry(run.clone()).or_default();
        work.edits.retain(|(task, ..)| !task.is_finished());
        work.edits.push((task, changes));
    }

    /// The first of two is the new place, the second the old one.
    pub fn relocate(&mut self, run: &RunId, writes: Vec<Together>) {
        let changes = changes_of(&writes);
        let (workspace, ledger) = (Arc::clone(&self.workspace), Arc::clone(&self.ledger));
        let (app, id) = (self.app.clone(), run.clone());
        let span = Span::current();
        let task = self.runtime.spawn_blocking(move || {
            let _inside = span.entered();
            let moving = AssertUnwindSafe(|| {
                let [to, from] = writes.as_slice() else {
                    return Vec::new();
                };
                let to = (&to.order, &to.why);
                workspace.relocate(to, (&from.order, &from.why), &ledger)
            });
            let outcomes = std::panic::catch_unwind(moving);
            tell_outcomes(
                &app,
                &id,
                changes,
                outcomes.map_err(|panic| words(panic.as_ref())),
            );
        });
        self.keep(run, task);
    }

    pub fn run_gates(
        &mut self,
        run: &RunId,
        round: GateRoundId,
        why: GateRound,
        paths: Vec<RelPath>,
    ) {
        let (gates, app) = (self.gates.clone(), self.app.clone());
        let pulse = Pulse::new(self.app.clone(), run.clone());
        let tier = match why {
            GateRound::Baseline => Tier::Baseline,
            GateRound::Change => Tier::AfterChange,
            GateRound::Final | GateRound::Asked => Tier::Final,
        };
        let future = async move {
            let loaded = app.settings(&serde_json::Value::Null);
            let reports = match loaded.trust.refusal() {
                Some(why) => vec![untrusted(why)],
                None => {
                    let request = GateRequest {
                        named: loaded.settings.gate,
                        ..GateRequest::new(paths, tier)
                    };
                    gates.run(request, || pulse.beat()).await
                }
            };
            RunEvent::GatesReported { round, reports }
        };
        self.start(run, future, move |panic| {
            let report = GateReport {
                gate: GateId::new("gates"),
                outcome: Outcome::Error,
                partial: false,
                findings: Vec::new(),
                notes: vec![format!("they broke: {panic}")],
                command: Vec::new(),
                duration_ms: 0,
            };
            RunEvent::GatesReported {
                round,
                reports: vec![report],
            }
        });
    }

    pub fn arm_timer(&mut self, run: &RunId, timer: crate::kernel::ids::TimerId, after_ms: u64) {
        let future = async move {
            tokio::time::sleep(Duration::from_millis(after_ms)).await;
            RunEvent::TimerFired { timer }
        };
        self.start(run, future, move |_panic| RunEvent::TimerFired { timer });
    }

    /// Ends all work of the run, and says so when its processes are gone.
    pub fn stop(&mut self, run: &RunId) {
        let work = self.works.remove(run).unwrap_or_default();
        let (app, id) = (self.app.clone(), run.clone());
        self.runtime.spawn(async move {
            work.end(&app, &id).await;
            app.fact(id, RunEvent::WorkStopped);
        });
    }

    /// Ends everything at once, for a process that must leave.
    pub async fn park(works: HashMap<RunId, Work>) {
        for work in works.into_values() {
            for task in work
                .tasks
                .iter()
                .chain(work.edits.iter().map(|(task, ..)| task))
            {
                task.abort();
            }
            work.commands.kill_now();
            // Writes under way are let finish: they are short, and half done is worse than late.
            for task in work.tasks {
                let _ = task.await;
            }
        }
    }
}

impl Work {
    async fn end(self, app: &App, run: &RunId) {
        for task in &self.tasks {
            task.abort();
        }
        let deadline = tokio::time::Instant::now() + EDIT_TIME;
        for (mut task, changes) in self.edits {
            if tokio::time::timeout_at(deadline, &mut task).await.is_ok() {
                continue;
            }
            task.abort();
            for (change, path) in changes {
                let error =
                    "the run was stopped before the editor said whether it applied the edit"
                        .to_owned();
                let outcome = WriteOutcome::Unknown { error };
                app.fact(
                    run.clone(),
                    RunEvent::WriteFinished {
                        change,
                        path,
                        outcome,
                    },
                );
            }
        }
        for task in self.tasks {
            let _ = task.await;
        }
        self.commands.kill_leftovers().await;
        gates::settled().await;
    }
}

fn changes_of(writes: &[Together]) -> Vec<(ChangeId, RelPath)> {
    let one = |write: &Together| (write.why.change, write.order.path.clone());
    writes.iter().map(one).collect()
}

/// One fact for each change. `outcomes`: in the order of the changes, or what broke.
fn tell_outcomes(
    app: &App,
    run: &RunId,
    changes: Vec<(ChangeId, RelPath)>,
    outcomes: Result<Vec<WriteOutcome>, String>,
) {
    let (outcomes, error) = match outcomes {
        Ok(outcomes) => (outcomes, "it was not begun".to_owned()),
        Err(panic) => (Vec::new(), panic),
    };
    let mut outcomes = outcomes.into_iter();
    for (change, path) in changes {
        let outcome = outcomes.next().unwrap_or_else(|| WriteOutcome::Unknown {
            error: error.clone(),
        });
        let fact = RunEvent::WriteFinished {
            change,
            path,
            outcome,
        };
        app.fact(run.clone(), fact);
    }
}

/// What all runs have cost up to now. A book that cannot be read must not hold up the work: then it says nothing.
fn spent(spendings: &Spendings, account: &str) -> Spending {
    let totals = spendings.totals(wall_ms(), account);
    totals.unwrap_or_else(|error| {
        tracing::warn!(%error, "failed to read what was spent today");
        Spending::default()
    })
}

/// Writes a call into the book and adds up.
async fn billed(
    spendings: Arc<Spendings>,
    account: String,
    model: String,
    usage: Usage,
    cost: Cost,
) -> Bill {
    let book = move || {
        if usage.total() > 0 {
            let entry = Entry::new(wall_ms(), &account, &model, usage, cost);
            if let Err(error) = spendings.add(&entry) {
                tracing::warn!(%error, "failed to write down what a call cost");
            }
        }
        spent(&spendings, &account)
    };
    Bill {
        cost,
        spending: tokio::task::spawn_blocking(book).await.unwrap_or_default(),
    }
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    format!("a defect of Outrigger: {}", text.unwrap_or("no message"))
}

fn broken_client(panic: String) -> ModelFailure {
    ModelFailure {
        kind: ModelErrorKind::Unknown,
        retryable: false,
        retry_after_ms: None,
        status: None,
        tokens: None,
        rule: "panic".to_owned(),
        raw: panic,
        advice: "the call broke inside Outrigger; try again, and report it if it happens twice"
            .to_owned(),
        usage: Usage::default(),
    }
}

/// What a round of gates amounts to where none may run.
fn untrusted(why: &str) -> GateReport {
    GateReport {
        gate: GateId::new("gates"),
        outcome: Outcome::Error,
        partial: false,
        findings: Vec::new(),
        notes: vec![format!("none is run: {why}")],
        command: Vec::new(),
        duration_ms: 0,
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Tells the actor that something lives, at most ten times a second.
struct Pulse {
    app: App,
    run: RunId,
    started: Instant,
    /// Tenths of seconds after the start at which it was last told.
    told: AtomicU64,
}

impl Pulse {
    fn new(app: App, run: RunId) -> Self {
        Self {
            app,
            run,
            started: Instant::now(),
            told: AtomicU64::new(0),
        }
    }

    fn beat(&self) {
        let now = millis(self.started.elapsed()) / 100;
        if self.told.swap(now, Ordering::Relaxed) != now {
            self.app.life(self.run.clone());
        }
    }
}
