//! What components changed on disk, with before and after by content hash, and what each session has seen: the ground of undo
//! and of the stale-file check.

use crate::egress::Egress;
use crate::id::{CallId, MessageId, SessionId};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What stood at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Image {
    Absent,
    File {
        /// BLAKE3 of the content, hex.
        hash: String,
        size: u64,
        /// Unix mode bits.
        mode: u32,
        /// Whether the content itself is kept; not so above the journal's size cap.
        kept: bool,
    },
    Folder,
    Link {
        target: PathBuf,
    },
    /// A socket, device or pipe: named, never read.
    Special,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Op {
    Write,
    Create,
    Unlink,
    RenameFrom,
    RenameTo,
    LinkFrom,
    Link,
    Symlink,
    MakeFolder,
    RemoveFolder,
    SetTimes,
}

/// One act on one real path, noted before it is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub session: SessionId,
    pub message: MessageId,
    pub call: CallId,
    pub tool: String,
    pub op: Op,
    pub path: PathBuf,
    pub before: Image,
    /// Milliseconds since the Unix epoch.
    pub time: u64,
}

/// Number of an entry in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntryId(pub i64);

/// A file as a session last saw or left it. Times are nanoseconds; the change time cannot be set by a program, so an equal
/// identity means an unchanged file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    pub device: u64,
    pub inode: u64,
    pub size: u64,
    pub modified_ns: i128,
    pub changed_ns: i128,
}

#[derive(Debug, thiserror::Error)]
#[error("the journal could not {attempt}: {why}")]
pub struct JournalError {
    pub attempt: &'static str,
    pub why: String,
}

#[async_trait]
pub trait Journal: Send + Sync {
    /// Keeps a content under its BLAKE3 hash (hex). Keeping the same content twice costs nothing.
    async fn keep(&self, hash: &str, content: Vec<u8>) -> Result<(), JournalError>;

    /// Notes an act before it is done.
    async fn begin(&self, entry: Entry) -> Result<EntryId, JournalError>;

    /// Notes what stands there after it.
    async fn finish(&self, id: EntryId, after: Image) -> Result<(), JournalError>;

    /// How the session last saw this real path; `None` = it never did.
    async fn seen(&self, session: &SessionId, path: &Path) -> Result<Option<Seen>, JournalError>;

    /// The session has seen, or left, this path so. Known at once; it may be stored with the next thing that is.
    async fn mark_seen(&self, session: &SessionId, path: &Path, seen: Seen) -> Result<(), JournalError>;

    /// Notes a request of a component, in place of what was noted under its id before.
    async fn egress(&self, _record: Egress) -> Result<(), JournalError> {
        Ok(())
    }
}
