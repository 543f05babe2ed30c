//! The conversation with the sidecar: what the editor says, what it answers, and what it makes sure of.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::editor::{Editor, file_uri};
use super::sample::{self, Sample};
use super::stage::{Progress, ProgressValue, Published};
use super::witness::{Sight, Witness};
use super::{Event, say};
use crate::cli::ask::{self, Reading};
use crate::cli::client::{Client, Failure, Incoming};
use crate::cli::view::{self, View};
use crate::cli::words::{clean, headline};
use crate::kernel::document::PositionEncoding;
use crate::kernel::event::{Budget, CommandPolicy, Engine, Policy, RunEvent, RunOutcome};
use crate::kernel::ids::RunId;
use crate::kernel::policy::stall::StallPolicy;
use crate::kernel::question::{Answer, Question, QuestionKind};
use crate::kernel::run::{Summary, Verification};
use crate::protocol::capabilities::{ClientOffer, ServerOffer};
use crate::protocol::document::{ReadParams, ReadResult, SaveParams, SaveResult};
use crate::protocol::question::{AnswerParams, OpenedParams, ResolvedParams};
use crate::protocol::run::{
    EventParams, EventsParams, EventsResult, ListParams, ListResult, RunView, StartParams,
    StartResult,
};
use crate::protocol::{VERSION, method};

/// How long the sidecar may say nothing at all while it is its turn.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long what belongs to the run's end may take to arrive after it.
const AFTERMATH: Duration = Duration::from_secs(5);
/// How long the sidecar may take to leave.
const LEAVING: Duration = Duration::from_secs(5);

const METHOD_NOT_FOUND: i64 = -32601;

/// Who answers the questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Demo,
    Person,
}

pub struct Session {
    client: Client,
    inbox: Receiver<Event>,
    who: Who,
    editor: Editor,
    project: PathBuf,
    view: View,
    witness: Witness,
    questions: VecDeque<Question>,
    typed: VecDeque<Option<String>>,
    replies: HashMap<u64, Result<Value, Failure>>,
    last_seq: u64,
    last_progress: String,
    end: Option<(RunOutcome, Summary)>,
}

impl Session {
    pub fn new(client: Client, inbox: Receiver<Event>, who: Who) -> Self {
        Self {
            client,
            inbox,
            who,
            editor: Editor::new(PositionEncoding::Utf16),
            project: PathBuf::new(),
            view: View::default(),
            witness: Witness::default(),
            questions: VecDeque::new(),
            typed: VecDeque::new(),
            replies: HashMap::new(),
            last_seq: 0,
            last_progress: String::new(),
            end: None,
        }
    }

    /// Plays the demo up to the end of the run, and makes sure of what must have happened. Gives the closing lines.
    pub fn play(&mut self, sample: &Sample) -> anyhow::Result<(RunOutcome, String)> {
        self.project.clone_from(&sample.project);
        self.initialize()?;
        self.open_documents()?;
        let run = self.start(sample)?;
        while self.end.is_none() {
            match self.questions.pop_front() {
                Some(question) => self.settle(&question)?,
                None => self.step(Some(PATIENCE))?,
            }
        }
        let Some((outcome, summary)) = self.end.clone() else {
            bail!("the run has no end");
        };
        let run_view = self.transcript_of(&run)?;
        if outcome != RunOutcome::Cancelled {
            self.make_sure(outcome, &summary)?;
        }
        let records = self.replay(&run)?;
        let transcript = fs::read_to_string(&run_view.transcript)
            .with_context(|| format!("failed to read the transcript {}", run_view.transcript))?;
        let lines = transcript.lines().count() as u64;
        ensure!(
            lines == records,
            "the transcript has {lines} lines, but {records} events were told"
        );
        let mut closing = view::closing(outcome, &summary);
        closing.push_str(&view::told_row(
            "transcript",
            &format!("{} ({lines} records)", run_view.transcript),
        ));
        Ok((outcome, closing))
    }

    pub fn last_words(&self) -> String {
        self.client.last_words()
    }

    /// Takes leave of the sidecar as an editor does.
    pub fn end(mut self) -> anyhow::Result<()> {
        let left = self.take_leave();
        let status = self
            .client
            .end(LEAVING)
            .context("failed to wait for the sidecar")?;
        left?;
        match status {
            None => bail!(
                "the sidecar did not end within {} s after `exit`",
                LEAVING.as_secs()
            ),
            Some(status) => ensure!(status.success(), "the sidecar ended with {status}"),
        }
        Ok(())
    }

    fn take_leave(&mut self) -> anyhow::Result<()> {
        self.call::<_, Value>("shutdown", &Value::Null)?;
        self.client
            .notify("exit", &Value::Null)
            .context("failed to say goodbye to the sidecar")
    }

    fn initialize(&mut self) -> anyhow::Result<()> {
        let offer = ClientOffer {
            version: VERSION,
            events: true,
            questions: true,
            save: true,
        };
        let root = file_uri(&self.project);
        let name = self
            .project
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let result: Value = self.call(
            "initialize",
            &json!({
                "processId": std::process::id(),
                "clientInfo": { "name": "outrigger demo", "version": env!("CARGO_PKG_VERSION") },
                "rootUri": root,
                "workspaceFolders": [{ "uri": root, "name": name }],
                "capabilities": {
                    "general": { "positionEncodings": ["utf-8", "utf-16"] },
                    "window": { "workDoneProgress": true },
                    "workspace": { "applyEdit": true, "workspaceEdit": { "documentChanges": true } },
                    "textDocument": {
                        "synchronization": { "didSave": true },
                        "publishDiagnostics": { "relatedInformation": true, "codeDescriptionSupport": true },
                    },
                    "experimental": { "outrigger": offer },
                },
            }),
        )?;
        let capabilities = &result["capabilities"];
        self.editor.encoding = match capabilities["positionEncoding"].as_str() {
            Some("utf-8") => PositionEncoding::Utf8,
            None | Some("utf-16") => PositionEncoding::Utf16,
            Some(other) => bail!("the sidecar counts columns in {other}, which was not offered"),
        };
        let offered: ServerOffer = read(&capabilities["experimental"]["outrigger"])
            .context("failed to read what the sidecar offers in its answer to initialize")?;
        for wanted in [
            method::RUN_START,
            method::RUN_LIST,
            method::RUN_EVENTS,
            method::QUESTION_ANSWER,
            method::DOCUMENT_READ,
        ] {
            ensure!(
                offered.methods.iter().any(|method| method == wanted),
                "the sidecar does not offer {wanted}"
            );
        }
        self.notify("initialized", &json!({}))?;
        let server = &result["serverInfo"];
        self.aside(
            "editor",
            &format!(
                "connected to {} {}",
                server["name"].as_str().unwrap_or("an unnamed server"),
                server["version"].as_str().unwrap_or_default()
            ),
        )
    }

    fn open_documents(&mut self) -> anyhow::Result<()> {
        let documents = [
            (sample::CODE, "rust", sample::code_in_editor()),
            (sample::README, "markdown", sample::readme_in_editor()),
        ];
        for (path, language, text) in documents {
            let opened = self.editor.open(&self.project.join(path), language, &text);
            self.notify("textDocument/didOpen", &opened)?;
            self.aside(
                "editor",
                &format!("opens {path} with a line that is not saved"),
            )?;
        }
        Ok(())
    }

    fn start(&mut self, sample: &Sample) -> anyhow::Result<RunId> {
        let params = StartParams {
            prompt: sample::PROMPT.to_owned(),
            engine: Engine::default(),
            model: Some(format!("scripted:{}", sample.script.display())),
            policy: Policy {
                // The only command is the sample's own tests.
                commands: CommandPolicy::Allow,
                ..Policy::default()
            },
            budget: Budget::default(),
            fallback_model: None,
            stall: StallPolicy::default(),
        };
        let started: StartResult = self.call(method::RUN_START, &params)?;
        Ok(started.run_id)
    }

    /// Sends a request and goes on with all else until its reply is there.
    fn call<P: Serialize, R: DeserializeOwned>(
        &mut self,
        name: &str,
        params: &P,
    ) -> anyhow::Result<R> {
        let params =
            serde_json::to_value(params).with_context(|| format!("failed to write {name}"))?;
        let id = self.client.request(name, &params).with_context(|| {
            format!("failed to send {name}: the sidecar does not read any more")
        })?;
        loop {
            if let Some(outcome) = self.replies.remove(&id) {
                let result = outcome.with_context(|| format!("the sidecar refused {name}"))?;
                return read(&result)
                    .with_context(|| format!("failed to read the reply to {name}"));
            }
            self.step(Some(PATIENCE))?;
        }
    }

    fn notify(&mut self, name: &str, params: &Value) -> anyhow::Result<()> {
        self.client
            .notify(name, params)
            .with_context(|| format!("failed to send {name}: the sidecar does not read any more"))
    }

    fn aside(&self, label: &str, text: &str) -> anyhow::Result<()> {
        Ok(say(&view::aside(label, &clean(text)))?)
    }

    /// Waits for the next event and deals with it. Without patience, as long as it takes.
    fn step(&mut self, patience: Option<Duration>) -> anyhow::Result<()> {
        let event = match patience {
            None => self
                .inbox
                .recv()
                .map_err(|_| RecvTimeoutError::Disconnected),
            Some(patience) => self.inbox.recv_timeout(patience),
        };
        match event {
            Ok(Event::Server(incoming)) => self.incoming(incoming),
            Ok(Event::Typed(line)) => {
                self.typed.push_back(line);
                Ok(())
            }
            Ok(Event::Interrupted) => bail!("interrupted"),
            Err(RecvTimeoutError::Timeout) => bail!(
                "the sidecar has said nothing for {} s; the demo still waits for {}",
                patience.unwrap_or_default().as_secs(),
                self.witness.missing().first().unwrap_or(&"a reply")
            ),
            Err(RecvTimeoutError::Disconnected) => bail!("nobody is left to listen to"),
        }
    }

    fn incoming(&mut self, incoming: Incoming) -> anyhow::Result<()> {
        match incoming {
            Incoming::Reply { id, outcome } => {
                self.replies.insert(id, outcome);
                Ok(())
            }
            Incoming::Request { id, method, params } => {
                let outcome = self.asked(&method, &params)?;
                self.client
                    .reply(&id, outcome)
                    .with_context(|| format!("failed to answer {method}"))
            }
            Incoming::Notification { method, params } => self.told(&method, &params),
            Incoming::Gone { reason: None } => bail!("the sidecar ended in the middle of the demo"),
            Incoming::Gone { reason: Some(why) } => {
                bail!("the sidecar cannot be understood: {why}")
            }
        }
    }

    /// A request of the sidecar.
    fn asked(&mut self, name: &str, params: &Value) -> anyhow::Result<Result<Value, Failure>> {
        match name {
            "workspace/applyEdit" => self.apply_edit(params).map(Ok),
            method::DOCUMENT_SAVE => {
                let params: SaveParams =
                    read(params).context("failed to read what is to be saved")?;
                self.save(&params).map(Ok)
            }
            "window/workDoneProgress/create" | "client/registerCapability" => Ok(Ok(Value::Null)),
            _ => Ok(Err(Failure {
                code: METHOD_NOT_FOUND,
                message: format!("the demo knows no {name}"),
            })),
        }
    }

    fn apply_edit(&mut self, params: &Value) -> anyhow::Result<Value> {
        let edited = match self.editor.apply(params) {
            Ok(edited) => edited,
            Err(why) => {
                self.aside("editor", &format!("refuses an edit: {why}"))?;
                return Ok(json!({ "applied": false, "failureReason": why }));
            }
        };
        self.witness.saw(Sight::EditThroughEditor);
        for edited in edited {
            self.notify("textDocument/didChange", &edited.did_change)?;
            let path = self.relative(&edited.path);
            self.aside(
                "editor",
                &format!("applies an edit to {path}, now version {}", edited.version),
            )?;
        }
        Ok(json!({ "applied": true }))
    }

    fn save(&mut self, params: &SaveParams) -> anyhow::Result<Value> {
        let result = match self.editor.save(&params.uri) {
            Ok(path) => {
                self.witness.saw(Sight::SaveOnRequest);
                self.notify(
                    "textDocument/didSave",
                    &json!({ "textDocument": { "uri": params.uri } }),
                )?;
                self.aside("editor", &format!("saves {}", self.relative(&path)))?;
                SaveResult {
                    saved: true,
                    error: None,
                }
            }
            Err(error) => SaveResult {
                saved: false,
                error: Some(error.to_string()),
            },
        };
        Ok(serde_json::to_value(result)?)
    }

    fn relative(&self, path: &std::path::Path) -> String {
        path.strip_prefix(&self.project)
            .unwrap_or(path)
            .display()
            .to_string()
    }

    /// A notification of the sidecar.
    fn told(&mut self, name: &str, params: &Value) -> anyhow::Result<()> {
        match name {
            method::RUN_EVENT => {
                let params: EventParams = read(params).context("failed to read a run's event")?;
                self.event(params)
            }
            method::QUESTION_OPENED => {
                let params: OpenedParams = read(params).context("failed to read a question")?;
                self.questions.push_back(params.question);
                Ok(())
            }
            method::QUESTION_RESOLVED => {
                let params: ResolvedParams =
                    read(params).context("failed to read a question's end")?;
                self.questions
                    .retain(|question| question.id != params.question_id);
                Ok(())
            }
            "textDocument/publishDiagnostics" => {
                let published: Published = read(params).context("failed to read diagnostics")?;
                self.diagnostics(&published)
            }
            "$/progress" => {
                let progress: Progress = read(params).context("failed to read progress")?;
                self.progress(progress)
            }
            "window/showMessage" => {
                self.aside("message", params["message"].as_str().unwrap_or_default())
            }
            _ => Ok(()),
        }
    }

    fn event(&mut self, params: EventParams) -> anyhow::Result<()> {
        let record = params.record;
        ensure!(
            record.seq == self.last_seq + 1,
            "event {} followed event {}: the numbers have a gap",
            record.seq,
            self.last_seq
        );
        self.last_seq = record.seq;
        self.witness.event(&record.event);
        say(&self.view.tell(&record))?;
        if let RunEvent::Ended { outcome, summary } = record.event {
            self.end = Some((outcome, summary));
        }
        Ok(())
    }

    fn diagnostics(&mut self, published: &Published) -> anyhow::Result<()> {
        if published.uri != file_uri(&self.project.join(sample::CODE)) {
            return Ok(());
        }
        let of_cargo = published
            .diagnostics
            .iter()
            .find(|diagnostic| diagnostic.source == "cargo");
        match of_cargo {
            Some(diagnostic) => {
                let marked = self
                    .editor
                    .text_at(&published.uri, diagnostic.range)
                    .unwrap_or_default();
                let code = diagnostic.code.as_str().unwrap_or_default();
                if code == "E0308" && marked.contains("('h', 3600)") {
                    self.witness.saw(Sight::Squiggle);
                }
                let said = headline(&diagnostic.message, 80);
                self.aside(
                    "editor",
                    &format!("underlines `{}`: {code} {said}", headline(&marked, 60)),
                )
            }
            None if self.witness.has_seen(Sight::Squiggle)
                && !self.witness.has_seen(Sight::SquiggleCleared) =>
            {
                self.witness.saw(Sight::SquiggleCleared);
                self.aside("editor", "underlines nothing any more")
            }
            None => Ok(()),
        }
    }

    fn progress(&mut self, progress: Progress) -> anyhow::Result<()> {
        ensure!(!progress.token.is_null(), "progress came without a token");
        let shown = match progress.value {
            ProgressValue::Begin(shown) => {
                self.witness.saw(Sight::ProgressBegin);
                shown.line()
            }
            ProgressValue::Report(shown) => {
                self.witness.saw(Sight::ProgressReport);
                shown.line()
            }
            ProgressValue::End {} => {
                self.witness.saw(Sight::ProgressEnd);
                Some("done".to_owned())
            }
        };
        match shown {
            Some(line) if line != self.last_progress => {
                let line_now = headline(&line, 100);
                self.last_progress = line;
                self.aside("progress", &line_now)
            }
            _ => Ok(()),
        }
    }

    fn settle(&mut self, question: &Question) -> anyhow::Result<()> {
        if let QuestionKind::Overwrite(overwrite) = &question.kind {
            let current: ReadResult = self.call(
                method::DOCUMENT_READ,
                &ReadParams {
                    uri: format!("outrigger:/question/{}/current", question.id),
                },
            )?;
            let ours = self
                .editor
                .text(&self.project.join(overwrite.path.as_str()));
            ensure!(
                ours.as_deref() == Some(current.text.as_str()),
                "the question about {} does not show what is in the editor",
                overwrite.path
            );
        }
        let (answer, by) = match self.who {
            Who::Demo => (automatic(question)?, "the demo"),
            Who::Person => (self.ask(question)?, "you"),
        };
        let params = AnswerParams {
            question_id: question.id.clone(),
            answer,
            by: Some(by.to_owned()),
        };
        self.call::<_, Value>(method::QUESTION_ANSWER, &params)?;
        Ok(())
    }

    /// Asks the person until there is an answer.
    fn ask(&mut self, question: &Question) -> anyhow::Result<Answer> {
        say(&ask::menu(question))?;
        loop {
            prompt()?;
            while self.typed.is_empty() {
                self.step(None)?;
            }
            let Some(Some(line)) = self.typed.pop_front() else {
                bail!(
                    "no answer came: standard input has ended; without --interactive the demo answers by itself"
                );
            };
            match ask::read(question, &line) {
                Reading::Answer(answer) => return Ok(answer),
                Reading::Again(why) => say(&format!("  {why}\n"))?,
            }
        }
    }

    /// All that must have happened by now, or is just about to arrive.
    fn make_sure(&mut self, outcome: RunOutcome, summary: &Summary) -> anyhow::Result<()> {
        ensure!(
            outcome == RunOutcome::Succeeded,
            "the run did not succeed: {}",
            summary.text
        );
        while !self.witness.missing().is_empty() {
            if let Err(error) = self.step(Some(AFTERMATH)) {
                return Err(error.context(format!(
                    "the demo did not see {}",
                    self.witness.missing().join(", ")
                )));
            }
        }
        ensure!(
            summary.verification == Verification::Passed,
            "the run ended without its work being verified"
        );
        let expected = [
            (sample::CODE, sample::code_in_the_end()),
            (sample::README, sample::readme_in_the_end()),
        ];
        for (path, text) in expected {
            let in_editor = self
                .editor
                .text(&self.project.join(path))
                .unwrap_or_default();
            let on_disk = fs::read_to_string(self.project.join(path))
                .with_context(|| format!("failed to read {path}"))?;
            ensure!(
                in_editor == on_disk,
                "{path} in the editor is not what is on disk"
            );
            ensure!(
                self.who == Who::Person || in_editor == text,
                "{path} is not what it should be in the end:\n{in_editor}"
            );
        }
        Ok(())
    }

    fn transcript_of(&mut self, run: &RunId) -> anyhow::Result<RunView> {
        let list: ListResult = self.call(method::RUN_LIST, &ListParams {})?;
        list.runs
            .into_iter()
            .find(|view| view.run_id == *run)
            .with_context(|| format!("the sidecar does not list the run {run}"))
    }

    /// The number of events that the sidecar replays: all that were told live.
    fn replay(&mut self, run: &RunId) -> anyhow::Result<u64> {
        let params = EventsParams {
            run_id: run.clone(),
            after_seq: 0,
            limit: 100_000,
        };
        let replayed: EventsResult = self.call(method::RUN_EVENTS, &params)?;
        ensure!(
            replayed.problems.is_empty(),
            "the transcript has problems: {}",
            replayed.problems.join("; ")
        );
        let last = replayed.records.last().map_or(0, |record| record.seq);
        ensure!(
            last == self.last_seq,
            "{last} events are replayed, but {} were told live",
            self.last_seq
        );
        Ok(last)
    }
}

/// The demo's own answers: the new row of the README and not the line over the one being typed; hours are enough.
fn automatic(question: &Question) -> anyhow::Result<Answer> {
    match &question.kind {
        QuestionKind::Overwrite(overwrite) => {
            let keeps_typed_line =
                |removed: &[String]| !removed.iter().any(|line| line == sample::TYPED_README);
            let hunks: Vec<u32> = overwrite
                .hunks
                .iter()
                .filter(|hunk| keeps_typed_line(&hunk.removed))
                .map(|hunk| hunk.id)
                .collect();
            ensure!(
                overwrite.hunks.len() == 2 && hunks.len() == 1,
                "the question about {} has {} changes, of which {} leave the typed line alone; there should be 2 and 1",
                overwrite.path,
                overwrite.hunks.len(),
                hunks.len()
            );
            Ok(Answer::TakeHunks { hunks })
        }
        QuestionKind::Blocker { .. } => question
            .choices
            .iter()
            .find(|choice| choice.label.starts_with("No"))
            .map(|choice| Answer::Choice {
                choice: choice.id.clone(),
            })
            .with_context(|| {
                format!(
                    "the demo has no answer to `{}`: {}",
                    question.title, question.detail
                )
            }),
        QuestionKind::Command { .. }
        | QuestionKind::Uncertain { .. }
        | QuestionKind::Budget { .. } => {
            bail!("the demo did not expect the question `{}`", question.title)
        }
    }
}

fn prompt() -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    write!(out, "  > ")?;
    out.flush()?;
    Ok(())
}

fn read<T: DeserializeOwned>(value: &Value) -> anyhow::Result<T> {
    Ok(T::deserialize(value)?)
}
