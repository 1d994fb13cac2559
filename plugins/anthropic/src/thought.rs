//! What the model's thoughts carry with them: a signature, or nothing but what is encrypted. Stored as a small JSON object.

use crate::encode::Kind;
use airlock::provider::Reasoning;
use codec::Ink;
use serde_json::{Value, json};

/// For a thought that is shown.
pub fn signed(signature: &str) -> String {
    json!({"signature": signature}).to_string()
}

/// For a thought that is not.
pub fn redacted(data: &str) -> String {
    json!({"redacted": data}).to_string()
}

/// The block that goes back. A thought of another model is plain text; one that lost its signature cannot be sent at all.
pub fn block(thought: &Reasoning) -> Option<(Kind, Ink)> {
    let opaque = thought.opaque.as_deref()?;
    let ours = serde_json::from_str::<Value>(opaque).unwrap_or_default();
    let text = |key: &str| ours[key].as_str().filter(|t| !t.is_empty());
    let (kind, block) = if let Some(signature) = text("signature") {
        (Kind::Thought, json!({"type": "thinking", "thinking": thought.text, "signature": signature}))
    } else if let Some(data) = text("redacted") {
        (Kind::Thought, json!({"type": "redacted_thinking", "data": data}))
    } else if thought.text.trim().is_empty() {
        return None;
    } else {
        (Kind::Plain, json!({"type": "text", "text": thought.text}))
    };
    Some((kind, Ink::of(&block)))
}
