//! Attending a run from the terminal: tells what happens, asks what it asks, until it ends or has to be left.
//!
//! Promises: a question is answered by a person or not at all; the first Ctrl-C cancels the run in good order, the second
//! leaves at once; whatever way it is left, the run has ended or can be resumed.

mod editor;
pub mod interrupts;
mod status;

use std::collections::VecDeque;
use std::io::{self, BufRead};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinHandle;

use super::ask::{self, Reading};
use super::output::say;
use super::view::{self, View};
use crate::app::{App, Notice};
use crate::kernel::event::{Record, RunEvent, RunOutcome};
use crate::kernel::ids::RunId;
use crate::kernel::question::{Answer, Question, QuestionKind, QuestionState};
use crate::kernel::run::Summary;
use crate::protocol::run::EventParams;
use interrupts::{Interrupt, Interrupts};
use status::Status;

/// Who answers, as the others are told.
pub const BY: &str = "terminal";

/// How a run is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Telling {
    /// For people.
    Lines,
    /// One event a line, as on the wire.
    Json,
}

/// Why nobody attends the run any more.
#[derive(Debug)]
pub enum End {
    Over(RunOutcome, Box<Summary>),
    /// It waits for an answer, and nobody is here to give one.
    Waits(Box<Question>),
    /// Left at once, by a second Ctrl-C.
    Left,
}

pub struct Attendant {
    app: App,
    run: RunId,
    notices: UnboundedReceiver<Notice>,
    telling: Telling,
    view: View,
    status: Status,
    /// Whether a person is here to answer.
    asks: bool,
    questions: VecDeque<Question>,
    /// The question that stands on the terminal.
    asked: Option<Question>,
    line: Option<JoinHandle<io::Result<String>>>,
    interrupts: Interrupts,
    is_stopping: bool,
}

impl Attendant {
    /// `notices` must be subscribed to before the run is started or resumed.
    ///
    /// # Errors
    /// The system does not let us listen for Ctrl-C.
    pub fn new(
        app: App,
        run: RunId,
        notices: UnboundedReceiver<Notice>,
        telling: Telling,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            app,
            run,
            notices,
            telling,
            view: View::default(),
            status: Status::new(telling == Telling::Lines),
            asks: false,
            questions: VecDeque::new(),
            asked: None,
            line: None,
            interrupts: Interrupts::listen().context("failed to listen for Ctrl-C")?,
            is_stopping: false,
        })
    }

    /// A person is here to answer.
    #[must_use]
    pub fn with_a_person(mut self) -> Self {
        self.asks = true;
        self
    }

    /// For a run that an earlier process left: what has been told of it, and what it asks.
    ///
    /// # Errors
    /// Its transcript cannot be read.
    pub async fn with_past(mut self, questions: Vec<Question>) -> anyhow::Result<Self> {
        let past = self.app.events(self.run.clone(), 0, usize::MAX).await?;
        for record in &past.records {
            // Told already; the view learns the names of things from it.
            self.view.tell(record);
            self.status.learn(&record.event);
        }
        self.questions.extend(questions);
        Ok(self)
    }

    pub async fn attend(mut self) -> anyhow::Result<End> {
        let mut ticks = tokio::time::interval(Duration::from_secs(1));
        loop {
            if let Some(end) = self.ask_next()? {
                self.leave().await;
                return Ok(end);
            }
            tokio::select! {
                notice = self.notices.recv() => {
                    let Some(notice) = notice else { bail!("the run is no longer worked on") };
                    if let Some(end) = self.notice(notice)? {
                        self.leave().await;
                        return Ok(end);
                    }
                }
                line = next_line(&mut self.line), if self.asked.is_some() => self.typed(&line?).await?,
                interrupt = self.interrupts.next() => {
                    if self.is_stopping || interrupt == Interrupt::Leave {
                        self.leave().await;
                        return Ok(End::Left);
                    }
                    self.is_stopping = true;
                    self.tell_aside("cancelling; once more to leave at once")?;
                    // Its end comes as an event.
                    drop(self.app.cancel(self.run.clone(), BY));
                }
                // Not over a prompt and what is being typed there.
                _ = ticks.tick(), if self.asked.is_none() => self.status.draw(),
            }
        }
    }

    async fn leave(&self) {
        self.status.clear();
        self.app.park().await;
    }

    fn tell_aside(&self, text: &str) -> io::Result<()> {
        self.status.clear();
        match self.telling {
            Telling::Lines => say(&view::aside("", text)),
            Telling::Json => Ok(()),
        }
    }

    fn notice(&mut self, notice: Notice) -> anyhow::Result<Option<End>> {
        match notice {
            Notice::Recorded { run, record } if run == self.run => self.recorded(&record),
            Notice::Progress { run, progress } if run == self.run => {
                self.status.set(&progress);
                if self.asked.is_none() {
                    self.status.draw();
                }
                Ok(None)
            }
            Notice::Recorded { .. }
            | Notice::Progress { .. }
            | Notice::Findings { .. }
            | Notice::Parked { .. }
            | Notice::Edit(_) => Ok(None),
        }
    }

    fn recorded(&mut self, record: &Arc<Record>) -> anyhow::Result<Option<End>> {
        self.tell(record)?;
        self.status.learn(&record.event);
        match &record.event {
            RunEvent::QuestionOpened { question } => self.questions.push_back(question.clone()),
            RunEvent::QuestionAnswered { question, .. }
            | RunEvent::QuestionWithdrawn { question, .. } => {
                self.questions.retain(|open| open.id != *question);
                if self
                    .asked
                    .as_ref()
                    .is_some_and(|asked| asked.id == *question)
                {
                    self.asked = None;
                }
            }
            RunEvent::Ended { outcome, summary } => {
                return Ok(Some(End::Over(*outcome, Box::new(summary.clone()))));
            }
            _ => {}
        }
        Ok(None)
    }

    fn tell(&mut self, record: &Arc<Record>) -> anyhow::Result<()> {
        let text = match self.telling {
            Telling::Lines => {
                let mut text = self.view.tell(record);
                if let RunEvent::Ended { outcome, summary } = &record.event {
                    text.push_str(&self.view.closing(*outcome, summary));
                    if let Some(path) = self.app.transcript(&self.run) {
                        text.push_str(&view::told_row("transcript", &path.display().to_string()));
                    }
                }
                text
            }
            Telling::Json => json_line(&self.run, record)?,
        };
        if !text.is_empty() {
            self.status.clear();
            say(&text).context("failed to write to standard output")?;
        }
        Ok(())
    }

    /// Puts the next question to the person. Without one here, that is where the run is left.
    fn ask_next(&mut self) -> anyhow::Result<Option<End>> {
        if self.asked.is_some() || self.is_stopping {
            return Ok(None);
        }
        let Some(question) = self.questions.pop_front() else {
            return Ok(None);
        };
        if !self.asks {
            return Ok(Some(End::Waits(Box::new(question))));
        }
        self.status.clear();
        say(&format!(
            "{}{}",
            ask::menu(&question),
            menu_of_editor(&question)
        ))?;
        say(PROMPT)?;
        self.asked = Some(question);
        Ok(None)
    }

    async fn typed(&mut self, line: &str) -> anyhow::Result<()> {
        let Some(question) = &self.asked else {
            return Ok(());
        };
        if line.is_empty() {
            // The terminal was closed: nobody is here any more.
            self.asks = false;
            self.questions.extend(self.asked.take());
            return Ok(());
        }
        let reading = match (&question.kind, line.trim()) {
            (QuestionKind::Overwrite(overwrite), "e") => {
                let text = overwrite.texts.proposed.clone().unwrap_or_default();
                edited(overwrite.path.name(), &text).await
            }
            (QuestionKind::Plan { document, .. }, "e") => edited("plan.md", document).await,
            _ => ask::read(question, line),
        };
        let answer = match reading {
            Reading::Answer(answer) => answer,
            Reading::Again(why) => return Ok(say(&format!("  {why}\n{PROMPT}"))?),
        };
        let reply = self.app.answer(question.id.clone(), answer, BY).await;
        match reply.context("the run is no longer worked on")? {
            Ok(_) => self.asked = None,
            Err(refusal) => say(&format!("  {}\n{PROMPT}", refusal.message))?,
        }
        Ok(())
    }
}

/// Where a person types.
pub const PROMPT: &str = "  > ";

/// What can be typed about an overwrite because there is an editor.
pub fn menu_of_editor(question: &Question) -> String {
    match question.kind {
        QuestionKind::Overwrite(_) => {
            ask::row("e", "edit the agent's version and take that", "in $EDITOR")
        }
        QuestionKind::Plan { .. } => ask::row("e", "edit the plan and follow that", "in $EDITOR"),
        _ => String::new(),
    }
}

/// What a person makes of a text in their editor.
pub async fn edited(name: &str, text: &str) -> Reading {
    let (name, text) = (name.to_owned(), text.to_owned());
    let edited = tokio::task::spawn_blocking(move || editor::edit(&name, &text)).await;
    match edited {
        Ok(Ok(text)) => Reading::Answer(Answer::TakeText { text }),
        Ok(Err(error)) => Reading::Again(format!("{error:#}")),
        Err(error) => Reading::Again(error.to_string()),
    }
}

/// A line from the terminal, read beside everything else; a line that is being read stays so over several calls. Empty:
/// there will be no more.
async fn next_line(reading: &mut Option<JoinHandle<io::Result<String>>>) -> anyhow::Result<String> {
    let task = reading.get_or_insert_with(|| {
        tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            io::stdin().lock().read_line(&mut line)?;
            Ok(line)
        })
    });
    let line = task.await;
    *reading = None;
    line.context("failed to read from the terminal")?
        .context("failed to read from the terminal")
}

/// As `outrigger/run/event` has it.
pub fn json_line(run: &RunId, record: &Record) -> anyhow::Result<String> {
    let params = EventParams {
        run_id: run.clone(),
        record: record.clone(),
    };
    let mut line = serde_json::to_string(&params).context("failed to write an event as JSON")?;
    line.push('\n');
    Ok(line)
}

/// Open questions of a run, oldest first.
pub async fn open_questions(app: &App, run: &RunId) -> anyhow::Result<Vec<Question>> {
    let run = run.clone();
    let looked = app.look(move |state| {
        let mut open: Vec<Question> = state
            .questions
            .values()
            .filter(|question| question.run == run && question.state == QuestionState::Open)
            .cloned()
            .collect();
        open.sort_by_key(|question| question.opened_at);
        open
    });
    looked.await.context("the workspace is no longer open")
}
