//! Tasks, as people said them. What their runs make of them is folded in by whoever asks.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, params};
use thiserror::Error;

use super::{Database, DatabaseError};
use crate::kernel::ids::TaskId;
use crate::kernel::task::{Task, TaskRefusal};

/// Why tasks were not changed. Completes "failed to change the tasks: ".
#[derive(Debug, Error)]
pub enum TasksError {
    #[error("failed to {0}")]
    Database(#[from] DatabaseError),
    #[error("{0}")]
    Refused(#[from] TaskRefusal),
}

/// The tasks inside of a change, and the ids of those to come.
#[derive(Debug)]
pub struct Numbered {
    /// In the order in which they were made.
    pub tasks: Vec<Task>,
    last: i64,
}

impl Numbered {
    /// An id that no task has had.
    pub fn new_id(&mut self) -> TaskId {
        self.last += 1;
        TaskId::new(format!("t{}", self.last))
    }
}

impl Database {
    /// In the order in which they were made.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn tasks(&self) -> Result<Vec<Task>, DatabaseError> {
        let failed = self.failed("list the tasks of");
        let rows = bodies(&self.connection).map_err(failed)?;
        Ok(rows.into_iter().map(|(_, task)| task).collect())
    }

    /// Lets `change` work on all tasks; what it leaves there is written at once, or nothing when it refuses. Others that
    /// change tasks wait meanwhile.
    ///
    /// # Errors
    /// `change` refuses, or the database cannot be written to.
    pub fn change_tasks<T>(
        &mut self,
        change: impl FnOnce(&mut Numbered) -> Result<T, TaskRefusal>,
    ) -> Result<T, TasksError> {
        let failed = self.failed("write the tasks of");
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(&failed)?;
        let before = bodies(&transaction).map_err(&failed)?;
        let mut numbered = Numbered {
            last: last_number(&transaction).map_err(&failed)?,
            tasks: before.iter().map(|(_, task)| task.clone()).collect(),
        };
        let done = change(&mut numbered)?;
        for task in &numbered.tasks {
            let known = before.iter().find(|(_, old)| old.id == task.id);
            if known.is_some_and(|(_, old)| old == task) {
                continue;
            }
            write(&transaction, task).map_err(&failed)?;
        }
        transaction.commit().map_err(&failed)?;
        Ok(done)
    }
}

fn bodies(connection: &Connection) -> rusqlite::Result<Vec<(i64, Task)>> {
    let mut query = connection.prepare_cached("SELECT number, body FROM tasks ORDER BY number")?;
    let rows = query.query_map([], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
    })?;
    let mut tasks = Vec::new();
    for row in rows {
        let (number, body) = row?;
        match serde_json::from_str(&body) {
            Ok(task) => tasks.push((number, task)),
            Err(error) => tracing::error!("task t{number} cannot be read: {error}"),
        }
    }
    Ok(tasks)
}

/// The greatest number that was ever given.
fn last_number(connection: &Connection) -> rusqlite::Result<i64> {
    let given = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'tasks'";
    connection.query_row(given, [], |row| row.get(0))
}

fn write(transaction: &Transaction<'_>, task: &Task) -> rusqlite::Result<()> {
    let number = task
        .id
        .as_str()
        .strip_prefix('t')
        .and_then(|number| number.parse::<i64>().ok());
    let Some(number) = number else {
        return Ok(());
    };
    let body = serde_json::to_string(task)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
    transaction.execute(
        "INSERT INTO tasks (number, body) VALUES (?1, ?2) ON CONFLICT (number) DO UPDATE SET body = ?2",
        params![number, body],
    )?;
    Ok(())
}

/// Takes over what can be read of the tasks of a damaged database.
pub(super) fn rescue(damaged: &Path, database: &mut Database) {
    let mut rescued = || -> rusqlite::Result<usize> {
        let old = Connection::open_with_flags(damaged, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let mut query = old.prepare("SELECT body FROM tasks ORDER BY number")?;
        let rows = query.query_map([], |row| row.get::<_, String>(0))?;
        let transaction = database.connection.transaction()?;
        let mut count = 0;
        // The rows before the damage.
        for body in rows.map_while(Result::ok) {
            if let Ok(task) = serde_json::from_str(&body) {
                write(&transaction, &task)?;
                count += 1;
            }
        }
        transaction.commit()?;
        Ok(count)
    };
    match rescued() {
        Ok(0) => {}
        Ok(count) => tracing::warn!("{count} tasks were taken over from {}", damaged.display()),
        Err(error) => {
            tracing::warn!(
                "no task could be taken over from {}: {error}",
                damaged.display()
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::task::{TaskOrigin, TaskSettings, TaskState};

    fn add(numbered: &mut Numbered, title: &str) -> TaskId {
        let id = numbered.new_id();
        numbered.tasks.push(Task {
            id: id.clone(),
            title: title.into(),
            description: String::new(),
            origin: TaskOrigin::Prompt,
            depends_on: Vec::new(),
            settings: TaskSettings::default(),
            state: TaskState::Backlog,
            state_since: 1,
            runs: Vec::new(),
            created_at: 1,
            changed_at: 1,
            log: Vec::new(),
        });
        id
    }

    fn titles(database: &Database) -> Vec<String> {
        let tasks = database.tasks().unwrap();
        tasks
            .into_iter()
            .map(|task| format!("{} {}", task.id, task.title))
            .collect()
    }

    #[test]
    fn a_change_is_made_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.db");
        let (mut database, _) = Database::open(&path).unwrap();
        let (mut other, _) = Database::open(&path).unwrap();
        for title in ["größer", "two"] {
            database
                .change_tasks(|tasks| Ok(add(tasks, title)))
                .unwrap();
        }
        let refused = other.change_tasks(|tasks| {
            tasks.tasks[0].title = "never".into();
            add(tasks, "never");
            Err::<(), _>(TaskRefusal::NoTitle)
        });
        assert!(refused.is_err());
        let third = other.change_tasks(|tasks| {
            tasks.tasks[1].title = "zwei".into();
            Ok(add(tasks, "three"))
        });
        assert_eq!(third.unwrap(), TaskId::new("t3"));
        assert_eq!(titles(&database), ["t1 größer", "t2 zwei", "t3 three"]);
    }

    #[test]
    fn tasks_of_a_damaged_database_are_taken_over_as_far_as_they_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.db");
        let (mut database, _) = Database::open(&path).unwrap();
        database
            .change_tasks(|tasks| Ok(add(tasks, "kept")))
            .unwrap();
        let (mut fresh, _) = Database::open(&folder.path().join("fresh.db")).unwrap();
        rescue(&path, &mut fresh);
        assert_eq!(titles(&fresh), ["t1 kept"]);
        let next = fresh.change_tasks(|tasks| Ok(tasks.new_id()));
        assert_eq!(next.unwrap(), TaskId::new("t2"));
        std::fs::write(folder.path().join("no.db"), "nothing").unwrap();
        rescue(&folder.path().join("no.db"), &mut fresh);
        assert_eq!(titles(&fresh), ["t1 kept"]);
    }
}
