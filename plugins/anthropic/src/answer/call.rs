//! A call as it grows.

use airlock::provider::{FinishReason, ToolCall};
use serde_json::{Map, Value};

#[derive(Debug)]
pub struct Call {
    /// Where its block stands; `None` once that has ended.
    at: Option<u64>,
    pub id: String,
    name: String,
    /// The pieces so far.
    pub input: String,
    /// What the start of the block held: `{}` as a rule, the whole input from some servers.
    given: Option<String>,
}

impl Call {
    pub fn new(at: u64, id: String, name: &str, given: &Value) -> Self {
        let given = given.as_object().filter(|map| !map.is_empty()).map(|_| given.to_string());
        Self { at: Some(at), id, name: name.into(), input: String::new(), given }
    }

    pub fn is_open_at(&self, at: u64) -> bool {
        self.at == Some(at)
    }

    pub fn end(&mut self) {
        self.at = None;
    }

    /// Its block has ended and it can be run with what it has.
    pub fn is_whole(&self) -> bool {
        self.at.is_none() && serde_json::from_str::<Map<String, Value>>(self.written()).is_ok()
    }

    fn written(&self) -> &str {
        match &self.given {
            Some(given) if self.input.trim().is_empty() => given,
            _ => &self.input,
        }
    }

    /// The call for an answer that ended so. A tool without parameters is called with nothing at all; after a cut that would be a guess.
    pub fn complete(&self, reason: FinishReason) -> ToolCall {
        let is_bare = self.written().trim().is_empty() && reason != FinishReason::Length;
        let input = if is_bare { "{}".into() } else { self.written().into() };
        ToolCall { id: self.id.clone(), name: self.name.clone(), input, opaque: None }
    }
}
