//! Which of a step's calls may run now. Results are those of one call after another: a call waits for every earlier one that it
//! conflicts with. A call that only reads may start while the model is still speaking; one that acts waits for the good end of
//! the step. The same call twice is run once, where that comes to the same.

use super::doom::Watch;
use super::progress::{Board, Pen};
use super::scopes::Footprint;
use super::stage::{Outcome, Prepared, Refused, Settled, broken, carry_out, prepare, refuse};
use super::tail::{self, Tail};
use super::twins::{Call, twin_of};
use crate::loop_guard::{CallMark, Circle};
use crate::nearby::Surroundings;
use crate::places::Places;
use crate::run::Clock;
use crate::toolset::Toolset;
use model::fault::FailureKind;
use model::hook::{CallContext, Hooks};
use model::id::{CallId, MessageId, PartId};
use model::message::FinishReason;
use model::permission::{Action, Actor, Gate};
use model::provider::ModelCall;
use model::session::Session;
use model::store::Store;
use model::tool::{Progress, Tools};
use model::tool_state::Metadata;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Calls that run at one time. Child sessions do not count: they wait more than they work, and have a bound of their own.
const MAX_RUNNING: usize = 16;
/// How long calls that were cancelled have to end by themselves: within the 250 ms that a cancelled run has in all.
const GRACE: Duration = Duration::from_millis(180);

/// What all calls of a step work with.
pub(crate) struct Bench {
    pub session: Session,
    pub message: MessageId,
    pub agent: String,
    pub toolset: Arc<Toolset>,
    pub tools: Arc<dyn Tools>,
    pub hooks: Arc<dyn Hooks>,
    pub gate: Arc<dyn Gate>,
    pub store: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
    pub places: Arc<dyn Places>,
    pub watch: Watch,
    /// What lies near the files that calls read.
    pub surroundings: Option<Arc<Surroundings>>,
}

impl Bench {
    pub(super) fn actor(&self, call: &ModelCall, tool: &str) -> Actor {
        Actor {
            session: self.session.id.clone(),
            message: self.message.clone(),
            call: call.id.clone(),
            agent: self.agent.clone(),
            tool: tool.to_owned(),
            worktree: self.session.worktree.clone(),
        }
    }

    pub(super) fn context(&self, call: &ModelCall, tool: &str) -> CallContext {
        CallContext {
            session: self.session.id.clone(),
            call: call.id.clone(),
            agent: self.agent.clone(),
            tool: tool.to_owned(),
            workspace: self.session.directory.clone(),
            now_ms: self.clock.now_ms(),
        }
    }
}

/// The calls of one attempt, in the model's order.
pub(crate) struct Crew {
    bench: Arc<Bench>,
    slots: Vec<Slot>,
    tasks: JoinSet<Report>,
    owners: HashMap<Id, usize>,
    /// Calls that take the place of calls that have ended.
    tails: Vec<(usize, Tail)>,
    board: Arc<Board>,
    last_word: Option<Instant>,
    cancel: CancellationToken,
    /// How the model's step ended, once it has.
    ended: Option<FinishReason>,
    acted: bool,
}

struct Slot {
    part: PartId,
    phase: Phase,
    /// `Everything` as long as it is not known.
    footprint: Footprint,
    /// What the call is, once it is prepared.
    mark: Option<CallMark>,
    /// The same call twice comes to the same as once.
    is_repeatable: bool,
    /// What came of it, for those that are the same.
    result: Option<Settled>,
    id: CallId,
    /// The tool that is called now.
    tool: String,
    /// The tools whose results named the call that is now made in its place.
    behind: Vec<String>,
}

impl Slot {
    fn as_call(&self) -> Call<'_> {
        Call { mark: self.mark, is_repeatable: self.is_repeatable, footprint: &self.footprint }
    }
}

enum Phase {
    /// No arguments at all: whether they are complete shows at the end of the step.
    Held(ModelCall),
    Preparing,
    Ready(Box<Prepared>),
    Refused(Box<(ModelCall, Refused)>),
    Running,
    /// Has the result of the call in this slot, which is the same and still runs.
    Shared(usize),
    Settled,
}

enum Report {
    Prepared(ModelCall, Result<Prepared, Refused>),
    Settled(Settled),
}

/// A call that may start now. Its start has to be in the ledger before, if it acts.
pub(crate) struct Start {
    slot: usize,
    pub part: PartId,
    pub tool: String,
    pub input: Value,
    pub acts: bool,
}

/// What the calls have come to.
pub(crate) enum Happened {
    Progress(Vec<(PartId, Progress)>),
    Settled(Vec<(PartId, Settled)>),
}

impl Crew {
    pub(crate) fn new(bench: Arc<Bench>, cancel: CancellationToken) -> Self {
        Self {
            bench,
            slots: vec![],
            tasks: JoinSet::new(),
            owners: HashMap::new(),
            tails: vec![],
            board: Arc::default(),
            last_word: None,
            cancel,
            ended: None,
            acted: false,
        }
    }

    /// Takes a call that is complete in the stream.
    pub(crate) async fn add(&mut self, part: PartId, call: ModelCall) {
        let slot = self.slots.len();
        let blank = call.input.trim().is_empty();
        self.slots.push(Slot {
            part,
            phase: Phase::Preparing,
            footprint: Footprint::Everything,
            mark: None,
            is_repeatable: false,
            result: None,
            id: call.id.clone(),
            tool: call.name.clone(),
            behind: vec![],
        });
        if blank && self.ended.is_none() {
            self.slots[slot].phase = Phase::Held(call);
        } else {
            self.prepare(slot, call).await;
        }
    }

    /// Nearly always done at the first look; only a hook can make it take longer.
    async fn prepare(&mut self, slot: usize, call: ModelCall) {
        let mut preparing = Box::pin(prepare(call.clone(), self.bench.clone()));
        match futures::poll!(&mut preparing) {
            std::task::Poll::Ready(result) => self.prepared(slot, call, result),
            std::task::Poll::Pending => {
                let task = self.tasks.spawn(async move { Report::Prepared(call, preparing.await) });
                self.owners.insert(task.id(), slot);
            }
        }
    }

    fn prepared(&mut self, slot: usize, call: ModelCall, result: Result<Prepared, Refused>) {
        let slot = &mut self.slots[slot];
        if !matches!(slot.phase, Phase::Preparing) {
            return;
        }
        match result {
            Ok(prepared) => {
                slot.footprint = prepared.footprint().clone();
                slot.mark = Some(prepared.mark());
                slot.is_repeatable = prepared.is_repeatable();
                slot.phase = Phase::Ready(Box::new(prepared));
            }
            // It touches nothing: nobody has to wait for it.
            Err(refused) => {
                slot.footprint = Footprint::Paths { reads: vec![], writes: vec![] };
                slot.mark = Some(refused.mark(&call));
                slot.phase = Phase::Refused(Box::new((call, refused)));
            }
        }
    }

    /// Whether the call goes round in circles, as far as the calls before it are known.
    fn suspicion(&self, slot: usize) -> Option<Circle> {
        let ahead: Option<Vec<CallMark>> = self.slots[..slot].iter().map(|s| s.mark).collect();
        self.bench.watch.suspects(&ahead?, self.slots[slot].mark?)
    }

    /// The provider ran this call itself: it is none of ours.
    pub(crate) fn withdraw(&mut self, part: &PartId) {
        if let Some(slot) = self.slots.iter_mut().find(|s| s.part == *part) {
            slot.phase = Phase::Settled;
        }
    }

    /// The model's step has ended well: calls that act may start.
    pub(crate) async fn step_ended(&mut self, reason: FinishReason) {
        self.ended = Some(reason);
        for slot in 0..self.slots.len() {
            let held = std::mem::replace(&mut self.slots[slot].phase, Phase::Preparing);
            match held {
                Phase::Held(call) if reason == FinishReason::Length => {
                    let cut = broken("", "they were cut off at the limit of the answer's length");
                    self.prepared(slot, call, Err(cut));
                }
                Phase::Held(call) => self.prepare(slot, call).await,
                other => self.slots[slot].phase = other,
            }
        }
    }

    /// Refusals that may be told now. Not before the step has ended: until then the provider may answer a call itself.
    pub(crate) fn refusals(&mut self) -> Vec<(PartId, Settled)> {
        if self.ended.is_none() {
            return vec![];
        }
        let mut out = vec![];
        for slot in 0..self.slots.len() {
            let circle = self.suspicion(slot);
            match (std::mem::replace(&mut self.slots[slot].phase, Phase::Settled), circle) {
                (Phase::Refused(refused), None) => {
                    out.push((self.slots[slot].part.clone(), Settled::from(refused.1)));
                }
                (Phase::Refused(refused), Some(circle)) => {
                    self.slots[slot].phase = Phase::Running;
                    let (call, refused) = *refused;
                    let (bench, cancel) = (self.bench.clone(), self.cancel.clone());
                    self.run(slot, async move { refuse(call, refused, circle, bench, cancel).await });
                }
                (other, _) => self.slots[slot].phase = other,
            }
        }
        out
    }

    fn run(&mut self, slot: usize, work: impl Future<Output = Settled> + Send + 'static) {
        let task = self.tasks.spawn(async move { Report::Settled(work.await) });
        self.owners.insert(task.id(), slot);
    }

    /// Calls that may start now, in order.
    pub(crate) fn startable(&self) -> Vec<Start> {
        let is_child = |i: usize| self.slots[i].footprint == Footprint::Child;
        let running = |i: &usize| matches!(self.slots[*i].phase, Phase::Running) && !is_child(*i);
        let mut free = MAX_RUNNING.saturating_sub((0..self.slots.len()).filter(running).count());
        let mut starts = vec![];
        for start in (0..self.slots.len()).filter_map(|i| self.start_of(i)) {
            if is_child(start.slot) {
                starts.push(start);
            } else if let Some(left) = free.checked_sub(1) {
                free = left;
                starts.push(start);
            }
        }
        starts
    }

    fn start_of(&self, slot: usize) -> Option<Start> {
        let this = &self.slots[slot];
        let Phase::Ready(prepared) = &this.phase else { return None };
        let acts = prepared.acts();
        let waits = |s: &Slot| !matches!(s.phase, Phase::Settled) && s.footprint.conflicts(&this.footprint);
        if acts && self.ended.is_none() || self.slots[..slot].iter().any(waits) {
            return None;
        }
        let (tool, input) = (prepared.tool_name().to_owned(), prepared.input().clone());
        Some(Start { slot, part: this.part.clone(), tool, input, acts })
    }

    /// Whether a call that acts was started.
    pub(crate) fn has_acted(&self) -> bool {
        self.acted
    }

    /// Starts a call that [`Crew::startable`] named.
    pub(crate) fn start(&mut self, start: &Start) {
        self.acted |= start.acts;
        let suspicion = self.suspicion(start.slot);
        if suspicion.is_none() && self.share(start.slot) {
            return;
        }
        let slot = &mut self.slots[start.slot];
        match std::mem::replace(&mut slot.phase, Phase::Running) {
            Phase::Ready(prepared) => {
                let pen = Arc::new(Pen { board: self.board.clone(), part: slot.part.clone() });
                let (bench, cancel) = (self.bench.clone(), self.cancel.clone());
                self.run(start.slot, async move { carry_out(*prepared, suspicion, bench, pen, cancel).await });
            }
            other => slot.phase = other,
        }
    }

    /// Lets a call have the result of the same call before it. False where there is none.
    fn share(&mut self, slot: usize) -> bool {
        let before = self.slots[..slot].iter().map(Slot::as_call).enumerate();
        let Some(twin) = twin_of(before, &self.slots[slot].as_call()) else { return false };
        match (&self.slots[twin].phase, &self.slots[twin].result) {
            (Phase::Running | Phase::Shared(_), _) => self.slots[slot].phase = Phase::Shared(twin),
            (Phase::Settled, Some(result)) => {
                let result = result.clone();
                self.slots[slot].phase = Phase::Running;
                self.run(slot, async move { result });
            }
            _ => return false,
        }
        true
    }

    /// The call that takes the place of one that ended so, where it may.
    fn tail_of(&self, slot: usize, result: &Settled) -> Option<Tail> {
        let this = &self.slots[slot];
        let tail = tail::wanted(result)?;
        let call = ModelCall { id: this.id.clone(), name: tail.tool.clone(), input: String::new(), opaque: None };
        let allowed = || self.bench.gate.decide(&self.bench.actor(&call, &tail.tool), &tail.act()) == Action::Allow;
        (this.behind.len() < tail::MOST && !self.cancel.is_cancelled() && allowed()).then_some(tail)
    }

    /// It is prepared like any other. What has started beside it is not waited for: it came after the call that asked for it.
    async fn follow(&mut self) {
        for (slot, Tail { tool, input }) in std::mem::take(&mut self.tails) {
            let id = self.slots[slot].id.clone();
            self.prepare(slot, ModelCall { id, name: tool, input: input.to_string(), opaque: None }).await;
        }
    }

    /// Ends a call, and those that have its result.
    fn settle(&mut self, slot: usize, mut result: Settled, settled: &mut Vec<(PartId, Settled)>) {
        if let Some(tail) = self.tail_of(slot, &result) {
            let this = &mut self.slots[slot];
            this.behind.push(std::mem::replace(&mut this.tool, tail.tool.clone()));
            (this.phase, this.footprint, this.is_repeatable) = (Phase::Preparing, Footprint::Everything, false);
            self.tails.push((slot, tail));
            return;
        }
        tail::note(&mut result, &self.slots[slot].behind);
        self.slots[slot].phase = Phase::Settled;
        let is_mine = |s: &Slot| matches!(s.phase, Phase::Shared(twin) if twin == slot);
        let sharers: Vec<usize> = (slot + 1..self.slots.len()).filter(|i| is_mine(&self.slots[*i])).collect();
        for sharer in sharers {
            self.settle(sharer, result.clone(), settled);
        }
        if self.slots[slot].is_repeatable {
            self.slots[slot].result = Some(result.clone());
        }
        settled.push((self.slots[slot].part.clone(), result));
    }

    /// Whether every call has its result.
    pub(crate) fn is_settled(&self) -> bool {
        self.slots.iter().all(|s| matches!(s.phase, Phase::Settled))
    }

    /// The next news; never resolves where nothing runs. May be dropped and asked again.
    pub(crate) async fn next(&mut self) -> Happened {
        let joined = tokio::select! {
            biased;
            Some(joined) = self.tasks.join_next_with_id() => joined,
            words = self.board.next(self.last_word) => {
                self.last_word = Some(Instant::now());
                return Happened::Progress(words);
            }
        };
        let mut settled = vec![];
        self.take(joined, &mut settled);
        while let Some(joined) = self.tasks.try_join_next_with_id() {
            self.take(joined, &mut settled);
        }
        self.follow().await;
        Happened::Settled(settled)
    }

    fn take(&mut self, joined: Result<(Id, Report), JoinError>, settled: &mut Vec<(PartId, Settled)>) {
        let (id, report) = match joined {
            Ok((id, report)) => (id, report),
            Err(error) => (error.id(), Report::Settled(panicked(&error))),
        };
        let Some(slot) = self.owners.remove(&id) else { return };
        match report {
            Report::Prepared(call, result) => self.prepared(slot, call, result),
            Report::Settled(result) => self.settle(slot, result, settled),
        }
    }

    /// Cancels all calls and gives back what those that end in time came to. The rest is ended.
    pub(crate) async fn stop(mut self) -> Vec<(PartId, Settled)> {
        self.cancel.cancel();
        let deadline = Instant::now() + GRACE;
        let mut settled = vec![];
        while let Ok(Some(joined)) = tokio::time::timeout_at(deadline, self.tasks.join_next_with_id()).await {
            self.take(joined, &mut settled);
        }
        settled
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// A call whose code in the host broke down: it is the call's failure, not the run's.
fn panicked(error: &JoinError) -> Settled {
    tracing::error!(%error, "a tool call broke down in the host");
    let message = "The call broke down in the host. This is a fault of the program, not of the call.".to_owned();
    let outcome = Outcome::Failed { kind: FailureKind::Trap, message, metadata: Metadata::new() };
    Settled { outcome, halt: None }
}
