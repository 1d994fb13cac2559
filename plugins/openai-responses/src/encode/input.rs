//! The conversation as items, and the rules of the server: a call before its output, a thought before what came of it, and nothing empty.

use super::media::Media;
use airlock::provider::{Part, Reasoning, Request, ToolCall, ToolResult};
use codec::files::result_text;
use codec::turns::{self, Answered, Turn};
use codec::{CallIds, Seed, ids, json as text_json};
use serde_json::{Map, Value, json};

/// Said where there is nothing to answer.
const GO_ON: &str = "Go on.";

pub fn of(request: &Request) -> Result<Vec<Value>, String> {
    let mut writer = Writer {
        out: Vec::new(),
        ids: CallIds::new(fits, Seed::call_id),
        media: Media::new(request),
        calls: Vec::new(),
    };
    for turn in turns::of(&request.messages)? {
        match turn {
            Turn::User(parts) => writer.user(&parts),
            Turn::Assistant(parts) => writer.assistant(&parts),
            Turn::Answers(answers) => writer.answers(&answers),
        }
    }
    if writer.out.is_empty() {
        writer.out.push(said_by("user", vec![json!({"type": "input_text", "text": GO_ON})]));
    }
    Ok(writer.out)
}

fn fits(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic())
}

fn said_by(role: &str, content: Vec<Value>) -> Value {
    json!({"type": "message", "role": role, "content": content})
}

struct Writer {
    out: Vec<Value>,
    ids: CallIds,
    media: Media,
    /// The wire's ids of the calls that wait for their outputs, in their order.
    calls: Vec<String>,
}

impl Writer {
    fn user(&mut self, parts: &[&Part]) {
        let mut content = Vec::new();
        for part in parts {
            match part {
                Part::Text(text) if !text.trim().is_empty() => {
                    content.push(json!({"type": "input_text", "text": text}))
                }
                Part::File(file) => content.push(self.media.part(file)),
                _ => {}
            }
        }
        if !content.is_empty() {
            self.out.push(said_by("user", content));
        }
    }

    fn assistant(&mut self, parts: &[&Part]) {
        // An item names the thought that it came of by its id alone: without all thoughts no item may have one.
        let thoughts = parts.iter().filter_map(|p| if let Part::Reasoning(thought) = p { Some(thought) } else { None });
        let keeps_ids = thoughts.clone().count() > 0 && thoughts.clone().all(|t| item(t).is_some());
        for part in parts {
            match part {
                Part::Text(text) if !text.trim().is_empty() => self.speak(text),
                Part::Reasoning(thought) => self.thought(thought),
                Part::ToolCall(call) => self.call(call, keeps_ids),
                _ => {}
            }
        }
        // A thought that nothing came of is refused.
        while self.out.last().is_some_and(|i| i["type"] == "reasoning") {
            self.out.pop();
        }
    }

    fn speak(&mut self, text: &str) {
        self.out.push(said_by("assistant", vec![json!({"type": "output_text", "text": text, "annotations": []})]));
    }

    /// A thought of another model is plain text; one that came without its encrypted form cannot be sent.
    fn thought(&mut self, thought: &Reasoning) {
        match item(thought) {
            Some(item) => self.out.push(item),
            None if thought.opaque.is_some() && !thought.text.trim().is_empty() => self.speak(&thought.text),
            None => {}
        }
    }

    fn call(&mut self, call: &ToolCall, keeps_id: bool) {
        if let Some(item) = of_server(call) {
            return self.out.push(item);
        }
        let mut item = Map::new();
        item.insert("type".into(), "function_call".into());
        if let Some(id) = item_id(call).filter(|_| keeps_id) {
            item.insert("id".into(), id.into());
        }
        let call_id = self.ids.call(&call.id);
        item.insert("call_id".into(), call_id.as_str().into());
        item.insert("name".into(), ids::name(&call.name).into());
        item.insert("arguments".into(), text_json::arguments(&call.input).into());
        self.out.push(item.into());
        self.calls.push(call_id);
    }

    fn answers(&mut self, answers: &[Answered<'_>]) {
        let ours = answers.iter().filter(|a| of_server(a.call).is_none());
        for (answer, id) in ours.zip(std::mem::take(&mut self.calls)) {
            let output = answer.result.map_or_else(|| turns::INTERRUPTED.into(), |result| self.output(result));
            self.out.push(json!({"type": "function_call_output", "call_id": id, "output": output}));
        }
    }

    /// Plain text wherever it will do: not every server knows the list.
    fn output(&mut self, result: &ToolResult) -> Value {
        let text = result_text(result);
        if result.files.is_empty() {
            return text.into();
        }
        let mut parts = vec![json!({"type": "input_text", "text": text})];
        parts.extend(result.files.iter().map(|file| self.media.part(file)));
        parts.into()
    }
}

fn parsed(opaque: Option<&str>) -> Value {
    opaque.and_then(|o| serde_json::from_str(o).ok()).unwrap_or_default()
}

/// The item of a thought, as it came. Without a summary, even an empty one, it is refused.
fn item(thought: &Reasoning) -> Option<Value> {
    let item = parsed(thought.opaque.as_deref());
    let is_ours = item["type"] == "reasoning" && item["encrypted_content"].is_string() && item["summary"].is_array();
    is_ours.then_some(item)
}

/// The item of a call that the server ran itself, as it came.
fn of_server(call: &ToolCall) -> Option<Value> {
    Some(parsed(call.opaque.as_deref())["item"].take()).filter(Value::is_object)
}

fn item_id(call: &ToolCall) -> Option<String> {
    parsed(call.opaque.as_deref())["id"].as_str().filter(|id| id.starts_with("fc")).map(str::to_owned)
}
