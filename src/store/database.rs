//! The state that several processes share: tasks, an index of the runs, leases, and what is to be said to a run's owner.
//!
//! SQLite with a write-ahead log. What it says of runs is folded from their transcripts and brought up to date by
//! [`Database::refresh`], so a damaged database costs time: it is set aside and built again, with those of its tasks that can still be read. Promises: two
//! processes never own one run, what was posted to an owner stays until it says that it is done, and every call ends
//! within about the busy timeout.

mod leases;
mod open;
mod posts;
mod runs;
mod tasks;

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use thiserror::Error;

pub use self::leases::Claim;
pub use self::open::Opened;
pub use self::posts::Post;
pub use self::runs::{Problem, Refreshed};
pub use self::tasks::{Numbered, TasksError};

/// What can go wrong. Completes "failed to ".
#[derive(Debug, Error)]
pub enum DatabaseError {
    #[error("{action} the state database `{}`: {source}", path.display())]
    Sql {
        action: &'static str,
        path: PathBuf,
        source: rusqlite::Error,
    },
    #[error("{action} `{}`: {source}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "open the state database `{}`: a newer Outrigger made it (version {found}, this one knows {known}); use that one, or another --state-dir",
        path.display()
    )]
    Newer {
        path: PathBuf,
        found: i64,
        known: i64,
    },
    #[error("write an overview as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// An open database. One connection: not for use by two threads at once.
#[derive(Debug)]
pub struct Database {
    connection: Connection,
    path: PathBuf,
}

impl Database {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Turns an error of SQLite into ours.
    fn failed(&self, action: &'static str) -> impl Fn(rusqlite::Error) -> DatabaseError + use<> {
        let path = self.path.clone();
        move |source| DatabaseError::Sql {
            action,
            path: path.clone(),
            source,
        }
    }
}

#[cfg(test)]
mod tests;
