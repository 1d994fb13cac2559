//! What is kept, and how much: old sessions, contents of the journal, outputs, empty pages.

use crate::ledger::Ledger;
use crate::{claims, outputs};
use model::id::SessionId;
use model::store::{Store, StoreError};
use rusqlite::{Connection, Transaction, params};
use std::time::{Duration, SystemTime};

/// Bounds of the ledger. `None` = no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Sessions that nobody touched for so many days go.
    pub keep_days: Option<u32>,
    /// Of the sessions, so many stay: the newest.
    pub max_sessions: Option<u32>,
    /// Bytes of contents that the journal keeps for undo; the oldest go first.
    pub journal_bytes: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { keep_days: None, max_sessions: None, journal_bytes: 1 << 30 }
    }
}

/// What was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tidied {
    pub sessions: usize,
    pub contents: usize,
}

/// The newest sessions stay whatever the clock says: it may have been set wrong.
const ALWAYS_KEPT: i64 = 10;
/// Sessions that go at one time; the rest goes the next time.
const AT_ONCE: i64 = 200;
/// Contents that go in one transaction.
const CONTENTS: i64 = 64;
/// A content that is about to be named by an act is among the newest.
const ABOUT_TO_BE_NAMED: i64 = 1024;
/// Pages that are given back at one time: 16 MiB.
const PAGES: u32 = 4096;
const EACH: Duration = Duration::from_secs(24 * 60 * 60);
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

impl Ledger {
    /// Brings the ledger within its bounds. A session that somebody works on stays.
    ///
    /// # Errors
    /// A ledger that fails.
    pub async fn tidy(&self, bounds: Retention, now_ms: u64) -> Result<Tidied, StoreError> {
        let mut tidied = Tidied::default();
        let before = bounds.keep_days.map(|days| now_ms.saturating_sub(u64::from(days) * DAY_MS));
        let doomed = self.read("look for old sessions", move |db| doomed(db, before, bounds.max_sessions)).await?;
        for id in doomed.iter().filter_map(|id| SessionId::parse(id)) {
            match self.delete(&id).await {
                Ok(()) => tidied.sessions += 1,
                Err(StoreError::Busy { .. } | StoreError::NoSession(_)) => {}
                Err(error) => return Err(error),
            }
        }
        self.write("remove what belongs to no session", orphans).await?;
        tidied.contents = self.shed(bounds.journal_bytes).await?;
        self.write("give back empty pages", |tx| tx.execute_batch(&format!("PRAGMA incremental_vacuum({PAGES})")))
            .await?;
        outputs::sweep(&self.data_dir.join("outputs"), SystemTime::now());
        self.sweep_locks().await?;
        Ok(tidied)
    }

    /// The journal is brought within its bounds each time, all else once a day.
    ///
    /// # Errors
    /// A ledger that fails.
    pub async fn keep_tidy(&self, bounds: Retention, now_ms: u64) -> Result<(), StoreError> {
        let mark = self.data_dir.join("tidied");
        let age =
            mark.metadata().and_then(|m| m.modified()).ok().and_then(|at| SystemTime::now().duration_since(at).ok());
        if age.is_some_and(|age| age < EACH) {
            return self.shed(bounds.journal_bytes).await.map(drop);
        }
        self.tidy(bounds, now_ms).await?;
        // Without the mark it is tidied again the next time: no harm.
        let _ = std::fs::write(mark, "");
        Ok(())
    }

    /// Removes the oldest contents until the rest fits.
    ///
    /// # Errors
    /// A ledger that fails.
    pub async fn shed(&self, limit: u64) -> Result<usize, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut gone = 0;
        loop {
            match self.write("make room in the journal", move |tx| shed(tx, limit)).await? {
                0 => return Ok(gone),
                n => gone += n,
            }
        }
    }

    /// Lock files of sessions that are no more.
    async fn sweep_locks(&self) -> Result<(), StoreError> {
        let names = std::fs::read_dir(self.data_dir.join("locks")).into_iter().flatten().flatten();
        let names: Vec<String> = names.filter_map(|e| e.file_name().into_string().ok()).collect();
        let look = move |db: &Connection| {
            let mut known = db.prepare_cached("SELECT 1 FROM session WHERE id = ?1")?;
            let mut stray = vec![];
            for name in names {
                if !known.exists([&name])? {
                    stray.push(name);
                }
            }
            Ok(stray)
        };
        for name in self.read("look for stray locks", look).await? {
            // One that is held belongs to a session that is about to be.
            if let Ok(held) = claims::claim(&self.data_dir, &name) {
                held.forget();
            }
        }
        Ok(())
    }
}

fn doomed(db: &Connection, before: Option<u64>, most: Option<u32>) -> rusqlite::Result<Vec<String>> {
    let before = before.map(|b| i64::try_from(b).unwrap_or(i64::MAX));
    let sql = "SELECT id FROM (
                 SELECT id, updated, row_number() OVER (ORDER BY touched DESC, seq DESC) AS rank
                   FROM session WHERE parent_id IS NULL)
                WHERE rank > ?3 AND (updated < ?1 OR rank > ?2) ORDER BY rank DESC LIMIT ?4";
    let mut q = db.prepare(sql)?;
    let always = most.map_or(ALWAYS_KEPT, |most| ALWAYS_KEPT.min(i64::from(most)));
    q.query_map(params![before, most, always, AT_ONCE], |r| r.get(0))?.collect()
}

fn orphans(tx: &Transaction<'_>) -> rusqlite::Result<()> {
    tx.execute("DELETE FROM journal WHERE session_id NOT IN (SELECT id FROM session)", [])?;
    tx.execute("DELETE FROM seen WHERE session_id NOT IN (SELECT id FROM session)", [])?;
    crate::egress::shed(tx)?;
    let sql = "DELETE FROM blob WHERE hash IN (
                 SELECT hash FROM blob_use WHERE used < (SELECT max(used) FROM blob_use) - ?1)
                 AND NOT EXISTS (SELECT 1 FROM journal WHERE before_hash = blob.hash)
                 AND NOT EXISTS (SELECT 1 FROM journal WHERE after_hash = blob.hash)";
    tx.execute(sql, [ABOUT_TO_BE_NAMED])?;
    Ok(())
}

/// Removes some of the oldest contents, as long as all are too many. Returns how many went.
fn shed(tx: &Transaction<'_>, limit: i64) -> rusqlite::Result<usize> {
    let total: i64 = tx.query_row("SELECT coalesce(sum(size), 0) FROM blob_use", [], |r| r.get(0))?;
    let mut over = total - limit;
    let mut oldest = tx.prepare("SELECT hash, size FROM blob_use ORDER BY used LIMIT ?1")?;
    let oldest: Vec<(String, i64)> =
        oldest.query_map([CONTENTS], |r| Ok((r.get(0)?, r.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
    let mut gone = 0;
    for (hash, size) in oldest {
        if over <= 0 {
            break;
        }
        gone += tx.execute("DELETE FROM blob WHERE hash = ?1", [hash])?;
        over -= size;
    }
    Ok(gone)
}

#[cfg(test)]
mod tests;
