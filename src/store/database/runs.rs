//! The index of the runs, brought up to date from their transcripts.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};

use super::{Database, DatabaseError};
use crate::kernel::event::Record;
use crate::kernel::ids::{RunId, TaskId};
use crate::store::overview::Overview;
use crate::store::transcript::{self, BadLine};

/// Records read at once.
const PAGE: usize = 1000;

/// What a refresh found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Refreshed {
    /// Runs whose transcripts had grown or were new.
    pub changed: Vec<RunId>,
    /// Runs whose transcripts are gone.
    pub gone: Vec<RunId>,
    pub problems: Vec<Problem>,
}

/// A transcript that could not be read, or not all of it. The other runs are not touched by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    Unreadable { run: RunId, error: String },
    BadLine { run: RunId, line: BadLine },
}

impl Database {
    /// Reads what was added to the transcripts in `folder` since the last time. Costs a look at each file and a read of
    /// the new records.
    ///
    /// # Errors
    /// When the folder cannot be listed or the database cannot be written to.
    pub fn refresh(&mut self, folder: &Path) -> Result<Refreshed, DatabaseError> {
        let failed = self.failed("refresh");
        let mut known = self.sizes()?;
        let mut refreshed = Refreshed::default();
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(&failed)?;
        for (run, size) in transcripts(folder).map_err(|source| DatabaseError::Io {
            action: "list the transcripts in",
            path: folder.to_owned(),
            source,
        })? {
            if known.remove(&run) == Some(size) {
                continue;
            }
            let path = folder.join(format!("{run}.jsonl"));
            let before = read_overview(&transaction, &run).map_err(&failed)?;
            match read_on(&path, before, &run, &mut refreshed.problems) {
                Ok(overview) => {
                    write_overview(&transaction, &overview, size, &failed)?;
                    refreshed.changed.push(run);
                }
                Err(error) => refreshed.problems.push(Problem::Unreadable {
                    run,
                    error: error.to_string(),
                }),
            }
        }
        for run in known.into_keys() {
            transaction
                .execute("DELETE FROM runs WHERE id = ?1", [run.as_str()])
                .map_err(&failed)?;
            refreshed.gone.push(run);
        }
        refreshed.changed.sort_unstable();
        refreshed.gone.sort_unstable();
        transaction.commit().map_err(&failed)?;
        Ok(refreshed)
    }

    /// The newest runs first, at most `limit`.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn runs(&self, limit: u32) -> Result<Vec<Overview>, DatabaseError> {
        self.overviews(
            "SELECT overview FROM runs ORDER BY started_at DESC, id DESC LIMIT ?1",
            i64::from(limit),
        )
    }

    /// Runs that are not over, newest first: to be resumed, or at work in some process.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn unfinished_runs(&self) -> Result<Vec<Overview>, DatabaseError> {
        self.overviews(
            "SELECT overview FROM runs WHERE over = ?1 ORDER BY started_at DESC, id DESC",
            0,
        )
    }

    /// The runs that are attempts at some task, oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn runs_of_tasks(&self) -> Result<Vec<Overview>, DatabaseError> {
        self.overviews(
            "SELECT overview FROM runs WHERE task IS NOT NULL AND ?1 = 0 ORDER BY started_at, id",
            0,
        )
    }

    /// # Errors
    /// When the database cannot be read.
    pub fn run(&self, run: &RunId) -> Result<Option<Overview>, DatabaseError> {
        read_overview(&self.connection, run).map_err(self.failed("read"))
    }

    fn overviews(&self, query: &str, parameter: i64) -> Result<Vec<Overview>, DatabaseError> {
        let failed = self.failed("list the runs of");
        let mut query = self.connection.prepare_cached(query).map_err(&failed)?;
        let texts = query
            .query_map([parameter], |row| row.get::<_, String>(0))
            .map_err(&failed)?;
        let mut overviews = Vec::new();
        for text in texts {
            // One that an older version wrote otherwise comes back with the next refresh.
            if let Ok(overview) = serde_json::from_str(&text.map_err(&failed)?) {
                overviews.push(overview);
            }
        }
        Ok(overviews)
    }

    /// Size of each transcript when it was last read.
    fn sizes(&self) -> Result<HashMap<RunId, u64>, DatabaseError> {
        let failed = self.failed("list the runs of");
        let mut query = self
            .connection
            .prepare_cached("SELECT id, size FROM runs")
            .map_err(&failed)?;
        let rows = query
            .query_map([], |row| {
                let size: i64 = row.get(1)?;
                Ok((RunId(row.get(0)?), u64::try_from(size).unwrap_or_default()))
            })
            .map_err(&failed)?;
        rows.collect::<Result<_, _>>().map_err(&failed)
    }
}

/// Each transcript of the folder with its size; none when there is no folder yet.
fn transcripts(folder: &Path) -> std::io::Result<Vec<(RunId, u64)>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let Some(run) = name.to_str().and_then(|name| name.strip_suffix(".jsonl")) else {
            continue;
        };
        // One that has just been deleted is not there.
        if let Ok(metadata) = entry.metadata()
            && metadata.is_file()
        {
            found.push((RunId::new(run), metadata.len()));
        }
    }
    Ok(found)
}

/// Folds the records after those of `before` into it.
fn read_on(
    path: &Path,
    before: Option<Overview>,
    run: &RunId,
    problems: &mut Vec<Problem>,
) -> Result<Overview, transcript::TranscriptError> {
    let mut overview = before.unwrap_or_else(|| Overview::new(run.clone()));
    loop {
        let page = transcript::read::<Record>(path, overview.last_seq, PAGE)?;
        for record in &page.records {
            overview.apply(record);
        }
        let bad_lines = page.bad_lines.into_iter();
        problems.extend(bad_lines.map(|line| Problem::BadLine {
            run: run.clone(),
            line,
        }));
        if !page.more || page.records.is_empty() {
            return Ok(overview);
        }
    }
}

fn read_overview(
    connection: &rusqlite::Connection,
    run: &RunId,
) -> rusqlite::Result<Option<Overview>> {
    let text: Option<String> = connection
        .query_row(
            "SELECT overview FROM runs WHERE id = ?1",
            [run.as_str()],
            |row| row.get(0),
        )
        .optional()?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

fn write_overview(
    transaction: &Transaction<'_>,
    overview: &Overview,
    size: u64,
    failed: impl Fn(rusqlite::Error) -> DatabaseError,
) -> Result<(), DatabaseError> {
    let mut query = transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO runs (id, started_at, over, size, overview, task)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )
        .map_err(&failed)?;
    query
        .execute(params![
            overview.run.as_str(),
            overview.started_at,
            i64::from(overview.end.is_some()),
            i64::try_from(size).unwrap_or(i64::MAX),
            serde_json::to_string(overview)?,
            overview.task.as_ref().map(TaskId::as_str)
        ])
        .map_err(&failed)?;
    Ok(())
}
