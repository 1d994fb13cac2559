//! The points around a message or a request.

use super::{Hook, enter, hook_compacting, hook_message, hook_params, hook_tool_spec};
use crate::state::CallState;
use crate::v0_1::bindings::tool::airlock::plugin::types::TurnContext as WitContext;
use model::hook::{CommandView, Compacting, Params, TurnContext, UserText};
use model::provider::ToolDecl;
use serde_json::Value;
use wasmtime::Store;

/// Each answers `None` where the hook has no such point.
impl Hook {
    pub async fn message(
        &self,
        store: &mut Store<CallState>,
        context: &TurnContext,
        said: &UserText,
    ) -> wasmtime::Result<Option<UserText>> {
        let guest = enter!(self, store, message);
        let said = hook_message::Said { text: said.text.clone(), notes: said.notes.clone() };
        let given = guest.call_run(&mut *store, &wit(context), &said).await?;
        Ok(Some(UserText { text: given.text, notes: given.notes }))
    }

    /// The conversation as the contract writes it.
    pub async fn messages(
        &self,
        store: &mut Store<CallState>,
        context: &TurnContext,
        messages: &str,
    ) -> wasmtime::Result<Option<String>> {
        let guest = enter!(self, store, messages);
        guest.call_run(&mut *store, &wit(context), messages).await.map(Some)
    }

    pub async fn system(
        &self,
        store: &mut Store<CallState>,
        context: &TurnContext,
        blocks: &[String],
    ) -> wasmtime::Result<Option<Vec<String>>> {
        let guest = enter!(self, store, system);
        guest.call_run(&mut *store, &wit(context), blocks).await.map(Some)
    }

    pub async fn params(
        &self,
        store: &mut Store<CallState>,
        context: &TurnContext,
        params: &Params,
    ) -> wasmtime::Result<Option<RawParams>> {
        let guest = enter!(self, store, params);
        let params = hook_params::Params {
            temperature: params.temperature,
            max_output_tokens: params.max_output_tokens,
            options: params.options.as_ref().map(Value::to_string),
        };
        guest.call_run(&mut *store, &wit(context), &params).await.map(|p| Some(RawParams(p)))
    }

    pub async fn headers(
        &self,
        store: &mut Store<CallState>,
        context: &TurnContext,
    ) -> wasmtime::Result<Option<Vec<(String, String)>>> {
        let guest = enter!(self, store, headers);
        guest.call_run(&mut *store, &wit(context)).await.map(Some)
    }

    pub async fn tool_spec(
        &self,
        store: &mut Store<CallState>,
        context: &TurnContext,
        decl: &ToolDecl,
    ) -> wasmtime::Result<Option<ToolDecl>> {
        let guest = enter!(self, store, tool_spec);
        let decl = hook_tool_spec::ToolDecl {
            name: decl.name.clone(),
            description: decl.description.clone(),
            input_schema: decl.input_schema.clone(),
        };
        let given = guest.call_run(&mut *store, &wit(context), &decl).await?;
        Ok(Some(ToolDecl { name: given.name, description: given.description, input_schema: given.input_schema }))
    }

    pub async fn command(
        &self,
        store: &mut Store<CallState>,
        context: &TurnContext,
        command: &CommandView,
    ) -> wasmtime::Result<Option<CommandView>> {
        let guest = enter!(self, store, command);
        let CommandView { name, arguments, text } = command;
        let text = guest.call_run(&mut *store, &wit(context), name, arguments, text).await?;
        Ok(Some(CommandView { text, ..command.clone() }))
    }

    pub async fn compacting(
        &self,
        store: &mut Store<CallState>,
        context: &TurnContext,
        plan: &Compacting,
    ) -> wasmtime::Result<Option<Compacting>> {
        let guest = enter!(self, store, compacting);
        let plan =
            hook_compacting::Plan { context: plan.context.clone(), prompt: plan.prompt.clone(), go_on: plan.go_on };
        let given = guest.call_run(&mut *store, &wit(context), &plan).await?;
        Ok(Some(Compacting { context: given.context, prompt: given.prompt, go_on: given.go_on }))
    }

    pub async fn stop(
        &self,
        store: &mut Store<CallState>,
        context: &TurnContext,
        answer: &str,
        round: u32,
    ) -> wasmtime::Result<Option<Option<String>>> {
        let guest = enter!(self, store, stop);
        guest.call_run(&mut *store, &wit(context), answer, round).await.map(Some)
    }
}

/// Parameters that nobody has looked at yet.
pub struct RawParams(hook_params::Params);

impl RawParams {
    /// # Errors
    /// What no provider could take.
    pub fn check(self) -> Result<Params, String> {
        let hook_params::Params { temperature, max_output_tokens, options } = self.0;
        if temperature.is_some_and(|t| !(0.0..=2.0).contains(&t)) {
            return Err("the temperature is not between 0 and 2".into());
        }
        if max_output_tokens == Some(0) {
            return Err("an answer of 0 tokens is none".into());
        }
        let options = options.map(|json| serde_json::from_str::<serde_json::Map<String, Value>>(&json));
        let options = options.transpose().map_err(|e| format!("the options are not a JSON object ({e})"))?;
        Ok(Params { temperature, max_output_tokens, options: options.map(Value::Object) })
    }
}

fn wit(context: &TurnContext) -> WitContext {
    WitContext {
        session_id: context.session.to_string(),
        agent: context.agent.clone(),
        model: context.model.to_string(),
    }
}
