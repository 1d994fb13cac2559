//! What reaches a run while it works: messages handed over by a person, and what became of children in the background.

use super::Run;
use crate::cancel::Stop;
use crate::error::AgentError;
use crate::input::Drafting;
use crate::run::{News, Prompt};
use model::inbox::{Delivery, Sender, Waiting};
use std::time::Duration;

/// How often the inbox is looked into while nothing but children in the background works.
const LOOK: Duration = Duration::from_millis(500);

/// Whether an answered run has more to do.
pub(super) enum More {
    Nothing,
    /// The history has grown.
    Message,
    Stopped(Stop),
}

impl Run<'_> {
    /// Takes what is to steer the run. It lands with the next transaction.
    pub(super) async fn steered(&mut self) -> Result<bool, AgentError> {
        let told = self.tell_ended();
        Ok(self.take(Delivery::Steer).await? || told)
    }

    /// The prompt is answered: looks for the next one, as long as one may come.
    pub(super) async fn more(&mut self) -> Result<More, AgentError> {
        loop {
            // Looked at first: a child's letter lies in the inbox before the child counts as ended.
            let is_busy = self.nursery.is_busy();
            if self.steered().await? || self.take(Delivery::Queue).await? {
                self.bus.flush().await?;
                return Ok(More::Message);
            }
            if !is_busy {
                return Ok(More::Nothing);
            }
            tokio::select! {
                biased;
                stop = self.stopper.stopped() => return Ok(More::Stopped(stop)),
                () = self.nursery.news() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    async fn take(&mut self, kind: Delivery) -> Result<bool, AgentError> {
        let taken = self.ports.inbox.take(&self.bus.session().id, kind).await?;
        let any = !taken.is_empty();
        for letter in taken {
            self.deliver(letter).await;
        }
        Ok(any)
    }

    /// The letter leaves the inbox in the transaction that its message lands with.
    async fn deliver(&mut self, Waiting { id, letter, .. }: Waiting) {
        match letter.sender {
            Sender::Person => {
                let now = self.ports.clock.now_ms();
                let prompt = Prompt { text: letter.text, ..Prompt::default() };
                self.prompted(prompt, News::default(), now).await;
            }
            Sender::Host => self.note(letter.text),
        }
        self.bus.delivered(id);
    }

    /// Whether a message waits that a run without a prompt can begin with.
    pub(super) async fn has_letters(&self) -> Result<bool, AgentError> {
        Ok(!self.ports.inbox.waiting(&self.bus.session().id).await?.is_empty())
    }

    /// What a new message of this moment is made of.
    pub(super) fn drafting<'a>(&'a self, session: &'a model::session::Session, now: u64) -> Drafting<'a> {
        Drafting { session, agent: &self.agent, schema: self.schema.as_ref(), now }
    }
}
