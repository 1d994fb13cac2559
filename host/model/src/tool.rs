//! What the loop knows of tools.

use crate::fault::FailureKind;
use crate::grant::CallGrant;
use crate::id::{CallId, MessageId, SessionId};
use crate::tool_state::Metadata;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What a tool says of itself; see `wit/v0.1/types.wit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    pub input_schema: Value,
    pub annotations: Annotations,
    pub scopes: Vec<Scope>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotations {
    pub read_only: bool,
    pub destructive: bool,
    pub idempotent: bool,
    pub open_world: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    pub argument: String,
    pub kind: ScopeKind,
    pub default: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScopeKind {
    FsRead,
    FsWrite,
    /// A patch: each file that it names.
    FsPatch,
    Host,
    Command,
    Subject,
    /// The agent that a child session is given to. Such calls run beside each other: each has a session of its own.
    Agent,
}

impl ScopeKind {
    /// The permission that a scope of this kind is asked under; `None` = the tool's own name.
    #[must_use]
    pub fn permission(self) -> Option<&'static str> {
        match self {
            Self::FsRead => Some("read"),
            Self::FsWrite | Self::FsPatch => Some("edit"),
            Self::Host => Some("net"),
            Self::Command => Some("bash"),
            Self::Subject | Self::Agent => None,
        }
    }
}

impl ToolSpec {
    /// Every permission that a call of this tool is asked under. A tool is hidden from the model when a rule denies one of them
    /// for everything (agent-core, section 7.4).
    #[must_use]
    pub fn permissions(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.scopes.iter().map(|s| s.kind.permission().unwrap_or(&self.name)).collect();
        if names.is_empty() {
            names.push(&self.name);
        }
        names.dedup();
        names
    }
}

/// One call, permitted: only the gate's answer makes a [`CallGrant`].
#[derive(Clone, Debug)]
pub struct ToolCall {
    pub session: SessionId,
    pub message: MessageId,
    pub call: CallId,
    pub agent: String,
    pub tool: String,
    /// Fits the tool's schema.
    pub input: Value,
    /// Where relative paths start, and what is mounted. Real and absolute, as `worktree`.
    pub workspace: PathBuf,
    /// What counts as inside: the root of the repository, else the workspace.
    pub worktree: PathBuf,
    pub grant: CallGrant,
    /// Variables for the programs that it runs, beside those that the component names itself.
    pub env: Vec<(String, String)>,
    pub now_ms: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    pub title: String,
    pub text: String,
    pub metadata: Metadata,
    pub attachments: Vec<ToolAttachment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolAttachment {
    pub mime: String,
    pub name: Option<String>,
    pub data: Vec<u8>,
}

/// Why a call failed. `message` says what to do next; the model reads it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolFailure {
    pub kind: FailureKind,
    pub message: String,
}

impl ToolFailure {
    #[must_use]
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

/// What a running call tells of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    pub title: Option<String>,
    pub metadata: Option<Metadata>,
}

/// Where progress goes. Must not block: the newest update wins.
pub trait ProgressSink: Send + Sync {
    fn update(&self, progress: Progress);
}

/// The set of tools that exist.
#[async_trait]
pub trait Tools: Send + Sync {
    /// Sorted by name. Reading them instantiates nothing.
    fn specs(&self) -> Vec<Arc<ToolSpec>>;

    /// Runs one call to its end. Traps, floods and deadlines come back as a [`ToolFailure`]. Cancelling ends the call, with all
    /// that it started, within 250 ms.
    async fn call(
        &self,
        call: ToolCall,
        progress: Arc<dyn ProgressSink>,
        cancel: CancellationToken,
    ) -> Result<ToolOutput, ToolFailure>;
}
