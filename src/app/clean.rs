//! Cleaning up after runs that failed: what they left behind is taken back, all of them together.

use thiserror::Error;

use super::tasks::TaskError;
use super::{App, EventsError, FileRevert, Undo, UndoError, Undone};
use crate::kernel::event::{RunEvent, RunOutcome};
use crate::kernel::ids::{RunId, TaskId};
use crate::kernel::run::RunStatus;
use crate::kernel::task::{Task, TaskState};
use crate::workspace::revert::EditedSince;

/// Records of a transcript that are read at once.
const PAGE: usize = 1000;

/// After whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    Runs(Vec<RunId>),
    /// All runs of a task that did not succeed; the task then is as if nobody had tried.
    Task(TaskId),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clean {
    pub after: After,
    pub edited_since: EditedSince,
    /// Only look what would be done.
    pub preview: bool,
    /// Who wishes it, for the task's log.
    pub by: String,
}

/// What was cleaned up, or would be.
#[derive(Debug, Clone, PartialEq)]
pub struct Cleaned {
    pub runs: Vec<RunId>,
    /// The task as it stands then; `None` where runs were named.
    pub task: Option<Task>,
    pub undone: Undone,
}

/// Completes "failed to clean up: ".
#[derive(Debug, Error)]
pub enum CleanError {
    #[error("no run is named")]
    NoRuns,
    #[error("run {0} has succeeded; to take back what it did, revert it")]
    Succeeded(RunId),
    #[error("run {0} has not ended; cancel it first")]
    NotOver(RunId),
    #[error("{0}")]
    Events(#[from] EventsError),
    #[error("failed to {0}")]
    Undo(#[from] UndoError),
    #[error("{0}")]
    Task(#[from] TaskError),
}

impl App {
    /// Takes back what runs that did not succeed have left behind. Once begun it is done to its end.
    ///
    /// # Errors
    /// A run is not known, works still, or has succeeded: then nothing is done. What cannot be done to a file is in its
    /// report.
    pub async fn clean(&self, clean: Clean) -> Result<Cleaned, CleanError> {
        let (runs, task) = match clean.after {
            After::Runs(runs) if runs.is_empty() => return Err(CleanError::NoRuns),
            After::Runs(runs) => (runs, None),
            After::Task(id) => {
                let task = self.with_tasks(move |tasks| tasks.one(&id)).await?;
                (without_success(&task), Some(task))
            }
        };
        if let Some(run) = task.as_ref().and_then(Task::run_at_work) {
            return Err(CleanError::NotOver(run.run.clone()));
        }
        for run in &runs {
            match self.outcome(run).await? {
                Some(RunOutcome::Failed | RunOutcome::Cancelled | RunOutcome::Interrupted) => {}
                Some(RunOutcome::Succeeded) => return Err(CleanError::Succeeded(run.clone())),
                None => return Err(CleanError::NotOver(run.clone())),
            }
        }
        let undo = Undo {
            edited_since: clean.edited_since,
            preview: clean.preview,
            ..Undo::all_of(runs.clone())
        };
        let undone = self.undo(undo).await?;
        let task = match task {
            // What is done stays done, whatever was tried before.
            Some(task) if !clean.preview && task.state != TaskState::Done => {
                let (id, why) = (task.id.clone(), in_the_log(&runs, &undone));
                let by = clean.by;
                let reset = self.with_tasks(move |tasks| tasks.reset(&id, &why, &by));
                Some(reset.await?)
            }
            other => other,
        };
        Ok(Cleaned { runs, task, undone })
    }

    /// How a run ended, of this process or another; `None`: it has not.
    async fn outcome(&self, run: &RunId) -> Result<Option<RunOutcome>, EventsError> {
        let mut ended = None;
        let mut after = 0;
        loop {
            let page = self.events(run.clone(), after, PAGE).await?;
            for record in &page.records {
                after = record.seq;
                match &record.event {
                    RunEvent::Ended { outcome, .. } => ended = Some(*outcome),
                    RunEvent::Resumed { .. } => ended = None,
                    _ => {}
                }
            }
            if !page.more || page.records.is_empty() {
                return Ok(ended);
            }
        }
    }
}

fn without_success(task: &Task) -> Vec<RunId> {
    let failed = task.runs.iter().filter(|run| {
        matches!(
            run.status,
            RunStatus::Failed | RunStatus::Cancelled | RunStatus::Interrupted
        )
    });
    failed.map(|run| run.run.clone()).collect()
}

/// For the task's log: what was done about whose files.
fn in_the_log(runs: &[RunId], undone: &Undone) -> String {
    let left = undone
        .files
        .iter()
        .filter(|file| file.failed.is_some() || matches!(file.revert, FileRevert::Left { .. }));
    let left: Vec<&str> = left.map(|file| file.path.as_str()).collect();
    let names: Vec<&str> = runs.iter().map(RunId::as_str).collect();
    let mut text = format!("cleaned up after {}", names.join(", "));
    if names.is_empty() {
        "cleaned up: no run had left anything".clone_into(&mut text);
    }
    if !left.is_empty() {
        text.push_str(&format!("; left as they are: {}", left.join(", ")));
    }
    if let Some(id) = &undone.id {
        text.push_str(&format!("; `outrigger revert {id}` brings it back"));
    }
    text
}
