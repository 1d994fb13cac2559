//! Hooks of version 0.1, in the host's own types.

mod turns;

use super::bindings::hooks::exports::airlock::plugin::{
    hook_command, hook_compacting, hook_event, hook_headers, hook_message, hook_messages, hook_params, hook_permission,
    hook_process_env, hook_stop, hook_system, hook_text_complete, hook_tool_after, hook_tool_before, hook_tool_spec,
};
use super::bindings::tool::airlock::plugin::types::CallContext as WitContext;
use super::tool::metadata;
use crate::fault::Fault;
use crate::state::CallState;
use model::hook::{CallContext, PermissionView, ResultView, TextContext};
use model::permission::Action;
use model::tool_state::Metadata;
use serde_json::Value;
use wasmtime::Store;
use wasmtime::component::InstancePre;

/// A linked component that exports hooks. A point that is not exported, or not of the contract's type, is not there.
macro_rules! points {
    ($($point:ident: $interface:ident),* $(,)?) => {
        #[derive(Clone)]
        pub struct Hook {
            pre: InstancePre<CallState>,
            $($point: Option<$interface::GuestIndices>,)*
        }

        impl Hook {
            #[must_use]
            pub fn new(pre: &InstancePre<CallState>) -> Self {
                Self { $($point: $interface::GuestIndices::new(pre).ok(),)* pre: pre.clone() }
            }
        }
    };
}

points! {
    text_complete: hook_text_complete,
    tool_before: hook_tool_before,
    tool_after: hook_tool_after,
    permission: hook_permission,
    message: hook_message,
    messages: hook_messages,
    system: hook_system,
    params: hook_params,
    headers: hook_headers,
    tool_spec: hook_tool_spec,
    process_env: hook_process_env,
    command: hook_command,
    compacting: hook_compacting,
    stop: hook_stop,
    event: hook_event,
}

/// An instance of its own, entered at one point; leaves with `None` where there is no such point.
macro_rules! enter {
    ($hook:expr, $store:expr, $point:ident) => {{
        let Some(indices) = &$hook.$point else { return Ok(None) };
        let instance = $hook.pre.instantiate_async(&mut *$store).await?;
        indices.load(&mut *$store, &instance)?
    }};
}
use enter;

/// What a hook wants done with acts.
pub enum RawOpinion {
    None,
    Ask,
    Deny(String),
    Allow,
}

impl Hook {
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
        let guest = enter!(self, store, text_complete);
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
        let guest = enter!(self, store, tool_before);
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
        let guest = enter!(self, store, tool_after);
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

    /// `None` = this hook has no such point.
    pub async fn permission(
        &self,
        store: &mut Store<CallState>,
        view: &PermissionView,
    ) -> wasmtime::Result<Option<RawOpinion>> {
        let guest = enter!(self, store, permission);
        let need = |(permission, pattern): &(String, String)| hook_permission::Need {
            permission: permission.clone(),
            pattern: pattern.clone(),
        };
        let request = hook_permission::Request {
            session_id: view.session.to_string(),
            call_id: view.call.to_string(),
            agent: view.agent.clone(),
            tool: view.tool.clone(),
            needs: view.needs.iter().map(need).collect(),
            by_rules: match view.by_rules {
                Action::Allow => hook_permission::Answer::Allow,
                Action::Ask | Action::Deny => hook_permission::Answer::Ask,
            },
            metadata: None,
        };
        let opinion = guest.call_run(&mut *store, &request).await?;
        Ok(Some(match opinion {
            hook_permission::Opinion::None => RawOpinion::None,
            hook_permission::Opinion::Ask => RawOpinion::Ask,
            hook_permission::Opinion::Deny(reason) => RawOpinion::Deny(reason),
            hook_permission::Opinion::Allow => RawOpinion::Allow,
        }))
    }

    /// `None` = this hook has no such point.
    pub async fn process_env(
        &self,
        store: &mut Store<CallState>,
        context: &CallContext,
    ) -> wasmtime::Result<Option<Vec<(String, String)>>> {
        let guest = enter!(self, store, process_env);
        guest.call_run(&mut *store, &wit(context), &context.tool).await.map(Some)
    }

    /// `None` = this hook has no such point.
    pub async fn event(&self, store: &mut Store<CallState>, event: &str) -> wasmtime::Result<Option<()>> {
        let guest = enter!(self, store, event);
        guest.call_run(&mut *store, event).await.map(Some)
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
