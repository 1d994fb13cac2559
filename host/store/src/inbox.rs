//! Letters that wait for sessions, and what a killed run left of its family.

use crate::ledger::Ledger;
use crate::query::to_json;
use async_trait::async_trait;
use model::id::SessionId;
use model::inbox::{Delivery, Inbox, Letter, LetterId, MAX_LETTER, MAX_LETTERS, Waiting};
use model::store::StoreError;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

/// What came of a letter that was handed in.
enum Put {
    In(LetterId),
    NoSession,
    Full,
}

fn word(kind: Delivery) -> &'static str {
    match kind {
        Delivery::Queue => "queue",
        Delivery::Steer => "steer",
    }
}

#[async_trait]
impl Inbox for Ledger {
    async fn put(&self, session: &SessionId, letter: Letter) -> Result<LetterId, StoreError> {
        fits(session, &letter.text)?;
        let to = session.clone();
        match self.write("take in a message", move |tx| put(tx, &to, &letter)).await? {
            Put::In(id) => Ok(id),
            Put::NoSession => Err(StoreError::NoSession(session.clone())),
            Put::Full => {
                let why = format!("{MAX_LETTERS} wait already; withdraw one, or wait until they are taken");
                Err(StoreError::InboxFull { id: session.clone(), why })
            }
        }
    }

    async fn waiting(&self, session: &SessionId) -> Result<Vec<Waiting>, StoreError> {
        let wanted = session.clone();
        let rows = self.read("read the inbox", move |db| waiting(db, &wanted)).await?;
        self.letters(session, rows)
    }

    async fn take(&self, session: &SessionId, kind: Delivery) -> Result<Vec<Waiting>, StoreError> {
        let wanted = session.clone();
        // Asked before each request: a look through the reader costs the writer nothing.
        if !self.glance("look into the inbox", move |db| is_any(db, &wanted, kind)).await? {
            return Ok(vec![]);
        }
        let wanted = session.clone();
        let rows = self.write("take a message", move |tx| take(tx, &wanted, kind)).await?;
        self.letters(session, rows)
    }

    async fn put_back(&self, session: &SessionId) -> Result<(), StoreError> {
        let wanted = session.clone();
        let sql = "UPDATE inbox SET taken = 0 WHERE session_id = ?1 AND taken = 1";
        self.write("put messages back", move |tx| tx.execute(sql, [wanted.as_str()])).await.map(drop)
    }

    async fn withdraw(&self, session: &SessionId, id: LetterId) -> Result<bool, StoreError> {
        let from = session.clone();
        let sql = "DELETE FROM inbox WHERE session_id = ?1 AND seq = ?2 AND taken = 0";
        let gone = self.write("withdraw a message", move |tx| tx.execute(sql, params![from.as_str(), id.0])).await?;
        Ok(gone > 0)
    }

    async fn rewrite(&self, session: &SessionId, id: LetterId, text: String) -> Result<bool, StoreError> {
        fits(session, &text)?;
        let of = session.clone();
        self.write("change a message", move |tx| rewrite(tx, &of, id, text)).await
    }
}

fn fits(session: &SessionId, text: &str) -> Result<(), StoreError> {
    if text.len() <= MAX_LETTER {
        return Ok(());
    }
    let why = format!("it is {} bytes long, at most {MAX_LETTER} fit", text.len());
    Err(StoreError::InboxFull { id: session.clone(), why })
}

impl Ledger {
    fn letters(&self, session: &SessionId, rows: Vec<(i64, String)>) -> Result<Vec<Waiting>, StoreError> {
        let one = |(seq, data): (i64, String)| {
            let letter: Letter = self.parse(&data)?;
            Ok(Waiting { id: LetterId(seq), session_id: session.clone(), letter })
        };
        rows.into_iter().map(one).collect()
    }
}

fn put(tx: &Transaction<'_>, session: &SessionId, letter: &Letter) -> rusqlite::Result<Put> {
    let known = "SELECT 1 FROM session WHERE id = ?1";
    if tx.prepare_cached(known)?.query_row([session.as_str()], |_| Ok(())).optional()?.is_none() {
        return Ok(Put::NoSession);
    }
    let count: i64 =
        tx.query_row("SELECT count(*) FROM inbox WHERE session_id = ?1", [session.as_str()], |r| r.get(0))?;
    if usize::try_from(count).unwrap_or(usize::MAX) >= MAX_LETTERS {
        return Ok(Put::Full);
    }
    let sql = "INSERT INTO inbox (session_id, delivery, data) VALUES (?1, ?2, ?3)";
    tx.prepare_cached(sql)?.execute(params![session.as_str(), word(letter.delivery), to_json(letter)?])?;
    Ok(Put::In(LetterId(tx.last_insert_rowid())))
}

fn waiting(db: &Connection, session: &SessionId) -> rusqlite::Result<Vec<(i64, String)>> {
    let sql = "SELECT seq, data FROM inbox WHERE session_id = ?1 AND taken = 0 ORDER BY seq";
    db.prepare_cached(sql)?.query_map([session.as_str()], |r| Ok((r.get(0)?, r.get(1)?)))?.collect()
}

fn is_any(db: &Connection, session: &SessionId, kind: Delivery) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM inbox WHERE session_id = ?1 AND taken = 0 AND delivery = ?2)";
    db.prepare_cached(sql)?.query_row(params![session.as_str(), word(kind)], |r| r.get(0))
}

fn take(tx: &Transaction<'_>, session: &SessionId, kind: Delivery) -> rusqlite::Result<Vec<(i64, String)>> {
    let most = match kind {
        Delivery::Queue => 1,
        Delivery::Steer => i64::MAX,
    };
    let sql = "UPDATE inbox SET taken = 1 WHERE seq IN (
                 SELECT seq FROM inbox WHERE session_id = ?1 AND taken = 0 AND delivery = ?2 ORDER BY seq LIMIT ?3)
               RETURNING seq, data";
    let row = |r: &rusqlite::Row<'_>| Ok((r.get(0)?, r.get(1)?));
    let mut rows: Vec<(i64, String)> = tx
        .prepare_cached(sql)?
        .query_map(params![session.as_str(), word(kind), most], row)?
        .collect::<Result<_, _>>()?;
    // RETURNING promises no order.
    rows.sort_by_key(|(seq, _)| *seq);
    Ok(rows)
}

fn rewrite(tx: &Transaction<'_>, session: &SessionId, id: LetterId, text: String) -> rusqlite::Result<bool> {
    let sql = "UPDATE inbox SET data = json_set(data, '$.text', ?3) WHERE session_id = ?1 AND seq = ?2 AND taken = 0";
    Ok(tx.prepare_cached(sql)?.execute(params![session.as_str(), id.0, text])? > 0)
}

/// The letter has become a message.
pub(crate) fn delivered(tx: &Transaction<'_>, id: LetterId) -> rusqlite::Result<()> {
    tx.prepare_cached("DELETE FROM inbox WHERE seq = ?1")?.execute([id.0])?;
    Ok(())
}

/// Descendants of a session that hold an open message.
pub(crate) fn unfinished(db: &Connection, root: &SessionId) -> rusqlite::Result<Vec<String>> {
    let sql = "WITH RECURSIVE kin (id) AS (
                 SELECT id FROM session WHERE parent_id = ?1
                 UNION SELECT session.id FROM session JOIN kin ON session.parent_id = kin.id)
               SELECT data FROM session WHERE id IN kin AND EXISTS (
                 SELECT 1 FROM message WHERE session_id = session.id
                   AND json_extract(data, '$.role') = 'assistant' AND json_extract(data, '$.time.completed') IS NULL)
               ORDER BY seq";
    db.prepare_cached(sql)?.query_map([root.as_str()], |r| r.get(0))?.collect()
}

#[cfg(test)]
mod tests;
