//! The Responses protocol. Sources: developers.openai.com/api (Responses reference, function calling, reasoning, images and files).

use serde_json::Value;
use std::collections::HashSet;

type Checked = Result<(), String>;

/// Why the server would answer this body with 400.
///
/// # Errors
/// The first rule that is broken.
pub fn responses_request(body: &Value) -> Checked {
    head(body)?;
    tools(body)?;
    let items = list(&body["input"]);
    rule(!items.is_empty(), || "input is empty".into())?;
    let mut seen = Seen::default();
    for (at, one) in items.iter().enumerate() {
        item(one, &mut seen).map_err(|why| format!("input.{at}: {why}"))?;
    }
    rule(seen.open.is_empty(), || format!("no tool output found for function call {:?}", seen.open))?;
    thoughts(items)?;
    let size = body.to_string().len();
    rule(size <= 50 << 20, || format!("the request has {size} bytes"))
}

fn rule(holds: bool, why: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(why()) }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn kind(item: &Value) -> &str {
    item["type"].as_str().unwrap_or("")
}

fn says_something(value: &Value) -> bool {
    value.as_str().is_some_and(|t| !t.is_empty())
}

fn is_name(value: &Value) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    value.as_str().is_some_and(|n| (1..=64).contains(&n.len()) && n.bytes().all(plain))
}

fn head(body: &Value) -> Checked {
    rule(says_something(&body["model"]), || "no model".into())?;
    rule(body["stream"] == true, || "the answer is not streamed".into())?;
    rule(body["store"] == false, || "the conversation would be stored".into())?;
    rule(body["instructions"].is_null() || says_something(&body["instructions"]), || "empty instructions".into())?;
    let most = body["max_output_tokens"].as_u64().unwrap_or(16);
    rule(most >= 16, || format!("max_output_tokens {most} is below 16"))?;
    let format = &body["text"]["format"];
    let named =
        format.is_null() || kind(format) != "json_schema" || is_name(&format["name"]) && format["schema"].is_object();
    rule(named, || format!("text.format {format}"))
}

fn tools(body: &Value) -> Checked {
    let tools = list(&body["tools"]);
    let mut names = HashSet::new();
    for tool in tools.iter().filter(|t| kind(t) == "function") {
        rule(is_name(&tool["name"]), || format!("the tool's name {}", tool["name"]))?;
        rule(names.insert(tool["name"].to_string()), || format!("two tools named {}", tool["name"]))?;
        rule(tool["parameters"]["type"] == "object", || format!("parameters of {tool}"))?;
        let union = ["anyOf", "oneOf", "allOf", "enum", "not"].iter().find(|u| !tool["parameters"][**u].is_null());
        rule(union.is_none(), || format!("parameters with {union:?} at the top"))?;
    }
    let choice = &body["tool_choice"];
    rule(choice.is_null() || !tools.is_empty(), || "tool_choice without tools".into())?;
    let known = match choice {
        Value::Null => true,
        Value::String(word) => ["auto", "none", "required"].contains(&word.as_str()),
        named => kind(named) == "function" && names.contains(&named["name"].to_string()),
    };
    rule(known, || format!("tool_choice {choice}"))
}

#[derive(Default)]
struct Seen {
    /// Calls so far, and those that have no output yet.
    calls: HashSet<String>,
    open: Vec<String>,
    ids: HashSet<String>,
    images: usize,
}

fn item(item: &Value, seen: &mut Seen) -> Checked {
    if let Some(id) = item["id"].as_str() {
        rule(seen.ids.insert(id.into()), || format!("duplicate item {id}"))?;
    }
    match kind(item) {
        "message" => message(item, seen),
        "function_call" => call(item, seen),
        "function_call_output" => output(item, seen),
        "reasoning" => {
            let whole = item["summary"].is_array() && says_something(&item["encrypted_content"]);
            rule(whole && item["content"].is_null(), || format!("a thought that cannot be read back: {item}"))
        }
        other if other.ends_with("_call") => Ok(()),
        other => Err(format!("an item `{other}`")),
    }
}

fn message(item: &Value, seen: &mut Seen) -> Checked {
    let content = list(&item["content"]);
    rule(!content.is_empty(), || "content is empty".into())?;
    let is_user = match item["role"].as_str() {
        Some("user" | "developer" | "system") => true,
        Some("assistant") => false,
        _ => return Err(format!("role {}", item["role"])),
    };
    for part in content {
        match (kind(part), is_user) {
            ("input_text", true) | ("output_text", false) => {
                rule(says_something(&part["text"]), || "an empty text".into())?;
            }
            ("input_image" | "input_file", true) => media(part, seen)?,
            (other, _) => return Err(format!("content `{other}` of {}", item["role"])),
        }
    }
    Ok(())
}

fn call(item: &Value, seen: &mut Seen) -> Checked {
    let id = item["call_id"].as_str().unwrap_or("");
    rule((1..=64).contains(&id.len()), || format!("call_id `{id}`"))?;
    rule(seen.calls.insert(id.into()), || format!("call_id {id} is used twice"))?;
    let own = item["id"].as_str();
    rule(own.is_none_or(|i| i.starts_with("fc")), || format!("expected an id that begins with 'fc': {own:?}"))?;
    rule(is_name(&item["name"]), || format!("the name {}", item["name"]))?;
    rule(item["arguments"].is_string(), || "arguments must be a string".into())?;
    seen.open.push(id.into());
    Ok(())
}

fn output(item: &Value, seen: &mut Seen) -> Checked {
    let id = item["call_id"].as_str().unwrap_or("");
    let at = seen.open.iter().position(|open| open == id);
    let at = at.ok_or_else(|| format!("no tool call found for function call output with call_id {id}"))?;
    seen.open.swap_remove(at);
    match &item["output"] {
        Value::String(_) => Ok(()),
        Value::Array(parts) if !parts.is_empty() => parts.iter().try_for_each(|part| match kind(part) {
            "input_text" => rule(says_something(&part["text"]), || "an empty text".into()),
            "input_image" | "input_file" => media(part, seen),
            other => Err(format!("a part `{other}` of an output")),
        }),
        other => Err(format!("an output {other}")),
    }
}

fn media(part: &Value, seen: &mut Seen) -> Checked {
    seen.images += 1;
    rule(seen.images <= 500, || "more than 500 files".into())?;
    let is_file = kind(part) == "input_file";
    let url = part[if is_file { "file_data" } else { "image_url" }].as_str().unwrap_or("");
    let kinds: &[&str] =
        if is_file { &["application/pdf"] } else { &["image/png", "image/jpeg", "image/gif", "image/webp"] };
    let known = kinds.iter().any(|k| url.starts_with(&format!("data:{k};base64,")));
    rule(known, || format!("{}", &url[..url.len().min(40)]))?;
    rule(!is_file || says_something(&part["filename"]), || "a file without a name".into())
}

/// What came of a thought follows it, and an item with an id of its own comes with the thought.
fn thoughts(items: &[Value]) -> Checked {
    let mut thought = false;
    for (at, item) in items.iter().enumerate() {
        let is_thought = kind(item) == "reasoning";
        let is_models = is_thought || item["role"] == "assistant" || kind(item).ends_with("_call");
        rule(!thought || is_models, || {
            format!("input.{at}: reasoning was provided without its required following item")
        })?;
        thought = is_thought;
    }
    rule(!thought, || "reasoning was provided without its required following item".into())
}
