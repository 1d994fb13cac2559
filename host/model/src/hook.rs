//! Hook points. Fault outcomes are the implementation's duty: a gate that fails denies, a transformer that fails changes nothing.

use crate::id::{CallId, MessageId, PartId, SessionId};
use crate::tool_state::Metadata;
use async_trait::async_trait;
use serde_json::Value;
use std::path::PathBuf;

#[derive(Clone, Debug)]
pub struct TextContext {
    pub session: SessionId,
    pub message: MessageId,
    pub part: PartId,
}

#[derive(Clone, Debug)]
pub struct CallContext {
    pub session: SessionId,
    pub call: CallId,
    pub agent: String,
    pub tool: String,
    pub workspace: PathBuf,
    pub now_ms: u64,
}

/// What a hook may change of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultView {
    pub title: String,
    pub text: String,
    pub metadata: Metadata,
}

/// A hook refused the call, or failed where failing means refusing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct HookDenial {
    /// Name of the hook component.
    pub hook: String,
    pub reason: String,
}

/// The chain of configured hooks, in their order; each sees what the one before returned.
#[async_trait]
pub trait Hooks: Send + Sync {
    async fn text_complete(&self, context: &TextContext, text: String) -> String;
    /// # Errors
    /// The first hook that denies, or fails, ends the chain.
    async fn tool_before(&self, context: &CallContext, input: Value) -> Result<Value, HookDenial>;
    async fn tool_after(&self, context: &CallContext, input: &Value, result: ResultView) -> ResultView;
}

/// No hooks at all.
#[derive(Debug, Default)]
pub struct NoHooks;

#[async_trait]
impl Hooks for NoHooks {
    async fn text_complete(&self, _: &TextContext, text: String) -> String {
        text
    }
    async fn tool_before(&self, _: &CallContext, input: Value) -> Result<Value, HookDenial> {
        Ok(input)
    }
    async fn tool_after(&self, _: &CallContext, _: &Value, result: ResultView) -> ResultView {
        result
    }
}
