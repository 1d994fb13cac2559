//! Plan mode: what the model is told when a session is led by the planner, and when it no longer is (agent-core, section 2.6).

use crate::builtin::HostTool;
use async_trait::async_trait;
use model::message::{Message, WithParts};
use model::session::Session;
use model::tool::{Annotations, ProgressSink, ToolCall, ToolFailure, ToolOutput, ToolSpec};
use serde_json::json;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// The agent that plans.
const PLANNER: &str = "plan";
/// The agent that carries a plan out.
const BUILDER: &str = "build";
/// Where plans lie, below the worktree. The planner's rules allow edits there and nowhere else.
const FOLDER: &str = ".airlock/plans";
/// Characters of a title that go into a file's name.
const MAX_SLUG: usize = 40;

/// What has to be said beside a person's message: once when planning begins, once when it is over.
pub(crate) fn reminder(agent: &str, session: &Session, history: &[WithParts]) -> Option<String> {
    let asked = history.iter().rev().find_map(|m| match &m.info {
        Message::User(user) => Some(user.agent.as_str()),
        Message::Assistant(_) => None,
    });
    let answered = history.iter().rev().find_map(|m| match &m.info {
        Message::Assistant(answer) => Some(answer.agent.as_str()),
        Message::User(_) => None,
    });
    match (agent == PLANNER, asked == Some(PLANNER), answered == Some(PLANNER)) {
        (true, false, _) => Some(rules(&file(session))),
        (false, true, true) => Some(over(agent)),
        _ => None,
    }
}

fn rules(file: &str) -> String {
    format!(
        "Plan mode. You may look at everything and change nothing: edits, and commands that have effects, are refused, whatever \
         else was said before. Find out what you need (give wide searches to the agent explore), ask the person where their \
         decision is needed, and write the plan to {file}: what will be done in which order, which files change, and how it will \
         be checked. When the plan is ready, call plan_exit: the person decides whether it is carried out."
    )
}

fn over(agent: &str) -> String {
    format!(
        "Plan mode is over: you are the agent {agent} now, and may change files and run commands as the rules allow."
    )
}

/// The plan of a session, always the same.
fn file(session: &Session) -> String {
    let mut slug = String::new();
    for c in session.title.chars().map(|c| c.to_ascii_lowercase()) {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
        if slug.len() >= MAX_SLUG {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    let name = if slug.is_empty() { "plan" } else { slug };
    format!("{FOLDER}/{}-{name}.md", session.time.created)
}

/// Which agent is to lead the run after the step that is under way.
#[derive(Default)]
pub(crate) struct Switch(Mutex<Option<&'static str>>);

impl Switch {
    fn set(&self, agent: &'static str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(agent);
    }

    pub(crate) fn take(&self) -> Option<&'static str> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What the model is told once the builder has taken over.
pub(crate) fn handed_over(agent: &str, own_prompt: Option<&str>) -> String {
    let prompt = own_prompt.map(|p| format!("\n\n{}", p.trim())).unwrap_or_default();
    format!("The person approved the plan. {} Carry the plan out.{prompt}", over(agent))
}

/// `plan_exit`: asks the gate, and so the person, whether the plan is to be carried out (agent-core, section 6.13).
pub(crate) struct PlanExit(pub Arc<Switch>);

#[async_trait]
impl HostTool for PlanExit {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::new(ToolSpec {
            name: "plan_exit".into(),
            description:
                "Asks the person whether the plan that you wrote is to be carried out. On a yes you go on as the agent \
                          build. Call it when the plan is complete, and not to ask questions about it."
                    .into(),
            input_schema: json!({"type": "object", "properties": {}}),
            annotations: Annotations::default(),
            scopes: vec![],
        })
    }

    /// The gate has asked: to be here is a yes.
    async fn call(
        &self,
        _: ToolCall,
        _: Arc<dyn ProgressSink>,
        _: CancellationToken,
    ) -> Result<ToolOutput, ToolFailure> {
        self.0.set(BUILDER);
        let text = "The person approved the plan.".to_owned();
        Ok(ToolOutput { title: "Plan approved".into(), text, ..ToolOutput::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::history::{assistant, user};
    use crate::testing::session;

    fn asked(agent: &str) -> WithParts {
        let mut made = user("x");
        if let Message::User(info) = &mut made.info {
            info.agent = agent.into();
        }
        made
    }

    fn answered(agent: &str) -> WithParts {
        assistant(|m| m.agent = agent.into())
    }

    #[test]
    fn each_turn_of_the_mode_is_told_once() {
        let check = |agent: &str, history: &[WithParts], expected: Option<&str>| {
            let said = reminder(agent, &session(), history);
            let fits = match expected {
                Some(word) => said.as_deref().is_some_and(|s| s.contains(word)),
                None => said.is_none(),
            };
            assert!(fits, "{agent}: {said:?}");
        };
        check("build", &[], None);
        check("plan", &[], Some("Plan mode. You may look"));
        check("plan", &[asked("plan"), answered("plan")], None);
        check("plan", &[asked("build"), answered("build")], Some("Plan mode. You may look"));
        check("build", &[asked("plan"), answered("plan")], Some("Plan mode is over: you are the agent build"));
        check("mine", &[asked("plan"), answered("plan")], Some("you are the agent mine"));
        check("build", &[asked("plan"), answered("plan"), asked("build"), answered("build")], None);
    }

    #[test]
    fn a_session_has_one_plan() {
        let named = |title: &str| file(&Session { title: title.into(), ..session() });
        assert_eq!(named("Fix: the Parser, now!"), ".airlock/plans/0-fix-the-parser-now.md");
        assert_eq!(named("../.."), ".airlock/plans/0-plan.md");
        assert_eq!(named(&"x".repeat(99)).len(), ".airlock/plans/0-.md".len() + MAX_SLUG);
    }
}
