//! The state of one tool call: pending → running → completed | error. The transitions are the only mutators, and each is a
//! no-op from a state that it does not apply to (agent-core, section 1.4).

use crate::fault::FailureKind;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// JSON object with what programs want to know of a call.
pub type Metadata = Map<String, Value>;

/// Milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    pub start: u64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub end: Option<u64>,
}

/// The life of a completed call, in milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSpan {
    pub start: u64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub end: Option<u64>,
    /// When the output was taken out of what the model sees. It stays in the ledger.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub compacted: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum ToolState {
    Pending {
        #[serde(default)]
        input: Value,
        #[serde(default)]
        raw: String,
    },
    Running {
        input: Value,
        #[serde(skip_serializing_if = "Option::is_none", default)]
        title: Option<String>,
        #[serde(skip_serializing_if = "Map::is_empty", default)]
        metadata: Metadata,
        time: Span,
    },
    Completed {
        input: Value,
        output: String,
        title: String,
        metadata: Metadata,
        time: CallSpan,
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        attachments: Vec<Attachment>,
    },
    Error {
        input: Value,
        error: String,
        #[serde(default)]
        metadata: Metadata,
        time: Span,
    },
}

/// A file that a tool gave back, inline as a `data:` URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    pub mime: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub filename: Option<String>,
    pub url: String,
}

/// What a completed call leaves behind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Done {
    pub title: String,
    pub output: String,
    pub metadata: Metadata,
    pub attachments: Vec<Attachment>,
}

impl ToolState {
    /// A call whose arguments are still being streamed.
    #[must_use]
    pub fn pending() -> Self {
        Self::Pending { input: Value::Object(Map::new()), raw: String::new() }
    }

    /// pending → running. False, and nothing changed, from any other state.
    pub fn start(&mut self, input: Value, now: u64) -> bool {
        let Self::Pending { .. } = self else { return false };
        *self = Self::Running { input, title: None, metadata: Map::new(), time: Span { start: now, end: None } };
        true
    }

    /// What the running call says of itself. False unless it is running.
    pub fn progress(&mut self, new_title: Option<String>, new_metadata: Option<Metadata>) -> bool {
        let Self::Running { title, metadata, .. } = self else { return false };
        if new_title.is_some() {
            *title = new_title;
        }
        if let Some(m) = new_metadata {
            *metadata = m;
        }
        true
    }

    /// The input that the call goes on with (a hook may change it). False unless it is running.
    pub fn replace_input(&mut self, new: Value) -> bool {
        let Self::Running { input, .. } = self else { return false };
        *input = new;
        true
    }

    /// running → completed. False from any other state.
    pub fn complete(&mut self, done: Done, now: u64) -> bool {
        let Self::Running { input, time, .. } = self else { return false };
        *self = Self::Completed {
            input: input.take(),
            output: done.output,
            title: done.title,
            metadata: done.metadata,
            time: CallSpan { start: time.start, end: Some(now), compacted: None },
            attachments: done.attachments,
        };
        true
    }

    /// Takes the output of a completed call out of what the model sees. False from any other state, or if it was done before.
    pub fn clear_output(&mut self, now: u64) -> bool {
        let Self::Completed { time, .. } = self else { return false };
        let is_new = time.compacted.is_none();
        time.compacted.get_or_insert(now);
        is_new
    }

    /// pending or running → error, keeping what the running call said of itself. False from a final state.
    pub fn fail(&mut self, kind: FailureKind, error: String, more: Metadata, now: u64) -> bool {
        let (input, mut metadata, start) = match self {
            Self::Pending { input, .. } => (input.take(), Map::new(), now),
            Self::Running { input, metadata, time, .. } => (input.take(), std::mem::take(metadata), time.start),
            Self::Completed { .. } | Self::Error { .. } => return false,
        };
        metadata.extend(more);
        metadata.insert("kind".into(), Value::from(kind.as_str()));
        if kind == FailureKind::Interrupted {
            metadata.insert("interrupted".into(), Value::Bool(true));
        }
        *self = Self::Error { input, error, metadata, time: Span { start, end: Some(now) } };
        true
    }

    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Completed { .. } | Self::Error { .. })
    }

    /// Failed because the run was interrupted, not because of anything that the call did.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        matches!(self, Self::Error { metadata, .. } if metadata.get("interrupted") == Some(&Value::Bool(true)))
    }

    #[must_use]
    pub fn input(&self) -> &Value {
        match self {
            Self::Pending { input, .. }
            | Self::Running { input, .. }
            | Self::Completed { input, .. }
            | Self::Error { input, .. } => input,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running() -> ToolState {
        let mut s = ToolState::pending();
        assert!(s.start(Value::Bool(true), 5));
        s
    }

    #[test]
    fn a_call_completes_once() {
        let mut s = running();
        assert!(s.complete(Done { output: "a".into(), ..Done::default() }, 9));
        assert!(!s.complete(Done { output: "b".into(), ..Done::default() }, 10));
        assert!(!s.fail(FailureKind::Failed, "late".into(), Map::new(), 10));
        let ToolState::Completed { output, time, input, .. } = s else { panic!("completed") };
        assert_eq!((output.as_str(), time.start, time.end, input), ("a", 5, Some(9), Value::Bool(true)));
    }

    #[test]
    fn a_pending_call_cannot_complete() {
        let mut s = ToolState::pending();
        assert!(!s.complete(Done::default(), 1));
        assert_eq!(s, ToolState::pending());
    }

    #[test]
    fn an_output_is_cleared_once_and_stays() {
        let mut s = running();
        assert!(!s.clear_output(8), "it has no output yet");
        assert!(s.complete(Done { output: "a".into(), ..Done::default() }, 9));
        assert!(s.clear_output(10) && !s.clear_output(11));
        let ToolState::Completed { output, time, .. } = &s else { panic!("completed") };
        assert_eq!((output.as_str(), time.compacted), ("a", Some(10)));
        assert_eq!(
            serde_json::to_value(&s).unwrap()["time"],
            serde_json::json!({"start": 5, "end": 9, "compacted": 10})
        );
    }

    #[test]
    fn an_interrupted_call_says_so() {
        let mut s = running();
        assert!(s.fail(FailureKind::Interrupted, "stopped".into(), Map::new(), 7));
        assert!(s.is_interrupted() && s.is_final());
    }
}
