//! One model call with its retries, and the work that it asks for: from the request to the closed message.
//!
//! An attempt that fails takes back what it said and called: its parts stay in the ledger, marked as dropped, and the next
//! attempt goes on in the same message.

mod hear;

use crate::bus::Bus;
use crate::calls::{Bench, Crew, Halt, Happened, Outcome, Settled, blocks};
use crate::cancel::{Stop, Stopper};
use crate::error::AgentError;
use crate::prompt::Frame;
use crate::recovery::{Flaw, Reaction, flaw_of};
use crate::repair::{adopt_raw, close_message, closed};
use crate::retry::RetryPolicy;
use crate::run::{Ports, Voice};
use crate::subagent::Purse;
use hear::Heard;
use model::budget::Tokens;
use model::event::Event;
use model::hook::TurnContext;
use model::id::{MessageId, PartId};
use model::message::{Created, MessageError, Part, PartBody, RetryPart};
use model::provider::{FailureKind, ProviderFailure, Request};
use model::store::Change;
use rust_decimal::Decimal;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// What a turn works with.
pub(crate) struct Turn<'a> {
    pub ports: &'a Ports,
    pub bus: &'a mut Bus,
    pub voice: &'a Voice,
    pub asking: Asking<'a>,
    pub stopper: &'a Stopper,
    pub purse: &'a Purse,
    pub retry: &'a RetryPolicy,
    pub bench: Arc<Bench>,
    pub spent: Spent,
    pub halt: Option<Halt>,
    /// Tokens of the newest request, estimated.
    pub asked: u64,
}

/// What the model is asked.
pub(crate) enum Asking<'a> {
    /// To go on with the conversation.
    Conversation(&'a Frame),
    /// Something apart from it, of so many tokens.
    Aside { request: Box<Request>, tokens: u64 },
}

/// What a turn has used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    pub cost: Decimal,
    pub tokens: Tokens,
    /// Bytes that the model wrote.
    pub output_bytes: u64,
    /// What requests came to whose provider counted nothing, by their size.
    pub uncounted: Tokens,
}

impl Spent {
    pub(crate) fn add(&mut self, more: &Self) {
        self.cost += more.cost;
        self.tokens += more.tokens;
        self.output_bytes = self.output_bytes.saturating_add(more.output_bytes);
        self.uncounted += more.uncounted;
    }
}

/// How a turn ended. Its message is closed and stored.
#[derive(Debug)]
pub(crate) enum Turned {
    Ended {
        /// What a call came to that is to end the run.
        halt: Option<Halt>,
    },
    Failed(ProviderFailure),
    Stopped(Stop),
}

impl Turn<'_> {
    /// Asks the model, again where that may help, and does what it asks for.
    pub(crate) async fn take(&mut self) -> Result<Turned, AgentError> {
        let begun = Instant::now();
        let mut attempt = 1;
        let mut requeries = 0;
        loop {
            let first = self.parts().len();
            let mut crew = Crew::new(self.bench.clone(), self.stopper.child());
            let (failure, most) = match self.attempt(&mut crew).await? {
                Heard::Ended => return self.work_off(crew).await,
                Heard::Stopped(stop) => return self.stop(crew, stop).await,
                Heard::Flawed(flaw) => (flaw.failure(), requeries_of(flaw)),
                Heard::Echo if requeries > 0 => return self.echoed(first).await,
                Heard::Echo => (echo(), Some(1)),
                Heard::Failed(failure) => {
                    let most = flaw_of(&failure).and_then(requeries_of);
                    (failure, most)
                }
            };
            drop(crew);
            if most == Some(0) {
                return self.held_back(failure).await;
            }
            self.give_up(first);
            if most.is_some_and(|m| requeries >= m) {
                return self.fail(failure).await;
            }
            requeries += u32::from(most.is_some());
            let (spent, dice) = (begun.elapsed(), fastrand::f64());
            let wait = match most {
                Some(_) => self.retry.delay(attempt, &failure, spent, dice),
                None => self.retry.wait(attempt, &failure, spent, dice),
            };
            let Some(wait) = wait else {
                return self.fail(failure).await;
            };
            if let Some(stop) = self.pause(attempt, wait, failure).await? {
                return self.close(stop).await;
            }
            attempt += 1;
        }
    }

    fn now(&self) -> u64 {
        self.ports.clock.now_ms()
    }

    fn context(&self) -> TurnContext {
        let session = self.bus.session();
        TurnContext { session: session.id.clone(), agent: self.bench.agent.clone(), model: session.model.clone() }
    }

    fn id(&self) -> &MessageId {
        &self.bench.message
    }

    fn parts(&self) -> &[Part] {
        self.bus.transcript().message(self.id()).map_or(&[], |m| m.parts.as_slice())
    }

    /// The step ended well: runs its calls to their end.
    async fn work_off(&mut self, mut crew: Crew) -> Result<Turned, AgentError> {
        self.advance(&mut crew).await?;
        while !crew.is_settled() {
            tokio::select! {
                biased;
                stop = self.stopper.stopped() => return self.stop(crew, stop).await,
                () = self.bus.wait_due() => self.bus.flush().await?,
                happened = crew.next() => self.happened(&mut crew, happened).await?,
            }
        }
        let (id, now) = (self.id().clone(), self.now());
        self.bus.edit_message(&id, |m| m.time.completed = Some(now));
        self.bus.flush().await?;
        let halt = self.halt.take().or_else(|| self.swallowed());
        Ok(Turned::Ended { halt })
    }

    /// A refusal that ends the run and that a call took for no failure of its own.
    fn swallowed(&self) -> Option<Halt> {
        self.bench.gate.blocked().filter(blocks).map(|denial| Halt::Denied(denial.to_string()))
    }

    /// Writes down what calls came to. Where calls act, results land at once, but for the last ones, which land with the end of the
    /// message; what was only read lands in its time.
    async fn happened(&mut self, crew: &mut Crew, happened: Happened) -> Result<(), AgentError> {
        match happened {
            Happened::Progress(words) => {
                for (part, word) in words {
                    self.bus.edit_tool(&part, |t| {
                        t.state.progress(word.title, word.metadata);
                    });
                }
            }
            Happened::Settled(settled) => {
                settled.into_iter().for_each(|(part, s)| self.settled(&part, s));
                self.advance(crew).await?;
                if crew.has_acted() && !crew.is_settled() {
                    self.bus.flush().await?;
                }
            }
        }
        Ok(())
    }

    /// Starts what may start. That a call that acts has begun is in the ledger before it does: after a crash it is not run again.
    async fn advance(&mut self, crew: &mut Crew) -> Result<(), AgentError> {
        let now = self.now();
        crew.refusals().into_iter().for_each(|(part, s)| self.settled(&part, s));
        let starts = crew.startable();
        for start in &starts {
            self.bus.edit_tool(&start.part, |t| {
                t.tool.clone_from(&start.tool);
                t.state.start(start.input.clone(), now);
            });
        }
        let (acting, reading): (Vec<_>, Vec<_>) = starts.into_iter().partition(|s| s.acts);
        reading.iter().for_each(|s| crew.start(s));
        if !acting.is_empty() {
            self.bus.flush().await?;
            acting.iter().for_each(|s| crew.start(s));
        }
        Ok(())
    }

    fn settled(&mut self, part: &PartId, settled: Settled) {
        let now = self.now();
        if self.halt.is_none() {
            self.halt = settled.halt;
        }
        self.bus.edit_tool(part, |t| match settled.outcome {
            Outcome::Completed(done) => {
                t.state.complete(done, now);
            }
            Outcome::Failed { kind, message, metadata } => {
                adopt_raw(&mut t.state);
                t.state.fail(kind, message, metadata, now);
            }
        });
    }

    /// Takes back what a failed attempt said and called.
    fn give_up(&mut self, first: usize) {
        let now = self.now();
        let taken_back = "The model's answer broke off: this call was taken back.";
        let dropped: Vec<Change> = self.parts()[first..]
            .iter()
            .map(|p| {
                let mut part = closed(p, taken_back, now).unwrap_or_else(|| p.clone());
                part.body.drop_from_view();
                Change::Part(part)
            })
            .collect();
        self.bus.stage(&dropped);
        let id = self.id().clone();
        self.bus.edit_message(&id, |m| m.finish = None);
        self.halt = None;
        self.bench.gate.forgive();
    }

    /// Waits before the next attempt. `Some` where the run is to end instead.
    async fn pause(
        &mut self,
        attempt: u32,
        wait: Duration,
        failure: ProviderFailure,
    ) -> Result<Option<Stop>, AgentError> {
        let retry = RetryPart { attempt, error: stored(&failure), time: Created { created: self.now() } };
        self.add(PartBody::Retry(retry));
        self.bus.flush().await?;
        let session = self.bus.session().id.clone();
        self.bus.emit(Event::Retry { session, attempt, next: wait, error: failure });
        Ok(tokio::select! {
            biased;
            stop = self.stopper.stopped() => Some(stop),
            () = tokio::time::sleep(wait) => None,
        })
    }

    fn add(&mut self, body: PartBody) {
        let (message_id, session_id) = (self.id().clone(), self.bus.session().id.clone());
        self.bus.add_part(Part { id: PartId::new(), session_id, message_id, body });
    }

    async fn fail(&mut self, failure: ProviderFailure) -> Result<Turned, AgentError> {
        let (id, now) = (self.id().clone(), self.now());
        let error = stored(&failure);
        self.bus.edit_message(&id, |m| {
            m.error = Some(error);
            m.time.completed = Some(now);
        });
        self.bus.flush().await?;
        Ok(Turned::Failed(failure))
    }

    /// The answer is of no use and would be so again. What was said stays to be seen; nothing that was called is run.
    async fn held_back(&mut self, failure: ProviderFailure) -> Result<Turned, AgentError> {
        self.close_parts("The provider did not let the answer come to its end: this call was not run.");
        self.fail(failure).await
    }

    /// The model says the same over and over, also when it is asked again.
    async fn echoed(&mut self, first: usize) -> Result<Turned, AgentError> {
        self.give_up(first);
        let failure = echo();
        let halt = Some(Halt::Looped(failure.message.clone()));
        self.fail(failure).await?;
        Ok(Turned::Ended { halt })
    }

    /// Ends all calls and closes the message, in the time that a cancelled run has.
    async fn stop(&mut self, crew: Crew, stop: Stop) -> Result<Turned, AgentError> {
        for (part, settled) in crew.stop().await {
            self.settled(&part, settled);
        }
        self.close(stop).await
    }

    async fn close(&mut self, stop: Stop) -> Result<Turned, AgentError> {
        self.close_parts("The run was interrupted before this call ended.");
        let (id, now) = (self.id().clone(), self.now());
        self.bus.edit_message(&id, |m| close_message(m, stop.reason(), now));
        self.bus.flush().await?;
        Ok(Turned::Stopped(stop))
    }

    fn close_parts(&mut self, why: &str) {
        let now = self.now();
        let open: Vec<Change> = self.parts().iter().filter_map(|p| closed(p, why, now)).map(Change::Part).collect();
        self.bus.stage(&open);
    }
}

/// How often an answer with this flaw is asked for again; `None` = as any request that failed.
fn requeries_of(flaw: Flaw) -> Option<u32> {
    match flaw.reaction() {
        Reaction::Requery(most) => Some(most),
        // What only has to be told never comes here.
        Reaction::Fail | Reaction::Tell => Some(0),
        Reaction::Retry => None,
    }
}

fn echo() -> ProviderFailure {
    let message = "the model said the same over and over in one answer".into();
    ProviderFailure { kind: FailureKind::Unknown, message, retryable: true, retry_after: None }
}

/// As it is stored with the message.
fn stored(failure: &ProviderFailure) -> MessageError {
    let message = failure.message.clone();
    match failure.kind {
        FailureKind::ContextOverflow => MessageError::ContextOverflow { message },
        FailureKind::ContentFilter => MessageError::ContentFilter { message },
        kind => MessageError::Provider { kind, message, retryable: failure.retryable },
    }
}
