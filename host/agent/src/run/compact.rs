//! The run's way through a full window: asks for a summary, has it written, checks it, and tells the model how to go on.

use super::{Run, Voice, stopped};
use crate::compaction::{self, Demand, HeadLimit, Plan, bridge, estimate, todos};
use crate::error::AgentError;
use crate::input::Drafting;
use crate::step::{self, Step};
use crate::transcript::{compaction as asked_for, visible_text};
use crate::turn::{Asking, Spent, Turn, Turned};
use model::event::{Ending, Event};
use model::hook::Compacting;
use model::id::MessageId;
use model::message::{Message, MessageError, Part, PartBody};
use model::provider::{FailureKind, ProviderFailure};
use std::sync::Arc;

/// How the writer of a summary is told what it is.
const SYSTEM: &str = "You summarise conversations between a person and an assistant that works with tools.";

/// Why a summary is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The window is as good as full.
    Crowded,
    /// The provider refused the request as too large.
    Refused,
    /// A person wants one, and all prompts are answered.
    Wanted,
}

/// The end of a run whose history cannot be made to fit.
pub(super) fn unfit() -> ProviderFailure {
    ProviderFailure {
        kind: FailureKind::ContextOverflow,
        message: format!(
            "the context could not be made to fit: {} summaries in a row have not left enough room",
            compaction::MAX_TRIES
        ),
        retryable: false,
        retry_after: None,
    }
}

impl Run<'_> {
    /// Has one summary written that a person asked for, and asks the model nothing else.
    pub(super) async fn summarise(&mut self) -> Result<Ending, AgentError> {
        loop {
            let (used, load) = (self.used(), self.load());
            self.bounds.limits = self.kin.purse.bounds(&used);
            let ending = match step::next(self.bus.transcript().messages(), &self.bounds, &used, &load) {
                Step::Compact => self.compact().await?,
                Step::Unfit => Some(Ending::Failed(unfit())),
                Step::Limit(limit) => Some(Ending::Limit(limit)),
                Step::Finish | Step::AskModel { .. } | Step::Crowded => Some(Ending::Done),
            };
            if let Some(ending) = ending {
                return Ok(ending);
            }
        }
    }

    /// Writes down that a summary is to be made; the next look at the history finds it.
    pub(super) fn ask_summary(&mut self, cause: Cause) -> Option<Ending> {
        let (info, parts) = self.draft(|d| d.compaction(cause != Cause::Wanted, cause == Cause::Refused));
        self.bus.add_message(info, parts);
        None
    }

    fn draft<T>(&self, draft: impl FnOnce(&Drafting<'_>) -> T) -> T {
        let (session, now) = (self.bus.session(), self.ports.clock.now_ms());
        draft(&Drafting { session, agent: &self.agent, schema: self.schema.as_ref(), now })
    }

    /// Has the summary written that was asked for. What it comes to is in the history; `None` = look at it again.
    pub(super) async fn compact(&mut self) -> Result<Option<Ending>, AgentError> {
        if let Some(stop) = self.stopper.now() {
            self.bus.flush().await?;
            return Ok(Some(stopped(stop)));
        }
        let Some((asked, plan, writer)) = self.plan() else { return Ok(None) };
        let before = self.size();
        self.keep_tail(&asked, plan.tail_start.clone());
        let message = self.open_summary(asked, &writer);
        // Observers have to know what they are about to hear.
        self.bus.flush().await?;
        let wish = Compacting { go_on: true, ..Compacting::default() };
        let wish = self.ports.hooks.compacting(&self.context(), wish).await;
        match self.write_summary(&message, plan.question(&wish), &writer).await? {
            Turned::Ended { .. } => self.judge_summary(&message, &plan, before, wish.go_on).await.map(|()| None),
            Turned::Failed(failure) if may_try_again(failure.kind, &writer, &self.voice) => Ok(None),
            Turned::Failed(failure) => Ok(Some(Ending::Failed(failure))),
            Turned::Stopped(stop) => Ok(Some(stopped(stop))),
        }
    }

    /// Which message asks, what is summarised, and who does it: the small model, where there is one that can take it, the first time.
    fn plan(&self) -> Option<(MessageId, Plan, Voice)> {
        let history = self.bus.transcript().messages();
        let asked = compaction::pending(history)?;
        let window = self.window(&self.voice.model);
        let tries = compaction::tries(history, window);
        let demand = Demand {
            history,
            asked,
            options: &self.options.compaction,
            window,
            tries,
            limit: HeadLimit::new(window.usable(), tries),
            view: self.voice.view(),
        };
        let plan = Plan::new(&demand);
        let takes = |v: &Voice| self.window(&v.model).usable().is_none_or(|u| estimate(&plan.head) <= u / 4 * 3);
        let small = (tries == 0).then(|| self.small()).flatten().filter(takes);
        Some((history[asked].info.id().clone(), plan, small.unwrap_or_else(|| self.voice.clone())))
    }

    fn small(&self) -> Option<Voice> {
        let name = self.options.small.clone()?;
        match self.ports.minds.mind(&name) {
            Ok(mind) => Some(Voice::of(name, mind)),
            Err(why) => {
                tracing::warn!(model = %name, why, "the small model cannot be asked");
                None
            }
        }
    }

    /// Written down before the summary is: what counts of it is complete whenever the summary is.
    fn keep_tail(&mut self, asked: &MessageId, tail: Option<MessageId>) {
        let message = self.bus.transcript().message(asked);
        let part = message.and_then(|m| m.parts.iter().find(|p| matches!(p.body, PartBody::Compaction(_))));
        let Some(id) = part.map(|p| p.id.clone()) else { return };
        self.bus.edit_part(&id, |body| {
            if let PartBody::Compaction(part) = body {
                part.tail_start_id = tail;
            }
        });
    }

    fn open_summary(&mut self, asked: MessageId, writer: &Voice) -> MessageId {
        let mut message = self.empty_message(asked, compaction::AGENT, &writer.name);
        message.summary = true;
        let id = message.id.clone();
        self.bus.add_message(Message::Assistant(Box::new(message)), vec![]);
        id
    }

    async fn write_summary(
        &mut self,
        message: &MessageId,
        question: String,
        writer: &Voice,
    ) -> Result<Turned, AgentError> {
        let tokens = estimate(&question);
        let request = Box::new(self.frame.aside(&writer.model, SYSTEM, question));
        let bench = Arc::new(self.bench(message.clone(), Arc::default()));
        let mut turn = Turn {
            ports: self.ports,
            bus: &mut self.bus,
            voice: writer,
            purse: &self.kin.purse,
            asking: Asking::Aside { request, tokens },
            stopper: &self.stopper,
            retry: &self.retry,
            bench,
            spent: Spent::default(),
            halt: None,
            asked: 0,
        };
        let turned = turn.take().await?;
        let spent = turn.spent;
        self.spent.add(&spent);
        Ok(turned)
    }

    /// Takes the summary, or marks it as none: then the history is what it was, and the next try keeps less.
    async fn judge_summary(
        &mut self,
        message: &MessageId,
        plan: &Plan,
        before: u64,
        go_on: bool,
    ) -> Result<(), AgentError> {
        let parts = self.bus.transcript().message(message).map_or(&[][..], |m| m.parts.as_slice());
        let verdict = if parts.iter().any(is_call) {
            Err("the writer of the summary called a tool")
        } else {
            plan.verify(&visible_text(parts))
        };
        match verdict {
            Ok(()) if go_on => self.go_on(plan),
            Ok(()) => {}
            Err(why) => self.bus.edit_message(message, |m| {
                m.finish = None;
                m.error = Some(MessageError::Unknown { message: why.into() });
            }),
        }
        self.bus.flush().await?;
        if verdict.is_ok() {
            let (session, after) = (self.bus.session().id.clone(), self.size());
            self.bus.emit(Event::Compacted { session, before, after });
        }
        Ok(())
    }

    /// Tells the model how to go on; where all was answered, only what it had left open in its list.
    fn go_on(&mut self, plan: &Plan) {
        let history = self.bus.transcript().messages();
        let at = |id: &MessageId| history.iter().rposition(|m| m.info.id() == id);
        let is_auto = history.iter().rev().find_map(asked_for).is_none_or(|part| part.auto);
        let said = match is_auto {
            true => bridge(history, plan.tail_start.as_ref().and_then(at)),
            false => todos(history),
        };
        let Some(said) = said else { return };
        let (info, parts) = self.draft(|d| d.continuation(said));
        self.bus.add_message(info, parts);
    }

    /// Tokens of the conversation, estimated.
    fn size(&mut self) -> u64 {
        self.bus.conversation(self.voice.view()).tokens()
    }
}

fn is_call(part: &Part) -> bool {
    matches!(part.body, PartBody::Tool(_)) && !part.body.is_dropped()
}

/// Whether a smaller request, or the larger model, may get a summary where this failed.
fn may_try_again(kind: FailureKind, writer: &Voice, main: &Voice) -> bool {
    use FailureKind as K;
    writer.name != main.name
        || matches!(kind, K::ContextOverflow | K::Unknown | K::MalformedToolCall | K::ContentFilter)
}
