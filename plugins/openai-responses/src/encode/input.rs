//! The conversation as items, and the rules of the server: a call before its output, a thought before what came of it, and nothing empty.

use super::media;
use airlock::provider::{Part, Reasoning, ToolCall, ToolResult};
use codec::files::result_text;
use codec::{Answered, CallIds, INTERRUPTED, Ink, Seed, Tail, Whole, ids, json as text_json};
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;

/// Said where there is nothing to answer.
const GO_ON: &str = "Go on.";

fn push(item: &impl Serialize, out: &mut Tail<Whole>) {
    out.push(Whole { role: "", ink: Ink::of(item) });
}

fn said_by_user(content: &[Ink], out: &mut Tail<Whole>) {
    let mut ink = Ink::default();
    ink.raw(br#"{"type":"message","role":"user","content":"#);
    ink.append(&Ink::list(content));
    ink.raw(b"}");
    out.push(Whole { role: "user", ink });
}

fn speak(text: &str, out: &mut Tail<Whole>) {
    let content = [Spoken { kind: "output_text", text, annotations: [] }];
    push(&Message { kind: "message", role: "assistant", content }, out);
}

pub fn user(said: &[Part], out: &mut Tail<Whole>) {
    let parts = said.iter().filter_map(|part| match part {
        Part::Text(text) => (!text.trim().is_empty()).then(|| media::text(text)),
        Part::File(file) => Some(media::part(file)),
        _ => None,
    });
    let content: Vec<Ink> = parts.collect();
    if !content.is_empty() {
        said_by_user(&content, out);
    }
}

pub fn end(out: &mut Tail<Whole>) {
    if out.is_empty() {
        said_by_user(&[media::text(GO_ON)], out);
    }
}

#[derive(Serialize)]
struct Message<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    role: &'static str,
    content: [Spoken<'a>; 1],
}

#[derive(Serialize)]
struct Spoken<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
    annotations: [(); 0],
}

/// The head of an output; what came out follows.
#[derive(Serialize)]
struct Output<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    call_id: &'a str,
}

#[derive(Serialize)]
struct Call<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    call_id: &'a str,
    name: String,
    arguments: Cow<'a, str>,
}

/// Writes items, and remembers what the next one has to know.
pub struct Writer {
    ids: CallIds,
    /// The wire's ids of the calls of the last turn, in their order.
    calls: Vec<String>,
}

impl Default for Writer {
    fn default() -> Self {
        let fits = |id: &str| (1..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic());
        Self { ids: CallIds::new(fits, Seed::call_id), calls: Vec::new() }
    }
}

impl Writer {
    pub fn assistant(&mut self, said: &[Part], out: &mut Tail<Whole>) {
        self.calls.clear();
        // An item names the thought that it came of by its id alone: without all thoughts no item may have one.
        let thoughts =
            || said.iter().filter_map(|p| if let Part::Reasoning(thought) = p { Some(thought) } else { None });
        let keeps_ids = thoughts().count() > 0 && thoughts().all(|t| item(t).is_some());
        // A thought that nothing came of is refused.
        let speaks = |part: &Part| is_said(part) || matches!(part, Part::ToolCall(_));
        let end = said.iter().rposition(speaks).map_or(0, |last| last + 1);
        for part in &said[..end] {
            match part {
                Part::Text(text) if !text.trim().is_empty() => speak(text, out),
                Part::Reasoning(thought) => think(thought, out),
                Part::ToolCall(call) => self.call(call, keeps_ids, out),
                _ => {}
            }
        }
    }

    fn call(&mut self, call: &ToolCall, keeps_id: bool, out: &mut Tail<Whole>) {
        if let Some(item) = of_server(call) {
            return push(&item, out);
        }
        let call_id = self.ids.call(&call.id);
        let item = Call {
            kind: "function_call",
            id: item_id(call).filter(|_| keeps_id),
            call_id: &call_id,
            name: ids::name(&call.name),
            arguments: text_json::arguments(&call.input),
        };
        push(&item, out);
        self.calls.push(call_id);
    }

    pub fn answers(&self, answers: &[Answered], out: &mut Tail<Whole>) {
        let ours = answers.iter().filter(|a| of_server(&a.call).is_none());
        for (answer, id) in ours.zip(&self.calls) {
            let mut ink = Ink::of(&Output { kind: "function_call_output", call_id: id });
            ink.member("output", &answer.result.as_ref().map_or_else(|| Ink::of(&INTERRUPTED), output));
            out.push(Whole { role: "", ink });
        }
    }
}

/// A thought of another model is plain text; one that came without its encrypted form cannot be sent.
fn think(thought: &Reasoning, out: &mut Tail<Whole>) {
    match item(thought) {
        Some(item) => push(&item, out),
        None if is_foreign(thought) => speak(&thought.text, out),
        None => {}
    }
}

fn is_foreign(thought: &Reasoning) -> bool {
    thought.opaque.is_some() && item(thought).is_none() && !thought.text.trim().is_empty()
}

/// It is said to the person, or goes as if it had been.
fn is_said(part: &Part) -> bool {
    match part {
        Part::Text(text) => !text.trim().is_empty(),
        Part::Reasoning(thought) => is_foreign(thought),
        _ => false,
    }
}

/// Plain text wherever it will do: not every server knows the list.
fn output(result: &ToolResult) -> Ink {
    let text = result_text(result);
    if result.files.is_empty() {
        return Ink::of(&text);
    }
    let parts: Vec<Ink> = [media::text(&text)].into_iter().chain(result.files.iter().map(media::part)).collect();
    Ink::list(&parts)
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
