//! Messages and their parts: the shape of the ledger, of `--format json` and of exports (agent-core, sections 1.2 and 1.3).

use crate::budget::Tokens;
use crate::id::{CallId, MessageId, PartId, SessionId};
use crate::provider::{FailureKind as ProviderFailureKind, ModelRef};
use crate::tool_state::{Metadata, Span, ToolState};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum Message {
    User(UserMessage),
    Assistant(Box<AssistantMessage>),
}

impl Message {
    #[must_use]
    pub fn id(&self) -> &MessageId {
        match self {
            Self::User(m) => &m.id,
            Self::Assistant(m) => &m.id,
        }
    }

    #[must_use]
    pub fn session(&self) -> &SessionId {
        match self {
            Self::User(m) => &m.session_id,
            Self::Assistant(m) => &m.session_id,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserMessage {
    pub id: MessageId,
    #[serde(rename = "sessionID")]
    pub session_id: SessionId,
    pub time: Created,
    pub agent: String,
    pub model: ModelRef,
    /// JSON Schema that the answer has to fit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub format: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Created {
    /// Milliseconds since the Unix epoch.
    pub created: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AssistantMessage {
    pub id: MessageId,
    #[serde(rename = "sessionID")]
    pub session_id: SessionId,
    /// The user message that this one answers.
    #[serde(rename = "parentID")]
    pub parent_id: MessageId,
    pub time: Turn,
    #[serde(rename = "providerID")]
    pub provider_id: String,
    #[serde(rename = "modelID")]
    pub model_id: String,
    pub agent: String,
    /// The message is the summary of all that lies before its parent; it answers nobody.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub summary: bool,
    pub path: Paths,
    /// USD, over all attempts of this message.
    #[serde(with = "rust_decimal::serde::float")]
    pub cost: Decimal,
    /// Of the last attempt that reported usage.
    pub tokens: Tokens,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub finish: Option<FinishReason>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<MessageError>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    pub created: u64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub completed: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paths {
    pub cwd: PathBuf,
    pub root: PathBuf,
}

/// Why the model stopped. What a provider says beyond these is `Unknown`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FinishReason {
    Stop,
    Length,
    ToolCalls,
    ContentFilter,
    Pause,
    Error,
    Unknown,
}

/// Why a message came to no good end, as it is stored: `{name, data}` (agent-core, section 1.5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", content = "data")]
pub enum MessageError {
    #[serde(rename = "MessageAbortedError")]
    Aborted { message: String },
    #[serde(rename = "APIError")]
    Provider { kind: ProviderFailureKind, message: String, retryable: bool },
    #[serde(rename = "ContextOverflowError")]
    ContextOverflow { message: String },
    #[serde(rename = "ContentFilterError")]
    ContentFilter { message: String },
    #[serde(rename = "UnknownError")]
    Unknown { message: String },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    pub id: PartId,
    #[serde(rename = "sessionID")]
    pub session_id: SessionId,
    #[serde(rename = "messageID")]
    pub message_id: MessageId,
    #[serde(flatten)]
    pub body: PartBody,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum PartBody {
    Text(TextPart),
    Reasoning(ReasoningPart),
    File(FilePart),
    Tool(ToolPart),
    StepStart {
        #[serde(skip_serializing_if = "Metadata::is_empty", default)]
        metadata: Metadata,
    },
    StepFinish(StepFinishPart),
    Retry(RetryPart),
    Compaction(CompactionPart),
    /// The frozen beginning of the requests that follow; the model reads it as system blocks, never as part of its message.
    Prefix(PrefixPart),
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TextPart {
    pub text: String,
    /// Written by the host, not by a person.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub synthetic: bool,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub time: Option<Span>,
    #[serde(skip_serializing_if = "Metadata::is_empty", default)]
    pub metadata: Metadata,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReasoningPart {
    pub text: String,
    pub time: Span,
    /// `opaque`: what the provider wants back unchanged.
    #[serde(skip_serializing_if = "Metadata::is_empty", default)]
    pub metadata: Metadata,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePart {
    pub mime: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub filename: Option<String>,
    /// `data:` URL.
    pub url: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolPart {
    #[serde(rename = "callID")]
    pub call_id: CallId,
    pub tool: String,
    pub state: ToolState,
    /// `opaque`: provider data of the call, sent back unchanged · `providerExecuted` · `dropped`.
    #[serde(skip_serializing_if = "Metadata::is_empty", default)]
    pub metadata: Metadata,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepFinishPart {
    pub reason: FinishReason,
    #[serde(with = "rust_decimal::serde::float")]
    pub cost: Decimal,
    pub tokens: Tokens,
    #[serde(skip_serializing_if = "Metadata::is_empty", default)]
    pub metadata: Metadata,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RetryPart {
    pub attempt: u32,
    pub error: MessageError,
    pub time: Created,
}

/// The system blocks of a session, with one agent and one model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrefixPart {
    pub agent: String,
    #[serde(flatten)]
    pub model: ModelRef,
    pub blocks: Vec<String>,
    /// Where instructions among them came from → a hash of what stood there.
    #[serde(skip_serializing_if = "Metadata::is_empty", default)]
    pub sources: Metadata,
}

/// Work to be done: everything before this message is to be replaced by a summary. It is done once a summary answers its message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionPart {
    /// The host's own doing, in the middle of other work.
    pub auto: bool,
    /// The provider refused the request as too large.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub overflow: bool,
    /// The first message that is kept as it is, older than this one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tail_start_id: Option<MessageId>,
}

/// Key of the mark on a text of the host's own that follows a summary: what the work is, what is left to do.
pub const COMPACTION_CONTINUE: &str = "compaction_continue";
/// Key of the mark on parts of an attempt that was given up: kept for the record, never sent to the model again.
pub const DROPPED: &str = "dropped";
/// Key of provider data that is sent back unchanged.
pub const OPAQUE: &str = "opaque";

impl PartBody {
    fn metadata_mut(&mut self) -> Option<&mut Metadata> {
        match self {
            Self::Text(p) => Some(&mut p.metadata),
            Self::Reasoning(p) => Some(&mut p.metadata),
            Self::Tool(p) => Some(&mut p.metadata),
            Self::StepStart { metadata } => Some(metadata),
            Self::StepFinish(p) => Some(&mut p.metadata),
            Self::File(_) | Self::Retry(_) | Self::Compaction(_) | Self::Prefix(_) => None,
        }
    }

    /// Marks a part as belonging to an attempt that was given up.
    pub fn drop_from_view(&mut self) {
        if let Some(m) = self.metadata_mut() {
            m.insert(DROPPED.into(), Value::Bool(true));
        }
    }

    #[must_use]
    pub fn is_dropped(&self) -> bool {
        let metadata = match self {
            Self::Text(p) => &p.metadata,
            Self::Reasoning(p) => &p.metadata,
            Self::Tool(p) => &p.metadata,
            Self::StepStart { metadata } => metadata,
            Self::StepFinish(p) => &p.metadata,
            Self::File(_) | Self::Retry(_) | Self::Compaction(_) | Self::Prefix(_) => return false,
        };
        metadata.get(DROPPED) == Some(&Value::Bool(true))
    }
}

/// A message with its parts, both in the ledger's order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WithParts {
    pub info: Message,
    pub parts: Vec<Part>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_part_has_the_shape_of_the_interface() {
        let p = Part {
            id: PartId::new(),
            session_id: SessionId::new(),
            message_id: MessageId::new(),
            body: PartBody::Tool(ToolPart {
                call_id: CallId::given("c1"),
                tool: "read".into(),
                state: ToolState::pending(),
                metadata: Metadata::new(),
            }),
        };
        let v = serde_json::to_value(&p).unwrap();
        assert_eq!(v["type"], json!("tool"));
        assert_eq!(v["callID"], json!("c1"));
        assert_eq!(v["state"]["status"], json!("pending"));
        assert_eq!(v["sessionID"], json!(p.session_id.as_str()));
        assert_eq!(serde_json::from_value::<Part>(v).unwrap(), p);
    }

    #[test]
    fn a_dropped_part_is_marked_in_its_metadata() {
        let mut b = PartBody::Text(TextPart { text: "half".into(), ..TextPart::default() });
        assert!(!b.is_dropped());
        b.drop_from_view();
        assert!(b.is_dropped());
        assert_eq!(serde_json::to_value(&b).unwrap()["metadata"]["dropped"], json!(true));
    }
}
