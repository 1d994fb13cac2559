//! The ledger as the rest of the host sees it.

use crate::connection::{Attempt, open_reader, prepare};
use crate::query::PartRow;
use crate::seen::Notes;
use crate::writer::Writer;
use crate::{claims, inbox, outputs, query};
use async_trait::async_trait;
use model::id::{MessageId, PartId, SessionId};
use model::message::{Message, Part, WithParts};
use model::owner::Owner;
use model::permission::Rule;
use model::session::{Session, SessionSummary};
use model::store::{Change, Claim, Kin, Store, StoreError};
use rusqlite::{Connection, Transaction};
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Records that are worth a thread of their own.
const SHARE: usize = 1000;

/// The ledger below one data folder: `airlock.db`, `outputs/`, `locks/`.
pub struct Ledger {
    pub(crate) data_dir: PathBuf,
    pub(crate) path: PathBuf,
    writer: Writer,
    reader: Arc<Mutex<Connection>>,
}

impl Ledger {
    /// Opens the owner's ledger below `data_dir`, making it (for them alone) where there is none.
    ///
    /// # Errors
    /// As [`StoreError`] says: somebody else's, locked, damaged, full, written by a newer version.
    pub fn of(owner: &Owner, data_dir: &Path) -> Result<Arc<Self>, StoreError> {
        let path = prepare(data_dir)?;
        let writer = Writer::start(&path, owner)?;
        let reader = Arc::new(Mutex::new(open_reader(&path)?));
        Ok(Arc::new(Self { data_dir: data_dir.into(), path, writer, reader }))
    }

    #[cfg(test)]
    pub(crate) fn open(data_dir: &Path) -> Result<Arc<Self>, StoreError> {
        Self::of(&Owner::local(), data_dir)
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

    /// As [`Ledger::read`], for a row or two that an index finds: where nobody else reads, a switch of threads would cost more.
    pub(crate) async fn glance<T, F>(&self, what: &'static str, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        if let Ok(reader) = self.reader.try_lock() {
            return work(&reader).map_err(|e| self.at(what).sql(&e));
        }
        self.read(what, work).await
    }

    pub(crate) fn at(&self, what: &'static str) -> Attempt<'_> {
        Attempt { what, path: &self.path }
    }

    pub(crate) fn notes(&self) -> &Notes {
        &self.writer.notes
    }

    /// Every approval that was given for good, with its worktree.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub async fn all_approvals(&self) -> Result<Vec<(PathBuf, Rule)>, StoreError> {
        self.read("read the approvals", query::all_approvals).await
    }

    /// Takes back what was approved in a worktree: all of it, all of a permission, or one pattern of it. Returns how many went.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub async fn revoke(
        &self,
        worktree: &Path,
        permission: Option<String>,
        pattern: Option<String>,
    ) -> Result<usize, StoreError> {
        let worktree = worktree.to_path_buf();
        let take = move |tx: &Transaction<'_>| query::revoke(tx, &worktree, permission.as_deref(), pattern.as_deref());
        self.write("take an approval back", take).await
    }

    /// Whether the ledger can be written now: a full disk or a folder without leave to write shows only then.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub async fn try_out(&self) -> Result<(), StoreError> {
        self.write("be written", query::try_out).await
    }

    pub(crate) fn parse<T: DeserializeOwned>(&self, text: &str) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|e| Attempt { what: "read a record", path: &self.path }.json(&e))
    }

    /// Parts by message, each list in the ledger's order.
    pub(crate) fn group(
        &self,
        session: &SessionId,
        rows: &[PartRow],
    ) -> Result<HashMap<MessageId, Vec<Part>>, StoreError> {
        let mut parts: HashMap<MessageId, Vec<Part>> = HashMap::with_capacity(rows.len());
        for part in self.by_all_cores(rows, |row| self.part(session, row))? {
            parts.entry(part.message_id.clone()).or_default().push(part);
        }
        Ok(parts)
    }

    /// Parses rows in their order; a long history is parsed by all cores.
    fn by_all_cores<R: Sync, T: Send>(
        &self,
        rows: &[R],
        parse: impl Fn(&R) -> Result<T, StoreError> + Sync,
    ) -> Result<Vec<T>, StoreError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let share = rows.len().div_ceil(cores).max(SHARE);
        let parse = &|rows: &[R]| rows.iter().map(&parse).collect::<Result<Vec<_>, _>>();
        let shares = std::thread::scope(|scope| {
            let shares: Vec<_> = rows.chunks(share).map(|rows| scope.spawn(move || parse(rows))).collect();
            let joined = shares.into_iter().map(|share| share.join().unwrap_or_else(|_| Err(self.broke_off())));
            joined.collect::<Result<Vec<_>, _>>()
        })?;
        Ok(shares.into_iter().flatten().collect())
    }

    fn broke_off(&self) -> StoreError {
        StoreError::Failed { attempt: "read a record", path: self.path.clone(), why: "its reading broke off".into() }
    }

    /// The ids stand in columns of their own: only the body is parsed, which is far the cheaper way.
    fn part(&self, session: &SessionId, row: &PartRow) -> Result<Part, StoreError> {
        let ids = PartId::parse(&row.id).zip(MessageId::parse(&row.message));
        match ids {
            Some((id, message_id)) => {
                Ok(Part { id, session_id: session.clone(), message_id, body: self.parse(&row.data)? })
            }
            None => self.parse(&row.data),
        }
    }
}

#[async_trait]
impl Store for Ledger {
    async fn session(&self, id: &SessionId) -> Result<Session, StoreError> {
        let wanted = id.clone();
        let row = self.read("find the session", move |db| query::session(db, &wanted)).await?;
        self.parse(&row.ok_or_else(|| StoreError::NoSession(id.clone()))?)
    }

    async fn sessions(&self, kin: Kin, limit: usize) -> Result<Vec<SessionSummary>, StoreError> {
        let rows = self.read("list the sessions", move |db| query::sessions(db, kin, limit)).await?;
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
        let mut parts = self.group(id, &rows)?;
        let infos: Vec<Message> = self.by_all_cores(&messages, |data| self.parse(data))?;
        let with_parts = |info: Message| {
            let parts = parts.remove(info.id()).unwrap_or_default();
            WithParts { info, parts }
        };
        Ok(infos.into_iter().map(with_parts).collect())
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
