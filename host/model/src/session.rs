//! The session record (agent-core, section 1.7).

use crate::budget::Tokens;
use crate::flow::Labels;
use crate::id::SessionId;
use crate::provider::ModelRef;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    pub id: SessionId,
    #[serde(rename = "parentID", skip_serializing_if = "Option::is_none", default)]
    pub parent_id: Option<SessionId>,
    pub title: String,
    /// What it was about up to its newest run but one, in a few sentences; where a small model writes them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub summary: Option<String>,
    /// Where all comes from that its family has read: no rewind and no undo takes it back.
    #[serde(skip_serializing_if = "Labels::is_empty", default)]
    pub labels: Labels,
    /// Where the run was started.
    pub directory: PathBuf,
    /// Root of the repository, else `directory`: what counts as inside.
    pub worktree: PathBuf,
    pub agent: String,
    pub model: ModelRef,
    pub version: String,
    #[serde(with = "rust_decimal::serde::float")]
    pub cost: Decimal,
    pub tokens: Tokens,
    pub time: SessionTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionTime {
    /// Milliseconds since the Unix epoch.
    pub created: u64,
    pub updated: u64,
}

/// A line of `session list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionSummary {
    #[serde(flatten)]
    pub info: Session,
    pub messages: u64,
}
