//! The agents that a run may call on.

use model::permission::Policy;
use model::profile::Profile;

/// An agent, with the rules under which it leads a run.
#[derive(Clone, Debug)]
pub struct Agent {
    pub profile: Profile,
    pub policy: Policy,
}

/// All agents that there are.
#[derive(Clone, Debug, Default)]
pub struct Roster(Vec<Agent>);

impl Roster {
    #[must_use]
    pub fn new(agents: Vec<Agent>) -> Self {
        Self(agents)
    }

    fn find(&self, name: &str) -> Option<&Agent> {
        self.0.iter().find(|a| a.profile.name == name)
    }

    /// The agent of this name, if a run may be led by it.
    pub(crate) fn leader(&self, name: &str) -> Option<&Agent> {
        self.find(name).filter(|a| a.profile.mode.leads())
    }

    /// Those that may be given a task.
    pub(crate) fn servants(&self) -> impl Iterator<Item = &Profile> {
        self.0.iter().map(|a| &a.profile).filter(|p| p.mode.serves())
    }

    pub(crate) fn servant(&self, name: &str) -> Option<&Profile> {
        self.servants().find(|p| p.name == name)
    }
}
