//! Who may work at once, and on which engine. Few calls work; thousands more may wait for a person's answer, each holding the memory
//! that it touched and nothing else.

use crate::engine::EngineKind;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Calls that can be under way at once beyond those for which room was made beforehand.
const CROWD: usize = 5000;

/// All seats of a machine.
pub struct Seats {
    working: Arc<Semaphore>,
    pool: Arc<Semaphore>,
    crowd: Arc<Semaphore>,
}

impl Seats {
    /// So many work at once, and have room that was made beforehand.
    pub fn new(places: usize) -> Self {
        let semaphore = |n| Arc::new(Semaphore::new(n));
        Self { working: semaphore(places), pool: semaphore(places), crowd: semaphore(CROWD) }
    }

    /// A seat for one call, whose owner has given it a turn; waits for one. Room that was made beforehand comes first.
    pub async fn take(&self, own: Turn) -> Seat {
        let machines = Turn::take(&self.working).await;
        let (kind, room) = match Arc::clone(&self.pool).try_acquire_owned() {
            Ok(room) => (EngineKind::Acting, Some(room)),
            Err(_) => (EngineKind::Crowd, Turn::take(&self.crowd).await.held),
        };
        Seat { kind, turns: Mutex::new(Some([own, machines])), _room: room }
    }
}

/// A place among those that may work at once.
pub struct Turn {
    among: Arc<Semaphore>,
    held: Option<OwnedSemaphorePermit>,
}

impl Turn {
    pub async fn take(among: &Arc<Semaphore>) -> Self {
        // None of them is ever closed.
        Self { among: Arc::clone(among), held: Arc::clone(among).acquire_owned().await.ok() }
    }
}

/// Held by a call until it ends.
pub struct Seat {
    /// Where its instance is.
    pub kind: EngineKind,
    /// Of its owner and of the machine; `None` while it waits.
    turns: Mutex<Option<[Turn; 2]>>,
    _room: Option<OwnedSemaphorePermit>,
}

impl Seat {
    /// Waits for something that others bring about. Whoever works meanwhile does so in place of this call.
    pub async fn aside<T>(&self, wait: impl Future<Output = T>) -> T {
        let mut wait = std::pin::pin!(wait);
        if let Poll::Ready(done) = futures::poll!(wait.as_mut()) {
            return done;
        }
        let given_up = self.turns.lock().unwrap_or_else(PoisonError::into_inner).take();
        let among = given_up.map(|turns| turns.map(|turn| turn.among));
        let done = wait.await;
        if let Some([own, machines]) = among {
            // In the order in which everybody takes them.
            let turns = [Turn::take(&own).await, Turn::take(&machines).await];
            *self.turns.lock().unwrap_or_else(PoisonError::into_inner) = Some(turns);
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use std::future::{pending, ready};

    #[tokio::test]
    async fn whoever_waits_lets_others_work() {
        let (seats, owner) = (Seats::new(3), Arc::new(Semaphore::new(3)));
        let take = || async { seats.take(Turn::take(&owner).await).await };
        let all = [take().await, take().await, take().await];
        assert!(all.iter().all(|s| s.kind == EngineKind::Acting));
        assert!(take().now_or_never().is_none(), "all work");
        assert_eq!(all[0].aside(ready(7)).await, 7);
        assert!(take().now_or_never().is_none(), "what is there at once is no wait");
        let mut waits = Box::pin(all[0].aside(pending::<()>()));
        assert!(waits.as_mut().now_or_never().is_none());
        let more = take().now_or_never().unwrap();
        assert_eq!(more.kind, EngineKind::Crowd, "the one that waits keeps its room");
        assert!(take().now_or_never().is_none(), "all work again");
        let (answer, answered) = tokio::sync::oneshot::channel();
        let mut asks = Box::pin(all[1].aside(answered));
        assert!(asks.as_mut().now_or_never().is_none());
        let taken = take().now_or_never().unwrap();
        answer.send(()).unwrap();
        assert!(asks.as_mut().now_or_never().is_none(), "it waits for its turn");
        drop(taken);
        assert_eq!(asks.as_mut().now_or_never(), Some(Ok(())));
    }
}
