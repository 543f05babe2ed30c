//! `outrigger clean`: takes back what failed runs left behind.

use anyhow::Context;
use clap::Args;

use super::output::say;
use super::undone::{Done, agreed, code, told, way_back};
use super::workspace::{Open, WorkspaceArguments, find_run};
use crate::app::{Clean, EditedSince};

/// Clean up after runs that failed: what they made goes, what they edited is as before.
///
/// Several runs are cleaned up after together, whatever other runs and you did in between. Your later edits stay; with
/// --force they are overruled, and kept in the ledger.
///
/// Examples:
///   outrigger clean last --dry-run
///   outrigger clean r0mx3 r0mx7
///
/// Exit codes: 0 all of it is clean, 1 some of it was left or nothing was done, 2 usage.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The runs: ids, beginnings of them, or `last`.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    /// Only list what would be done.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask, and put back also what was edited since.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    workspace: WorkspaceArguments,
}

pub async fn clean(arguments: &Arguments, open: &Open) -> anyhow::Result<u8> {
    let app = arguments.workspace.open(open)?;
    let runs = arguments.runs.iter().map(|meant| find_run(&app, meant));
    let clean = Clean {
        runs: runs.collect::<anyhow::Result<_>>()?,
        edited_since: if arguments.force {
            EditedSince::Overrule
        } else {
            EditedSince::Leave
        },
        preview: false,
    };
    let look = Clean {
        preview: true,
        ..clean.clone()
    };
    let planned = app.clean(look).await.context("failed to clean up")?;
    say(&told(&planned.files, Done::NotYet))?;
    let nothing_to_do = planned.files.iter().all(|file| !file.revert.writes());
    if nothing_to_do || arguments.dry_run {
        app.park().await;
        return Ok(code(&planned.files));
    }
    if !arguments.force && !agreed("Clean this up?", "--force")? {
        say("nothing was cleaned up\n")?;
        app.park().await;
        return Ok(1);
    }
    let undone = app.clean(clean).await.context("failed to clean up")?;
    say("\n")?;
    say(&told(&undone.files, Done::Yes))?;
    say(&way_back(&undone))?;
    app.park().await;
    Ok(code(&undone.files))
}
