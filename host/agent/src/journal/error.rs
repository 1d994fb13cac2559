//! Why something was not taken back.

use model::id::{CallId, MessageId, SessionId};
use model::journal::JournalError;
use model::store::StoreError;
use model::undo::DiskError;
use std::fmt;
use std::path::PathBuf;

/// What stands in the way of an undo, before anything was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// It is not as the session left it.
    Changed { path: PathBuf },
    /// A later act of the session, which is not to be taken back, builds on it.
    BuiltOn { path: PathBuf, call: CallId, message: MessageId },
    /// The content that was there before is not in the journal.
    NotKept { path: PathBuf },
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed { path } => write!(f, "{} was changed by someone else since", path.display()),
            Self::BuiltOn { path, call, message } => {
                write!(f, "{} was changed again by call {call} of {message}, which is not taken back", path.display())
            }
            Self::NotKept { path } => {
                write!(
                    f,
                    "what {} held before is not in the journal (too large, or removed to save room)",
                    path.display()
                )
            }
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error("session {0} holds no message {1}")]
    NoMessage(SessionId, MessageId),
    #[error("message {0} is taken back already")]
    AlreadyUndone(MessageId),
    #[error("message {0} is not an answer of a model: only those are steps")]
    NoStep(MessageId),
    #[error("session {0} holds no call {1}")]
    NoCall(SessionId, CallId),
    #[error("there are several calls {0}, in the messages {messages}", messages = .1.iter().map(MessageId::as_str).collect::<Vec<_>>().join(", "))]
    ManyCalls(CallId, Vec<MessageId>),
    #[error("session {1} is not below session {0}")]
    NoChild(SessionId, SessionId),
    #[error("nothing is left in session {0} that could be taken back")]
    NothingToUndo(SessionId),
    #[error("nothing was taken back in session {0}")]
    NothingToRedo(SessionId),
    #[error("a call has no talk of its own that could be taken back alone")]
    NoTalkAlone,
    #[error("nothing was changed, since: {list}", list = .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Obstacles(Vec<Obstacle>),
    #[error("the talk of session {0} has gone on since: its messages can't be put back between")]
    TalkWentOn(SessionId),
    #[error("{path} was changed while it was taken back: the work is half done", path = .0.display())]
    Interfered(PathBuf),
    #[error("an undo of session {0} was cut short: some files stand as before it, some as after")]
    HalfDone(SessionId),
    #[error("the work on the disk broke off: {0}")]
    BrokeOff(String),
}

impl UndoError {
    /// What a person can do about it. `airlock` adds nothing to it.
    #[must_use]
    pub fn next(&self) -> &'static str {
        match self {
            Self::NoMessage(..) | Self::NoCall(..) | Self::NoStep(_) => {
                "`airlock session show ID --format json` lists its messages and calls."
            }
            Self::ManyCalls(..) => "Take back the whole answer with --step MESSAGE.",
            Self::NoChild(..) => "`airlock session list` shows the sessions.",
            Self::Obstacles(_) => {
                "Look at it with --dry-run and `airlock session diff ID`; move the named files away or take back less."
            }
            Self::TalkWentOn(_) => "`--files-only` puts back the files alone.",
            Self::Interfered(_) | Self::HalfDone(_) => {
                "`airlock session undo ID` finishes it, `airlock session redo ID` takes it back; both name a file that stands in the way."
            }
            Self::Disk(_) => {
                "If files were changed already, `airlock session undo ID` goes on with it and `airlock session redo ID` takes it back."
            }
            Self::NoTalkAlone => "Leave --talk-only out, or name a message.",
            _ => "",
        }
    }

    /// Whether what was asked for does not fit what is there, as opposed to something that broke.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Store(e) => matches!(e, StoreError::NoSession(_)),
            Self::Journal(_) | Self::Disk(_) | Self::Interfered(_) | Self::HalfDone(_) | Self::BrokeOff(_) => false,
            _ => true,
        }
    }
}
