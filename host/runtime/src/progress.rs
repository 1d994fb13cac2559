//! What a call reports of itself while it runs, up to a budget: what is beyond it is not passed on.

use model::tool::{Progress, ProgressSink};
use std::sync::Arc;

/// One a call.
pub struct Reporter {
    sink: Arc<dyn ProgressSink>,
    left: usize,
    dropped: usize,
}

impl Reporter {
    /// With room for so many bytes.
    #[must_use]
    pub fn new(sink: Arc<dyn ProgressSink>, budget: usize) -> Self {
        Self { sink, left: budget, dropped: 0 }
    }

    /// Passes a report of so many bytes on.
    pub fn tell(&mut self, bytes: usize, progress: Progress) {
        // Each counts for something: a million empty ones are a flood too.
        let cost = bytes.max(64);
        if cost > self.left {
            self.dropped += cost;
            return;
        }
        self.left -= cost;
        self.sink.update(progress);
    }

    /// Bytes that had no room.
    #[must_use]
    pub fn dropped(&self) -> usize {
        self.dropped
    }
}
