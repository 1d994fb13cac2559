//! Who stands behind a component that is run without any right: a gate that denies all, a journal that takes nothing.

use crate::bounds::Bounds;
use crate::caps::Funnel;
use crate::caps::process::Sandbox;
use crate::state::Setup;
use async_trait::async_trait;
use model::grant::CallGrant;
use model::id::{CallId, MessageId, SessionId};
use model::journal::{Entry, EntryId, Image, Journal, JournalError, Seen};
use model::permission::{Act, Action, Actor, Denial, Gate};
use model::tool::{Progress, ProgressSink};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

pub struct Nobody;

/// The state of a call that may touch nothing.
pub fn setup(component: Arc<str>, bounds: Bounds) -> Setup {
    let funnel =
        Funnel::new(actor(), CallGrant::default(), Arc::new(Nobody), Arc::new(Nobody), CancellationToken::new());
    Setup {
        component,
        funnel: Arc::new(funnel),
        progress: Arc::new(Nobody),
        grant: Arc::default(),
        workspace: "/".into(),
        bounds,
        pool: None,
        lease: None,
        env: Vec::new(),
        digest: String::new(),
        means: Arc::default(),
        yard: Arc::default(),
        sandbox: Arc::new(Sandbox { writable: Vec::new(), ..Sandbox::new(Path::new("/"), Path::new("/")) }),
    }
}

/// An actor that belongs to no session.
pub fn actor() -> Actor {
    Actor {
        session: SessionId::new(),
        message: MessageId::new(),
        call: CallId::given(""),
        agent: String::new(),
        tool: String::new(),
        worktree: "/".into(),
    }
}

#[async_trait]
impl Gate for Nobody {
    fn decide(&self, _: &Actor, _: &Act) -> Action {
        Action::Deny
    }

    async fn permit(&self, _: &Actor, _: &[Act], _: Value, _: &CancellationToken) -> Result<(), Denial> {
        Err(Denial::Unanswered)
    }
}

impl ProgressSink for Nobody {
    fn update(&self, _: Progress) {}
}

fn refused(attempt: &'static str) -> JournalError {
    JournalError { attempt, why: "nothing may be changed here".into() }
}

#[async_trait]
impl Journal for Nobody {
    async fn keep(&self, _: &str, _: Vec<u8>) -> Result<(), JournalError> {
        Err(refused("keep a content"))
    }

    async fn begin(&self, _: Entry) -> Result<EntryId, JournalError> {
        Err(refused("note an act"))
    }

    async fn finish(&self, _: EntryId, _: Image) -> Result<(), JournalError> {
        Err(refused("note an act"))
    }

    async fn seen(&self, _: &SessionId, _: &Path) -> Result<Option<Seen>, JournalError> {
        Ok(None)
    }

    async fn mark_seen(&self, _: &SessionId, _: &Path, _: Seen) -> Result<(), JournalError> {
        Ok(())
    }
}
