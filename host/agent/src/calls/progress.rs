//! What running calls tell of themselves: the newest word of each, passed on at most every [`BEAT`].

use model::id::PartId;
use model::tool::{Progress, ProgressSink};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

const BEAT: Duration = Duration::from_millis(100);

/// Shared by the calls of a step; holds at most one word for each.
#[derive(Default)]
pub(crate) struct Board {
    words: Mutex<Vec<(PartId, Progress)>>,
    news: Notify,
}

impl Board {
    fn words(&self) -> std::sync::MutexGuard<'_, Vec<(PartId, Progress)>> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, part: &PartId, word: Progress) {
        let mut words = self.words();
        match words.iter_mut().find(|(p, _)| p == part) {
            // What the newer word leaves out, the older one still says.
            Some((_, last)) => {
                last.title = word.title.or(last.title.take());
                last.metadata = word.metadata.or(last.metadata.take());
            }
            None => words.push((part.clone(), word)),
        }
        drop(words);
        self.news.notify_one();
    }

    /// All that is new, not sooner than a beat after `last`. May be dropped and asked again.
    pub(crate) async fn next(&self, last: Option<Instant>) -> Vec<(PartId, Progress)> {
        while self.words().is_empty() {
            self.news.notified().await;
        }
        if let Some(last) = last {
            tokio::time::sleep_until(last + BEAT).await;
        }
        std::mem::take(&mut *self.words())
    }
}

/// The place where one call puts its words.
pub(crate) struct Pen {
    pub board: Arc<Board>,
    pub part: PartId,
}

impl ProgressSink for Pen {
    fn update(&self, progress: Progress) {
        self.board.put(&self.part, progress);
    }
}
