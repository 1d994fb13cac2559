//! What the loop knows of models: a neutral request, a stream of events, typed failures.

use crate::budget::Tokens;
use crate::id::{CallId, SessionId};
use crate::message::FinishReason;
use crate::price::Price;
use async_trait::async_trait;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// `provider/model`, split at the first slash.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModelRef {
    #[serde(rename = "providerID")]
    pub provider: String,
    #[serde(rename = "modelID")]
    pub model: String,
}

impl ModelRef {
    /// `None` unless both sides of the first slash hold something.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (provider, model) = text.split_once('/')?;
        let fits = !provider.is_empty() && !model.is_empty();
        fits.then(|| Self { provider: provider.into(), model: model.into() })
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

/// What is known of a model. Zero tokens = unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    pub id: String,
    pub name: String,
    /// Tokens of the whole window.
    pub context: u32,
    /// Tokens of one answer.
    pub output: u32,
    pub price: Option<Price>,
    pub tools: bool,
    pub reasoning: bool,
    pub images: bool,
}

impl Model {
    /// A model that nobody described: safe defaults.
    #[must_use]
    pub fn unknown(id: &str) -> Self {
        Self {
            id: id.into(),
            name: id.into(),
            context: 0,
            output: 0,
            price: None,
            tools: true,
            reasoning: false,
            images: false,
        }
    }
}

/// One request, provider-neutral. Built anew for each step from what is stored; messages that stood in an earlier one are shared
/// with it, not copied.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub session: SessionId,
    pub model: String,
    /// Stable blocks first; the same bytes at every step of a session.
    pub system: Vec<Arc<str>>,
    pub messages: Vec<Arc<ChatMessage>>,
    /// Sorted by name.
    pub tools: Arc<[ToolDecl]>,
    pub tool_choice: ToolChoice,
    pub max_output_tokens: Option<u32>,
    pub temperature: Option<f64>,
    pub response_schema: Option<Value>,
    pub extra: Extra,
}

/// What hooks add to a request beside its words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extra {
    /// JSON object for the adapter, laid over what the config says.
    pub options: Option<Value>,
    /// HTTP headers. None of them replaces one that the adapter or the host writes, and none may name a secret.
    pub headers: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ChatMessage {
    pub role: Role,
    pub parts: Vec<ChatPart>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    User,
    Assistant,
    Tool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ChatPart {
    Text(String),
    Reasoning { text: String, opaque: Option<String> },
    File(InlineFile),
    ToolCall(ModelCall),
    ToolResult(ModelResult),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlineFile {
    pub mime: String,
    pub name: Option<String>,
    pub data: Vec<u8>,
}

/// A call as the model made it. `input` is JSON text where the model wrote it well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelCall {
    pub id: CallId,
    pub name: String,
    pub input: String,
    pub opaque: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelResult {
    pub call_id: CallId,
    pub name: String,
    pub text: String,
    pub is_error: bool,
    pub files: Vec<InlineFile>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolDecl {
    pub name: String,
    pub description: String,
    /// JSON Schema as JSON text.
    pub input_schema: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolChoice {
    Auto,
    None,
    Required,
    Named(String),
}

/// What a stream says. Block ids are unique in one stream; `Failure` is terminal.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamEvent {
    StepStart,
    TextStart {
        id: String,
    },
    TextDelta {
        id: String,
        text: String,
    },
    TextEnd {
        id: String,
        opaque: Option<String>,
    },
    ReasoningStart {
        id: String,
    },
    ReasoningDelta {
        id: String,
        text: String,
    },
    ReasoningEnd {
        id: String,
        opaque: Option<String>,
    },
    ToolInputStart {
        id: CallId,
        name: String,
    },
    ToolInputDelta {
        id: CallId,
        text: String,
    },
    ToolInputEnd {
        id: CallId,
    },
    ToolCall(ModelCall),
    /// A tool that the provider ran itself.
    ToolResult(ModelResult),
    StepFinish {
        reason: FinishReason,
        usage: Option<Tokens>,
        metadata: Option<Value>,
    },
    Failure(ProviderFailure),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    Auth,
    Quota,
    RateLimit,
    Overloaded,
    ContextOverflow,
    InvalidRequest,
    ContentFilter,
    Server,
    Transport,
    MalformedToolCall,
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ProviderFailure {
    pub kind: FailureKind,
    /// One sentence for the person.
    pub message: String,
    pub retryable: bool,
    pub retry_after: Option<Duration>,
}

/// Batches of events: what one read of the socket gave. Ends after a `StepFinish` and the end of the body, or with a `Failure`.
pub type EventStream = BoxStream<'static, Vec<StreamEvent>>;

/// A model that can be asked, with what is known of it.
#[derive(Clone)]
pub struct Mind {
    pub provider: Arc<dyn Provider>,
    pub model: Model,
}

/// Models by name, for agents that want another one than the run's.
pub trait Minds: Send + Sync {
    /// # Errors
    /// Why it cannot be used, as the rest of a sentence.
    fn mind(&self, model: &ModelRef) -> Result<Mind, String>;
}

/// A model behind its adapter.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Sends the request and streams what comes back. Dropping the stream, or cancelling, ends the connection at once.
    ///
    /// # Errors
    /// When no stream came to be: refused connection, an answer outside 2xx, a request that cannot be encoded.
    async fn stream(&self, request: Request, cancel: CancellationToken) -> Result<EventStream, ProviderFailure>;
}
