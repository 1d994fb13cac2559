//! From stored messages to what the model is sent (agent-core, section 5). The law: every call has its result, no message is
//! empty, what belongs to a given-up attempt is not there.

use crate::repair::LOST;
use crate::step::is_providers;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::fault::FailureKind;
use model::message::{
    AssistantMessage, FilePart, Message, MessageError, OPAQUE, Part, PartBody, ReasoningPart, ToolPart, WithParts,
};
use model::provider::{ChatMessage, ChatPart, InlineFile, ModelCall, ModelRef, ModelResult, Role};
use model::tool_state::{Attachment, Metadata, ToolState};
use serde_json::Value;

/// For whom the history is written out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub model: &'a ModelRef,
    pub images: bool,
}

/// The whole conversation as messages for the model.
pub(crate) fn chat(history: &[WithParts], view: View<'_>) -> Vec<ChatMessage> {
    let mut out = Vec::with_capacity(history.len() * 2);
    for message in history {
        match &message.info {
            Message::User(_) => push(&mut out, Role::User, user_parts(&message.parts, view)),
            Message::Assistant(info) => push_assistant(&mut out, info, &message.parts, view),
        }
    }
    out
}

fn push(out: &mut Vec<ChatMessage>, role: Role, parts: Vec<ChatPart>) {
    if !parts.is_empty() {
        out.push(ChatMessage { role, parts });
    }
}

fn user_parts(parts: &[Part], view: View<'_>) -> Vec<ChatPart> {
    let shown = parts.iter().filter_map(|p| match &p.body {
        PartBody::Text(t) if !t.text.is_empty() => Some(ChatPart::Text(t.text.clone())),
        // Its content stands beside it as text.
        PartBody::File(f) if f.mime.starts_with("text/") => None,
        PartBody::File(f) => Some(user_file(f, view)),
        _ => None,
    });
    shown.collect()
}

fn user_file(file: &FilePart, view: View<'_>) -> ChatPart {
    let name = file.filename.as_deref().unwrap_or("a file");
    if file.mime.starts_with("image/") && !view.images {
        return ChatPart::Text(format!("[{name}: this model cannot see images. Tell the user so.]"));
    }
    match inline(&file.mime, file.filename.as_deref(), &file.url) {
        Some(f) if !f.data.is_empty() => ChatPart::File(f),
        _ => ChatPart::Text(format!("[{name}: the file is empty or damaged. Tell the user so.]")),
    }
}

fn push_assistant(out: &mut Vec<ChatMessage>, info: &AssistantMessage, parts: &[Part], view: View<'_>) {
    let live: Vec<&Part> = parts.iter().filter(|p| !p.body.is_dropped()).collect();
    if !is_sent(info, &live) {
        return;
    }
    let same = info.provider_id == view.model.provider && info.model_id == view.model.model;
    let said = live.iter().flat_map(|p| said(&p.body, same, info.error.is_some())).collect::<Vec<_>>();
    if said.iter().all(|p| matches!(p, ChatPart::Reasoning { .. })) {
        return;
    }
    push(out, Role::Assistant, said);
    let ours = live.iter().filter_map(|p| match &p.body {
        PartBody::Tool(t) if !is_providers(t) => Some(ChatPart::ToolResult(result(t))),
        _ => None,
    });
    push(out, Role::Tool, ours.collect());
}

/// A message that came to no good end is left out, unless it was broken off with something to show.
fn is_sent(info: &AssistantMessage, live: &[&Part]) -> bool {
    match &info.error {
        None => true,
        Some(MessageError::Aborted { .. }) => {
            live.iter().any(|p| matches!(p.body, PartBody::Text(_) | PartBody::Tool(_)))
        }
        Some(_) => false,
    }
}

fn said(body: &PartBody, same_model: bool, broken_off: bool) -> Vec<ChatPart> {
    match body {
        PartBody::Text(t) if !t.text.is_empty() => vec![ChatPart::Text(t.text.clone())],
        PartBody::Reasoning(r) => reasoning(r, same_model, broken_off).into_iter().collect(),
        PartBody::Tool(t) => {
            let call = ChatPart::ToolCall(call(t, same_model));
            if is_providers(t) { vec![call, ChatPart::ToolResult(result(t))] } else { vec![call] }
        }
        _ => vec![],
    }
}

/// Another model's thoughts are plain text: their provider data means nothing to this one. Thoughts that were broken off before
/// their provider data came cannot be sent back.
fn reasoning(part: &ReasoningPart, same_model: bool, broken_off: bool) -> Option<ChatPart> {
    let opaque = opaque(&part.metadata);
    if !same_model {
        return (!part.text.trim().is_empty()).then(|| ChatPart::Text(part.text.clone()));
    }
    if opaque.is_none() && (broken_off || part.text.trim().is_empty()) {
        return None;
    }
    Some(ChatPart::Reasoning { text: part.text.clone(), opaque })
}

fn opaque(metadata: &Metadata) -> Option<String> {
    metadata.get(OPAQUE).and_then(Value::as_str).map(str::to_owned)
}

fn call(tool: &ToolPart, same_model: bool) -> ModelCall {
    let input = match tool.state.input() {
        // Servers refuse arguments that are no object; what the model wrote is quoted in the error that it reads.
        object @ Value::Object(_) => object.to_string(),
        _ => "{}".to_owned(),
    };
    let opaque = if same_model { opaque(&tool.metadata) } else { None };
    ModelCall { id: tool.call_id.clone(), name: tool.tool.clone(), input, opaque }
}

fn result(tool: &ToolPart) -> ModelResult {
    let (text, is_error, files) = match &tool.state {
        ToolState::Completed { output, attachments, .. } => (output.clone(), false, attached(attachments)),
        ToolState::Error { metadata, error, .. } => match partial(&tool.state, metadata) {
            Some(output) => (output, false, vec![]),
            None => (error.clone(), true, vec![]),
        },
        ToolState::Pending { .. } | ToolState::Running { .. } => (LOST.to_owned(), true, vec![]),
    };
    ModelResult { call_id: tool.call_id.clone(), name: tool.tool.clone(), text, is_error, files }
}

/// What an interrupted call had printed so far is worth more than the fact that it was interrupted.
fn partial(state: &ToolState, metadata: &Metadata) -> Option<String> {
    let interrupted = metadata.get("kind").and_then(Value::as_str) == Some(FailureKind::Interrupted.as_str());
    let output = metadata.get("output").and_then(Value::as_str).filter(|o| !o.is_empty())?;
    (state.is_interrupted() && interrupted).then(|| output.to_owned())
}

fn attached(attachments: &[Attachment]) -> Vec<InlineFile> {
    attachments.iter().filter_map(|a| inline(&a.mime, a.filename.as_deref(), &a.url)).collect()
}

/// The bytes of a base64 `data:` URL.
fn inline(mime: &str, name: Option<&str>, url: &str) -> Option<InlineFile> {
    let data = decode(url)?;
    Some(InlineFile { mime: mime.to_owned(), name: name.map(str::to_owned), data })
}

pub(crate) fn decode(url: &str) -> Option<Vec<u8>> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    head.ends_with(";base64").then(|| STANDARD.decode(data).ok())?
}

pub(crate) fn data_url(mime: &str, data: &[u8]) -> String {
    format!("data:{mime};base64,{}", STANDARD.encode(data))
}

#[cfg(test)]
mod tests;
