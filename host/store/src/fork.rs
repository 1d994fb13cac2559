//! Copies of sessions under new ids, and whole sessions as they lie in their rows: for fork, export and import.

use crate::ledger::Ledger;
use crate::query::{self, to_json};
use model::id::{MessageId, PartId, SessionId};
use model::message::WithParts;
use model::session::Session;
use model::store::{Change, StoreError};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde_json::Value;
use std::collections::HashMap;

/// Messages that are in memory at once.
const PAGE: i64 = 200;

/// A message and its parts as JSON, as they are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw {
    pub info: String,
    pub parts: Vec<String>,
}

/// Old ids and what they are called in a copy.
pub type Renames = HashMap<String, String>;

impl Ledger {
    /// Hands over a session's messages in order, a page at a time, as they lie in the ledger.
    ///
    /// # Errors
    /// A ledger that fails; what `each` fails with is in the answer.
    pub async fn pages<E>(
        &self,
        session: &SessionId,
        mut each: impl FnMut(Raw) -> Result<(), E>,
    ) -> Result<Result<(), E>, StoreError> {
        let mut after = 0;
        loop {
            let wanted = session.clone();
            let page = self.read("read a page of the session", move |db| page(db, &wanted, after)).await?;
            let Some((last, _)) = page.last() else { return Ok(Ok(())) };
            after = *last;
            for (_, raw) in page {
                if let Err(error) = each(raw) {
                    return Ok(Err(error));
                }
            }
        }
    }

    /// Copies the talk of `from`, up to `before` but without it, to the new session `to`, with what it has seen of files. All ids
    /// are new; what named an old one names the new one.
    ///
    /// # Errors
    /// A ledger that fails. False = there is no such message.
    pub async fn fork(&self, from: &SessionId, before: Option<&MessageId>, to: &Session) -> Result<bool, StoreError> {
        let (from, before, to) = (from.clone(), before.cloned(), to.clone());
        self.write("fork the session", move |tx| fork(tx, &from, before.as_ref(), &to)).await
    }

    /// Whether one of these ids of messages, parts or sessions is in use.
    ///
    /// # Errors
    /// A ledger that fails.
    pub async fn is_taken(&self, ids: Vec<String>) -> Result<bool, StoreError> {
        let look = move |db: &Connection| {
            let sql =
                "SELECT EXISTS (SELECT 1 FROM session WHERE id = ?1) OR EXISTS (SELECT 1 FROM message WHERE id = ?1)
                         OR EXISTS (SELECT 1 FROM part WHERE id = ?1)";
            let mut q = db.prepare_cached(sql)?;
            for id in &ids {
                if q.query_row([id], |r| r.get(0))? {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        self.read("look for ids", look).await
    }

    /// Adds messages to a session that is being imported. One transaction.
    ///
    /// # Errors
    /// A ledger that fails; an id that is in use.
    pub async fn add(&self, messages: Vec<WithParts>) -> Result<(), StoreError> {
        let add = move |tx: &Transaction<'_>| {
            for WithParts { info, parts } in messages {
                query::put(tx, &Change::Message(info))?;
                parts.into_iter().try_for_each(|part| query::put(tx, &Change::Part(part)))?;
            }
            Ok(())
        };
        self.write("import messages", add).await
    }
}

fn page(db: &Connection, session: &SessionId, after: i64) -> rusqlite::Result<Vec<(i64, Raw)>> {
    let sql = "SELECT seq, id, data FROM message
                WHERE session_id = ?1 AND undone_by IS NULL AND seq > ?2 ORDER BY seq LIMIT ?3";
    let mut messages = db.prepare_cached(sql)?;
    let mut rows = messages.query(params![session.as_str(), after, PAGE])?;
    let mut page = vec![];
    while let Some(row) = rows.next()? {
        let id: String = row.get(1)?;
        page.push((row.get(0)?, Raw { info: row.get(2)?, parts: parts_of(db, &id)? }));
    }
    Ok(page)
}

fn parts_of(db: &Connection, message: &str) -> rusqlite::Result<Vec<String>> {
    let mut q = db.prepare_cached("SELECT data FROM part WHERE message_id = ?1 ORDER BY seq")?;
    q.query_map([message], |r| r.get(0))?.collect()
}

fn fork(tx: &Transaction<'_>, from: &SessionId, before: Option<&MessageId>, to: &Session) -> rusqlite::Result<bool> {
    let Some(end) = end_of(tx, from, before)? else { return Ok(false) };
    query::put(tx, &Change::Session(to.clone()))?;
    let mut names = Renames::from([(from.as_str().to_owned(), to.id.as_str().to_owned())]);
    let mut after = 0;
    loop {
        let page = page(tx, from, after)?;
        let Some((last, _)) = page.last() else { break };
        after = *last;
        for (_, raw) in page.into_iter().take_while(|(seq, _)| *seq < end) {
            copy(tx, &to.id, &mut names, &raw)?;
        }
        if after >= end {
            break;
        }
    }
    let seen = "INSERT INTO seen (session_id, path, data) SELECT ?2, path, data FROM seen WHERE session_id = ?1";
    tx.execute(seen, [from.as_str(), to.id.as_str()])?;
    Ok(true)
}

/// Where the copy ends: before this number.
fn end_of(tx: &Transaction<'_>, session: &SessionId, before: Option<&MessageId>) -> rusqlite::Result<Option<i64>> {
    let Some(before) = before else { return Ok(Some(i64::MAX)) };
    let sql = "SELECT seq FROM message WHERE id = ?1 AND session_id = ?2 AND undone_by IS NULL";
    tx.query_row(sql, [before.as_str(), session.as_str()], |r| r.get(0)).optional()
}

fn copy(tx: &Transaction<'_>, session: &SessionId, names: &mut Renames, raw: &Raw) -> rusqlite::Result<()> {
    let message = MessageId::new();
    let info = renamed(&raw.info, names, message.as_str())?;
    let sql = "INSERT INTO message (id, session_id, data) VALUES (?1, ?2, ?3)";
    tx.prepare_cached(sql)?.execute(params![message.as_str(), session.as_str(), info])?;
    for part in &raw.parts {
        let id = PartId::new();
        let data = renamed(part, names, id.as_str())?;
        let sql = "INSERT INTO part (id, message_id, session_id, data) VALUES (?1, ?2, ?3, ?4)";
        tx.prepare_cached(sql)?.execute(params![id.as_str(), message.as_str(), session.as_str(), data])?;
    }
    Ok(())
}

/// The record under its new id.
fn renamed(record: &str, names: &mut Renames, id: &str) -> rusqlite::Result<String> {
    let broken = |e| rusqlite::Error::ToSqlConversionFailure(Box::new(e));
    let mut value: Value = serde_json::from_str(record).map_err(broken)?;
    if let Some(old) = value.get("id").and_then(Value::as_str) {
        names.insert(old.to_owned(), id.to_owned());
    }
    rename(&mut value, names);
    to_json(&value)
}

/// Puts new ids in the place of old ones, wherever a record names one. Text that merely holds an id is left alone.
pub fn rename(value: &mut Value, names: &Renames) {
    match value {
        Value::String(text) => {
            if let Some(new) = names.get(text) {
                text.clone_from(new);
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|v| rename(v, names)),
        Value::Object(all) => all.values_mut().for_each(|v| rename(v, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::tests::{message, session, text};
    use model::journal::{Journal, Seen};
    use model::store::Store;
    use std::path::Path;

    #[tokio::test]
    async fn a_fork_is_a_copy_of_its_own_up_to_a_message() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(dir.path()).unwrap();
        let s = session("/w", 1);
        ledger.apply(vec![Change::Session(s.clone())]).await.unwrap();
        // More than one page.
        let all: Vec<_> = (0..PAGE + 50).map(|_| message(&s)).collect();
        for m in &all {
            ledger.apply(vec![Change::Message(m.clone()), Change::Part(text(m, "x"))]).await.unwrap();
        }
        let seen = Seen { device: 1, inode: 2, size: 3, modified_ns: 4, changed_ns: 5 };
        ledger.mark_seen(&s.id, Path::new("/w/a"), seen.clone()).await.unwrap();
        let check = async |before: Option<&MessageId>, expected: usize| {
            let copy = Session { id: SessionId::new(), title: "copy".into(), ..s.clone() };
            assert!(ledger.fork(&s.id, before, &copy).await.unwrap());
            let history = ledger.history(&copy.id).await.unwrap();
            assert_eq!(history.len(), expected);
            for m in &history {
                assert_eq!((m.info.session(), m.parts.len()), (&copy.id, 1));
                assert!(all.iter().all(|old| old.id() != m.info.id()));
                assert_eq!((&m.parts[0].message_id, &m.parts[0].session_id), (m.info.id(), &copy.id));
            }
            assert_eq!(ledger.seen(&copy.id, Path::new("/w/a")).await.unwrap(), Some(seen.clone()));
        };
        check(None, all.len()).await;
        check(Some(all[3].id()), 3).await;
        check(Some(all[220].id()), 220).await;
        assert!(!ledger.fork(&s.id, Some(&MessageId::new()), &session("/w", 1)).await.unwrap());
        assert_eq!(ledger.history(&s.id).await.unwrap().len(), all.len());
    }

    #[test]
    fn ids_are_renamed_wherever_a_record_names_them() {
        let names = Renames::from([("msg_1".into(), "msg_2".into())]);
        let mut value = serde_json::json!({"a": ["msg_1", {"b": "msg_1"}], "text": "see msg_1", "n": 1});
        rename(&mut value, &names);
        assert_eq!(value, serde_json::json!({"a": ["msg_2", {"b": "msg_2"}], "text": "see msg_1", "n": 1}));
    }
}
