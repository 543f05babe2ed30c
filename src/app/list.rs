//! All runs of a workspace, without working on any: for lists that must not wait for transcripts to be read.

use std::path::{Path, PathBuf};

use crate::kernel::ids::RunId;
use crate::kernel::question::Question;
use crate::store::database::Database;
use crate::store::overview::Overview;
use crate::store::state_dir::StateDir;
use crate::store::transcript::is_written;

/// A run, and whether somebody works on it.
#[derive(Debug, Clone)]
pub struct Listed {
    pub overview: Overview,
    pub at_work: bool,
    /// Its open questions, each with the file by which it may be answered.
    pub asked: Vec<(Question, Option<PathBuf>)>,
}

/// The newest runs, newest first.
///
/// # Errors
/// The state cannot be opened or read: for people.
pub fn runs(root: &Path, state_dir: Option<&Path>, most: u32) -> Result<Vec<Listed>, String> {
    let state = StateDir::open(root, state_dir).map_err(|error| format!("failed to {error}"))?;
    let listed = || {
        let (mut database, _) = Database::open(&state.database())?;
        let refreshed = database.refresh(&state.runs())?;
        for problem in refreshed.problems {
            tracing::warn!("{problem:?}");
        }
        database.runs(most)
    };
    let overviews = listed().map_err(|error| format!("failed to {error}"))?;
    Ok(overviews
        .into_iter()
        .map(|overview| Listed {
            at_work: overview.end.is_none() && is_at_work(&state, &overview.run),
            asked: asked(&state, &overview),
            overview,
        })
        .collect())
}

/// Where the state of a workspace lies.
///
/// # Errors
/// There is no place for it: for people.
pub fn state_folder(root: &Path, state_dir: Option<&Path>) -> Result<PathBuf, String> {
    let state = StateDir::open(root, state_dir).map_err(|error| format!("failed to {error}"))?;
    Ok(state.path().to_owned())
}

fn asked(state: &StateDir, overview: &Overview) -> Vec<(Question, Option<PathBuf>)> {
    if overview.end.is_some() {
        return Vec::new();
    }
    let open = overview.open_questions();
    open.map(|question| (question.clone(), state.answer_file(&question.id)))
        .collect()
}

pub(super) fn is_at_work(state: &StateDir, run: &RunId) -> bool {
    state.transcript(run).is_some_and(|path| is_written(&path))
}
