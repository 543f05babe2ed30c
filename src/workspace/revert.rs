//! Undoing what runs did to files, and cleaning up after runs that failed.
//!
//! [`plan`] decides from contents alone; here the contents are brought together and the plan is performed. Only files in
//! the ledger are touched, never git's index or HEAD, and each undoing is recorded like any other change, so that it can
//! be undone itself.

mod plan;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Workspace;
use super::ledger::{Change, ChangeState, Ledger, LedgerError, Why};
use super::text::decode;
use crate::kernel::diff::unified;
use crate::kernel::file::{FileNow, NewContent, Overlay, WriteOutcome};
use crate::kernel::hash::ContentHash;
use crate::kernel::ids::{ChangeId, RunId};
use crate::kernel::path::RelPath;

pub use plan::{FilePlan, FileRevert, LeftWhy, Side, Sides, plan, plan_hunks, plan_overruling};

/// Which changes are meant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// One run, or all failed runs of a task.
    pub runs: Vec<RunId>,
    /// Only this step's.
    pub step: Option<String>,
    /// Only this file's.
    pub path: Option<RelPath>,
    /// Only these hunks of that file; empty: all of it. Names as in [`FileChange`]'s patch, from 0.
    pub hunks: Vec<u32>,
    pub edited_since: EditedSince,
}

/// What becomes of files that were edited since, where the edits are in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EditedSince {
    /// They are left as they are.
    #[default]
    Leave,
    /// They become what they were before the run; the ledger keeps what was there.
    Overrule,
}

/// What the selected changes did to one file, taken together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    pub path: RelPath,
    pub kind: FileChangeKind,
    /// Before the first change; `None`: it was not there.
    pub before: Option<ContentHash>,
    /// After the last; `None`: it is deleted.
    pub after: Option<ContentHash>,
    /// Unified, as `git apply` takes it; empty where a content is no text.
    pub patch: String,
    pub changes: Vec<Change>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FileChangeKind {
    Created,
    Edited,
    Deleted,
    /// The changes took back each other.
    Unchanged,
}

/// What undoing comes to for one file, before or after it is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RevertReport {
    pub path: RelPath,
    pub revert: FileRevert,
    /// From what is there to what will be; where the file is left, from what the run wrote to what is there.
    pub patch: String,
    /// Why it was not done although it was planned; for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// A plan together with what people are shown of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevertStep {
    pub plan: FilePlan,
    pub report: RevertReport,
    /// Permission bits of a file that is brought back.
    mode: Option<u32>,
    /// Folders that the run made above a file that goes.
    folders: u32,
}

impl Ledger {
    fn selected(&self, selection: &Selection) -> Result<Files, LedgerError> {
        let mut files: Files = BTreeMap::new();
        for change in self.changes()? {
            let meant = change.state == ChangeState::Made
                && selection.runs.contains(&change.run)
                && selection
                    .step
                    .as_ref()
                    .is_none_or(|step| change.step.as_ref() == Some(step))
                && selection
                    .path
                    .as_ref()
                    .is_none_or(|path| change.path == *path);
            if meant {
                files.entry(change.path.clone()).or_default().push(change);
            }
        }
        Ok(files)
    }

    /// What the selected changes did, per file.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn file_changes(&self, selection: &Selection) -> Result<Vec<FileChange>, LedgerError> {
        let files = self.selected(selection)?;
        Ok(files
            .into_iter()
            .filter_map(|(path, changes)| {
                let before = changes.first()?.before.clone();
                let after = changes.last()?.after.clone();
                let kind = match (&before, &after) {
                    (before, after) if before == after => FileChangeKind::Unchanged,
                    (None, _) => FileChangeKind::Created,
                    (_, None) => FileChangeKind::Deleted,
                    (Some(_), Some(_)) => FileChangeKind::Edited,
                };
                let patch = patch(
                    &path,
                    &self.side(before.as_ref()),
                    &self.side(after.as_ref()),
                );
                Some(FileChange {
                    path,
                    kind,
                    before,
                    after,
                    patch,
                    changes,
                })
            })
            .collect())
    }

    /// All that the selected changes did as one patch.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn patch(&self, selection: &Selection) -> Result<String, LedgerError> {
        let changes = self.file_changes(selection)?;
        Ok(changes.into_iter().map(|change| change.patch).collect())
    }

    fn side(&self, hash: Option<&ContentHash>) -> Side {
        let Some(hash) = hash else {
            return Side::Absent;
        };
        let lost = |reason: String| Side::Lost { reason };
        match self.snapshot(hash) {
            Err(error) => lost(format!(
                "the content that was kept of it cannot be read: {error}"
            )),
            Ok(bytes) => match decode(&bytes) {
                Ok((text, encoding)) => Side::Text {
                    text: text.into(),
                    encoding,
                    hash: hash.clone(),
                },
                Err(error) => lost(error.to_string()),
            },
        }
    }
}

type Files = BTreeMap<RelPath, Vec<Change>>;

fn patch(path: &RelPath, from: &Side, to: &Side) -> String {
    let text = |side: &Side| match side {
        Side::Absent => Ok(None),
        Side::Text { text, .. } => Ok(Some(text.clone())),
        Side::Lost { .. } => Err(()),
    };
    match (text(from), text(to)) {
        (Ok(from), Ok(to)) => unified(path, from.as_deref(), to.as_deref()),
        _ => String::new(),
    }
}

impl Workspace {
    /// What undoing the selected changes would do to each file; touches nothing.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn plan_revert(
        &self,
        ledger: &Ledger,
        selection: &Selection,
        overlay: &Overlay,
    ) -> Result<Vec<RevertStep>, LedgerError> {
        let files = ledger.selected(selection)?;
        Ok(files
            .into_iter()
            .map(|(path, changes)| {
                let sides: Vec<Sides> = changes
                    .iter()
                    .map(|change| Sides {
                        before: ledger.side(change.before.as_ref()),
                        after: ledger.side(change.after.as_ref()),
                    })
                    .collect();
                let now = self.inspect(&path, overlay);
                let plan = match selection.edited_since {
                    _ if !selection.hunks.is_empty() => {
                        plan_hunks(&path, &sides, &selection.hunks, &now)
                    }
                    EditedSince::Leave => plan(&path, &sides, &now),
                    EditedSince::Overrule => plan_overruling(&path, &sides, &now),
                };
                let first = changes.first();
                RevertStep {
                    report: report(&plan, &now, &sides),
                    plan,
                    mode: first.and_then(|change| change.mode),
                    folders: first.map_or(0, |change| change.folders),
                }
            })
            .collect())
    }

    /// Performs planned steps on disk, each recorded as a change of `why.run` with ids counted on from `why.change`. A
    /// file that changed since the plan was made is left, and its report says so. Steps of open documents are for the
    /// caller to perform through the editor; they are in `steps[..].plan.order`.
    pub fn perform_revert(
        &self,
        steps: &[RevertStep],
        ledger: &Ledger,
        why: &Why,
    ) -> Vec<RevertReport> {
        let mut reports = Vec::with_capacity(steps.len());
        let mut next = why.change;
        for step in steps {
            let mut report = step.report.clone();
            if let Some(order) = &step.plan.order {
                let why = Why {
                    change: next,
                    ..why.clone()
                };
                next = ChangeId(next.0.saturating_add(1));
                match self.write_recorded(order, ledger, &why) {
                    WriteOutcome::Written { .. } => self.finish_step(step, &order.content),
                    WriteOutcome::Changed => {
                        report.failed =
                            Some("it has changed since this was planned; look again".to_owned());
                    }
                    WriteOutcome::Failed { error } | WriteOutcome::Unknown { error } => {
                        report.failed = Some(error);
                    }
                }
            }
            reports.push(report);
        }
        reports
    }

    fn finish_step(&self, step: &RevertStep, content: &NewContent) {
        let brought_back = step
            .plan
            .order
            .as_ref()
            .is_some_and(|order| order.expected.is_none());
        match (content, step.mode) {
            (NewContent::Deleted, _) => self.remove_empty_folders(&step.plan.path, step.folders),
            (NewContent::Text { .. }, Some(mode)) if brought_back => {
                self.set_mode(&step.plan.path, mode);
            }
            (NewContent::Text { .. }, _) => {}
        }
    }
}

fn report(plan: &FilePlan, now: &FileNow, sides: &[Sides]) -> RevertReport {
    let side = |now: &FileNow| match now {
        FileNow::Absent { .. } => Side::Absent,
        FileNow::Text(now) => Side::Text {
            text: now.text.clone(),
            encoding: now.encoding,
            hash: now.hash.clone(),
        },
        FileNow::Opaque { reason, .. } | FileNow::Refused { reason } => Side::Lost {
            reason: reason.clone(),
        },
    };
    let patch = match (&plan.order, sides.last()) {
        (Some(order), _) => {
            let to = match &order.content {
                NewContent::Text { text, encoding } => Side::text(text, *encoding),
                NewContent::Deleted => Side::Absent,
            };
            patch(&plan.path, &side(now), &to)
        }
        (None, Some(last)) if matches!(plan.revert, FileRevert::Left { .. }) => {
            patch(&plan.path, &last.after, &side(now))
        }
        (None, _) => String::new(),
    };
    RevertReport {
        path: plan.path.clone(),
        revert: plan.revert.clone(),
        patch,
        failed: None,
    }
}
