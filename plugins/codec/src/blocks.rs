//! The events of an answer, in an order that holds for every protocol: one start, one block open at a time, one end.

use airlock::provider::{ProviderFailure, StepFinish, StreamEvent, ToolCall, ToolResult};

/// What is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Reasoning,
}

#[derive(Debug)]
struct Open {
    kind: Kind,
    id: String,
    /// Given out with the end of the block.
    opaque: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Before,
    Running,
    Over,
}

/// Collects the events of one answer.
#[derive(Debug, Default)]
pub struct Blocks {
    events: Vec<StreamEvent>,
    phase: Phase,
    open: Option<Open>,
    opened: u32,
}

impl Blocks {
    /// A failure or the end of the step was given out; nothing comes after it.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.phase != Phase::Before
    }

    /// No block was opened yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.opened == 0
    }

    #[must_use]
    pub fn open(&self) -> Option<Kind> {
        self.open.as_ref().map(|o| o.kind)
    }

    /// What came since it was last asked.
    pub fn take(&mut self) -> Vec<StreamEvent> {
        std::mem::take(&mut self.events)
    }

    /// The first sign of an answer; later ones change nothing.
    pub fn start(&mut self) {
        if self.phase == Phase::Before {
            self.phase = Phase::Running;
            self.events.push(StreamEvent::StepStart);
        }
    }

    /// An empty text neither opens nor closes a block.
    pub fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.switch(Kind::Text);
        if let Some(open) = &self.open {
            self.events.push(StreamEvent::TextDelta { id: open.id.clone(), text: text.into() });
        }
    }

    /// As [`Self::text`].
    pub fn reasoning(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.switch(Kind::Reasoning);
        if let Some(open) = &self.open {
            self.events.push(StreamEvent::ReasoningDelta { id: open.id.clone(), text: text.into() });
        }
    }

    /// A block of this kind is open, a new one where it was another.
    pub fn switch(&mut self, kind: Kind) {
        if self.open() == Some(kind) {
            return;
        }
        self.close();
        self.start();
        self.opened += 1;
        let id = match kind {
            Kind::Text => format!("text-{}", self.opened),
            Kind::Reasoning => format!("reasoning-{}", self.opened),
        };
        self.events.push(match kind {
            Kind::Text => StreamEvent::TextStart { id: id.clone() },
            Kind::Reasoning => StreamEvent::ReasoningStart { id: id.clone() },
        });
        self.open = Some(Open { kind, id, opaque: None });
    }

    /// Provider data of the open block, to be sent back. The last one counts.
    pub fn keep(&mut self, opaque: String) {
        if let Some(open) = &mut self.open {
            open.opaque = Some(opaque);
        }
    }

    pub fn close(&mut self) {
        let Some(Open { kind, id, opaque }) = self.open.take() else { return };
        self.events.push(match kind {
            Kind::Text => StreamEvent::TextEnd { id, opaque },
            Kind::Reasoning => StreamEvent::ReasoningEnd { id, opaque },
        });
    }

    /// The input of a call begins, and with it any open block ends.
    pub fn input_start(&mut self, id: &str, name: &str) {
        self.close();
        self.start();
        self.events.push(StreamEvent::ToolInputStart { id: id.into(), name: name.into() });
    }

    /// A piece of a call's input. An empty one is none.
    pub fn input(&mut self, id: &str, text: &str) {
        if !text.is_empty() {
            self.events.push(StreamEvent::ToolInputDelta { id: id.into(), text: text.into() });
        }
    }

    /// A complete call whose input was started.
    pub fn call(&mut self, call: ToolCall) {
        self.events.push(StreamEvent::ToolInputEnd { id: call.id.clone() });
        self.events.push(StreamEvent::ToolCall(call));
    }

    /// The result of a call that the server ran itself.
    pub fn result(&mut self, result: ToolResult) {
        self.events.push(StreamEvent::ToolResult(result));
    }

    /// The first end counts.
    pub fn fail(&mut self, failure: ProviderFailure) {
        if !self.is_over() {
            self.phase = Phase::Over;
            self.events.push(StreamEvent::Failure(failure));
        }
    }

    /// The first end counts.
    pub fn finish(&mut self, finish: StepFinish) {
        if !self.is_over() {
            self.start();
            self.close();
            self.phase = Phase::Over;
            self.events.push(StreamEvent::StepFinish(finish));
        }
    }
}
