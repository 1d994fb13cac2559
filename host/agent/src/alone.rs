//! One call without a model and without a history: judged and run as in a session.

use crate::calls::survey;
use crate::places::Disk;
use crate::toolset::{compile, violations};
use model::fault::FailureKind;
use model::permission::{Actor, Denial, Gate};
use model::tool::{ProgressSink, ToolCall, ToolFailure, ToolOutput, ToolSpec, Tools};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A call, and who makes it where.
pub struct LoneCall {
    pub actor: Actor,
    pub input: Value,
    /// Where relative paths start, and what is mounted.
    pub directory: PathBuf,
    pub now_ms: u64,
}

/// Validates the input, puts what it will touch to the gate, and runs it.
///
/// # Errors
/// As in a session: invalid input, a denial, whatever the tool says.
pub async fn call_alone(
    call: LoneCall,
    spec: &ToolSpec,
    tools: &dyn Tools,
    gate: &dyn Gate,
    progress: Arc<dyn ProgressSink>,
    cancel: CancellationToken,
) -> Result<ToolOutput, ToolFailure> {
    validate(spec, &call.input)?;
    let LoneCall { actor, input, directory, now_ms } = call;
    let surveyed = survey(spec, &input, &directory, &Disk);
    let metadata = json!({ "tool": spec.name, "input": input });
    gate.permit(&actor, &surveyed.acts, metadata, &cancel).await.map_err(|d| denied(&spec.name, &d))?;
    let call = ToolCall {
        session: actor.session,
        message: actor.message,
        call: actor.call,
        agent: actor.agent,
        tool: spec.name.clone(),
        input,
        workspace: directory,
        worktree: actor.worktree,
        grant: surveyed.grant,
        now_ms,
    };
    tools.call(call, progress, cancel).await
}

fn validate(spec: &ToolSpec, input: &Value) -> Result<(), ToolFailure> {
    let failed = |kind, why: String| ToolFailure::new(kind, why);
    let validator = compile(&spec.input_schema)
        .map_err(|why| failed(FailureKind::Unavailable, format!("The schema of {} is broken: {why}", spec.name)))?;
    violations(&validator, input)
        .map_err(|list| failed(FailureKind::InvalidInput, format!("The arguments do not fit {}:\n{list}", spec.name)))
}

fn denied(tool: &str, denial: &Denial) -> ToolFailure {
    let kind = if *denial == Denial::Cancelled { FailureKind::Interrupted } else { FailureKind::Denied };
    ToolFailure::new(kind, format!("The call of {tool} was not permitted: {denial}."))
}
