//! What components sent over the network, one row a request.

use crate::connection::Attempt;
use crate::ledger::Ledger;
use crate::query::to_json;
use model::egress::Egress;
use model::id::SessionId;
use model::store::StoreError;
use rusqlite::{Connection, Transaction, params};

/// Notes a request, in place of what was noted under its id before. Of those without a session only the newest are kept.
pub(crate) fn note(tx: &Transaction<'_>, record: &Egress) -> rusqlite::Result<()> {
    let sql = "INSERT INTO egress (id, session_id, data) VALUES (?1, ?2, ?3)
               ON CONFLICT (id) DO UPDATE SET data = excluded.data";
    tx.prepare_cached(sql)?.execute(params![record.id, record.session.as_str(), to_json(record)?])?;
    let known = "SELECT EXISTS (SELECT 1 FROM session WHERE id = ?1)";
    if !tx.prepare_cached(known)?.query_row([record.session.as_str()], |r| r.get(0))? {
        shed(tx)?;
    }
    Ok(())
}

impl Ledger {
    /// The requests of a session and of all below it, in the order in which they were made.
    ///
    /// # Errors
    /// As [`StoreError`] says.
    pub async fn egress_of(&self, root: &SessionId) -> Result<Vec<Egress>, StoreError> {
        let root = root.clone();
        self.records(move |db| rows(db, &root)).await
    }

    /// The newest requests of calls that belong to no session: those that a person made by themselves. In their order.
    ///
    /// # Errors
    /// As [`StoreError`] says.
    pub async fn egress_of_calls(&self) -> Result<Vec<Egress>, StoreError> {
        self.records(of_calls).await
    }

    async fn records(
        &self,
        look: impl FnOnce(&Connection) -> rusqlite::Result<Vec<String>> + Send + 'static,
    ) -> Result<Vec<Egress>, StoreError> {
        let attempt = "read what was sent";
        let rows = self.read(attempt, look).await?;
        let broken = |e: serde_json::Error| Attempt { what: attempt, path: &self.path }.json(&e);
        rows.iter().map(|row| serde_json::from_str(row).map_err(broken)).collect()
    }
}

/// Requests of calls without a session that are kept.
const KEPT: i64 = 1000;

/// Removes what is beyond those that are kept. A session's requests go with it.
pub(crate) fn shed(tx: &Transaction<'_>) -> rusqlite::Result<usize> {
    let sql = "DELETE FROM egress WHERE session_id NOT IN (SELECT id FROM session)
               AND seq <= coalesce((SELECT seq FROM egress WHERE session_id NOT IN (SELECT id FROM session)
                                    ORDER BY seq DESC LIMIT 1 OFFSET ?1), 0)";
    tx.execute(sql, [KEPT])
}

fn of_calls(db: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT data FROM (SELECT seq, data FROM egress WHERE session_id NOT IN (SELECT id FROM session)
                                 ORDER BY seq DESC LIMIT ?1) ORDER BY seq";
    db.prepare_cached(sql)?.query_map([KEPT], |r| r.get(0))?.collect()
}

fn rows(db: &Connection, root: &SessionId) -> rusqlite::Result<Vec<String>> {
    let sql = "WITH RECURSIVE family (id) AS (
                 SELECT ?1 UNION SELECT session.id FROM session JOIN family ON session.parent_id = family.id)
               SELECT data FROM egress WHERE session_id IN (SELECT id FROM family) ORDER BY seq";
    db.prepare_cached(sql)?.query_map([root.as_str()], |r| r.get(0))?.collect()
}

#[cfg(test)]
mod tests;
