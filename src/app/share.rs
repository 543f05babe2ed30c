//! Two processes on one workspace: who works on which run, seeing each other's runs live, and passing words to their owners.
//!
//! A run is worked on by the process that holds the lock of its transcript; the system lets it go when that process dies,
//! however it dies. So a dead owner is noticed by a lock that is free, and of several that want to go on with its run one
//! gets the lock. The database carries leases, for people who want to know who works, and words from one process to
//! another. Promises: a word is carried out at most once and answered, or stays posted until somebody owns the run; no
//! run of another process is ever touched here; a database that fails costs only what others would see.

mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use self::words::{Letter, Word};
use super::App;
use super::load::{self, Found};
use super::secrets::Secrets;
use crate::kernel::effect::{Refusal, RefusalKind, Reply};
use crate::kernel::event::{Record, RunEvent};
use crate::kernel::ids::RunId;
use crate::kernel::input::Command;
use crate::store::database::{Database, DatabaseError, Post};
use crate::store::lease::owner::Observer;
use crate::store::lease::{HEARTBEAT_MS, Owner};
use crate::store::overview::Overview;
use crate::store::transcript::read;

/// How often others are looked at while there is something to see.
const BUSY: Duration = Duration::from_millis(50);
/// And while there is not.
const IDLE: Duration = Duration::from_millis(500);
/// How often it is asked whether an owner still lives.
const ALIVE: Duration = Duration::from_secs(1);
/// A transcript this young may be about to be locked by the one who made it.
const SETTLING: Duration = Duration::from_secs(1);
/// How long the owner of a run may take to answer a word.
const ANSWER: Duration = Duration::from_secs(10);
/// Records of another process that are read at once.
const PAGE: usize = 1000;

type CommandReply = oneshot::Sender<Result<Reply, Refusal>>;

/// What the app and its actor know of the others, and tell them.
pub struct Share {
    /// Runs that this process works on.
    owned: Mutex<BTreeSet<RunId>>,
    /// Runs that other processes work on, as their transcripts have them.
    foreign: Mutex<BTreeMap<RunId, Overview>>,
    outbox: mpsc::Sender<Out>,
    /// Taken by the thread when it starts.
    inbox: Mutex<Option<mpsc::Receiver<Out>>>,
}

enum Out {
    /// For the owner of a run.
    Word(RunId, Word, CommandReply),
    /// An owner's answer to a word of another process.
    Answer {
        post: Post,
        to: String,
        body: String,
    },
    Stop,
}

impl Share {
    pub fn new() -> Self {
        let (outbox, inbox) = mpsc::channel();
        Self {
            owned: Mutex::default(),
            foreign: Mutex::default(),
            outbox,
            inbox: Mutex::new(Some(inbox)),
        }
    }

    /// This process holds the run's transcript from now on.
    pub fn holds(&self, run: &RunId) {
        lock(&self.owned).insert(run.clone());
        lock(&self.foreign).remove(run);
    }

    /// And no longer.
    pub fn lets_go(&self, run: &RunId) {
        lock(&self.owned).remove(run);
    }

    /// Runs that other processes work on.
    pub fn foreign(&self) -> Vec<Overview> {
        lock(&self.foreign).values().cloned().collect()
    }

    /// Passes a command to the process that works on its run, if another one does; else gives it back.
    pub fn pass_on(
        &self,
        command: Command,
        reply: CommandReply,
    ) -> Option<(Command, CommandReply)> {
        let Some((run, word)) = Word::of(&command) else {
            return Some((command, reply));
        };
        if !lock(&self.foreign).contains_key(&run) {
            return Some((command, reply));
        }
        // The thread goes with the app: then nobody waits.
        let _ = self.outbox.send(Out::Word(run, word, reply));
        None
    }

    /// The process is about to end.
    pub fn stop(&self) {
        let _ = self.outbox.send(Out::Stop);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Loads what earlier processes left, then keeps an eye on the others. Needs a tokio runtime.
pub fn spawn(app: App, secrets: Arc<Secrets>) {
    let Some(inbox) = lock(&app.share.inbox).take() else {
        return;
    };
    let runtime = Handle::current();
    let done = app.clone();
    let started = thread::Builder::new()
        .name("share".to_owned())
        .spawn(move || {
            let mut watcher = Watcher {
                database: None,
                owner: Owner::of_this_process(),
                observer: Observer::default(),
                runtime,
                secrets,
                claimed: BTreeSet::new(),
                parked: BTreeMap::new(),
                known: BTreeMap::new(),
                over: BTreeMap::new(),
                listed: None,
                asked: Vec::new(),
                in_work: BTreeSet::new(),
                version: None,
                last_look: Instant::now(),
                app,
            };
            load::settle_changes(&watcher.app);
            watcher.look_for_runs(true);
            watcher.follow(false);
            watcher.app.loaded();
            watcher.watch(&inbox);
        });
    if let Err(error) = started {
        tracing::error!("failed to look for unfinished runs: {error}");
        done.loaded();
    }
}

/// A word that was posted to an owner.
struct Asked {
    /// Where its answer will be posted.
    at: RunId,
    until: Instant,
    run: RunId,
    reply: CommandReply,
}

struct Parked {
    /// Bytes of the transcript.
    size: u64,
    /// Number of its last record.
    last: u64,
}

struct Watcher {
    app: App,
    secrets: Arc<Secrets>,
    runtime: Handle,
    /// Opened when it is first needed.
    database: Option<Database>,
    owner: Owner,
    observer: Observer,
    /// Runs with a lease of ours.
    claimed: BTreeSet<RunId>,
    /// Runs that nobody works on, as they were when they were loaded.
    parked: BTreeMap<RunId, Parked>,
    /// Of runs that were loaded here before another process took them up: the last record that clients know.
    known: BTreeMap<RunId, u64>,
    /// Runs that have ended, with the size of their transcripts: looked at again only when they grow.
    over: BTreeMap<RunId, u64>,
    /// When the folder of the transcripts had changed when it was last listed.
    listed: Option<SystemTime>,
    asked: Vec<Asked>,
    /// Posts whose answers are being waited for.
    in_work: BTreeSet<i64>,
    version: Option<i64>,
    last_look: Instant,
}

impl Watcher {
    fn watch(&mut self, inbox: &mpsc::Receiver<Out>) {
        loop {
            let share = Arc::clone(&self.app.share);
            let busy = !self.asked.is_empty()
                || !lock(&share.owned).is_empty()
                || !lock(&share.foreign).is_empty();
            match inbox.recv_timeout(if busy { BUSY } else { IDLE }) {
                Ok(Out::Word(run, word, reply)) => self.post(run, word, reply),
                Ok(Out::Answer { post, to, body }) => self.post_answer(&post, &to, &body),
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Out::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    self.give_up_leases();
                    return;
                }
            }
            let again = self.last_look.elapsed() >= ALIVE;
            if again {
                self.last_look = Instant::now();
            }
            self.look_for_runs(again);
            self.follow(again);
            self.keep_leases(again);
            self.take_posts();
        }
    }

    /// Finds transcripts that are new or have become somebody else's. `again`: also those that were seen before.
    fn look_for_runs(&mut self, again: bool) {
        let folder = self.app.state.runs();
        let changed = std::fs::metadata(&folder)
            .and_then(|data| data.modified())
            .ok();
        if !again && changed == self.listed {
            return;
        }
        self.listed = changed;
        let names = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut unsettled = false;
        for entry in names {
            let path = entry.path();
            let Some(run) = load::run_of(&path) else {
                continue;
            };
            let share = &self.app.share;
            if lock(&share.owned).contains(&run) || lock(&share.foreign).contains_key(&run) {
                continue;
            }
            let Ok(data) = entry.metadata() else { continue };
            let parked = self.parked.get(&run).map(|parked| parked.size);
            if self.over.get(&run).copied().or(parked) == Some(data.len()) {
                continue;
            }
            let age = data.modified().ok().and_then(|at| at.elapsed().ok());
            if data.len() == 0 && age.is_none_or(|age| age < SETTLING) {
                unsettled = true;
                continue;
            }
            self.look_at(run, &path, data.len());
        }
        if unsettled {
            self.listed = None;
        }
    }

    fn look_at(&mut self, run: RunId, path: &Path, size: u64) {
        match load::look(path, &self.secrets) {
            Ok(Found::Over) => {
                if let Some(parked) = self.parked.remove(&run) {
                    self.app.forget(run.clone());
                    self.tell_rest(&run, path, parked.last);
                }
                self.over.insert(run, size);
            }
            Ok(Found::Empty) => {}
            Ok(Found::Unfinished(records)) => {
                self.over.remove(&run);
                // One that another process took up and left again has gone on meanwhile.
                let last = records.last().map_or(0, |record| record.seq);
                let before = self.parked.insert(run.clone(), Parked { size, last });
                if let Some(before) = before {
                    self.app.forget(run.clone());
                    self.tell_rest(&run, path, before.last);
                }
                self.app.load(run, records);
            }
            Ok(Found::Busy) => {
                if lock(&self.app.share.owned).contains(&run) {
                    return;
                }
                if let Some(parked) = self.parked.remove(&run) {
                    self.app.forget(run.clone());
                    self.known.insert(run.clone(), parked.last);
                }
                let overview = Overview::new(run.clone());
                lock(&self.app.share.foreign).insert(run, overview);
            }
            Err(error) => tracing::error!(%run, "failed to {error}"),
        }
    }

    /// Tells what others have written since, and notices owners that are gone.
    fn follow(&mut self, again: bool) {
        let known: Vec<(RunId, u64)> = lock(&self.app.share.foreign)
            .iter()
            .map(|(run, overview)| (run.clone(), overview.last_seq))
            .collect();
        for (run, after) in known {
            let Some(path) = self.app.transcript(&run) else {
                continue;
            };
            let ended = self.tell_new(&run, &path, after);
            if !ended && !again {
                continue;
            }
            let look = load::look(&path, &self.secrets);
            if !matches!(look, Ok(Found::Busy | Found::Empty) | Err(_)) {
                // What was written between the two looks.
                let after = lock(&self.app.share.foreign)
                    .remove(&run)
                    .map_or(0, |overview| overview.last_seq);
                self.tell_rest(&run, &path, after);
                let size = std::fs::metadata(&path).map_or(0, |data| data.len());
                self.look_at(run, &path, size);
            }
        }
    }

    fn tell_rest(&self, run: &RunId, path: &Path, after: u64) {
        let rest =
            read::<Record>(path, after, PAGE).map_or_else(|_| Vec::new(), |page| page.records);
        for record in rest {
            self.app.relay(run.clone(), record);
        }
    }

    /// Whether the run has ended. The first time nothing is told but what is still open: the rest is history.
    fn tell_new(&self, run: &RunId, path: &Path, after: u64) -> bool {
        let mut after = after;
        let first = after == 0;
        loop {
            let page = match read::<Record>(path, after, PAGE) {
                Ok(page) => page,
                Err(error) => {
                    tracing::debug!(%run, "failed to {error}");
                    return false;
                }
            };
            let Some(last) = page.records.last() else {
                return false;
            };
            after = last.seq;
            let ended = matches!(last.event, RunEvent::Ended { .. });
            if let Some(overview) = lock(&self.app.share.foreign).get_mut(run) {
                for record in &page.records {
                    overview.apply(record);
                }
            }
            for record in page.records {
                let known = self.known.get(run).copied();
                let is_new = match known {
                    Some(known) => record.seq > known,
                    None => !first || matters_later(&record.event),
                };
                if is_new {
                    self.app.relay(run.clone(), record);
                }
            }
            if ended || !page.more {
                return ended;
            }
        }
    }

    fn keep_leases(&mut self, beat: bool) {
        let owned = lock(&self.app.share.owned).clone();
        if owned.is_empty() && self.claimed.is_empty() {
            return;
        }
        let (owner, claimed) = (self.owner.clone(), std::mem::take(&mut self.claimed));
        let mut observer = std::mem::take(&mut self.observer);
        let kept = self.with_database(|database| {
            for run in owned.difference(&claimed) {
                database.claim(run, &owner, &mut observer)?;
            }
            for run in claimed.difference(&owned) {
                database.release(run, &owner)?;
            }
            if beat {
                database.heartbeat(&owner)?;
            }
            Ok(())
        });
        self.observer = observer;
        self.claimed = if kept.is_some() { owned } else { claimed };
    }

    fn give_up_leases(&mut self) {
        let (owner, claimed) = (self.owner.clone(), std::mem::take(&mut self.claimed));
        if !claimed.is_empty() {
            self.with_database(|database| {
                claimed
                    .iter()
                    .try_for_each(|run| database.release(run, &owner))
            });
        }
    }

    /// Posts a word to the owner of a run.
    fn post(&mut self, run: RunId, word: Word, reply: CommandReply) {
        let letter = Letter::new(word);
        let at = RunId::new(&letter.answer_at);
        let body = serde_json::to_string(&letter).unwrap_or_default();
        if self
            .with_database(|database| database.post(&run, &body))
            .is_some()
        {
            self.asked.push(Asked {
                at,
                until: Instant::now() + ANSWER,
                run,
                reply,
            });
        } else {
            let refused =
                refusal("the state database cannot be written to; see `outrigger doctor`");
            let _ = reply.send(Err(refused));
        }
    }

    fn post_answer(&mut self, post: &Post, to: &str, body: &str) {
        self.in_work.remove(&post.id);
        self.with_database(|database| {
            database.post_is_done(post)?;
            database.post(&RunId::new(to), body)
        });
    }

    /// Carries out what others have posted to our runs, and takes the answers to what we have posted.
    fn take_posts(&mut self) {
        let owned = lock(&self.app.share.owned).clone();
        if owned.is_empty() && self.asked.is_empty() {
            return;
        }
        let before = self.version;
        let version = self.with_database(|database| database.version_of_others());
        self.version = version;
        if version.is_none() || version != before {
            for run in &owned {
                let posts = self.with_database(|database| database.posts(run));
                for post in posts.unwrap_or_default() {
                    if self.in_work.insert(post.id) {
                        self.carry_out(post);
                    }
                }
            }
        }
        for asked in std::mem::take(&mut self.asked) {
            let posts = self.with_database(|database| database.posts(&asked.at));
            match posts.unwrap_or_default().into_iter().next() {
                Some(post) => {
                    self.with_database(|database| database.post_is_done(&post));
                    let _ = asked.reply.send(words::read_answer(&post.body));
                }
                None if asked.until <= Instant::now() => {
                    let late = format!(
                        "the process that works on run {} did not answer within {} s; the word stays posted for whoever goes on with the run",
                        asked.run,
                        ANSWER.as_secs()
                    );
                    let _ = asked.reply.send(Err(refusal(&late)));
                }
                None => self.asked.push(asked),
            }
        }
    }

    fn carry_out(&mut self, post: Post) {
        let outbox = self.app.share.outbox.clone();
        let letter: Letter = match serde_json::from_str(&post.body) {
            Ok(letter) => letter,
            Err(error) => {
                tracing::warn!("a word of another process cannot be read: {error}");
                self.with_database(|database| database.post_is_done(&post));
                return;
            }
        };
        let reply = self.app.command(letter.word.into_command());
        self.runtime.spawn(async move {
            let Ok(reply) = reply.await else { return };
            let body = words::write_answer(&reply);
            let to = letter.answer_at;
            let _ = outbox.send(Out::Answer { post, to, body });
        });
    }

    /// What fails is logged; the next time it is tried anew.
    fn with_database<T>(
        &mut self,
        work: impl FnOnce(&mut Database) -> Result<T, DatabaseError>,
    ) -> Option<T> {
        let done = match &mut self.database {
            Some(database) => work(database),
            None => Database::open(&self.app.state.database()).and_then(|(mut database, _)| {
                let done = work(&mut database);
                self.database = Some(database);
                done
            }),
        };
        done.inspect_err(|error| tracing::error!("failed to {error}"))
            .ok()
    }
}

fn refusal(message: &str) -> Refusal {
    Refusal {
        kind: RefusalKind::Storage,
        message: message.to_owned(),
    }
}

/// What a client that comes late must still be shown.
fn matters_later(event: &RunEvent) -> bool {
    matches!(
        event,
        RunEvent::QuestionOpened { .. }
            | RunEvent::QuestionAnswered { .. }
            | RunEvent::QuestionWithdrawn { .. }
    )
}

const _: () = assert!(HEARTBEAT_MS as u128 == ALIVE.as_millis());
