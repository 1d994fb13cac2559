//! The conversation as a model is sent it, kept from step to step: each stored message is written out once, when it has come to its
//! end, so that a step costs what it adds and not what the session is long.

use super::chat::{View, assistant, user};
use super::layout::{self, Layout};
use super::sanitise::Sanitiser;
use model::message::{Message, WithParts};
use model::provider::{ChatMessage, ChatPart, ModelRef, Role};
use std::sync::Arc;

/// Tokens that a picture or another file is taken for.
const FILE_TOKENS: u64 = 1600;
/// Bytes of text that are taken for a token (agent-core, section 4.2).
pub(crate) const BYTES_PER_TOKEN: u64 = 4;

/// What stands for the messages that a summary replaces.
const QUESTION: &str = "What did we do so far?";
/// In place of a beginning that is missing: servers want a person to speak first.
const BEGINNING: &str = "(The beginning of this conversation is not there any more.)";
/// Where the history ends with the model's own words: servers want somebody to answer.
const GO_ON: &str = "Go on.";

#[derive(Debug)]
pub(crate) struct Conversation {
    model: ModelRef,
    images: bool,
    messages: Vec<Arc<ChatMessage>>,
    sanitiser: Sanitiser,
    /// Tokens, estimated.
    tokens: u64,
    /// Stored messages that are written out, or passed over.
    done: usize,
    /// Stored messages written out since the beginning: what a test counts.
    pub(crate) written: usize,
}

impl Conversation {
    pub(crate) fn new(view: View<'_>) -> Self {
        Self {
            model: view.model.clone(),
            images: view.images,
            messages: Vec::new(),
            sanitiser: Sanitiser::default(),
            tokens: 0,
            done: 0,
            written: 0,
        }
    }

    pub(crate) fn is_for(&self, view: View<'_>) -> bool {
        self.model == *view.model && self.images == view.images
    }

    /// Whether the stored message with this index is written out already.
    pub(crate) fn holds(&self, index: usize) -> bool {
        index < self.done
    }

    /// Takes in what has come to its end since.
    pub(crate) fn extend(&mut self, history: &[WithParts]) {
        while let Some(message) = history.get(self.done).filter(|m| is_closed(m)) {
            match layout::summarised(history, self.done) {
                Some(layout) => self.begin_anew(history, &layout),
                None => {
                    self.write(message, false);
                    self.done += 1;
                }
            }
        }
    }

    /// A summary replaces what lies before it.
    fn begin_anew(&mut self, history: &[WithParts], layout: &Layout) {
        self.messages.clear();
        self.sanitiser = Sanitiser::default();
        self.tokens = 0;
        self.push(Role::User, vec![ChatPart::Text(QUESTION.into())]);
        layout.head.iter().for_each(|i| self.write(&history[*i], false));
        layout.tail.iter().for_each(|i| self.write(&history[*i], layout.strip_media));
        self.done = layout.done;
    }

    fn write(&mut self, message: &WithParts, strip_media: bool) {
        self.written += 1;
        let model = self.model.clone();
        let view = View { model: &model, images: self.images, strip_media };
        match &message.info {
            Message::User(_) => self.push(Role::User, user(&message.parts, view)),
            Message::Assistant(info) => {
                let (said, results) = assistant(info, &message.parts, view);
                self.sanitiser.next_answer();
                self.push(Role::Assistant, said);
                self.push(Role::Tool, results);
            }
        }
    }

    fn push(&mut self, role: Role, parts: Vec<ChatPart>) {
        let parts = self.sanitiser.clean(role, parts);
        if parts.is_empty() {
            return;
        }
        if self.messages.is_empty() && role != Role::User {
            self.push(Role::User, vec![ChatPart::Text(BEGINNING.into())]);
        }
        self.tokens = self.tokens.saturating_add(parts.iter().map(tokens).sum());
        self.messages.push(Arc::new(ChatMessage { role, parts }));
    }

    /// For a request: shared, and with somebody's words at the end.
    pub(crate) fn messages(&self) -> Vec<Arc<ChatMessage>> {
        let mut out = self.messages.clone();
        if out.last().is_none_or(|m| m.role == Role::Assistant) {
            let parts = vec![ChatPart::Text(GO_ON.into())];
            out.push(Arc::new(ChatMessage { role: Role::User, parts }));
        }
        out
    }

    /// Whether the model's own words come last.
    pub(crate) fn ends_with_answer(&self) -> bool {
        self.messages.last().is_some_and(|m| m.role == Role::Assistant)
    }

    /// Tokens of all messages, estimated by their size.
    pub(crate) fn tokens(&self) -> u64 {
        self.tokens
    }
}

fn is_closed(message: &WithParts) -> bool {
    match &message.info {
        Message::User(_) => true,
        Message::Assistant(info) => info.time.completed.is_some(),
    }
}

/// Tokens of a stored message by itself, estimated.
pub(crate) fn weight(message: &WithParts, view: View<'_>) -> u64 {
    let mut alone = Conversation::new(view);
    alone.sanitiser = Sanitiser::default();
    // What is written in front of a beginning that is missing is no part of it.
    alone.messages.push(Arc::new(ChatMessage { role: Role::User, parts: vec![] }));
    alone.write(message, view.strip_media);
    alone.tokens
}

fn tokens(part: &ChatPart) -> u64 {
    let (bytes, files) = match part {
        ChatPart::Text(text) => (text.len(), 0),
        ChatPart::Reasoning { text, opaque } => (text.len() + opaque.as_ref().map_or(0, String::len), 0),
        ChatPart::File(_) => (0, 1),
        ChatPart::ToolCall(c) => (c.name.len() + c.input.len(), 0),
        ChatPart::ToolResult(r) => (r.name.len() + r.text.len(), r.files.len()),
    };
    (bytes as u64).div_ceil(BYTES_PER_TOKEN) + files as u64 * FILE_TOKENS
}
