//! How often a guest may ask something of the host in one call.
//!
//! A host function fetches its state before it does anything, and there it is counted. A count cannot fail, so one that is over lets an
//! epoch pass: the guest is stopped where it next looks at the clock, which it does in every loop and every function.

use crate::leave::Lease;
use wasmtime::Engine;

/// Why a guest is to be stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    #[error("more host calls than one call may make")]
    Calls,
    #[error("the component's rights were changed")]
    Lapsed,
}

/// One a call.
pub struct HostCalls {
    max: u64,
    made: u64,
    stop: Option<Stop>,
    lease: Option<Lease>,
    engine: Engine,
}

impl HostCalls {
    pub fn new(max: u64, lease: Option<Lease>, engine: &Engine) -> Self {
        Self { max, made: 0, stop: None, lease, engine: engine.clone() }
    }

    pub fn count(&mut self) {
        self.made += 1;
        if self.stop.is_some() {
            return;
        }
        // Rights that were taken back end at the next host call, whatever it is: only installed components have a lease to look at.
        let is_lapsed = || self.lease.as_ref().is_some_and(|lease| !lease.holds());
        self.stop = if self.made > self.max { Some(Stop::Calls) } else { is_lapsed().then_some(Stop::Lapsed) };
        if self.stop.is_some() {
            self.engine.increment_epoch();
        }
    }

    pub fn stop(&self) -> Option<Stop> {
        self.stop
    }
}
