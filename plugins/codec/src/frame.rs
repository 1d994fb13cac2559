//! A body around its messages.

use serde::Serialize;
use serde_json::{Map, Value};

/// A request without its messages.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    pub url: String,
    pub headers: Vec<airlock::provider::Header>,
    /// The body up to its first message, and from the last one's end on.
    pub head: Vec<u8>,
    pub foot: Vec<u8>,
}

/// The members before the messages, and the beginning of the list of messages. `members`: an object.
#[must_use]
pub fn head(members: &impl Serialize, messages: &str) -> Vec<u8> {
    let mut head = crate::Ink::of(members).into_bytes();
    head.pop();
    if head.len() > 1 {
        head.push(b',');
    }
    head.extend_from_slice(format!("\"{messages}\":[").as_bytes());
    head
}

/// The end of the list of messages, and the members after it.
#[must_use]
pub fn foot(members: &Map<String, Value>) -> Vec<u8> {
    let members = crate::Ink::of(members).into_bytes();
    let comma: &[u8] = if members.len() > 2 { b"]," } else { b"]" };
    [comma, &members[1..]].concat()
}
