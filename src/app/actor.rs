//! The actor: takes posts one at a time, records facts, steps the kernel, has its effects performed.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::check::own_program;
use super::clock::{Clock, time_of_day, wall_ms};
use super::perform::Performer;
use super::record::Recorder;
use super::saved::{Rechecked, SavedFiles};
use super::secrets::Secrets;
use super::share;
use super::together::Together;
use super::{App, EditOrder, Notice, StartError};
use crate::gates::Gates;
use crate::kernel::effect::{Effect, Progress, Refusal, RefusalKind, Reply, SetWrite, UNTIL};
use crate::kernel::event::{Record, RunEvent};
use crate::kernel::file::{Overlay, WriteOrder};
use crate::kernel::ids::{ChangeId, RequestId, RunId, TaskId};
use crate::kernel::input::{Command, DocumentNews, Input, Stimulus};
use crate::kernel::path::RelPath;
use crate::kernel::time::Moment;
use crate::kernel::tool::{PlanItemState, ToolUse};
use crate::kernel::{State, step};
use crate::store::spendings::Spendings;
use crate::store::transcript::TranscriptError;
use crate::workspace::ledger::Why;

/// How finely stalls are noticed.
const TICK: Duration = Duration::from_millis(250);

type CommandReply = oneshot::Sender<Result<Reply, Refusal>>;

pub enum Post {
    Command(Command, CommandReply),
    Document(RelPath, DocumentNews),
    /// A performer's result, not yet recorded.
    Fact(RunId, RunEvent),
    Look(Box<dyn FnOnce(&State) + Send>),
    Subscribe(mpsc::UnboundedSender<Notice>),
    /// Says whether there was somebody to take the order.
    Edit(EditOrder, oneshot::Sender<bool>),
    AwaitText(RelPath, Arc<str>, oneshot::Sender<bool>),
    /// Others have made, renamed or deleted these.
    Files(Vec<RelPath>),
    /// Gates have looked at saved files.
    Checked(Rechecked),
    /// Something that the run waits for lives.
    Life(RunId),
    Tick,
    /// A run that an earlier process began and did not end.
    Load(RunId, Vec<Record>),
    /// The run is no longer this process's to show.
    Forget(RunId),
    /// Another process recorded this.
    Relay(RunId, Arc<Record>),
    /// All unfinished runs of earlier processes are there.
    Loaded,
    /// Makes the run's transcript readable up to now.
    Flush(RunId, oneshot::Sender<()>),
    Park(oneshot::Sender<()>),
}

/// Somebody waits until a document has this text.
struct Watch {
    path: RelPath,
    text: Arc<str>,
    reply: oneshot::Sender<bool>,
}

struct Actor {
    clock: Clock,
    state: State,
    recorder: Recorder,
    performer: Performer,
    subscribers: Vec<mpsc::UnboundedSender<Notice>>,
    replies: HashMap<RequestId, CommandReply>,
    last_request: u64,
    watches: Vec<Watch>,
    ticking: Option<JoinHandle<()>>,
    saved: SavedFiles,
}

/// Starts the actor's thread. Must be called inside a tokio runtime.
pub fn spawn(
    root: &Path,
    app: App,
    mailbox: mpsc::UnboundedReceiver<Post>,
) -> Result<(), StartError> {
    let state = Arc::clone(&app.state);
    let workspace = Arc::clone(&app.workspace);
    let secrets = Arc::new(Secrets::new(root.to_owned()));
    let cache = state.path().join("cache");
    let actor = Actor {
        clock: Clock::new(),
        state: State::default(),
        recorder: Recorder::new(state, Arc::clone(&secrets), Arc::clone(&app.share)),
        performer: Performer {
            runtime: Handle::current(),
            root: workspace.root().to_owned(),
            gates: Gates::new(workspace.root().to_owned(), cache).with_own_program(own_program()),
            workspace,
            models: Arc::clone(&app.models),
            ledger: Arc::clone(&app.ledger),
            spendings: Arc::new(Spendings::beside(app.state_folder())),
            works: HashMap::new(),
            app,
        },
        subscribers: Vec::new(),
        replies: HashMap::new(),
        last_request: 0,
        watches: Vec::new(),
        ticking: None,
        saved: SavedFiles::default(),
    };
    share::spawn(actor.performer.app.clone(), secrets);
    let started = thread::Builder::new()
        .name("app".to_owned())
        .spawn(move || actor.run(mailbox));
    started.map(|_| ()).map_err(StartError::Thread)
}

impl Actor {
    fn run(mut self, mut mailbox: mpsc::UnboundedReceiver<Post>) {
        // Who asks about runs and questions is answered when those of earlier processes are there.
        let mut held = Some(Vec::new());
        let shelf = Arc::clone(&self.performer.app.shelf);
        while let Some(post) = mailbox.blocking_recv() {
            if let Some(state) = shelf.take() {
                self.state = state;
            }
            if self.handle_or_hold(post, &mut held).is_break() {
                return;
            }
            if mailbox.is_empty() {
                // Others follow the runs in their transcripts.
                self.recorder.show();
            }
            // Until all is loaded, everybody who asks waits here.
            let state = held.is_none().then(|| std::mem::take(&mut self.state));
            shelf.done_with(1, state);
        }
    }

    fn handle_or_hold(&mut self, post: Post, held: &mut Option<Vec<Post>>) -> ControlFlow<()> {
        let post = match (post, held) {
            (Post::Loaded, held) => {
                for post in held.take().into_iter().flatten() {
                    self.handle(post)?;
                }
                return ControlFlow::Continue(());
            }
            (post @ Post::Look(_), Some(held)) => {
                held.push(post);
                return ControlFlow::Continue(());
            }
            (Post::Command(command, reply), Some(held))
                if !matches!(command, Command::Start { .. }) =>
            {
                held.push(Post::Command(command, reply));
                return ControlFlow::Continue(());
            }
            (post, _) => post,
        };
        self.handle(post)
    }

    fn handle(&mut self, post: Post) -> ControlFlow<()> {
        match post {
            Post::Command(command, reply) => {
                self.last_request += 1;
                let request = RequestId(self.last_request);
                self.replies.insert(request, reply);
                self.take(Stimulus::Client { request, command });
            }
            Post::Document(path, news) => {
                let news = self.with_disk(&path, news);
                let is_saved = matches!(news, DocumentNews::Saved { .. });
                self.take(Stimulus::Document {
                    path: path.clone(),
                    news,
                });
                self.tell_watches(&path);
                if is_saved {
                    self.check_saved(path);
                }
            }
            Post::Fact(run, event) => self.fact(&run, event),
            Post::Look(look) => look(&self.state),
            Post::Subscribe(subscriber) => self.subscribers.push(subscriber),
            Post::Edit(order, reply) => {
                let _ = reply.send(self.hand_over(order));
            }
            Post::AwaitText(path, text, reply) => {
                self.watches.push(Watch {
                    path: path.clone(),
                    text,
                    reply,
                });
                self.tell_watches(&path);
            }
            Post::Files(paths) => {
                let root = self.performer.workspace.root().to_owned();
                let is_there = |path: &RelPath| root.join(path.as_str()).symlink_metadata().is_ok();
                let (there, gone) = paths.into_iter().partition(is_there);
                self.take(Stimulus::Files { there, gone });
            }
            Post::Checked(Rechecked {
                covered,
                old,
                reports,
            }) => self.take(Stimulus::Checked {
                covered,
                old,
                reports,
            }),
            Post::Life(run) => self.take(Stimulus::Life { run }),
            Post::Tick => self.take(Stimulus::Tick),
            Post::Load(run, records) => self.load(&run, records),
            Post::Forget(run) => {
                self.recorder.forget(&run);
                self.state.runs.remove(&run);
                self.state
                    .questions
                    .retain(|_, question| question.run != run);
            }
            Post::Relay(run, record) => self.tell(|| Notice::Recorded {
                run: run.clone(),
                record: Arc::clone(&record),
            }),
            Post::Flush(run, reply) => {
                if let Err(error) = self.recorder.flush(&run) {
                    tracing::error!(%run, "failed to {error}");
                }
                let _ = reply.send(());
            }
            Post::Park(reply) => {
                self.saved.stop();
                let works = std::mem::take(&mut self.performer.works);
                let runtime = self.performer.runtime.clone();
                let ended = runtime.spawn(Performer::park(works));
                // Processes first: the disk may take its time, and whoever parks us may not wait for it.
                self.recorder.sync_all();
                runtime.spawn(async move {
                    let _ = ended.await;
                    let _ = reply.send(());
                });
                return ControlFlow::Break(());
            }
            Post::Loaded => {}
        }
        ControlFlow::Continue(())
    }

    fn take(&mut self, what: Stimulus) {
        let at = self.clock.now();
        let effects = step(&mut self.state, Input { at, what });
        self.perform_all(effects);
        self.mind_the_time();
    }

    /// A run that works has its own checks; what it does not see, its last one does.
    fn check_saved(&mut self, path: RelPath) {
        let mut runs = self.state.runs.values();
        if runs.any(|run| run.ended.is_none() && !run.parked) {
            return;
        }
        let on_it = self.state.gates_on(&path);
        let performer = &self.performer;
        let with = (performer.app.clone(), performer.gates.clone());
        self.saved.add(&performer.runtime, with, path, on_it);
    }

    /// Lets time pass for the kernel while a run works; an idle process sleeps.
    fn mind_the_time(&mut self) {
        let works = self
            .state
            .runs
            .values()
            .any(|run| run.ended.is_none() && !run.parked);
        if works == self.ticking.is_some() {
            return;
        }
        if let Some(ticking) = self.ticking.take() {
            ticking.abort();
            return;
        }
        let app = self.performer.app.clone();
        self.ticking = Some(self.performer.runtime.spawn(async move {
            let mut interval = tokio::time::interval(TICK);
            interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                interval.tick().await;
                app.tick();
            }
        }));
    }

    /// Feeds the facts of an earlier process, and leaves the run parked. What they led to then has happened then.
    fn load(&mut self, run: &RunId, records: Vec<Record>) {
        if self.state.runs.contains_key(run) {
            return;
        }
        if let Some(last) = records.last() {
            self.recorder.loaded(run, last.seq);
        }
        let mut shown = Vec::new();
        for record in records {
            let at = Moment {
                wall_ms: record.at,
                mono_ms: record.mono,
            };
            if record.event.is_fact() {
                let what = Stimulus::Fact {
                    run: run.clone(),
                    event: record.event,
                };
                shown.extend(step(&mut self.state, Input { at, what }));
            }
        }
        let parked = Stimulus::Parked { run: run.clone() };
        shown.extend(step(
            &mut self.state,
            Input {
                at: self.clock.now(),
                what: parked,
            },
        ));
        shown.retain(|effect| matches!(effect, Effect::Publish { .. } | Effect::Progress { .. }));
        self.perform_all(shown);
        self.tell(|| Notice::Parked { run: run.clone() });
    }

    /// Records a fact, then lets the kernel have it. A fact that cannot be recorded stops its run instead.
    fn fact(&mut self, run: &RunId, event: RunEvent) {
        // Facts of a run that is over (its processes are gone, a late reply) add nothing, save for what was written.
        let over = self
            .state
            .runs
            .get(run)
            .is_some_and(|run| run.ended.is_some());
        if over && !matches!(event, RunEvent::WriteFinished { .. }) {
            self.recorder.close(run);
            return;
        }
        match self.record(run, event.clone()) {
            Ok(()) => self.take(Stimulus::Fact {
                run: run.clone(),
                event,
            }),
            Err(error) => self.stop_unrecorded(run, &error),
        }
    }

    /// A run whose transcript cannot be written must not go on: what it does would be lost to a crash.
    fn stop_unrecorded(&mut self, run: &RunId, error: &TranscriptError) {
        tracing::error!(%run, "failed to {error}; the run is stopped");
        if self
            .state
            .runs
            .get(run)
            .is_some_and(|run| run.stopping.is_none() && run.ended.is_none())
        {
            let event = RunEvent::CancelRequested {
                by: format!("Outrigger, which failed to {error}"),
            };
            self.take(Stimulus::Fact {
                run: run.clone(),
                event,
            });
        } else if self
            .state
            .runs
            .get(run)
            .is_some_and(|run| run.ended.is_none())
        {
            self.take(Stimulus::Fact {
                run: run.clone(),
                event: RunEvent::WorkStopped,
            });
        }
    }

    fn record(&mut self, run: &RunId, event: RunEvent) -> Result<(), TranscriptError> {
        let record = self.recorder.append(run, self.clock.now(), event)?;
        tracing::debug!(%run, seq = record.seq, kind = ?record.kind, "recorded");
        if is_promise(&record.event) {
            self.recorder.sync(run)?;
        }
        if matches!(record.event, RunEvent::Ended { .. }) {
            self.recorder.close(run);
        }
        self.tell(|| Notice::Recorded {
            run: run.clone(),
            record: Arc::clone(&record),
        });
        Ok(())
    }

    fn tell(&mut self, notice: impl Fn() -> Notice) {
        self.subscribers
            .retain(|subscriber| subscriber.send(notice()).is_ok());
    }

    /// The first subscriber that is still there gets the order.
    fn hand_over(&mut self, order: EditOrder) -> bool {
        let mut order = Some(Notice::Edit(order));
        self.subscribers.retain(|subscriber| match order.take() {
            None => true,
            Some(notice) => match subscriber.send(notice) {
                Ok(()) => true,
                Err(mpsc::error::SendError(notice)) => {
                    order = Some(notice);
                    false
                }
            },
        });
        order.is_none()
    }

    fn perform_all(&mut self, effects: Vec<Effect>) {
        // Set when a record failed: nothing that rests on it may happen.
        let mut unrecorded: Option<(RunId, TranscriptError)> = None;
        for effect in effects {
            match effect {
                Effect::Accept { run, event } => {
                    // What a client is told was taken must still be there after a crash.
                    let recorded = self
                        .record(&run, event.clone())
                        .and_then(|()| self.recorder.sync(&run));
                    if let Err(error) = recorded {
                        unrecorded = Some((run, error));
                    } else {
                        self.take(Stimulus::Fact { run, event });
                    }
                }
                Effect::Record { run, event } if unrecorded.is_none() => {
                    if let Err(error) = self.record(&run, event) {
                        unrecorded = Some((run, error));
                    }
                }
                Effect::Record { .. } => {}
                Effect::Reply { request, reply } => {
                    let reply = match (&unrecorded, reply) {
                        (Some((_, error)), Ok(_)) => Err(Refusal {
                            kind: RefusalKind::Storage,
                            message: format!("failed to {error}"),
                        }),
                        (_, reply) => reply,
                    };
                    if let Some(sender) = self.replies.remove(&request) {
                        // A client that went away does not need it.
                        let _ = sender.send(reply);
                    }
                }
                Effect::Publish { path, findings } => {
                    let document = self
                        .state
                        .documents
                        .get(&path)
                        .map(|document| (document.uri.clone(), document.version));
                    self.tell(|| Notice::Findings {
                        path: path.clone(),
                        findings: findings.clone(),
                        document: document.clone(),
                    });
                }
                Effect::Progress { run, progress } => self.tell(|| Notice::Progress {
                    run: run.clone(),
                    progress: with_time_of_day(progress.clone()),
                }),
                Effect::StopWork { run } => self.performer.stop(&run),
                other if unrecorded.is_none() => {
                    if let Err(failed) = self.perform(other) {
                        unrecorded = Some(failed);
                    }
                }
                other => tracing::warn!(?other, "not performed: its record failed"),
            }
        }
        if let Some((run, error)) = unrecorded {
            self.stop_unrecorded(&run, &error);
        }
    }

    fn perform(&mut self, effect: Effect) -> Result<(), (RunId, TranscriptError)> {
        let (what, run) = in_the_log(&effect);
        // Whatever is started for the effect logs inside it.
        let _inside = tracing::info_span!("effect", what, run = run.map(RunId::as_str)).entered();
        tracing::debug!("started");
        let performer = &mut self.performer;
        match effect {
            Effect::Gather {
                run,
                prompt,
                overlay,
            } => {
                let task = task_of(&self.state, &run);
                performer.gather((&run, task), prompt, overlay);
            }
            Effect::CallModel { run, call, request } => {
                // The end of a turn: what the model will be told, it may only be told once it is safe.
                self.recorder
                    .sync(&run)
                    .map_err(|error| (run.clone(), error))?;
                let task = task_of(&self.state, &run);
                performer.call_model((&run, task), call, request);
            }
            Effect::RunTool {
                run,
                call,
                tool,
                overlay,
            } => {
                if matches!(tool, ToolUse::Command(_)) {
                    self.recorder
                        .sync(&run)
                        .map_err(|error| (run.clone(), error))?;
                }
                performer.run_tool(&run, call, tool, overlay);
            }
            Effect::Inspect {
                run,
                call,
                path,
                overlay,
            } => performer.inspect(&run, call, path, overlay),
            Effect::FindTargets {
                run,
                call,
                paths,
                overlay,
            } => performer.find_targets(&run, call, paths, overlay),
            Effect::Write {
                run,
                change,
                order,
                document,
            } => {
                self.recorder
                    .sync(&run)
                    .map_err(|error| (run.clone(), error))?;
                let why = why(&self.state, (run, change), &order);
                performer.write(why, order, document);
            }
            Effect::WriteTogether { run, writes } => {
                let writes = self.together(&run, writes)?;
                self.performer.write_together(&run, writes);
            }
            Effect::Move { run, writes } => {
                let writes = self.together(&run, writes)?;
                self.performer.relocate(&run, writes);
            }
            Effect::RunGates {
                run,
                round,
                why,
                paths,
            } => performer.run_gates(&run, round, why, paths),
            Effect::ArmTimer {
                run,
                timer,
                after_ms,
            } => performer.arm_timer(&run, timer, after_ms),
            Effect::Accept { .. }
            | Effect::Record { .. }
            | Effect::Reply { .. }
            | Effect::Publish { .. }
            | Effect::Progress { .. }
            | Effect::StopWork { .. } => {}
        }
        Ok(())
    }

    /// The writes with what the ledger is told of them, and their plan durable.
    fn together(
        &mut self,
        run: &RunId,
        writes: Vec<SetWrite>,
    ) -> Result<Vec<Together>, (RunId, TranscriptError)> {
        self.recorder
            .sync(run)
            .map_err(|error| (run.clone(), error))?;
        let one = |write: SetWrite| Together {
            why: why(&self.state, (run.clone(), write.change), &write.order),
            order: write.order,
            document: write.document,
        };
        Ok(writes.into_iter().map(one).collect())
    }

    /// What is on disk when the editor has read or saved a file: the ground on which "unsaved" is judged.
    fn with_disk(&self, path: &RelPath, news: DocumentNews) -> DocumentNews {
        let look = || self.performer.workspace.inspect(path, &Overlay::default());
        match news {
            DocumentNews::Opened {
                uri, version, text, ..
            } => {
                let now = look();
                let unsaved = now.text().is_none_or(|now| *now.text != *text);
                let disk = now.hash().cloned();
                DocumentNews::Opened {
                    uri,
                    version,
                    text,
                    disk,
                    unsaved,
                }
            }
            DocumentNews::Saved { .. } => DocumentNews::Saved {
                disk: look().hash().cloned(),
            },
            other @ (DocumentNews::Changed { .. } | DocumentNews::Closed) => other,
        }
    }

    fn tell_watches(&mut self, path: &RelPath) {
        let document = self.state.documents.get(path);
        let mut kept = Vec::new();
        for watch in self.watches.drain(..) {
            if watch.reply.is_closed() {
                continue;
            }
            let has_text = watch.path == *path
                && document.is_some_and(|document| document.text == *watch.text);
            if has_text {
                let _ = watch.reply.send(true);
            } else {
                kept.push(watch);
            }
        }
        self.watches = kept;
    }
}

/// How the log names an effect, and the run that it is for.
fn in_the_log(effect: &Effect) -> (&'static str, Option<&RunId>) {
    match effect {
        Effect::Gather { run, .. } => ("gather", Some(run)),
        Effect::CallModel { run, .. } => ("call model", Some(run)),
        Effect::RunTool { run, .. } => ("run tool", Some(run)),
        Effect::Inspect { run, .. } => ("inspect", Some(run)),
        Effect::FindTargets { run, .. } => ("find targets", Some(run)),
        Effect::Write { run, .. } => ("write", Some(run)),
        Effect::WriteTogether { run, .. } => ("write together", Some(run)),
        Effect::Move { run, .. } => ("move", Some(run)),
        Effect::RunGates { run, .. } => ("run gates", Some(run)),
        Effect::ArmTimer { run, .. } => ("arm timer", Some(run)),
        Effect::StopWork { run } => ("stop work", Some(run)),
        Effect::Record { run, .. } => ("record", Some(run)),
        Effect::Progress { run, .. } => ("progress", Some(run)),
        Effect::Publish { .. } => ("publish", None),
        Effect::Accept { .. } => ("accept", None),
        Effect::Reply { .. } => ("reply", None),
    }
}

/// What clients are told was taken, asked or done: it must still be there after a crash.
fn is_promise(event: &RunEvent) -> bool {
    matches!(
        event,
        RunEvent::RunStarted { .. }
            | RunEvent::QuestionAnswered { .. }
            | RunEvent::CancelRequested { .. }
            | RunEvent::Steered { .. }
            | RunEvent::Resumed { .. }
            | RunEvent::Abandoned { .. }
            | RunEvent::QuestionOpened { .. }
            | RunEvent::Ended { .. }
    )
}

fn task_of<'a>(state: &'a State, run: &RunId) -> Option<&'a TaskId> {
    state.runs.get(run)?.spec.task.as_ref()
}

/// What the ledger is told of a run's change.
fn why(state: &State, (run, change): (RunId, ChangeId), order: &WriteOrder) -> Why {
    let known = state.runs.get(&run);
    let call = known.and_then(|run| run.current.as_ref().map(|current| &current.call));
    let doing = known.and_then(|run| {
        let mut plan = run.plan.iter();
        plan.find(|item| item.state == PlanItemState::InProgress)
    });
    let reason = match (doing, call) {
        (Some(item), _) => item.title.clone(),
        (None, Some(call)) => format!("{} {}", call.name, order.path),
        (None, None) => format!("change {}", order.path),
    };
    Why {
        step: call.map(|call| call.id.to_string()),
        reason,
        at: wall_ms(),
        run,
        change,
    }
}

/// The kernel knows no time zones.
fn with_time_of_day(mut progress: Progress) -> Progress {
    if let Some(until) = progress.until {
        progress.message = progress.message.replacen(UNTIL, &time_of_day(until), 1);
    }
    progress
}
