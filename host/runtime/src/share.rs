//! What the components of one owner may use at once, all of them together: places and memory. Who asks for more waits a while, and is
//! then refused in words that say which bound it was.

use crate::engine::EngineKind;
use crate::seats::{Seat, Seats, Turn};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore};
use tokio::time::timeout;

/// Bounds for one owner. Whoever opens the [`Runtime`](crate::Runtime) sets them: they protect the machine, and other owners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Calls of tools that work at once. Those that wait for an answer of the person are bounded by their memory.
    pub instances: usize,
    /// Bytes of linear memory of everything that runs, rests or waits. Hooks are not counted: a full account must not switch a guard or a
    /// redactor off, and they have few places and small bounds of their own.
    pub memory: usize,
    /// How long a call waits for a place before it is refused.
    pub wait: Duration,
}

impl Default for Share {
    fn default() -> Self {
        Self { instances: EngineKind::Acting.slots().into(), memory: 4 << 30, wait: Duration::from_secs(600) }
    }
}

/// Which bound a call waited for in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crowd {
    /// Calls of this owner.
    Instances(Share),
    /// Memory of this owner's components.
    Memory(Share),
    /// Places of the machine, for all owners.
    Machine(Share),
}

impl fmt::Display for Crowd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let raise = |key| format!("`{key}` under `[components]` of the config raises that");
        match self {
            Self::Instances(s) => {
                write!(f, "{} calls run already and none ended within {:?}; {}", s.instances, s.wait, raise("at_once"))
            }
            Self::Memory(s) => write!(
                f,
                "the components that run already use the {} MiB that all together may have, and none ended within {:?}; {}",
                s.memory >> 20,
                s.wait,
                raise("memory")
            ),
            Self::Machine(s) => {
                write!(f, "too many components of all owners ran at once for {:?}; try again later", s.wait)
            }
        }
    }
}

/// One owner's account.
pub struct Tenant {
    share: Share,
    places: Arc<Semaphore>,
    pool: Arc<Pool>,
}

impl Tenant {
    pub fn new(share: Share) -> Self {
        Self { share, places: Arc::new(Semaphore::new(share.instances)), pool: Pool::new(share.memory) }
    }

    /// Where the memory of each of its instances is counted.
    pub fn pool(&self) -> Arc<Pool> {
        Arc::clone(&self.pool)
    }

    /// A place for one more call, on one of the machine's `seats`; waits for it. What the owner may have is looked at first: nobody
    /// holds a place of the machine while they wait for their own calls to end.
    ///
    /// # Errors
    /// What was not to be had in time.
    pub async fn admit(&self, seats: &Seats) -> Result<Seat, Crowd> {
        let mut lacks = Crowd::Instances(self.share);
        let admitted = timeout(self.share.wait, async {
            let own = Turn::take(&self.places).await;
            lacks = Crowd::Memory(self.share);
            self.pool.room().await;
            lacks = Crowd::Machine(self.share);
            seats.take(own).await
        });
        admitted.await.map_err(|_| lacks)
    }
}

/// Memory in use of one owner's instances, as it really is: what is reserved for them costs nothing.
#[derive(Debug)]
pub struct Pool {
    max: usize,
    used: AtomicUsize,
    freed: Notify,
}

impl Pool {
    pub fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, used: AtomicUsize::new(0), freed: Notify::new() })
    }

    /// Bytes that all together may have.
    pub fn max(&self) -> usize {
        self.max
    }

    /// Takes all of it or nothing.
    pub fn take(&self, bytes: usize) -> bool {
        let more = |used: usize| used.checked_add(bytes).filter(|all| *all <= self.max);
        self.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_ok()
    }

    pub fn give(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::AcqRel);
        self.freed.notify_waiters();
    }

    /// Ends once anything at all is free.
    async fn room(&self) {
        loop {
            let freed = self.freed.notified();
            if self.used.load(Ordering::Acquire) < self.max {
                return;
            }
            freed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(instances: usize, memory: usize) -> Tenant {
        Tenant::new(Share { instances, memory, wait: Duration::from_millis(20) })
    }

    #[tokio::test]
    async fn who_finds_no_place_is_told_which_one() {
        let machine = Seats::new(2);
        let (ann, bob, eve) = (tenant(1, 10), tenant(5, 10), tenant(5, 10));
        let held = ann.admit(&machine).await.ok();
        assert!(held.is_some());
        assert!(matches!(ann.admit(&machine).await, Err(Crowd::Instances(s)) if s.instances == 1));
        assert!(eve.pool.take(10));
        assert!(matches!(eve.admit(&machine).await, Err(Crowd::Memory(s)) if s.memory == 10));
        let other = bob.admit(&machine).await.ok();
        assert!(other.is_some(), "one owner's crowd is not another's");
        assert!(matches!(bob.admit(&machine).await, Err(Crowd::Machine(_))));
        drop(held);
        assert!(ann.admit(&machine).await.is_ok());
    }

    #[tokio::test]
    async fn memory_that_is_given_back_lets_the_next_one_in() {
        let (machine, ann) = (Seats::new(2), Tenant::new(Share { memory: 10, ..Share::default() }));
        assert!(ann.pool.take(10) && !ann.pool.take(1));
        let pool = ann.pool();
        let giver = tokio::spawn(async move {
            tokio::task::yield_now().await;
            pool.give(4);
        });
        assert!(ann.admit(&machine).await.is_ok());
        giver.await.unwrap();
        assert!(ann.pool.take(4) && !ann.pool.take(1));
    }
}
