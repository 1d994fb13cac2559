//! The ledger as undo sees it: the whole talk, the acts that still count, and how far each undo came.

use crate::ledger::Ledger;
use crate::query::{self, to_json};
use async_trait::async_trait;
use model::id::SessionId;
use model::journal::EntryId;
use model::message::WithParts;
use model::store::{Change, StoreError};
use model::undo::{Recorded, StoredUndo, Told, Undo, UndoId, UndoLedger, UndoState};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use std::path::PathBuf;

/// An act as it lies in its row: number, record, what came of it.
type ActRow = (i64, String, Option<String>);
/// Number, state, steps in place, record.
type UndoRow = (i64, String, i64, String);

#[async_trait]
impl UndoLedger for Ledger {
    async fn told(&self, session: &SessionId) -> Result<Vec<Told>, StoreError> {
        let wanted = session.clone();
        let read = move |db: &Connection| Ok((all_messages(db, &wanted)?, query::parts(db, &wanted)?));
        let (messages, parts) = self.read("read the talk", read).await?;
        let mut parts = self.group(session, &parts)?;
        let told = |(data, undone): (String, Option<i64>)| {
            let info: model::message::Message = self.parse(&data)?;
            let parts = parts.remove(info.id()).unwrap_or_default();
            Ok(Told { message: WithParts { info, parts }, undone_by: undone.map(UndoId) })
        };
        messages.into_iter().map(told).collect()
    }

    async fn family(&self, session: &SessionId) -> Result<Vec<SessionId>, StoreError> {
        let root = session.clone();
        let ids = self.read("find the sessions below", move |db| query::family(db, &root)).await?;
        Ok(ids.iter().filter_map(|id| SessionId::parse(id)).collect())
    }

    async fn recorded(&self, sessions: &[SessionId]) -> Result<Vec<Recorded>, StoreError> {
        let sessions = sessions.to_vec();
        let mut rows = self.read("read the journal", move |db| acts(db, &sessions)).await?;
        rows.sort_unstable_by_key(|row| row.0);
        let act = |(id, data, after): ActRow| {
            let after = after.map(|a| self.parse(&a)).transpose()?;
            Ok(Recorded { id: EntryId(id), entry: self.parse(&data)?, after })
        };
        rows.into_iter().map(act).collect()
    }

    async fn contents(&self, hashes: Vec<String>) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let find = move |db: &Connection| {
            let mut q = db.prepare_cached("SELECT content FROM blob WHERE hash = ?1")?;
            let mut found = Vec::with_capacity(hashes.len());
            for hash in hashes {
                let content = q.query_row([&hash], |r| r.get(0)).optional()?;
                found.extend(content.map(|content| (hash, content)));
            }
            Ok(found)
        };
        self.read("read contents of the journal", find).await
    }

    async fn missing(&self, hashes: Vec<String>) -> Result<Vec<String>, StoreError> {
        let find = move |db: &Connection| {
            let mut q = db.prepare_cached("SELECT 1 FROM blob WHERE hash = ?1")?;
            let mut missing = vec![];
            for hash in hashes {
                if !q.exists([&hash])? {
                    missing.push(hash);
                }
            }
            Ok(missing)
        };
        self.read("look for contents of the journal", find).await
    }

    async fn undos(&self, session: &SessionId) -> Result<Vec<StoredUndo>, StoreError> {
        let wanted = session.clone();
        let rows = self.read("read the undos", move |db| undo_rows(db, &wanted)).await?;
        rows.into_iter().map(|row| self.stored_undo(session, row)).collect()
    }

    async fn begin_undo(&self, session: &SessionId, undo: &Undo) -> Result<UndoId, StoreError> {
        let (session, undo) = (session.clone(), undo.clone());
        let insert = move |tx: &Transaction<'_>| {
            let sql = "INSERT INTO undo (session_id, state, data) VALUES (?1, ?2, ?3)";
            let state = UndoState::Applying.as_str();
            tx.execute(sql, params![session.as_str(), state, to_json(&undo)?])?;
            Ok(UndoId(tx.last_insert_rowid()))
        };
        self.write("write down an undo", insert).await
    }

    async fn progress(&self, id: UndoId, state: UndoState, done: usize) -> Result<(), StoreError> {
        self.write("note how far an undo came", move |tx| set_state(tx, id, state, done)).await
    }

    async fn undone(&self, id: UndoId, note: Option<WithParts>) -> Result<(), StoreError> {
        let done = move |tx: &Transaction<'_>| {
            let sql = "UPDATE journal SET undone_by = ?1 WHERE seq IN
                         (SELECT value FROM json_each((SELECT data FROM undo WHERE seq = ?1), '$.entries'))";
            tx.execute(sql, [id.0])?;
            let sql = "UPDATE message SET undone_by = ?1 WHERE id IN
                         (SELECT value FROM json_each((SELECT data FROM undo WHERE seq = ?1), '$.messages'))";
            tx.execute(sql, [id.0])?;
            if let Some(note) = note {
                query::put(tx, &Change::Message(note.info))?;
                note.parts.into_iter().try_for_each(|part| query::put(tx, &Change::Part(part)))?;
            }
            let steps = "SELECT json_array_length(data, '$.steps') FROM undo WHERE seq = ?1";
            let steps: i64 = tx.query_row(steps, [id.0], |r| r.get(0))?;
            set_state(tx, id, UndoState::Done, usize::try_from(steps).unwrap_or(0))
        };
        self.write("end an undo", done).await
    }

    async fn redone(&self, id: UndoId, talk: bool) -> Result<(), StoreError> {
        let done = move |tx: &Transaction<'_>| {
            tx.execute("UPDATE journal SET undone_by = NULL WHERE undone_by = ?1", [id.0])?;
            if talk {
                tx.execute("UPDATE message SET undone_by = NULL WHERE undone_by = ?1", [id.0])?;
            }
            let sql = "UPDATE message SET undone_by = ?1
                        WHERE id = (SELECT data ->> '$.note' FROM undo WHERE seq = ?1)";
            tx.execute(sql, [id.0])?;
            set_state(tx, id, UndoState::Redone, 0)
        };
        self.write("end a redo", done).await
    }
}

impl Ledger {
    fn stored_undo(&self, session: &SessionId, (id, state, done, data): UndoRow) -> Result<StoredUndo, StoreError> {
        let state = UndoState::parse(&state).ok_or_else(|| StoreError::Corrupt {
            path: PathBuf::from("airlock.db"),
            why: format!("an undo is in the state `{state}`"),
        })?;
        let done = usize::try_from(done).unwrap_or(0);
        Ok(StoredUndo { id: UndoId(id), session: session.clone(), state, done, undo: self.parse(&data)? })
    }
}

fn set_state(tx: &Transaction<'_>, id: UndoId, state: UndoState, done: usize) -> rusqlite::Result<()> {
    let sql = "UPDATE undo SET state = ?2, done = ?3 WHERE seq = ?1";
    tx.prepare_cached(sql)?.execute(params![id.0, state.as_str(), i64::try_from(done).unwrap_or(i64::MAX)])?;
    Ok(())
}

fn all_messages(db: &Connection, session: &SessionId) -> rusqlite::Result<Vec<(String, Option<i64>)>> {
    let mut q = db.prepare_cached("SELECT data, undone_by FROM message WHERE session_id = ?1 ORDER BY seq")?;
    q.query_map([session.as_str()], |r| Ok((r.get(0)?, r.get(1)?)))?.collect()
}

fn acts(db: &Connection, sessions: &[SessionId]) -> rusqlite::Result<Vec<ActRow>> {
    let sql = "SELECT seq, data, after_image FROM journal WHERE session_id = ?1 AND undone_by IS NULL ORDER BY seq";
    let mut q = db.prepare_cached(sql)?;
    let mut rows = vec![];
    for session in sessions {
        let found = q.query_map([session.as_str()], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))?;
        for row in found {
            rows.push(row?);
        }
    }
    Ok(rows)
}

fn undo_rows(db: &Connection, session: &SessionId) -> rusqlite::Result<Vec<UndoRow>> {
    let mut q = db.prepare_cached("SELECT seq, state, done, data FROM undo WHERE session_id = ?1 ORDER BY seq")?;
    q.query_map([session.as_str()], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?)))?.collect()
}

#[cfg(test)]
mod tests;
