//! Where acts are judged, questions put to the person, and answers remembered (agent-core, section 7.5, with the changes of its
//! section 0). One gate per run.
//!
//! Questions go to the person one at a time, in the order in which they came up. Before one is shown it is judged again: an
//! *always* given meanwhile may have answered it. A deny is final, whatever was approved.

mod desk;
mod flow;
mod needs;
mod opinion;
mod posture;

#[cfg(test)]
mod tests;

pub use posture::{default_rules, expand_home, readable_rules};

use async_trait::async_trait;
use desk::Member;
use model::event::{Event, EventSink};
use model::flow::{Flow, Labels};
use model::hook::{Hooks, NoHooks};
use model::id::{AskId, SessionId};
use model::permission::{
    Act, Action, Actor, Ask, Asker, DOOM_LOOP, Decision, Denial, Gate, Policy, Reply, Rule, Standing,
};
use model::question::{Answers, Inquiry};
use model::store::Store;
use needs::Need;
use opinion::Course;
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// What a gate starts with.
#[derive(Clone, Debug, Default)]
pub struct GateOptions {
    pub policy: Policy,
    /// Given for good in this worktree, as the store knows them.
    pub approvals: Vec<Rule>,
    pub home: Option<PathBuf>,
    pub flow: Flow,
}

/// The gate of one run and of all sessions that come of it. [`Actor::worktree`] and the paths of acts are canonical: the gate compares them by name.
pub struct Gatekeeper {
    policy: Arc<Policy>,
    standings: RwLock<HashMap<SessionId, Member>>,
    home: Option<PathBuf>,
    flow: Flow,
    store: Arc<dyn Store>,
    asker: Arc<dyn Asker>,
    sink: Arc<dyn EventSink>,
    hooks: Arc<dyn Hooks>,
    state: Mutex<State>,
    /// Held while a question is with the person. First come, first served.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    approvals: Vec<Rule>,
    blocked: Option<Denial>,
    /// What each family has read of, by its root.
    labels: HashMap<SessionId, Labels>,
    /// Questions that wait for their turn.
    waiting: HashMap<AskId, Waiting>,
}

struct Waiting {
    session: SessionId,
    needs: Vec<Need>,
    /// A hook wants a person to look: no approval answers it.
    insisted: bool,
    settle: oneshot::Sender<Result<(), Denial>>,
}

/// What the rules and approvals make of a list of needs.
enum Verdict {
    Allowed,
    Denied(Rule),
    Open(Vec<Need>),
}

impl Gatekeeper {
    #[must_use]
    pub fn new(
        options: GateOptions,
        store: Arc<dyn Store>,
        asker: Arc<dyn Asker>,
        sink: Arc<dyn EventSink>,
    ) -> Arc<Self> {
        Self::hooked(options, store, asker, sink, Arc::new(NoHooks))
    }

    /// As [`Gatekeeper::new`], with hooks that have a say.
    #[must_use]
    pub fn hooked(
        options: GateOptions,
        store: Arc<dyn Store>,
        asker: Arc<dyn Asker>,
        sink: Arc<dyn EventSink>,
        hooks: Arc<dyn Hooks>,
    ) -> Arc<Self> {
        let state = State { approvals: options.approvals, ..State::default() };
        Arc::new(Self {
            policy: Arc::new(options.policy),
            standings: RwLock::default(),
            home: options.home,
            flow: options.flow,
            store,
            asker,
            sink,
            hooks,
            state: Mutex::new(state),
            turn: tokio::sync::Mutex::new(()),
        })
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// A denial that must end the run (a person's no without a word of what to do instead, nobody to answer): the first of
    /// this run. What a rule denies ends nothing.
    pub fn blocked(&self) -> Option<Denial> {
        self.state().blocked.clone()
    }

    /// The state is whole between any two statements, so a panic elsewhere leaves nothing half done.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn needs(&self, actor: &Actor, acts: &[Act]) -> Vec<Need> {
        let mut needs: Vec<Need> = Vec::new();
        for need in acts.iter().flat_map(|act| needs::of(actor, act, self.home.as_deref())) {
            if !needs.contains(&need) {
                needs.push(need);
            }
        }
        needs
    }

    fn judge(&self, session: &SessionId, approvals: &[Rule], needs: &[Need]) -> Verdict {
        let policy = self.policy_of(session);
        let mut open = Vec::new();
        for need in needs {
            let Decision { action, rule } = need.judge(&policy, approvals);
            match (action, rule) {
                (Action::Deny, Some(rule)) => return Verdict::Denied(rule),
                (Action::Allow, _) => {}
                _ => open.push(need.clone()),
            }
        }
        if open.is_empty() { Verdict::Allowed } else { Verdict::Open(open) }
    }

    /// Waits for the turn, then puts the question; anything that settles it earlier wins.
    async fn ask(
        &self,
        actor: &Actor,
        needs: Vec<Need>,
        insisted: bool,
        metadata: Value,
        cancel: &CancellationToken,
    ) -> Result<(), Denial> {
        let id = AskId::new();
        let (settle, mut settled) = oneshot::channel();
        let waiting = Waiting { session: actor.session.clone(), needs: needs.clone(), insisted, settle };
        self.state().waiting.insert(id.clone(), waiting);
        // A future that is dropped while it waits must not stay in the list.
        let _entry = Entry { gate: self, id: id.clone() };
        let _turn = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Denial::Cancelled),
            Ok(verdict) = &mut settled => return verdict,
            turn = self.turn.lock() => turn,
        };
        let verdict = {
            let mut state = self.state();
            state.waiting.remove(&id);
            self.judge(&actor.session, &state.approvals, &needs)
        };
        // Settled while the turn came.
        if let Ok(verdict) = settled.try_recv() {
            return verdict;
        }
        match verdict {
            Verdict::Allowed if insisted => {
                self.put(actor, self.question(id, actor, &needs, metadata), &needs, cancel).await
            }
            Verdict::Allowed => Ok(()),
            Verdict::Denied(rule) => Err(Denial::Rule(rule)),
            Verdict::Open(open) => self.put(actor, self.question(id, actor, &open, metadata), &open, cancel).await,
        }
    }

    /// Shows the question and acts on the answer.
    async fn put(&self, actor: &Actor, ask: Ask, open: &[Need], cancel: &CancellationToken) -> Result<(), Denial> {
        self.sink.emit(Event::Asked { ask: ask.clone() });
        let reply = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Denial::Cancelled),
            reply = self.asker.ask(&ask, cancel) => Ok(reply),
        };
        let answer = reply.as_ref().ok().cloned().flatten();
        self.sink.emit(Event::Answered { ask, reply: answer });
        match reply? {
            Some(Reply::Once) => Ok(()),
            Some(Reply::Always) => {
                self.approve(&actor.worktree, open).await;
                Ok(())
            }
            Some(Reply::Reject { message }) if is_loop(open) => Err(Denial::Rejected(message)),
            Some(Reply::Reject { message }) => Err(self.reject(&actor.session, message, open)),
            // An asker that gives up since the run was cancelled says nothing of who is there.
            None if cancel.is_cancelled() => Err(Denial::Cancelled),
            None => Err(self.block(Denial::Unanswered, open)),
        }
    }

    /// Remembers what was approved, and lets those pass who waited for just that.
    async fn approve(&self, worktree: &Path, open: &[Need]) {
        let rules: Vec<Rule> = open
            .iter()
            .flat_map(|n| {
                n.always.iter().map(|pattern| Rule::new(n.permission.clone(), pattern.clone(), Action::Allow))
            })
            .collect();
        {
            let mut state = self.state();
            for rule in &rules {
                if !state.approvals.contains(rule) {
                    state.approvals.push(rule.clone());
                }
            }
            let approvals = state.approvals.clone();
            let passes =
                |w: &Waiting| !w.insisted && matches!(self.judge(&w.session, &approvals, &w.needs), Verdict::Allowed);
            settle(&mut state, passes, &Ok(()));
        }
        if rules.is_empty() {
            return;
        }
        // The approval holds for this run all the same.
        if let Err(error) = self.store.approve(worktree, &rules).await {
            tracing::warn!(%error, "an approval could not be stored");
        }
    }

    /// A bare no ends the run, and so is for all of the family that wait. With a word of what to do instead it is for this session,
    /// and the run goes on.
    fn reject(&self, session: &SessionId, message: Option<String>, open: &[Need]) -> Denial {
        let denial = Denial::Rejected(message);
        let is_bare = denial == Denial::Rejected(None);
        let root = self.root_of(session);
        let fits = |w: &Waiting| w.session == *session || is_bare && self.root_of(&w.session) == root;
        settle(&mut self.state(), fits, &Err(denial.clone()));
        if is_bare { self.block(denial, open) } else { denial }
    }

    /// A loop that nobody lets go on is the loop's own affair.
    fn block(&self, denial: Denial, open: &[Need]) -> Denial {
        if is_loop(open) {
            return denial;
        }
        self.state().blocked.get_or_insert(denial).clone()
    }
}

fn is_loop(open: &[Need]) -> bool {
    open.iter().all(|n| n.permission == DOOM_LOOP)
}

/// Gives `verdict` to all that wait and fit.
fn settle(state: &mut State, fits: impl Fn(&Waiting) -> bool, verdict: &Result<(), Denial>) {
    for (_, waiting) in state.waiting.extract_if(|_, w| fits(w)) {
        // Whoever is gone has been cancelled.
        let _ = waiting.settle.send(verdict.clone());
    }
}

/// The place of one question in the list of those that wait.
struct Entry<'g> {
    gate: &'g Gatekeeper,
    id: AskId,
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.gate.state().waiting.remove(&self.id);
    }
}

#[async_trait]
impl Gate for Gatekeeper {
    fn enrol(&self, session: &SessionId, standing: Standing) {
        self.seat(session, standing);
    }

    fn dismiss(&self, session: &SessionId) {
        self.unseat(session);
    }

    async fn consult(&self, inquiry: Inquiry, cancel: &CancellationToken) -> Option<Answers> {
        self.inquire(inquiry, cancel).await
    }

    fn blocked(&self) -> Option<Denial> {
        // The inherent one: the loop sees the gate through its port only.
        Gatekeeper::blocked(self)
    }

    fn forgive(&self) {
        self.state().blocked = None;
    }

    fn taint(&self, session: &SessionId, labels: &Labels) {
        self.label(session, labels);
    }

    fn labels(&self, session: &SessionId) -> Labels {
        self.labels_of(session)
    }

    fn decide(&self, actor: &Actor, act: &Act) -> Action {
        let approvals = self.state().approvals.clone();
        let needs = self.needs(actor, std::slice::from_ref(act));
        let policy = self.policy_of(&actor.session);
        let by_rules = needs.iter().map(|n| n.judge(&policy, &approvals).action).max().unwrap_or(Action::Allow);
        self.flows(&actor.session, &[], &needs).map_or(by_rules, |rule| by_rules.max(rule.action))
    }

    fn allowed_by(&self, actor: &Actor, act: &Act) -> Option<Rule> {
        let approvals = self.state().approvals.clone();
        let needs = self.needs(actor, std::slice::from_ref(act));
        let policy = self.policy_of(&actor.session);
        let decision = needs.first()?.judge(&policy, &approvals);
        decision.rule.filter(|_| decision.action == Action::Allow)
    }

    fn missing(&self, actor: &Actor, acts: &[Act]) -> Option<Vec<Rule>> {
        let needs = self.needs(actor, acts);
        if self.flows(&actor.session, acts, &needs).is_some() {
            return None;
        }
        match self.judge(&actor.session, &self.state().approvals, &needs) {
            Verdict::Allowed => Some(Vec::new()),
            Verdict::Denied(_) => None,
            Verdict::Open(open) => {
                let mut rules = Vec::new();
                for need in &open {
                    let rule = need.rule()?;
                    // An opaque line of one command is two needs with one text.
                    if !rules.contains(&rule) {
                        rules.push(rule);
                    }
                }
                Some(rules)
            }
        }
    }

    async fn permit(
        &self,
        actor: &Actor,
        acts: &[Act],
        metadata: Value,
        cancel: &CancellationToken,
    ) -> Result<(), Denial> {
        let needs = self.needs(actor, acts);
        let verdict = self.judge(&actor.session, &self.state().approvals, &needs);
        let rule = self.flows(&actor.session, acts, &needs);
        let metadata = flow::told(metadata, rule.as_ref());
        match flow::over(self.course(actor, &needs, verdict, cancel).await, rule) {
            Course::Pass => {}
            Course::Refuse(denial) => return Err(denial),
            Course::Ask => self.ask(actor, needs, false, metadata, cancel).await?,
            Course::Insist => self.ask(actor, needs, true, metadata, cancel).await?,
        }
        self.label(&actor.session, &flow::brought_by(acts));
        Ok(())
    }
}
