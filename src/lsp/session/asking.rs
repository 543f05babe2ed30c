//! Questions in the editor: told to a client that shows them itself, asked as a message with buttons in any other, and on
//! the file in doubt in both. Each is one view of the question; the first valid answer wins, and all views close.

use std::sync::Arc;

use lsp_types::request::ShowMessageRequest;
use lsp_types::{MessageActionItem, MessageType, ShowMessageRequestParams};

use super::{Session, ShownQuestion};
use crate::kernel::effect::RefusalKind;
use crate::kernel::ids::{QuestionId, RunId};
use crate::kernel::path::RelPath;
use crate::kernel::question::{Answer, Question, QuestionKind, QuestionState};
use crate::lsp::commands;
use crate::lsp::editor::{Asked, Reply};
use crate::lsp::questions;
use crate::lsp::runs;
use crate::lsp::writing;
use crate::protocol::method;
use crate::protocol::question::{OpenedParams, ResolvedParams};
use crate::protocol::run::InterruptedParams;

/// Lines of a question's detail in a message box.
const DETAIL_LINES: usize = 30;

/// The button that opens a document for an answer.
const WRITE: &str = "Write an answer…";
const RESUME: &str = "Resume";
const LATER: &str = "Later";

impl Session {
    pub(super) fn question_opened(self: &Arc<Self>, question: Question) {
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
            let question = question.clone();
            tokio::spawn(async move { session.answered_plainly(question, asked).await });
            Some(id)
        };
        shown
            .questions
            .insert(question.id.clone(), ShownQuestion { question, asked });
    }

    /// In a client that knows nothing of us, a question is a message with buttons.
    fn ask_plainly(self: &Arc<Self>, question: &Question) -> Asked {
        let mut message = questions::text(question, DETAIL_LINES);
        let mut titles: Vec<String> = questions::offers(question)
            .into_iter()
            .map(|offer| offer.title)
            .collect();
        if question.free_text {
            let mut hint = format!(
                "\n(For an answer in your own words execute the command {} with \"{}\" and the words",
                commands::ANSWER,
                question.id
            );
            if self.client.show_document {
                titles.push(WRITE.to_owned());
            }
            if let Some(path) = self.app.answer_file(&question.id) {
                hint.push_str(&format!(", or write it into {} and save", path.display()));
            }
            hint.push_str(".)");
            message.push_str(&hint);
        }
        // The last rung: an editor that shows none of this still saves files, and so does anybody else.
        let (session, question) = (Arc::clone(self), question.clone());
        tokio::spawn(async move {
            if let Err(why) = writing::offer_answer_file(&session, question).await {
                tracing::warn!("failed to offer a file for the answer: {why}");
            }
        });
        self.ask_with_buttons(message, titles.into_iter())
    }

    fn ask_with_buttons(&self, message: String, titles: impl Iterator<Item = String>) -> Asked {
        let button = |title| MessageActionItem {
            title,
            properties: std::collections::HashMap::new(),
        };
        self.editor
            .ask::<ShowMessageRequest>(ShowMessageRequestParams {
                typ: MessageType::INFO,
                message,
                actions: Some(titles.map(button).collect()),
            })
    }

    async fn answered_plainly(self: &Arc<Self>, question: Question, asked: Asked) {
        let title = chosen_title(asked).await;
        if let Some(shown) = self.shown().questions.get_mut(&question.id) {
            shown.asked = None;
        }
        let Some(title) = title else {
            return;
        };
        let mut offers = questions::offers(&question).into_iter();
        match offers.find(|offer| offer.title == title) {
            Some(offer) => {
                self.answer(question.id, offer.answer).await;
            }
            None if title == WRITE => {
                if let Err(why) = writing::open_answer(self, question).await {
                    self.say(MessageType::WARNING, why);
                }
            }
            None => {}
        }
    }

    /// The question as it is open here.
    pub fn open_question(&self, question: &QuestionId) -> Option<Question> {
        let shown = self.shown();
        let found = shown.questions.get(question);
        found.map(|shown| shown.question.clone())
    }

    /// Answers, and tells the user when it was not taken; whether it was.
    pub async fn answer(&self, question: QuestionId, answer: Answer) -> bool {
        let reply = self
            .app
            .answer(question, answer, self.client.client.clone());
        match reply.await {
            Ok(Ok(_)) => true,
            Ok(Err(refusal)) => {
                let kind = match refusal.kind {
                    RefusalKind::AlreadyAnswered => MessageType::INFO,
                    _ => MessageType::WARNING,
                };
                self.say(kind, refusal.message);
                false
            }
            Err(_) => false,
        }
    }

    pub(super) fn question_resolved(
        &self,
        run: &RunId,
        question: &QuestionId,
        state: QuestionState,
    ) {
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

    /// What was there before we listened. What is told twice because of that is shown once.
    pub(super) async fn show_what_is_open(self: &Arc<Self>) {
        let look = self.app.look(|state| {
            let questions = state.questions.values();
            let open = questions.filter(|question| question.state == QuestionState::Open);
            let runs = state.runs.values();
            let parked = runs.filter(|run| run.parked && run.ended.is_none());
            (
                open.cloned().collect::<Vec<_>>(),
                parked.map(|run| run.id.clone()).collect::<Vec<_>>(),
            )
        });
        let (open, parked) = look.await.unwrap_or_default();
        let foreign = self.app.foreign();
        let foreign = foreign.iter().flat_map(|run| run.open_questions());
        for question in open.into_iter().chain(foreign.cloned()) {
            self.question_opened(question);
        }
        for run in parked {
            self.show_parked(&run).await;
        }
    }

    /// A run that an earlier process did not end. An answer to one of its questions takes it up again; without any the
    /// user is asked.
    pub(super) async fn show_parked(self: &Arc<Self>, run: &RunId) {
        if !self.shown().parked.insert(run.clone()) {
            return;
        }
        let wanted = run.clone();
        let app = self.app.clone();
        let look = self.app.look(move |state| {
            let questions = state.questions.values();
            let open = questions
                .filter(|question| question.run == wanted && question.state == QuestionState::Open);
            // It may have been taken up, or cancelled, since.
            let run = state.runs.get(&wanted).filter(|run| run.parked);
            (
                open.cloned().collect::<Vec<_>>(),
                run.map(|run| runs::view(&app, run)),
            )
        });
        let Ok((open, parked)) = look.await else {
            return;
        };
        if let Some(view) = parked {
            if self.client.offer.events {
                let params = InterruptedParams { run: view.clone() };
                self.editor.notify_as(method::RUN_INTERRUPTED, params);
            }
            if open.is_empty() && !self.client.offer.questions {
                let session = Arc::clone(self);
                let run = run.clone();
                tokio::spawn(async move { session.offer_to_resume(run, &view.prompt).await });
            }
        }
        for question in open {
            self.question_opened(question);
        }
    }

    async fn offer_to_resume(&self, run: RunId, prompt: &str) {
        let task = prompt.lines().next().unwrap_or_default();
        let message = format!(
            "Outrigger: a run was interrupted: {task}\n(To take it up later execute the command {} with \"{run}\".)",
            commands::RESUME
        );
        let buttons = [RESUME, LATER].map(str::to_owned).into_iter();
        let asked = self.ask_with_buttons(message, buttons);
        if chosen_title(asked).await.as_deref() == Some(RESUME) {
            let reply = self.app.resume(run, self.client.client.clone());
            if let Ok(Err(refusal)) = reply.await {
                self.say(MessageType::WARNING, refusal.message);
            }
        }
    }
}

/// The button that was chosen, if one was.
async fn chosen_title(asked: Asked) -> Option<String> {
    match asked.reply().await {
        Reply::Answered(item) => item.get("title")?.as_str().map(str::to_owned),
        // Dismissed, not shown, not known: none of these is an answer. What was asked stays open elsewhere.
        Reply::Unanswered | Reply::Refused(_) | Reply::Gone => None,
    }
}

/// The file on which a question shows.
pub(super) fn file_of(question: &Question) -> Option<&RelPath> {
    if let Some(place) = &question.place {
        return Some(&place.path);
    }
    match &question.kind {
        QuestionKind::Overwrite(overwrite) => Some(&overwrite.path),
        QuestionKind::Blocker { .. }
        | QuestionKind::Command { .. }
        | QuestionKind::Uncertain { .. }
        | QuestionKind::Budget { .. }
        | QuestionKind::Plan { .. } => None,
    }
}
