//! The ledger: sessions, messages, parts, journal and approvals in SQLite, behind one writer thread.
//!
//! This is the only room that writes SQL. All writes pass through one thread in the order in which they were handed over, each
//! batch as one transaction; reads of whole histories use a connection of their own, so that they never hold up a write.

mod claims;
mod connection;
mod egress;
mod fork;
mod inbox;
mod journal;
mod ledger;
mod migrate;
mod outputs;
mod owner;
mod query;
mod retention;
mod seen;
mod spending;
mod undo;
mod writer;

pub use fork::{Raw, Renames, rename};
pub use ledger::Ledger;
pub use retention::{Retention, Tidied};
