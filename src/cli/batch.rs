//! `outrigger batch`: tasks from a list, each in a worktree of its own, their results taken by choice.
//!
//! The user's tree is untouched until a result is accepted. What is known of a batch lies beside the workspace's state.

mod accept;
mod board;
mod child;
mod list;
mod record;
mod table;
mod work;
mod worktree;

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail, ensure};
use clap::{Args, Subcommand};
use serde_json::Value;
use tokio::sync::{Mutex, mpsc, watch};

use super::output::say;
use super::run::RunFlags;
use super::usage::Usage;
use super::words::{DIM, styled};
use super::workspace::{Open, WorkspaceArguments};
use crate::app::{check, wall_ms};
use crate::config::Origin;
use board::{Rules, Standing};
use record::{Batch, Folder, Where};
use work::Workshop;
use worktree::Repository;

/// Work through a list of tasks, each in a git worktree of its own, and take the results by choice.
///
/// A list is Markdown (`- title`, what is indented below it, `Depends on: #1`) or JSON (`[{"title": …, "description": …,
/// "dependsOn": ["#1"]}]`). A task that blocks or fails stops only those that need it. Results are branches
/// (`outrigger/b1/2-title`); your own files change when you accept one. Without git the tasks are done in place, one
/// after the other.
///
/// Examples:
///   outrigger batch TODO.md --parallel 4 --yes
///   outrigger batch --ready                      the tasks of this workspace that are ready
///   outrigger batch show                         how the last batch stands
///   outrigger batch answer 2 8080                the answer to what task 2 asks; it then goes on
///   outrigger batch accept 1 3                   take the results of two tasks into your files
///   outrigger batch patch 1 > 1.patch
///   outrigger batch resume                       go on with what was interrupted, blocked or failed
///   outrigger batch TODO.md --parallel 8 --launcher 'srun --ntasks=1'
///
/// Exit codes: 0 all succeeded, 1 one failed, 2 usage, 3 one waits for an answer, 5 one could not be verified,
/// 130 interrupted.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment, args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    start: StartArguments,
    #[command(flatten)]
    workspace: WorkspaceArguments,
}

#[derive(Debug, Args)]
struct StartArguments {
    /// The list; `-` reads it from standard input.
    list: Option<PathBuf>,
    /// Take the tasks of this workspace that are ready (see `outrigger task`).
    #[arg(long, conflicts_with = "list")]
    ready: bool,
    /// How many tasks are worked on at the same time.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    parallel: u16,
    /// How often a task that failed is tried again.
    #[arg(long, value_name = "N", default_value_t = 0)]
    retry: u32,
    /// Start nothing new after a task has failed for good.
    #[arg(long)]
    stop_on_failure: bool,
    /// The commit from which the worktrees are made [default: the one that is checked out].
    #[arg(long, value_name = "REVISION")]
    base: Option<String>,
    /// Work in the folder itself, one task after the other, although there is git.
    #[arg(long)]
    in_place: bool,
    /// Start each task's process through this command, which gets the command line as its last words: `ssh host`,
    /// `srun --ntasks=1`, `docker run --rm -v {tree}:{tree} -v {state}:{state} image`.
    #[arg(long, value_name = "CMD…")]
    launcher: Option<String>,
    /// Run this in each new worktree first, such as `npm ci`.
    #[arg(long, value_name = "CMD…")]
    prepare: Option<String>,
    /// One event a line, each with its task, and the outcomes as the last line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: RunFlags,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show how a batch stands.
    Show {
        /// The batch.
        #[arg(default_value = "last")]
        batch: String,
        #[arg(long)]
        json: bool,
    },
    /// Go on with what is queued, interrupted, blocked or failed.
    Resume {
        /// The batch.
        #[arg(default_value = "last")]
        batch: String,
        #[arg(long)]
        json: bool,
    },
    /// Answer what a task asks; its run then goes on here, and after it `outrigger batch resume` with those that need it.
    Answer {
        task: String,
        /// What you would type if you were asked.
        #[arg(required = true)]
        answer: Vec<String>,
        #[arg(long, default_value = "last")]
        batch: String,
    },
    /// Take results into your files; where you have changed the same lines meanwhile, you are asked.
    Accept {
        /// The tasks.
        #[arg(required_unless_present = "all")]
        tasks: Vec<String>,
        /// Every task that is done.
        #[arg(long, conflicts_with = "tasks")]
        all: bool,
        #[arg(long, default_value = "last")]
        batch: String,
    },
    /// Print the result of a task as a patch.
    Patch {
        task: String,
        #[arg(long, default_value = "last")]
        batch: String,
    },
    /// Take away the worktrees and branches of a batch and what is known of it.
    Remove { batch: String },
}

pub async fn run(arguments: Arguments, open: &Open) -> anyhow::Result<u8> {
    let workspace = arguments.workspace;
    match arguments.action {
        None => start(arguments.start, &workspace).await,
        Some(Action::Show { batch, json }) => {
            let (_, batch) = Folder::open(&workspace, &batch)?;
            tell(&batch, json)?;
            Ok(0)
        }
        Some(Action::Resume { batch, json }) => {
            let (folder, mut batch) = Folder::open(&workspace, &batch)?;
            for task in &mut batch.tasks {
                if !task.place.standing.is_done() {
                    task.place.goes_on &= task.place.standing != Standing::Failed;
                    task.place.standing = Standing::Queued;
                    task.place.taken_up = 0;
                }
            }
            go_on(batch, folder, &workspace, json).await
        }
        Some(Action::Answer {
            task,
            answer,
            batch,
        }) => {
            let (folder, batch) = Folder::open(&workspace, &batch)?;
            give_answer(batch, folder, &workspace, (&task, answer)).await
        }
        Some(Action::Accept { tasks, all, batch }) => {
            let (folder, batch) = Folder::open(&workspace, &batch)?;
            let chosen = if all {
                let done = |at: &usize| batch.tasks[*at].place.standing.is_done();
                (0..batch.tasks.len()).filter(done).collect()
            } else {
                tasks
                    .iter()
                    .map(|task| batch.task(task))
                    .collect::<Result<Vec<_>, _>>()?
            };
            let repository = repository(&batch).await?;
            let app = workspace.open(open)?;
            let code = accept::accept(batch, &chosen, (&folder, &repository), &app).await;
            app.park().await;
            code
        }
        Some(Action::Patch { task, batch }) => {
            let (_, batch) = Folder::open(&workspace, &batch)?;
            let task = &batch.tasks[batch.task(&task)?];
            let (base, branch) = accept::ends(task)?;
            say(&repository(&batch).await?.patch(base, branch).await?)?;
            Ok(0)
        }
        Some(Action::Remove { batch }) => {
            let (folder, batch) = Folder::open(&workspace, &batch)?;
            if let Some(repository) = Repository::around(&batch.root).await {
                for task in &batch.tasks {
                    if let Some(branch) = &task.branch {
                        repository.remove(&folder.tree(task), branch).await;
                    }
                }
            }
            fs::remove_dir_all(folder.path())
                .with_context(|| format!("failed to remove {}", folder.path().display()))?;
            say(&format!("batch {} is removed\n", batch.id))?;
            Ok(0)
        }
    }
}

async fn repository(batch: &Batch) -> anyhow::Result<Repository> {
    ensure!(
        batch.place != Where::InPlace,
        "batch {} was done in place: its results are in your files already; `outrigger diff` shows them",
        batch.id
    );
    let found = Repository::around(&batch.root).await;
    found.with_context(|| format!("{} is in no git repository any more", batch.root.display()))
}

async fn start(arguments: StartArguments, workspace: &WorkspaceArguments) -> anyhow::Result<u8> {
    let root = workspace.root()?;
    let root = root
        .canonicalize()
        .with_context(|| format!("failed to find {}", root.display()))?;
    let mut tasks = match &arguments.list {
        Some(file) => list::of_file(file)?,
        None if arguments.ready => list::ready(workspace)?,
        None => bail!(Usage::new(
            "it is not said what shall be done; give a list, or --ready for the tasks that are ready"
        )),
    };
    let settings = settings(&arguments.flags, workspace)?;
    let repository = if arguments.in_place {
        None
    } else {
        Repository::around(&root).await
    };
    let place = match &repository {
        Some(repository) => {
            if repository.has_uncommitted().await {
                note("changes that are not committed are in no worktree");
            }
            let base = match arguments.base {
                Some(revision) => revision,
                None => repository.head().await?,
            };
            Where::Worktrees { base }
        }
        None => {
            if arguments.parallel > 1 {
                note("without worktrees the tasks are done in place, one after the other");
            }
            Where::InPlace
        }
    };
    for task in &mut tasks {
        // A relative script is meant from here, not from a worktree.
        let from_here = |setting: &mut String| *setting = from_root(&root, setting);
        task.settings.iter_mut().for_each(from_here);
    }
    let parallel = if repository.is_some() {
        arguments.parallel.into()
    } else {
        1
    };
    let (folder, id) = Folder::make(workspace)?;
    let batch = Batch {
        id,
        root: root.clone(),
        started_at: wall_ms(),
        place,
        rules: Rules {
            parallel,
            retry: arguments.retry,
            stop_on_failure: arguments.stop_on_failure,
        },
        launcher: arguments.launcher,
        prepare: arguments.prepare,
        settings: settings
            .iter()
            .map(|setting| from_root(&root, setting))
            .collect(),
        tasks,
    };
    folder.save(&batch)?;
    go_on(batch, folder, workspace, arguments.json).await
}

/// `model=scripted:x.jsonl` with the path from the root on.
fn from_root(root: &std::path::Path, setting: &str) -> String {
    for model in ["model=", "fallbackModel="] {
        for kind in ["scripted:", "replay:"] {
            let rest = setting
                .strip_prefix(model)
                .and_then(|rest| rest.strip_prefix(kind));
            if let Some(path) = rest {
                return format!("{model}{kind}{}", root.join(path).display());
            }
        }
    }
    setting.to_owned()
}

/// What is set here for runs, by whatever layer: it holds for the tasks' runs, wherever they are.
fn settings(flags: &RunFlags, workspace: &WorkspaceArguments) -> anyhow::Result<Vec<String>> {
    let sources = check::settings(&workspace.root()?, workspace.state_dir())
        .map_err(|why| anyhow!("failed to {why}"))?;
    let loaded = sources.load(&flags.call()?);
    if let Some(problem) = loaded.problems_of_the_call().next() {
        bail!(Usage::new(problem.message.clone()));
    }
    let is_about_runs = |name: &str| {
        let first = name.split('.').next().unwrap_or_default();
        [
            "model",
            "fallbackModel",
            "engine",
            "policy",
            "budget",
            "stall",
        ]
        .contains(&first)
    };
    let mut words = Vec::new();
    for (name, value, origin) in loaded.listed() {
        if origin != Origin::Default && is_about_runs(&name) && value != Value::Null {
            list::flatten(&name, &value, &mut words);
        }
    }
    Ok(words)
}

fn note(text: &str) {
    // Where standard error is closed, nobody wants to know.
    let _ = writeln!(io::stderr(), "{text}");
}

async fn workshop(
    batch: &Batch,
    folder: Folder,
    workspace: &WorkspaceArguments,
    json: bool,
) -> anyhow::Result<Workshop> {
    let repository = match batch.place {
        Where::Worktrees { .. } => Some(repository(batch).await?),
        Where::InPlace => None,
    };
    // The state of runs in place is where every run's state of this workspace is.
    let state = crate::app::list::state_folder(&batch.root, workspace.state_dir());
    let state = state.map_err(|why| anyhow::anyhow!(why))?;
    let state = state
        .parent()
        .map_or_else(|| state.clone(), std::path::Path::to_owned);
    Ok(Workshop {
        folder,
        repository,
        state,
        json,
        git: Mutex::new(()),
    })
}

async fn go_on(
    batch: Batch,
    folder: Folder,
    workspace: &WorkspaceArguments,
    json: bool,
) -> anyhow::Result<u8> {
    let workshop = workshop(&batch, folder, workspace, json).await?;
    let batch = work::work(batch, Arc::new(workshop)).await?;
    tell(&batch, json)?;
    let is_done = batch.tasks.iter().any(|task| task.place.standing.is_done());
    if is_done && !json && batch.place != Where::InPlace {
        let hint = "Your files are as they were. `outrigger batch accept TASK…` takes results, `batch patch TASK` prints one.\n";
        say(&styled(DIM, hint))?;
    }
    Ok(board::code(&batch.places()))
}

fn tell(batch: &Batch, json: bool) -> anyhow::Result<()> {
    let text = if json {
        format!("{}\n", table::as_json(batch))
    } else {
        table::as_text(batch)
    };
    Ok(say(&text)?)
}

async fn give_answer(
    mut batch: Batch,
    folder: Folder,
    workspace: &WorkspaceArguments,
    (task, answer): (&str, Vec<String>),
) -> anyhow::Result<u8> {
    let at = batch.task(task)?;
    let standing = batch.tasks[at].place.standing;
    ensure!(
        standing == Standing::Blocked,
        "task {task} is {}: it asks nothing",
        standing.word()
    );
    let workshop = workshop(&batch, folder, workspace, false).await?;
    let (root, state) = work::places(&batch, &workshop, &batch.tasks[at]);
    let mut words = vec!["answer".to_owned(), "--json".to_owned(), "last".to_owned()];
    words.extend(answer);
    let job = child::Job {
        at,
        batch: &batch,
        task: &batch.tasks[at],
        folder: &workshop.folder,
        root: &root,
        state: &state,
        words,
    };
    let ((news, _told), (_stop, stopping)) =
        (mpsc::unbounded_channel(), watch::channel(child::Stop::No));
    let ended = child::attend(job, &news, stopping).await?;
    // A process that says what is wrong with the answer has changed nothing.
    if ended.standing == Standing::Interrupted {
        bail!("{}", ended.words);
    }
    work::keep(&batch, &workshop, at, &ended).await?;
    work::take_end(&mut batch, at, Ok(ended), child::Stop::Park);
    workshop.folder.save(&batch)?;
    tell(&batch, false)?;
    Ok(board::code(&batch.places()))
}
