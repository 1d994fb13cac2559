//! The calls of one step: prepared → permitted → executed → settled, each a type that only the stage before can make, and the
//! crew that decides which of them may run now.

mod crew;
mod doom;
pub(crate) mod flow;
pub(crate) mod output;
mod progress;
mod scopes;
mod stage;
mod tail;
mod twins;

pub(crate) use crew::{Bench, Crew, Happened};
pub(crate) use doom::Watch;
pub(crate) use stage::{Halt, Outcome, Settled, act, blocks, carry_out, prepare};
