//! Hook points. Fault outcomes are the implementation's duty: a gate that fails denies, a transformer that fails changes nothing,
//! an observer that fails is ignored. Every method has a default that does nothing, so that a chain speaks of the points it has.

mod points;

pub use points::{
    CallContext, CommandView, Compacting, HookDenial, Opinion, Params, PermissionView, ResultView, TextContext,
    TurnContext, UserText,
};

use crate::event::Event;
use crate::provider::{ChatMessage, ToolDecl};
use async_trait::async_trait;
use serde_json::Value;
use std::sync::Arc;

/// The chain of configured hooks, in their order; each sees what the one before returned.
#[async_trait]
pub trait Hooks: Send + Sync {
    /// A finished text of the model, before it is stored.
    async fn text_complete(&self, _: &TextContext, text: String) -> String {
        text
    }

    /// A call that is about to be judged and run.
    ///
    /// # Errors
    /// The first hook that denies, or fails, ends the chain.
    async fn tool_before(&self, _: &CallContext, input: Value) -> Result<Value, HookDenial> {
        Ok(input)
    }

    /// The result of a call, before it is stored and shown to the model.
    async fn tool_after(&self, _: &CallContext, _: &Value, result: ResultView) -> ResultView {
        result
    }

    /// Acts that no rule denies, before the rules' answer takes effect. The strictest opinion of the chain counts.
    async fn permission(&self, _: &PermissionView) -> Opinion {
        Opinion::None
    }

    /// What a person said, before it is stored.
    async fn message(&self, _: &TurnContext, said: UserText) -> UserText {
        said
    }

    /// The conversation as it is about to be sent. Nothing of it is stored.
    async fn messages(&self, _: &TurnContext, messages: Vec<Arc<ChatMessage>>) -> Vec<Arc<ChatMessage>> {
        messages
    }

    /// The system blocks, once, before they are frozen with the session.
    async fn system(&self, _: &TurnContext, blocks: Vec<String>) -> Vec<String> {
        blocks
    }

    /// What a request asks of the model beside its words.
    async fn params(&self, _: &TurnContext, params: Params) -> Params {
        params
    }

    /// HTTP headers to send along. They replace none that the adapter or the host writes.
    async fn headers(&self, _: &TurnContext) -> Vec<(String, String)> {
        Vec::new()
    }

    /// What the model is told of a tool. Its name stays, and so does the schema that a call is held against.
    async fn tool_spec(&self, _: &TurnContext, decl: ToolDecl) -> ToolDecl {
        decl
    }

    /// Variables for the programs of a call.
    async fn process_env(&self, _: &CallContext) -> Vec<(String, String)> {
        Vec::new()
    }

    /// A command that a person invoked, expanded, before it becomes a message.
    async fn command(&self, _: &TurnContext, command: CommandView) -> CommandView {
        command
    }

    /// A compaction that is about to begin.
    async fn compacting(&self, _: &TurnContext, plan: Compacting) -> Compacting {
        plan
    }

    /// An answer that would end the run. `Some` = what the model is told so that it goes on. The caller bounds the rounds;
    /// `round` counts from 0.
    async fn stop(&self, _: &TurnContext, _: &str, _: u32) -> Option<String> {
        None
    }

    /// Something happened. Must not block: an observer that is too slow misses events.
    fn event(&self, _: &Event) {}

    /// Waits, for a bounded time, until the observers have seen what has happened.
    async fn settle(&self) {}
}

/// No hooks at all.
#[derive(Debug, Default)]
pub struct NoHooks;

#[async_trait]
impl Hooks for NoHooks {}
