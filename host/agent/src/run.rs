//! The loop: look at the history, do the next thing, write it down, look again.

mod compact;
mod family;
mod letters;
mod relay;

use crate::answer::{AnswerCheck, Verdict};
use crate::builtin::{HostTool, Workbench};
use crate::bus::Bus;
use crate::calls::{Bench, Halt, Watch};
use crate::cancel::{Stop, Stopper};
use crate::compaction::CompactionOptions;
use crate::error::AgentError;
use crate::input::title;
use crate::loop_guard::LoopGuard;
use crate::nearby::{Nearby, Surroundings};
use crate::places::{Disk, Places};
use crate::plan::Switch;
use crate::prefix::{self, Instruction};
use crate::prompt::{Frame, LAST_STEP, Settings};
use crate::repair::repair;
use crate::retry::RetryPolicy;
use crate::roster::Roster;
use crate::step::{self, Bounds, Load, Step};
use crate::subagent::{Kin, Nursery};
use crate::toolset::Toolset;
use crate::transcript::visible_text;
use crate::turn::{Asking, Spent, Turn, Turned};
use letters::More;
use model::budget::{Limit, Limits, Offspring, Tokens, Used};
use model::event::{Ending, Event, EventSink, RunOutcome};
use model::hook::{Hooks, TurnContext, UserText};
use model::id::{MessageId, PartId};
use model::inbox::Inbox;
use model::message::{AssistantMessage, FilePart, FinishReason, Message, Part, PartBody, Paths, Turn as TurnTime};
use model::permission::{Gate, Policy};
use model::profile::Profile;
use model::provider::{Minds, Model, ModelRef, Provider};
use model::session::Session;
use model::store::Store;
use model::tool::Tools;
pub(crate) use relay::Voice;
use rust_decimal::Decimal;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The time of day. Waits use tokio's clock, which a test can stop.
pub trait Clock: Send + Sync {
    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64;
}

/// What a run works with. Cloned for each session that comes of it.
#[derive(Clone)]
pub struct Ports {
    pub provider: Arc<dyn Provider>,
    /// Where the models of other agents come from.
    pub minds: Arc<dyn Minds>,
    pub tools: Arc<dyn Tools>,
    /// Tools of the host beside those of the loop itself.
    pub host_tools: Vec<Arc<dyn HostTool>>,
    pub hooks: Arc<dyn Hooks>,
    pub store: Arc<dyn Store>,
    pub inbox: Arc<dyn Inbox>,
    pub gate: Arc<dyn Gate>,
    pub sink: Arc<dyn EventSink>,
    pub clock: Arc<dyn Clock>,
}

/// What is to be done.
#[derive(Clone)]
pub struct Job {
    /// New, or as it was loaded.
    pub session: Session,
    pub is_new: bool,
    /// Without text and files: go on with the session's last prompt, where it was not answered.
    pub prompt: Prompt,
    pub profile: Profile,
    pub model: Model,
    pub policy: Policy,
    pub limits: Limits,
    pub options: RunOptions,
    /// The agents that it may call on.
    pub roster: Arc<Roster>,
    pub offspring: Offspring,
}

#[derive(Clone, Debug, Default)]
pub struct Prompt {
    pub text: String,
    pub files: Vec<FilePart>,
    /// What the host adds for the model: the content of a file that was named, say.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    pub max_output_tokens: Option<u32>,
    pub temperature: Option<f64>,
    /// JSON Schema that the answer has to fit.
    pub schema: Option<Value>,
    /// Go on after a denial that would end the run.
    pub continue_on_deny: bool,
    /// What holds for all of the session: `AGENTS.md` and its like.
    pub instructions: Vec<Instruction>,
    /// Where instructions near a file come from.
    pub nearby: Option<Arc<dyn Nearby>>,
    pub retry: RetryPolicy,
    pub compaction: CompactionOptions,
    /// Writes the summaries, where there is one.
    pub small: Option<ModelRef>,
    /// Asked in this order where the model before fails for good.
    pub fallback: Vec<ModelRef>,
}

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
    let run = Run::open(job, ports, Arc::new(Disk), cancel, kin).await?;
    Ok(run.outcome(Ending::Done))
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
    let mut run = Run::open(job, ports, places, cancel, kin).await?;
    let ending = run.drive().await;
    run.nursery.close().await;
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
        if bench.watch.pardoned() {
            self.pardons += 1;
            self.pardoned = self.bus.transcript().last_call().cloned();
        }
        if let Some(agent) = self.switch.take() {
            self.hand_over(agent).await;
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

/// Told where a run goes on without a new prompt.
const BROKEN_OFF: &str = "Your last answer was broken off. Go on with the task.";

fn stopped(stop: Stop) -> Ending {
    match stop {
        Stop::Cancelled => Ending::Interrupted,
        Stop::Wall => Ending::Limit(Limit::Wall),
    }
}

impl<'a> Run<'a> {
    /// Loads and repairs the session, and writes the prompt down.
    async fn open(
        job: Job,
        ports: &'a Ports,
        places: Arc<dyn Places>,
        cancel: CancellationToken,
        kin: Kin,
    ) -> Result<Self, AgentError> {
        let Job { session, is_new, prompt, profile, model, policy, limits, options, roster, offspring: _ } = job;
        let stopper = Stopper::new(cancel, limits.wall);
        let answers = AnswerCheck::new(options.schema.as_ref())?;
        let history = if is_new { vec![] } else { ports.store.history(&session.id).await? };
        let hooks = ports.hooks.as_ref();
        let surroundings =
            options.nearby.clone().map(|n| Arc::new(Surroundings::new(n, &history, &options.instructions)));
        let prefix = prefix::freeze(&session, &profile, &options.instructions, &history, hooks).await;
        let set = Settings {
            max_output_tokens: options.max_output_tokens,
            temperature: options.temperature,
            schema: options.schema.clone(),
        };
        let frame = Frame::new(&session, &profile, prefix.blocks, set);
        let voice = Voice { provider: ports.provider.clone(), model, name: session.model.clone() };
        let mut run = Self {
            ports,
            places,
            bus: Bus::new(ports.store.clone(), ports.sink.clone(), session, history),
            frame,
            voice,
            fallback: options.fallback.iter().cloned().collect(),
            // Laid out once the session is open.
            tools: Arc::new(Workbench::new(ports.tools.clone(), vec![])),
            toolset: Arc::default(),
            surroundings,
            bounds: Bounds { limits, profile_steps: profile.steps },
            nursery: Nursery::new(kin.clone(), &stopper),
            kin,
            switch: Arc::default(),
            roster,
            policy,
            stopper,
            answers,
            agent: profile.name.clone(),
            profile,
            schema: options.schema.clone(),
            continue_on_deny: options.continue_on_deny,
            retry: options.retry.clone(),
            options,
            steps: 0,
            spent: Spent::default(),
            pardons: 0,
            pardoned: None,
            stops: 0,
        };
        let news = News { parts: prefix.news, is_fresh: prefix.is_fresh };
        run.begin(prompt, is_new, news).await?;
        run.equip().await;
        Ok(run)
    }

    async fn begin(&mut self, prompt: Prompt, is_new: bool, news: News) -> Result<(), AgentError> {
        let now = self.ports.clock.now_ms();
        let repairs = repair(self.bus.transcript().messages(), now);
        self.bus.stage(&repairs);
        if !is_new {
            self.close_family().await?;
            self.ports.inbox.put_back(&self.bus.session().id).await?;
        }
        let is_empty = prompt.text.trim().is_empty() && prompt.files.is_empty() && prompt.notes.is_empty();
        if is_empty && self.bus.transcript().prompt().is_none() && !self.has_letters().await? {
            return Err(AgentError::NothingToAnswer(self.bus.session().id.clone()));
        }
        let named = title(&prompt.text).filter(|_| self.bus.session().title.is_empty());
        if is_new || !is_empty {
            self.bus.edit_session(|s| {
                s.time.updated = now;
                s.title = named.unwrap_or_else(|| std::mem::take(&mut s.title));
            });
        }
        if !is_empty {
            self.prompted(prompt, news, now).await;
        } else {
            self.attach(news);
            if self.is_broken_off() {
                self.note(BROKEN_OFF.into());
            }
        }
        Ok(self.bus.open().await?)
    }

    /// Whether the conversation ends with words of the model's that were cut off: servers want somebody to speak after them.
    fn is_broken_off(&mut self) -> bool {
        let load = Load::default();
        let is_open = !matches!(
            step::next(self.bus.transcript().messages(), &Bounds::default(), &Used::default(), &load),
            Step::Finish
        );
        is_open && self.bus.conversation(self.voice.view()).ends_with_answer()
    }

    /// Frozen blocks lie with the prompt that they were first sent before. What else is new waits for the next one: what was sent
    /// stays as it was.
    fn attach(&mut self, news: News) {
        let Some(message_id) = self.bus.transcript().prompt().filter(|_| news.is_fresh).cloned() else { return };
        for body in news.parts {
            let session_id = self.bus.session().id.clone();
            self.bus.add_part(Part { id: PartId::new(), session_id, message_id: message_id.clone(), body });
        }
    }

    async fn prompted(&mut self, mut prompt: Prompt, news: News, now: u64) {
        let said = UserText { text: std::mem::take(&mut prompt.text), notes: std::mem::take(&mut prompt.notes) };
        let UserText { text, notes } = self.ports.hooks.message(&self.context(), said).await;
        let prompt = Prompt { text, notes, ..prompt };
        let session = self.bus.session().clone();
        let (info, parts) = self.drafting(&session, now).prompt(prompt, self.bus.transcript().messages(), news.parts);
        self.bus.add_message(info, parts);
    }
}

/// What a run has to write down before it begins.
#[derive(Default)]
struct News {
    parts: Vec<PartBody>,
    is_fresh: bool,
}

#[cfg(test)]
mod tests;
