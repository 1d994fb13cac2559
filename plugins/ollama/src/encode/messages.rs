//! Messages, and the rules of pairing: a call is followed by its result, and nothing is empty.

use airlock::provider::{File, Part, Request, ToolCall};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use codec::files::{as_text, result_text};
use codec::turns::{self, Answered, Turn};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// `asked`: what more the system says.
pub fn of(request: &Request, asked: Option<String>) -> Result<Vec<Value>, String> {
    let mut out = Vec::new();
    let texts = request.system.iter().map(String::as_str).chain(asked.as_deref());
    let system: Vec<&str> = texts.filter(|t| !t.is_empty()).collect();
    if !system.is_empty() {
        out.push(json!({"role": "system", "content": system.join("\n\n")}));
    }
    for turn in turns::of(&request.messages)? {
        match turn {
            Turn::User(parts) => out.extend(user(&parts)),
            Turn::Assistant(parts) => out.extend(assistant(&parts)),
            Turn::Answers(answers) => results(&answers, &mut out),
        }
    }
    Ok(out)
}

fn user(parts: &[&Part]) -> Option<Value> {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(Cow::Borrowed(text.as_str())),
        Part::File(file) if !is_image(file) => Some(Cow::Owned(as_text(file))),
        _ => None,
    });
    let files = parts.iter().filter_map(|part| if let Part::File(file) = part { Some(file) } else { None });
    said_by_user(&joined(texts), files.filter(|f| is_image(f)))
}

fn said_by_user<'a>(text: &str, images: impl Iterator<Item = &'a File>) -> Option<Value> {
    let images: Vec<Value> = images.map(|f| STANDARD.encode(&f.data).into()).collect();
    let mut message = Map::new();
    message.insert("role".into(), "user".into());
    message.insert("content".into(), text.into());
    let is_empty = text.is_empty() && images.is_empty();
    if !images.is_empty() {
        message.insert("images".into(), images.into());
    }
    (!is_empty).then(|| message.into())
}

fn assistant(parts: &[&Part]) -> Option<Value> {
    let text = joined(parts.iter().filter_map(|p| if let Part::Text(t) = p { Some(t.as_str().into()) } else { None }));
    let thoughts =
        parts.iter().filter_map(|p| if let Part::Reasoning(r) = p { Some(r.text.as_str().into()) } else { None });
    let calls: Vec<Value> =
        parts.iter().filter_map(|p| if let Part::ToolCall(c) = p { Some(call(c)) } else { None }).collect();
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let mut message = Map::new();
    message.insert("role".into(), "assistant".into());
    message.insert("content".into(), text.into());
    let thinking = joined(thoughts);
    if !thinking.is_empty() {
        message.insert("thinking".into(), thinking.into());
    }
    if !calls.is_empty() {
        message.insert("tool_calls".into(), calls.into());
    }
    Some(message.into())
}

fn call(call: &ToolCall) -> Value {
    let arguments = match serde_json::from_str::<Map<String, Value>>(&call.input) {
        Ok(arguments) => arguments.into(),
        Err(_) if call.input.trim().is_empty() => json!({}),
        Err(_) => json!({"invalid_arguments": call.input}),
    };
    json!({"id": call.id, "function": {"name": call.name, "arguments": arguments}})
}

/// A result carries text alone: images follow as a user's message.
fn results(answers: &[Answered<'_>], out: &mut Vec<Value>) {
    for answered in answers {
        let text = answered.result.map_or(Cow::Borrowed(turns::INTERRUPTED), result_text);
        out.push(json!({
            "role": "tool", "content": text, "tool_name": answered.call.name, "tool_call_id": answered.call.id,
        }));
    }
    let files: Vec<&File> = answers.iter().filter_map(|a| a.result).flat_map(|r| &r.files).collect();
    if !files.is_empty() {
        let intro = Cow::Borrowed("The files that the tools gave:");
        let others = files.iter().filter(|f| !is_image(f)).map(|f| as_text(f).into());
        out.extend(said_by_user(
            &joined([intro].into_iter().chain(others)),
            files.iter().copied().filter(|f| is_image(f)),
        ));
    }
}

fn is_image(file: &File) -> bool {
    file.mime.starts_with("image/") && !file.data.is_empty()
}

fn joined<'a>(texts: impl Iterator<Item = Cow<'a, str>>) -> String {
    texts.filter(|t| !t.is_empty()).collect::<Vec<_>>().join("\n\n")
}
