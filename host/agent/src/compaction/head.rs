//! The part that is summarised, as plain text (agent-core, section 4.3.7). Files are named, never sent.

use crate::step::is_providers;
use crate::transcript::{BYTES_PER_TOKEN, CLEARED};
use model::message::{Message, Part, PartBody, ToolPart, WithParts};
use model::tool_state::{Attachment, ToolState};
use std::fmt::Write;

/// Characters of one result.
const MAX_RESULT: usize = 2000;
/// Characters of one text: a person may have pasted a whole file.
const MAX_TEXT: usize = 20_000;
/// Tokens of the whole where the window is not known.
const UNKNOWN: u64 = 100_000;

/// Bytes that a head may come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeadLimit(usize);

impl HeadLimit {
    /// Three quarters of what may be used, half of that with each further try.
    pub(crate) fn new(usable: Option<u64>, tries: u32) -> Self {
        let tokens = (usable.unwrap_or(UNKNOWN) / 4 * 3) >> tries.min(8);
        Self(usize::try_from(tokens.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX))
    }
}

/// Oldest first. What is too much is left out at the beginning, and said so.
pub(crate) fn write<'a>(messages: impl Iterator<Item = &'a WithParts>, limit: HeadLimit) -> String {
    let entries: Vec<String> = messages.flat_map(entries).collect();
    let mut bytes = 0;
    let fits = |e: &&String| {
        bytes += e.len() + 1;
        bytes <= limit.0
    };
    let kept = entries.iter().rev().take_while(fits).count();
    let left_out = entries.len() - kept;
    let note = if left_out > 0 { format!("[{left_out} earlier entries are left out]\n") } else { String::new() };
    note + &entries[left_out..].join("\n")
}

fn entries(message: &WithParts) -> Vec<String> {
    let is_user = match &message.info {
        Message::User(_) => true,
        Message::Assistant(info) => {
            if matches!(&info.error, Some(e) if !matches!(e, model::message::MessageError::Aborted { .. })) {
                return vec![];
            }
            false
        }
    };
    message.parts.iter().filter(|p| !p.body.is_dropped()).filter_map(|p| entry(p, is_user)).collect()
}

fn entry(part: &Part, is_user: bool) -> Option<String> {
    let who = if is_user { "user" } else { "assistant" };
    let said = |who: &str, text: &str| (!text.trim().is_empty()).then(|| format!("[{who}] {}", cut(text, MAX_TEXT)));
    match &part.body {
        PartBody::Text(t) => said(who, &t.text),
        PartBody::Reasoning(r) => said("assistant reasoning", &r.text),
        PartBody::File(f) if f.mime.starts_with("text/") => None,
        PartBody::File(f) => Some(format!("[{who}] {}", named(&f.mime, f.filename.as_deref()))),
        PartBody::Tool(t) => Some(call(t)),
        PartBody::StepStart { .. }
        | PartBody::StepFinish(_)
        | PartBody::Retry(_)
        | PartBody::Compaction(_)
        | PartBody::Prefix(_) => None,
    }
}

fn call(tool: &ToolPart) -> String {
    let whose = if is_providers(tool) { "provider's call" } else { "tool call" };
    let input = tool.state.input().to_string();
    let mut out = format!("[{whose}] {}({})", tool.tool, cut(&input, MAX_RESULT));
    // Writing to a string cannot fail.
    let _ = match &tool.state {
        ToolState::Completed { time, .. } if time.compacted.is_some() => write!(out, "\n[tool result] {CLEARED}"),
        ToolState::Completed { output, attachments, .. } => {
            write!(out, "\n[tool result] {}{}", cut(output, MAX_RESULT), attached(attachments))
        }
        ToolState::Error { error, .. } => write!(out, "\n[tool error] {}", cut(error, MAX_RESULT)),
        ToolState::Pending { .. } | ToolState::Running { .. } => write!(out, "\n[tool error] it did not end"),
    };
    out
}

fn attached(files: &[Attachment]) -> String {
    files.iter().map(|f| format!("\n{}", named(&f.mime, f.filename.as_deref()))).collect()
}

/// What stands for a file that is not sent.
pub(crate) fn named(mime: &str, name: Option<&str>) -> String {
    match name {
        Some(name) => format!("[Attached {mime}: {name}]"),
        None => format!("[Attached {mime}]"),
    }
}

fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}… [{} more bytes are cut off]", &text[..at], text.len() - at),
    }
}

#[cfg(test)]
mod tests;
