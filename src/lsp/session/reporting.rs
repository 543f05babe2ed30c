//! Progress of runs in the editor, and what is said when one ends to a client that does not follow its events.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use lsp_types::notification::Progress as ProgressNote;
use lsp_types::request::WorkDoneProgressCreate;
use lsp_types::{
    MessageType, ProgressParams, ProgressParamsValue, ProgressToken, WorkDoneProgressCreateParams,
};
use tokio::time::{sleep, timeout};

use super::Session;
use crate::kernel::effect::Progress;
use crate::kernel::event::RunOutcome;
use crate::kernel::ids::RunId;
use crate::kernel::run::Summary;
use crate::lsp::editor::Reply;
use crate::lsp::progress::{self, Created, RunProgress, Step};

/// How long the end of the server waits for a look at what its runs came to.
const LOOK_BEFORE_END: Duration = Duration::from_millis(20);

impl Session {
    pub(super) fn progressed(self: &Arc<Self>, run: &RunId, progress: Progress) {
        if !self.client.progress {
            return;
        }
        let now = self.now_ms();
        self.with_progress(run, |shown| shown.update(progress, now));
    }

    /// Ends every progress: the server is about to. What ended before, without the editor having heard of it yet, is told
    /// as what it came to.
    pub async fn abandon_progress(self: &Arc<Self>) {
        let look = self.app.look(|state| {
            let runs = state.runs.values();
            let ended = runs.filter_map(|run| Some((run.id.clone(), run.ended.clone()?)));
            ended.collect::<BTreeMap<RunId, _>>()
        });
        // Who asks us to leave does not wait long.
        let look = timeout(LOOK_BEFORE_END, look).await;
        let ended = look.ok().and_then(Result::ok).unwrap_or_default();
        let mut shown = self.shown();
        shown.is_closing = true;
        let progress = std::mem::take(&mut shown.progress);
        for (run, mut progress) in progress {
            let word = match ended.get(&run) {
                Some((outcome, summary)) => end_in_words(*outcome, summary),
                None => "parked; it can be resumed".to_owned(),
            };
            for step in progress.abandon(&word) {
                self.perform(&run, step);
            }
        }
    }

    fn with_progress(
        self: &Arc<Self>,
        run: &RunId,
        act: impl FnOnce(&mut RunProgress) -> Vec<Step>,
    ) {
        let mut shown = self.shown();
        if shown.is_closing {
            // What would begin now would have no end.
            return;
        }
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
