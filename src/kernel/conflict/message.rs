//! What the model is told when nothing was written: what is the matter, what is there, what to do.

use super::super::diff;
use super::super::edit::EditRefusal;
use super::super::file::TextNow;
use super::super::path::RelPath;
use super::super::question::ConflictReason;
use super::super::tool::SeenFile;

/// Letters of a file or a diff that a message holds.
const SHOWN_CHARS: usize = 20_000;

pub(super) fn refused(path: &RelPath, reason: &str) -> String {
    format!("{path} was not changed: {reason}")
}

pub(super) fn opaque(path: &RelPath, reason: &str) -> String {
    format!("{path} was not changed: it cannot be edited as text without loss: {reason}")
}

pub(super) fn missing(path: &RelPath, nearest: &[RelPath]) -> String {
    let mut text = format!("{path} is not there");
    if nearest.is_empty() {
        text.push_str("; to make a new file use `write`");
    } else {
        text.push_str("; the nearest names are:\n");
        for name in nearest {
            text.push_str(&format!("  {name}\n"));
        }
    }
    text
}

pub(super) fn gone(path: &RelPath) -> String {
    format!(
        "{path} was deleted after you read it, and was not written; if it shall be there all the same, write it again"
    )
}

pub(super) fn edit(path: &RelPath, refusal: &EditRefusal) -> String {
    format!("{path} was not changed: {refusal}")
}

pub(super) fn not_yours_to_delete(path: &RelPath) -> String {
    format!(
        "{path} was not deleted: this run did not make it, and nobody can be asked; say in your summary that it should go"
    )
}

pub(super) fn forbidden(path: &RelPath, reason: ConflictReason) -> String {
    let what = match reason {
        ConflictReason::Exists => "it exists with other content, which you have not read",
        ConflictReason::ChangedOnDisk => "it changed on disk after you read it",
        ConflictReason::UnsavedText => "the user has unsaved text in it that you have not read",
        ConflictReason::Deleted => "it was deleted after you read it",
        ConflictReason::Deletion => "this run did not make it",
    };
    format!("{path} was not changed: {what}; read it and make your change to what is there")
}

pub(super) fn exists(path: &RelPath, now: &TextNow) -> String {
    let mut text = format!(
        "{path} was not changed: it exists with other content, which you had not read. This is what is there; change it with `edit`, or write it anew now that you know it:\n"
    );
    for (number, line) in diff::lines(&now.text).iter().enumerate() {
        let line = diff::split_ending(line).0;
        text.push_str(&format!("{:>6}\t{line}\n", number + 1));
        if text.len() > SHOWN_CHARS {
            break;
        }
    }
    cut(text)
}

pub(super) fn changed(
    path: &RelPath,
    seen: &SeenFile,
    now: &TextNow,
    refusal: Option<&EditRefusal>,
) -> String {
    let mut text = format!("{path} was not changed: it changed after you read it");
    match refusal {
        Some(refusal) => text.push_str(&format!(", and {refusal}")),
        None => text.push_str(", at the place that you change"),
    }
    text.push_str("\nSince you read it:\n");
    text.push_str(&diff::unified(path, Some(&seen.text), Some(&now.text)));
    text.push_str("Make your change to what is there now.");
    cut(text)
}

fn cut(mut text: String) -> String {
    if let Some((at, _)) = text.char_indices().nth(SHOWN_CHARS) {
        text.truncate(at);
        text.push_str("…\n(cut; read the file for the rest)");
    }
    text
}
