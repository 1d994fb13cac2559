//! The ledger as the loop sees it. Order is the ledger's sequence number, never an id or a clock.

use crate::id::SessionId;
use crate::inbox::LetterId;
use crate::message::{Message, Part, WithParts};
use crate::owner::Owner;
use crate::permission::Rule;
use crate::session::{Session, SessionSummary};
use async_trait::async_trait;
use std::path::{Path, PathBuf};

/// One change of a session. A batch is one transaction: it lands whole or not at all.
#[derive(Clone, Debug)]
pub enum Change {
    /// New, or in place of the one with this id.
    Session(Session),
    /// New at the end, or in place of the one with this id (which keeps its place).
    Message(Message),
    /// New at the end of its message, or in place of the one with this id (which keeps its place).
    Part(Part),
    /// A letter of the inbox has become the message that lands with it.
    Delivered(LetterId),
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the ledger {path} is locked by another program; wait for it or end it")]
    Locked { path: PathBuf },
    #[error("the ledger {path} is damaged ({why}); move it away to begin a new one, or restore a copy")]
    Corrupt { path: PathBuf, why: String },
    #[error("the disk that holds {path} is full; free some space and run again: nothing stored is lost")]
    Full { path: PathBuf },
    #[error("the ledger {path} was written by a newer version of the program (schema {found}, this one knows {known})")]
    TooNew { path: PathBuf, found: i64, known: i64 },
    #[error(
        "the ledger {path} belongs to {owner}, and {asked} has no part in it; every owner has a data folder of their own"
    )]
    Foreign { path: PathBuf, owner: String, asked: Owner },
    #[error("there is no session {0}; `airlock session list` shows those that exist")]
    NoSession(SessionId),
    #[error(
        "session {id} is in use by another run (process {pid}); hand it a message with `airlock session send {id} TEXT`, \
         or wait for it or end it"
    )]
    Busy { id: SessionId, pid: u32 },
    #[error("the message for session {id} was not taken in: {why}")]
    InboxFull { id: SessionId, why: String },
    #[error("the ledger could not {attempt} ({path}): {why}")]
    Failed { attempt: &'static str, path: PathBuf, why: String },
}

/// Held while a run works on a session; dropping it lets the session go. One owner per session, also between processes.
pub trait Claim: Send + Sync {}

/// Which sessions are meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kin {
    /// Those that a person began.
    #[default]
    Roots,
    /// Also those that came of others.
    All,
}

#[async_trait]
pub trait Store: Send + Sync {
    async fn session(&self, id: &SessionId) -> Result<Session, StoreError>;
    /// Newest first.
    async fn sessions(&self, kin: Kin, limit: usize) -> Result<Vec<SessionSummary>, StoreError>;
    /// The newest root session that was started in `directory`.
    async fn latest(&self, directory: &Path) -> Result<Option<Session>, StoreError>;
    /// # Errors
    /// [`StoreError::Busy`] while a run works on it: a session is not taken away from under a run.
    async fn delete(&self, id: &SessionId) -> Result<(), StoreError>;
    /// The whole history, in order.
    async fn history(&self, id: &SessionId) -> Result<Vec<WithParts>, StoreError>;
    /// One transaction. Returns when it is in the ledger.
    async fn apply(&self, changes: Vec<Change>) -> Result<(), StoreError>;
    /// # Errors
    /// [`StoreError::Busy`] while another run holds it.
    async fn claim(&self, id: &SessionId) -> Result<Box<dyn Claim>, StoreError>;
    /// Approvals given for good in this worktree.
    async fn approvals(&self, worktree: &Path) -> Result<Vec<Rule>, StoreError>;
    async fn approve(&self, worktree: &Path, rules: &[Rule]) -> Result<(), StoreError>;
    /// Sessions that came of this one, at any depth, and hold a message that is not complete: a run that was killed left them.
    async fn unfinished(&self, root: &SessionId) -> Result<Vec<Session>, StoreError>;
    /// Keeps a large output and returns the file that holds it.
    async fn keep_output(&self, text: &str) -> Result<PathBuf, StoreError>;
}
