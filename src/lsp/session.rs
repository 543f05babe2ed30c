//! One editor's session: what it is shown of the workspace, kept up to date from the app's notices.
//!
//! Promises: messages about one file, one progress or one question go out in the order in which things happened, because
//! they are sent under one lock; sending never waits; whoever waits for the editor (a progress being created, a question
//! being answered) does so in a task of its own.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lsp_types::notification::{Progress as ProgressNote, PublishDiagnostics, ShowMessage};
use lsp_types::request::{ShowMessageRequest, WorkDoneProgressCreate};
use lsp_types::{
    MessageActionItem, MessageType, ProgressParams, ProgressParamsValue, ProgressToken,
    ShowMessageParams, ShowMessageRequestParams, WorkDoneProgressCreateParams,
};
use tokio::sync::OnceCell;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep};
use tower_lsp::jsonrpc::Id;

use super::apply;
use super::capabilities::Capabilities;
use super::diagnostics::Diagnostics;
use super::editor::{Asked, Editor, Reply};
use super::places::Root;
use super::progress::{self, Created, RunProgress, Step};
use super::questions::{self, Offer};
use crate::app::{App, Notice};
use crate::kernel::effect::{Progress, RefusalKind};
use crate::kernel::event::{Record, RunEvent, RunOutcome};
use crate::kernel::ids::{QuestionId, RunId};
use crate::kernel::path::RelPath;
use crate::kernel::question::{Answer, Question, QuestionKind, QuestionState};
use crate::kernel::run::Summary;
use crate::protocol::method;
use crate::protocol::question::{OpenedParams, ResolvedParams};
use crate::protocol::run::EventParams;

/// Lines of a question's detail in a message box.
const DETAIL_LINES: usize = 30;

/// A workspace that was opened for an editor.
pub struct Opened {
    pub app: App,
    /// The model of runs that name none.
    pub default_model: Option<String>,
}

/// Opens the workspace in a folder. The error is for people.
pub type OpenWorkspace = Arc<dyn Fn(&Path) -> Result<Opened, String> + Send + Sync>;

/// See the module.
pub struct Session {
    pub app: App,
    pub root: Root,
    pub client: Capabilities,
    pub editor: Editor,
    pub default_model: Option<String>,
    started: Instant,
    shown: Mutex<Shown>,
    notices: Mutex<Option<UnboundedReceiver<Notice>>>,
    parked: OnceCell<()>,
}

#[derive(Default)]
struct Shown {
    diagnostics: Diagnostics,
    questions: BTreeMap<QuestionId, ShownQuestion>,
    progress: BTreeMap<RunId, RunProgress>,
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
            default_model: opened.default_model,
            started: Instant::now(),
            shown: Mutex::default(),
            notices: Mutex::new(Some(notices)),
            parked: OnceCell::new(),
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
            let is_open = |question: &&Question| question.state == QuestionState::Open;
            let open = session.app.look(move |state| {
                let open: Vec<Question> =
                    state.questions.values().filter(is_open).cloned().collect();
                open
            });
            for question in open.await.unwrap_or_default() {
                session.question_opened(question);
            }
            while let Some(notice) = notices.recv().await {
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
                let mut shown = self.shown();
                shown.diagnostics.set_findings(&path, findings, version);
                self.refresh(&mut shown, &path);
            }
            Notice::Progress { run, progress } => self.progressed(&run, progress),
            // Shown by `outrigger/run/list` as interrupted.
            Notice::Parked { .. } => {}
            Notice::Edit(order) => {
                let session = Arc::clone(self);
                tokio::spawn(async move { apply::apply(&session, order).await });
            }
        }
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

    // --- documents

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
    pub fn on_file(&self, path: &RelPath) -> (Vec<crate::kernel::finding::Finding>, Vec<Question>) {
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

    fn refresh(&self, shown: &mut Shown, path: &RelPath) {
        for message in shown.diagnostics.refresh(path, &self.root, &self.client) {
            self.editor.notify::<PublishDiagnostics>(message);
        }
    }

    // --- questions

    fn question_opened(self: &Arc<Self>, question: Question) {
        let mut shown = self.shown();
        if shown.questions.contains_key(&question.id) {
            return;
        }
        if let Some(path) = file_of(&question).cloned() {
            shown.diagnostics.open_question(&path, question.clone());
            self.refresh(&mut shown, &path);
        }
        let asked = if self.client.offer.questions {
            let params = OpenedParams {
                question: question.clone(),
            };
            self.editor.notify_as(method::QUESTION_OPENED, params);
            None
        } else {
            let asked = self.ask_plainly(&question);
            let id = asked.id().clone();
            let session = Arc::clone(self);
            let (name, offers) = (question.id.clone(), questions::offers(&question));
            tokio::spawn(async move { session.answered_plainly(name, offers, asked).await });
            Some(id)
        };
        shown
            .questions
            .insert(question.id.clone(), ShownQuestion { question, asked });
    }

    /// In a client that knows nothing of us, a question is a message with buttons.
    fn ask_plainly(&self, question: &Question) -> Asked {
        let mut message = questions::text(question, DETAIL_LINES);
        if question.free_text {
            let hint = format!(
                "\n(For an answer in your own words execute the command {} with \"{}\" and the words.)",
                super::commands::ANSWER,
                question.id
            );
            message.push_str(&hint);
        }
        let actions: Vec<MessageActionItem> = questions::offers(question)
            .into_iter()
            .map(|offer| MessageActionItem {
                title: offer.title,
                properties: Default::default(),
            })
            .collect();
        self.editor
            .ask::<ShowMessageRequest>(ShowMessageRequestParams {
                typ: MessageType::INFO,
                message,
                actions: Some(actions),
            })
    }

    async fn answered_plainly(&self, question: QuestionId, offers: Vec<Offer>, asked: Asked) {
        let title = match asked.reply().await {
            Reply::Answered(item) => item
                .get("title")
                .and_then(|title| title.as_str().map(str::to_owned)),
            // Dismissed, not shown, not known: none of these is an answer. The question stays open elsewhere.
            Reply::Unanswered | Reply::Refused(_) | Reply::Gone => None,
        };
        if let Some(shown) = self.shown().questions.get_mut(&question) {
            shown.asked = None;
        }
        let chosen = title.and_then(|title| offers.into_iter().find(|offer| offer.title == title));
        if let Some(offer) = chosen {
            self.answer(question, offer.answer).await;
        }
    }

    /// Answers, and tells the user when it was not taken.
    async fn answer(&self, question: QuestionId, answer: Answer) {
        let reply = self
            .app
            .answer(question, answer, self.client.client.clone());
        if let Ok(Err(refusal)) = reply.await {
            let kind = match refusal.kind {
                RefusalKind::AlreadyAnswered => MessageType::INFO,
                _ => MessageType::WARNING,
            };
            self.say(kind, refusal.message);
        }
    }

    fn question_resolved(&self, run: &RunId, question: &QuestionId, state: QuestionState) {
        let mut shown = self.shown();
        let view = shown.questions.remove(question);
        if let Some(path) = shown.diagnostics.close_question(question) {
            self.refresh(&mut shown, &path);
        }
        if let Some(id) = view.and_then(|view| view.asked) {
            self.editor.withdraw(&id);
        }
        if self.client.offer.questions {
            let params = ResolvedParams {
                question_id: question.clone(),
                run_id: run.clone(),
                state,
            };
            self.editor.notify_as(method::QUESTION_RESOLVED, params);
        }
    }

    // --- progress

    fn progressed(self: &Arc<Self>, run: &RunId, progress: Progress) {
        if !self.client.progress {
            return;
        }
        let now = self.now_ms();
        self.with_progress(run, |shown| shown.update(progress, now));
    }

    /// Parks the runs, once, however many ask for it; all of them wait until it is done.
    pub async fn park(&self) {
        self.parked.get_or_init(|| self.app.park()).await;
    }

    /// Ends every progress: the server is about to.
    pub fn abandon_progress(self: &Arc<Self>) {
        let runs: Vec<RunId> = self.shown().progress.keys().cloned().collect();
        for run in runs {
            self.with_progress(&run, |shown| shown.abandon("parked; it can be resumed"));
        }
    }

    fn with_progress(
        self: &Arc<Self>,
        run: &RunId,
        act: impl FnOnce(&mut RunProgress) -> Vec<Step>,
    ) {
        let mut shown = self.shown();
        let progress = shown.progress.entry(run.clone()).or_default();
        for step in act(progress) {
            self.perform(run, step);
        }
    }

    fn perform(self: &Arc<Self>, run: &RunId, step: Step) {
        let token = ProgressToken::String(progress::token(run));
        let (session, run) = (Arc::clone(self), run.clone());
        match step {
            Step::Send(value) => self.editor.notify::<ProgressNote>(ProgressParams {
                token,
                value: ProgressParamsValue::WorkDone(value),
            }),
            Step::Create => {
                let params = WorkDoneProgressCreateParams { token };
                let asked = self.editor.ask::<WorkDoneProgressCreate>(params);
                tokio::spawn(async move {
                    let created = match asked.reply().await {
                        Reply::Answered(_) | Reply::Unanswered => Created::Yes,
                        Reply::Refused(_) | Reply::Gone => Created::No,
                    };
                    let now = session.now_ms();
                    session.with_progress(&run, |shown| shown.created(created, now));
                });
            }
            Step::TickAfter(ms) => {
                tokio::spawn(async move {
                    sleep(Duration::from_millis(ms)).await;
                    let now = session.now_ms();
                    session.with_progress(&run, |shown| shown.tick(now));
                });
            }
        }
    }

    // --- saying

    fn say_end(&self, outcome: RunOutcome, summary: &Summary) {
        let (kind, what) = match outcome {
            RunOutcome::Succeeded => (MessageType::INFO, "done"),
            RunOutcome::Failed => (MessageType::WARNING, "failed"),
            RunOutcome::Cancelled => (MessageType::INFO, "cancelled"),
            RunOutcome::Interrupted => (MessageType::WARNING, "interrupted"),
        };
        let mut message = format!("Outrigger: {what}");
        match summary.files.len() {
            0 => {}
            1 => message.push_str(", 1 file changed"),
            count => message.push_str(&format!(", {count} files changed")),
        }
        if !summary.text.trim().is_empty() {
            message.push_str(". ");
            message.push_str(summary.text.trim());
        }
        self.say(kind, message);
    }

    /// Shows a message, without waiting.
    pub fn say(&self, kind: MessageType, message: String) {
        self.editor
            .notify::<ShowMessage>(ShowMessageParams { typ: kind, message });
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        // A panic in between leaves something shown or not shown, never something unsound.
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The file on which a question shows.
fn file_of(question: &Question) -> Option<&RelPath> {
    if let Some(place) = &question.place {
        return Some(&place.path);
    }
    match &question.kind {
        QuestionKind::Overwrite(overwrite) => Some(&overwrite.path),
        QuestionKind::Blocker { .. }
        | QuestionKind::Command { .. }
        | QuestionKind::Uncertain { .. }
        | QuestionKind::Budget { .. } => None,
    }
}
