//! Leases in the database: taken by exactly one.

use rusqlite::{OptionalExtension, TransactionBehavior, params};

use super::{Database, DatabaseError};
use crate::kernel::ids::RunId;
use crate::store::lease::owner::Observer;
use crate::store::lease::{Owner, is_held};

/// What came of trying to own a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// It is ours.
    Ours {
        /// Who owned it before and is dead.
        after: Option<Owner>,
    },
    /// It belongs to another process, which lives.
    Held(Owner),
}

impl Database {
    /// Makes `owner` the owner of `run`, unless another one is and lives. Of several that try at once, one succeeds.
    ///
    /// # Errors
    /// When the database cannot be written to; nothing was claimed then.
    pub fn claim(
        &mut self,
        run: &RunId,
        owner: &Owner,
        observer: &mut Observer,
    ) -> Result<Claim, DatabaseError> {
        let failed = self.failed("claim a run in");
        let name = serde_json::to_string(owner)?;
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(&failed)?;
        let found: Option<(String, i64)> = transaction
            .query_row(
                "SELECT owner, heartbeat FROM leases WHERE run = ?1",
                [run.as_str()],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()
            .map_err(&failed)?;
        // What cannot be read holds nobody.
        let former = found.and_then(|(former, heartbeat)| {
            Some((serde_json::from_str::<Owner>(&former).ok()?, heartbeat))
        });
        let after = match former {
            Some((former, _)) if former == *owner => None,
            Some((former, heartbeat)) => {
                if is_held(observer.see(&former, heartbeat)) {
                    return Ok(Claim::Held(former));
                }
                Some(former)
            }
            None => None,
        };
        transaction
            .execute(
                "INSERT OR REPLACE INTO leases (run, owner, heartbeat) VALUES (?1, ?2, 0)",
                params![run.as_str(), name],
            )
            .map_err(&failed)?;
        transaction.commit().map_err(&failed)?;
        Ok(Claim::Ours { after })
    }

    /// A sign of life for all runs of `owner`.
    ///
    /// # Errors
    /// When the database cannot be written to.
    pub fn heartbeat(&mut self, owner: &Owner) -> Result<(), DatabaseError> {
        let name = serde_json::to_string(owner)?;
        self.connection
            .execute(
                "UPDATE leases SET heartbeat = heartbeat + 1 WHERE owner = ?1",
                [name],
            )
            .map_err(self.failed("renew the leases in"))?;
        Ok(())
    }

    /// Gives a run up, if it is the owner's.
    ///
    /// # Errors
    /// When the database cannot be written to.
    pub fn release(&mut self, run: &RunId, owner: &Owner) -> Result<(), DatabaseError> {
        let name = serde_json::to_string(owner)?;
        self.connection
            .execute(
                "DELETE FROM leases WHERE run = ?1 AND owner = ?2",
                params![run.as_str(), name],
            )
            .map_err(self.failed("release a run in"))?;
        Ok(())
    }

    /// The runs whose owners are dead: interrupted, and to be claimed by whoever wants to go on with them.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn orphans(&self, observer: &mut Observer) -> Result<Vec<(RunId, Owner)>, DatabaseError> {
        let failed = self.failed("read the leases of");
        let mut query = self
            .connection
            .prepare("SELECT run, owner, heartbeat FROM leases ORDER BY run")
            .map_err(&failed)?;
        let rows = query
            .query_map([], |row| {
                Ok((
                    row.get::<_, String>(0)?,
                    row.get::<_, String>(1)?,
                    row.get::<_, i64>(2)?,
                ))
            })
            .map_err(&failed)?;
        let mut orphans = Vec::new();
        for row in rows {
            let (run, owner, heartbeat) = row.map_err(&failed)?;
            if let Ok(owner) = serde_json::from_str::<Owner>(&owner)
                && !is_held(observer.see(&owner, heartbeat))
            {
                orphans.push((RunId(run), owner));
            }
        }
        Ok(orphans)
    }
}
