//! `outrigger clean`: takes back what failed runs left behind.

use anyhow::Context;
use clap::Args;

use super::attend::BY;
use super::output::say;
use super::undone::{Done, agreed, code, told, way_back};
use super::words::headline;
use super::workspace::{Open, WorkspaceArguments, find_run};
use crate::app::tasks::TaskError;
use crate::app::{After, App, Clean, EditedSince};
use crate::kernel::ids::TaskId;

/// Characters of a title.
const TITLE: usize = 80;

/// Clean up after runs that failed: what they made goes, what they edited is as before.
///
/// A task is cleaned of all its runs that did not succeed, and goes back to the backlog. Several runs are cleaned up after
/// together, whatever other runs and you did in between. Your later edits stay; with --force they are overruled, and kept
/// in the ledger.
///
/// Examples:
///   outrigger clean t3 --dry-run
///   outrigger clean last
///   outrigger clean r0mx3 r0mx7
///
/// Exit codes: 0 all of it is clean, 1 some of it was left or nothing was done, 2 usage.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// A task's id; or runs: ids, beginnings of them, or `last`.
    #[arg(required = true, value_name = "TASK|RUN")]
    named: Vec<String>,
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
    let clean = Clean {
        after: after(&app, &arguments.named).await?,
        edited_since: if arguments.force {
            EditedSince::Overrule
        } else {
            EditedSince::Leave
        },
        preview: false,
        by: BY.to_owned(),
    };
    let look = Clean {
        preview: true,
        ..clean.clone()
    };
    let planned = app.clean(look).await.context("failed to clean up")?;
    let (files, is_task) = (planned.undone.files, planned.task.is_some());
    say(&told(&files, Done::NotYet))?;
    let touches_files = files.iter().any(|file| file.revert.writes());
    if arguments.dry_run || !(touches_files || is_task) {
        app.park().await;
        return Ok(code(&files));
    }
    if touches_files && !arguments.force && !agreed("Clean this up?", "--force")? {
        say("nothing was cleaned up\n")?;
        app.park().await;
        return Ok(1);
    }
    let cleaned = app.clean(clean).await.context("failed to clean up")?;
    say("\n")?;
    say(&told(&cleaned.undone.files, Done::Yes))?;
    if let Some(task) = &cleaned.task {
        let title = headline(&task.title, TITLE);
        say(&format!(
            "task {} ({}): {title}\n",
            task.id,
            task.state.word()
        ))?;
    }
    say(&way_back(&cleaned.undone))?;
    app.park().await;
    Ok(code(&cleaned.undone.files))
}

/// A task where there is one of that name, else runs.
async fn after(app: &App, named: &[String]) -> anyhow::Result<After> {
    if let [one] = named {
        let id = TaskId::new(one);
        let wanted = id.clone();
        let known = app.with_tasks(move |tasks| tasks.one(&wanted)).await;
        match known {
            Ok(_) => return Ok(After::Task(id)),
            Err(TaskError::Refused(_)) => {}
            Err(error) => return Err(error).context("failed to look for the task"),
        }
    }
    let runs = named.iter().map(|meant| find_run(app, meant));
    Ok(After::Runs(runs.collect::<anyhow::Result<_>>()?))
}
