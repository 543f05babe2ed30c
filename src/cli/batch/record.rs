//! What is known of a batch, on disk beside the state of the workspace, so that it can be gone on with and asked about later.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use serde::{Deserialize, Serialize};

use super::board::{Place, Rules};
use crate::app::list;
use crate::cli::workspace::{WorkspaceArguments, choose};
use crate::kernel::ids::RunId;

/// Where the work is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum Where {
    /// A worktree for each task, made from this commit.
    #[serde(rename_all = "camelCase")]
    Worktrees { base: String },
    /// In the folder itself, one after the other.
    InPlace,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Batch {
    pub id: String,
    pub root: PathBuf,
    pub started_at: i64,
    pub place: Where,
    pub rules: Rules,
    /// Words of the shell through which each task's process is started.
    pub launcher: Option<String>,
    /// A command that makes a new worktree ready to work in.
    pub prepare: Option<String>,
    /// `--set` of every run.
    pub settings: Vec<String>,
    pub tasks: Vec<Task>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Task {
    /// Its number in the list, from 1.
    pub id: String,
    pub title: String,
    pub prompt: String,
    /// `--set` of its runs, over those of the batch.
    pub settings: Vec<String>,
    #[serde(flatten)]
    pub place: Place,
    pub run: Option<RunId>,
    /// What it waits for, or why it failed, or its closing words; for people.
    pub words: String,
    pub files: usize,
    pub active_ms: u64,
    pub tokens: u64,
    pub cost_micros: u64,
    /// The commit that its worktree was made from.
    pub base: Option<String>,
    pub branch: Option<String>,
    /// Whether its result is in the user's own files.
    pub accepted: bool,
}

impl Batch {
    pub fn places(&self) -> Vec<Place> {
        self.tasks.iter().map(|task| task.place.clone()).collect()
    }

    pub fn task(&self, meant: &str) -> anyhow::Result<usize> {
        let at = self.tasks.iter().position(|task| task.id == meant);
        at.with_context(|| {
            let last = self.tasks.len();
            format!(
                "batch {} has no task `{meant}`; its tasks are 1 to {last}",
                self.id
            )
        })
    }
}

/// The folder of one batch.
#[derive(Debug, Clone)]
pub struct Folder(PathBuf);

impl Folder {
    /// Makes the folder of a new batch, with the next free id.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn make(workspace: &WorkspaceArguments) -> anyhow::Result<(Self, String)> {
        let all = all(workspace)?;
        fs::create_dir_all(&all).with_context(|| format!("failed to make {}", all.display()))?;
        let last = ids(&all).into_iter().max().unwrap_or(0);
        for number in last + 1.. {
            let id = format!("b{number}");
            let path = all.join(&id);
            match fs::create_dir(&path) {
                Ok(()) => {
                    for inner in ["tasks", "logs"] {
                        fs::create_dir(path.join(inner)).with_context(|| {
                            format!("failed to make a folder in {}", path.display())
                        })?;
                    }
                    return Ok((Self(path), id));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error)
                        .with_context(|| format!("failed to make {}", path.display()));
                }
            }
        }
        bail!("there are too many batches")
    }

    /// The batch that a person means: its id, or `last`.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn open(workspace: &WorkspaceArguments, meant: &str) -> anyhow::Result<(Self, Batch)> {
        let all = all(workspace)?;
        let mut numbers = ids(&all);
        numbers.sort_unstable();
        let names: Vec<String> = numbers.iter().map(|number| format!("b{number}")).collect();
        if names.is_empty() {
            bail!("there is no batch yet in this workspace; `outrigger batch LIST` starts one");
        }
        // Not by its beginning: b1 is one even where there is b10.
        let id = match names.iter().find(|name| *name == meant) {
            Some(name) => name.clone(),
            None => choose(&names, meant)?,
        };
        let folder = Self(all.join(id));
        let path = folder.record();
        let text = fs::read_to_string(&path)
            .with_context(|| format!("failed to read {}", path.display()))?;
        let batch = serde_json::from_str(&text)
            .with_context(|| format!("failed to read {}", path.display()))?;
        Ok((folder, batch))
    }

    /// Old or new, never half.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save(&self, batch: &Batch) -> anyhow::Result<()> {
        let text = serde_json::to_vec_pretty(batch).context("failed to write the batch as JSON")?;
        let write = || -> io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(&self.0)?;
            file.write_all(&text)?;
            file.persist(self.record())?;
            Ok(())
        };
        write().with_context(|| format!("failed to write {}", self.record().display()))
    }

    fn record(&self) -> PathBuf {
        self.0.join("batch.json")
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The state of the tasks' own workspaces.
    pub fn state(&self) -> PathBuf {
        self.0.join("state")
    }

    pub fn tree(&self, task: &Task) -> PathBuf {
        self.0.join("trees").join(&task.id)
    }

    pub fn prompt(&self, task: &Task) -> PathBuf {
        self.0.join("tasks").join(format!("{}.md", task.id))
    }

    /// Its events, one a line, of all its attempts.
    pub fn events(&self, task: &Task) -> PathBuf {
        self.0.join("logs").join(format!("{}.jsonl", task.id))
    }

    pub fn errors(&self, task: &Task) -> PathBuf {
        self.0.join("logs").join(format!("{}.err", task.id))
    }
}

fn all(workspace: &WorkspaceArguments) -> anyhow::Result<PathBuf> {
    let state = list::state_folder(&workspace.root()?, workspace.state_dir());
    Ok(state.map_err(|why| anyhow!(why))?.join("batches"))
}

fn ids(all: &Path) -> Vec<u32> {
    let entries = all.read_dir().into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.strip_prefix('b')?.parse().ok())
        .collect()
}
