//! Taking a result that was made elsewhere, such as in a worktree, into the workspace: by the same rules as a run's own writes.
//!
//! What others changed meanwhile is merged where that is clear, and asked about where it is not. What is written is in the
//! ledger under a name of its own, by which it can be taken back like a run.

use std::sync::Arc;

use super::clock::{new_run_id, wall_ms};
use super::write::recorded_on_disk;
use super::{App, write};
use crate::kernel::conflict::{
    Change, Conflict, ConflictPolicy, FilePolicies, MergePolicy, Proposal, Settlement, Verdict,
    decide, settle,
};
use crate::kernel::diff;
use crate::kernel::file::{FileNow, TextSource, WriteOrder, WriteOutcome};
use crate::kernel::hash::ContentHash;
use crate::kernel::ids::{ChangeId, QuestionId, RunId, ToolCallId};
use crate::kernel::path::RelPath;
use crate::kernel::question::{
    Answer, Hunk, Overwrite, OverwriteTexts, Question, QuestionKind, QuestionState,
};
use crate::kernel::tool::SeenFile;
use crate::workspace::decode;
use crate::workspace::ledger::Why;

/// A file as a result has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    pub path: RelPath,
    /// What the work began from; `None`: there was no such file.
    pub base: Option<Vec<u8>>,
    /// What came of it; `None`: it was deleted.
    pub result: Option<Vec<u8>>,
}

/// What is to be done about an offered file.
#[derive(Debug)]
pub enum Weighed {
    /// It is so already.
    Same,
    /// `merged`: with changes in it that the result does not have.
    Write {
        order: WriteOrder,
        merged: bool,
    },
    Ask(Box<Asked>),
    /// It cannot be taken: for people.
    Refused(String),
}

/// A file about which a person decides.
#[derive(Debug)]
pub struct Asked {
    pub question: Question,
    conflict: Conflict,
    hunks: Vec<Hunk>,
}

/// What an answer comes to.
#[derive(Debug)]
pub enum Settled {
    Write(WriteOrder),
    Keep,
    /// Something else is there now: weigh it again.
    LookAgain,
    Stop,
    /// It is no answer: for the person who gave it.
    NoAnswer(String),
}

/// The name under which one result is taken, in the ledger.
#[derive(Debug)]
pub struct Taking {
    pub id: RunId,
    change: ChangeId,
    reason: String,
}

impl Taking {
    /// `reason`: one line, for people.
    pub fn new(reason: String) -> Self {
        Self {
            id: new_run_id(),
            change: ChangeId::default(),
            reason,
        }
    }
}

impl App {
    /// What is to be done about a file, as things are now.
    pub async fn weigh(&self, offered: &Offered) -> Weighed {
        let now = self.now(&offered.path).await;
        let text = |bytes: &Option<Vec<u8>>| match bytes {
            None => Ok(None),
            Some(bytes) => match decode(bytes) {
                Ok((text, _)) => Ok(Some((text, ContentHash::of(bytes)))),
                Err(why) => Err(format!("{why}")),
            },
        };
        let (base, result) = match (text(&offered.base), text(&offered.result)) {
            (Ok(base), Ok(result)) => (base, result),
            (Err(why), _) | (_, Err(why)) => return Weighed::Refused(why),
        };
        let seen = base.map(|(text, hash)| SeenFile {
            path: offered.path.clone(),
            hash,
            text: text.into(),
        });
        let change = match &result {
            Some((text, _)) => Change::Write { text },
            // What it deletes it may delete, as long as it is what it knew.
            None => Change::Delete { made_by_run: true },
        };
        let proposal = Proposal {
            path: &offered.path,
            seen: seen.as_ref(),
            change,
        };
        let policies = FilePolicies {
            conflict: ConflictPolicy::Ask,
            merge: MergePolicy::Auto,
        };
        match decide(&proposal, &now, policies) {
            Verdict::Identical => Weighed::Same,
            Verdict::Write { order, merged } => Weighed::Write { order, merged },
            Verdict::Conflict(conflict) => Weighed::Ask(Box::new(asked(*conflict))),
            Verdict::Refuse { message, .. } => Weighed::Refused(message),
        }
    }

    /// What an answer comes to, as things are now.
    pub async fn settle(&self, asked: &Asked, answer: &Answer) -> Settled {
        let now = self.now(&asked.conflict.path).await;
        match settle(&asked.conflict, &asked.hunks, answer, &now) {
            Settlement::Write(order) => Settled::Write(order),
            Settlement::Keep { .. } => Settled::Keep,
            Settlement::LookAgain => Settled::LookAgain,
            Settlement::StopRun => Settled::Stop,
            Settlement::NoAnswer { message } => Settled::NoAnswer(message),
        }
    }

    /// Writes, with a record of what was there.
    ///
    /// # Errors
    /// For people.
    pub async fn take(&self, taking: &mut Taking, order: WriteOrder) -> Result<(), String> {
        taking.change = taking.change.next();
        let why = Why {
            run: taking.id.clone(),
            change: taking.change,
            step: None,
            reason: taking.reason.clone(),
            at: wall_ms(),
        };
        let path = order.path.clone();
        let documents = self
            .look(|state| Arc::clone(&state.documents))
            .await
            .unwrap_or_default();
        let outcome = match documents.get(&path).cloned() {
            Some(document) => write::in_editor(self, &why, order, document).await,
            None => recorded_on_disk(self, &why, order).await,
        };
        match outcome {
            WriteOutcome::Written { .. } => Ok(()),
            WriteOutcome::Changed => {
                Err("it has changed at this very moment; try again".to_owned())
            }
            WriteOutcome::Failed { error } | WriteOutcome::Unknown { error } => Err(error),
        }
    }

    async fn now(&self, path: &RelPath) -> FileNow {
        let documents = self
            .look(|state| Arc::clone(&state.documents))
            .await
            .unwrap_or_default();
        let (workspace, path) = (Arc::clone(&self.workspace), path.clone());
        let looked =
            tokio::task::spawn_blocking(move || workspace.inspect(&path, &documents)).await;
        looked.unwrap_or_else(|error| FileNow::Refused {
            reason: error.to_string(),
        })
    }
}

fn asked(conflict: Conflict) -> Asked {
    let current = conflict.current.as_ref().map(|now| Arc::clone(&now.text));
    let proposed = conflict.proposed_text().cloned();
    let hunks = diff::hunks(
        current.as_deref().unwrap_or_default(),
        proposed.as_deref().unwrap_or_default(),
    );
    let overwrite = Overwrite {
        call: ToolCallId::new(""),
        path: conflict.path.clone(),
        reason: conflict.reason,
        base: conflict.base.as_ref().map(|base| base.hash.clone()),
        current: conflict.current_hash().cloned(),
        proposed: conflict.proposed.hash(),
        unsaved: conflict
            .current
            .as_ref()
            .is_some_and(|now| now.source == TextSource::UnsavedDocument),
        hunks: hunks.clone(),
        texts: OverwriteTexts {
            base: conflict.base.as_ref().map(|base| Arc::clone(&base.text)),
            current,
            proposed,
        },
    };
    Asked {
        question: Question {
            id: QuestionId::new(""),
            run: RunId::new(""),
            title: format!(
                "Take {}? It has changed since the task was begun",
                conflict.path
            ),
            detail: String::new(),
            place: None,
            kind: QuestionKind::Overwrite(overwrite),
            choices: Vec::new(),
            free_text: false,
            opened_at: wall_ms(),
            state: QuestionState::Open,
        },
        conflict,
        hunks,
    }
}
