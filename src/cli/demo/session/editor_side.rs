//! What the sidecar asks of the editor and tells it.

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::{Session, read};
use crate::cli::client::Failure;
use crate::cli::demo::editor::file_uri;
use crate::cli::demo::sample;
use crate::cli::demo::stage::{Progress, ProgressValue, Published};
use crate::cli::demo::witness::Sight;
use crate::cli::output::say;
use crate::cli::words::headline;
use crate::kernel::event::RunEvent;
use crate::protocol::document::{SaveParams, SaveResult};
use crate::protocol::method;
use crate::protocol::question::{OpenedParams, ResolvedParams};
use crate::protocol::run::EventParams;

const METHOD_NOT_FOUND: i64 = -32601;

impl Session {
    /// A request of the sidecar.
    pub(super) fn asked(
        &mut self,
        name: &str,
        params: &Value,
    ) -> anyhow::Result<Result<Value, Failure>> {
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
    pub(super) fn told(&mut self, name: &str, params: &Value) -> anyhow::Result<()> {
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
        let from = |source: &str| {
            published
                .diagnostics
                .iter()
                .find(|diagnostic| diagnostic.source == source)
        };
        if let Some(question) = from("outrigger")
            && !self.witness.has_seen(Sight::BlockerShown)
        {
            self.witness.saw(Sight::BlockerShown);
            let line = self
                .editor
                .text_at(&published.uri, question.range)
                .unwrap_or_default();
            self.aside(
                "editor",
                &format!(
                    "marks `{}`: {}",
                    headline(&line, 40),
                    headline(&question.message, 60)
                ),
            )?;
        }
        let of_cargo = from("cargo");
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
}
