//! Messages that wait for a session: handed over at any time, by any process, taken by the one run that works on it.
//!
//! A letter is *waiting*, then *taken* by a run, then *delivered*: in the history, in the same transaction that removes it here. A run
//! that dies in between leaves it taken; the next one puts it back. So it is delivered once, and until it is taken it can be
//! changed or withdrawn.

use crate::id::SessionId;
use crate::store::StoreError;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// Letters that may wait for one session.
pub const MAX_LETTERS: usize = 100;
/// Bytes of one letter.
pub const MAX_LETTER: usize = 256 << 10;

/// Number of a letter in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LetterId(pub i64);

/// When a letter is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Delivery {
    /// After the run has answered what it is at: the next prompt.
    Queue,
    /// At the next step, between two requests to the model.
    Steer,
}

/// Whose words a letter holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sender {
    Person,
    /// What became of a child session in the background.
    Host,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Letter {
    pub delivery: Delivery,
    pub sender: Sender,
    pub text: String,
    /// Milliseconds since the Unix epoch.
    pub created: u64,
}

/// A letter that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    pub id: LetterId,
    #[serde(rename = "sessionID")]
    pub session_id: SessionId,
    #[serde(flatten)]
    pub letter: Letter,
}

#[async_trait]
pub trait Inbox: Send + Sync {
    /// # Errors
    /// [`StoreError::NoSession`]; [`StoreError::InboxFull`] where too many wait or it is too long.
    async fn put(&self, session: &SessionId, letter: Letter) -> Result<LetterId, StoreError>;
    /// Those that are not taken, the oldest first.
    async fn waiting(&self, session: &SessionId) -> Result<Vec<Waiting>, StoreError>;
    /// Takes letters, the oldest first: all of the kind *steer*, or the first of the kind *queue*.
    async fn take(&self, session: &SessionId, kind: Delivery) -> Result<Vec<Waiting>, StoreError>;
    /// Puts back what a run took that did not live to deliver it. For whoever holds the session.
    async fn put_back(&self, session: &SessionId) -> Result<(), StoreError>;
    /// False where no such letter waits (any more).
    async fn withdraw(&self, session: &SessionId, id: LetterId) -> Result<bool, StoreError>;
    /// False where no such letter waits (any more).
    async fn rewrite(&self, session: &SessionId, id: LetterId, text: String) -> Result<bool, StoreError>;
}
