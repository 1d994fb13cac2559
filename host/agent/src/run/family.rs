//! The agent that leads a run, the children it may have, and what a killed run left of them.

use super::Run;
use crate::builtin::{AskPerson, HostTool, Workbench};
use crate::error::AgentError;
use crate::plan::{PlanExit, handed_over};
use crate::repair::repair;
use crate::rewind::{Checkpoint, REWIND, Rewind};
use crate::run::Ports;
use crate::subagent::{Kin, Nursery, Parent, SESSION, Task};
use crate::toolset::Toolset;
use model::id::SessionId;
use model::message::{PartBody, WithParts};
use model::permission::Standing;
use model::store::StoreError;
use model::tool::Tools;
use model::tool_state::ToolState;
use std::sync::Arc;

impl Run<'_> {
    /// Lays the tools out that the agent of this moment may use.
    pub(super) async fn equip(&mut self) {
        let mut host = self.ports.host_tools.clone();
        // A child's questions and plans would be its parent's affair, not the person's.
        if self.kin.is_head() {
            host.push(Arc::new(AskPerson::new(self.ports.gate.clone())));
            host.push(Arc::new(PlanExit(self.switch.clone())));
            host.extend(self.way_back());
        }
        host.extend(self.keepers());
        if self.kin.may_beget() {
            let bare = Workbench::new(self.ports.tools.clone(), host.clone());
            let within = Nursery::within(&self.kin, &self.profile, self.shown(&bare).names());
            let task = Task::new(self.parent(within), self.nursery.clone());
            host.extend(task.map(|t| Arc::new(t) as Arc<dyn HostTool>));
        }
        let bench = Workbench::new(self.ports.tools.clone(), host);
        let shown = self.shown(&bench).described(self.ports.hooks.as_ref(), &self.context()).await;
        self.toolset = Arc::new(shown);
        self.tools = Arc::new(bench);
    }

    /// Where a rule opens it.
    fn way_back(&self) -> Vec<Arc<dyn HostTool>> {
        if self.ports.rewinder.is_none() || self.policy.denies_all(REWIND) {
            return vec![];
        }
        vec![Arc::new(Checkpoint), Arc::new(Rewind(self.wish.clone()))]
    }

    /// What of the tools the model sees.
    fn shown(&self, bench: &Workbench) -> Toolset {
        let mut specs = if self.voice.model.tools { bench.specs() } else { vec![] };
        if let Some(within) = &self.kin.within {
            specs.retain(|s| within.contains(&s.name));
        }
        Toolset::new(specs, &self.profile, &self.policy, &self.voice.model.id)
    }

    fn parent(&self, within: Option<Arc<[String]>>) -> Parent {
        Parent {
            session: self.bus.session().clone(),
            policy: self.policy.clone(),
            model: self.voice.model.clone(),
            options: self.options.clone(),
            roster: self.roster.clone(),
            ports: self.ports.clone(),
            places: self.places.clone(),
            stopper: self.stopper.clone(),
            within,
        }
    }

    /// What the family has read of by now belongs to the session's record: what was said may be taken back, what was read may not.
    pub(super) fn keep_labels(&mut self) {
        let labels = self.ports.gate.labels(&self.bus.session().id);
        if labels != self.bus.session().labels {
            self.bus.edit_session(|s| s.labels = labels);
        }
    }

    /// Another agent leads from here on. The prefix of the requests stays as it is: what the new one has to know is a message.
    pub(super) async fn hand_over(&mut self, name: &str) {
        let roster = self.roster.clone();
        let Some(agent) = roster.leader(name) else { return };
        self.profile = agent.profile.clone();
        self.policy = agent.policy.clone();
        self.agent.clone_from(&agent.profile.name);
        self.bus.edit_session(|s| s.agent.clone_from(&agent.profile.name));
        enrol(self.ports, &self.kin, &self.bus.session().id, self.policy.clone());
        self.note(handed_over(name, agent.profile.prompt.as_deref()));
        self.equip().await;
    }

    /// Closes what a killed run left open in the sessions that came of this one. A child that worked in the background is told of:
    /// nothing else in the history would.
    pub(super) async fn close_family(&mut self) -> Result<(), AgentError> {
        let mine = self.bus.session().id.clone();
        for child in self.ports.store.unfinished(&mine).await? {
            if !close(self.ports, &child.id).await? {
                continue;
            }
            if is_background(self.bus.transcript().messages(), &child.id) {
                self.note(format!(
                    "The task {} in the background was interrupted with the run. Its effects, if any, are there; go on with it \
                     by its task_id where that is needed.",
                    child.id
                ));
            }
        }
        Ok(())
    }
}

/// A session that is not the gate's own is judged by its own rules.
pub(super) fn enrol(ports: &Ports, kin: &Kin, session: &SessionId, policy: model::permission::Policy) {
    ports.gate.enrol(session, Standing { root: kin.root().clone(), policy });
}

/// False where somebody works on it.
async fn close(ports: &Ports, session: &SessionId) -> Result<bool, AgentError> {
    let _claim = match ports.store.claim(session).await {
        Ok(claim) => claim,
        Err(StoreError::Busy { .. }) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    let history = ports.store.history(session).await?;
    ports.store.apply(repair(&history, ports.clock.now_ms())).await?;
    Ok(true)
}

/// Whether a call that came back at once began this child.
fn is_background(history: &[WithParts], child: &SessionId) -> bool {
    history.iter().flat_map(|m| &m.parts).any(|p| match &p.body {
        PartBody::Tool(tool) => match &tool.state {
            ToolState::Completed { metadata, .. } => {
                metadata.get(SESSION).and_then(|v| v.as_str()) == Some(child.as_str())
                    && metadata.contains_key("background")
            }
            ToolState::Pending { .. } | ToolState::Running { .. } | ToolState::Error { .. } => false,
        },
        _ => false,
    })
}
