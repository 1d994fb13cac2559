//! The one thread that writes. Jobs come through a bounded channel and are done in order.

use crate::connection::{Attempt, open_writer};
use crate::owner;
use crate::seen::Notes;
use model::owner::Owner;
use model::store::StoreError;
use rusqlite::{Connection, Transaction};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::{mpsc, oneshot};

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// Jobs that may wait; a caller beyond that waits too.
const QUEUE: usize = 256;

pub(crate) struct Writer {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    path: PathBuf,
    /// They land with whatever is written next.
    pub(crate) notes: Arc<Notes>,
}

impl Writer {
    pub(crate) fn start(path: &Path, owner: &Owner) -> Result<Self, StoreError> {
        let at = Attempt { what: "start its writer", path };
        let mut db = open_writer(path)?;
        owner::claim(&db, path, owner)?;
        let (jobs, mut inbox) = mpsc::channel::<Job>(QUEUE);
        let notes = Arc::new(Notes::default());
        let left = Arc::clone(&notes);
        let work = move || {
            while let Some(job) = inbox.blocking_recv() {
                job(&mut db);
            }
            write_left(&mut db, &left);
        };
        let thread = std::thread::Builder::new().name("ledger".into()).spawn(work).map_err(|e| at.io(&e))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), path: path.into(), notes })
    }

    /// Does `work` in one transaction: it lands whole or not at all. Returns when it is committed.
    pub(crate) async fn write<T, F>(&self, what: &'static str, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let (path, notes) = (self.path.clone(), Arc::clone(&self.notes));
        let job: Job = Box::new(move |db| {
            let at = Attempt { what, path: &path };
            // Nobody may be waiting any more: the write stands all the same.
            let _ = reply.send(in_transaction(db, &notes, work).map_err(|e| at.sql(&e)));
        });
        let gone = || StoreError::Failed { attempt: what, path: self.path.clone(), why: "its writer has ended".into() };
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
        jobs.send(job).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

fn in_transaction<T>(
    db: &mut Connection,
    notes: &Notes,
    work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let tx = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let noted = notes.put(&tx)?;
    let value = work(&tx)?;
    tx.commit()?;
    notes.landed(noted);
    Ok(value)
}

/// Notes that nothing was written after.
fn write_left(db: &mut Connection, notes: &Notes) {
    if !notes.is_empty()
        && let Err(error) = in_transaction(db, notes, |_| Ok(()))
    {
        tracing::warn!(%error, "files that were read are not marked as seen");
    }
}

impl Drop for Writer {
    /// What was handed over is written before the ledger closes.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the ledger's writer ended in a panic");
        }
    }
}
