//! What runs did to files, and taking it back: from the ledger, through the editor where a file is open there.

use std::sync::Arc;

use thiserror::Error;

use super::clock::{new_run_id, wall_ms};
use super::{App, write};
use crate::kernel::diff;
use crate::kernel::file::{FileNow, Overlay, WriteOutcome};
use crate::kernel::hash::ContentHash;
use crate::kernel::ids::{ChangeId, RunId};
use crate::kernel::path::RelPath;
use crate::kernel::question::Hunk;
use crate::workspace::decode;
use crate::workspace::ledger::{Change, ChangeState, Ledger, LedgerError, Why};
use crate::workspace::revert::{EditedSince, FileChange, RevertReport, RevertStep, Selection};

/// What shall be taken back of runs: all of it, or less.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undo {
    /// Taken together, whatever others did in between.
    pub runs: Vec<RunId>,
    /// Only what this step did.
    pub step: Option<String>,
    /// Only these files; empty: all.
    pub paths: Vec<RelPath>,
    /// Only these hunks of the one file in `paths`; empty: all.
    pub hunks: Vec<u32>,
    pub edited_since: EditedSince,
    /// Only look what would be done.
    pub preview: bool,
}

/// Which end of what a run did to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeSide {
    Before,
    After,
}

impl Undo {
    /// All that these runs did, and no more than that.
    pub fn all_of(runs: Vec<RunId>) -> Self {
        Self {
            runs,
            step: None,
            paths: Vec::new(),
            hunks: Vec::new(),
            edited_since: EditedSince::Leave,
            preview: false,
        }
    }
}

/// What was taken back, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// The name under which it is in the ledger, by which it can be taken back itself; `None`: nothing was written.
    pub id: Option<RunId>,
    pub files: Vec<RevertReport>,
}

/// What a run did to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    pub file: FileChange,
    /// The parts that can be taken back alone; empty where others edited in between, or a content is no text.
    pub hunks: Vec<Hunk>,
}

/// Completes "failed to ".
#[derive(Debug, Error)]
pub enum UndoError {
    #[error("find run {0} in this workspace; list the runs with outrigger/run/list")]
    UnknownRun(RunId),
    #[error("find a change of {0} by that run")]
    UnknownFile(RelPath),
    #[error("revert hunks: they are of one file; name it alone in `paths`")]
    HunksOfSeveral,
    #[error("{0}")]
    Ledger(#[from] LedgerError),
    #[error("do it: {0}")]
    Broken(String),
}

impl App {
    /// What a run did to files, by path.
    ///
    /// # Errors
    /// There is no such run, or the ledger cannot be read.
    pub async fn changes(&self, run: RunId) -> Result<Vec<ChangedFile>, UndoError> {
        self.read_ledger(vec![run], |ledger, selection| {
            let files = ledger.file_changes(selection)?.into_iter();
            Ok(files
                .map(|file| ChangedFile {
                    hunks: hunks(ledger, &file.changes),
                    file,
                })
                .collect())
        })
        .await
    }

    /// The text of a file before a run's first change of it, or after its last. `None`: it was not there, or is no text.
    ///
    /// # Errors
    /// As [`Self::changes`]; the run has not changed that file.
    pub async fn changed_text(
        &self,
        run: RunId,
        path: RelPath,
        side: ChangeSide,
    ) -> Result<Option<String>, UndoError> {
        let wanted = path.clone();
        let found = self.read_ledger(vec![run], move |ledger, selection| {
            let selection = Selection {
                path: Some(wanted),
                ..selection.clone()
            };
            let files = ledger.file_changes(&selection)?;
            Ok(files.into_iter().next().map(|file| {
                let hash = match side {
                    ChangeSide::Before => file.before,
                    ChangeSide::After => file.after,
                };
                kept_text(ledger, hash.as_ref())
            }))
        });
        found.await?.ok_or(UndoError::UnknownFile(path))
    }

    /// All that a run did to files, as one patch.
    ///
    /// # Errors
    /// As [`Self::changes`].
    pub async fn diff(&self, run: RunId) -> Result<String, UndoError> {
        self.read_ledger(vec![run], Ledger::patch).await
    }

    /// Takes back what a run did. Once begun it is done to its end, whether or not the caller waits.
    ///
    /// # Errors
    /// There is no such run, or the ledger cannot be read. What cannot be done to a file is in its report.
    pub async fn undo(&self, undo: Undo) -> Result<Undone, UndoError> {
        if !undo.hunks.is_empty() && undo.paths.len() != 1 {
            return Err(UndoError::HunksOfSeveral);
        }
        let app = self.clone();
        let done = tokio::spawn(async move { app.undo_to_its_end(undo).await });
        done.await
            .unwrap_or_else(|error| Err(UndoError::Broken(error.to_string())))
    }

    async fn undo_to_its_end(&self, undo: Undo) -> Result<Undone, UndoError> {
        let overlay = self.overlay().await;
        let preview = undo.preview;
        let (workspace, seen) = (Arc::clone(&self.workspace), Arc::clone(&overlay));
        let steps: Vec<RevertStep> = self
            .read_ledger(undo.runs.clone(), move |ledger, _| {
                let mut steps = Vec::new();
                for selection in selections(undo) {
                    steps.extend(workspace.plan_revert(ledger, &selection, &seen)?);
                }
                Ok(steps)
            })
            .await?;
        if preview || steps.iter().all(|step| step.plan.order.is_none()) {
            let files = steps.into_iter().map(|step| step.report).collect();
            return Ok(Undone { id: None, files });
        }
        let mut why = Why {
            run: new_run_id(),
            change: ChangeId::default(),
            step: None,
            reason: "revert".to_owned(),
            at: wall_ms(),
        };
        let mut files = Vec::with_capacity(steps.len());
        for step in steps {
            why.change = why.change.next();
            why.reason = format!("revert {}", step.plan.path);
            files.push(self.undo_step(step, &why, &overlay).await);
        }
        let wrote = |report: &RevertReport| report.failed.is_none();
        Ok(Undone {
            id: files.iter().any(wrote).then_some(why.run),
            files,
        })
    }

    async fn undo_step(&self, step: RevertStep, why: &Why, overlay: &Overlay) -> RevertReport {
        let document = overlay.get(&step.plan.path).cloned();
        let (Some(order), Some(document)) = (step.plan.order.clone(), document) else {
            return self.undo_on_disk(step, why.clone()).await;
        };
        let mut report = step.report;
        report.failed = match write::in_editor(self, why, order, document).await {
            WriteOutcome::Written { .. } => None,
            WriteOutcome::Changed => {
                Some("it has changed since this was planned; look again".to_owned())
            }
            WriteOutcome::Failed { error } | WriteOutcome::Unknown { error } => Some(error),
        };
        report
    }

    async fn undo_on_disk(&self, step: RevertStep, why: Why) -> RevertReport {
        let (workspace, ledger) = (Arc::clone(&self.workspace), Arc::clone(&self.ledger));
        let mut broken = step.report.clone();
        let done = tokio::task::spawn_blocking(move || {
            let mut reports = workspace.perform_revert(std::slice::from_ref(&step), &ledger, &why);
            reports.pop()
        });
        match done.await {
            Ok(Some(report)) => report,
            Ok(None) => broken,
            Err(error) => {
                broken.failed = Some(error.to_string());
                broken
            }
        }
    }

    async fn overlay(&self) -> Overlay {
        let documents = self.look(|state| Arc::clone(&state.documents));
        documents.await.unwrap_or_default()
    }

    /// Names in the ledger, oldest first: of runs, and of what was taken back.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn recorded(&self) -> Result<Vec<RunId>, LedgerError> {
        let mut names: Vec<RunId> = Vec::new();
        for change in self.ledger.changes()? {
            if !names.contains(&change.run) {
                names.push(change.run);
            }
        }
        Ok(names)
    }

    /// Reads the ledger about runs, with what was left open of them settled.
    async fn read_ledger<T: Send + 'static>(
        &self,
        runs: Vec<RunId>,
        read: impl FnOnce(&Ledger, &Selection) -> Result<T, LedgerError> + Send + 'static,
    ) -> Result<T, UndoError> {
        let overlay = self.overlay().await;
        let wanted = runs.clone();
        let state = self.look(move |state| {
            let works = |run: &RunId| {
                let run = state.runs.get(run)?;
                Some(run.ended.is_none() && !run.parked)
            };
            wanted.iter().map(works).collect::<Vec<_>>()
        });
        let works = state.await.unwrap_or_default();
        let app = self.clone();
        let done = tokio::task::spawn_blocking(move || {
            let all = app.ledger.changes()?;
            for (run, works) in runs.iter().zip(works) {
                let changes = all.iter().filter(|change| change.run == *run);
                let changes: Vec<&Change> = changes.collect();
                let has_transcript = app.transcript(run).is_some_and(|path| path.exists());
                if changes.is_empty() && works.is_none() && !has_transcript {
                    return Err(UndoError::UnknownRun(run.clone()));
                }
                // A change of a run that works may be under way at this moment.
                if works != Some(true) {
                    app.settle_open(&changes, &overlay)?;
                }
            }
            let selection = Selection {
                runs,
                ..Selection::default()
            };
            Ok(read(&app.ledger, &selection)?)
        });
        done.await
            .unwrap_or_else(|error| Err(UndoError::Broken(error.to_string())))
    }

    /// Changes whose end was not seen (the run was stopped in the middle, the editor did not answer) are told by what is
    /// there now, unsaved text included. What is neither stays open.
    fn settle_open(&self, changes: &[&Change], overlay: &Overlay) -> Result<(), LedgerError> {
        for change in changes {
            if change.state != ChangeState::Begun {
                continue;
            }
            let now = self.workspace.inspect(&change.path, overlay);
            if let Some(state) = settled(change, &now) {
                self.ledger
                    .settle((&change.run, change.change), state, wall_ms())?;
            }
        }
        Ok(())
    }
}

fn settled(change: &Change, now: &FileNow) -> Option<ChangeState> {
    if matches!(now, FileNow::Refused { .. }) {
        return None;
    }
    let found = now.hash();
    if found == change.after.as_ref() {
        Some(ChangeState::Made)
    } else if found == change.before.as_ref() {
        Some(ChangeState::NotMade)
    } else {
        None
    }
}

fn selections(undo: Undo) -> Vec<Selection> {
    let all = Selection {
        runs: undo.runs,
        step: undo.step,
        path: None,
        hunks: undo.hunks,
        edited_since: undo.edited_since,
    };
    if undo.paths.is_empty() {
        return vec![all];
    }
    let mut paths = undo.paths;
    paths.sort();
    paths.dedup();
    let only = |path| Selection {
        path: Some(path),
        ..all.clone()
    };
    paths.into_iter().map(only).collect()
}

/// The hunks from before the first change to after the last, if nobody edited in between.
fn hunks(ledger: &Ledger, changes: &[Change]) -> Vec<Hunk> {
    let unbroken = changes
        .windows(2)
        .all(|pair| matches!(pair, [first, second] if first.after == second.before));
    let before = changes
        .first()
        .and_then(|change| kept_text(ledger, change.before.as_ref()));
    let after = changes
        .last()
        .and_then(|change| kept_text(ledger, change.after.as_ref()));
    match (before, after) {
        (Some(before), Some(after)) if unbroken => diff::hunks(&before, &after),
        _ => Vec::new(),
    }
}

fn kept_text(ledger: &Ledger, hash: Option<&ContentHash>) -> Option<String> {
    let bytes = ledger.snapshot(hash?).ok()?;
    decode(&bytes).ok().map(|(text, _)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(text: &str) -> ContentHash {
        ContentHash::of(text.as_bytes())
    }

    #[test]
    fn a_change_that_was_left_open_is_told_by_what_is_there() {
        let change = |before: Option<&str>, after: Option<&str>| Change {
            run: RunId::new("r"),
            change: ChangeId(1),
            step: None,
            reason: String::new(),
            at: 0,
            path: RelPath::parse("é").unwrap(),
            before: before.map(hash),
            after: after.map(hash),
            mode: None,
            folders: 0,
            state: ChangeState::Begun,
        };
        let opaque = |text: &str| FileNow::Opaque {
            hash: Some(hash(text)),
            size: 1,
            reason: String::new(),
        };
        let absent = || FileNow::Absent { nearest: vec![] };
        let refused = || FileNow::Refused {
            reason: String::new(),
        };
        let rows = [
            (Some("a"), Some("b"), opaque("b"), Some(ChangeState::Made)),
            (
                Some("a"),
                Some("b"),
                opaque("a"),
                Some(ChangeState::NotMade),
            ),
            (Some("a"), Some("b"), opaque("c"), None),
            (Some("a"), Some("b"), absent(), None),
            (Some("a"), None, absent(), Some(ChangeState::Made)),
            (None, Some("b"), absent(), Some(ChangeState::NotMade)),
            (None, Some("b"), refused(), None),
        ];
        for (before, after, now, want) in rows {
            assert_eq!(settled(&change(before, after), &now), want, "{now:?}");
        }
    }

    #[test]
    fn each_file_is_selected_once() {
        let path = |text: &str| RelPath::parse(text).unwrap();
        let undo = |paths: &[&str]| Undo {
            step: Some("c1".into()),
            paths: paths.iter().map(|text| path(text)).collect(),
            hunks: vec![1],
            preview: true,
            ..Undo::all_of(vec![RunId::new("r")])
        };
        let all = Selection {
            runs: vec![RunId::new("r")],
            step: Some("c1".into()),
            path: None,
            hunks: vec![1],
            ..Selection::default()
        };
        let only = |text| Selection {
            path: Some(path(text)),
            ..all.clone()
        };
        assert_eq!(selections(undo(&[])), std::slice::from_ref(&all));
        assert_eq!(selections(undo(&["b", "a", "b"])), [only("a"), only("b")]);
    }
}
