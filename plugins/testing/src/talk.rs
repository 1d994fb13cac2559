//! Conversations: their parts in short, and any of them by chance.

use airlock::provider::{File, Message, Part, Reasoning, Role, ToolCall, ToolDecl, ToolResult};
use proptest::prelude::*;

#[must_use]
pub fn said(text: &str) -> Part {
    Part::Text(text.into())
}

#[must_use]
pub fn says(role: Role, text: &str) -> Message {
    Message { role, parts: vec![said(text)] }
}

#[must_use]
pub fn user(text: &str) -> Message {
    says(Role::User, text)
}

#[must_use]
pub fn assistant(parts: Vec<Part>) -> Message {
    Message { role: Role::Assistant, parts }
}

#[must_use]
pub fn tool(parts: Vec<Part>) -> Message {
    Message { role: Role::Tool, parts }
}

/// A call of `name`, with the provider's data.
#[must_use]
pub fn call_of(name: &str, id: &str, input: &str, opaque: Option<&str>) -> Part {
    Part::ToolCall(ToolCall { id: id.into(), name: name.into(), input: input.into(), opaque: opaque.map(Into::into) })
}

#[must_use]
pub fn call(id: &str, input: &str) -> Part {
    call_of("read", id, input, None)
}

#[must_use]
pub fn result(id: &str, text: &str, is_error: bool, files: Vec<File>) -> Part {
    Part::ToolResult(ToolResult { call_id: id.into(), name: "read".into(), text: text.into(), is_error, files })
}

#[must_use]
pub fn thought(text: &str, opaque: Option<&str>) -> Part {
    Part::Reasoning(Reasoning { text: text.into(), opaque: opaque.map(Into::into) })
}

/// A file named `f`.
#[must_use]
pub fn file(mime: &str, data: &[u8]) -> File {
    File { mime: mime.into(), name: Some("f".into()), data: data.to_vec() }
}

#[must_use]
pub fn png() -> File {
    file("image/png", &[1, 2, 3])
}

#[must_use]
pub fn decl(name: &str, schema: &str) -> ToolDecl {
    ToolDecl { name: name.into(), description: "d".into(), input_schema: schema.into() }
}

/// A part of an answer; `opaque` is what providers put on thoughts and calls.
pub fn any_part(opaque: &'static [Option<&'static str>]) -> impl Strategy<Value = Part> {
    let opaque = || prop::sample::select(opaque);
    let mimes = vec!["image/png", "image/bmp", "application/pdf", "text/plain"];
    prop_oneof![
        "[a \n]{0,3}".prop_map(Part::Text),
        ("[ab.é]{0,2}", "[{}\"]{0,3}", opaque()).prop_map(|(id, input, opaque)| call_of("read", &id, &input, opaque)),
        ("[ab]{0,2}", "[ab.]{0,2}").prop_map(|(id, name)| call_of(&name, &id, "{}", None)),
        ("[a ]{0,2}", opaque()).prop_map(|(text, opaque)| thought(&text, opaque)),
        (prop::sample::select(mimes), 0..2usize).prop_map(|(mime, n)| Part::File(file(mime, &b"x"[..n]))),
    ]
}

/// A conversation as a host might store it: calls may share ids, results may be missing, failed, out of order or in several messages.
pub fn conversation(opaque: &'static [Option<&'static str>]) -> impl Strategy<Value = Vec<Message>> {
    let user = prop::collection::vec(any_part(opaque), 0..3).prop_map(|mut parts| {
        parts.retain(|p| matches!(p, Part::Text(_) | Part::File(_)));
        vec![Message { role: Role::User, parts }]
    });
    let parts = prop::collection::vec(any_part(opaque), 0..5);
    let turn = (parts, any::<[bool; 4]>()).prop_map(|(parts, [answered, failed, turned, apart])| {
        let mut results = if answered { results_of(&parts, failed) } else { vec![] };
        if turned {
            results.reverse();
        }
        let size = if apart { 1 } else { results.len().max(1) };
        let told = results.chunks(size).map(|some| tool(some.to_vec())).collect::<Vec<_>>();
        [vec![assistant(parts)], told].concat()
    });
    prop::collection::vec(prop_oneof![user, turn], 0..8).prop_map(|m| m.concat())
}

fn results_of(parts: &[Part], failed: bool) -> Vec<Part> {
    let ids = parts.iter().filter_map(|p| if let Part::ToolCall(c) = p { Some(&c.id) } else { None });
    let text = |n: usize| if n.is_multiple_of(2) { "" } else { "r" };
    ids.enumerate().map(|(n, id)| result(id, text(n), failed, vec![png()])).collect()
}
