//! The session in memory: a projection of the ledger, loaded once and then kept by the same changes that are written.

mod chat;

pub(crate) use chat::{View, chat, data_url, decode};

use model::id::{MessageId, PartId};
use model::message::{AssistantMessage, Message, Part, PartBody, WithParts};
use model::store::Change;

#[derive(Debug, Default)]
pub(crate) struct Transcript {
    messages: Vec<WithParts>,
}

impl Transcript {
    pub(crate) fn new(messages: Vec<WithParts>) -> Self {
        Self { messages }
    }

    pub(crate) fn messages(&self) -> &[WithParts] {
        &self.messages
    }

    /// New at the end, or in place of the one with its id: as the ledger does it.
    pub(crate) fn apply(&mut self, change: &Change) {
        match change {
            Change::Session(_) | Change::Delivered(_) => (),
            Change::Message(info) => self.put_message(info.clone()),
            Change::Part(part) => self.put_part(part.clone()),
        }
    }

    pub(crate) fn put_message(&mut self, info: Message) {
        match self.find(info.id()) {
            Some(found) => found.info = info,
            None => self.messages.push(WithParts { info, parts: vec![] }),
        }
    }

    pub(crate) fn put_part(&mut self, part: Part) {
        let Some(message) = self.find(&part.message_id) else { return };
        match message.parts.iter_mut().find(|p| p.id == part.id) {
            Some(found) => *found = part,
            None => message.parts.push(part),
        }
    }

    /// What is changed lies at the end: the search begins there.
    fn find(&mut self, id: &MessageId) -> Option<&mut WithParts> {
        self.messages.iter_mut().rev().find(|m| m.info.id() == id)
    }

    pub(crate) fn message(&self, id: &MessageId) -> Option<&WithParts> {
        self.messages.iter().rev().find(|m| m.info.id() == id)
    }

    pub(crate) fn assistant_mut(&mut self, id: &MessageId) -> Option<&mut AssistantMessage> {
        match &mut self.find(id)?.info {
            Message::Assistant(info) => Some(info),
            Message::User(_) => None,
        }
    }

    pub(crate) fn part(&self, id: &PartId) -> Option<&Part> {
        self.messages.iter().rev().find_map(|m| m.parts.iter().rev().find(|p| p.id == *id))
    }

    pub(crate) fn part_mut(&mut self, id: &PartId) -> Option<&mut Part> {
        self.messages.iter_mut().rev().find_map(|m| m.parts.iter_mut().rev().find(|p| p.id == *id))
    }

    /// The newest message that a person wrote; one that the host wrote does where there is no other.
    pub(crate) fn prompt(&self) -> Option<&MessageId> {
        let users = || self.messages.iter().rev().filter(|m| matches!(m.info, Message::User(_)));
        users().find(|m| !is_synthetic(m)).or_else(|| users().next()).map(|m| m.info.id())
    }

    /// The newest message of a model.
    pub(crate) fn answer(&self) -> Option<(&AssistantMessage, &[Part])> {
        self.messages.iter().rev().find_map(|m| match &m.info {
            Message::Assistant(info) => Some((info.as_ref(), m.parts.as_slice())),
            Message::User(_) => None,
        })
    }
}

pub(crate) fn is_synthetic(message: &WithParts) -> bool {
    !message.parts.is_empty() && message.parts.iter().all(|p| matches!(&p.body, PartBody::Text(t) if t.synthetic))
}

/// The text that a message shows.
pub(crate) fn visible_text(parts: &[Part]) -> String {
    let texts = parts.iter().filter(|p| !p.body.is_dropped()).filter_map(|p| match &p.body {
        PartBody::Text(t) if !t.synthetic => Some(t.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}
