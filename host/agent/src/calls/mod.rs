//! The calls of one step: prepared → permitted → executed → settled, each a type that only the stage before can make, and the
//! crew that decides which of them may run now.

mod crew;
pub(crate) mod output;
mod progress;
mod scopes;
mod stage;

pub(crate) use crew::{Bench, Crew, Happened};
pub(crate) use stage::{Outcome, Settled};
pub(crate) use stage::{act, prepare};
