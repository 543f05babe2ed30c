//! `outrigger diff`: what a run did to files, as one patch or as a list.

use std::io::{self, IsTerminal, Write};

use anyhow::Context;
use clap::Args;

use super::output::say;
use super::words::{ADDED, BOLD, DIM, NAME, REMOVED, clean, styled};
use super::workspace::{Open, WorkspaceArguments, find_recorded};
use crate::app::{ChangedFile, FileChangeKind};

/// Show what a run did to files.
///
/// Examples:
///   outrigger diff last
///   outrigger diff last --list
///   outrigger diff r0mx3 | git apply --reverse --check
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The run: its id, the beginning of it, or `last`; also the name that a revert was given.
    run: String,
    /// List the files and the steps that changed them, instead of the patch.
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    workspace: WorkspaceArguments,
}

pub async fn diff(arguments: &Arguments, open: &Open) -> anyhow::Result<u8> {
    let app = arguments.workspace.open(open)?;
    let run = find_recorded(&app, &arguments.run)?;
    let shown = if arguments.list {
        let files = app
            .changes(run)
            .await
            .context("failed to list the changes")?;
        say(&listed(&files))
    } else {
        let patch = app.diff(run).await.context("failed to show the changes")?;
        show(&patch)
    };
    shown.context("failed to write to standard output")?;
    app.park().await;
    Ok(0)
}

/// To people in colours; to programs byte for byte, since they may apply it.
fn show(patch: &str) -> io::Result<()> {
    if io::stdout().is_terminal() {
        return say(&coloured(patch));
    }
    match io::stdout().lock().write_all(patch.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// A unified patch in colours.
pub fn coloured(patch: &str) -> String {
    let mut text = String::new();
    for line in patch.lines() {
        let style = match line.as_bytes() {
            [b'-', b'-', b'-', ..] | [b'+', b'+', b'+', ..] => BOLD,
            [b'd', b'i', b'f', b'f', ..] => BOLD,
            [b'@', b'@', ..] => NAME,
            [b'+', ..] => ADDED,
            [b'-', ..] => REMOVED,
            [b'\\', ..] => DIM,
            _ => {
                text.push_str(&format!("{}\n", clean(line)));
                continue;
            }
        };
        text.push_str(&format!("{}\n", styled(style, clean(line))));
    }
    text
}

fn listed(files: &[ChangedFile]) -> String {
    if files.is_empty() {
        return "the run changed no file\n".to_owned();
    }
    let steps = steps(files);
    let mut text = String::new();
    for ChangedFile { file, hunks } in files {
        let what = match file.kind {
            FileChangeKind::Created => "created",
            FileChangeKind::Edited => "edited",
            FileChangeKind::Deleted => "deleted",
            FileChangeKind::Unchanged => "as before in the end",
        };
        let added: u32 = hunks.iter().map(|hunk| hunk.new_lines).sum();
        let removed: u32 = hunks.iter().map(|hunk| hunk.old_lines).sum();
        let lines = if hunks.is_empty() {
            String::new()
        } else {
            format!(", {} hunks, +{added} -{removed}", hunks.len())
        };
        let path = styled(NAME, clean(file.path.as_str()));
        text.push_str(&format!("{path}  {what}{lines}\n"));
        for change in &file.changes {
            let step = change.step.as_ref();
            let number = step.and_then(|step| steps.iter().position(|known| known == step));
            let number = number.map_or_else(|| "-".to_owned(), |at| (at + 1).to_string());
            let line = format!("    step {number}  {}", clean(&change.reason));
            text.push_str(&format!("{}\n", styled(DIM, line)));
        }
    }
    text
}

/// The steps that changed files, in the order in which they first did: a person names one by its number here.
pub fn steps(files: &[ChangedFile]) -> Vec<String> {
    let changes = files.iter().flat_map(|changed| &changed.file.changes);
    let mut changes: Vec<_> = changes.collect();
    changes.sort_by_key(|change| change.change);
    let mut steps: Vec<String> = Vec::new();
    for step in changes.iter().filter_map(|change| change.step.as_ref()) {
        if !steps.contains(step) {
            steps.push(step.clone());
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_keeps_its_lines_and_cannot_steer_the_terminal() {
        let patch = "--- a/é\n+++ b/é\n@@ -1 +1 @@\n-old\u{1b}[2J\n+new\n same\n\\ No newline at end of file\n";
        let plain = anstream::adapter::strip_str(&coloured(patch)).to_string();
        assert_eq!(plain, patch.replace('\u{1b}', "\u{fffd}"));
    }
}
