//! Messages, and the rules of pairing: a call is followed by its result, and nothing is empty.

use super::ids;
use crate::dialect::{Dialect, Reasoning};
use airlock::provider::{self, File, Part, Role, ToolCall, ToolResult};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use codec::{CallIds, files, json as text, turns};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    /// Null where an assistant only calls.
    content: Option<Content<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasoning_details: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
}

/// Plain text wherever it will do: small servers know nothing else.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Value>),
}

#[derive(Serialize)]
struct Call<'a> {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Called<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct Called<'a> {
    name: &'a str,
    arguments: Cow<'a, str>,
}

impl<'a> Message<'a> {
    fn new(role: &'static str, content: Option<Content<'a>>) -> Self {
        Self {
            role,
            content,
            reasoning_content: None,
            reasoning_details: Vec::new(),
            tool_calls: Vec::new(),
            tool_call_id: None,
        }
    }

    fn text(role: &'static str, text: impl Into<Cow<'a, str>>) -> Self {
        Self::new(role, Some(Content::Text(text.into())))
    }
}

/// Writes each message once, as JSON with commas between, and remembers what the next one has to know.
pub struct Writer {
    out: Vec<u8>,
    last: Option<&'static str>,
    ids: CallIds,
    dialect: Dialect,
    /// Calls that wait for their results, as the wire names them.
    unanswered: Vec<String>,
    /// Files of results: no result can carry one here, so they follow in a message of their own.
    files: Vec<File>,
}

impl Writer {
    pub fn new(dialect: Dialect) -> Self {
        let ids = ids::of(dialect.ids);
        Self { out: Vec::new(), last: None, ids, dialect, unanswered: Vec::new(), files: Vec::new() }
    }

    pub fn add(&mut self, messages: &[provider::Message]) -> Result<(), String> {
        messages.iter().try_for_each(|message| match message.role {
            Role::User => self.user(message),
            Role::Assistant => self.assistant(message),
            Role::Tool => self.results(message),
        })
    }

    pub fn so_far(&self) -> &[u8] {
        &self.out
    }

    /// What the end still lacks. It is said and not kept: the results that are missing now may come with the next messages.
    pub fn end(&self) -> Result<Vec<u8>, String> {
        let mut end = Self::new(self.dialect);
        end.last = self.last;
        end.unanswered.clone_from(&self.unanswered);
        end.files.clone_from(&self.files);
        end.settle()?;
        Ok(end.out)
    }

    fn push(&mut self, message: &Message<'_>) -> Result<(), String> {
        if self.last.replace(message.role).is_some() {
            self.out.push(b',');
        }
        serde_json::to_writer(&mut self.out, message).map_err(|e| format!("A message cannot be written: {e}"))
    }

    /// One message: many chat templates accept a single one, at the start.
    pub fn system(&mut self, blocks: &[String]) -> Result<(), String> {
        let text = joined(blocks.iter().map(String::as_str));
        if text.is_empty() { Ok(()) } else { self.push(&Message::text("system", text)) }
    }

    fn user(&mut self, message: &provider::Message) -> Result<(), String> {
        self.settle()?;
        let texts: Vec<&str> = message.parts.iter().filter_map(text).collect();
        let files: Vec<&File> =
            message.parts.iter().filter_map(|p| if let Part::File(f) = p { Some(f) } else { None }).collect();
        if message.parts.iter().any(|p| matches!(p, Part::ToolCall(_) | Part::ToolResult(_))) {
            return Err("A user's message holds a tool call or its result".into());
        }
        self.push_user(&texts, &files)
    }

    fn push_user(&mut self, texts: &[&str], files: &[&File]) -> Result<(), String> {
        let Some(content) = content(texts, files) else { return Ok(()) };
        if self.dialect.bridge && self.last == Some("tool") {
            self.push(&Message::text("assistant", "Done."))?;
        }
        self.push(&Message::new("user", Some(content)))
    }

    fn assistant(&mut self, message: &provider::Message) -> Result<(), String> {
        self.settle()?;
        let calls = self.calls(&message.parts);
        let text = joined(message.parts.iter().filter_map(text));
        if !text.is_empty() || !calls.is_empty() {
            self.unanswered = calls.iter().map(|c| c.id.clone()).collect();
            let content = (!text.is_empty()).then_some(Content::Text(text));
            let mut out = Message { tool_calls: calls, ..Message::new("assistant", content) };
            self.replay_reasoning(&message.parts, &mut out);
            self.push(&out)?;
        }
        self.results(message)
    }

    fn replay_reasoning(&self, parts: &[Part], out: &mut Message<'_>) {
        let blocks = parts.iter().filter_map(|p| if let Part::Reasoning(r) = p { Some(r) } else { None });
        match self.dialect.reasoning {
            Reasoning::Dropped => {}
            Reasoning::Content => out.reasoning_content = Some(blocks.map(|r| r.text.as_str()).collect()),
            Reasoning::Details => {
                let lists = blocks.filter_map(|r| serde_json::from_str::<Vec<Value>>(r.opaque.as_deref()?).ok());
                out.reasoning_details = lists.flatten().collect();
            }
        }
    }

    fn calls<'a>(&mut self, parts: &'a [Part]) -> Vec<Call<'a>> {
        let calls = parts.iter().filter_map(|p| if let Part::ToolCall(c) = p { Some(c) } else { None });
        calls.map(|c| call(c, self.ids.call(&c.id))).collect()
    }

    fn results(&mut self, message: &provider::Message) -> Result<(), String> {
        for part in &message.parts {
            match part {
                Part::ToolResult(result) => self.result(result)?,
                _ if message.role == Role::Tool => {
                    return Err("A tool's message holds something that is no result".into());
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn result(&mut self, result: &ToolResult) -> Result<(), String> {
        let id = self.ids.result(&result.call_id).unwrap_or("");
        let Some(at) = self.unanswered.iter().position(|u| u == id) else {
            return Err(format!("The result of `{}` answers no open call ({})", result.name, result.call_id));
        };
        let id = self.unanswered.remove(at);
        self.push(&Message { tool_call_id: Some(id), ..Message::text("tool", files::result_text(result)) })?;
        self.files.extend(result.files.iter().cloned());
        Ok(())
    }

    /// Every call has its result before anything else comes, or the server refuses the conversation for good.
    fn settle(&mut self) -> Result<(), String> {
        for id in std::mem::take(&mut self.unanswered) {
            self.push(&Message { tool_call_id: Some(id), ..Message::text("tool", turns::INTERRUPTED) })?;
        }
        let files = std::mem::take(&mut self.files);
        if files.is_empty() {
            return Ok(());
        }
        self.push_user(&["The files that the tools gave:"], &files.iter().collect::<Vec<_>>())
    }
}

fn text(part: &Part) -> Option<&str> {
    if let Part::Text(text) = part { Some(text).filter(|t| !t.is_empty()).map(String::as_str) } else { None }
}

fn joined<'a>(texts: impl Iterator<Item = &'a str>) -> Cow<'a, str> {
    let texts: Vec<&str> = texts.filter(|t| !t.is_empty()).collect();
    match texts.as_slice() {
        [one] => Cow::Borrowed(one),
        many => Cow::Owned(many.join("\n\n")),
    }
}

fn content<'a>(texts: &[&'a str], files: &[&File]) -> Option<Content<'a>> {
    if files.is_empty() {
        let text = joined(texts.iter().copied());
        return (!text.is_empty()).then_some(Content::Text(text));
    }
    let texts = texts.iter().map(|t| json!({"type": "text", "text": t}));
    Some(Content::Parts(texts.chain(files.iter().map(|f| file(f))).collect()))
}

fn file(file: &File) -> Value {
    let name = file.name.as_deref().unwrap_or("file");
    let data = || STANDARD.encode(&file.data);
    match file.mime.as_str() {
        mime if mime.starts_with("image/") => {
            json!({"type": "image_url", "image_url": {"url": format!("data:{mime};base64,{}", data())}})
        }
        mime @ "application/pdf" => {
            json!({"type": "file", "file": {"filename": name, "file_data": format!("data:{mime};base64,{}", data())}})
        }
        "audio/wav" | "audio/x-wav" => json!({"type": "input_audio", "input_audio": {"data": data(), "format": "wav"}}),
        "audio/mpeg" | "audio/mp3" => json!({"type": "input_audio", "input_audio": {"data": data(), "format": "mp3"}}),
        _ => json!({"type": "text", "text": files::as_text(file)}),
    }
}

fn call(call: &ToolCall, id: String) -> Call<'_> {
    let extra_content = call.opaque.clone().and_then(|o| RawValue::from_string(o).ok());
    let function = Called { name: &call.name, arguments: text::arguments(&call.input) };
    Call { id, kind: "function", function, extra_content }
}
