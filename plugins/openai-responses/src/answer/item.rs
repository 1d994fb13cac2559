//! An item of an answer as it grows.

use airlock::provider::{FinishReason, ToolCall};
use serde_json::{Map, Value, json};

#[derive(Debug)]
pub struct Item {
    /// Its place in the answer, where the server says it.
    pub index: Option<u64>,
    id: String,
    pub what: What,
    pub is_done: bool,
    /// Parts of which something was streamed.
    heard: Vec<u64>,
}

#[derive(Debug)]
pub enum What {
    Message,
    Thought,
    Call(Call),
    /// A tool that the server runs itself.
    Server,
    Other,
}

#[derive(Debug, Default)]
pub struct Call {
    /// The id that its output names.
    pub id: String,
    /// The id of the item, which is another.
    pub item_id: String,
    /// Empty until it is known.
    pub name: String,
    pub input: String,
    /// The server says that nothing more comes.
    pub is_completed: bool,
    pub is_given: bool,
}

impl What {
    pub fn call() -> Self {
        Self::Call(Call::default())
    }

    pub fn of(item: &Value) -> Self {
        match item["type"].as_str().unwrap_or("") {
            "message" => Self::Message,
            "reasoning" => Self::Thought,
            "function_call" => Self::call(),
            "web_search_call" | "file_search_call" | "code_interpreter_call" | "image_generation_call" | "mcp_call" => {
                Self::Server
            }
            _ => Self::Other,
        }
    }

    pub fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl Item {
    pub fn new(index: Option<u64>, id: &str, what: What) -> Self {
        Self { index, id: id.into(), what, is_done: false, heard: Vec::new() }
    }

    pub fn is_named(&self, id: &str) -> bool {
        !id.is_empty() && (self.id == id || self.is_call(id))
    }

    pub fn is_call(&self, id: &str) -> bool {
        matches!(&self.what, What::Call(call) if !id.is_empty() && call.id == id)
    }

    pub fn has_heard(&self, part: u64) -> bool {
        self.heard.contains(&part)
    }

    /// Another part than those before.
    pub fn is_new_part(&self, part: u64) -> bool {
        !self.heard.is_empty() && !self.has_heard(part)
    }

    pub fn heard(&mut self, part: u64, text: &str) {
        if !text.is_empty() && !self.has_heard(part) {
            self.heard.push(part);
        }
    }
}

impl Call {
    /// It can be run with what it has, and will not change.
    pub fn is_whole(&self) -> bool {
        self.is_completed && !self.name.is_empty() && serde_json::from_str::<Map<String, Value>>(&self.input).is_ok()
    }

    /// The call for an answer that ended so. A tool without parameters is called with nothing at all; after a cut that would be a guess.
    pub fn complete(&self, reason: FinishReason) -> ToolCall {
        let is_bare = self.input.trim().is_empty() && reason != FinishReason::Length;
        let input = if is_bare { "{}".into() } else { self.input.clone() };
        let opaque = (!self.item_id.is_empty()).then(|| json!({"id": self.item_id}).to_string());
        ToolCall { id: self.id.clone(), name: self.name.clone(), input, opaque }
    }
}
