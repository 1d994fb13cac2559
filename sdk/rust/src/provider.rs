//! Model adapters: pure codecs between the host's neutral conversation and a provider's wire format.
//!
//! An adapter does no I/O and never sees a key: the host sends what [`Provider::encode`] built, puts the secrets in place, and pushes
//! the bytes that come back into [`Provider::Decoder`]. The types mirror `wit/v0.1/provider.wit`, whose comments are the contract.

use std::marker::PhantomData;

mod glue;

/// A model adapter. Name the type that implements it in [`provider_plugin!`](crate::provider_plugin).
pub trait Provider {
    type Decoder: Decode;

    fn info() -> ProviderInfo;

    /// Turns a conversation into one HTTP request that streams its answer.
    ///
    /// # Errors
    /// Says what in the conversation cannot be expressed.
    fn encode(request: &Request) -> Result<HttpRequest, String>;

    /// Says what an answer outside 2xx means.
    fn classify(status: u16, headers: &[Header], body: &[u8]) -> ProviderFailure;
}

/// A conversation that grows from step to step. An adapter that writes each request anew needs none of its own: it gets [`Whole`].
pub trait Conversation: 'static {
    /// With the messages so far.
    fn new(request: Request) -> Self;
    fn append(&mut self, messages: Vec<Message>);
    /// The request for all messages so far. May be asked for again.
    ///
    /// # Errors
    /// Says what in the conversation cannot be expressed.
    fn encode(&self) -> Result<HttpRequest, String>;
}

/// The conversation of an adapter that writes the whole request at each step.
pub struct Whole<P> {
    request: Request,
    adapter: PhantomData<P>,
}

impl<P: Provider + 'static> Conversation for Whole<P> {
    fn new(request: Request) -> Self {
        Self { request, adapter: PhantomData }
    }

    fn append(&mut self, messages: Vec<Message>) {
        self.request.messages.extend(messages);
    }

    fn encode(&self) -> Result<HttpRequest, String> {
        P::encode(&self.request)
    }
}

/// The reader of one answer. Any cut of the bytes gives the same events.
pub trait Decode: 'static {
    /// For the 2xx answer of a request to `model`, with the answer's media type.
    fn new(model: &str, content_type: &str) -> Self;
    fn push(&mut self, bytes: &[u8]) -> Vec<StreamEvent>;
    /// The body has ended. A stream without its terminal signal ends in a [`StreamEvent::Failure`] here.
    fn finish(&mut self) -> Vec<StreamEvent>;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProviderInfo {
    /// Name used in `provider/model`.
    pub id: String,
    pub name: String,
    /// Names of the secrets that `encode` uses, most preferred first.
    pub secrets: Vec<String>,
    /// Where requests go unless the user's config says otherwise.
    pub base_url: String,
    pub models: Vec<ModelInfo>,
    /// JSON object.
    pub metadata: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelInfo {
    pub id: String,
    pub name: String,
    /// Tokens of the whole window; 0 = unknown.
    pub context: u32,
    /// Tokens of one answer; 0 = unknown.
    pub output: u32,
    pub price: Option<Price>,
    pub tools: bool,
    pub reasoning: bool,
    pub images: bool,
    /// JSON object.
    pub metadata: Option<String>,
}

/// USD per million tokens, as decimal text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Price {
    pub input: String,
    pub output: String,
    pub cache_read: String,
    pub cache_write: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub model: String,
    /// Without a slash at the end.
    pub base_url: String,
    /// Stable blocks first.
    pub system: Vec<String>,
    pub messages: Vec<Message>,
    pub tools: Vec<ToolDecl>,
    pub tool_choice: ToolChoice,
    pub max_output_tokens: Option<u32>,
    pub temperature: Option<f64>,
    /// JSON Schema of the answer, as JSON text.
    pub response_schema: Option<String>,
    pub session_id: String,
    /// Secrets that are set, of those named by `info`.
    pub secrets: Vec<String>,
    /// JSON object of further options from the user's config.
    pub options: Option<String>,
}

impl Request {
    /// A request with nothing in it, to fill in.
    #[must_use]
    pub fn new(model: &str, base_url: &str) -> Self {
        Self {
            model: model.into(),
            base_url: base_url.into(),
            system: Vec::new(),
            messages: Vec::new(),
            tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            max_output_tokens: None,
            temperature: None,
            response_schema: None,
            session_id: String::new(),
            secrets: Vec::new(),
            options: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    User,
    Assistant,
    Tool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub role: Role,
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    Text(String),
    Reasoning(Reasoning),
    File(File),
    ToolCall(ToolCall),
    ToolResult(ToolResult),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Reasoning {
    pub text: String,
    /// What the provider gave with it, to be sent back unchanged.
    pub opaque: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct File {
    pub mime: String,
    pub name: Option<String>,
    pub data: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    /// The arguments as the model wrote them: JSON text where it is well-formed.
    pub input: String,
    /// Provider data of this call, to be sent back unchanged.
    pub opaque: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    pub call_id: String,
    pub name: String,
    pub text: String,
    pub is_error: bool,
    pub files: Vec<File>,
}

#[derive(Clone, Debug, PartialEq)]
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    pub name: String,
    pub value: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct HttpRequest {
    pub method: String,
    pub url: String,
    /// A value may hold `{{secret:NAME}}`. Nothing else may.
    pub headers: Vec<Header>,
    pub body: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Fresh input tokens, without what came from or went into the cache.
    pub input: u64,
    /// Output tokens without reasoning.
    pub output: u64,
    pub reasoning: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    Stop,
    Length,
    ToolCalls,
    ContentFilter,
    Pause,
    Error,
    Unknown,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StepFinish {
    pub reason: FinishReason,
    pub usage: Option<Usage>,
    /// JSON object: the model's own words for the reason, and other telemetry.
    pub metadata: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderFailure {
    pub kind: FailureKind,
    /// One sentence for the person.
    pub message: String,
    pub retryable: bool,
    pub retry_after_ms: Option<u64>,
}

/// Ids are unique in one stream. `Failure` is terminal and the only way a stream fails.
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
        id: String,
        name: String,
    },
    ToolInputDelta {
        id: String,
        text: String,
    },
    ToolInputEnd {
        id: String,
    },
    ToolCall(ToolCall),
    /// A tool that the provider ran itself.
    ToolResult(ToolResult),
    StepFinish(StepFinish),
    Failure(ProviderFailure),
}
