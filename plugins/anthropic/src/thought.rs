//! What the model's thoughts carry with them: a signature, or nothing but what is encrypted. Stored as a small JSON object.

use airlock::provider::Reasoning;
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
pub fn block(thought: &Reasoning) -> Option<Value> {
    let opaque = thought.opaque.as_deref()?;
    let ours = serde_json::from_str::<Value>(opaque).unwrap_or_default();
    let text = |key: &str| ours[key].as_str().filter(|t| !t.is_empty());
    if let Some(signature) = text("signature") {
        return Some(json!({"type": "thinking", "thinking": thought.text, "signature": signature}));
    }
    if let Some(data) = text("redacted") {
        return Some(json!({"type": "redacted_thinking", "data": data}));
    }
    (!thought.text.trim().is_empty()).then(|| json!({"type": "text", "text": thought.text}))
}

pub fn is_thought(block: &Value) -> bool {
    matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"))
}
