//! Ollama's `api/chat`. Sources: github.com/ollama/ollama, docs/api.md and api/types.go: the server reads a body into fixed types and answers
//! 400 to what does not fit. That each call is answered in its place is what the chat templates expect.

use serde_json::Value;

type Checked = Result<(), String>;

const BODY: [&str; 8] = ["model", "messages", "tools", "stream", "format", "options", "think", "keep_alive"];

/// Why the server would answer this body with 400, or why its templates would not understand it.
///
/// # Errors
/// The first rule that is broken.
pub fn ollama_request(body: &Value) -> Checked {
    let members = body.as_object().ok_or("the body is no object")?;
    members.keys().try_for_each(|k| rule(BODY.contains(&k.as_str()), || format!("unknown field {k}")))?;
    rule(body["model"].as_str().is_some_and(|m| !m.is_empty()), || "model is required".into())?;
    rule(body["options"].is_null() || body["options"].is_object(), || "options is an object".into())?;
    list(&body["tools"]).iter().try_for_each(tool)?;
    let mut open: Vec<&Value> = Vec::new();
    for (at, message) in list(&body["messages"]).iter().enumerate() {
        self::message(message, at).map_err(|why| format!("messages.{at}: {why}: {message}"))?;
        if message["role"] == "tool" {
            rule(!open.is_empty(), || format!("messages.{at}: a result without its call"))?;
            let call = open.remove(0);
            rule(call["function"]["name"] == message["tool_name"], || format!("messages.{at}: answers another call"))?;
        } else {
            rule(open.is_empty(), || format!("messages.{at}: a call without its result"))?;
            open = list(&message["tool_calls"]).iter().collect();
        }
    }
    rule(open.is_empty(), || "a call without its result".into())
}

fn rule(holds: bool, why: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(why()) }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn message(message: &Value, at: usize) -> Checked {
    let role = message["role"].as_str().unwrap_or("");
    rule(["system", "user", "assistant", "tool"].contains(&role), || "an unknown role".into())?;
    rule(role != "system" || at == 0, || "the system speaks first".into())?;
    let content = message["content"].as_str().ok_or("content is a string")?;
    let (images, calls) = (list(&message["images"]), list(&message["tool_calls"]));
    let says = !content.is_empty() || !images.is_empty() || !calls.is_empty();
    rule(says || role == "tool", || "an empty message".into())?;
    rule(images.iter().all(|i| i.as_str().is_some_and(|i| !i.is_empty())), || "an image is base64 text".into())?;
    rule(calls.is_empty() || role == "assistant", || "only an assistant calls".into())?;
    calls.iter().try_for_each(|call| {
        let function = &call["function"];
        rule(function["name"].as_str().is_some_and(|n| !n.is_empty()), || "a call without a name".into())?;
        rule(function["arguments"].is_object(), || "arguments is an object".into())
    })
}

fn tool(tool: &Value) -> Checked {
    let function = &tool["function"];
    let name = function["name"].as_str().filter(|n| !n.is_empty()).ok_or("a tool without a name")?;
    let parameters = &function["parameters"];
    rule(tool["type"] == "function" && function["description"].is_string(), || format!("{name}: no function"))?;
    rule(parameters["type"] == "object", || format!("{name}: parameters are an object"))?;
    let properties = parameters["properties"].as_object().ok_or_else(|| format!("{name}: no properties"))?;
    properties.values().try_for_each(property).map_err(|why| format!("{name}: {why}"))
}

/// The types of `ToolProperty`: a reference would be forgotten, a boolean is none.
fn property(property: &Value) -> Checked {
    let members = property.as_object().ok_or_else(|| format!("{property} is no property"))?;
    rule(!members.contains_key("$ref"), || "a reference is not followed".into())?;
    let kind = &property["type"];
    let typed = kind.is_string() || list(kind).iter().any(Value::is_string) || members.contains_key("anyOf");
    rule(typed, || format!("{property} has no type"))?;
    rule(property.get("enum").is_none_or(Value::is_array), || "enum is a list".into())?;
    list(&property["anyOf"]).iter().try_for_each(self::property)
}
