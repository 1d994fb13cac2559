//! One answer: how it is written into a body, and how it is read back.

use airlock::provider::{
    Decode, FailureKind, FinishReason, ProviderFailure, Request, Role, StepFinish, StreamEvent, ToolCall, Usage,
};
use airlock::sse::{Line, Lines};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Bytes of one line of a body.
const LONGEST_LINE: usize = 8 << 20;

/// What the stand-in says in one request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Turn {
    pub text: String,
    pub reasoning: String,
    pub tool_calls: Vec<Call>,
    pub finish: Option<Finish>,
    pub usage: Option<Counts>,
    pub error: Option<Fault>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    #[serde(default)]
    pub id: String,
    pub name: String,
    #[serde(default)]
    pub input: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finish {
    Stop,
    Length,
    ToolCalls,
    ContentFilter,
    Pause,
    Error,
    Unknown,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Counts {
    pub input: u64,
    pub output: u64,
    pub reasoning: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    pub kind: Kind,
    pub message: String,
    #[serde(default)]
    pub retryable: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
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

/// One event of the body.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Said {
    Text(String),
    Reasoning(String),
    Call { id: String, name: String, input: String },
    Finish { reason: Finish, usage: Option<Counts> },
    Error(Fault),
}

/// Which turn comes next: the assistant's messages so far.
pub fn number(request: &Request) -> usize {
    request.messages.iter().filter(|m| m.role == Role::Assistant).count()
}

impl Turn {
    pub fn saying(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Gives an id to each call that has none: the turn's number keeps it unique in the conversation.
    pub fn numbered(mut self, number: usize) -> Self {
        for (at, call) in self.tool_calls.iter_mut().enumerate().filter(|(_, c)| c.id.is_empty()) {
            call.id = format!("call_{number}_{at}");
        }
        self
    }

    pub fn to_body(&self) -> Result<Vec<u8>, String> {
        let mut body = Vec::new();
        for said in self.said() {
            body.extend_from_slice(b"data: ");
            serde_json::to_writer(&mut body, &said).map_err(|e| e.to_string())?;
            body.extend_from_slice(b"\n\n");
        }
        Ok(body)
    }

    fn said(&self) -> Vec<Said> {
        let reasoning = pieces(&self.reasoning).map(|p| Said::Reasoning(p.into()));
        let text = pieces(&self.text).map(|p| Said::Text(p.into()));
        let calls =
            self.tool_calls.iter().map(|c| Said::Call { id: c.id.clone(), name: c.name.clone(), input: c.text() });
        reasoning.chain(text).chain(calls).chain([self.end()]).collect()
    }

    fn end(&self) -> Said {
        if let Some(fault) = &self.error {
            return Said::Error(fault.clone());
        }
        let by_content = if self.tool_calls.is_empty() { Finish::Stop } else { Finish::ToolCalls };
        Said::Finish { reason: self.finish.unwrap_or(by_content), usage: self.usage }
    }
}

impl Call {
    fn text(&self) -> String {
        match &self.input {
            Value::Null => "{}".into(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

/// Cuts after each third word, so that a person sees the text come.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.match_indices([' ', '\n']).nth(2).map_or(rest.len(), |(at, _)| at + 1);
        let (piece, tail) = rest.split_at(end);
        rest = tail;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Reads a body that [`Turn::to_body`] wrote.
pub struct Decoder {
    lines: Lines,
    stream: Stream,
}

#[derive(Default)]
struct Stream {
    events: Vec<StreamEvent>,
    open: Option<&'static str>,
    started: bool,
    over: bool,
}

impl Decode for Decoder {
    fn new(_model: &str, _content_type: &str) -> Self {
        Self { lines: Lines::new(LONGEST_LINE), stream: Stream::default() }
    }

    fn push(&mut self, bytes: &[u8]) -> Vec<StreamEvent> {
        if !self.stream.over && self.lines.push(bytes, |line| self.stream.line(line)).is_err() {
            self.stream.broken();
        }
        std::mem::take(&mut self.stream.events)
    }

    fn finish(&mut self) -> Vec<StreamEvent> {
        self.lines.finish(|line| self.stream.line(line));
        self.stream.broken();
        std::mem::take(&mut self.stream.events)
    }
}

impl Stream {
    fn line(&mut self, line: &[u8]) {
        let Line::Data(json) = Line::parse(line) else { return };
        if self.over {
            return;
        }
        match serde_json::from_slice(json) {
            Ok(said) => self.say(said),
            Err(_) => self.broken(),
        }
    }

    fn say(&mut self, said: Said) {
        if !std::mem::replace(&mut self.started, true) {
            self.events.push(StreamEvent::StepStart);
        }
        match said {
            Said::Text(text) => {
                let id = self.block("text", |id| StreamEvent::TextStart { id });
                self.events.push(StreamEvent::TextDelta { id, text });
            }
            Said::Reasoning(text) => {
                let id = self.block("reasoning", |id| StreamEvent::ReasoningStart { id });
                self.events.push(StreamEvent::ReasoningDelta { id, text });
            }
            Said::Call { id, name, input } => self.call(id, name, input),
            Said::Finish { reason, usage } => self.finish(reason, usage),
            Said::Error(fault) => self.fail(fault.kind.into(), fault.message, fault.retryable),
        }
    }

    fn block(&mut self, id: &'static str, start: impl FnOnce(String) -> StreamEvent) -> String {
        if self.open != Some(id) {
            self.close();
            self.open = Some(id);
            self.events.push(start(id.into()));
        }
        id.into()
    }

    fn close(&mut self) {
        match self.open.take() {
            Some("text") => self.events.push(StreamEvent::TextEnd { id: "text".into(), opaque: None }),
            Some(id) => self.events.push(StreamEvent::ReasoningEnd { id: id.into(), opaque: None }),
            None => {}
        }
    }

    fn call(&mut self, id: String, name: String, input: String) {
        self.close();
        self.events.extend([
            StreamEvent::ToolInputStart { id: id.clone(), name: name.clone() },
            StreamEvent::ToolInputDelta { id: id.clone(), text: input.clone() },
            StreamEvent::ToolInputEnd { id: id.clone() },
            StreamEvent::ToolCall(ToolCall { id, name, input, opaque: None }),
        ]);
    }

    fn finish(&mut self, reason: Finish, usage: Option<Counts>) {
        self.close();
        self.over = true;
        let finish = StepFinish { reason: reason.into(), usage: usage.map(Usage::from), metadata: None };
        self.events.push(StreamEvent::StepFinish(finish));
    }

    fn fail(&mut self, kind: FailureKind, message: String, retryable: bool) {
        self.over = true;
        self.events.push(StreamEvent::Failure(ProviderFailure { kind, message, retryable, retry_after_ms: None }));
    }

    /// Not what was written: the base URL leads somewhere else.
    fn broken(&mut self) {
        if !self.over {
            let message = "The offline stand-in did not get its own answer back: its base URL must be `echo:`";
            self.fail(FailureKind::Transport, message.into(), false);
        }
    }
}

impl From<Counts> for Usage {
    fn from(c: Counts) -> Self {
        Self {
            input: c.input,
            output: c.output,
            reasoning: c.reasoning,
            cache_read: c.cache_read,
            cache_write: c.cache_write,
        }
    }
}

impl From<Finish> for FinishReason {
    fn from(finish: Finish) -> Self {
        match finish {
            Finish::Stop => Self::Stop,
            Finish::Length => Self::Length,
            Finish::ToolCalls => Self::ToolCalls,
            Finish::ContentFilter => Self::ContentFilter,
            Finish::Pause => Self::Pause,
            Finish::Error => Self::Error,
            Finish::Unknown => Self::Unknown,
        }
    }
}

impl From<Kind> for FailureKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Auth => Self::Auth,
            Kind::Quota => Self::Quota,
            Kind::RateLimit => Self::RateLimit,
            Kind::Overloaded => Self::Overloaded,
            Kind::ContextOverflow => Self::ContextOverflow,
            Kind::InvalidRequest => Self::InvalidRequest,
            Kind::ContentFilter => Self::ContentFilter,
            Kind::Server => Self::Server,
            Kind::Transport => Self::Transport,
            Kind::MalformedToolCall => Self::MalformedToolCall,
            Kind::Unknown => Self::Unknown,
        }
    }
}
