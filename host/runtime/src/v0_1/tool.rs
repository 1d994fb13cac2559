//! Tools of version 0.1, in the host's own types.

use super::bindings::tool::airlock::plugin::types as wit;
use super::bindings::tool::exports::airlock::plugin::tool::{Guest, GuestIndices};
use crate::bounds::ATTACHMENTS;
use crate::fault::Fault;
use crate::state::CallState;
use model::fault::FailureKind;
use model::tool::{Annotations, Scope, ScopeKind, ToolAttachment, ToolCall, ToolFailure, ToolOutput, ToolSpec};
use model::tool_state::Metadata;
use wasmtime::Store;
use wasmtime::component::InstancePre;

/// Bytes of a title and of a failure's text; longer ones are cut.
const TITLE: usize = 1 << 10;
const FAILURE: usize = 64 << 10;

/// A linked component that exports tools.
#[derive(Clone)]
pub struct Tool {
    pre: InstancePre<CallState>,
    indices: GuestIndices,
}

impl Tool {
    /// # Errors
    /// When the export is not of the contract's type.
    pub fn new(pre: &InstancePre<CallState>) -> wasmtime::Result<Self> {
        Ok(Self { indices: GuestIndices::new(pre)?, pre: pre.clone() })
    }

    pub fn engine(&self) -> &wasmtime::Engine {
        self.pre.engine()
    }

    async fn guest(&self, store: &mut Store<CallState>) -> wasmtime::Result<Guest> {
        let instance = self.pre.instantiate_async(&mut *store).await?;
        self.indices.load(&mut *store, &instance)
    }

    /// The tools, each as it came or the reason why it cannot be used.
    pub async fn list(&self, store: &mut Store<CallState>) -> wasmtime::Result<Vec<Result<ToolSpec, String>>> {
        let specs = self.guest(store).await?.call_list(&mut *store).await?;
        Ok(specs.into_iter().map(spec).collect())
    }

    pub async fn call(
        &self,
        store: &mut Store<CallState>,
        call: &ToolCall,
    ) -> wasmtime::Result<Result<RawOutput, ToolFailure>> {
        let guest = self.guest(store).await?;
        let input = call.input.to_string();
        let given = guest.call_call(&mut *store, &context(call), &call.tool, &input).await?;
        Ok(given.map(RawOutput).map_err(failure))
    }
}

/// A result that nobody has looked at yet.
pub struct RawOutput(wit::ToolOutput);

impl RawOutput {
    /// # Errors
    /// A result beyond the bounds, or one that the contract does not allow.
    pub fn check(self, limit: usize) -> Result<ToolOutput, Fault> {
        let out = self.0;
        if out.text.len() + out.metadata.len() > limit {
            return Err(Fault::Flood { limit });
        }
        if out.attachments.iter().map(|a| a.data.len()).sum::<usize>() > ATTACHMENTS {
            return Err(Fault::Flood { limit: ATTACHMENTS });
        }
        let metadata = metadata(&out.metadata).map_err(Fault::Lie)?;
        let attachments = out.attachments.into_iter().map(attachment).collect();
        Ok(ToolOutput { title: cut(out.title, TITLE), text: out.text, metadata, attachments })
    }
}

fn attachment(a: wit::Attachment) -> ToolAttachment {
    ToolAttachment { mime: a.mime, name: a.name, data: a.data }
}

/// Metadata as the contract wants it: a JSON object, where nothing counts as an empty one.
pub fn metadata(json: &str) -> Result<Metadata, String> {
    if json.is_empty() {
        return Ok(Metadata::new());
    }
    serde_json::from_str(json).map_err(|e| format!("its metadata is not a JSON object ({e})"))
}

fn context(call: &ToolCall) -> wit::CallContext {
    wit::CallContext {
        session_id: call.session.to_string(),
        call_id: call.call.to_string(),
        agent: call.agent.clone(),
        workspace: call.workspace.to_string_lossy().into_owned(),
        now_ms: call.now_ms,
    }
}

fn failure(given: wit::ToolFailure) -> ToolFailure {
    let (kind, text) = match given {
        wit::ToolFailure::InvalidInput(t) => (FailureKind::InvalidInput, t),
        wit::ToolFailure::NotFound(t) => (FailureKind::NotFound, t),
        wit::ToolFailure::Denied(t) => (FailureKind::Denied, t),
        wit::ToolFailure::Conflict(t) => (FailureKind::Conflict, t),
        wit::ToolFailure::TimedOut(t) => (FailureKind::TimedOut, t),
        wit::ToolFailure::Failed(t) => (FailureKind::Failed, t),
    };
    ToolFailure::new(kind, cut(text, FAILURE))
}

/// The beginning of a text, whole where it is short enough.
pub fn cut(mut text: String, max: usize) -> String {
    if text.len() > max {
        text.truncate(text.floor_char_boundary(max));
        text.push('…');
    }
    text
}

fn spec(given: wit::ToolSpec) -> Result<ToolSpec, String> {
    if !is_name(&given.name) {
        return Err(format!("a tool is called {:?}; a name is `[a-z][a-z0-9_-]*`, at most 64 characters", given.name));
    }
    let schema = serde_json::from_str(&given.input_schema);
    let input_schema = schema.map_err(|e| format!("the input schema of `{}` is not JSON ({e})", given.name))?;
    let has = |flag| given.annotations.contains(flag);
    Ok(ToolSpec {
        annotations: Annotations {
            read_only: has(wit::Annotations::READ_ONLY),
            destructive: has(wit::Annotations::DESTRUCTIVE),
            idempotent: has(wit::Annotations::IDEMPOTENT),
            open_world: has(wit::Annotations::OPEN_WORLD),
        },
        input_schema,
        scopes: given.scopes.into_iter().map(scope).collect(),
        name: given.name,
        description: given.description,
    })
}

fn is_name(name: &str) -> bool {
    let rest = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
    name.len() <= 64 && name.as_bytes().first().is_some_and(u8::is_ascii_lowercase) && name.bytes().all(rest)
}

fn scope(given: wit::Scope) -> Scope {
    let kind = match given.kind {
        wit::ScopeKind::FsRead => ScopeKind::FsRead,
        wit::ScopeKind::FsWrite => ScopeKind::FsWrite,
        wit::ScopeKind::FsPatch => ScopeKind::FsPatch,
        wit::ScopeKind::Host => ScopeKind::Host,
        wit::ScopeKind::Command => ScopeKind::Command,
        wit::ScopeKind::Subject => ScopeKind::Subject,
    };
    Scope { argument: given.argument, kind, default: given.default }
}
