//! The children of one session while they work.

use super::Kin;
use crate::cancel::Stopper;
use crate::error::AgentError;
use crate::places::Places;
use crate::run::{Job, Ports, run_as};
use model::event::RunOutcome;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long the end of a run waits at most for children to write down theirs. They have been cancelled and have nothing else to do:
/// only a slow disk makes this take longer than the call that was cancelled with them.
const GRACE: Duration = Duration::from_secs(2);

/// Runs children, at most so many at one time, and outlives none of them.
pub(crate) struct Nursery {
    /// The parent's own place.
    pub kin: Kin,
    /// Children in the background end with the run, not with the call that started them.
    cancel: CancellationToken,
    slots: Arc<Semaphore>,
    tasks: Mutex<JoinSet<()>>,
    background: AtomicUsize,
    ended: Notify,
}

/// A child that is ready to work.
pub(super) struct Child {
    pub job: Job,
    pub ports: Ports,
    pub places: Arc<dyn Places>,
    pub kin: Kin,
}

impl Nursery {
    pub(crate) fn new(kin: Kin, stopper: &Stopper) -> Arc<Self> {
        Arc::new(Self {
            cancel: stopper.child(),
            slots: Arc::new(Semaphore::new(kin.at_once())),
            kin,
            tasks: Mutex::default(),
            background: AtomicUsize::new(0),
            ended: Notify::new(),
        })
    }

    fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A token for a child in the background.
    pub(super) fn token(&self) -> CancellationToken {
        self.cancel.child_token()
    }

    /// Spawns work that the end of the run waits for.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks();
        // Those that have ended are let go.
        while tasks.try_join_next().is_some() {}
        tasks.spawn(work);
    }

    /// Runs a child to its end, when its turn comes. It is a task of its own: whoever stops waiting cancels it, and it still
    /// closes its session. `None` = cancelled before it began.
    pub(super) async fn raise(
        &self,
        child: Child,
        cancel: CancellationToken,
    ) -> Option<Result<RunOutcome, AgentError>> {
        let guard = cancel.clone().drop_guard();
        let slot = self.slot(&cancel).await?;
        let (tell, told) = oneshot::channel();
        self.spawn(async move {
            let Child { job, ports, places, kin } = child;
            let outcome = run_as(job, &ports, places, cancel, kin).await;
            drop(slot);
            // Nobody may be waiting any more.
            let _ = tell.send(outcome);
        });
        let outcome = told.await.ok();
        guard.disarm();
        outcome
    }

    async fn slot(&self, cancel: &CancellationToken) -> Option<OwnedSemaphorePermit> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            slot = self.slots.clone().acquire_owned() => slot.ok(),
        }
    }

    pub(super) fn begins_background(&self) {
        self.background.fetch_add(1, Ordering::SeqCst);
    }

    /// To be told after what the child came to lies in its parent's inbox.
    pub(super) fn ends_background(&self) {
        self.background.fetch_sub(1, Ordering::SeqCst);
        self.ended.notify_one();
    }

    /// Whether children still work in the background.
    pub(crate) fn is_busy(&self) -> bool {
        self.background.load(Ordering::SeqCst) > 0
    }

    /// Resolves when one of them ends; may be dropped and asked again.
    pub(crate) async fn news(&self) {
        self.ended.notified().await;
    }

    /// The run is over: ends all children that are left, and waits a moment for them to close their sessions.
    pub(crate) async fn close(&self) {
        self.cancel.cancel();
        let deadline = Instant::now() + GRACE;
        let mut tasks = std::mem::take(&mut *self.tasks());
        while let Ok(Some(_)) = tokio::time::timeout_at(deadline, tasks.join_next()).await {}
    }
}
