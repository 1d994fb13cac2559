//! The store of a codec: pure, so it needs no state but its bounds, and runs without suspension.

use crate::bounds::{Bounds, Cap};
use crate::engine::{Running, TICK};
use crate::fault::Fault;
use crate::share::Pool;
use crate::v0_1::{Codec, CodecStore, Live};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use wasmtime::{Store, UpdateDeadline};

const BOUNDS: Bounds = Bounds {
    memory: 256 << 20,
    cpu: Duration::from_secs(2),
    wall: Duration::from_secs(2),
    output: 32 << 20,
    ..Bounds::TOOL
};

pub struct CodecState {
    cap: Cap,
    /// Epochs since the host last called in.
    epochs: u32,
    cancel: CancellationToken,
}

/// One instance of a codec with its store. Dropped, never used again, after a fault.
pub struct Session {
    store: CodecStore,
    live: Live,
    /// None while it rests.
    running: Option<Running>,
}

impl Session {
    /// # Errors
    /// A start function that fails.
    pub fn new(
        codec: &Codec,
        running: Running,
        pool: Option<Arc<Pool>>,
        cancel: CancellationToken,
    ) -> Result<Self, Fault> {
        let cap = Cap::new(BOUNDS.memory, pool);
        let mut store = Store::new(codec.engine(), CodecState { cap, epochs: 0, cancel });
        store.limiter(|state| &mut state.cap);
        store.set_hostcall_fuel(BOUNDS.output);
        store.set_epoch_deadline(1);
        // A codec never waits, so epochs that pass inside one call are computing time. Cancelling must not wait for it either.
        store.epoch_deadline_callback(|mut context| {
            let state = context.data_mut();
            state.epochs += 1;
            let over = TICK * state.epochs > BOUNDS.cpu || state.cancel.is_cancelled();
            Ok(if over { UpdateDeadline::Interrupt } else { UpdateDeadline::Continue(1) })
        });
        match codec.instantiate(&mut store) {
            Ok(live) => Ok(Self { store, live, running: Some(running) }),
            Err(error) => Err(fault(&store, &error)),
        }
    }

    /// Nothing is called until [`wake`](Self::wake).
    pub fn rest(&mut self) {
        self.running = None;
    }

    /// Goes on for another request, which is cancelled by a token of its own.
    pub fn wake(&mut self, running: Running, cancel: CancellationToken) {
        self.running = Some(running);
        self.store.data_mut().cancel = cancel;
    }

    /// Calls into the codec. After a fault the session must not be used again.
    ///
    /// # Errors
    /// The [`Fault`] of a codec that traps, loops or floods.
    pub fn call<T>(&mut self, act: impl FnOnce(&mut Live, &mut CodecStore) -> wasmtime::Result<T>) -> Result<T, Fault> {
        self.store.data_mut().epochs = 0;
        act(&mut self.live, &mut self.store).map_err(|error| fault(&self.store, &error))
    }
}

fn fault(store: &CodecStore, error: &wasmtime::Error) -> Fault {
    tracing::debug!(?error, "a codec failed");
    let state = store.data();
    if state.cancel.is_cancelled() {
        return Fault::Cancelled;
    }
    Fault::short(&state.cap, &BOUNDS).unwrap_or_else(|| Fault::raised(error, String::new(), &BOUNDS))
}
