//! What sessions have seen of files. A note waits for the next transaction: what a call has read is of use with the call's result
//! only, and that is what it lands with. Lost with the process, it costs another read of the file, never a change of another's.

use crate::ledger::Ledger;
use crate::query::to_json;
use model::id::SessionId;
use model::journal::Seen;
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Notes that may wait.
const MOST: usize = 256;

#[derive(Clone)]
struct Note {
    session: SessionId,
    path: String,
    data: String,
}

/// Notes that are in no transaction yet, the newest of each file, in their order.
#[derive(Default)]
pub(crate) struct Notes(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    notes: Vec<(u64, Note)>,
    /// Number of the newest note.
    newest: u64,
}

impl Notes {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // A panic leaves the list whole: it is only added to and cut.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether they should be written now. Where they could not be, the oldest goes.
    fn add(&self, note: Note) -> bool {
        let mut waiting = self.lock();
        waiting.notes.retain(|(_, n)| (&n.session, &n.path) != (&note.session, &note.path));
        if waiting.notes.len() >= MOST {
            waiting.notes.remove(0);
        }
        waiting.newest += 1;
        let number = waiting.newest;
        waiting.notes.push((number, note));
        waiting.notes.len() >= MOST
    }

    fn find(&self, session: &SessionId, path: &str) -> Option<String> {
        let waiting = self.lock();
        waiting.notes.iter().find(|(_, n)| n.session == *session && n.path == path).map(|(_, n)| n.data.clone())
    }

    /// Writes all that wait and returns the number of the newest of them, for [`Notes::landed`] once they are committed.
    pub(crate) fn put(&self, tx: &Transaction<'_>) -> rusqlite::Result<u64> {
        let (notes, newest) = {
            let waiting = self.lock();
            (waiting.notes.clone(), waiting.newest)
        };
        let sql = "INSERT INTO seen (session_id, path, data) VALUES (?1, ?2, ?3)
                   ON CONFLICT (session_id, path) DO UPDATE SET data = excluded.data";
        for (_, Note { session, path, data }) in &notes {
            tx.prepare_cached(sql)?.execute(params![session.as_str(), path, data])?;
        }
        Ok(newest)
    }

    pub(crate) fn landed(&self, newest: u64) {
        self.lock().notes.retain(|(number, _)| *number > newest);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().notes.is_empty()
    }
}

impl Ledger {
    pub(crate) async fn look_up_seen(
        &self,
        session: &SessionId,
        path: String,
    ) -> Result<Option<String>, model::store::StoreError> {
        if let Some(noted) = self.notes().find(session, &path) {
            return Ok(Some(noted));
        }
        let session = session.clone();
        self.glance("look up a seen file", move |db| row(db, &session, &path)).await
    }

    pub(crate) async fn note_seen(
        &self,
        session: &SessionId,
        path: String,
        seen: &Seen,
    ) -> Result<(), model::store::StoreError> {
        let attempt = "mark a file as seen";
        let data = to_json(seen).map_err(|e| self.at(attempt).sql(&e))?;
        let is_full = self.notes().add(Note { session: session.clone(), path, data });
        if is_full { self.write(attempt, |_| Ok(())).await } else { Ok(()) }
    }
}

fn row(db: &Connection, session: &SessionId, path: &str) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT data FROM seen WHERE session_id = ?1 AND path = ?2";
    db.prepare_cached(sql)?.query_row(params![session.as_str(), path], |r| r.get(0)).optional()
}

#[cfg(test)]
mod tests;
