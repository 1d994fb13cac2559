//! Contents, and their laws: the roles take turns, a user begins and ends, no part is empty, and the calls of a turn are answered
//! by the next one, each in its place.

use crate::signature::{OfCall, On, read_reasoning};
use airlock::provider::{File, Part, Reasoning, ToolCall, ToolResult};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use codec::{Answered, INTERRUPTED, Ink, LEFT_OUT, Said, Tail, files, json as arguments};
use serde_json::{Map, Value, json};

/// Stands for the signature of a call that another model wrote (ai.google.dev/gemini-api/docs/thought-signatures, on histories from other
/// models).
const NO_SIGNATURE: &str = "skip_thought_signature_validator";
/// Said where a turn of the user has to stand and none does.
const GO_ON: &str = "Continue.";

/// Characters of a function's name (ai.google.dev/api/caching#FunctionDeclaration).
const LONGEST_NAME: usize = 64;

const USER: &str = r#"{"role":"user","parts":["#;
const MODEL: &str = r#"{"role":"model","parts":["#;

type Contents = Tail<Said<()>>;

fn say(speaker: &'static str, parts: impl IntoIterator<Item = Ink>, out: &mut Contents) {
    out.say(speaker, parts.into_iter().map(|part| ((), part)).collect());
}

pub fn user(said: &[Part], out: &mut Contents) {
    let parts = said.iter().filter_map(|part| match part {
        Part::Text(said) => (!said.is_empty()).then(|| Ink::of(&text(said))),
        Part::File(given) => Some(file(given)),
        _ => None,
    });
    say(USER, parts, out);
}

pub fn assistant(said: &[Part], third: bool, out: &mut Contents) {
    let mut parts = Vec::new();
    for part in said {
        match part {
            Part::Text(said) if !said.is_empty() => parts.push(text(said)),
            Part::Reasoning(thought) => reasoning(thought, &mut parts),
            Part::ToolCall(given) => parts.push(call(given, third, &parts)),
            Part::Text(_) | Part::File(_) | Part::ToolResult(_) => {}
        }
    }
    if out.is_empty() && !parts.is_empty() {
        say(USER, [Ink::of(&text(GO_ON))], out);
    }
    say(MODEL, parts.iter().map(Ink::of), out);
}

/// Only the first call of a turn has to be signed.
fn call(given: &ToolCall, third: bool, before: &[Value]) -> Value {
    let back = OfCall::read(given.opaque.as_deref());
    let mut called = Map::new();
    called.extend(back.id.map(|id| ("id".to_owned(), id.into())));
    called.insert("name".into(), name(&given.name).into());
    called.insert("args".into(), arguments::object(&given.input));
    let is_first = !before.iter().any(|part| part.get("functionCall").is_some());
    let stand_in = (third && is_first).then(|| NO_SIGNATURE.to_owned());
    let mut part = Map::new();
    part.insert("functionCall".into(), called.into());
    part.extend(back.signature.or(stand_in).map(|s| ("thoughtSignature".to_owned(), s.into())));
    part.into()
}

/// A name as the server accepts it: models call functions by names that nobody declared.
fn name(called: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_.:-".contains(c) { c } else { '_' };
    let mut name: String = called.chars().take(LONGEST_NAME).map(plain).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        name.insert(0, '_');
        name.truncate(LONGEST_NAME);
    }
    name
}

/// All results of a turn stand in one content, in the order of the calls. Files that cannot stand in them follow.
pub fn answers(answers: &[Answered], third: bool, out: &mut Contents) {
    let mut parts: Vec<Ink> = answers.iter().map(|a| response(a, third)).collect();
    let files = answers.iter().filter_map(|a| a.result.as_ref()).flat_map(|r| &r.files);
    let after: Vec<Ink> = files.filter(|f| !third || !may_stand_inside(f)).map(file).collect();
    if !after.is_empty() {
        parts.push(Ink::of(&text("The files that the tools gave:")));
        parts.extend(after);
    }
    say(USER, parts, out);
}

fn response(answered: &Answered, third: bool) -> Ink {
    let back = OfCall::read(answered.call.opaque.as_deref());
    let mut response = Map::new();
    response.extend(back.id.map(|id| ("id".to_owned(), id.into())));
    response.insert("name".into(), name(&answered.call.name).into());
    response.insert("response".into(), outcome(answered.result.as_ref()));
    let mut ink = Ink::default();
    ink.raw(br#"{"functionResponse":"#);
    ink.json(&response);
    let files = answered.result.iter().flat_map(|r| &r.files);
    let inside: Vec<Ink> = files.filter(|f| third && may_stand_inside(f)).map(file).collect();
    if !inside.is_empty() {
        ink.member("parts", &Ink::list(&inside));
    }
    ink.raw(b"}");
    ink
}

fn may_stand_inside(file: &File) -> bool {
    let known = ["image/png", "image/jpeg", "image/webp", "application/pdf"];
    known.contains(&file.mime.as_str()) && !file.data.is_empty()
}

pub fn end(out: &mut Contents) -> Result<(), String> {
    match out.last() {
        None => return Err("The conversation has nothing in it that a model could answer".into()),
        Some(last) if last.is_by(MODEL) => say(USER, [Ink::of(&text(GO_ON))], out),
        Some(_) => {}
    }
    Ok(())
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

fn file(file: &File) -> Ink {
    let kinds = ["image/", "audio/", "video/"];
    let is_media = kinds.iter().any(|kind| file.mime.starts_with(kind)) || file.mime == "application/pdf";
    if !is_media || file.data.is_empty() {
        return Ink::of(&text(&files::as_text(file)));
    }
    let data = STANDARD.encode(&file.data);
    let size = data.len();
    Ink::of_file(&json!({"inlineData": {"mimeType": file.mime, "data": data}}), size, stand_in)
}

/// A file as well, since a result has no place for texts.
fn stand_in() -> Vec<u8> {
    format!(r#""inlineData":{{"mimeType":"text/plain","data":"{}"}}"#, STANDARD.encode(LEFT_OUT)).into_bytes()
}

/// `output` and `error` are the names that the models were taught (ai.google.dev/api/caching#FunctionResponse).
fn outcome(result: Option<&ToolResult>) -> Value {
    match result {
        None => json!({"error": INTERRUPTED}),
        Some(r) if r.is_error && r.text.trim().is_empty() => json!({"error": "the call failed without a word"}),
        Some(r) if r.is_error => json!({"error": r.text}),
        Some(r) => json!({"output": r.text}),
    }
}
