//! Contents, and their laws: the roles take turns, a user begins and ends, no part is empty, and the calls of a turn are answered
//! by the next one, each in its place.

use crate::signature::{OfCall, On, read_reasoning};
use crate::traits::is_third;
use airlock::provider::{File, Part, Reasoning, Request, ToolCall, ToolResult};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use codec::files;
use codec::turns::{self, Answered, Turn};
use serde_json::{Map, Value, json};

/// Stands for the signature of a call that another model wrote (ai.google.dev/gemini-api/docs/thought-signatures, on histories from other
/// models).
const NO_SIGNATURE: &str = "skip_thought_signature_validator";
/// Said where a turn of the user has to stand and none does.
const GO_ON: &str = "Continue.";

pub fn of(request: &Request) -> Result<Vec<Value>, String> {
    let mut writer = Writer { out: Vec::new(), third: is_third(&request.model) };
    for turn in turns::of(&request.messages)? {
        match turn {
            Turn::User(parts) => writer.user(&parts),
            Turn::Assistant(parts) => writer.assistant(&parts),
            Turn::Answers(answers) => writer.answers(&answers),
        }
    }
    writer.whole()
}

struct Writer {
    out: Vec<(&'static str, Vec<Value>)>,
    third: bool,
}

impl Writer {
    /// Neighbours of one role are one content.
    fn push(&mut self, role: &'static str, parts: Vec<Value>) {
        if parts.is_empty() {
            return;
        }
        match self.out.last_mut() {
            Some((last, all)) if *last == role => all.extend(parts),
            None if role == "model" => self.out.extend([("user", vec![text(GO_ON)]), (role, parts)]),
            _ => self.out.push((role, parts)),
        }
    }

    fn user(&mut self, parts: &[&Part]) {
        let parts = parts.iter().filter_map(|part| match part {
            Part::Text(said) => (!said.is_empty()).then(|| text(said)),
            Part::File(given) => Some(file(given)),
            _ => None,
        });
        self.push("user", parts.collect());
    }

    fn assistant(&mut self, parts: &[&Part]) {
        let mut out = Vec::new();
        for part in parts {
            match part {
                Part::Text(said) if !said.is_empty() => out.push(text(said)),
                Part::Reasoning(thought) => reasoning(thought, &mut out),
                Part::ToolCall(given) => out.push(self.call(given, &out)),
                Part::Text(_) | Part::File(_) | Part::ToolResult(_) => {}
            }
        }
        self.push("model", out);
    }

    /// Only the first call of a turn has to be signed.
    fn call(&self, given: &ToolCall, before: &[Value]) -> Value {
        let back = OfCall::read(given.opaque.as_deref());
        let mut called = Map::new();
        called.extend(back.id.map(|id| ("id".to_owned(), id.into())));
        called.insert("name".into(), given.name.as_str().into());
        called.insert("args".into(), arguments(&given.input));
        let is_first = !before.iter().any(|part| part.get("functionCall").is_some());
        let stand_in = (self.third && is_first).then(|| NO_SIGNATURE.to_owned());
        let mut part = Map::new();
        part.insert("functionCall".into(), called.into());
        part.extend(back.signature.or(stand_in).map(|s| ("thoughtSignature".to_owned(), s.into())));
        part.into()
    }

    /// All results of a turn stand in one content, in the order of the calls. Files that cannot stand in them follow.
    fn answers(&mut self, answers: &[Answered<'_>]) {
        let mut parts: Vec<Value> = answers.iter().map(|a| self.response(a)).collect();
        let files = answers.iter().filter_map(|a| a.result).flat_map(|r| &r.files);
        let after: Vec<Value> = files.filter(|f| !self.stands_inside(f)).map(file).collect();
        if !after.is_empty() {
            parts.push(text("The files that the tools gave:"));
            parts.extend(after);
        }
        self.push("user", parts);
    }

    fn response(&self, answered: &Answered<'_>) -> Value {
        let back = OfCall::read(answered.call.opaque.as_deref());
        let mut response = Map::new();
        response.extend(back.id.map(|id| ("id".to_owned(), id.into())));
        response.insert("name".into(), answered.call.name.as_str().into());
        response.insert("response".into(), outcome(answered.result));
        let files = answered.result.into_iter().flat_map(|r| &r.files);
        let inside: Vec<Value> = files.filter(|f| self.stands_inside(f)).map(file).collect();
        if !inside.is_empty() {
            response.insert("parts".into(), inside.into());
        }
        json!({"functionResponse": response})
    }

    fn stands_inside(&self, file: &File) -> bool {
        let known = ["image/png", "image/jpeg", "image/webp", "application/pdf"];
        self.third && known.contains(&file.mime.as_str()) && !file.data.is_empty()
    }

    fn whole(mut self) -> Result<Vec<Value>, String> {
        if self.out.is_empty() {
            return Err("The conversation has nothing in it that a model could answer".into());
        }
        if self.out.last().is_some_and(|(role, _)| *role == "model") {
            self.push("user", vec![text(GO_ON)]);
        }
        Ok(self.out.into_iter().map(|(role, parts)| json!({"role": role, "parts": parts})).collect())
    }
}

fn text(text: &str) -> Value {
    json!({"text": text})
}

/// Thoughts go back where they are signed; without a signature they mean nothing to the server.
fn reasoning(thought: &Reasoning, out: &mut Vec<Value>) {
    let Some((signature, on)) = read_reasoning(thought.opaque.as_deref()) else { return };
    let unsigned_text = |part: &&mut Value| part["text"].is_string() && part.get("thoughtSignature").is_none();
    match (on, out.last_mut().filter(unsigned_text)) {
        (On::Thought, _) => out.push(json!({"text": thought.text, "thought": true, "thoughtSignature": signature})),
        (On::Text, Some(before)) => before["thoughtSignature"] = signature.into(),
        (On::Text | On::Nothing, _) => out.push(json!({"text": "", "thoughtSignature": signature})),
    }
}

fn file(file: &File) -> Value {
    let kinds = ["image/", "audio/", "video/"];
    let is_media = kinds.iter().any(|kind| file.mime.starts_with(kind)) || file.mime == "application/pdf";
    if is_media && !file.data.is_empty() {
        return json!({"inlineData": {"mimeType": file.mime, "data": STANDARD.encode(&file.data)}});
    }
    text(&files::as_text(file))
}

/// The protocol knows objects only.
fn arguments(input: &str) -> Value {
    match serde_json::from_str::<Map<String, Value>>(input) {
        Ok(arguments) => arguments.into(),
        Err(_) if input.trim().is_empty() => json!({}),
        Err(_) => json!({"invalid_arguments": input}),
    }
}

/// `output` and `error` are the names that the models were taught (ai.google.dev/api/caching#FunctionResponse).
fn outcome(result: Option<&ToolResult>) -> Value {
    match result {
        None => json!({"error": turns::INTERRUPTED}),
        Some(r) if r.is_error && r.text.trim().is_empty() => json!({"error": "the call failed without a word"}),
        Some(r) if r.is_error => json!({"error": r.text}),
        Some(r) => json!({"output": r.text}),
    }
}
