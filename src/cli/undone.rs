//! What taking back came to, or would come to, file by file; and asking whether it shall be done.

use std::io::{self, IsTerminal};

use anyhow::bail;

use super::output::say;
use super::words::{BAD, DIM, GOOD, NAME, clean, styled};
use crate::app::{FileRevert, RevertReport, Undone};

/// Whether the person at the terminal wants it.
///
/// # Errors
/// There is none to be asked.
pub fn agreed(question: &str, agree_by: &str) -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() {
        bail!(
            "nobody can be asked here; say {agree_by} to have it done, or --dry-run to look only"
        );
    }
    say(&format!("{question} [y/N] "))?;
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

/// One line for each file.
pub fn told(files: &[RevertReport], done: Done) -> String {
    if files.is_empty() {
        return "no file was changed; there is nothing to take back\n".to_owned();
    }
    let mut text = String::new();
    for file in files {
        let (style, what) = outcome(file, done);
        let path = styled(NAME, clean(file.path.as_str()));
        text.push_str(&format!("{path}  {}\n", styled(style, what)));
    }
    text
}

/// Whether it has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    Yes,
    NotYet,
}

fn outcome(file: &RevertReport, done: Done) -> (anstyle::Style, String) {
    if let Some(why) = &file.failed {
        return (BAD, format!("not taken back: {}", clean(why)));
    }
    let (style, was, will) = match &file.revert {
        FileRevert::Restored => (GOOD, "restored", "will be restored"),
        FileRevert::Removed => (GOOD, "removed", "will be removed"),
        FileRevert::Merged => (
            GOOD,
            "merged: edits made since are kept",
            "will be merged: edits made since stay",
        ),
        FileRevert::AlreadyAsBefore => (DIM, "already as before", "already as before"),
        FileRevert::Overruled => (
            BAD,
            "overruled: edits made since are only in the ledger now",
            "will be overruled: edits made since go, and are kept in the ledger",
        ),
        FileRevert::Left { why } => return (BAD, format!("left as it is: {}", clean(&why.text()))),
    };
    let what = match done {
        Done::Yes => was,
        Done::NotYet => will,
    };
    (style, what.to_owned())
}

/// The exit code: 1 when something was not taken back.
pub fn code(files: &[RevertReport]) -> u8 {
    let is_left = |file: &RevertReport| {
        file.failed.is_some() || matches!(file.revert, FileRevert::Left { .. })
    };
    u8::from(files.iter().any(is_left))
}

/// How it can be had back.
pub fn way_back(undone: &Undone) -> String {
    match &undone.id {
        Some(id) => styled(DIM, format!("to have it back: outrigger revert {id}")) + "\n",
        None => String::new(),
    }
}
