//! Events for the hooks that observe, on their way to whoever shows them.

use model::event::{Event, EventSink};
use model::hook::Hooks;
use std::sync::Arc;

/// A sink that tells the hooks first. They cannot hold an event back.
pub struct Observed {
    hooks: Arc<dyn Hooks>,
    sink: Arc<dyn EventSink>,
}

impl Observed {
    #[must_use]
    pub fn new(hooks: Arc<dyn Hooks>, sink: Arc<dyn EventSink>) -> Arc<Self> {
        Arc::new(Self { hooks, sink })
    }
}

impl EventSink for Observed {
    fn emit(&self, event: Event) {
        self.hooks.event(&event);
        self.sink.emit(event);
    }
}
