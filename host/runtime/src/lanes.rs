//! Where calls compute. One that is alone does so on the thread of whoever makes it, in turns of an epoch: what it has to say to the
//! loop then costs no switch of threads. Those beside another get threads of their own, as many as there are cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::{JoinError, JoinHandle};

#[derive(Default)]
pub struct Lanes {
    busy: Arc<AtomicUsize>,
    /// Made when two calls are under way for the first time. `None` inside: there are no further threads to be had.
    beside: OnceLock<Option<Runtime>>,
}

impl Lanes {
    /// Does `work` as a task of its own.
    ///
    /// # Errors
    /// When it panicked.
    pub async fn run<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Result<T, JoinError> {
        let is_alone = self.busy.fetch_add(1, Ordering::AcqRel) == 0;
        // It leaves with the work, not with whoever waits for it: work that was given up still has its end to come to.
        let leave = Leave(Arc::clone(&self.busy));
        let work = async move {
            let _leave = leave;
            work.await
        };
        let task = if is_alone { tokio::spawn(work) } else { self.spawn_beside(work) };
        task.await
    }

    fn spawn_beside<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        match self.beside.get_or_init(threads) {
            Some(runtime) => runtime.spawn(work),
            None => Handle::current().spawn(work),
        }
    }
}

fn threads() -> Option<Runtime> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let made = Builder::new_multi_thread().worker_threads(cores).thread_name("calls").enable_all().build();
    made.inspect_err(|error| tracing::warn!(%error, "no threads for calls beside each other; they take turns")).ok()
}

impl Drop for Lanes {
    /// In the background: it may be dropped where nothing may block.
    fn drop(&mut self) {
        if let Some(runtime) = self.beside.take().flatten() {
            runtime.shutdown_background();
        }
    }
}

struct Leave(Arc<AtomicUsize>);

impl Drop for Leave {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    fn here() -> std::thread::ThreadId {
        std::thread::current().id()
    }

    #[tokio::test]
    async fn a_call_alone_stays_on_the_thread_of_its_caller() {
        let lanes = Lanes::default();
        for _ in 0..3 {
            assert_eq!(lanes.run(async { here() }).await.unwrap(), here());
        }
        assert!(lanes.beside.get().is_none(), "no thread was made");
    }

    #[tokio::test]
    async fn calls_beside_each_other_compute_at_once() {
        // Each blocks its thread until the other has come: on one thread they would wait for ever.
        let (lanes, both) = (Lanes::default(), Arc::new(Barrier::new(2)));
        if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
            return;
        }
        let hold = lanes.run(std::future::pending::<()>());
        let meet = || {
            let both = Arc::clone(&both);
            lanes.run(async move { both.wait().is_leader() })
        };
        let met = async { tokio::join!(meet(), meet()) };
        tokio::pin!(hold, met);
        let (a, b) = tokio::select! {
            biased;
            _ = &mut hold => unreachable!("it never ends"),
            met = &mut met => met,
        };
        assert!(a.unwrap() ^ b.unwrap());
    }

    #[tokio::test]
    async fn work_that_was_given_up_keeps_its_lane_to_its_end() {
        let (lanes, (end, ended)) = (Lanes::default(), tokio::sync::oneshot::channel::<()>());
        {
            let given_up = lanes.run(ended);
            tokio::pin!(given_up);
            assert!(futures::poll!(&mut given_up).is_pending());
        }
        assert_eq!(lanes.busy.load(Ordering::Acquire), 1);
        end.send(()).unwrap();
        while lanes.busy.load(Ordering::Acquire) > 0 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_call_that_panics_is_an_error_and_leaves_its_lane() {
        let lanes = Lanes::default();
        assert!(lanes.run(async { panic!("on purpose") }).await.unwrap_err().is_panic());
        assert_eq!(lanes.busy.load(Ordering::Acquire), 0);
    }
}
