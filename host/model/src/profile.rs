//! An agent: a prompt, a choice of tools, rules and bounds (agent-core, section 8).

use crate::permission::{Reach, Rule};
use crate::provider::ModelRef;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentMode {
    Primary,
    Subagent,
    #[default]
    All,
    /// For requests of the host's own (summaries, titles): nobody picks it.
    Internal,
}

impl AgentMode {
    /// Whether a person may start a run with it.
    #[must_use]
    pub fn leads(self) -> bool {
        matches!(self, Self::Primary | Self::All)
    }

    /// Whether another agent may give it a task.
    #[must_use]
    pub fn serves(self) -> bool {
        matches!(self, Self::Subagent | Self::All)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    pub name: String,
    /// Where it is written, for people: `built in`, a file.
    pub origin: String,
    pub description: Option<String>,
    pub mode: AgentMode,
    /// Replaces the built-in prompt.
    pub prompt: Option<String>,
    /// Names of the tools it may see; `None` = all.
    pub tools: Option<Vec<String>>,
    pub rules: Vec<Rule>,
    /// `NarrowOnly` where it was written by whoever wrote the repository.
    pub reach: Reach,
    pub model: Option<ModelRef>,
    pub temperature: Option<f64>,
    /// Requests per run; the last one is told so and gets no tools.
    pub steps: Option<u32>,
}
