//! The loop: what happens next in a session, how a stream becomes parts, which calls run, what is asked

mod alone;
mod answer;
pub mod attempts;
mod builtin;
mod bus;
mod calls;
mod cancel;
mod compaction;
mod errand;
mod error;
pub mod gate;
pub mod import;
mod input;
pub mod journal;
mod loop_guard;
mod nearby;
mod observed;
mod outgoing;
mod places;
mod plan;
mod prefix;
mod processor;
mod prompt;
mod recovery;
mod repair;
mod retry;
mod rewind;
mod roster;
mod run;
pub mod shell;
mod step;
mod subagent;
pub mod title;
mod toolset;
mod transcript;
mod turn;

#[cfg(test)]
mod testing;

pub use alone::{LoneCall, LonePorts, call_alone};
pub use builtin::HostTool;
pub use calls::output::{MAX_OUTPUT_BYTES, MAX_OUTPUT_LINES};
pub use compaction::CompactionOptions;
pub use errand::{Undone, errand};
pub use error::AgentError;
pub use nearby::Nearby;
pub use observed::Observed;
pub use places::{Disk, Places};
pub use prefix::Instruction;
pub use retry::RetryPolicy;
pub use roster::{Agent, Roster};
pub use run::{Clock, Job, Ports, Prompt, RunOptions, note, run, run_in, summarise};
