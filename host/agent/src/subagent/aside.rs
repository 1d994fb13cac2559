//! What the watchers of a run see of its children.

use model::event::{Event, EventSink};
use model::message::Message;
use std::sync::Arc;

/// Passes on what a child does, marked as the child's, without its words as they come: those are for its parent.
pub(super) struct Aside {
    pub sink: Arc<dyn EventSink>,
    pub agent: Arc<str>,
}

impl EventSink for Aside {
    fn emit(&self, event: Event) {
        match event {
            // Whoever hears of a summary's parts has to know that it is one.
            Event::MessageUpdated { info } if is_summary(&info) => self.pass(Event::MessageUpdated { info }),
            Event::PartDelta { .. } | Event::MessageUpdated { .. } | Event::PartDropped { .. } => {}
            // Marked by a child of the child.
            marked @ Event::Child { .. } => self.sink.emit(marked),
            // The gate speaks with the person itself, in the name of the root.
            said @ (Event::Asked { .. } | Event::Answered { .. } | Event::Inquired { .. } | Event::Replied { .. }) => {
                self.sink.emit(said);
            }
            event @ (Event::SessionOpened { .. }
            | Event::PartUpdated { .. }
            | Event::Retry { .. }
            | Event::Compacted { .. }
            | Event::Rewound { .. }
            | Event::Switched { .. }
            | Event::Failed { .. }
            | Event::Finished { .. }) => self.pass(event),
        }
    }
}

impl Aside {
    fn pass(&self, event: Event) {
        self.sink.emit(Event::Child { agent: self.agent.clone(), event: Box::new(event) });
    }
}

fn is_summary(info: &Message) -> bool {
    matches!(info, Message::Assistant(answer) if answer.summary)
}
