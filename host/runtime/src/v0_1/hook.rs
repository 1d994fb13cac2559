//! Hooks of version 0.1, in the host's own types.

use super::bindings::hooks::exports::airlock::plugin::{hook_text_complete, hook_tool_after, hook_tool_before};
use super::bindings::tool::airlock::plugin::types::CallContext as WitContext;
use super::tool::metadata;
use crate::fault::Fault;
use crate::state::CallState;
use model::hook::{CallContext, ResultView, TextContext};
use model::tool_state::Metadata;
use serde_json::Value;
use wasmtime::Store;
use wasmtime::component::InstancePre;

/// A linked component that exports hooks.
#[derive(Clone)]
pub struct Hook {
    pre: InstancePre<CallState>,
    text_complete: Option<hook_text_complete::GuestIndices>,
    tool_before: Option<hook_tool_before::GuestIndices>,
    tool_after: Option<hook_tool_after::GuestIndices>,
}

impl Hook {
    /// A point that is not exported, or not of the contract's type, is not there.
    #[must_use]
    pub fn new(pre: &InstancePre<CallState>) -> Self {
        Self {
            text_complete: hook_text_complete::GuestIndices::new(pre).ok(),
            tool_before: hook_tool_before::GuestIndices::new(pre).ok(),
            tool_after: hook_tool_after::GuestIndices::new(pre).ok(),
            pre: pre.clone(),
        }
    }

    pub fn engine(&self) -> &wasmtime::Engine {
        self.pre.engine()
    }

    /// `None` = this hook has no such point.
    pub async fn text_complete(
        &self,
        store: &mut Store<CallState>,
        context: &TextContext,
        text: &str,
    ) -> wasmtime::Result<Option<String>> {
        let Some(indices) = &self.text_complete else { return Ok(None) };
        let instance = self.pre.instantiate_async(&mut *store).await?;
        let guest = indices.load(&mut *store, &instance)?;
        let context = hook_text_complete::TextContext {
            session_id: context.session.to_string(),
            message_id: context.message.to_string(),
            part_id: context.part.to_string(),
        };
        guest.call_run(&mut *store, &context, text).await.map(Some)
    }

    /// The new input, or the guest's reason for refusing; `None` = this hook has no such point.
    pub async fn tool_before(
        &self,
        store: &mut Store<CallState>,
        context: &CallContext,
        input: &Value,
    ) -> wasmtime::Result<Option<Result<RawInput, String>>> {
        let Some(indices) = &self.tool_before else { return Ok(None) };
        let instance = self.pre.instantiate_async(&mut *store).await?;
        let guest = indices.load(&mut *store, &instance)?;
        let given = guest.call_run(&mut *store, &wit(context), &context.tool, &input.to_string()).await?;
        Ok(Some(given.map(RawInput)))
    }

    /// `None` = this hook has no such point.
    pub async fn tool_after(
        &self,
        store: &mut Store<CallState>,
        context: &CallContext,
        input: &Value,
        result: &ResultView,
    ) -> wasmtime::Result<Option<RawView>> {
        let Some(indices) = &self.tool_after else { return Ok(None) };
        let instance = self.pre.instantiate_async(&mut *store).await?;
        let guest = indices.load(&mut *store, &instance)?;
        let view = hook_tool_after::ToolView {
            title: result.title.clone(),
            text: result.text.clone(),
            metadata: Value::Object(result.metadata.clone()).to_string(),
        };
        guest
            .call_run(&mut *store, &wit(context), &context.tool, &input.to_string(), &view)
            .await
            .map(|v| Some(RawView(v)))
    }
}

/// An input that nobody has looked at yet.
pub struct RawInput(String);

impl RawInput {
    /// # Errors
    /// Anything but a JSON object.
    pub fn check(self) -> Result<Value, Fault> {
        let object: Result<Metadata, _> = serde_json::from_str(&self.0);
        object.map(Value::Object).map_err(|e| Fault::Lie(format!("the input is not a JSON object ({e})")))
    }
}

/// A changed result that nobody has looked at yet.
pub struct RawView(hook_tool_after::ToolView);

impl RawView {
    /// # Errors
    /// Metadata that is not a JSON object, or more than `limit` bytes.
    pub fn check(self, limit: usize) -> Result<ResultView, Fault> {
        if self.0.title.len() + self.0.text.len() + self.0.metadata.len() > limit {
            return Err(Fault::Flood { limit });
        }
        let metadata = metadata(&self.0.metadata).map_err(Fault::Lie)?;
        Ok(ResultView { title: self.0.title, text: self.0.text, metadata })
    }
}

fn wit(context: &CallContext) -> WitContext {
    WitContext {
        session_id: context.session.to_string(),
        call_id: context.call.to_string(),
        agent: context.agent.clone(),
        workspace: context.workspace.to_string_lossy().into_owned(),
        now_ms: context.now_ms,
    }
}
