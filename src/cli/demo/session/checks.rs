//! What the demo makes sure of when the run has ended.

use std::fs;
use std::time::Duration;

use anyhow::{Context, ensure};

use super::{Session, Who};
use crate::cli::demo::sample;
use crate::kernel::event::RunOutcome;
use crate::kernel::ids::RunId;
use crate::kernel::run::{Summary, Verification};
use crate::protocol::method;
use crate::protocol::run::{EventsParams, EventsResult, ListParams, ListResult, RunView};

/// How long what belongs to the run's end may take to arrive after it.
const AFTERMATH: Duration = Duration::from_secs(5);

impl Session {
    /// All that must have happened by now, or is just about to arrive.
    pub(super) fn make_sure(
        &mut self,
        outcome: RunOutcome,
        summary: &Summary,
    ) -> anyhow::Result<()> {
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
        let (code, readme) = (sample::CODE, sample::README);
        if self.kept_readme {
            let (typed, saved) = (sample::readme_in_editor(), sample::README_ON_DISK);
            self.make_sure_of(readme, &typed, saved)?;
        } else {
            let saved = self.text(readme);
            self.make_sure_of(readme, &saved, &saved)?;
        }
        let saved = self.text(code);
        self.make_sure_of(code, &saved, &saved)?;
        if self.who == Who::Demo {
            let (code_now, readme_now) = (sample::code_in_the_end(), sample::readme_in_the_end());
            self.make_sure_of(code, &code_now, &code_now)?;
            self.make_sure_of(readme, &readme_now, &readme_now)?;
        }
        Ok(())
    }

    fn text(&self, path: &str) -> String {
        let text = self.editor.text(&self.project.join(path));
        text.unwrap_or_default()
    }

    fn make_sure_of(&self, path: &str, in_editor: &str, on_disk: &str) -> anyhow::Result<()> {
        let text = self.text(path);
        ensure!(
            text == in_editor,
            "{path} in the editor is not what it should be in the end:\n{text}"
        );
        let text = fs::read_to_string(self.project.join(path))
            .with_context(|| format!("failed to read {path}"))?;
        ensure!(
            text == on_disk,
            "{path} on disk is not what it should be in the end:\n{text}"
        );
        Ok(())
    }

    pub(super) fn transcript_of(&mut self, run: &RunId) -> anyhow::Result<RunView> {
        let list: ListResult = self.call(method::RUN_LIST, &ListParams {})?;
        list.runs
            .into_iter()
            .find(|view| view.run_id == *run)
            .with_context(|| format!("the sidecar does not list the run {run}"))
    }

    /// The number of events that the sidecar replays: all that were told live.
    pub(super) fn replay(&mut self, run: &RunId) -> anyhow::Result<u64> {
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
