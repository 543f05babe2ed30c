//! What an answer to a conflict comes to, looked at again when it arrives.

use super::super::file::{Encoding, FileNow, NewContent, WriteOrder};
use super::super::question::{Answer, Hunk};
use super::super::{diff, edit};
use super::Conflict;

/// What an answer comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    Write(WriteOrder),
    /// Nothing is written; the reason goes to the agent together with the rejection.
    Keep {
        reason: Option<String>,
    },
    /// Something else is there than the human was shown: decide about the proposal anew.
    LookAgain,
    StopRun,
    /// It does not answer this question; for the person who gave it.
    NoAnswer {
        message: String,
    },
}

/// What to do about `answer`, given what is there `now`. `hunks` are those that the human was shown.
pub fn settle(conflict: &Conflict, hunks: &[Hunk], answer: &Answer, now: &FileNow) -> Settlement {
    let content = match answer {
        Answer::KeepMine { reason } => {
            return Settlement::Keep {
                reason: reason.clone(),
            };
        }
        Answer::StopRun => return Settlement::StopRun,
        Answer::TakeAll => conflict.proposed.clone(),
        Answer::TakeHunks { hunks: ids } => {
            let (Some(_), Some(encoding)) = (conflict.proposed_text(), encoding(conflict)) else {
                return no_answer("a deletion has no hunks; take all or keep the file");
            };
            let current = conflict.current.as_ref().map_or("", |now| &now.text);
            if ids.is_empty() {
                return Settlement::Keep { reason: None };
            }
            match diff::apply_hunks(current, hunks, ids) {
                Ok(text) => NewContent::Text {
                    text: text.into(),
                    encoding,
                },
                Err(misfit) => return no_answer(&misfit.to_string()),
            }
        }
        Answer::TakeText { text } => NewContent::Text {
            text: fitted(conflict, text.strip_prefix('\u{feff}').unwrap_or(text)).into(),
            encoding: encoding(conflict).unwrap_or(Encoding::Utf8),
        },
        Answer::Choice { .. } | Answer::Text { .. } => {
            return no_answer(
                "an overwrite is answered by takeAll, takeHunks, takeText, keepMine or stopRun",
            );
        }
    };
    let moved = match now {
        FileNow::Absent { .. } => conflict.current.is_some(),
        FileNow::Text(text) => conflict
            .current
            .as_ref()
            .is_none_or(|shown| shown.hash != text.hash || (text.newer_disk && !shown.newer_disk)),
        FileNow::Opaque { .. } | FileNow::Refused { .. } => true,
    };
    if moved {
        return Settlement::LookAgain;
    }
    Settlement::Write(WriteOrder {
        path: conflict.path.clone(),
        expected: conflict.current_hash().cloned(),
        content,
    })
}

/// A text that came back with bare line feeds gets the line endings of the file it is for.
fn fitted(conflict: &Conflict, text: &str) -> String {
    match &conflict.current {
        Some(now) if !text.contains('\r') => edit::fit_endings(&now.text, text, None),
        _ => text.to_owned(),
    }
}

fn encoding(conflict: &Conflict) -> Option<Encoding> {
    match (&conflict.current, &conflict.proposed) {
        (Some(now), _) => Some(now.encoding),
        (None, NewContent::Text { encoding, .. }) => Some(*encoding),
        (None, NewContent::Deleted) => None,
    }
}

fn no_answer(message: &str) -> Settlement {
    Settlement::NoAnswer {
        message: message.to_owned(),
    }
}
