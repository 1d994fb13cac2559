//! One call without a model and without a history: prepared, judged and run by the very stages of a session's calls, hooks
//! included.

use crate::calls::{Bench, Watch, act, prepare};
use crate::places::Disk;
use crate::run::Clock;
use crate::toolset::Toolset;
use model::budget::Tokens;
use model::hook::Hooks;
use model::id::{CallId, MessageId, SessionId};
use model::permission::Gate;
use model::provider::{ModelCall, ModelRef};
use model::session::{Session, SessionTime};
use model::store::Store;
use model::tool::{ProgressSink, ToolFailure, ToolOutput, ToolSpec, Tools};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A call, where it is made and in whose name.
pub struct LoneCall {
    pub tool: Arc<ToolSpec>,
    pub input: Value,
    pub agent: String,
    /// Where relative paths start, and what is mounted.
    pub directory: PathBuf,
    /// What counts as inside.
    pub worktree: PathBuf,
}

/// What a call works with: the ports of a run without a provider and an observer.
pub struct LonePorts {
    pub tools: Arc<dyn Tools>,
    pub hooks: Arc<dyn Hooks>,
    pub gate: Arc<dyn Gate>,
    pub store: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
}

/// Validates the input, lets the hooks see it, puts what it will touch to the gate, runs it, and lets the hooks see the result.
///
/// # Errors
/// As in a session: invalid input, a hook's refusal, a denial, whatever the tool says.
pub async fn call_alone(
    call: LoneCall,
    ports: LonePorts,
    progress: Arc<dyn ProgressSink>,
    cancel: CancellationToken,
) -> Result<ToolOutput, ToolFailure> {
    let made = ModelCall {
        id: CallId::given("call"),
        name: call.tool.name.clone(),
        input: call.input.to_string(),
        opaque: None,
    };
    let bench = Arc::new(bench(call, ports));
    let prepared = prepare(made, Arc::clone(&bench)).await.map_err(|r| r.failure)?;
    act(prepared, &bench, progress, cancel).await.map_err(|r| r.failure)
}

fn bench(call: LoneCall, ports: LonePorts) -> Bench {
    let LonePorts { tools, hooks, gate, store, clock } = ports;
    Bench {
        message: MessageId::new(),
        agent: call.agent.clone(),
        toolset: Arc::new(Toolset::only(call.tool)),
        session: nowhere(call.agent, call.directory, call.worktree, clock.now_ms()),
        tools,
        hooks,
        gate,
        store,
        clock,
        places: Arc::new(Disk),
        watch: Watch::default(),
        surroundings: None,
    }
}

/// A session that no ledger knows.
fn nowhere(agent: String, directory: PathBuf, worktree: PathBuf, now: u64) -> Session {
    Session {
        id: SessionId::new(),
        parent_id: None,
        summary: None,
        labels: model::flow::Labels::default(),
        title: String::new(),
        directory,
        worktree,
        agent,
        model: ModelRef { provider: String::new(), model: String::new() },
        version: String::new(),
        cost: 0.into(),
        tokens: Tokens::default(),
        time: SessionTime { created: now, updated: now },
    }
}
