//! What a run works with, and what it is to do.

use crate::builtin::HostTool;
use crate::compaction::CompactionOptions;
use crate::journal::Rewinder;
use crate::nearby::Nearby;
use crate::prefix::Instruction;
use crate::retry::RetryPolicy;
use crate::roster::Roster;
use model::background::Background;
use model::budget::{Limits, Offspring};
use model::event::EventSink;
use model::hook::Hooks;
use model::inbox::Inbox;
use model::message::FilePart;
use model::permission::{Gate, Policy};
use model::profile::Profile;
use model::provider::{Minds, Model, ModelRef, Provider};
use model::session::Session;
use model::store::Store;
use model::tool::Tools;
use serde_json::Value;
use std::sync::Arc;

/// The time of day. Waits use tokio's clock, which a test can stop.
pub trait Clock: Send + Sync {
    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64;
}

/// What a run works with. Cloned for each session that comes of it.
#[derive(Clone)]
pub struct Ports {
    pub provider: Arc<dyn Provider>,
    /// Where the models of other agents come from.
    pub minds: Arc<dyn Minds>,
    pub tools: Arc<dyn Tools>,
    /// Tools of the host beside those of the loop itself.
    pub host_tools: Vec<Arc<dyn HostTool>>,
    pub hooks: Arc<dyn Hooks>,
    pub store: Arc<dyn Store>,
    pub inbox: Arc<dyn Inbox>,
    pub gate: Arc<dyn Gate>,
    pub sink: Arc<dyn EventSink>,
    pub clock: Arc<dyn Clock>,
    /// Looks after programs that outlive their calls; `None` = none may.
    pub background: Option<Arc<dyn Background>>,
    /// Takes back what a model wants to be taken back; `None` = it cannot.
    pub rewinder: Option<Arc<Rewinder>>,
}

/// What is to be done.
#[derive(Clone)]
pub struct Job {
    /// New, or as it was loaded.
    pub session: Session,
    pub is_new: bool,
    /// Without text and files: go on with the session's last prompt, where it was not answered.
    pub prompt: Prompt,
    pub profile: Profile,
    pub model: Model,
    pub policy: Policy,
    pub limits: Limits,
    pub options: RunOptions,
    /// The agents that it may call on.
    pub roster: Arc<Roster>,
    pub offspring: Offspring,
}

#[derive(Clone, Debug, Default)]
pub struct Prompt {
    pub text: String,
    pub files: Vec<FilePart>,
    /// What the host adds for the model: the content of a file that was named, say.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    pub max_output_tokens: Option<u32>,
    pub temperature: Option<f64>,
    /// JSON Schema that the answer has to fit.
    pub schema: Option<Value>,
    /// How often the model may try again where its answer does not fit; `None` = twice.
    pub schema_retries: Option<u32>,
    /// Go on after a denial that would end the run.
    pub continue_on_deny: bool,
    /// What holds for all of the session: `AGENTS.md` and its like.
    pub instructions: Vec<Instruction>,
    /// Where instructions near a file come from.
    pub nearby: Option<Arc<dyn Nearby>>,
    pub retry: RetryPolicy,
    pub compaction: CompactionOptions,
    /// Writes the summaries, where there is one.
    pub small: Option<ModelRef>,
    /// Asked in this order where the model before fails for good.
    pub fallback: Vec<ModelRef>,
}
