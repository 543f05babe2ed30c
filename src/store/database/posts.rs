//! What one process has to say to the owner of a run: answers and cancels from another window or a terminal.

use rusqlite::params;

use super::{Database, DatabaseError};
use crate::kernel::ids::RunId;

/// Something posted to a run. Stays until it is done: an owner that dies over it leaves it to the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    pub id: i64,
    pub run: RunId,
    pub body: String,
}

impl Database {
    /// Posts `body` to the owner of `run`, whoever that is or will be.
    ///
    /// # Errors
    /// When the database cannot be written to.
    pub fn post(&mut self, run: &RunId, body: &str) -> Result<(), DatabaseError> {
        self.connection
            .execute(
                "INSERT INTO posts (run, body) VALUES (?1, ?2)",
                params![run.as_str(), body],
            )
            .map_err(self.failed("post to a run in"))?;
        Ok(())
    }

    /// What was posted to `run` and is not done, in the order of posting.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn posts(&self, run: &RunId) -> Result<Vec<Post>, DatabaseError> {
        let failed = self.failed("read the posts of");
        let mut query = self
            .connection
            .prepare_cached("SELECT id, body FROM posts WHERE run = ?1 ORDER BY id")
            .map_err(&failed)?;
        let posts = query
            .query_map([run.as_str()], |row| {
                Ok(Post {
                    id: row.get(0)?,
                    run: run.clone(),
                    body: row.get(1)?,
                })
            })
            .map_err(&failed)?;
        posts.collect::<Result<_, _>>().map_err(&failed)
    }

    /// The post is in the run's transcript; it is not given again.
    ///
    /// # Errors
    /// When the database cannot be written to.
    pub fn post_is_done(&mut self, post: &Post) -> Result<(), DatabaseError> {
        self.connection
            .execute("DELETE FROM posts WHERE id = ?1", [post.id])
            .map_err(self.failed("take a post out of"))?;
        Ok(())
    }

    /// A number that changes when another process has written. Cheap: meant to be looked at several times a second.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn version_of_others(&self) -> Result<i64, DatabaseError> {
        self.connection
            .query_row("PRAGMA data_version", [], |row| row.get(0))
            .map_err(self.failed("look at"))
    }
}
