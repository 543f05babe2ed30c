//! Opening: migrations, and what to do with a damaged file.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use super::{Database, DatabaseError};
use crate::store::transcript::make_private_folder;

/// How long a call waits for another process that is writing.
const BUSY: Duration = Duration::from_secs(5);

/// Each brings a database from its place in the list to the next version. Never changed once released, only added to.
const MIGRATIONS: [&str; 2] = [
    "
    CREATE TABLE runs (
        id TEXT PRIMARY KEY,
        started_at INTEGER NOT NULL,
        over INTEGER NOT NULL,
        size INTEGER NOT NULL,
        overview TEXT NOT NULL
    ) STRICT;
    CREATE INDEX runs_by_start ON runs (started_at DESC);
    CREATE TABLE leases (
        run TEXT PRIMARY KEY,
        owner TEXT NOT NULL,
        heartbeat INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE posts (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        run TEXT NOT NULL,
        body TEXT NOT NULL
    ) STRICT;
    CREATE INDEX posts_by_run ON posts (run, id);
",
    // The number orders; ids are never used again.
    "
    CREATE TABLE tasks (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        body TEXT NOT NULL
    ) STRICT;
    ALTER TABLE runs ADD COLUMN task TEXT;
    CREATE INDEX runs_by_task ON runs (task, started_at) WHERE task IS NOT NULL;
",
];

/// What opening found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    Fine,
    /// There was none, or an older one: now there is one of this version.
    Migrated,
    /// There was a damaged one. It lies there now, and a new one was made, which is empty until it is refreshed.
    SetAside(PathBuf),
}

enum Failure {
    Damaged,
    Other(DatabaseError),
}

impl Database {
    /// Opens the database at `path`, and makes it when it is not there.
    ///
    /// # Errors
    /// When its place cannot be written to, a newer version made it, or another process holds it for too long. Damage is no
    /// error.
    pub fn open(path: &Path) -> Result<(Self, Opened), DatabaseError> {
        let io = |action| {
            move |source| DatabaseError::Io {
                action,
                path: path.to_owned(),
                source,
            }
        };
        if let Some(folder) = path.parent() {
            make_private_folder(folder).map_err(io("make the folder of"))?;
        }
        match Self::try_open(path) {
            Ok((database, migrated)) => {
                let opened = if migrated {
                    Opened::Migrated
                } else {
                    Opened::Fine
                };
                Ok((database, opened))
            }
            Err(Failure::Other(error)) => Err(error),
            Err(Failure::Damaged) => {
                let aside = set_aside(path).map_err(io("set aside the damaged state database"))?;
                match Self::try_open(path) {
                    Ok((mut database, _)) => {
                        // Runs come back from their transcripts; tasks are nowhere else.
                        super::tasks::rescue(&aside, &mut database);
                        Ok((database, Opened::SetAside(aside)))
                    }
                    Err(Failure::Other(error)) => Err(error),
                    Err(Failure::Damaged) => Err(io("open the state database")(
                        std::io::ErrorKind::InvalidData.into(),
                    )),
                }
            }
        }
    }

    fn try_open(path: &Path) -> Result<(Self, bool), Failure> {
        let failed = |action| {
            move |source: rusqlite::Error| match source.sqlite_error_code() {
                Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => Failure::Damaged,
                _ => Failure::Other(DatabaseError::Sql {
                    action,
                    path: path.to_owned(),
                    source,
                }),
            }
        };
        // The last process that closes it removes the log: if it is there, a process died or is at work.
        let closed_well = !beside(path, "-wal").exists();
        let mut connection = Connection::open(path).map_err(failed("open"))?;
        keep_private(path);
        connection.busy_timeout(BUSY).map_err(failed("open"))?;
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;",
            )
            .map_err(failed("open"))?;
        if !closed_well {
            let found: String = connection
                .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
                .map_err(failed("check"))?;
            if found != "ok" {
                return Err(Failure::Damaged);
            }
        }
        let migrated = migrate(&mut connection, path, failed("migrate"))?;
        let database = Self {
            connection,
            path: path.to_owned(),
        };
        Ok((database, migrated))
    }
}

/// Whether there was anything to do.
fn migrate(
    connection: &mut Connection,
    path: &Path,
    failed: impl Fn(rusqlite::Error) -> Failure,
) -> Result<bool, Failure> {
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    let version = |connection: &Connection| {
        connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))
    };
    if version(connection).map_err(&failed)? == known {
        return Ok(false);
    }
    // Two processes may come here at once: the second finds the work done.
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(&failed)?;
    let found = version(&transaction).map_err(&failed)?;
    if found > known {
        return Err(Failure::Other(DatabaseError::Newer {
            path: path.to_owned(),
            found,
            known,
        }));
    }
    let done = usize::try_from(found).unwrap_or_default();
    for migration in MIGRATIONS.iter().skip(done) {
        transaction.execute_batch(migration).map_err(&failed)?;
    }
    transaction
        .pragma_update(None, "user_version", known)
        .map_err(&failed)?;
    transaction.commit().map_err(&failed)?;
    Ok(found < known)
}

/// Moves a damaged database out of the way, with what belongs to it. Nothing is deleted: a person may want to look at it.
fn set_aside(path: &Path) -> std::io::Result<PathBuf> {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let ending = format!(".damaged-{}", now.as_millis());
    for part in ["-wal", "-shm"] {
        let file = beside(path, part);
        match fs::rename(&file, beside(&file, &ending)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            other => other?,
        }
    }
    let aside = beside(path, &ending);
    match fs::rename(path, &aside) {
        // Another process was first.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(aside),
        other => other.map(|()| aside),
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}

/// The folder is the user's alone already; this holds when the file is copied elsewhere.
#[cfg(unix)]
fn keep_private(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let _ = fs::set_permissions(path, PermissionsExt::from_mode(0o600));
}

#[cfg(not(unix))]
fn keep_private(_path: &Path) {}
