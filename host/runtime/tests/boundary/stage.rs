//! A runtime with guests on it, and those who stand around a call: a gate with one answer, a journal in memory.

use async_trait::async_trait;
use model::grant::CallGrant;
use model::id::{CallId, MessageId, SessionId};
use model::journal::{Entry, EntryId, Image, Journal, JournalError, Seen};
use model::permission::{Act, Action, Actor, Denial, Gate, Rule};
use model::tool::{Progress, ProgressSink, ToolCall, ToolFailure, ToolOutput, Tools};
use runtime::{Bundled, Learnt, Runtime, RuntimeOptions};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub struct Stage {
    pub runtime: Arc<Runtime>,
    pub workspace: TempDir,
    pub home: TempDir,
    pub progress: Arc<Reports>,
}

/// What a call reported.
#[derive(Default)]
pub struct Reports(pub Mutex<Vec<Progress>>);

impl ProgressSink for Reports {
    fn update(&self, progress: Progress) {
        self.0.lock().unwrap().push(progress);
    }
}

#[expect(clippy::disallowed_methods, reason = "the tester's own variables")]
pub fn options(home: &Path, bundled: Vec<Bundled>) -> RuntimeOptions {
    RuntimeOptions { environment: std::env::vars().collect(), ..RuntimeOptions::below(home, bundled) }
}

impl Stage {
    pub fn new(bundled: &[(&'static str, &'static [u8])]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let bundled = bundled.iter().map(|(name, bytes)| Bundled { name, bytes, learnt: Learnt::AtStart }).collect();
        let runtime = Runtime::open(options(home.path(), bundled)).unwrap();
        Self { runtime, workspace: tempfile::tempdir().unwrap(), home, progress: Arc::default() }
    }

    pub fn tools(&self, gate: Answer) -> Arc<dyn Tools> {
        self.runtime.tools(Arc::new(gate), Arc::new(Memory))
    }

    pub fn call(&self, tool: &str, input: Value) -> ToolCall {
        ToolCall {
            session: SessionId::new(),
            message: MessageId::new(),
            call: CallId::given("c1"),
            agent: "build".into(),
            tool: tool.into(),
            input,
            workspace: self.workspace.path().canonicalize().unwrap(),
            worktree: self.workspace.path().canonicalize().unwrap(),
            grant: CallGrant::default(),
            env: vec![],
            now_ms: 7,
        }
    }

    pub async fn run(&self, tool: &str, gate: Answer) -> Result<ToolOutput, ToolFailure> {
        self.run_with(tool, json!({}), gate).await
    }

    pub async fn run_with(&self, tool: &str, input: Value, gate: Answer) -> Result<ToolOutput, ToolFailure> {
        let progress = Arc::clone(&self.progress) as Arc<dyn ProgressSink>;
        self.tools(gate).call(self.call(tool, input), progress, CancellationToken::new()).await
    }
}

/// A gate with one answer to everything, given after a while.
#[derive(Clone, Copy)]
pub enum Answer {
    Yes,
    YesAfter(Duration),
    No,
}

#[async_trait]
impl Gate for Answer {
    fn decide(&self, _: &Actor, _: &Act) -> Action {
        if matches!(self, Self::No) { Action::Deny } else { Action::Allow }
    }

    async fn permit(&self, _: &Actor, _: &[Act], _: Value, _: &CancellationToken) -> Result<(), Denial> {
        match self {
            Self::Yes => Ok(()),
            Self::YesAfter(wait) => {
                tokio::time::sleep(*wait).await;
                Ok(())
            }
            Self::No => Err(Denial::Rule(Rule::new("*", "*", Action::Deny))),
        }
    }
}

pub struct Memory;

#[async_trait]
impl Journal for Memory {
    async fn keep(&self, _: &str, _: Vec<u8>) -> Result<(), JournalError> {
        Ok(())
    }
    async fn begin(&self, _: Entry) -> Result<EntryId, JournalError> {
        Ok(EntryId(1))
    }
    async fn finish(&self, _: EntryId, _: Image) -> Result<(), JournalError> {
        Ok(())
    }
    async fn seen(&self, _: &SessionId, _: &Path) -> Result<Option<Seen>, JournalError> {
        Ok(None)
    }
    async fn mark_seen(&self, _: &SessionId, _: &Path, _: Seen) -> Result<(), JournalError> {
        Ok(())
    }
}
