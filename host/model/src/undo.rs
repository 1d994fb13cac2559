//! Taking back what a session did: what is recorded of it, what is to be done, and the two sides that do it, the ledger and the disk.

use crate::id::{CallId, MessageId, SessionId};
use crate::journal::{Entry, EntryId, Image, Journal};
use crate::message::WithParts;
use crate::store::{Store, StoreError};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What is to be taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Target {
    /// This message and everything after it.
    Since {
        message: MessageId,
    },
    /// One answer of a model with its calls.
    Step {
        message: MessageId,
    },
    Call {
        call: CallId,
    },
    /// A session below this one, with all that it began itself.
    Child {
        session: SessionId,
    },
}

/// How far it goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    #[default]
    Both,
    Files,
    Talk,
}

/// One thing to be done on the disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Step {
    /// What stands at `path` is to be `to`; it has to be `from` now.
    Put {
        path: PathBuf,
        from: Image,
        to: Image,
        /// The file has other names, which are to go on naming it: it is written where it is.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        shared: bool,
    },
    /// What stands at `from`, with all below it, gets the free name `to`.
    Move { from: PathBuf, to: PathBuf },
}

impl Step {
    /// The step that takes this one back.
    #[must_use]
    pub fn reversed(&self) -> Self {
        match self.clone() {
            Self::Put { path, from, to, shared } => Self::Put { path, from: to, to: from, shared },
            Self::Move { from, to } => Self::Move { from: to, to: from },
        }
    }
}

/// What one undo does. Written down before the first file is touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undo {
    pub target: Target,
    pub reach: Reach,
    /// In the order in which they are done.
    pub steps: Vec<Step>,
    /// What is taken back of the journal.
    pub entries: Vec<EntryId>,
    /// What is taken out of the talk.
    pub messages: Vec<MessageId>,
    /// What the model is told instead, where its words stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<MessageId>,
    /// What a model that goes back tells itself: the text of the note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub letter: Option<String>,
    /// What a person should know: what was left as it is, and why.
    pub remarks: Vec<String>,
    /// Milliseconds since the Unix epoch.
    pub time: u64,
}

/// How far an undo came. `Applying` and `Returning` are left behind only by a process that was killed, or by somebody who changed
/// a file meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UndoState {
    Applying,
    Done,
    Returning,
    Redone,
}

impl UndoState {
    /// As it is stored and shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Applying => "applying",
            Self::Done => "done",
            Self::Returning => "returning",
            Self::Redone => "redone",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Applying, Self::Done, Self::Returning, Self::Redone].into_iter().find(|s| s.as_str() == text)
    }

    /// Whether files may stand half in the one state and half in the other.
    #[must_use]
    pub fn is_half_done(self) -> bool {
        matches!(self, Self::Applying | Self::Returning)
    }
}

/// Number of an undo in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UndoId(pub i64);

#[derive(Clone, Debug, PartialEq)]
pub struct StoredUndo {
    pub id: UndoId,
    pub session: SessionId,
    pub state: UndoState,
    /// Steps that are known to be in place, from the first on. Exact at every [`Step::Move`]; between two of them each step says
    /// itself whether it is done.
    pub done: usize,
    pub undo: Undo,
}

/// An act as the ledger has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    pub id: EntryId,
    pub entry: Entry,
    /// `None` = the act was not seen to end.
    pub after: Option<Image>,
}

/// A message with what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    pub message: WithParts,
    /// The undo that took it out of the talk.
    pub undone_by: Option<UndoId>,
}

/// The ledger as undo sees it.
#[async_trait]
pub trait UndoLedger: Store + Journal {
    /// The whole talk in order, with what was taken out of it.
    async fn told(&self, session: &SessionId) -> Result<Vec<Told>, StoreError>;
    /// The session and all below it, itself first.
    async fn family(&self, session: &SessionId) -> Result<Vec<SessionId>, StoreError>;
    /// Acts of these sessions that are not taken back, in order.
    async fn recorded(&self, sessions: &[SessionId]) -> Result<Vec<Recorded>, StoreError>;
    /// The contents of these hashes, as far as they are kept.
    async fn contents(&self, hashes: Vec<String>) -> Result<Vec<(String, Vec<u8>)>, StoreError>;
    /// Which of these hashes are not kept.
    async fn missing(&self, hashes: Vec<String>) -> Result<Vec<String>, StoreError>;
    /// Undos of the session in order.
    async fn undos(&self, session: &SessionId) -> Result<Vec<StoredUndo>, StoreError>;
    /// Writes down what is about to be done.
    async fn begin_undo(&self, session: &SessionId, undo: &Undo) -> Result<UndoId, StoreError>;
    /// So many steps are in place, and it goes this way from there. For the two states that are half done.
    async fn progress(&self, id: UndoId, state: UndoState, done: usize) -> Result<(), StoreError>;
    /// All steps are in place: its acts are taken back, its messages leave the talk, `note` joins it. One transaction.
    async fn undone(&self, id: UndoId, note: Option<WithParts>) -> Result<(), StoreError>;
    /// No step is in place any more: its acts count again, with `talk` its messages too; its note no longer does. One transaction.
    async fn redone(&self, id: UndoId, talk: bool) -> Result<(), StoreError>;
}

/// What stands at a path now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    pub image: Image,
    /// A file that has other names beside this one.
    pub shared: bool,
}

#[derive(Debug, thiserror::Error)]
#[error("{path} could not be {act}: {why}")]
pub struct DiskError {
    pub act: &'static str,
    pub path: PathBuf,
    pub why: String,
}

/// The disk as undo sees it: by real paths, on which no link is followed.
pub trait Disk: Send + Sync {
    /// # Errors
    /// When it cannot be told, as where a folder on the way became a link.
    fn look(&self, path: &Path) -> Result<Look, DiskError>;

    /// The content of a small file, with its hash; `None` above the journal's cap.
    ///
    /// # Errors
    /// When it cannot be read.
    fn read(&self, path: &Path) -> Result<Option<(String, Vec<u8>)>, DiskError>;

    /// The paths of what lies in a folder.
    ///
    /// # Errors
    /// When it cannot be read.
    fn below(&self, folder: &Path) -> Result<Vec<PathBuf>, DiskError>;

    /// Makes `path` be `to`, at once and not by halves; `content` is that of a file. Unless `shared`, another file takes its place.
    ///
    /// # Errors
    /// When it cannot be done; nothing is changed then.
    fn put(&self, path: &Path, to: &Image, content: Option<&[u8]>, shared: bool) -> Result<(), DiskError>;

    /// Gives what stands at `from` the free name `to`.
    ///
    /// # Errors
    /// When it cannot be done, or `to` is not free.
    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError>;
}
