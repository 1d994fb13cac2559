//! The laws that every request keeps, whatever the test is about: a call has its result and a result its call, no message is
//! empty, no secret's value is inside, the prefix does not change from step to step, and the window is not exceeded.

use crate::wire::Wire;
use serde_json::{Value, json};

/// What a request is held against.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// Values that must never be seen in a body.
    pub secrets: Vec<String>,
    /// Tokens of the window, at four bytes a token; 0 = no bound.
    pub window: usize,
}

/// The first law that the body of a request in this wire format breaks.
#[must_use]
pub fn broken_in(wire: Wire, body: &Value, before: Option<&Value>, terms: &Terms) -> Option<String> {
    let plain = |body: &Value| json!({"messages": wire.conversation(body)});
    match wire {
        Wire::Chat => broken(body, before, terms),
        _ => beyond(body, terms)
            .or_else(|| wire.refusal(body))
            .or_else(|| before.and_then(|b| changed_prefix(&plain(b), &plain(body)))),
    }
}

/// The first law that the body of a request breaks. `before` is the request before it in the same session.
#[must_use]
pub fn broken(body: &Value, before: Option<&Value>, terms: &Terms) -> Option<String> {
    let empty = Vec::new();
    let messages = body["messages"].as_array().unwrap_or(&empty);
    beyond(body, terms)
        .or_else(|| empty_message(messages))
        .or_else(|| unpaired(messages))
        .or_else(|| before.and_then(|b| changed_prefix(b, body)))
}

/// A secret in the request, or more than the window holds.
fn beyond(body: &Value, terms: &Terms) -> Option<String> {
    let text = body.to_string();
    if let Some(s) = terms.secrets.iter().find(|s| text.contains(s.as_str())) {
        return Some(format!("a secret's value ({}…) is in the request", &s[..s.len().min(4)]));
    }
    if terms.window > 0 && text.len() / 4 > terms.window {
        return Some(format!("the request has about {} tokens, the window {}", text.len() / 4, terms.window));
    }
    None
}

fn is_blank(content: &Value) -> bool {
    match content {
        Value::String(s) => s.is_empty(),
        Value::Array(a) => a.is_empty(),
        _ => true,
    }
}

fn empty_message(messages: &[Value]) -> Option<String> {
    let empty = |m: &&Value| {
        let calls = m["tool_calls"].as_array().is_some_and(|c| !c.is_empty());
        // A tool may well have nothing to say, but the field is there.
        let tool = m["role"] == "tool" && m["content"].is_string();
        is_blank(&m["content"]) && !calls && !tool
    };
    messages.iter().find(empty).map(|m| format!("an empty message: {m}"))
}

/// Each assistant message with calls is followed by exactly one result for each of them, and no result stands elsewhere.
fn unpaired(messages: &[Value]) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    for m in messages {
        if m["role"] == "tool" {
            let id = m["tool_call_id"].as_str().unwrap_or("");
            let Some(at) = open.iter().position(|o| *o == id) else {
                return Some(format!("a result without its call: {m}"));
            };
            open.swap_remove(at);
            continue;
        }
        if let Some(id) = open.first() {
            return Some(format!("the call {id} has no result"));
        }
        for call in m["tool_calls"].as_array().into_iter().flatten() {
            match call["id"].as_str() {
                Some(id) if !id.is_empty() && !open.contains(&id) => open.push(id),
                _ => return Some(format!("a call without an id of its own: {call}")),
            }
            if !call["function"]["arguments"].is_string() {
                return Some(format!("arguments that are no string: {call}"));
            }
        }
    }
    open.first().map(|id| format!("the call {id} has no result"))
}

/// What was sent before is the beginning of what is sent now.
fn changed_prefix(before: &Value, now: &Value) -> Option<String> {
    let (Some(old), Some(new)) = (before["messages"].as_array(), now["messages"].as_array()) else { return None };
    let tools = |body: &Value| body["tools"].as_array().filter(|t| !t.is_empty()).cloned();
    // The last allowed step may have none.
    if let (Some(old), Some(new)) = (tools(before), tools(now))
        && old != new
    {
        return Some("the tools changed between two steps".into());
    }
    if old.first() != new.first() {
        return Some("the first message changed between two steps".into());
    }
    let at = old.iter().zip(new).position(|(a, b)| a != b).or((new.len() < old.len()).then_some(new.len()))?;
    Some(format!("message {at} changed between two steps: {} → {}", old[at], new.get(at).unwrap_or(&Value::Null)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> Value {
        json!({"role": "assistant", "content": null,
               "tool_calls": [{"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}}]})
    }

    fn result(id: &str) -> Value {
        json!({"role": "tool", "tool_call_id": id, "content": ""})
    }

    #[test]
    fn each_law_can_be_broken() {
        let user = json!({"role": "user", "content": "hi"});
        for (messages, want) in [
            (json!([user]), None),
            (json!([user, call("a"), result("a")]), None),
            (json!([user, call("a")]), Some("has no result")),
            (json!([user, result("a")]), Some("without its call")),
            (json!([user, call("a"), result("a"), result("a")]), Some("without its call")),
            (json!([user, call("a"), user]), Some("has no result")),
            (json!([user, call("")]), Some("id of its own")),
            (json!([{"role": "user", "content": ""}]), Some("empty message")),
            (json!([{"role": "user", "content": "key sk-1"}]), Some("secret")),
        ] {
            let terms = Terms { secrets: vec!["sk-1".into()], window: 0 };
            let got = broken(&json!({"messages": messages}), None, &terms);
            match want {
                None => assert_eq!(got, None, "{messages}"),
                Some(w) => assert!(got.as_deref().is_some_and(|g| g.contains(w)), "{messages}: {got:?}"),
            }
        }
    }

    #[test]
    fn a_changed_prefix_is_seen() {
        let a = json!({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]});
        let longer = json!({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}, call("x"), result("x")]});
        let other = json!({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "v"}]});
        assert_eq!(broken(&longer, Some(&a), &Terms::default()), None);
        assert!(broken(&other, Some(&a), &Terms::default()).is_some_and(|w| w.contains("message 1 changed")));
        assert!(broken(&a, Some(&longer), &Terms::default()).is_some());
        let with = |names: &[&str]| {
            let tools: Vec<Value> = names.iter().map(|n| json!({"function": {"name": n}})).collect();
            json!({"messages": a["messages"], "tools": tools})
        };
        assert_eq!(broken(&with(&[]), Some(&with(&["x"])), &Terms::default()), None);
        let changed = broken(&with(&["x", "y"]), Some(&with(&["x"])), &Terms::default());
        assert!(changed.is_some_and(|w| w.contains("the tools changed")));
    }
}
