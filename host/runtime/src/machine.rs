//! What all owners of a process share: the engines, the clock of their deadlines, the threads of calls, and the places in their
//! pools. Nothing of anybody's lies here, and no owner gets more of it than their share.

use crate::engine::{EngineKind, Engines, Running};
use crate::error::RuntimeError;
use crate::lanes::Lanes;
use crate::seats::Seats;
use std::sync::Arc;
use tokio::sync::Semaphore;
use wasmtime::Engine;

/// Places that hooks have for themselves. They wait for nobody, so a call that waits for its hook gets one.
const HOOKS: u16 = 8;

/// One a process. Every [`Runtime`](crate::Runtime) that is opened on it works for one owner.
pub struct Machine {
    engines: Engines,
    pub(crate) lanes: Lanes,
    pub(crate) seats: Seats,
    pub(crate) hooks: Arc<Semaphore>,
    pub(crate) codecs: Arc<Semaphore>,
    /// For codecs that rest between two steps.
    pub(crate) resting: Arc<Semaphore>,
}

impl Machine {
    /// Engines are made when the first component needs one.
    #[must_use]
    pub fn new() -> Arc<Self> {
        let places = |n: u16| Arc::new(Semaphore::new(n.into()));
        Arc::new(Self {
            engines: Engines::default(),
            lanes: Lanes::default(),
            seats: Seats::new((EngineKind::Acting.slots() - HOOKS).into()),
            hooks: places(HOOKS),
            codecs: places(EngineKind::Codec.slots()),
            resting: places(EngineKind::Codec.resting()),
        })
    }

    pub(crate) fn engine(&self, kind: EngineKind) -> Result<Engine, RuntimeError> {
        self.engines.get(kind)
    }

    /// Held while guests run.
    pub(crate) fn running(&self) -> Running {
        self.engines.running()
    }
}
