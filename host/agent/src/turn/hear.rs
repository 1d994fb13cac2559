//! One attempt: listens to the stream, writes down what it says, and lets calls begin.

use super::{Asking, Turn};
use crate::calls::Crew;
use crate::cancel::Stop;
use crate::error::AgentError;
use crate::loop_guard::Echo;
use crate::outgoing;
use crate::processor::{Effect, Processor, close, mark_providers};
use crate::recovery::{Flaw, Reaction, flaw};
use crate::transcript::BYTES_PER_TOKEN;
use futures::{FutureExt, StreamExt};
use model::budget::Tokens;
use model::event::DeltaKind;
use model::fault::FailureKind as CallFailure;
use model::hook::TextContext;
use model::id::PartId;
use model::message::{FinishReason, PartBody, StepFinishPart};
use model::provider::{EventStream, FailureKind, ModelCall, ModelResult, ProviderFailure, Request, StreamEvent};
use model::tool_state::{Done, Metadata, ToolState};
use rust_decimal::Decimal;
use std::panic::AssertUnwindSafe;
use std::time::Duration;
use tokio::time::Instant;

/// How long the end of a body may take after the step has ended: read to its end, a connection can be used again.
const DRAIN: Duration = Duration::from_secs(2);

/// How an attempt ended.
pub(super) enum Heard {
    Ended,
    /// The answer came to its end and is of no use.
    Flawed(Flaw),
    /// The answer had begun to repeat itself.
    Echo,
    Failed(ProviderFailure),
    Stopped(Stop),
}

impl Turn<'_> {
    pub(super) async fn attempt(&mut self, crew: &mut Crew) -> Result<Heard, AgentError> {
        let cancel = self.stopper.child();
        let mut processor = Processor::new(self.bus.session().id.clone(), self.id().clone());
        let heard = match self.connect(cancel.clone()).await? {
            Ok(stream) => self.listen(stream, &mut processor, crew).await?,
            Err(heard) => heard,
        };
        self.spent.output_bytes = self.spent.output_bytes.saturating_add(processor.bytes());
        self.purse.wrote(processor.bytes());
        // After a good end the rest of the body is read in peace.
        if !matches!(heard, Heard::Ended) {
            cancel.cancel();
        }
        Ok(heard)
    }

    /// What is sent, and what it comes to where nobody counts.
    fn request(&mut self) -> Request {
        match &self.asking {
            Asking::Conversation(frame) => {
                let conversation = self.bus.conversation(self.voice.view());
                self.asked = conversation.tokens();
                frame.request(&self.voice.model, conversation, &self.bench.toolset)
            }
            Asking::Aside { request, tokens } => {
                self.asked = *tokens;
                request.as_ref().clone()
            }
        }
    }

    async fn connect(
        &mut self,
        cancel: tokio_util::sync::CancellationToken,
    ) -> Result<Result<EventStream, Heard>, AgentError> {
        let request = self.request();
        let context = self.context();
        let (hooks, provider) = (self.ports.hooks.as_ref(), self.voice.provider.clone());
        let opening = async { provider.stream(outgoing::through(request, hooks, &context).await, cancel).await };
        let opening = AssertUnwindSafe(opening).catch_unwind();
        tokio::pin!(opening);
        let silence = tokio::time::sleep(self.retry.idle);
        tokio::pin!(silence);
        loop {
            tokio::select! {
                biased;
                stop = self.stopper.stopped() => return Ok(Err(Heard::Stopped(stop))),
                () = self.bus.wait_due() => self.bus.flush().await?,
                opened = &mut opening => return Ok(match opened {
                    Ok(Ok(stream)) => Ok(stream),
                    Ok(Err(failure)) => Err(Heard::Failed(failure)),
                    Err(_) => Err(Heard::Failed(broke_down())),
                }),
                () = &mut silence => return Ok(Err(Heard::Failed(silent(self.retry.idle)))),
            }
        }
    }

    async fn listen(
        &mut self,
        mut stream: EventStream,
        processor: &mut Processor,
        crew: &mut Crew,
    ) -> Result<Heard, AgentError> {
        let mut patience = Instant::now() + self.retry.idle;
        let mut echo = Echo::default();
        loop {
            tokio::select! {
                biased;
                stop = self.stopper.stopped() => return Ok(Heard::Stopped(stop)),
                () = self.bus.wait_due() => self.bus.flush().await?,
                happened = crew.next() => self.happened(crew, happened).await?,
                batch = AssertUnwindSafe(stream.next()).catch_unwind() => {
                    patience = Instant::now() + self.retry.idle;
                    let heard = match batch {
                        Ok(Some(batch)) => self.hear(processor, &mut echo, batch, crew).await?,
                        Ok(None) => Some(Heard::Flawed(Flaw::NoFinish)),
                        Err(_) => Some(Heard::Failed(broke_down())),
                    };
                    if let Some(heard) = heard {
                        drain(stream, &heard);
                        return Ok(heard);
                    }
                }
                () = tokio::time::sleep_until(patience) => return Ok(Heard::Failed(silent(self.retry.idle))),
            }
        }
    }

    /// Takes one batch. `Some` = the attempt is over.
    async fn hear(
        &mut self,
        processor: &mut Processor,
        echo: &mut Echo,
        batch: Vec<StreamEvent>,
        crew: &mut Crew,
    ) -> Result<Option<Heard>, AgentError> {
        let now = self.now();
        for effect in processor.reduce(batch, now) {
            match effect {
                Effect::Open(part) => {
                    *echo = Echo::default();
                    self.bus.add_part(part);
                }
                Effect::Append { part, kind, text } => {
                    let is_echo = echo.hear(&text);
                    self.bus.append(&part, kind, text);
                    if is_echo {
                        return Ok(Some(Heard::Echo));
                    }
                }
                Effect::Close { part, kind, opaque } => self.end_block(&part, kind, opaque, now).await,
                Effect::Call { part, call } => self.called(crew, part, call).await,
                Effect::Answered { part, result } => self.answered(crew, &part, result, now),
                Effect::Fail(failure) => return Ok(Some(Heard::Failed(failure))),
                Effect::Finish { reason, usage, metadata } => {
                    let flaw = flaw(reason, &metadata, processor.content(), !self.bench.toolset.is_empty());
                    self.finish(reason, usage, metadata, processor.bytes());
                    if let Some(flaw) = flaw.filter(|f| f.reaction() != Reaction::Tell) {
                        return Ok(Some(Heard::Flawed(flaw)));
                    }
                    crew.step_ended(reason).await;
                    return Ok(Some(Heard::Ended));
                }
            }
        }
        self.advance(crew).await?;
        Ok(None)
    }

    async fn called(&mut self, crew: &mut Crew, part: PartId, call: ModelCall) {
        self.bus.edit_tool(&part, |t| {
            if let ToolState::Pending { raw, .. } = &mut t.state {
                raw.clone_from(&call.input);
            }
            t.tool.clone_from(&call.name);
            if let Some(opaque) = &call.opaque {
                t.metadata.insert(model::message::OPAQUE.into(), opaque.clone().into());
            }
        });
        crew.add(part, call).await;
    }

    /// The provider ran a call itself.
    fn answered(&mut self, crew: &mut Crew, part: &PartId, result: ModelResult, now: u64) {
        crew.withdraw(part);
        self.bus.edit_tool(part, |t| {
            mark_providers(t);
            crate::repair::adopt_raw(&mut t.state);
            let input = t.state.input().clone();
            t.state.start(input, now);
            if result.is_error {
                t.state.fail(CallFailure::Failed, result.text, Metadata::new(), now);
            } else {
                let done = Done { title: t.tool.clone(), output: result.text, ..Done::default() };
                t.state.complete(done, now);
            }
        });
    }

    async fn end_block(&mut self, part: &PartId, kind: DeltaKind, opaque: Option<String>, now: u64) {
        let replaced = if kind == DeltaKind::Text { self.completed_text(part).await } else { None };
        self.bus.edit_part(part, |body| {
            close(body, opaque, now);
            if let (PartBody::Text(t), Some(text)) = (body, replaced) {
                t.text = text;
            }
        });
    }

    /// What the hooks make of a finished text. A hook that breaks down, or is still at work when the run ends, changes nothing.
    async fn completed_text(&self, part: &PartId) -> Option<String> {
        let PartBody::Text(text) = &self.bus.transcript().part(part)?.body else { return None };
        let context =
            TextContext { session: self.bus.session().id.clone(), message: self.id().clone(), part: part.clone() };
        let hook = AssertUnwindSafe(self.ports.hooks.text_complete(&context, text.text.clone())).catch_unwind();
        tokio::select! {
            biased;
            text = hook => text.ok(),
            _ = self.stopper.stopped() => None,
        }
    }

    /// `written`: bytes of the answer, which stand for its tokens where the provider counts none.
    fn finish(&mut self, reason: FinishReason, usage: Option<Tokens>, metadata: Metadata, written: u64) {
        let tokens = usage.unwrap_or_default();
        let cost = self.voice.model.price.as_ref().map_or(Decimal::ZERO, |p| p.cost(&tokens));
        let (id, now) = (self.id().clone(), self.now());
        self.add(PartBody::StepFinish(StepFinishPart { reason, cost, tokens, metadata }));
        self.bus.edit_message(&id, |m| {
            m.finish = Some(reason);
            m.cost += cost;
            if usage.is_some() {
                m.tokens = tokens;
            }
        });
        self.bus.edit_session(|s| {
            s.cost += cost;
            s.tokens += tokens;
            s.time.updated = now;
        });
        self.spent.cost += cost;
        self.spent.tokens += tokens;
        self.purse.pay(cost, tokens);
        if tokens.total() == 0 {
            let output = written.div_ceil(BYTES_PER_TOKEN);
            let uncounted = Tokens { input: self.asked, output, ..Tokens::default() };
            self.spent.uncounted += uncounted;
            self.purse.guess(uncounted);
        }
    }
}

fn drain(stream: EventStream, heard: &Heard) {
    if matches!(heard, Heard::Ended) {
        let rest = stream.for_each(|_| std::future::ready(()));
        tokio::spawn(tokio::time::timeout(DRAIN, rest));
    }
}

fn transport(message: String) -> ProviderFailure {
    ProviderFailure { kind: FailureKind::Transport, message, retryable: true, retry_after: None }
}

fn silent(idle: Duration) -> ProviderFailure {
    transport(format!("the provider was silent for {} s", idle.as_secs_f32()))
}

fn broke_down() -> ProviderFailure {
    let message = "the provider's adapter broke down in the host".into();
    ProviderFailure { kind: FailureKind::Unknown, message, retryable: false, retry_after: None }
}
