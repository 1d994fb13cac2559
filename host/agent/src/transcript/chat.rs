//! From a stored message to what the model is sent (agent-core, section 5): every call with its result, nothing of an attempt that was
//! given up. What no server takes is left to `sanitise`.

use crate::compaction::named;
use crate::repair::LOST;
use crate::step::is_providers;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::fault::FailureKind;
use model::message::{AssistantMessage, FilePart, MessageError, OPAQUE, Part, PartBody, ReasoningPart, ToolPart};
use model::provider::{ChatPart, InlineFile, ModelCall, ModelRef, ModelResult};
use model::tool_state::{Attachment, Metadata, ToolState};
use serde_json::Value;

/// What stands for a result that was taken out.
pub(crate) const CLEARED: &str = "[This old result was taken out to save room. Call the tool again if it is needed.]";

/// For whom the history is written out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub model: &'a ModelRef,
    pub images: bool,
    /// Files are named and not sent.
    pub strip_media: bool,
}

/// The parts of a message of a person's or of the host's.
pub(crate) fn user(parts: &[Part], view: View<'_>) -> Vec<ChatPart> {
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
    if view.strip_media {
        return ChatPart::Text(named(&file.mime, file.filename.as_deref()));
    }
    let name = file.filename.as_deref().unwrap_or("a file");
    if file.mime.starts_with("image/") && !view.images {
        return ChatPart::Text(format!("[{name}: this model cannot see images. Tell the user so.]"));
    }
    match inline(&file.mime, file.filename.as_deref(), &file.url) {
        Some(f) if !f.data.is_empty() => ChatPart::File(f),
        _ => ChatPart::Text(format!("[{name}: the file is empty or damaged. Tell the user so.]")),
    }
}

/// What a model said, and the results of its calls.
pub(crate) fn assistant(info: &AssistantMessage, parts: &[Part], view: View<'_>) -> (Vec<ChatPart>, Vec<ChatPart>) {
    let live: Vec<&Part> = parts.iter().filter(|p| !p.body.is_dropped()).collect();
    if !is_sent(info, &live) {
        return (vec![], vec![]);
    }
    let same = info.provider_id == view.model.provider && info.model_id == view.model.model;
    let said = live.iter().flat_map(|p| said(&p.body, same, info.error.is_some(), view)).collect();
    let ours = live.iter().filter_map(|p| match &p.body {
        PartBody::Tool(t) if !is_providers(t) => Some(ChatPart::ToolResult(result(t, view))),
        _ => None,
    });
    (said, ours.collect())
}

/// A message that came to no good end is left out, unless it was broken off with something to show.
fn is_sent(info: &AssistantMessage, live: &[&Part]) -> bool {
    // Half a summary stands for nothing.
    if info.summary && (info.finish.is_none() || info.error.is_some()) {
        return false;
    }
    match &info.error {
        None => true,
        Some(MessageError::Aborted { .. }) => {
            live.iter().any(|p| matches!(p.body, PartBody::Text(_) | PartBody::Tool(_)))
        }
        Some(_) => false,
    }
}

fn said(body: &PartBody, same_model: bool, broken_off: bool, view: View<'_>) -> Vec<ChatPart> {
    match body {
        PartBody::Text(t) if !t.text.is_empty() => vec![ChatPart::Text(t.text.clone())],
        PartBody::Reasoning(r) => reasoning(r, same_model, broken_off).into_iter().collect(),
        PartBody::Tool(t) => {
            let call = ChatPart::ToolCall(call(t, same_model));
            if is_providers(t) { vec![call, ChatPart::ToolResult(result(t, view))] } else { vec![call] }
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

fn result(tool: &ToolPart, view: View<'_>) -> ModelResult {
    let (text, is_error, files) = match &tool.state {
        ToolState::Completed { time, .. } if time.compacted.is_some() => (CLEARED.to_owned(), false, vec![]),
        ToolState::Completed { output, attachments, .. } => {
            let (sent, kept): (Vec<_>, Vec<_>) = attachments.iter().partition(|a| is_shown(a, view));
            (output.clone() + &names(&kept), false, attached(&sent))
        }
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

fn is_shown(file: &Attachment, view: View<'_>) -> bool {
    !view.strip_media && (view.images || !file.mime.starts_with("image/"))
}

fn names(files: &[&Attachment]) -> String {
    files.iter().map(|f| format!("\n{}", named(&f.mime, f.filename.as_deref()))).collect()
}

fn attached(attachments: &[&Attachment]) -> Vec<InlineFile> {
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
