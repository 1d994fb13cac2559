//! The loop: what happens next in a session, how a stream becomes parts, which calls run, what is asked

mod alone;
mod answer;
mod builtin;
mod bus;
mod calls;
mod cancel;
mod compaction;
mod error;
pub mod gate;
pub mod import;
mod input;
pub mod journal;
mod loop_guard;
mod places;
mod plan;
mod processor;
mod prompt;
mod recovery;
mod repair;
mod retry;
mod roster;
mod run;
pub mod shell;
mod step;
mod subagent;
mod toolset;
mod transcript;
mod turn;

#[cfg(test)]
mod testing;

pub use alone::{LoneCall, call_alone};
pub use builtin::HostTool;
pub use calls::output::{MAX_OUTPUT_BYTES, MAX_OUTPUT_LINES};
pub use compaction::CompactionOptions;
pub use error::AgentError;
pub use places::{Disk, Places};
pub use retry::RetryPolicy;
pub use roster::{Agent, Roster};
pub use run::{Clock, Job, Ports, Prompt, RunOptions, run, run_in};
