//! Write to the ledger, then announce. The one owner of a session's changes: they gather here and land in few transactions,
//! text within [`FLUSH`] of its coming.
//!
//! Observers get text at once as [`Event::PartDelta`]; a [`Event::PartUpdated`] holds all text so far, never less than its deltas.

use crate::processor;
use crate::transcript::{Conversation, Transcript, View};
use model::event::{DeltaKind, Event, EventSink};
use model::id::{MessageId, PartId};
use model::inbox::LetterId;
use model::message::{AssistantMessage, Message, Part, PartBody, ToolPart, WithParts};
use model::session::Session;
use model::store::{Change, Store, StoreError};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Longest time that a change waits for its transaction.
pub(crate) const FLUSH: Duration = Duration::from_millis(200);

pub(crate) struct Bus {
    store: Arc<dyn Store>,
    sink: Arc<dyn EventSink>,
    session: Session,
    transcript: Transcript,
    staged: Staged,
}

/// What has changed since the last transaction.
#[derive(Default)]
struct Staged {
    session: bool,
    messages: Vec<MessageId>,
    parts: Vec<PartId>,
    /// Letters whose messages land with these.
    delivered: Vec<LetterId>,
    since: Option<Instant>,
}

impl Staged {
    fn note(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    fn message(&mut self, id: &MessageId) {
        self.note();
        if !self.messages.contains(id) {
            self.messages.push(id.clone());
        }
    }

    fn part(&mut self, id: &PartId) {
        self.note();
        if !self.parts.contains(id) {
            self.parts.push(id.clone());
        }
    }
}

impl Bus {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        sink: Arc<dyn EventSink>,
        session: Session,
        history: Vec<WithParts>,
    ) -> Self {
        Self { store, sink, session, transcript: Transcript::new(history), staged: Staged::default() }
    }

    /// Takes the talk as somebody else has left it in the ledger. Nothing may be staged.
    pub(crate) fn reload(&mut self, history: Vec<WithParts>) {
        self.transcript = Transcript::new(history);
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// As the model is sent it, up to now.
    pub(crate) fn conversation(&mut self, view: View<'_>) -> &Conversation {
        self.transcript.conversation(view)
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Announces what has no place in the ledger.
    pub(crate) fn emit(&self, event: Event) {
        self.sink.emit(event);
    }

    pub(crate) fn edit_session(&mut self, edit: impl FnOnce(&mut Session)) {
        edit(&mut self.session);
        self.staged.note();
        self.staged.session = true;
    }

    pub(crate) fn add_message(&mut self, info: Message, parts: Vec<Part>) {
        self.staged.message(info.id());
        self.transcript.put_message(info);
        parts.into_iter().for_each(|p| self.add_part(p));
    }

    /// A letter has become a message that is staged too.
    pub(crate) fn delivered(&mut self, letter: LetterId) {
        self.staged.note();
        self.staged.delivered.push(letter);
    }

    pub(crate) fn add_part(&mut self, part: Part) {
        self.staged.part(&part.id);
        self.transcript.put_part(part);
    }

    /// Takes changes that somebody else worked out.
    pub(crate) fn stage(&mut self, changes: &[Change]) {
        for change in changes {
            self.transcript.apply(change);
            match change {
                Change::Session(_) => (),
                Change::Delivered(letter) => self.delivered(*letter),
                Change::Message(info) => self.staged.message(info.id()),
                Change::Part(part) => self.staged.part(&part.id),
            }
        }
    }

    pub(crate) fn edit_message(&mut self, id: &MessageId, edit: impl FnOnce(&mut AssistantMessage)) {
        if let Some(info) = self.transcript.assistant_mut(id) {
            edit(info);
            self.staged.message(id);
        }
    }

    pub(crate) fn edit_part(&mut self, id: &PartId, edit: impl FnOnce(&mut PartBody)) {
        if let Some(part) = self.transcript.part_mut(id) {
            edit(&mut part.body);
            self.staged.part(id);
        }
    }

    pub(crate) fn edit_tool(&mut self, id: &PartId, edit: impl FnOnce(&mut ToolPart)) {
        self.edit_part(id, |body| {
            if let PartBody::Tool(tool) = body {
                edit(tool);
            }
        });
    }

    /// Text that has just come: announced at once, stored in time.
    pub(crate) fn append(&mut self, id: &PartId, kind: DeltaKind, text: String) {
        self.edit_part(id, |body| processor::append(body, &text));
        let Some(part) = self.transcript.part(id) else { return };
        let (message, part) = (part.message_id.clone(), part.id.clone());
        self.sink.emit(Event::PartDelta { message, part, kind, delta: text });
    }

    /// When the staged changes have to be in the ledger.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.staged.since.map(|s| s + FLUSH)
    }

    /// Waits until they have to; forever where there are none.
    pub(crate) async fn wait_due(&self) {
        match self.due() {
            Some(due) => tokio::time::sleep_until(due).await,
            None => std::future::pending().await,
        }
    }

    /// Lands what opening the session has changed, and announces the session before anything in it.
    pub(crate) async fn open(&mut self) -> Result<(), StoreError> {
        let (messages, parts) = self.land().await?;
        self.sink.emit(Event::SessionOpened { info: self.session.clone() });
        self.announce(messages, parts);
        Ok(())
    }

    /// One transaction for all that is staged, then the announcements.
    pub(crate) async fn flush(&mut self) -> Result<(), StoreError> {
        let (messages, parts) = self.land().await?;
        self.announce(messages, parts);
        Ok(())
    }

    async fn land(&mut self) -> Result<(Vec<Message>, Vec<Part>), StoreError> {
        let staged = std::mem::take(&mut self.staged);
        if staged.since.is_none() {
            return Ok((vec![], vec![]));
        }
        let session = staged.session.then(|| Change::Session(self.session.clone()));
        let messages = staged.messages.iter().filter_map(|id| self.transcript.message(id));
        let messages: Vec<Message> = messages.map(|m| m.info.clone()).collect();
        let parts: Vec<Part> = staged.parts.iter().filter_map(|id| self.transcript.part(id)).cloned().collect();
        let changes = session
            .into_iter()
            .chain(messages.iter().cloned().map(Change::Message))
            .chain(parts.iter().cloned().map(Change::Part))
            .chain(staged.delivered.into_iter().map(Change::Delivered));
        self.store.apply(changes.collect()).await?;
        Ok((messages, parts))
    }

    fn announce(&self, messages: Vec<Message>, parts: Vec<Part>) {
        for info in messages {
            self.sink.emit(Event::MessageUpdated { info });
        }
        for part in parts {
            let dropped = part.body.is_dropped();
            let part = Arc::new(part);
            self.sink.emit(if dropped { Event::PartDropped { part } } else { Event::PartUpdated { part } });
        }
    }
}
