//! One editor's session: what it is shown of the workspace, kept up to date from the app's notices.
//!
//! Promises: messages about one file, one progress or one question go out in the order in which things happened, because
//! they are sent under one lock; sending never waits; whoever waits for the editor (a progress being created, a question
//! being answered) does so in a task of its own.

mod asking;
mod reporting;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lsp_types::notification::{PublishDiagnostics, ShowMessage};
use lsp_types::{MessageType, ShowMessageParams};
use tokio::sync::OnceCell;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;
use tower_lsp::jsonrpc::Id;

use self::asking::file_of;
use super::apply;
use super::capabilities::Capabilities;
use super::diagnostics::Diagnostics;
use super::editor::Editor;
use super::places::Root;
use super::progress::RunProgress;
use crate::app::{App, Notice};
use crate::kernel::event::{Record, RunEvent};
use crate::kernel::finding::Finding;
use crate::kernel::ids::{QuestionId, RunId};
use crate::kernel::path::RelPath;
use crate::kernel::question::{Question, QuestionState};
use crate::protocol::method;
use crate::protocol::run::EventParams;

/// A workspace that was opened for an editor.
pub struct Opened {
    pub app: App,
}

/// Opens the workspace in a folder. The error is for people.
pub type OpenWorkspace = Arc<dyn Fn(&Path) -> Result<Opened, String> + Send + Sync>;

/// How long what was read of the settings is taken for true while findings come in.
const SETTINGS_HOLD: Duration = Duration::from_secs(1);
/// Problems of the settings in one message.
const PROBLEMS_TOLD: usize = 5;

/// See the module.
pub struct Session {
    pub app: App,
    pub root: Root,
    pub client: Capabilities,
    pub editor: Editor,
    started: Instant,
    shown: Mutex<Shown>,
    notices: Mutex<Option<UnboundedReceiver<Notice>>>,
    parked: OnceCell<()>,
    /// Gates whose findings others show, and when that was read.
    left_to_others: Mutex<Option<(Instant, Vec<String>)>>,
}

#[derive(Default)]
struct Shown {
    diagnostics: Diagnostics,
    questions: BTreeMap<QuestionId, ShownQuestion>,
    progress: BTreeMap<RunId, RunProgress>,
    /// The server, or the folder, is about to end: nothing begins any more.
    is_closing: bool,
    /// Interrupted runs that were shown.
    parked: BTreeSet<RunId>,
    /// Files in which the user writes.
    writing: BTreeSet<PathBuf>,
}

struct ShownQuestion {
    question: Question,
    /// The request by which the editor shows it.
    asked: Option<Id>,
}

impl Session {
    /// Listens to the app from now on; shows nothing until [`Self::begin`].
    pub fn new(opened: Opened, root: Root, client: Capabilities, editor: Editor) -> Arc<Self> {
        let notices = opened.app.subscribe();
        Arc::new(Self {
            app: opened.app,
            root,
            client,
            editor,
            started: Instant::now(),
            shown: Mutex::default(),
            notices: Mutex::new(Some(notices)),
            parked: OnceCell::new(),
            left_to_others: Mutex::default(),
        })
    }

    /// The editor is ready: shows what is open, then what happens. Called again, it does nothing.
    pub fn begin(self: &Arc<Self>) {
        let notices = self
            .notices
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(mut notices) = notices else {
            return;
        };
        let session = Arc::clone(self);
        tokio::spawn(async move {
            session.tell_problems_of_settings();
            session.show_what_is_open().await;
            while let Some(notice) = notices.recv().await {
                if let Notice::Parked { run } = &notice {
                    session.show_parked(run).await;
                }
                // Whatever goes wrong with one notice, the editor hears of the next.
                if catch_unwind(AssertUnwindSafe(|| session.take(notice))).is_err() {
                    tracing::error!("showing a notice panicked; the editor may miss something");
                }
            }
        });
    }

    fn take(self: &Arc<Self>, notice: Notice) {
        match notice {
            Notice::Recorded { run, record } => self.recorded(&run, &record),
            Notice::Findings {
                path,
                findings,
                document,
            } => {
                let version = document.map(|(_, version)| version);
                let findings = self.not_shown_by_others(findings);
                let mut shown = self.shown();
                shown.diagnostics.set_findings(&path, findings, version);
                self.refresh(&mut shown, &path);
            }
            Notice::Progress { run, progress } => self.progressed(&run, progress),
            // Needs a look at the state, which is awaited where notices are taken.
            Notice::Parked { .. } => {}
            Notice::Edit(order) => {
                let session = Arc::clone(self);
                tokio::spawn(async move { apply::apply(&session, order).await });
            }
        }
    }

    /// Without those that the user leaves to the editor's own language servers.
    fn not_shown_by_others(&self, mut findings: Vec<Finding>) -> Vec<Finding> {
        if findings.is_empty() {
            return findings;
        }
        let mut left = self
            .left_to_others
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // A report on a thousand files is no reason to read the settings a thousand times.
        if left
            .as_ref()
            .is_none_or(|(at, _)| at.elapsed() > SETTINGS_HOLD)
        {
            let settings = self.app.settings(&serde_json::Value::Null).settings;
            *left = Some((Instant::now(), settings.gates.dedupe));
        }
        let names = left.as_ref().map(|(_, names)| names.as_slice());
        let is_theirs = |name: &str| {
            let mut names = names.unwrap_or_default().iter();
            names.any(|other| other.eq_ignore_ascii_case(name))
        };
        findings.retain(|finding| !is_theirs(finding.gate.as_str()) && !is_theirs(&finding.source));
        findings
    }

    fn recorded(self: &Arc<Self>, run: &RunId, record: &Record) {
        if self.client.offer.events {
            let params = EventParams {
                run_id: run.clone(),
                record: record.clone(),
            };
            self.editor.notify_as(method::RUN_EVENT, params);
        }
        match &record.event {
            RunEvent::QuestionOpened { question } => self.question_opened(question.clone()),
            RunEvent::QuestionAnswered {
                question,
                answer,
                by,
            } => {
                let state = QuestionState::Answered {
                    answer: answer.clone(),
                    by: by.clone(),
                    at: record.at,
                };
                self.question_resolved(run, question, state);
            }
            RunEvent::QuestionWithdrawn { question, reason } => {
                let state = QuestionState::Withdrawn {
                    reason: reason.clone(),
                    at: record.at,
                };
                self.question_resolved(run, question, state);
            }
            RunEvent::Ended { outcome, summary } if !self.client.offer.events => {
                self.say_end(*outcome, summary);
            }
            _ => {}
        }
    }

    /// Before [`App::document`], so that what is shown next is under the editor's own name for the file.
    pub fn document_opened(&self, path: &RelPath, uri: &str, version: i32) {
        let mut shown = self.shown();
        shown
            .diagnostics
            .document_opened(path, uri.to_owned(), version);
        self.refresh(&mut shown, path);
    }

    pub fn document_changed(&self, path: &RelPath, version: i32) {
        self.shown().diagnostics.document_changed(path, version);
    }

    pub fn document_closed(&self, path: &RelPath) {
        self.shown().diagnostics.document_closed(path);
    }

    /// Version of the open document, as the editor last said.
    pub fn version(&self, path: &RelPath) -> Option<i32> {
        self.shown().diagnostics.version(path)
    }

    /// What code actions on a file are made of: its findings and its open questions.
    pub fn on_file(&self, path: &RelPath) -> (Vec<Finding>, Vec<Question>) {
        let shown = self.shown();
        let questions = shown
            .questions
            .values()
            .filter(|shown| file_of(&shown.question) == Some(path))
            .map(|shown| shown.question.clone());
        (
            shown.diagnostics.findings(path).to_vec(),
            questions.collect(),
        )
    }

    /// Whether nobody watched the file yet; from now on somebody does.
    pub fn begin_writing(&self, file: &Path) -> bool {
        self.shown().writing.insert(file.to_owned())
    }

    pub fn end_writing(&self, file: &Path) {
        self.shown().writing.remove(file);
    }

    fn refresh(&self, shown: &mut Shown, path: &RelPath) {
        if shown.is_closing {
            return;
        }
        for message in shown.diagnostics.refresh(path, &self.root, &self.client) {
            self.editor.notify::<PublishDiagnostics>(message);
        }
    }

    /// The editor has closed the folder: what it is shown of it goes.
    pub fn leave(&self) {
        let mut shown = self.shown();
        shown.is_closing = true;
        for message in shown.diagnostics.clear() {
            self.editor.notify::<PublishDiagnostics>(message);
        }
        let asked = shown.questions.values_mut();
        let asked: Vec<Id> = asked.filter_map(|question| question.asked.take()).collect();
        drop(shown);
        for id in asked {
            self.editor.withdraw(&id);
        }
    }

    /// Parks the runs, once, however many ask for it; all of them wait until it is done.
    pub async fn park(&self) {
        self.parked.get_or_init(|| self.app.park()).await;
    }

    /// Shows a message, without waiting.
    /// Mistakes in the settings cost only what they stand in; the user hears of them all the same.
    pub fn tell_problems_of_settings(&self) {
        let problems = self.app.settings(&serde_json::Value::Null).problems;
        if problems.is_empty() {
            return;
        }
        let told: Vec<String> = problems
            .iter()
            .take(PROBLEMS_TOLD)
            .map(ToString::to_string)
            .collect();
        let more = match problems.len() - told.len() {
            0 => String::new(),
            more => format!("\n… and {more} more; `outrigger config show` lists them"),
        };
        let message = format!("Outrigger's settings: {}{more}", told.join("\n"));
        self.say(MessageType::WARNING, message);
    }

    pub fn say(&self, kind: MessageType, message: String) {
        self.editor
            .notify::<ShowMessage>(ShowMessageParams { typ: kind, message });
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        // A panic in between leaves something shown or not shown, never something unsound.
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
