//! The session in memory: a projection of the ledger, loaded once and then kept by the same changes that are written.

mod chat;
mod conversation;
mod layout;
mod sanitise;

pub(crate) use chat::{CLEARED, View, data_url, decode};
pub(crate) use conversation::{BYTES_PER_TOKEN, Conversation, weight};
pub(crate) use layout::{body as layout_body, compaction};

use model::id::{MessageId, PartId};
use model::message::{AssistantMessage, COMPACTION_CONTINUE, Message, Part, PartBody, WithParts};
use model::store::Change;

#[derive(Debug, Default)]
pub(crate) struct Transcript {
    messages: Vec<WithParts>,
    /// As the model is sent it; nothing where it has to be written anew.
    conversation: Option<Conversation>,
}

impl Transcript {
    pub(crate) fn new(messages: Vec<WithParts>) -> Self {
        Self { messages, conversation: None }
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

    /// The conversation, with all that has come to its end since it was last asked for.
    pub(crate) fn conversation(&mut self, view: View<'_>) -> &Conversation {
        let kept = self.conversation.take().filter(|c| c.is_for(view));
        let conversation = self.conversation.insert(kept.unwrap_or_else(|| Conversation::new(view)));
        conversation.extend(&self.messages);
        conversation
    }

    /// For a change. What is changed lies at the end: the search begins there. A change of what the model was sent makes the
    /// conversation be written anew.
    fn find(&mut self, id: &MessageId) -> Option<&mut WithParts> {
        let at = self.messages.iter().rposition(|m| m.info.id() == id)?;
        self.conversation.take_if(|c| c.holds(at));
        self.messages.get_mut(at)
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
        let at = self.messages.iter().rposition(|m| m.parts.iter().any(|p| p.id == *id))?;
        self.conversation.take_if(|c| c.holds(at));
        self.messages[at].parts.iter_mut().rev().find(|p| p.id == *id)
    }

    /// The newest message that a person wrote; one that the host wrote does where there is no other.
    pub(crate) fn prompt(&self) -> Option<&MessageId> {
        let users = || self.messages.iter().rev().filter(|m| matches!(m.info, Message::User(_)));
        users().find(|m| !is_synthetic(m)).or_else(|| users().next()).map(|m| m.info.id())
    }

    /// The newest call.
    pub(crate) fn last_call(&self) -> Option<&PartId> {
        let is_call = |p: &&Part| matches!(p.body, PartBody::Tool(_));
        self.messages.iter().rev().find_map(|m| m.parts.iter().rev().find(is_call)).map(|p| &p.id)
    }

    /// The newest message of a model. A summary is none: it answers nobody.
    pub(crate) fn answer(&self) -> Option<(&AssistantMessage, &[Part])> {
        self.messages.iter().rev().find_map(|m| match &m.info {
            Message::Assistant(info) if info.summary => None,
            Message::Assistant(info) => Some((info.as_ref(), m.parts.as_slice())),
            Message::User(_) => None,
        })
    }
}

/// Nothing in it is a person's word.
pub(crate) fn is_synthetic(message: &WithParts) -> bool {
    let is_hosts = |p: &Part| match &p.body {
        PartBody::Text(t) => t.synthetic,
        PartBody::Compaction(_) => true,
        _ => false,
    };
    !message.parts.is_empty() && message.parts.iter().all(is_hosts)
}

/// Whether this is the host's word after a summary.
fn is_hosts_continue(message: &WithParts) -> bool {
    let is_marked = |p: &Part| matches!(&p.body, PartBody::Text(t) if t.metadata.contains_key(COMPACTION_CONTINUE));
    matches!(message.info, Message::User(_)) && message.parts.iter().any(is_marked)
}

/// Whether a person wrote this message.
pub(crate) fn is_prompt(message: &WithParts) -> bool {
    matches!(message.info, Message::User(_)) && !is_synthetic(message)
}

/// The text that a message shows.
pub(crate) fn visible_text(parts: &[Part]) -> String {
    let texts = parts.iter().filter(|p| !p.body.is_dropped()).filter_map(|p| match &p.body {
        PartBody::Text(t) if !t.synthetic => Some(t.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}
