//! A fresh instance for each call, bounded in memory, computing and time. After its call the store is dropped, whatever happened.

use crate::bounds::{Bounds, Meter, Metered};
use crate::caps::Funnel;
use crate::engine::{Running, TICK};
use crate::fault::{CpuSpent, Fault};
use crate::state::{CallState, Setup};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use wasmtime::{Engine, Store, UpdateDeadline};

/// Bytes that one host call may lift out of the guest, beside the result itself.
const LIFT: usize = 4 << 20;

/// One call under way.
pub struct Call {
    pub store: Store<CallState>,
    pub bounds: Bounds,
    meter: Arc<Meter>,
    _running: Running,
}

impl Call {
    pub fn new(engine: &Engine, setup: Setup, running: Running) -> Self {
        let (bounds, meter) = (setup.bounds, Arc::new(Meter::default()));
        let mut store = Store::new(engine, CallState::new(setup, engine));
        store.limiter(|state| &mut state.cap);
        store.set_hostcall_fuel(bounds.output + crate::bounds::ATTACHMENTS + LIFT);
        store.set_epoch_deadline(1);
        let watched = Arc::clone(&meter);
        store.epoch_deadline_callback(move |context| match context.data().calls.stop() {
            Some(stop) => Err(stop.into()),
            None if watched.spent() > bounds.cpu => Err(CpuSpent.into()),
            // Given way so, sockets and timers get their turn; a mere yield would be polled again before them, sixty times over.
            None => Ok(UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now()))),
        });
        Self { store, bounds, meter, _running: running }
    }

    /// Runs `body` on the store, to its end or to a bound.
    ///
    /// # Errors
    /// The [`Fault`]. Nothing may be run on this store afterwards.
    pub async fn run<T>(
        &mut self,
        cancel: &CancellationToken,
        body: impl AsyncFnOnce(&mut Store<CallState>) -> wasmtime::Result<T>,
    ) -> Result<T, Fault> {
        let funnel = Arc::clone(&self.store.data().funnel);
        let ended = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Fault::Cancelled),
            returned = Metered::new(body(&mut self.store), Arc::clone(&self.meter)) => returned,
            () = over(self.bounds.wall, &funnel) => return Err(Fault::Wall(self.bounds)),
        };
        ended.map_err(|error| Fault::of(&error, self.store.data(), &self.bounds))
    }
}

/// Ends when the call has had its time, questions to the person not counted.
async fn over(wall: Duration, funnel: &Funnel) {
    let begun = Instant::now();
    loop {
        let until = begun + wall + funnel.asked();
        if until <= Instant::now() {
            return;
        }
        // While a question is open, `until` moves on with the clock.
        tokio::time::sleep_until(until.max(Instant::now() + TICK)).await;
    }
}
