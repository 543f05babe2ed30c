//! The conversation with the sidecar: what the editor says, what it answers, and what it makes sure of.

mod answers;
mod checks;
mod editor_side;

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::editor::{Editor, file_uri};
use super::sample::{self, Sample};
use super::witness::Witness;
use super::{Event, Interrupted};
use crate::cli::client::{Client, Failure, Incoming};
use crate::cli::output::say;
use crate::cli::view::{self, View};
use crate::cli::words::clean;
use crate::kernel::document::PositionEncoding;
use crate::kernel::event::{CommandPolicy, RunOutcome};
use crate::kernel::ids::RunId;
use crate::kernel::question::Question;
use crate::kernel::run::Summary;
use crate::protocol::capabilities::{ClientOffer, ServerOffer};
use crate::protocol::run::StartResult;
use crate::protocol::{VERSION, method};

/// How long the sidecar may say nothing at all while it is its turn.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long the sidecar may take to leave.
const LEAVING: Duration = Duration::from_secs(5);

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
    /// The answer was to leave the README as it is: then not a byte of it may change.
    kept_readme: bool,
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
            kept_readme: false,
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
        let mut closing = self.view.closing(outcome, &summary);
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
        // The only command is the sample's own tests.
        let params = json!({
            "prompt": sample::PROMPT,
            "model": sample.model,
            "policy": { "commands": CommandPolicy::Allow },
        });
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
            Ok(Event::Interrupted) => bail!(Interrupted),
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
}

fn read<T: DeserializeOwned>(value: &Value) -> anyhow::Result<T> {
    Ok(T::deserialize(value)?)
}
