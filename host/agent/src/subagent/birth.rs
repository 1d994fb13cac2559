//! What a child takes from its parent, and what it does not.

use super::aside::Aside;
use super::nursery::Child;
use super::{Kin, Nursery};
use crate::cancel::Stopper;
use crate::places::Places;
use crate::roster::Roster;
use crate::run::{Job, Ports, Prompt, RunOptions};
use model::budget::{Limits, Tokens};
use model::fault::FailureKind;
use model::id::SessionId;
use model::permission::{Action, Policy, Rule};
use model::profile::Profile;
use model::provider::{Mind, Model};
use model::session::{Session, SessionTime};
use model::tool::ToolFailure;
use rust_decimal::Decimal;
use std::sync::Arc;

/// What a child may do only where its agent's own rules speak of it (agent-core, section 6.12).
const UNLESS_NAMED: &[&str] = &["task", "todowrite"];

/// A session that may have children, as it stands now.
pub(crate) struct Parent {
    pub session: Session,
    pub policy: Policy,
    pub model: Model,
    pub options: RunOptions,
    pub roster: Arc<Roster>,
    pub ports: Ports,
    pub places: Arc<dyn Places>,
    pub stopper: Stopper,
    /// Names of the tools that its children may see at most; `None` = all.
    pub within: Option<Arc<[String]>>,
}

/// What a child is asked to do.
pub(super) struct Errand<'a> {
    pub agent: &'a Profile,
    pub prompt: String,
    pub title: String,
    /// The session that goes on.
    pub old: Option<Session>,
}

impl Parent {
    pub(super) fn bear(&self, nursery: &Nursery, errand: Errand<'_>) -> Result<Child, ToolFailure> {
        let many = || {
            let text = "This run has started as many tasks as it may. Do the rest yourself, or say what is left.";
            ToolFailure::new(FailureKind::Limit, text)
        };
        let kin = nursery.kin.child(self.within.clone()).ok_or_else(many)?;
        let Errand { agent, prompt, title, old } = errand;
        let mut ports = self.ports.clone();
        ports.sink = Arc::new(Aside { sink: self.ports.sink.clone(), agent: agent.name.as_str().into() });
        let mut session = old.clone().unwrap_or_else(|| self.session_for(agent, title));
        let model = self.mind_for(agent, &mut ports, &mut session)?;
        let job = Job {
            session,
            is_new: old.is_none(),
            prompt: Prompt { text: prompt, ..Prompt::default() },
            profile: agent.clone(),
            model,
            policy: self.policy.narrowed(format!("agent {}", agent.name), rules(agent)),
            limits: Limits { wall: self.stopper.left(), ..Limits::default() },
            options: RunOptions { schema: None, temperature: None, ..self.options.clone() },
            roster: self.roster.clone(),
            offspring: kin.family.offspring,
        };
        Ok(Child { job, ports, places: self.places.clone(), kin })
    }

    fn session_for(&self, agent: &Profile, title: String) -> Session {
        let now = self.ports.clock.now_ms();
        Session {
            id: SessionId::new(),
            parent_id: Some(self.session.id.clone()),
            summary: None,
            labels: model::flow::Labels::default(),
            title: format!("{title} (@{} subagent)", agent.name),
            agent: agent.name.clone(),
            cost: Decimal::ZERO,
            tokens: Tokens::default(),
            time: SessionTime { created: now, updated: now },
            ..self.session.clone()
        }
    }

    /// The agent's own model, else the parent's.
    fn mind_for(&self, agent: &Profile, ports: &mut Ports, session: &mut Session) -> Result<Model, ToolFailure> {
        let wanted = agent.model.as_ref().filter(|m| **m != self.session.model);
        let Some(wanted) = wanted else {
            session.model = self.session.model.clone();
            return Ok(self.model.clone());
        };
        let Mind { provider, model } = ports.minds.mind(wanted).map_err(|why| {
            let text = format!("The model {wanted} of the agent {} cannot be used: {why}.", agent.name);
            ToolFailure::new(FailureKind::Unavailable, text)
        })?;
        ports.provider = provider;
        session.model = wanted.clone();
        Ok(model)
    }
}

/// The rules that narrow a child. The agent's own come last: inside of one layer the last match wins.
fn rules(agent: &Profile) -> Vec<Rule> {
    let deny = |name: &&str| Rule::new(*name, "*", Action::Deny);
    let is_named = |name: &&&str| agent.rules.iter().any(|r| r.permission == ***name);
    let implied = UNLESS_NAMED.iter().filter(|n| !is_named(n)).map(deny);
    implied.chain(agent.rules.iter().cloned()).collect()
}

impl Nursery {
    /// The names that a child of this session may see, where not all.
    pub(crate) fn within(kin: &Kin, profile: &Profile, names: Vec<String>) -> Option<Arc<[String]>> {
        (profile.tools.is_some() || kin.within.is_some()).then(|| names.into())
    }
}
