//! Messages, and the rules of pairing: a call is followed by its result, and nothing is empty.

use airlock::provider::{File, Part, Request, ToolCall};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use codec::files::{as_text, result_text};
use codec::{Answered, INTERRUPTED, Ink, Tail, Whole, json};
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    thinking: Cow<'a, str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    function: Called<'a>,
}

#[derive(Serialize)]
struct Called<'a> {
    name: &'a str,
    arguments: Value,
}

impl<'a> Message<'a> {
    fn new(role: &'static str, content: Cow<'a, str>) -> Self {
        Self {
            role,
            content,
            thinking: Cow::Borrowed(""),
            images: Vec::new(),
            tool_calls: Vec::new(),
            tool_name: None,
            tool_call_id: None,
        }
    }

    fn write(&self, out: &mut Tail<Whole>) {
        out.push(Whole { role: self.role, ink: Ink::of(self) });
    }
}

/// `asked`: what more the system says.
pub fn system(request: &Request, asked: Option<String>, out: &mut Tail<Whole>) {
    let texts = request.system.iter().map(|t| t.as_str().into()).chain(asked.map(Cow::Owned));
    let text = joined(texts);
    if !text.is_empty() {
        Message::new("system", text).write(out);
    }
}

pub fn user(parts: &[Part], out: &mut Tail<Whole>) {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(Cow::Borrowed(text.as_str())),
        Part::File(file) if !is_image(file) => Some(Cow::Owned(as_text(file))),
        _ => None,
    });
    let files = parts.iter().filter_map(|part| if let Part::File(file) = part { Some(file) } else { None });
    said_by_user(joined(texts), files.filter(|f| is_image(f)), out);
}

fn said_by_user<'a>(text: Cow<'_, str>, images: impl Iterator<Item = &'a File>, out: &mut Tail<Whole>) {
    let images: Vec<String> = images.map(|f| STANDARD.encode(&f.data)).collect();
    if !text.is_empty() || !images.is_empty() {
        Message { images, ..Message::new("user", text) }.write(out);
    }
}

pub fn assistant(parts: &[Part], out: &mut Tail<Whole>) {
    let text = joined(parts.iter().filter_map(|p| if let Part::Text(t) = p { Some(t.as_str().into()) } else { None }));
    let thoughts =
        parts.iter().filter_map(|p| if let Part::Reasoning(r) = p { Some(r.text.as_str().into()) } else { None });
    let tool_calls: Vec<Call<'_>> =
        parts.iter().filter_map(|p| if let Part::ToolCall(c) = p { Some(call(c)) } else { None }).collect();
    if !text.is_empty() || !tool_calls.is_empty() {
        Message { thinking: joined(thoughts), tool_calls, ..Message::new("assistant", text) }.write(out);
    }
}

fn call(call: &ToolCall) -> Call<'_> {
    Call { id: &call.id, function: Called { name: name(call), arguments: json::object(&call.input) } }
}

/// A template has nothing to write of a call without a name.
fn name(call: &ToolCall) -> &str {
    if call.name.is_empty() { "unnamed" } else { &call.name }
}

/// A result carries text alone: images follow as a user's message.
pub fn results(answers: &[Answered], out: &mut Tail<Whole>) {
    for Answered { call, result } in answers {
        let text = result.as_ref().map_or(Cow::Borrowed(INTERRUPTED), result_text);
        let names = Message { tool_name: Some(name(call)), tool_call_id: Some(&call.id), ..Message::new("tool", text) };
        names.write(out);
    }
    let files: Vec<&File> = answers.iter().filter_map(|a| a.result.as_ref()).flat_map(|r| &r.files).collect();
    if !files.is_empty() {
        let intro = Cow::Borrowed("The files that the tools gave:");
        let others = files.iter().filter(|f| !is_image(f)).map(|f| as_text(f).into());
        let text = joined([intro].into_iter().chain(others));
        said_by_user(text, files.iter().copied().filter(|f| is_image(f)), out);
    }
}

fn is_image(file: &File) -> bool {
    file.mime.starts_with("image/") && !file.data.is_empty()
}

fn joined<'a>(texts: impl Iterator<Item = Cow<'a, str>>) -> Cow<'a, str> {
    let mut texts: Vec<Cow<'a, str>> = texts.filter(|t| !t.is_empty()).collect();
    match texts.len() {
        1 => texts.remove(0),
        _ => Cow::Owned(texts.join("\n\n")),
    }
}
