//! `task`: gives a piece of work to another agent in a session of its own (agent-core, section 6.12).

use super::Nursery;
use super::birth::{Errand, Parent};
use super::nursery::Child;
use crate::builtin::{HostTool, read};
use crate::error::AgentError;
use async_trait::async_trait;
use model::budget::Limit;
use model::event::{Ending, RunOutcome};
use model::fault::FailureKind;
use model::id::SessionId;
use model::inbox::{Delivery, Letter, Sender};
use model::permission::Action;
use model::profile::Profile;
use model::session::Session;
use model::store::StoreError;
use model::tool::{Annotations, Progress, ProgressSink, Scope, ScopeKind, ToolCall, ToolFailure, ToolOutput, ToolSpec};
use model::tool_state::Metadata;
use serde::Deserialize;
use serde_json::json;
use std::fmt::Write as _;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Key of the child's id in the metadata of the call.
pub(crate) const SESSION: &str = "sessionID";
const NAME: &str = "task";

const INTRO: &str = "Gives a piece of work to another agent, which does it in a session of its own and comes back with one answer. \
It sees nothing of this conversation: the prompt has to say all that it needs to know, what it should do (or only find out) and \
what it should come back with. Calls that do not depend on each other belong into one answer: they run side by side. \
What it found is for you: tell the person what matters of it. The agents:";

/// The tool of one session, as long as its agent and rules stay what they are.
pub(crate) struct Task {
    parent: Arc<Parent>,
    nursery: Arc<Nursery>,
    spec: Arc<ToolSpec>,
}

#[derive(Deserialize)]
struct Input {
    description: String,
    prompt: String,
    subagent_type: String,
    task_id: Option<String>,
    #[serde(default)]
    background: bool,
}

impl Task {
    /// `None` where the session may have no children, or there is no agent for them.
    pub(crate) fn new(parent: Parent, nursery: Arc<Nursery>) -> Option<Self> {
        let allowed = |p: &&Profile| parent.policy.decide(NAME, &p.name).action != Action::Deny;
        let agents: Vec<&Profile> = parent.roster.servants().filter(allowed).collect();
        if !nursery.kin.may_beget() || agents.is_empty() {
            return None;
        }
        let spec = Arc::new(spec(&agents));
        Some(Self { parent: Arc::new(parent), nursery, spec })
    }

    async fn prepare(&self, input: &Input) -> Result<Child, ToolFailure> {
        let unknown = || {
            let known: Vec<&str> = self.parent.roster.servants().map(|p| p.name.as_str()).collect();
            let text =
                format!("There is no agent {:?} for tasks. There are: {}.", input.subagent_type, known.join(", "));
            ToolFailure::new(FailureKind::NotFound, text)
        };
        let agent = self.parent.roster.servant(&input.subagent_type).ok_or_else(unknown)?;
        let old = match &input.task_id {
            Some(id) => Some(self.resumed(id, &agent.name).await?),
            None => None,
        };
        let errand = Errand { agent, prompt: input.prompt.clone(), title: input.description.clone(), old };
        self.parent.bear(&self.nursery, errand)
    }

    /// The session of an earlier task of this very session and agent.
    async fn resumed(&self, id: &str, agent: &str) -> Result<Session, ToolFailure> {
        let none = || {
            let text = format!("There is no task {id:?} of this session. Leave task_id out to begin a new one.");
            ToolFailure::new(FailureKind::NotFound, text)
        };
        let wanted = SessionId::parse(id).ok_or_else(none)?;
        let found = match self.parent.ports.store.session(&wanted).await {
            Ok(found) => found,
            Err(StoreError::NoSession(_)) => return Err(none()),
            Err(error) => return Err(ToolFailure::new(FailureKind::Failed, error.to_string())),
        };
        if found.parent_id.as_ref() != Some(&self.parent.session.id) {
            return Err(none());
        }
        if found.agent != agent {
            let text =
                format!("The task {id} is one of the agent {}: go on with that, or begin a new one.", found.agent);
            return Err(ToolFailure::new(FailureKind::InvalidInput, text));
        }
        Ok(found)
    }

    /// Starts the child and comes back at once. What becomes of it reaches the parent as a letter.
    fn in_background(&self, child: Child, input: Input) -> ToolOutput {
        let session = child.job.session.id.clone();
        let (parent, nursery) = (self.parent.clone(), self.nursery.clone());
        let told = format!(
            "<task id=\"{session}\" state=\"running\">\nIt works in the background. You will be told when it has ended: do not wait \
             for it and do not ask for it. Go on with what does not depend on it, or end your answer.\n</task>"
        );
        let metadata = about(&child, true);
        let title = input.description.clone();
        nursery.begins_background();
        let work = async move {
            let token = nursery.token();
            let result = nursery.raise(child, token).await;
            let text = report(&session, &input.description, result);
            let created = parent.ports.clock.now_ms();
            let letter = Letter { delivery: Delivery::Steer, sender: Sender::Host, text, created };
            if let Err(error) = parent.ports.inbox.put(&parent.session.id, letter).await {
                tracing::error!(%error, "what a task in the background came to could not be handed over");
            }
            nursery.ends_background();
        };
        self.nursery.spawn(work);
        ToolOutput { title, text: told, metadata, attachments: vec![] }
    }
}

fn spec(agents: &[&Profile]) -> ToolSpec {
    let mut description = INTRO.to_owned();
    for agent in agents {
        let _ = write!(description, "\n- {}", agent.name);
        if let Some(about) = &agent.description {
            let _ = write!(description, ": {about}");
        }
    }
    let names: Vec<&str> = agents.iter().map(|a| a.name.as_str()).collect();
    ToolSpec {
        name: NAME.into(),
        description,
        input_schema: json!({
            "type": "object",
            "properties": {
                "description": {"type": "string", "description": "What it is about, in three to five words"},
                "prompt": {"type": "string", "minLength": 1, "description": "The work, with all that the agent has to know"},
                "subagent_type": {"type": "string", "description": format!("The agent: {}", names.join(", "))},
                "task_id": {"type": "string", "description": "Goes on with an earlier task of this session, by its id"},
                "background": {"type": "boolean", "description": "Come back at once; you are told when it has ended"}
            },
            "required": ["description", "prompt", "subagent_type"]
        }),
        annotations: Annotations::default(),
        scopes: vec![Scope { argument: "subagent_type".into(), kind: ScopeKind::Agent, default: None }],
    }
}

#[async_trait]
impl HostTool for Task {
    fn spec(&self) -> Arc<ToolSpec> {
        self.spec.clone()
    }

    async fn call(
        &self,
        call: ToolCall,
        progress: Arc<dyn ProgressSink>,
        cancel: CancellationToken,
    ) -> Result<ToolOutput, ToolFailure> {
        let input: Input = read(call.input)?;
        let child = self.prepare(&input).await?;
        let (session, metadata) = (child.job.session.id.clone(), about(&child, false));
        if input.background {
            return Ok(self.in_background(child, input));
        }
        progress.update(Progress { title: Some(input.description.clone()), metadata: Some(metadata.clone()) });
        let outcome = self.nursery.raise(child, cancel.child_token()).await;
        let text = match outcome {
            Some(Err(AgentError::Store(StoreError::Busy { .. }))) => self.handed_over(&session, input.prompt).await?,
            outcome => answer(&session, outcome)?,
        };
        Ok(ToolOutput { title: input.description, text, metadata, attachments: vec![] })
    }
}

impl Task {
    /// The task is at work: what it is asked now waits in its inbox.
    async fn handed_over(&self, session: &SessionId, text: String) -> Result<String, ToolFailure> {
        let created = self.parent.ports.clock.now_ms();
        let letter = Letter { delivery: Delivery::Queue, sender: Sender::Person, text, created };
        let failed = |e: StoreError| ToolFailure::new(FailureKind::Failed, e.to_string());
        self.parent.ports.inbox.put(session, letter).await.map_err(failed)?;
        Ok(format!(
            "<task id=\"{session}\" state=\"running\">\nIt is still at work and will turn to this when it is done with that. You \
             will be told when it has ended.\n</task>"
        ))
    }
}

fn about(child: &Child, background: bool) -> Metadata {
    let session = &child.job.session;
    let mut metadata = Metadata::new();
    metadata.insert(SESSION.into(), session.id.as_str().into());
    metadata.insert("agent".into(), session.agent.as_str().into());
    metadata.insert("model".into(), session.model.to_string().into());
    if background {
        metadata.insert("background".into(), true.into());
    }
    metadata
}

type Raised = Option<Result<RunOutcome, AgentError>>;

/// What the parent's model reads of a child in the foreground.
fn answer(session: &SessionId, raised: Raised) -> Result<String, ToolFailure> {
    let failed = |kind, state: &str, why: String, text: &str| {
        let said = if text.is_empty() { String::new() } else { format!("\nIts last words:\n{text}") };
        ToolFailure::new(kind, format!("<task id=\"{session}\" state=\"{state}\">\n{why}{said}\n</task>"))
    };
    let outcome = match raised {
        Some(Ok(outcome)) => outcome,
        Some(Err(error)) => return Err(failed(FailureKind::Failed, "error", error.to_string(), "")),
        None => return Err(failed(FailureKind::Interrupted, "cancelled", "It was cancelled.".into(), "")),
    };
    let text = outcome.text.as_str();
    match outcome.ending {
        Ending::Done => {
            Ok(format!("<task id=\"{session}\" state=\"completed\">\n<result>\n{text}\n</result>\n</task>"))
        }
        Ending::Failed(failure) => Err(failed(FailureKind::Failed, "error", failure.message, text)),
        Ending::Internal(why) => Err(failed(FailureKind::Failed, "error", why, text)),
        Ending::Denied(why) => Err(failed(FailureKind::Denied, "denied", why, text)),
        Ending::Limit(limit) => Err(failed(FailureKind::Limit, "limit", of_limit(limit), text)),
        Ending::Looped(what) => {
            Err(failed(FailureKind::Failed, "error", format!("It went round in circles: {what}."), text))
        }
        Ending::Interrupted => Err(failed(FailureKind::Interrupted, "cancelled", "It was cancelled.".into(), text)),
    }
}

fn of_limit(limit: Limit) -> String {
    let what = match limit {
        Limit::Steps => "steps",
        Limit::Cost => "cost",
        Limit::Wall => "time",
        Limit::Tokens => "tokens",
        Limit::OutputTokens => "written tokens",
        Limit::OutputBytes => "written bytes",
    };
    format!("It was stopped: its limit of {what} is reached.")
}

/// What the parent's model reads of one in the background.
fn report(session: &SessionId, description: &str, raised: Raised) -> String {
    let told = answer(session, raised).unwrap_or_else(|failure| failure.message);
    format!("The task in the background \"{description}\" has ended.\n{told}")
}
