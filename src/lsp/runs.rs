//! Runs, and what they did to files, in the contract's words.

use crate::app::{
    App, ChangedFile, Cleaned, FileChangeKind, FileRevert, Overview, RevertReport, Undone,
};
use crate::kernel::ids::RunId;
use crate::kernel::run::Run;
use crate::protocol::change::{
    self, Change, ChangedKind, CleanResult, RevertOutcome, RevertResult, RevertedFile,
};
use crate::protocol::run::{RunEnd, RunView};

pub fn view(app: &App, run: &Run) -> RunView {
    let transcript = app.transcript(&run.id).unwrap_or_default();
    RunView {
        run_id: run.id.clone(),
        folder: None,
        prompt: run.spec.prompt.clone(),
        engine: run.spec.engine,
        model: run.spec.model.clone(),
        status: run.status,
        waiting: run.waiting.clone(),
        started_at: run.started.wall_ms,
        usage: run.usage,
        cost: run.cost,
        plan: run.plan.clone(),
        findings: u32::try_from(run.new_findings().count()).unwrap_or(u32::MAX),
        open_questions: run.open_questions.iter().cloned().collect(),
        elsewhere: false,
        transcript: transcript.display().to_string(),
        end: run
            .ended
            .clone()
            .map(|(outcome, summary)| RunEnd { outcome, summary }),
    }
}

/// A run that another process works on.
pub fn view_of_foreign(app: &App, run: Overview) -> RunView {
    let transcript = app.transcript(&run.run).unwrap_or_default();
    let open_questions = run.open_questions().map(|question| question.id.clone());
    RunView {
        open_questions: open_questions.collect(),
        run_id: run.run,
        folder: None,
        prompt: run.prompt,
        engine: run.engine,
        model: run.model,
        status: run.status,
        waiting: run.waiting,
        started_at: run.started_at,
        usage: run.usage,
        cost: run.cost,
        plan: run.plan,
        findings: 0,
        elsewhere: true,
        transcript: transcript.display().to_string(),
        end: run
            .end
            .map(|(outcome, summary)| RunEnd { outcome, summary }),
    }
}

pub fn changed_file(changed: ChangedFile) -> change::ChangedFile {
    let ChangedFile { file, hunks } = changed;
    let one = |change: crate::app::Change| Change {
        change: change.change,
        step: change.step,
        reason: change.reason,
        at: change.at,
        before: change.before,
        after: change.after,
    };
    change::ChangedFile {
        path: file.path,
        kind: match file.kind {
            FileChangeKind::Created => ChangedKind::Created,
            FileChangeKind::Edited => ChangedKind::Edited,
            FileChangeKind::Deleted => ChangedKind::Deleted,
            FileChangeKind::Unchanged => ChangedKind::Unchanged,
        },
        before: file.before,
        after: file.after,
        patch: file.patch,
        hunks,
        changes: file.changes.into_iter().map(one).collect(),
    }
}

pub fn cleaned(cleaned: Cleaned) -> CleanResult {
    CleanResult {
        run_ids: cleaned.runs,
        task: cleaned.task,
        revert_id: cleaned.undone.id,
        files: cleaned
            .undone
            .files
            .into_iter()
            .map(reverted_file)
            .collect(),
    }
}

pub fn reverted(run_id: RunId, undone: Undone) -> RevertResult {
    RevertResult {
        run_id,
        revert_id: undone.id,
        files: undone.files.into_iter().map(reverted_file).collect(),
    }
}

fn reverted_file(report: RevertReport) -> RevertedFile {
    let (outcome, reason) = match (report.failed, report.revert) {
        (Some(why), _) => (RevertOutcome::Failed, Some(why)),
        (None, FileRevert::Restored) => (RevertOutcome::Restored, None),
        (None, FileRevert::Removed) => (RevertOutcome::Removed, None),
        (None, FileRevert::Merged) => (RevertOutcome::Merged, None),
        (None, FileRevert::AlreadyAsBefore) => (RevertOutcome::AlreadyAsBefore, None),
        (None, FileRevert::Overruled) => (RevertOutcome::Overruled, None),
        (None, FileRevert::Left { why }) => (RevertOutcome::Left, Some(why.text())),
    };
    RevertedFile {
        path: report.path,
        outcome,
        reason,
        patch: report.patch,
    }
}

/// What a revert came to, for people whose editor shows messages only.
pub fn revert_in_words(result: &RevertResult, preview: bool) -> String {
    let heading = match (result.files.is_empty(), preview) {
        (true, _) => {
            return "Outrigger: the run changed no file; there is nothing to revert".to_owned();
        }
        (false, true) => "Outrigger: reverting would come to this",
        (false, false) => "Outrigger: reverted",
    };
    let mut text = heading.to_owned();
    for file in &result.files {
        let what = match file.outcome {
            RevertOutcome::Restored => "as before the run",
            RevertOutcome::Removed => "gone; the run had made it",
            RevertOutcome::Merged => "without what the run did; edits made since are kept",
            RevertOutcome::AlreadyAsBefore => "already as before the run",
            RevertOutcome::Overruled => {
                "as before the run; edits made since are kept in the ledger only"
            }
            RevertOutcome::Left => "left as it is",
            RevertOutcome::Failed => "not reverted",
        };
        text.push_str(&format!("\n{}: {what}", file.path));
        if let Some(reason) = &file.reason {
            text.push_str(&format!(": {reason}"));
        }
    }
    if let Some(id) = &result.revert_id {
        text.push_str(&format!(
            "\n(To have it back execute the command {} with \"{id}\".)",
            super::commands::REVERT
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::path::RelPath;

    #[test]
    fn a_revert_is_told_file_by_file() {
        let file = |name: &str, outcome, reason: Option<&str>| RevertedFile {
            path: RelPath::parse(name).unwrap(),
            outcome,
            reason: reason.map(str::to_owned),
            patch: String::new(),
        };
        let result = RevertResult {
            run_id: RunId::new("r"),
            revert_id: Some(RunId::new("u")),
            files: vec![
                file("a", RevertOutcome::Restored, None),
                file("é", RevertOutcome::Left, Some("it has been deleted since")),
            ],
        };
        assert_eq!(
            revert_in_words(&result, false),
            "Outrigger: reverted\na: as before the run\né: left as it is: it has been deleted since\n(To have it back execute the command outrigger.revert with \"u\".)"
        );
        let nothing = RevertResult {
            revert_id: None,
            files: Vec::new(),
            ..result
        };
        assert!(revert_in_words(&nothing, true).contains("nothing to revert"));
    }
}
