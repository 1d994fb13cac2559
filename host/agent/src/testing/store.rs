//! A ledger in memory that notes when each transaction landed. Each takes a millisecond.

use async_trait::async_trait;
use model::id::SessionId;
use model::inbox::{Delivery, Inbox, Letter, LetterId, Sender, Waiting};
use model::message::{Part, WithParts};
use model::permission::Rule;
use model::session::{Session, SessionSummary};
use model::store::{Change, Claim, Kin, Store, StoreError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

#[derive(Default)]
pub(crate) struct Memory {
    inner: Mutex<Inner>,
    held: Arc<Mutex<Vec<SessionId>>>,
}

#[derive(Default)]
struct Inner {
    /// The run's own first, then those that came of it.
    sessions: Vec<Session>,
    /// Messages of all sessions.
    history: Vec<WithParts>,
    letters: Vec<(Waiting, bool)>,
    log: Vec<(Instant, Vec<Change>)>,
    outputs: Vec<String>,
    approved: Vec<Rule>,
    loads: usize,
    /// The number of the transaction that fails, from 1.
    broken: Option<usize>,
}

impl Memory {
    pub(crate) fn with(session: Session, history: Vec<WithParts>) -> Self {
        Self { inner: Mutex::new(Inner { sessions: vec![session], history, ..Inner::default() }), held: Arc::default() }
    }

    pub(crate) fn break_at(&self, number: usize) {
        self.inner.lock().unwrap().broken = Some(number);
    }

    pub(crate) fn now(&self) -> (Option<Session>, Vec<WithParts>) {
        let inner = self.inner.lock().unwrap();
        let own = inner.sessions.first();
        (own.cloned(), own.map_or_else(Vec::new, |s| inner.history_of(&s.id)))
    }

    /// Sessions that came of the run's own, with what was said in them.
    pub(crate) fn children(&self) -> Vec<(Session, Vec<WithParts>)> {
        let inner = self.inner.lock().unwrap();
        inner.sessions.iter().skip(1).map(|s| (s.clone(), inner.history_of(&s.id))).collect()
    }

    /// Hands a letter over, as another process would.
    pub(crate) fn hand_in(&self, session: &SessionId, delivery: Delivery, text: &str) -> LetterId {
        let letter = Letter { delivery, sender: Sender::Person, text: text.into(), created: 0 };
        self.inner.lock().unwrap().letter(session, letter)
    }

    pub(crate) fn log(&self) -> Vec<(Instant, Vec<Change>)> {
        self.inner.lock().unwrap().log.clone()
    }

    pub(crate) fn approved(&self) -> Vec<Rule> {
        self.inner.lock().unwrap().approved.clone()
    }

    pub(crate) fn loads(&self) -> usize {
        self.inner.lock().unwrap().loads
    }

    pub(crate) fn outputs(&self) -> Vec<String> {
        self.inner.lock().unwrap().outputs.clone()
    }
}

impl Inner {
    /// Messages of tests that name no known session belong to the first.
    fn history_of(&self, id: &SessionId) -> Vec<WithParts> {
        let is_first = self.sessions.first().is_none_or(|s| s.id == *id);
        let is_others = |m: &WithParts| self.sessions.iter().skip(1).any(|s| s.id == *m.info.session());
        let belongs = |m: &&WithParts| if is_first { !is_others(m) } else { m.info.session() == id };
        self.history.iter().filter(belongs).cloned().collect()
    }

    fn letter(&mut self, session: &SessionId, letter: Letter) -> LetterId {
        let id = LetterId(self.letters.len() as i64 + 1);
        self.letters.push((Waiting { id, session_id: session.clone(), letter }, false));
        id
    }

    fn put(&mut self, change: Change) {
        match change {
            Change::Session(session) => match self.sessions.iter_mut().find(|s| s.id == session.id) {
                Some(found) => *found = session,
                None => self.sessions.push(session),
            },
            Change::Message(info) => match self.history.iter_mut().find(|m| m.info.id() == info.id()) {
                Some(found) => found.info = info,
                None => self.history.push(WithParts { info, parts: vec![] }),
            },
            Change::Part(part) => self.put_part(part),
            Change::Delivered(id) => self.letters.retain(|(w, _)| w.id != id),
        }
    }

    fn put_part(&mut self, part: Part) {
        let message = self.history.iter_mut().find(|m| *m.info.id() == part.message_id);
        let parts = &mut message.expect("a part has a message").parts;
        match parts.iter_mut().find(|p| p.id == part.id) {
            Some(found) => *found = part,
            None => parts.push(part),
        }
    }
}

/// A session that is worked on.
struct Held(Arc<Mutex<Vec<SessionId>>>, SessionId);
impl Claim for Held {}
impl Drop for Held {
    fn drop(&mut self) {
        self.0.lock().unwrap().retain(|id| *id != self.1);
    }
}

#[async_trait]
impl Store for Memory {
    async fn session(&self, id: &SessionId) -> Result<Session, StoreError> {
        let inner = self.inner.lock().unwrap();
        inner.sessions.iter().find(|s| s.id == *id).cloned().ok_or_else(|| StoreError::NoSession(id.clone()))
    }
    async fn sessions(&self, _: Kin, _: usize) -> Result<Vec<SessionSummary>, StoreError> {
        Ok(vec![])
    }
    async fn latest(&self, _: &Path) -> Result<Option<Session>, StoreError> {
        Ok(self.now().0)
    }
    async fn delete(&self, _: &SessionId) -> Result<(), StoreError> {
        Ok(())
    }
    async fn history(&self, id: &SessionId) -> Result<Vec<WithParts>, StoreError> {
        let mut inner = self.inner.lock().unwrap();
        inner.loads += 1;
        Ok(inner.history_of(id))
    }
    async fn apply(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        // What stands in the log at a time is durable at that time.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let mut inner = self.inner.lock().unwrap();
        inner.log.push((Instant::now(), changes.clone()));
        if inner.broken == Some(inner.log.len()) {
            return Err(StoreError::Full { path: "/ledger".into() });
        }
        changes.into_iter().for_each(|c| inner.put(c));
        Ok(())
    }
    async fn claim(&self, id: &SessionId) -> Result<Box<dyn Claim>, StoreError> {
        let mut held = self.held.lock().unwrap();
        if held.contains(id) {
            return Err(StoreError::Busy { id: id.clone(), pid: 1 });
        }
        held.push(id.clone());
        Ok(Box::new(Held(self.held.clone(), id.clone())))
    }
    async fn approvals(&self, _: &Path) -> Result<Vec<Rule>, StoreError> {
        Ok(vec![])
    }
    async fn approve(&self, _: &Path, rules: &[Rule]) -> Result<(), StoreError> {
        self.inner.lock().unwrap().approved.extend_from_slice(rules);
        Ok(())
    }
    async fn unfinished(&self, _: &SessionId) -> Result<Vec<Session>, StoreError> {
        use model::message::Message;
        let is_open = |m: &WithParts| matches!(&m.info, Message::Assistant(a) if a.time.completed.is_none());
        let open = |(s, h): (Session, Vec<WithParts>)| h.iter().any(is_open).then_some(s);
        Ok(self.children().into_iter().filter_map(open).collect())
    }
    async fn keep_output(&self, text: &str) -> Result<PathBuf, StoreError> {
        let mut inner = self.inner.lock().unwrap();
        inner.outputs.push(text.to_owned());
        Ok(PathBuf::from(format!("/outputs/{}", inner.outputs.len())))
    }
}

#[async_trait]
impl Inbox for Memory {
    async fn put(&self, session: &SessionId, letter: Letter) -> Result<LetterId, StoreError> {
        Ok(self.inner.lock().unwrap().letter(session, letter))
    }
    async fn waiting(&self, session: &SessionId) -> Result<Vec<Waiting>, StoreError> {
        let inner = self.inner.lock().unwrap();
        let waits = |(w, taken): &&(Waiting, bool)| !taken && w.session_id == *session;
        Ok(inner.letters.iter().filter(waits).map(|(w, _)| w.clone()).collect())
    }
    async fn take(&self, session: &SessionId, kind: Delivery) -> Result<Vec<Waiting>, StoreError> {
        let mut inner = self.inner.lock().unwrap();
        let fits = |(w, taken): &&mut (Waiting, bool)| !*taken && w.session_id == *session && w.letter.delivery == kind;
        let most = if kind == Delivery::Queue { 1 } else { usize::MAX };
        let taken = inner.letters.iter_mut().filter(fits).take(most);
        Ok(taken.map(|(w, taken)| (*taken = true, w.clone()).1).collect())
    }
    async fn put_back(&self, session: &SessionId) -> Result<(), StoreError> {
        let mut inner = self.inner.lock().unwrap();
        inner.letters.iter_mut().filter(|(w, _)| w.session_id == *session).for_each(|(_, taken)| *taken = false);
        Ok(())
    }
    async fn withdraw(&self, _: &SessionId, _: LetterId) -> Result<bool, StoreError> {
        Ok(false)
    }
    async fn rewrite(&self, _: &SessionId, _: LetterId, _: String) -> Result<bool, StoreError> {
        Ok(false)
    }
}
