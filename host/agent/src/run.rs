//! The loop: look at the history, do the next thing, write it down, look again.

mod compact;
mod family;
mod job;
mod letters;
mod opening;
mod programs;
mod relay;
mod rewind;

use crate::answer::{AnswerCheck, Verdict};
use crate::builtin::Workbench;
use crate::bus::Bus;
use crate::calls::{Bench, Halt, Watch};
use crate::cancel::{Stop, Stopper};
use crate::error::AgentError;
use crate::loop_guard::LoopGuard;
use crate::nearby::Surroundings;
use crate::places::{Disk, Places};
use crate::plan::Switch;
use crate::prompt::{Frame, LAST_STEP};
use crate::retry::RetryPolicy;
use crate::rewind::Wish;
use crate::roster::Roster;
use crate::step::{self, Bounds, Step};
use crate::subagent::{Kin, Nursery};
use crate::toolset::Toolset;
use crate::transcript::visible_text;
use crate::turn::{Asking, Spent, Turn, Turned};
pub use job::{Clock, Job, Ports, Prompt, RunOptions};
use letters::More;
use model::budget::{Limit, Tokens, Used};
use model::event::{Ending, Event, RunOutcome};
use model::hook::TurnContext;
use model::id::{MessageId, PartId};
use model::message::{AssistantMessage, FinishReason, Message, Paths, Turn as TurnTime};
use model::permission::Policy;
use model::profile::Profile;
use model::provider::ModelRef;
use opening::{News, Purpose};
pub(crate) use relay::Voice;
use rust_decimal::Decimal;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Runs a job to its end. The session is claimed, repaired and, whatever the ending, left closed and resumable.
///
/// # Errors
/// When the ledger fails, when there is nothing to answer, when the schema is none.
pub async fn run(job: Job, ports: &Ports, cancel: CancellationToken) -> Result<RunOutcome, AgentError> {
    run_in(job, ports, Arc::new(Disk), cancel).await
}

/// Writes a prompt down and asks nobody: the model reads it with the next one.
///
/// # Errors
/// As [`run`].
pub async fn note(job: Job, ports: &Ports, cancel: CancellationToken) -> Result<RunOutcome, AgentError> {
    let kin = Kin::head(job.session.id.clone(), job.limits.clone(), job.offspring);
    let _claim = ports.store.claim(&job.session.id).await?;
    let run = Run::open(job, ports, Arc::new(Disk), cancel, kin, Purpose::Work).await?;
    Ok(run.outcome(Ending::Done))
}

/// Has what was said so far replaced by a summary, as a full window would. The job's prompt is not heard.
///
/// # Errors
/// As [`run`]; a session in which nothing was said.
pub async fn summarise(job: Job, ports: &Ports, cancel: CancellationToken) -> Result<RunOutcome, AgentError> {
    let kin = Kin::head(job.session.id.clone(), job.limits.clone(), job.offspring);
    let _claim = ports.store.claim(&job.session.id).await?;
    let job = caught_up(job, ports).await?;
    let mut run = Run::open(job, ports, Arc::new(Disk), cancel, kin, Purpose::Summary).await?;
    let ending = run.summarise().await?;
    Ok(run.outcome(ending))
}

/// As [`run`], with another view of the disk.
///
/// # Errors
/// As [`run`].
pub async fn run_in(
    job: Job,
    ports: &Ports,
    places: Arc<dyn Places>,
    cancel: CancellationToken,
) -> Result<RunOutcome, AgentError> {
    let kin = Kin::head(job.session.id.clone(), job.limits.clone(), job.offspring);
    run_as(job, ports, places, cancel, kin).await
}

/// Runs a session in its place in the family. Its children end with it, however it ends.
pub(crate) async fn run_as(
    job: Job,
    ports: &Ports,
    places: Arc<dyn Places>,
    cancel: CancellationToken,
    kin: Kin,
) -> Result<RunOutcome, AgentError> {
    let id = job.session.id.clone();
    let _claim = ports.store.claim(&id).await?;
    let job = caught_up(job, ports).await?;
    if !kin.is_head() {
        family::enrol(ports, &kin, &id, job.policy.clone());
    }
    let mut run = Run::open(job, ports, places, cancel, kin, Purpose::Work).await?;
    let ending = run.drive().await;
    run.nursery.close().await;
    run.end_programs().await;
    ports.gate.dismiss(&id);
    let ending = ending?;
    run.tidy_up(&ending).await?;
    Ok(run.outcome(ending))
}

/// The record was loaded before the session was claimed: what another run added to it meanwhile stays.
async fn caught_up(mut job: Job, ports: &Ports) -> Result<Job, AgentError> {
    if !job.is_new {
        let stored = ports.store.session(&job.session.id).await?;
        let session = &mut job.session;
        (session.cost, session.tokens, session.time) = (stored.cost, stored.tokens, stored.time);
        if session.title.is_empty() {
            session.title = stored.title;
        }
    }
    Ok(job)
}

struct Run<'a> {
    ports: &'a Ports,
    places: Arc<dyn Places>,
    bus: Bus,
    frame: Frame,
    /// Who is asked now, and who takes over.
    voice: Voice,
    fallback: VecDeque<ModelRef>,
    tools: Arc<Workbench>,
    toolset: Arc<Toolset>,
    surroundings: Option<Arc<Surroundings>>,
    bounds: Bounds,
    stopper: Stopper,
    answers: AnswerCheck,
    kin: Kin,
    nursery: Arc<Nursery>,
    switch: Arc<Switch>,
    wish: Arc<Wish>,
    roster: Arc<Roster>,
    profile: Profile,
    policy: Policy,
    options: RunOptions,
    agent: String,
    schema: Option<Value>,
    continue_on_deny: bool,
    retry: RetryPolicy,
    steps: u32,
    spent: Spent,
    /// How often a person let a circle go on, and the last call before that.
    pardons: u32,
    pardoned: Option<PartId>,
    /// How often hooks have asked to go on.
    stops: u32,
}

/// How often the hooks of a run may ask to go on after an answer that would end it.
const MAX_STOPS: u32 = 3;

impl Run<'_> {
    async fn drive(&mut self) -> Result<Ending, AgentError> {
        loop {
            self.steered().await?;
            let (used, load) = (self.used(), self.load());
            self.bounds.limits = self.kin.purse.bounds(&used);
            let ending = match step::next(self.bus.transcript().messages(), &self.bounds, &used, &load) {
                Step::Finish => self.judge().await?,
                Step::Limit(limit) => Some(Ending::Limit(limit)),
                Step::Crowded => self.ask_summary(compact::Cause::Crowded),
                Step::Compact => self.compact().await?,
                Step::Unfit => Some(Ending::Failed(compact::unfit())),
                Step::AskModel { last } => self.turn(last).await?,
            };
            if let Some(ending) = ending {
                return Ok(ending);
            }
        }
    }

    /// What this session used itself; what its children did is in the purse.
    fn used(&self) -> Used {
        let Spent { cost, tokens, output_bytes, uncounted } = self.spent;
        Used {
            steps: self.steps,
            cost_usd: cost,
            wall: self.stopper.elapsed(),
            tokens: tokens.total().saturating_add(uncounted.total()),
            output_tokens: [tokens, uncounted].iter().map(|t| t.output.saturating_add(t.reasoning)).sum(),
            output_bytes,
        }
    }

    /// One request and its work. `None` = look at the history again.
    async fn turn(&mut self, last: bool) -> Result<Option<Ending>, AgentError> {
        if let Some(stop) = self.stopper.now() {
            self.bus.flush().await?;
            return Ok(Some(stopped(stop)));
        }
        if !self.kin.purse.step() {
            return Ok(Some(Ending::Limit(Limit::Steps)));
        }
        if last {
            self.note(LAST_STEP.into());
        }
        let message = self.open_answer();
        let has_tools = !last && self.voice.model.tools;
        let bench = Arc::new(self.bench(message, if has_tools { self.toolset.clone() } else { Arc::default() }));
        self.steps += 1;
        let mut turn = Turn {
            ports: self.ports,
            bus: &mut self.bus,
            voice: &self.voice,
            asking: Asking::Conversation(&self.frame),
            stopper: &self.stopper,
            purse: &self.kin.purse,
            retry: &self.retry,
            bench: bench.clone(),
            spent: Spent::default(),
            halt: None,
            asked: 0,
        };
        let turned = turn.take().await?;
        let spent = turn.spent;
        self.spent.add(&spent);
        self.keep_labels();
        if bench.watch.pardoned() {
            self.pardons += 1;
            self.pardoned = self.bus.transcript().last_call().cloned();
        }
        if let Some(agent) = self.switch.take() {
            self.hand_over(agent).await;
        }
        let wish = self.wish.take();
        if let (Turned::Ended { halt: None }, Some(wish)) = (&turned, wish) {
            return self.go_back(wish).await;
        }
        Ok(match turned {
            Turned::Failed(failure) => self.failed(failure),
            turned => self.ending(turned),
        })
    }

    fn ending(&self, turned: Turned) -> Option<Ending> {
        match turned {
            Turned::Ended { halt: None } => None,
            Turned::Ended { halt: Some(Halt::Denied(why)) } => (!self.continue_on_deny).then_some(Ending::Denied(why)),
            Turned::Ended { halt: Some(Halt::Looped(what)) } => Some(Ending::Looped(what)),
            Turned::Failed(failure) => Some(Ending::Failed(failure)),
            Turned::Stopped(stop) => Some(stopped(stop)),
        }
    }

    /// The prompt is answered: whether well enough.
    async fn judge(&mut self) -> Result<Option<Ending>, AgentError> {
        let text = self.text();
        match self.answers.judge(&text) {
            Verdict::Good => self.may_stop(&text).await,
            Verdict::Bad(failure) => Ok(Some(Ending::Failed(failure))),
            Verdict::Again(said) => {
                self.note(said);
                self.bus.flush().await?;
                Ok(None)
            }
        }
    }

    /// The answer is good: whether the hooks let it end the run.
    async fn may_stop(&mut self, text: &str) -> Result<Option<Ending>, AgentError> {
        if self.stops >= MAX_STOPS || self.steps == 0 {
            return self.finished().await;
        }
        let context = self.context();
        let said = tokio::select! {
            biased;
            stop = self.stopper.stopped() => return Ok(Some(stopped(stop))),
            said = self.ports.hooks.stop(&context, text, self.stops) => said,
        };
        let Some(said) = said else { return self.finished().await };
        self.stops += 1;
        self.note(said);
        self.bus.flush().await?;
        Ok(None)
    }

    /// A good answer ends the run, unless a message waits or a child still works.
    async fn finished(&mut self) -> Result<Option<Ending>, AgentError> {
        Ok(match self.more().await? {
            More::Nothing => Some(Ending::Done),
            More::Message => None,
            More::Stopped(stop) => Some(stopped(stop)),
        })
    }

    fn context(&self) -> TurnContext {
        let session = self.bus.session();
        TurnContext { session: session.id.clone(), agent: self.agent.clone(), model: session.model.clone() }
    }

    fn text(&self) -> String {
        self.bus.transcript().answer().map_or_else(String::new, |(_, parts)| visible_text(parts))
    }

    /// Tells the model something that no person said. It lands with the next transaction.
    fn note(&mut self, said: String) {
        let session = self.bus.session().clone();
        let now = self.ports.clock.now_ms();
        let (info, parts) = self.drafting(&session, now).note(said);
        self.bus.add_message(info, parts);
    }

    /// What the calls of a message work with.
    fn bench(&self, message: MessageId, toolset: Arc<Toolset>) -> Bench {
        let guard = LoopGuard::of(self.bus.transcript().messages(), self.pardoned.as_ref());
        let watch = Watch::new(guard, self.pardons);
        Bench {
            session: self.bus.session().clone(),
            message,
            agent: self.agent.clone(),
            toolset,
            tools: self.tools.clone(),
            hooks: self.ports.hooks.clone(),
            gate: self.ports.gate.clone(),
            store: self.bus.store().clone(),
            clock: self.ports.clock.clone(),
            places: self.places.clone(),
            watch,
            surroundings: self.surroundings.clone(),
        }
    }

    /// Adds the message that the next request fills.
    fn open_answer(&mut self) -> MessageId {
        // There is a prompt: `open` saw to it.
        let parent = self.bus.transcript().prompt().cloned().unwrap_or_else(MessageId::new);
        let message = self.empty_message(parent, &self.agent, &self.voice.name);
        let id = message.id.clone();
        self.bus.add_message(Message::Assistant(Box::new(message)), vec![]);
        id
    }

    fn empty_message(&self, parent: MessageId, agent: &str, name: &ModelRef) -> AssistantMessage {
        let session = self.bus.session();
        AssistantMessage {
            id: MessageId::new(),
            session_id: session.id.clone(),
            parent_id: parent,
            time: TurnTime { created: self.ports.clock.now_ms(), completed: None },
            provider_id: name.provider.clone(),
            model_id: name.model.clone(),
            agent: agent.to_owned(),
            summary: false,
            path: Paths { cwd: session.directory.clone(), root: session.worktree.clone() },
            cost: Decimal::ZERO,
            tokens: Tokens::default(),
            finish: None,
            error: None,
        }
    }

    fn outcome(self, ending: Ending) -> RunOutcome {
        let finish = self.bus.transcript().answer().and_then(|(info, _)| info.finish);
        // With what its children used.
        let spent = self.kin.purse.spent();
        let outcome = RunOutcome {
            finish: finish.unwrap_or(FinishReason::Unknown),
            text: self.text(),
            cost: spent.cost,
            tokens: spent.tokens,
            steps: spent.steps,
            ending,
        };
        let session = self.bus.session().id.clone();
        if let Ending::Failed(error) = &outcome.ending {
            self.bus.emit(Event::Failed { session: session.clone(), error: error.clone() });
        }
        self.bus.emit(Event::Finished { session, outcome: outcome.clone() });
        outcome
    }
}

fn stopped(stop: Stop) -> Ending {
    match stop {
        Stop::Cancelled => Ending::Interrupted,
        Stop::Wall => Ending::Limit(Limit::Wall),
    }
}

#[cfg(test)]
mod tests;
