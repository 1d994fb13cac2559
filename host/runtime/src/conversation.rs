//! Conversations that codecs hold between the steps of a run: a step hands over what is new, and costs no more than that.

use crate::codec::Session;
use crate::fault::Fault;
use crate::http::Outgoing;
use crate::v0_1::Encoding;
use model::provider::Request;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A codec that knows a conversation.
pub struct Conversation {
    pub session: Session,
    /// Of which adapter: two of them never share one.
    adapter: AdapterId,
    /// What the codec was told.
    told: Request,
}

/// One adapter with its configuration, for as long as the process lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdapterId(u64);

impl AdapterId {
    #[must_use]
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Conversation {
    /// # Errors
    /// The [`Fault`] of a codec that traps, loops or floods.
    pub fn begin(
        adapter: AdapterId,
        mut session: Session,
        request: &Request,
        encoding: &Encoding,
    ) -> Result<Self, Fault> {
        session.call(|live, store| live.converse(store, encoding))?;
        Ok(Self { session, adapter, told: request.clone() })
    }

    /// # Errors
    /// As [`begin`](Self::begin).
    pub fn go_on(&mut self, request: &Request) -> Result<(), Fault> {
        let new = &request.messages[self.told.messages.len()..];
        self.session.call(|live, store| live.append(store, new))?;
        self.told = request.clone();
        Ok(())
    }

    /// # Errors
    /// As [`begin`](Self::begin); inside, what the codec cannot express.
    pub fn encode(&mut self) -> Result<Result<Outgoing, String>, Fault> {
        self.session.call(|live, store| live.encode(store))
    }
}

/// Whether a request only adds messages to what was told.
fn continues(told: &Request, request: &Request) -> bool {
    let of_told = request.messages.get(..told.messages.len());
    let same = |told: &[Arc<_>], new: &[Arc<_>]| told.iter().zip(new).all(|(a, b)| Arc::ptr_eq(a, b) || a == b);
    let bare = |r: &Request| Request { messages: vec![], ..r.clone() };
    of_told.is_some_and(|of_told| same(&told.messages, of_told)) && bare(told) == bare(request)
}

/// The conversations of one owner that rest, the one that has rested longest first. The room for them is the machine's: each holds a
/// place of it.
pub struct Shelf {
    resting: Mutex<Vec<(Conversation, OwnedSemaphorePermit)>>,
    room: Arc<Semaphore>,
}

impl Shelf {
    #[must_use]
    pub fn new(room: Arc<Semaphore>) -> Self {
        Self { resting: Mutex::default(), room }
    }

    /// The conversation that this request goes on with.
    pub fn take(&self, adapter: AdapterId, request: &Request) -> Option<Conversation> {
        let mut resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        let at = resting.iter().position(|(c, _)| c.adapter == adapter && continues(&c.told, request))?;
        Some(resting.remove(at).0)
    }

    /// Keeps a conversation for its next step. Where there is no room, the one of this owner that has rested longest goes; without one,
    /// nothing is kept, and the next step tells all of it anew.
    pub fn keep(&self, mut conversation: Conversation) {
        // An instance whose reader cannot be dropped is of no further use.
        if conversation.session.call(|live, store| live.end(store)).is_err() {
            return;
        }
        conversation.session.rest();
        let mut resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        resting.retain(|(c, _)| c.adapter != conversation.adapter || c.told.session != conversation.told.session);
        let mut place = Arc::clone(&self.room).try_acquire_owned();
        if place.is_err() && !resting.is_empty() {
            drop(resting.remove(0));
            place = Arc::clone(&self.room).try_acquire_owned();
        }
        resting.extend(place.ok().map(|place| (conversation, place)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::id::SessionId;
    use model::provider::{ChatMessage, ChatPart, Extra, Role, ToolChoice};

    fn says(text: &str) -> Arc<ChatMessage> {
        Arc::new(ChatMessage { role: Role::User, parts: vec![ChatPart::Text(text.into())] })
    }

    fn request(texts: &[&str]) -> Request {
        Request {
            session: SessionId::parse("ses_01ARZ3NDEKTSV4RRFFQ69G5FAV").unwrap(),
            model: "m".into(),
            system: vec!["s".into()],
            messages: texts.iter().map(|t| says(t)).collect(),
            tools: Arc::new([]),
            tool_choice: ToolChoice::Auto,
            max_output_tokens: None,
            temperature: None,
            response_schema: None,
            extra: Extra::default(),
        }
    }

    #[test]
    fn only_new_messages_at_the_end_go_on() {
        let check = |told: &[&str], new: &[&str], expected| {
            assert_eq!(continues(&request(told), &request(new)), expected, "{told:?} {new:?}");
        };
        check(&["a"], &["a", "b"], true);
        check(&["a"], &["a"], true);
        check(&["a", "b"], &["a"], false);
        check(&["a", "b"], &["a", "c"], false);
        check(&["a", "b"], &["b"], false);
    }

    #[test]
    fn whatever_else_changed_begins_anew() {
        let told = request(&["a"]);
        let check = |change: fn(&mut Request)| {
            let mut new = request(&["a", "b"]);
            change(&mut new);
            assert!(!continues(&told, &new), "{new:?}");
        };
        check(|r| r.model = "n".into());
        check(|r| r.session = SessionId::new());
        check(|r| r.system = vec![]);
        check(|r| r.tool_choice = ToolChoice::None);
        check(|r| r.max_output_tokens = Some(1));
    }
}
