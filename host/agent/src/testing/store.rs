//! A ledger in memory that notes when each transaction landed. Each takes a millisecond.

use async_trait::async_trait;
use model::id::SessionId;
use model::message::{Part, WithParts};
use model::permission::Rule;
use model::session::{Session, SessionSummary};
use model::store::{Change, Claim, Store, StoreError};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;
use tokio::time::Instant;

#[derive(Default)]
pub(crate) struct Memory {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    session: Option<Session>,
    history: Vec<WithParts>,
    log: Vec<(Instant, Vec<Change>)>,
    outputs: Vec<String>,
    loads: usize,
    /// The number of the transaction that fails, from 1.
    broken: Option<usize>,
}

impl Memory {
    pub(crate) fn with(session: Session, history: Vec<WithParts>) -> Self {
        Self { inner: Mutex::new(Inner { session: Some(session), history, ..Inner::default() }) }
    }

    pub(crate) fn break_at(&self, number: usize) {
        self.inner.lock().unwrap().broken = Some(number);
    }

    pub(crate) fn now(&self) -> (Option<Session>, Vec<WithParts>) {
        let inner = self.inner.lock().unwrap();
        (inner.session.clone(), inner.history.clone())
    }

    pub(crate) fn log(&self) -> Vec<(Instant, Vec<Change>)> {
        self.inner.lock().unwrap().log.clone()
    }

    pub(crate) fn loads(&self) -> usize {
        self.inner.lock().unwrap().loads
    }

    pub(crate) fn outputs(&self) -> Vec<String> {
        self.inner.lock().unwrap().outputs.clone()
    }
}

impl Inner {
    fn put(&mut self, change: Change) {
        match change {
            Change::Session(session) => self.session = Some(session),
            Change::Message(info) => match self.history.iter_mut().find(|m| m.info.id() == info.id()) {
                Some(found) => found.info = info,
                None => self.history.push(WithParts { info, parts: vec![] }),
            },
            Change::Part(part) => self.put_part(part),
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

struct Held;
impl Claim for Held {}

#[async_trait]
impl Store for Memory {
    async fn session(&self, id: &SessionId) -> Result<Session, StoreError> {
        self.now().0.ok_or_else(|| StoreError::NoSession(id.clone()))
    }
    async fn sessions(&self, _: usize) -> Result<Vec<SessionSummary>, StoreError> {
        Ok(vec![])
    }
    async fn latest(&self, _: &Path) -> Result<Option<Session>, StoreError> {
        Ok(self.now().0)
    }
    async fn delete(&self, _: &SessionId) -> Result<(), StoreError> {
        Ok(())
    }
    async fn history(&self, _: &SessionId) -> Result<Vec<WithParts>, StoreError> {
        self.inner.lock().unwrap().loads += 1;
        Ok(self.now().1)
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
    async fn claim(&self, _: &SessionId) -> Result<Box<dyn Claim>, StoreError> {
        Ok(Box::new(Held))
    }
    async fn approvals(&self, _: &Path) -> Result<Vec<Rule>, StoreError> {
        Ok(vec![])
    }
    async fn approve(&self, _: &Path, _: &[Rule]) -> Result<(), StoreError> {
        Ok(())
    }
    async fn keep_output(&self, text: &str) -> Result<PathBuf, StoreError> {
        let mut inner = self.inner.lock().unwrap();
        inner.outputs.push(text.to_owned());
        Ok(PathBuf::from(format!("/outputs/{}", inner.outputs.len())))
    }
}
