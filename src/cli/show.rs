//! `outrigger show`: a run told again from its transcript, of whichever process it was or is.

use anyhow::Context;
use clap::Args;

use super::attend::json_line;
use super::output::say;
use super::view::{self, View};
use super::workspace::{Open, WorkspaceArguments, find_run};
use crate::kernel::event::RunEvent;

/// Records that are read at once.
const PAGE: usize = 1000;

/// Tell a run again from its transcript.
///
/// Examples:
///   outrigger show last
///   outrigger show r0mx3 --json | jq .record.event.type
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The run: its id, the beginning of it, or `last`.
    run: String,
    /// One event a line, as editors get them.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    workspace: WorkspaceArguments,
}

pub async fn show(arguments: &Arguments, open: &Open) -> anyhow::Result<u8> {
    let app = arguments.workspace.open(open)?;
    let run = find_run(&app, &arguments.run)?;
    let mut view = View::default();
    let mut after = 0;
    loop {
        let page = app.events(run.clone(), after, PAGE).await?;
        for bad in &page.bad_lines {
            tracing::warn!(%run, "line {} of the transcript is skipped: {}", bad.number, bad.reason);
        }
        let mut text = String::new();
        for record in &page.records {
            after = record.seq;
            if arguments.json {
                text.push_str(&json_line(&run, record)?);
                continue;
            }
            text.push_str(&view.tell(record));
            if let RunEvent::Ended { outcome, summary } = &record.event {
                text.push_str(&view.closing(*outcome, summary));
            }
        }
        say(&text).context("failed to write to standard output")?;
        if !page.more || page.records.is_empty() {
            break;
        }
    }
    if !arguments.json
        && let Some(path) = app.transcript(&run)
    {
        say(&view::told_row("transcript", &path.display().to_string()))?;
    }
    app.park().await;
    Ok(0)
}
