//! Progress of runs in the editor, and what is said when one ends to a client that does not follow its events.

use std::sync::Arc;
use std::time::Duration;

use lsp_types::notification::Progress as ProgressNote;
use lsp_types::request::WorkDoneProgressCreate;
use lsp_types::{
    MessageType, ProgressParams, ProgressParamsValue, ProgressToken, WorkDoneProgressCreateParams,
};
use tokio::time::sleep;

use super::Session;
use crate::kernel::effect::Progress;
use crate::kernel::event::RunOutcome;
use crate::kernel::ids::RunId;
use crate::kernel::run::Summary;
use crate::lsp::editor::Reply;
use crate::lsp::progress::{self, Created, RunProgress, Step};

impl Session {
    pub(super) fn progressed(self: &Arc<Self>, run: &RunId, progress: Progress) {
        if !self.client.progress {
            return;
        }
        let now = self.now_ms();
        self.with_progress(run, |shown| shown.update(progress, now));
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

    pub(super) fn say_end(&self, outcome: RunOutcome, summary: &Summary) {
        let kind = match outcome {
            RunOutcome::Succeeded | RunOutcome::Cancelled => MessageType::INFO,
            RunOutcome::Failed | RunOutcome::Interrupted => MessageType::WARNING,
        };
        self.say(kind, end_in_words(outcome, summary));
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

fn end_in_words(outcome: RunOutcome, summary: &Summary) -> String {
    let what = match outcome {
        RunOutcome::Succeeded => "done",
        RunOutcome::Failed => "failed",
        RunOutcome::Cancelled => "cancelled",
        RunOutcome::Interrupted => "interrupted",
    };
    let files = match summary.files.len() {
        0 => String::new(),
        1 => ", 1 file changed".to_owned(),
        count => format!(", {count} files changed"),
    };
    let said = summary.text.trim();
    let said = if said.is_empty() {
        String::new()
    } else {
        format!(". {said}")
    };
    format!("Outrigger: {what}{files}{said}")
}
