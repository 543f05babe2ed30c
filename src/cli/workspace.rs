//! Which workspace a command is about, and the app that works on it.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::Args;

use crate::app::{App, list};
use crate::kernel::ids::{QuestionId, RunId};

/// Opens a workspace folder, with its state where the second path says or where the platform has it.
pub type Open = dyn Fn(&Path, Option<&Path>) -> Result<App, String>;

#[derive(Debug, Args)]
pub struct WorkspaceArguments {
    /// The project's folder [default: the current one].
    #[arg(long, value_name = "DIR", global = true)]
    root: Option<PathBuf>,
    /// Where transcripts and other state lie [default: the platform's state folder].
    #[arg(long, value_name = "DIR", global = true)]
    state_dir: Option<PathBuf>,
}

impl WorkspaceArguments {
    /// The project's folder.
    ///
    /// # Errors
    /// It cannot be found.
    pub fn root(&self) -> anyhow::Result<PathBuf> {
        match &self.root {
            Some(root) => std::path::absolute(root)
                .with_context(|| format!("failed to find {}", root.display())),
            None => std::env::current_dir().context("failed to find the current folder"),
        }
    }

    /// Where state lies, as the user chose it.
    pub fn state_dir(&self) -> Option<&Path> {
        self.state_dir.as_deref()
    }

    /// Needs a tokio runtime.
    ///
    /// # Errors
    /// The folder or its state cannot be used.
    pub fn open(&self, open: &Open) -> anyhow::Result<App> {
        let root = self.root()?;
        open(&root, self.state_dir.as_deref()).map_err(|why| anyhow!(why))
    }
}

/// The run that a person means: its id, the beginning of one, or `last`.
///
/// # Errors
/// None is meant, or several.
pub fn find_run(app: &App, meant: &str) -> anyhow::Result<RunId> {
    let whole = RunId::new(meant);
    let path = app
        .transcript(&whole)
        .with_context(|| format!("`{meant}` is no run's id"))?;
    if path.is_file() {
        return Ok(whole);
    }
    let names = run_names(app);
    if names.is_empty() {
        bail!("there is no run yet in this workspace");
    }
    choose(&names, meant).map(RunId::new)
}

/// The question that a person means: its id, with the run's part shortened if they like; the beginning of the id of the only
/// question that is open there; or `last`.
///
/// # Errors
/// None is meant, or several.
pub fn find_question(
    workspace: &WorkspaceArguments,
    app: &App,
    meant: &str,
) -> anyhow::Result<(RunId, QuestionId)> {
    if let Some((run, number)) = meant.rsplit_once(".q") {
        let run = find_run(app, run)?;
        let id = QuestionId::new(format!("{run}.q{number}"));
        return Ok((run, id));
    }
    let runs = list::runs(&workspace.root()?, workspace.state_dir(), u32::MAX);
    let runs = runs.map_err(|why| anyhow!(why))?;
    let asked = runs.into_iter().flat_map(|run| run.asked);
    let mut open: Vec<_> = asked.map(|(question, _)| question).collect();
    open.sort_by_key(|question| question.opened_at);
    let names: Vec<String> = open.iter().map(|open| open.id.to_string()).collect();
    let id = if meant == "last" {
        names.last().cloned().context("no question is open")?
    } else {
        choose(&names, meant).with_context(|| {
            format!(
                "`{meant}` is no question's id; `outrigger questions` lists those that are open"
            )
        })?
    };
    let run = open.into_iter().find(|open| open.id.as_str() == id);
    let run = run.context("no question is open")?.run;
    Ok((run, QuestionId::new(id)))
}

/// As [`find_run`], and what was taken back by the name that it was given.
///
/// # Errors
/// None is meant, or several.
pub fn find_recorded(app: &App, meant: &str) -> anyhow::Result<RunId> {
    let mut names = run_names(app);
    if meant != "last" {
        let recorded = app.recorded().context("failed to find the run")?;
        names.extend(recorded.into_iter().map(|run| run.to_string()));
        names.sort();
        names.dedup();
    }
    choose(&names, meant).map(RunId::new)
}

/// All runs of which there is a transcript, in the order in which they were started.
pub fn run_names(app: &App) -> Vec<String> {
    let any = app.transcript(&RunId::new("any"));
    let folder = any.as_deref().and_then(Path::parent);
    let entries = folder.and_then(|folder| folder.read_dir().ok());
    let mut names: Vec<String> = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some(name.strip_suffix(".jsonl")?.to_owned())
        })
        .collect();
    names.sort();
    names
}

/// The one of `names` that a person means by its beginning, or as the `last`. They are in the order of their making.
///
/// # Errors
/// None is meant, or several.
pub fn choose(names: &[String], meant: &str) -> anyhow::Result<String> {
    if meant == "last" {
        let last = names.last().cloned();
        return last.context("there is none yet in this workspace");
    }
    if let Some(name) = names.iter().find(|name| *name == meant) {
        return Ok(name.clone());
    }
    let mut found = names.iter().filter(|name| name.starts_with(meant));
    match (found.next(), found.next()) {
        (Some(name), None) => Ok(name.clone()),
        (None, _) => bail!("there is none in this workspace whose id begins with `{meant}`"),
        (Some(first), Some(second)) => {
            bail!("`{meant}` may be {first} or {second}; give more of it")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_meant_by_id_by_beginning_or_as_the_last() {
        let names = ["ra", "ra1", "ra2", "rb"].map(str::to_owned);
        let rows = [
            ("ra1", Some("ra1")),
            ("rb", Some("rb")),
            ("ra", Some("ra")),
            ("r", None),
            ("x", None),
            ("last", Some("rb")),
        ];
        for (meant, want) in rows {
            assert_eq!(choose(&names, meant).ok().as_deref(), want, "{meant}");
        }
        assert!(choose(&[], "last").is_err());
    }
}
