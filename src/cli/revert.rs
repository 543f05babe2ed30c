//! `outrigger revert`: takes back what a run did, after a look at what that comes to.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;

use super::diff;
use super::output::say;
use super::undone::{Done, agreed, code, told, way_back};
use super::workspace::{Open, WorkspaceArguments, find_recorded};
use crate::app::{ChangedFile, Undo};
use crate::kernel::path::RelPath;

/// Take back what a run did to files: exactly that, and with your later edits kept.
///
/// What it comes to is shown first, and asked about. A revert has a name, by which it can be taken back itself.
///
/// Examples:
///   outrigger revert last
///   outrigger revert r0mx3 --dry-run
///   outrigger revert last src/parser.rs --yes
///   outrigger revert last --step 2
///
/// Exit codes: 0 all of it was taken back, 1 some of it was left or nothing was done, 2 usage.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The run: its id, the beginning of it, or `last`; also the name that a revert was given.
    run: String,
    /// Only these files.
    files: Vec<PathBuf>,
    /// Only what this step did: its number in `outrigger diff RUN --list`, or its id.
    #[arg(long, value_name = "STEP", conflicts_with = "files")]
    step: Option<String>,
    /// Only these hunks of the one file, counted from 1 as in its patch.
    #[arg(long, value_name = "N", value_delimiter = ',', requires = "files")]
    hunks: Vec<u32>,
    /// Only say what would be done.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    workspace: WorkspaceArguments,
}

pub async fn revert(arguments: &Arguments, open: &Open) -> anyhow::Result<u8> {
    let app = arguments.workspace.open(open)?;
    let run = find_recorded(&app, &arguments.run)?;
    let changed = app.changes(run.clone()).await;
    let changed = changed.context("failed to list the run's changes")?;
    let undo = Undo {
        step: arguments.meant_step(&changed)?,
        paths: arguments.meant_files(&changed)?,
        hunks: arguments.meant_hunks()?,
        ..Undo::all_of(vec![run])
    };
    let look = Undo {
        preview: true,
        ..undo.clone()
    };
    let planned = app.undo(look).await.context("failed to revert the run")?;
    say(&told(&planned.files, Done::NotYet))?;
    let nothing_to_do = planned.files.iter().all(|file| !file.revert.writes());
    if nothing_to_do || arguments.dry_run {
        app.park().await;
        return Ok(code(&planned.files));
    }
    if !arguments.yes && !agreed("Take this back?", "--yes")? {
        say("nothing was reverted\n")?;
        app.park().await;
        return Ok(1);
    }
    // Looked at again: a file that changed meanwhile is left, and that is said.
    let undone = app.undo(undo).await.context("failed to revert the run")?;
    say("\n")?;
    say(&told(&undone.files, Done::Yes))?;
    say(&way_back(&undone))?;
    app.park().await;
    Ok(code(&undone.files))
}

impl Arguments {
    fn meant_step(&self, changed: &[ChangedFile]) -> anyhow::Result<Option<String>> {
        let Some(meant) = &self.step else {
            return Ok(None);
        };
        let steps = diff::steps(changed);
        if steps.contains(meant) {
            return Ok(Some(meant.clone()));
        }
        let at = meant.parse::<usize>().ok();
        let step = at.and_then(|number| steps.get(number.checked_sub(1)?));
        match step {
            Some(step) => Ok(Some(step.clone())),
            None => bail!(
                "`{meant}` is none of the run's {} steps that changed files; `outrigger diff {} --list` numbers them",
                steps.len(),
                self.run
            ),
        }
    }

    fn meant_files(&self, changed: &[ChangedFile]) -> anyhow::Result<Vec<RelPath>> {
        let root = self.workspace.root()?;
        let is_changed = |path: &RelPath| changed.iter().any(|known| known.file.path == *path);
        let mut paths = Vec::new();
        for file in &self.files {
            let path = relative(file, &root)?;
            if !is_changed(&path) {
                bail!(
                    "the run did not change {path}; `outrigger diff {} --list` lists what it changed",
                    self.run
                );
            }
            paths.push(path);
        }
        Ok(paths)
    }

    fn meant_hunks(&self) -> anyhow::Result<Vec<u32>> {
        let ids = self.hunks.iter().map(|number| number.checked_sub(1));
        let ids: Option<Vec<u32>> = ids.collect();
        ids.context("hunks are counted from 1")
    }
}

/// A file as a person names it, from where they are, as a path of the workspace.
fn relative(file: &Path, root: &Path) -> anyhow::Result<RelPath> {
    let whole =
        std::path::absolute(file).with_context(|| format!("failed to find {}", file.display()))?;
    let inside = whole.strip_prefix(root).ok().map(Path::to_owned);
    // The folder we are in may have been reached by a link.
    let inside = inside.or_else(|| {
        let folder = whole.parent()?.canonicalize().ok()?;
        let folder = folder.strip_prefix(root.canonicalize().ok()?).ok()?;
        Some(folder.join(whole.file_name()?))
    });
    let inside = inside.with_context(|| {
        let root = root.display();
        format!("{} is not in the workspace {root}", file.display())
    })?;
    let text = inside.to_str().context("the file's name is no text")?;
    let text = text.replace(std::path::MAIN_SEPARATOR, "/");
    RelPath::parse(&text).with_context(|| format!("failed to use the path {}", file.display()))
}
