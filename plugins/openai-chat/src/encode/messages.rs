//! Messages, and the rules of pairing: a call is followed by its result, and nothing is empty.

use super::ids;
use crate::dialect::{Dialect, Reasoning};
use airlock::provider::{File, Part, ToolCall, ToolDecl};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use codec::{Answered, CallIds, INTERRUPTED, Ink, LEFT_OUT, Tail, Whole, files, json as text};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::HashSet;

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    /// Null where an assistant only calls.
    content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasoning_details: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
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
    name: Cow<'a, str>,
    arguments: Cow<'a, str>,
}

impl<'a> Message<'a> {
    fn new(role: &'static str, content: Option<Cow<'a, str>>) -> Self {
        Self {
            role,
            content,
            reasoning_content: None,
            reasoning_details: Vec::new(),
            tool_calls: Vec::new(),
            tool_call_id: None,
        }
    }

    fn write(&self, out: &mut Tail<Whole>) {
        out.push(Whole { role: self.role, ink: Ink::of(self) });
    }
}

/// One message: many chat templates accept a single one, at the start.
pub fn system(blocks: &[String], out: &mut Tail<Whole>) {
    let text = joined(blocks.iter().map(String::as_str));
    if !text.is_empty() {
        Message::new("system", Some(text)).write(out);
    }
}

/// Writes messages, and remembers what the next one has to know.
pub struct Writer {
    ids: CallIds,
    dialect: Dialect,
    /// Names that the server was told.
    declared: HashSet<String>,
    /// The calls of the last turn, as the wire names them.
    calls: Vec<String>,
}

impl Writer {
    pub fn new(dialect: Dialect, tools: &[ToolDecl]) -> Self {
        let declared = tools.iter().map(|t| t.name.clone()).collect();
        Self { ids: ids::of(dialect.ids), dialect, declared, calls: Vec::new() }
    }

    pub fn user(&self, said: &[Part], out: &mut Tail<Whole>) {
        let texts: Vec<&str> = said.iter().filter_map(text).collect();
        let files: Vec<&File> =
            said.iter().filter_map(|p| if let Part::File(f) = p { Some(f) } else { None }).collect();
        self.push_user(&texts, &files, out);
    }

    fn push_user(&self, texts: &[&str], files: &[&File], out: &mut Tail<Whole>) {
        let Some(message) = of_user(texts, files) else { return };
        if self.dialect.bridge && out.last().is_some_and(|last| last.role == "tool") {
            Message::new("assistant", Some("Done.".into())).write(out);
        }
        out.push(message);
    }

    pub fn assistant(&mut self, said: &[Part], out: &mut Tail<Whole>) {
        let calls = self.calls(said);
        let text = joined(said.iter().filter_map(text));
        self.calls = calls.iter().map(|c| c.id.clone()).collect();
        if !text.is_empty() || !calls.is_empty() {
            let content = (!text.is_empty()).then_some(text);
            let mut message = Message { tool_calls: calls, ..Message::new("assistant", content) };
            self.replay_reasoning(said, &mut message);
            message.write(out);
        }
    }

    fn replay_reasoning(&self, parts: &[Part], message: &mut Message<'_>) {
        let blocks = parts.iter().filter_map(|p| if let Part::Reasoning(r) = p { Some(r) } else { None });
        match self.dialect.reasoning {
            Reasoning::Dropped => {}
            Reasoning::Content => message.reasoning_content = Some(blocks.map(|r| r.text.as_str()).collect()),
            Reasoning::Details => {
                let lists = blocks.filter_map(|r| serde_json::from_str::<Vec<Value>>(r.opaque.as_deref()?).ok());
                message.reasoning_details = lists.flatten().collect();
            }
        }
    }

    fn calls<'a>(&mut self, parts: &'a [Part]) -> Vec<Call<'a>> {
        let calls = parts.iter().filter_map(|p| if let Part::ToolCall(c) = p { Some(c) } else { None });
        calls.map(|c| call(c, self.ids.call(&c.id), self.name(&c.name))).collect()
    }

    /// Models call tools by names that nobody declared, and not every name is accepted.
    fn name<'a>(&self, name: &'a str) -> Cow<'a, str> {
        if self.declared.contains(name) { Cow::Borrowed(name) } else { Cow::Owned(codec::ids::name(name)) }
    }

    /// No result can carry a file here, so they follow in a message of their own.
    pub fn answers(&self, answers: &[Answered], out: &mut Tail<Whole>) {
        for (answer, id) in answers.iter().zip(&self.calls) {
            let text = answer.result.as_ref().map_or(Cow::Borrowed(INTERRUPTED), files::result_text);
            Message { tool_call_id: Some(id), ..Message::new("tool", Some(text)) }.write(out);
        }
        let files: Vec<&File> = answers.iter().filter_map(|a| a.result.as_ref()).flat_map(|r| &r.files).collect();
        if !files.is_empty() {
            self.push_user(&["The files that the tools gave:"], &files, out);
        }
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

/// Plain text wherever it will do: small servers know nothing else.
fn of_user(texts: &[&str], files: &[&File]) -> Option<Whole> {
    if files.is_empty() {
        let text = joined(texts.iter().copied());
        return (!text.is_empty()).then(|| Whole { role: "user", ink: Ink::of(&Message::new("user", Some(text))) });
    }
    let texts = texts.iter().map(|t| Ink::of(&json!({"type": "text", "text": t})));
    let parts: Vec<Ink> = texts.chain(files.iter().map(|f| file(f))).collect();
    let mut ink = Ink::default();
    ink.raw(br#"{"role":"user","content":"#);
    ink.append(&Ink::list(&parts));
    ink.raw(b"}");
    Some(Whole { role: "user", ink })
}

fn file(file: &File) -> Ink {
    let name = file.name.as_deref().unwrap_or("file");
    let data = STANDARD.encode(&file.data);
    let size = data.len();
    let part = match file.mime.as_str() {
        mime if mime.starts_with("image/") => {
            json!({"type": "image_url", "image_url": {"url": format!("data:{mime};base64,{data}")}})
        }
        mime @ "application/pdf" => {
            json!({"type": "file", "file": {"filename": name, "file_data": format!("data:{mime};base64,{data}")}})
        }
        "audio/wav" | "audio/x-wav" => json!({"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}),
        "audio/mpeg" | "audio/mp3" => json!({"type": "input_audio", "input_audio": {"data": data, "format": "mp3"}}),
        _ => return Ink::of(&json!({"type": "text", "text": files::as_text(file)})),
    };
    Ink::of_file(&part, size, || format!(r#""type":"text","text":"{LEFT_OUT}""#).into_bytes())
}

fn call<'a>(call: &'a ToolCall, id: String, name: Cow<'a, str>) -> Call<'a> {
    let extra_content = call.opaque.clone().and_then(|o| RawValue::from_string(o).ok());
    let function = Called { name, arguments: text::arguments(&call.input) };
    Call { id, kind: "function", function, extra_content }
}
