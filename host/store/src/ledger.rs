//! The ledger as the rest of the host sees it.

use crate::connection::{Attempt, open_reader, prepare};
use crate::writer::Writer;
use crate::{claims, inbox, outputs, query};
use async_trait::async_trait;
use model::id::{MessageId, SessionId};
use model::message::{Part, WithParts};
use model::permission::Rule;
use model::session::{Session, SessionSummary};
use model::store::{Change, Claim, Store, StoreError};
use rusqlite::{Connection, Transaction};
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The ledger below one data folder: `airlock.db`, `outputs/`, `locks/`.
pub struct Ledger {
    data_dir: PathBuf,
    pub(crate) path: PathBuf,
    writer: Writer,
    reader: Arc<Mutex<Connection>>,
}

impl Ledger {
    /// Opens the ledger below `data_dir`, making it (owner-only) where there is none.
    ///
    /// # Errors
    /// As [`StoreError`] says: locked, damaged, full, written by a newer version.
    pub fn open(data_dir: &Path) -> Result<Arc<Self>, StoreError> {
        let path = prepare(data_dir)?;
        let writer = Writer::start(&path)?;
        let reader = Arc::new(Mutex::new(open_reader(&path)?));
        Ok(Arc::new(Self { data_dir: data_dir.into(), path, writer, reader }))
    }

    pub(crate) async fn write<T, F>(&self, what: &'static str, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    {
        self.writer.write(what, work).await
    }

    pub(crate) async fn read<T, F>(&self, what: &'static str, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let reader = Arc::clone(&self.reader);
        // A read leaves no state behind that a panic could have spoilt.
        let task = move || work(&reader.lock().unwrap_or_else(PoisonError::into_inner));
        let done = tokio::task::spawn_blocking(task).await;
        let at = Attempt { what, path: &self.path };
        done.map_err(|e| StoreError::Failed { attempt: what, path: self.path.clone(), why: e.to_string() })?
            .map_err(|e| at.sql(&e))
    }

    pub(crate) fn parse<T: DeserializeOwned>(&self, text: &str) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|e| Attempt { what: "read a record", path: &self.path }.json(&e))
    }

    /// Parts by message, each list in the ledger's order.
    fn group(&self, rows: Vec<(String, String)>) -> Result<HashMap<String, Vec<Part>>, StoreError> {
        let mut parts: HashMap<String, Vec<Part>> = HashMap::new();
        for (message, data) in rows {
            parts.entry(message).or_default().push(self.parse(&data)?);
        }
        Ok(parts)
    }
}

#[async_trait]
impl Store for Ledger {
    async fn session(&self, id: &SessionId) -> Result<Session, StoreError> {
        let wanted = id.clone();
        let row = self.read("find the session", move |db| query::session(db, &wanted)).await?;
        self.parse(&row.ok_or_else(|| StoreError::NoSession(id.clone()))?)
    }

    async fn sessions(&self, limit: usize) -> Result<Vec<SessionSummary>, StoreError> {
        let rows = self.read("list the sessions", move |db| query::sessions(db, limit)).await?;
        let line = |(data, n): (String, i64)| {
            Ok(SessionSummary { info: self.parse(&data)?, messages: u64::try_from(n).unwrap_or(0) })
        };
        rows.into_iter().map(line).collect()
    }

    async fn latest(&self, directory: &Path) -> Result<Option<Session>, StoreError> {
        let directory = directory.to_path_buf();
        let row = self.read("find the newest session", move |db| query::latest(db, &directory)).await?;
        row.map(|data| self.parse(&data)).transpose()
    }

    async fn delete(&self, id: &SessionId) -> Result<(), StoreError> {
        let root = id.clone();
        let family = self.read("find the sessions below", move |db| query::family(db, &root)).await?;
        // Whoever works on one of them keeps all.
        let claims = family.iter().map(|id| claims::claim(&self.data_dir, id)).collect::<Result<Vec<_>, _>>()?;
        let remove =
            move |tx: &Transaction<'_>| family.iter().map(|id| query::delete(tx, id)).sum::<rusqlite::Result<usize>>();
        let gone = self.write("delete the session", remove).await?;
        claims.into_iter().for_each(claims::Held::forget);
        if gone == 0 { Err(StoreError::NoSession(id.clone())) } else { Ok(()) }
    }

    async fn history(&self, id: &SessionId) -> Result<Vec<WithParts>, StoreError> {
        let wanted = id.clone();
        let read = move |db: &Connection| Ok((query::messages(db, &wanted)?, query::parts(db, &wanted)?));
        let (messages, rows) = self.read("read the history", read).await?;
        let mut parts = self.group(rows)?;
        let mut history = Vec::with_capacity(messages.len());
        for data in messages {
            let info: model::message::Message = self.parse(&data)?;
            let id: &MessageId = info.id();
            let parts = parts.remove(id.as_str()).unwrap_or_default();
            history.push(WithParts { info, parts });
        }
        Ok(history)
    }

    async fn apply(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        self.write("write", move |tx| changes.iter().try_for_each(|c| query::put(tx, c))).await
    }

    async fn claim(&self, id: &SessionId) -> Result<Box<dyn Claim>, StoreError> {
        Ok(Box::new(claims::claim(&self.data_dir, id.as_str())?))
    }

    async fn approvals(&self, worktree: &Path) -> Result<Vec<Rule>, StoreError> {
        let worktree = worktree.to_path_buf();
        self.read("read the approvals", move |db| query::approvals(db, &worktree)).await
    }

    async fn approve(&self, worktree: &Path, rules: &[Rule]) -> Result<(), StoreError> {
        let (worktree, rules) = (worktree.to_path_buf(), rules.to_vec());
        let put = move |tx: &Transaction<'_>| rules.iter().try_for_each(|r| query::approve(tx, &worktree, r));
        self.write("keep an approval", put).await
    }

    async fn unfinished(&self, root: &SessionId) -> Result<Vec<Session>, StoreError> {
        let root = root.clone();
        let rows = self.read("look for unfinished sessions", move |db| inbox::unfinished(db, &root)).await?;
        rows.iter().map(|data| self.parse(data)).collect()
    }

    async fn keep_output(&self, text: &str) -> Result<PathBuf, StoreError> {
        let folder = self.data_dir.join("outputs");
        let at = Attempt { what: "keep an output", path: &folder };
        outputs::keep(&folder, text).map_err(|e| at.io(&e))
    }
}

#[cfg(test)]
pub(crate) mod tests;
