//! The agents that exist without a config, and what a config makes of them.

use super::error::ConfigError;
use super::file::AgentEntry;
use indexmap::IndexMap;
use model::permission::{Action, Rule};
use model::profile::{AgentMode, Profile};

/// The agent that runs unless another one is named.
pub const DEFAULT: &str = "build";

const MINIMAL_PROMPT: &str = "You are a careful assistant that works on the files of one folder. \
Use the tools to read and write files, then answer in a few words.";

/// Built in, in the order in which they are listed.
#[must_use]
pub fn built_in() -> IndexMap<String, Profile> {
    let build = Profile { description: describe("Works on the files: all tools."), ..plain("build") };
    let plan = Profile {
        description: describe("Reads and plans: changes nothing and runs nothing."),
        rules: vec![Rule::new("edit", "*", Action::Deny), Rule::new("bash", "*", Action::Deny)],
        ..plain("plan")
    };
    let minimal = Profile {
        description: describe("Two tools and a short prompt, for small local models."),
        prompt: Some(MINIMAL_PROMPT.into()),
        tools: Some(vec!["read".into(), "write".into()]),
        ..plain("minimal")
    };
    [build, plan, minimal].into_iter().map(|p| (p.name.clone(), p)).collect()
}

fn describe(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn plain(name: &str) -> Profile {
    Profile {
        name: name.into(),
        description: None,
        mode: AgentMode::All,
        prompt: None,
        tools: None,
        rules: Vec::new(),
        model: None,
        temperature: None,
        steps: None,
    }
}

/// Lays an entry over the agent of this name; a new name starts from an agent without bounds of its own.
pub fn overlay(agents: &mut IndexMap<String, Profile>, name: &str, entry: &AgentEntry) {
    let profile = agents.entry(name.to_owned()).or_insert_with(|| plain(name));
    profile.description = entry.description.clone().or(profile.description.take());
    profile.mode = entry.mode.unwrap_or(profile.mode);
    profile.prompt = entry.prompt.clone().or(profile.prompt.take());
    profile.tools = entry.tools.clone().or(profile.tools.take());
    profile.rules.extend(entry.permissions.rules.iter().cloned());
    profile.model = entry.model.clone().or(profile.model.take());
    profile.temperature = entry.temperature.or(profile.temperature);
    profile.steps = entry.steps.or(profile.steps);
}

/// The agent of this name, if it may lead a run.
///
/// # Errors
/// [`ConfigError::NoAgent`], with those that there are.
pub fn pick(agents: &IndexMap<String, Profile>, name: &str) -> Result<Profile, ConfigError> {
    let may_lead = |p: &&Profile| p.mode != AgentMode::Subagent;
    let no_agent = || ConfigError::NoAgent {
        name: name.into(),
        known: agents.values().filter(may_lead).map(|p| p.name.clone()).collect(),
    };
    agents.get(name).filter(may_lead).cloned().ok_or_else(no_agent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plan_changes_nothing() {
        let plan = pick(&built_in(), "plan").unwrap();
        let denied: Vec<&str> = plan.rules.iter().map(|r| r.permission.as_str()).collect();
        assert_eq!(denied, ["edit", "bash"]);
        assert!(plan.rules.iter().all(|r| r.pattern == "*" && r.action == Action::Deny));
    }

    #[test]
    fn an_entry_changes_what_it_names_and_nothing_else() {
        let mut agents = built_in();
        overlay(&mut agents, "minimal", &AgentEntry { steps: Some(12), ..AgentEntry::default() });
        let minimal = pick(&agents, "minimal").unwrap();
        assert_eq!(minimal.steps, Some(12));
        assert_eq!(minimal.tools, Some(vec!["read".into(), "write".into()]));
    }

    #[test]
    fn a_subagent_cannot_lead() {
        let mut agents = built_in();
        let entry = AgentEntry { mode: Some(AgentMode::Subagent), ..AgentEntry::default() };
        overlay(&mut agents, "helper", &entry);
        let known = vec!["build".into(), "plan".into(), "minimal".into()];
        assert_eq!(pick(&agents, "helper"), Err(ConfigError::NoAgent { name: "helper".into(), known }));
    }
}
