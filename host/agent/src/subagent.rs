//! Sessions that come of a session (agent-core, sections 2.11 and 6.12, with the changes of section 0): their bounds, their birth, how
//! they are watched and how they end.
//!
//! A child is a run like any other, with ports that are its parent's: the same loop, hooks, gate and ledger. It is narrower than
//! its parent in rules and tools, spends from its parent's purse, and ends when its parent does.

mod aside;
mod birth;
mod nursery;
mod purse;
mod task;

#[cfg(test)]
mod tests;

pub(crate) use birth::Parent;
pub(crate) use nursery::Nursery;
pub(crate) use purse::Purse;
pub(crate) use task::{SESSION, Task};

use model::budget::{Limits, Offspring};
use model::id::SessionId;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What all sessions of one run share.
struct Family {
    root: SessionId,
    offspring: Offspring,
    born: AtomicUsize,
}

/// The place of a session in its family.
#[derive(Clone)]
pub(crate) struct Kin {
    family: Arc<Family>,
    /// Generations above it.
    depth: u32,
    pub purse: Purse,
    /// Names of the tools that the sessions above can see, where one of them does not see all.
    pub within: Option<Arc<[String]>>,
}

impl Kin {
    /// Of a session that a person started.
    pub(crate) fn head(root: SessionId, limits: Limits, offspring: Offspring) -> Self {
        let family = Family { root, offspring, born: AtomicUsize::new(0) };
        Self { family: Arc::new(family), depth: 0, purse: Purse::new(limits), within: None }
    }

    /// Of a child; `None` where the run has had all the children that it may have.
    fn child(&self, within: Option<Arc<[String]>>) -> Option<Self> {
        let born = self.family.born.fetch_add(1, Ordering::Relaxed);
        (born < self.family.offspring.total).then(|| Self {
            family: self.family.clone(),
            depth: self.depth + 1,
            purse: self.purse.child(),
            within,
        })
    }

    pub(crate) fn root(&self) -> &SessionId {
        &self.family.root
    }

    pub(crate) fn is_head(&self) -> bool {
        self.depth == 0
    }

    /// Whether it may have children at all.
    pub(crate) fn may_beget(&self) -> bool {
        self.depth < self.family.offspring.depth
    }

    fn at_once(&self) -> usize {
        self.family.offspring.at_once.max(1)
    }
}
