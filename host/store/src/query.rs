//! The statements, by what they mean.

use model::id::SessionId;
use model::message::{Message, Part};
use model::permission::{Action, Rule};
use model::session::Session;
use model::store::{Change, Kin};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A record as the ledger keeps it. The records hold nothing that JSON cannot express, so a failure is a bug worth its message.
pub(crate) fn to_json(record: &impl Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(record).map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))
}

pub(crate) fn put(tx: &Transaction<'_>, change: &Change) -> rusqlite::Result<()> {
    match change {
        Change::Session(s) => put_session(tx, s),
        Change::Message(m) => put_message(tx, m),
        Change::Part(p) => put_part(tx, p),
        Change::Delivered(letter) => crate::inbox::delivered(tx, *letter),
    }
}

fn put_session(tx: &Transaction<'_>, s: &Session) -> rusqlite::Result<()> {
    let sql = "INSERT INTO session (id, parent_id, directory, updated, data) VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT (id) DO UPDATE SET updated = excluded.updated, data = excluded.data";
    let parent = s.parent_id.as_ref().map(SessionId::as_str);
    let (directory, updated) = (s.directory.to_string_lossy(), i64::try_from(s.time.updated).unwrap_or(i64::MAX));
    tx.prepare_cached(sql)?.execute(params![s.id.as_str(), parent, directory, updated, to_json(s)?])?;
    // What is looked up by is written where it changes: each of them costs the pages of an index.
    let sql =
        "UPDATE session SET parent_id = ?2, directory = ?3 WHERE id = ?1 AND (parent_id IS NOT ?2 OR directory <> ?3)";
    tx.prepare_cached(sql)?.execute(params![s.id.as_str(), parent, directory])?;
    let sql = "UPDATE session SET touched = (SELECT max(touched) + 1 FROM session)
               WHERE id = ?1 AND (touched = 0 OR touched < (SELECT max(touched) FROM session))";
    tx.prepare_cached(sql)?.execute([s.id.as_str()])?;
    Ok(())
}

fn put_message(tx: &Transaction<'_>, m: &Message) -> rusqlite::Result<()> {
    let sql = "INSERT INTO message (id, session_id, data) VALUES (?1, ?2, ?3)
               ON CONFLICT (id) DO UPDATE SET data = excluded.data";
    tx.prepare_cached(sql)?.execute(params![m.id().as_str(), m.session().as_str(), to_json(m)?])?;
    Ok(())
}

fn put_part(tx: &Transaction<'_>, p: &Part) -> rusqlite::Result<()> {
    let sql = "INSERT INTO part (id, message_id, session_id, data) VALUES (?1, ?2, ?3, ?4)
               ON CONFLICT (id) DO UPDATE SET data = excluded.data";
    let (id, message, session) = (p.id.as_str(), p.message_id.as_str(), p.session_id.as_str());
    tx.prepare_cached(sql)?.execute(params![id, message, session, to_json(p)?])?;
    Ok(())
}

pub(crate) fn session(db: &Connection, id: &SessionId) -> rusqlite::Result<Option<String>> {
    let mut q = db.prepare_cached("SELECT data FROM session WHERE id = ?1")?;
    q.query_row([id.as_str()], |r| r.get(0)).optional()
}

pub(crate) fn latest(db: &Connection, directory: &Path) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT data FROM session WHERE directory = ?1 AND parent_id IS NULL
               ORDER BY touched DESC, seq DESC LIMIT 1";
    db.prepare_cached(sql)?.query_row([directory.to_string_lossy()], |r| r.get(0)).optional()
}

/// Newest first, with the number of messages; no part is read.
pub(crate) fn sessions(db: &Connection, kin: Kin, limit: usize) -> rusqlite::Result<Vec<(String, i64)>> {
    let sql =
        "SELECT data, (SELECT count(*) FROM message WHERE session_id = session.id AND undone_by IS NULL) FROM session
               WHERE ?2 OR parent_id IS NULL ORDER BY touched DESC, seq DESC LIMIT ?1";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    db.prepare_cached(sql)?.query_map(params![limit, kin == Kin::All], |r| Ok((r.get(0)?, r.get(1)?)))?.collect()
}

pub(crate) fn messages(db: &Connection, id: &SessionId) -> rusqlite::Result<Vec<String>> {
    let mut q =
        db.prepare_cached("SELECT data FROM message WHERE session_id = ?1 AND undone_by IS NULL ORDER BY seq")?;
    q.query_map([id.as_str()], |r| r.get(0))?.collect()
}

/// A part as it lies in its row.
pub(crate) struct PartRow {
    pub id: String,
    pub message: String,
    pub data: String,
}

/// Parts of a session in order.
pub(crate) fn parts(db: &Connection, id: &SessionId) -> rusqlite::Result<Vec<PartRow>> {
    let mut q = db.prepare_cached("SELECT id, message_id, data FROM part WHERE session_id = ?1 ORDER BY seq")?;
    q.query_map([id.as_str()], |r| Ok(PartRow { id: r.get(0)?, message: r.get(1)?, data: r.get(2)? }))?.collect()
}

/// A session and all that descend from it, itself first.
pub(crate) fn family(db: &Connection, id: &SessionId) -> rusqlite::Result<Vec<String>> {
    let sql = "WITH RECURSIVE family (id) AS (
                 SELECT ?1 UNION SELECT session.id FROM session JOIN family ON session.parent_id = family.id)
               SELECT id FROM family";
    db.prepare_cached(sql)?.query_map([id.as_str()], |r| r.get(0))?.collect()
}

/// Removes a session, what it journalled, and the contents that nothing names any more. Returns how many sessions went.
pub(crate) fn delete(tx: &Transaction<'_>, id: &str) -> rusqlite::Result<usize> {
    let contents = "DELETE FROM blob WHERE hash IN (
          SELECT before_hash FROM journal WHERE session_id = ?1 UNION SELECT after_hash FROM journal WHERE session_id = ?1)
        AND NOT EXISTS (SELECT 1 FROM journal WHERE session_id <> ?1 AND before_hash = blob.hash)
        AND NOT EXISTS (SELECT 1 FROM journal WHERE session_id <> ?1 AND after_hash = blob.hash)";
    tx.execute(contents, [id])?;
    tx.execute("DELETE FROM journal WHERE session_id = ?1", [id])?;
    tx.execute("DELETE FROM seen WHERE session_id = ?1", [id])?;
    tx.execute("DELETE FROM egress WHERE session_id = ?1", [id])?;
    tx.execute("DELETE FROM session WHERE id = ?1", [id])
}

pub(crate) fn approvals(db: &Connection, worktree: &Path) -> rusqlite::Result<Vec<Rule>> {
    let sql = "SELECT permission, pattern FROM approval WHERE worktree = ?1 ORDER BY permission, pattern";
    let rule = |r: &rusqlite::Row<'_>| Ok(Rule::new(r.get::<_, String>(0)?, r.get::<_, String>(1)?, Action::Allow));
    db.prepare_cached(sql)?.query_map([worktree.to_string_lossy()], rule)?.collect()
}

/// Every approval, with the worktree that it holds in.
pub(crate) fn all_approvals(db: &Connection) -> rusqlite::Result<Vec<(PathBuf, Rule)>> {
    let sql = "SELECT worktree, permission, pattern FROM approval ORDER BY worktree, permission, pattern";
    let row = |r: &rusqlite::Row<'_>| {
        let rule = Rule::new(r.get::<_, String>(1)?, r.get::<_, String>(2)?, Action::Allow);
        Ok((PathBuf::from(r.get::<_, String>(0)?), rule))
    };
    db.prepare_cached(sql)?.query_map([], row)?.collect()
}

/// Takes approvals back: of one permission and pattern where these are named. Returns how many went.
pub(crate) fn revoke(
    tx: &Transaction<'_>,
    worktree: &Path,
    permission: Option<&str>,
    pattern: Option<&str>,
) -> rusqlite::Result<usize> {
    let sql = "DELETE FROM approval WHERE worktree = ?1 AND permission = ifnull(?2, permission) AND pattern = ifnull(?3, pattern)";
    tx.prepare_cached(sql)?.execute(params![worktree.to_string_lossy(), permission, pattern])
}

/// Writes and takes back: nothing remains, but the commit needs all that any commit needs.
pub(crate) fn try_out(tx: &Transaction<'_>) -> rusqlite::Result<()> {
    tx.execute("INSERT OR REPLACE INTO approval (worktree, permission, pattern) VALUES ('', '', '')", [])?;
    tx.execute("DELETE FROM approval WHERE worktree = ''", [])?;
    Ok(())
}

pub(crate) fn approve(tx: &Transaction<'_>, worktree: &Path, rule: &Rule) -> rusqlite::Result<()> {
    let sql = "INSERT OR IGNORE INTO approval (worktree, permission, pattern) VALUES (?1, ?2, ?3)";
    tx.prepare_cached(sql)?.execute(params![worktree.to_string_lossy(), rule.permission, rule.pattern])?;
    Ok(())
}
