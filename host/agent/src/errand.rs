//! A call that a person asks for, beside the model: a file that a prompt names, a line for the shell. It goes the way of every call:
//! hooks, schema, gate, bounds.

use crate::calls::{Bench, Halt, Outcome, Settled, Watch, carry_out, prepare};
use crate::places::Disk;
use crate::run::Ports;
use crate::toolset::Toolset;
use model::fault::FailureKind;
use model::id::{CallId, MessageId};
use model::provider::ModelCall;
use model::session::Session;
use model::tool::{Progress, ProgressSink};
use model::tool_state::Done;
use serde_json::Value;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Why a call came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    pub kind: FailureKind,
    pub message: String,
    /// Why nothing further should be tried: a no, or nobody there to say yes.
    pub blocked: Option<String>,
}

/// Whoever waits for it sees the result alone.
struct Unseen;

impl ProgressSink for Unseen {
    fn update(&self, _: Progress) {}
}

/// Runs one call to its end.
///
/// # Errors
/// As a call of the model's: no such tool, invalid input, a denial, whatever the tool says.
pub async fn errand(
    ports: &Ports,
    session: &Session,
    tool: &str,
    input: &Value,
    cancel: CancellationToken,
) -> Result<Done, Undone> {
    let bench = Arc::new(Bench {
        session: session.clone(),
        message: MessageId::new(),
        agent: session.agent.clone(),
        toolset: Arc::new(Toolset::all(ports.tools.specs())),
        tools: ports.tools.clone(),
        hooks: ports.hooks.clone(),
        gate: ports.gate.clone(),
        store: ports.store.clone(),
        clock: ports.clock.clone(),
        places: Arc::new(Disk),
        watch: Watch::default(),
        surroundings: None,
    });
    let call = ModelCall {
        id: CallId::given(MessageId::new().as_str()),
        name: tool.to_owned(),
        input: input.to_string(),
        opaque: None,
    };
    let settled = match prepare(call, bench.clone()).await {
        Ok(prepared) => carry_out(prepared, None, bench, Arc::new(Unseen), cancel).await,
        Err(refused) => Settled::from(refused),
    };
    match settled.outcome {
        Outcome::Completed(done) => Ok(done),
        Outcome::Failed { kind, message, .. } => {
            let blocked = settled.halt.map(|(Halt::Denied(why) | Halt::Looped(why))| why);
            Err(Undone { kind, message, blocked })
        }
    }
}
