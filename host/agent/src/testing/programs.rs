//! Programs in the background that do as they are told.

use async_trait::async_trait;
use model::background::{Background, End, Ended, Glance};
use model::id::SessionId;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

#[derive(Default)]
pub(crate) struct Programs {
    /// What each shows when it is looked at.
    pub shows: BTreeMap<String, Glance>,
    /// Taken once.
    pub ended: Mutex<Vec<Ended>>,
    /// What was asked of them, in order.
    pub seen: Mutex<Vec<String>>,
}

pub(crate) fn glance(output: &[u8], end: Option<End>) -> Glance {
    let age = Duration::from_secs(3);
    Glance { line: "serve".into(), output: output.into(), dropped: 0, kept: None, age, end }
}

impl Programs {
    fn show(&self, what: &str, id: &str) -> Option<Glance> {
        self.seen.lock().unwrap().push(format!("{what} {id}"));
        self.shows.get(id).cloned()
    }
}

#[async_trait]
impl Background for Programs {
    async fn look(&self, _: &SessionId, id: &str, wait: Duration) -> Option<Glance> {
        tokio::time::sleep(wait).await;
        self.show("look", id)
    }

    async fn stop(&self, _: &SessionId, id: &str) -> Option<Glance> {
        self.show("stop", id)
    }

    fn list(&self, _: &SessionId) -> Vec<(String, String)> {
        self.shows.iter().map(|(id, g)| (id.clone(), g.line.clone())).collect()
    }

    fn ended(&self, _: &SessionId) -> Vec<Ended> {
        std::mem::take(&mut *self.ended.lock().unwrap())
    }

    async fn close(&self, _: &SessionId) {
        self.seen.lock().unwrap().push("close".into());
    }
}
