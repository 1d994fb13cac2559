//! The Messages protocol. Sources: platform.claude.com/docs (Messages API reference, tool use, extended thinking, prompt caching, vision).

use serde_json::Value;
use std::collections::HashSet;

type Checked = Result<(), String>;

/// Why the server would answer this body with 400.
///
/// # Errors
/// The first rule that is broken.
pub fn anthropic_request(body: &Value) -> Checked {
    head(body)?;
    tools(body)?;
    let messages = list(&body["messages"]);
    order(messages)?;
    let mut seen = Seen::default();
    for (at, message) in messages.iter().enumerate() {
        content(message, &mut seen).map_err(|why| format!("messages.{at}: {why}"))?;
    }
    pairs(messages)?;
    thinking(body, messages)?;
    marks(body)?;
    let size = body.to_string().len();
    rule(size <= 32 << 20, || format!("the request has {size} bytes"))
}

fn rule(holds: bool, why: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(why()) }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn kind(block: &Value) -> &str {
    block["type"].as_str().unwrap_or("")
}

fn is_name(value: &Value, longest: usize) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    value.as_str().is_some_and(|n| (1..=longest).contains(&n.len()) && n.bytes().all(plain))
}

fn says_something(value: &Value) -> bool {
    value.as_str().is_some_and(|t| !t.trim().is_empty())
}

fn head(body: &Value) -> Checked {
    rule(says_something(&body["model"]), || "no model".into())?;
    rule(body["max_tokens"].as_u64().is_some_and(|n| n > 0), || "max_tokens must be at least 1".into())?;
    rule(body["stream"] == true, || "the answer is not streamed".into())?;
    let system = list(&body["system"]);
    rule(body["system"].is_null() || !system.is_empty(), || "system is no list of blocks".into())?;
    rule(system.iter().all(|b| kind(b) == "text" && says_something(&b["text"])), || "an empty system block".into())?;
    let temperature = body["temperature"].as_f64().unwrap_or(1.0);
    rule((0.0..=1.0).contains(&temperature), || format!("temperature {temperature}"))
}

fn tools(body: &Value) -> Checked {
    let tools = list(&body["tools"]);
    let mut names = HashSet::new();
    for tool in tools {
        rule(is_name(&tool["name"], 128), || format!("the tool's name {}", tool["name"]))?;
        rule(names.insert(tool["name"].to_string()), || format!("two tools named {}", tool["name"]))?;
        let schema = &tool["input_schema"];
        rule(tool["type"].is_string() || schema["type"] == "object", || format!("input_schema of {tool}"))?;
        let union = ["anyOf", "oneOf", "allOf"].iter().find(|u| !schema[**u].is_null());
        rule(union.is_none(), || format!("input_schema with {union:?} at the top"))?;
    }
    let choice = &body["tool_choice"];
    rule(choice.is_null() || !tools.is_empty(), || "tool_choice without tools".into())?;
    let known = choice.is_null() || ["auto", "any", "none", "tool"].contains(&kind(choice));
    rule(known, || format!("tool_choice {choice}"))?;
    let named = kind(choice) == "tool" && !names.contains(&choice["name"].to_string());
    rule(!named, || format!("tool_choice {choice} names no tool"))?;
    let called = list(&body["messages"]).iter().flat_map(|m| list(&m["content"])).any(|b| kind(b) == "tool_use");
    rule(!called || !tools.is_empty(), || "tool_use blocks without tools".into())
}

fn order(messages: &[Value]) -> Checked {
    let roles: Vec<&str> = messages.iter().map(|m| m["role"].as_str().unwrap_or("")).collect();
    rule(roles.first() == Some(&"user"), || "the first message is not the user's".into())?;
    rule(roles.iter().all(|r| ["user", "assistant"].contains(r)), || format!("roles {roles:?}"))?;
    rule(roles.windows(2).all(|w| w[0] != w[1]), || format!("roles must alternate: {roles:?}"))?;
    let last = messages.last().and_then(|m| list(&m["content"]).last()).map_or("", kind);
    let paused = last.ends_with("_tool_result") || last == "server_tool_use";
    rule(roles.last() == Some(&"user") || paused, || "the conversation must end with the user".into())
}

#[derive(Default)]
struct Seen {
    ids: HashSet<String>,
    images: usize,
}

fn content(message: &Value, seen: &mut Seen) -> Checked {
    let blocks = list(&message["content"]);
    let is_user = message["role"] == "user";
    rule(!blocks.is_empty(), || "content is empty".into())?;
    for block in blocks {
        match (kind(block), is_user) {
            ("text", _) => rule(says_something(&block["text"]), || "text content blocks must not be empty".into())?,
            ("image" | "document", true) => media(block, seen)?,
            ("tool_result", true) => result(block, seen)?,
            ("tool_use", false) => call(block, seen)?,
            ("thinking", false) => {
                let whole = block["thinking"].is_string() && says_something(&block["signature"]);
                rule(whole, || "thinking without its signature".into())?;
            }
            ("redacted_thinking", false) => rule(says_something(&block["data"]), || "no data".into())?,
            (other, false) if other == "server_tool_use" || other.ends_with("_tool_result") => {}
            (other, _) => return Err(format!("a block `{other}` here")),
        }
    }
    let last = blocks.last().map_or("", kind);
    rule(!["thinking", "redacted_thinking"].contains(&last), || "the final block cannot be thinking".into())
}

fn call(block: &Value, seen: &mut Seen) -> Checked {
    rule(is_name(&block["id"], 256), || format!("tool_use.id {}", block["id"]))?;
    rule(seen.ids.insert(block["id"].to_string()), || format!("tool_use ids must be unique: {}", block["id"]))?;
    rule(is_name(&block["name"], 128), || format!("tool_use.name {}", block["name"]))?;
    rule(block["input"].is_object(), || "tool_use.input must be an object".into())
}

fn result(block: &Value, seen: &mut Seen) -> Checked {
    let content = list(&block["content"]);
    let failed = block["is_error"] == true;
    rule(!failed || !content.is_empty(), || "content must not be empty if is_error is true".into())?;
    for part in content {
        match kind(part) {
            "text" => rule(says_something(&part["text"]), || "an empty text in a tool_result".into())?,
            _ if failed => return Err("all content must be text if is_error is true".into()),
            "image" | "document" => media(part, seen)?,
            other => return Err(format!("a block `{other}` in a tool_result")),
        }
    }
    Ok(())
}

fn media(block: &Value, seen: &mut Seen) -> Checked {
    let source = &block["source"];
    let data = source["data"].as_str().unwrap_or("").len();
    rule(source["type"] == "base64" && data > 0, || format!("source of {}", kind(block)))?;
    seen.images += 1;
    rule(seen.images <= 100, || "more than 100 files".into())?;
    let mime = source["media_type"].as_str().unwrap_or("");
    if kind(block) == "document" {
        return rule(mime == "application/pdf", || format!("a document of type {mime}"));
    }
    rule(["image/jpeg", "image/png", "image/gif", "image/webp"].contains(&mime), || {
        format!("an image of type {mime}")
    })?;
    rule(data <= 5 << 20, || format!("an image of {data} bytes"))
}

/// Each call is answered at the start of the next message, once, and nothing else is.
fn pairs(messages: &[Value]) -> Checked {
    let mut open: Vec<&Value> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let blocks = list(&message["content"]);
        let answers = blocks.iter().take_while(|b| kind(b) == "tool_result").count();
        let strays = blocks[answers..].iter().any(|b| kind(b) == "tool_result");
        rule(!strays, || format!("messages.{at}: tool_result blocks must come first"))?;
        for block in &blocks[..answers] {
            let place = open.iter().position(|id| **id == block["tool_use_id"]);
            let Some(place) = place else { return Err(format!("messages.{at}: unexpected tool_use_id in {block}")) };
            open.swap_remove(place);
        }
        rule(open.is_empty(), || format!("messages.{at}: tool_use ids {open:?} were found without tool_result"))?;
        open = blocks.iter().filter(|b| kind(b) == "tool_use").map(|b| &b["id"]).collect();
    }
    rule(open.is_empty(), || format!("tool_use ids {open:?} were found without tool_result"))
}

fn thinking(body: &Value, messages: &[Value]) -> Checked {
    let thinking = &body["thinking"];
    if thinking.is_null() || kind(thinking) == "disabled" {
        return Ok(());
    }
    rule(body["temperature"].is_null() || body["temperature"] == 1.0, || "temperature with thinking".into())?;
    let forced = ["any", "tool"].contains(&kind(&body["tool_choice"]));
    rule(!forced, || "thinking may not be enabled when tool_choice forces tool use".into())?;
    if kind(thinking) != "enabled" {
        return Ok(());
    }
    let (budget, most) = (thinking["budget_tokens"].as_u64().unwrap_or(0), body["max_tokens"].as_u64().unwrap_or(0));
    rule((1024..most).contains(&budget), || format!("budget_tokens {budget} of max_tokens {most}"))?;
    if let [.., assistant, user] = messages {
        let goes_on = kind(&user["content"][0]) == "tool_result";
        let first = kind(&assistant["content"][0]);
        let thought = ["thinking", "redacted_thinking"].contains(&first);
        rule(!goes_on || thought, || format!("expected `thinking` at the start of the turn, but found `{first}`"))?;
    }
    Ok(())
}

/// Places that are marked for the cache: four at most, and none of them a thought.
fn marks(body: &Value) -> Checked {
    let messages = list(&body["messages"]).iter().flat_map(|m| list(&m["content"]));
    let all = list(&body["tools"]).iter().chain(list(&body["system"])).chain(messages);
    let marked: Vec<&str> = all.filter(|b| !b["cache_control"].is_null()).map(kind).collect();
    rule(marked.len() <= 4, || format!("{} blocks with cache_control", marked.len()))?;
    rule(!marked.iter().any(|k| k.ends_with("thinking")), || "cache_control on a thought".into())
}
