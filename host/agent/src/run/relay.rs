//! Who is asked: the model of the run, or one that has taken over from it; and how much of its window the conversation takes.

use super::{Run, compact};
use crate::compaction::{Window, prune};
use crate::error::AgentError;
use crate::recovery::helps_another;
use crate::step::Load;
use crate::transcript::View;
use model::event::{Ending, Event};
use model::provider::{FailureKind, Mind, Model, ModelRef, Provider, ProviderFailure};
use std::sync::Arc;
use std::time::Duration;

/// A model with its name.
#[derive(Clone)]
pub(crate) struct Voice {
    pub provider: Arc<dyn Provider>,
    pub model: Model,
    pub name: ModelRef,
}

impl Voice {
    pub(crate) fn of(name: ModelRef, Mind { provider, model }: Mind) -> Self {
        Self { provider, model, name }
    }

    pub(crate) fn view(&self) -> View<'_> {
        View { model: &self.name, images: self.model.images, strip_media: false }
    }
}

impl Run<'_> {
    pub(super) fn window(&self, model: &Model) -> Window {
        Window::new(model, self.frame.max_output_tokens(), &self.options.compaction)
    }

    pub(super) fn load(&mut self) -> Load {
        let window = self.window(&self.voice.model);
        let estimate = self.bus.conversation(self.voice.view()).tokens();
        Load { window, estimate, auto: self.options.compaction.auto }
    }

    /// A request that failed for good: whether there is another way.
    pub(super) fn failed(&mut self, failure: ProviderFailure) -> Option<Ending> {
        if failure.kind == FailureKind::ContextOverflow && self.options.compaction.auto {
            let session = self.bus.session().id.clone();
            self.bus.emit(Event::Retry { session, attempt: 1, next: Duration::ZERO, error: failure });
            return self.ask_summary(compact::Cause::Refused);
        }
        if !helps_another(failure.kind) {
            return Some(Ending::Failed(failure));
        }
        match self.next_voice() {
            Some(next) => self.switch_to(next, failure),
            None => Some(Ending::Failed(failure)),
        }
    }

    /// The next model that can be asked at all.
    fn next_voice(&mut self) -> Option<Voice> {
        while let Some(name) = self.fallback.pop_front() {
            match self.ports.minds.mind(&name) {
                Ok(mind) => return Some(Voice::of(name, mind)),
                Err(why) => tracing::warn!(model = %name, why, "a model that should take over cannot be asked"),
            }
        }
        None
    }

    fn switch_to(&mut self, next: Voice, error: ProviderFailure) -> Option<Ending> {
        let (session, from, to) = (self.bus.session().id.clone(), self.voice.name.clone(), next.name.clone());
        self.bus.emit(Event::Switched { session, from, to, error });
        self.voice = next;
        None
    }

    /// After a run that went well: results that are long past are taken out of what the model sees.
    pub(super) async fn tidy_up(&mut self, ending: &Ending) -> Result<(), AgentError> {
        if self.options.compaction.prune && *ending == Ending::Done {
            let cleared = prune(self.bus.transcript().messages(), self.ports.clock.now_ms());
            self.bus.stage(&cleared);
        }
        Ok(self.bus.flush().await?)
    }
}
