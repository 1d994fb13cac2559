//! Signatures of thoughts: opaque texts that stand on a part of an answer and have to come back on the same part
//! (ai.google.dev/gemini-api/docs/thought-signatures).
//!
//! The neutral conversation has a place for such data on calls and on reasoning. What stands on a text, or on a part with nothing
//! else in it, travels as reasoning without text that follows.

use serde_json::{Map, Value};

/// The part that a signature stood on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    Thought,
    Text,
    /// A part without any text.
    Nothing,
}

const SIGNATURE: &str = "thoughtSignature";
const ON: &str = "on";
const ID: &str = "id";

/// What to keep of a signature.
pub fn of_reasoning(signature: &str, on: On) -> String {
    let mut kept = Map::new();
    kept.insert(SIGNATURE.into(), signature.into());
    let on = match on {
        On::Thought => None,
        On::Text => Some("text"),
        On::Nothing => Some("nothing"),
    };
    kept.extend(on.map(|on| (ON.to_owned(), on.into())));
    Value::Object(kept).to_string()
}

/// Reads what [`of_reasoning`] wrote; `None` for anything else.
pub fn read_reasoning(opaque: Option<&str>) -> Option<(String, On)> {
    let kept: Value = serde_json::from_str(opaque?).ok()?;
    let on = match kept[ON].as_str() {
        Some("text") => On::Text,
        Some("nothing") => On::Nothing,
        _ => On::Thought,
    };
    Some((kept[SIGNATURE].as_str()?.to_owned(), on))
}

/// What has to go back with a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfCall {
    pub signature: Option<String>,
    /// The server's own id. One that was made up here means nothing to it.
    pub id: Option<String>,
}

impl OfCall {
    pub fn write(&self) -> Option<String> {
        let member = |name: &str, value: &Option<String>| value.clone().map(|v| (name.to_owned(), Value::from(v)));
        let kept: Map<_, _> =
            [member(ID, &self.id), member(SIGNATURE, &self.signature)].into_iter().flatten().collect();
        (!kept.is_empty()).then(|| Value::Object(kept).to_string())
    }

    pub fn read(opaque: Option<&str>) -> Self {
        let kept: Value = opaque.and_then(|o| serde_json::from_str(o).ok()).unwrap_or_default();
        let text = |name: &str| kept[name].as_str().map(str::to_owned);
        Self { signature: text(SIGNATURE), id: text(ID) }
    }
}
