//! Whose fault a failure is, and how it reads to the model.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a tool call failed: `metadata.kind` of a tool part in state `error`. The list is part of the interface that scripts rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    InvalidInput,
    NotFound,
    Denied,
    Conflict,
    /// Somebody else changed the file since this session saw it.
    Stale,
    TimedOut,
    /// A limit of the component: memory, output, instances, calls.
    Limit,
    Trap,
    /// No such tool, or a component that cannot be loaded.
    Unavailable,
    Interrupted,
    Failed,
}

impl FailureKind {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidInput => "invalid-input",
            Self::NotFound => "not-found",
            Self::Denied => "denied",
            Self::Conflict => "conflict",
            Self::Stale => "stale",
            Self::TimedOut => "timed-out",
            Self::Limit => "limit",
            Self::Trap => "trap",
            Self::Unavailable => "unavailable",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }

    #[must_use]
    pub fn party(self) -> Party {
        match self {
            Self::InvalidInput => Party::Model,
            Self::Denied | Self::Interrupted => Party::Person,
            Self::Trap | Self::Limit | Self::Unavailable => Party::Guest,
            Self::NotFound | Self::Conflict | Self::Stale | Self::TimedOut | Self::Failed => Party::World,
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who has to change something before it can go well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Party {
    Model,
    Person,
    Guest,
    World,
}
