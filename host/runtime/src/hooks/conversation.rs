//! A conversation as hooks see it, and back. What a hook cannot know the meaning of (bytes of files, a provider's own data) never
//! leaves the host: parts are named by their index and taken from the original.

use crate::fault::Fault;
use model::provider::{ChatMessage, ChatPart, Role};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// The text that the contract describes.
pub fn written(messages: &[Arc<ChatMessage>]) -> String {
    let mut index = 0;
    let mut next = || {
        index += 1;
        index - 1
    };
    let message = |m: &Arc<ChatMessage>| {
        let parts: Vec<Value> = m.parts.iter().map(|p| part(p, next())).collect();
        json!({ "role": role(m.role), "parts": parts })
    };
    Value::Array(messages.iter().map(message).collect()).to_string()
}

fn role(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}

fn part(part: &ChatPart, index: usize) -> Value {
    match part {
        ChatPart::Text(text) => json!({ "type": "text", "index": index, "text": text }),
        ChatPart::Reasoning { text, .. } => json!({ "type": "reasoning", "index": index, "text": text }),
        ChatPart::File(f) => json!({ "type": "file", "index": index, "mime": f.mime, "name": f.name }),
        ChatPart::ToolCall(c) => {
            json!({ "type": "tool-call", "index": index, "id": c.id, "name": c.name, "input": c.input })
        }
        ChatPart::ToolResult(r) => json!({
            "type": "tool-result", "index": index, "id": r.call_id, "name": r.name, "text": r.text, "error": r.is_error,
        }),
    }
}

#[derive(Deserialize)]
struct Message {
    role: String,
    parts: Vec<Part>,
}

#[derive(Deserialize)]
struct Part {
    index: Option<usize>,
    text: Option<String>,
}

/// What a hook made of the conversation.
///
/// # Errors
/// Anything that no provider would take: an unknown part, an empty message, a call without its result.
pub fn read(json: &str, original: &[Arc<ChatMessage>]) -> Result<Vec<Arc<ChatMessage>>, Fault> {
    let lie = |why: String| Fault::Lie(format!("the messages cannot be sent: {why}"));
    let given: Vec<Message> = serde_json::from_str(json).map_err(|e| lie(e.to_string()))?;
    let known: Vec<&ChatPart> = original.iter().flat_map(|m| &m.parts).collect();
    let messages = given.into_iter().map(|m| message(m, &known)).collect::<Result<Vec<_>, _>>().map_err(lie)?;
    lawful(&messages).map_err(lie)?;
    // What did not change stays shared with the requests before.
    let shared = |(i, m): (usize, ChatMessage)| match original.get(i) {
        Some(same) if **same == m => same.clone(),
        _ => Arc::new(m),
    };
    Ok(messages.into_iter().enumerate().map(shared).collect())
}

fn message(given: Message, known: &[&ChatPart]) -> Result<ChatMessage, String> {
    let role = match given.role.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" => Role::Tool,
        other => return Err(format!("there is no role `{other}`")),
    };
    let parts = given.parts.into_iter().map(|p| taken(p, known)).collect::<Result<_, _>>()?;
    Ok(ChatMessage { role, parts })
}

fn taken(given: Part, known: &[&ChatPart]) -> Result<ChatPart, String> {
    let Some(index) = given.index else {
        return given.text.map(ChatPart::Text).ok_or_else(|| "a new part without a text".into());
    };
    let mut part = known.get(index).map(|p| (*p).clone()).ok_or_else(|| format!("there is no part {index}"))?;
    match (&mut part, given.text) {
        (ChatPart::Text(text), Some(new)) => *text = new,
        (ChatPart::ToolResult(result), Some(new)) => result.text = new,
        _ => {}
    }
    Ok(part)
}

/// No message is empty; each call is followed by its result, and no result stands elsewhere.
fn lawful(messages: &[ChatMessage]) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    if messages.is_empty() {
        return Err("there are none".into());
    }
    for m in messages {
        let blank = |p: &ChatPart| matches!(p, ChatPart::Text(t) if t.is_empty());
        if m.parts.iter().all(blank) {
            return Err("a message is empty".into());
        }
        if let (Role::User | Role::Assistant, Some(id)) = (m.role, open.first()) {
            return Err(format!("the call {id} has no result"));
        }
        for part in &m.parts {
            match part {
                ChatPart::ToolCall(c) => open.push(c.id.as_str()),
                ChatPart::ToolResult(r) => {
                    let at = open.iter().position(|id| *id == r.call_id.as_str());
                    open.swap_remove(at.ok_or_else(|| format!("the result {} has no call", r.call_id))?);
                }
                ChatPart::Text(_) | ChatPart::Reasoning { .. } | ChatPart::File(_) => {}
            }
        }
    }
    open.first().map_or(Ok(()), |id| Err(format!("the call {id} has no result")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::id::CallId;
    use model::provider::{InlineFile, ModelCall, ModelResult};

    fn conversation() -> Vec<Arc<ChatMessage>> {
        let say = |role, parts| Arc::new(ChatMessage { role, parts });
        let call =
            ModelCall { id: CallId::given("c"), name: "read".into(), input: "{}".into(), opaque: Some("o".into()) };
        let result = ModelResult {
            call_id: CallId::given("c"),
            name: "read".into(),
            text: "long".into(),
            is_error: false,
            files: vec![InlineFile { mime: "image/png".into(), name: None, data: vec![1] }],
        };
        vec![
            say(Role::User, vec![ChatPart::Text("hi".into())]),
            say(
                Role::Assistant,
                vec![ChatPart::Reasoning { text: "hm".into(), opaque: Some("s".into()) }, ChatPart::ToolCall(call)],
            ),
            say(Role::Tool, vec![ChatPart::ToolResult(result)]),
        ]
    }

    #[test]
    fn what_is_not_changed_comes_back_whole() {
        let all = conversation();
        assert_eq!(read(&written(&all), &all).unwrap(), all);
    }

    #[test]
    fn texts_change_and_what_lies_behind_them_stays() {
        let all = conversation();
        let given =
            written(&all).replace("\"long\"", "\"short\"").replace("\"hi\"", "\"ho\"").replace("\"hm\"", "\"lie\"");
        let read = read(&given, &all).unwrap();
        assert_eq!(read[0].parts, [ChatPart::Text("ho".into())]);
        assert_eq!(read[1].parts, all[1].parts, "thoughts are the provider's");
        assert!(matches!(&read[2].parts[0], ChatPart::ToolResult(r) if r.text == "short" && r.files.len() == 1));
    }

    #[test]
    fn what_no_provider_would_take_is_a_lie() {
        for given in [
            "[]",
            "no",
            r#"[{"role":"user","parts":[]}]"#,
            r#"[{"role":"user","parts":[{"text":""}]}]"#,
            r#"[{"role":"system","parts":[{"text":"x"}]}]"#,
            r#"[{"role":"user","parts":[{"index":9}]}]"#,
            r#"[{"role":"assistant","parts":[{"index":2}]}]"#,
            r#"[{"role":"tool","parts":[{"index":3}]}]"#,
            r#"[{"role":"assistant","parts":[{"index":2}]},{"role":"user","parts":[{"text":"x"}]},{"role":"tool","parts":[{"index":3}]}]"#,
        ] {
            assert!(matches!(read(given, &conversation()), Err(Fault::Lie(_))), "{given}");
        }
        let shorter = r#"[{"role":"user","parts":[{"text":"new"}]}]"#;
        assert!(read(shorter, &conversation()).is_ok());
    }
}
