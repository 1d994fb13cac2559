//! A run with all its ports faked.

use super::provider::{Reply, Script, shared};
use super::store::Memory;
use super::tools::Fakes;
use super::{profile, session};
use crate::places::Places;
use crate::roster::{Agent, Roster};
use crate::run::{Clock, Job, Ports, Prompt, RunOptions, run_in};
use async_trait::async_trait;
use model::budget::{Limits, Offspring};
use model::event::{Event, EventSink, RunOutcome};
use model::hook::{CallContext, HookDenial, Hooks, ResultView, TextContext};
use model::id::SessionId;
use model::message::{Message, Part, PartBody, ToolPart, WithParts};
use model::permission::{Act, Action, Actor, DOOM_LOOP, Denial, Gate, Policy, Rule, Standing};
use model::price::Price;
use model::profile::Profile;
use model::provider::{Mind, Minds, Model, ModelRef};
use model::question::{Answers, Inquiry};
use model::session::Session;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

type Judge = dyn Fn(&Act) -> Result<(), Denial> + Send + Sync;

pub(crate) struct FakeGate {
    pub judge: Box<Judge>,
    pub asked: Mutex<Vec<Vec<Act>>>,
    pub blocked: Mutex<Option<Denial>>,
    pub answers: Option<Answers>,
    pub enrolled: Arc<Mutex<Vec<(SessionId, Standing)>>>,
}

#[async_trait]
impl Gate for FakeGate {
    fn enrol(&self, session: &SessionId, standing: Standing) {
        self.enrolled.lock().unwrap().push((session.clone(), standing));
    }
    fn decide(&self, _: &Actor, act: &Act) -> Action {
        let is_loop = matches!(act, Act::Other { permission, .. } if permission == DOOM_LOOP);
        if is_loop { Action::Ask } else { Action::Allow }
    }
    async fn permit(&self, _: &Actor, acts: &[Act], _: Value, _: &CancellationToken) -> Result<(), Denial> {
        self.asked.lock().unwrap().push(acts.to_vec());
        acts.iter().try_for_each(|a| (self.judge)(a))
    }
    fn missing(&self, _: &Actor, acts: &[Act]) -> Option<Vec<Rule>> {
        let rule = |act: &Act| match act {
            Act::Write { path } => Some(Rule::new("edit", format!("it's {}", path.display()), Action::Allow)),
            _ => None,
        };
        acts.iter().map(rule).collect()
    }
    fn blocked(&self) -> Option<Denial> {
        self.blocked.lock().unwrap().clone()
    }
    fn forgive(&self) {
        *self.blocked.lock().unwrap() = None;
    }
    async fn consult(&self, _: Inquiry, _: &CancellationToken) -> Option<Answers> {
        self.answers.clone()
    }
}

/// Hooks that say what they see: `(redacted)` for `secret` in texts, refuse the input `{"evil": …}`, replace `{"swap": p}` by
/// `{"path": p}`, send `{"tail": …}` on, and mark results, but for those of `{"endless": …}`, with which they never come to an end.
struct FakeHooks;

#[async_trait]
impl Hooks for FakeHooks {
    async fn text_complete(&self, _: &TextContext, text: String) -> String {
        text.replace("secret", "(redacted)")
    }
    async fn tool_before(&self, _: &CallContext, input: Value) -> Result<Value, HookDenial> {
        if input.get("evil").is_some() {
            return Err(HookDenial { hook: "guard".into(), reason: "evil".into() });
        }
        if input.get("slow").is_some() {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        Ok(input.get("swap").map_or(input.clone(), |p| json!({ "path": p })))
    }
    async fn tool_after(&self, _: &CallContext, input: &Value, mut result: ResultView) -> ResultView {
        if input.get("endless").is_some() {
            std::future::pending::<()>().await;
        }
        result.metadata.extend(input.get("tail").map(|tail| ("tail".to_owned(), tail.clone())));
        result.text = result.text.replace("did", "hooked");
        result
    }
}

#[derive(Default)]
pub(crate) struct Sink(Mutex<Vec<(Instant, Event)>>);

impl EventSink for Sink {
    fn emit(&self, event: Event) {
        self.0.lock().unwrap().push((Instant::now(), event));
    }
}

impl Sink {
    pub(crate) fn events(&self) -> Vec<(Instant, Event)> {
        self.0.lock().unwrap().clone()
    }
}

/// Virtual milliseconds since the stage was set.
struct VirtualClock(Instant);
impl Clock for VirtualClock {
    fn now_ms(&self) -> u64 {
        self.0.elapsed().as_millis() as u64
    }
}

/// Any model but `gone/…`, all from one script.
struct OtherMinds(Arc<Script>);
impl Minds for OtherMinds {
    fn mind(&self, model: &ModelRef) -> Result<Mind, String> {
        if model.provider == "gone" {
            return Err("its key is not set".into());
        }
        Ok(Mind { provider: self.0.clone(), model: Model::unknown(&model.model) })
    }
}

struct Lexical;
impl Places for Lexical {
    fn resolve(&self, path: &Path) -> PathBuf {
        path.to_path_buf()
    }
}

pub(crate) struct Stage {
    pub provider: Arc<Script>,
    pub tools: Arc<Fakes>,
    pub store: Arc<Memory>,
    pub sink: Arc<Sink>,
    pub gate: FakeGate,
    pub session: Session,
    pub is_new: bool,
    pub prompt: String,
    pub files: Vec<model::message::FilePart>,
    pub hooks: Arc<dyn Hooks>,
    pub limits: Limits,
    pub steps: Option<u32>,
    pub model: Model,
    pub options: RunOptions,
    pub agents: Vec<Agent>,
    pub offspring: Offspring,
    /// Who leads the run.
    pub leader: Profile,
    pub policy: Policy,
    pub background: Option<Arc<dyn model::background::Background>>,
    pub cancel: CancellationToken,
    pub begun: Instant,
}

/// A new session whose model answers so.
pub(crate) fn stage(replies: Vec<Reply>) -> Stage {
    Stage {
        provider: shared(replies),
        tools: Arc::default(),
        store: Arc::default(),
        sink: Arc::default(),
        gate: FakeGate {
            judge: Box::new(|_| Ok(())),
            asked: Mutex::default(),
            blocked: Mutex::default(),
            answers: None,
            enrolled: Arc::default(),
        },
        session: session(),
        is_new: true,
        prompt: "go".into(),
        files: vec![],
        hooks: Arc::new(FakeHooks),
        limits: Limits::default(),
        steps: None,
        model: Model::unknown("m"),
        options: RunOptions::default(),
        agents: vec![],
        offspring: Offspring::default(),
        leader: profile(),
        policy: Policy::default(),
        background: None,
        cancel: CancellationToken::new(),
        begun: Instant::now(),
    }
}

/// What a run left behind.
pub(crate) struct Left {
    pub outcome: RunOutcome,
    pub provider: Arc<Script>,
    pub tools: Arc<Fakes>,
    pub store: Arc<Memory>,
    pub sink: Arc<Sink>,
    pub session: Session,
    pub history: Vec<WithParts>,
    pub begun: Instant,
}

impl Stage {
    /// Goes on with a session that an earlier run left.
    pub(crate) fn resumed(left: &Left, replies: Vec<Reply>) -> Self {
        let mut next = stage(replies);
        next.store = left.store.clone();
        next.session = left.session.clone();
        next.is_new = false;
        next
    }

    pub(crate) fn price(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    pub(crate) async fn run(self) -> Left {
        self.try_run().await.unwrap()
    }

    /// Writes the prompt down and asks nobody.
    pub(crate) async fn note(self) -> Left {
        self.with(async |job, ports, _| crate::run::note(job, ports, CancellationToken::new()).await).await.unwrap()
    }

    /// Has a summary written and nothing else.
    pub(crate) async fn summarise(self) -> Left {
        self.with(async |job, ports, cancel| crate::run::summarise(job, ports, cancel).await).await.unwrap()
    }

    pub(crate) async fn try_run(self) -> Result<Left, crate::AgentError> {
        self.with(async |job, ports, cancel| run_in(job, ports, Arc::new(Lexical), cancel).await).await
    }

    async fn with(
        self,
        how: impl AsyncFnOnce(Job, &Ports, CancellationToken) -> Result<RunOutcome, crate::AgentError>,
    ) -> Result<Left, crate::AgentError> {
        let ports = Ports {
            provider: self.provider.clone(),
            minds: Arc::new(OtherMinds(self.provider.clone())),
            tools: self.tools.clone(),
            host_tools: vec![],
            hooks: self.hooks,
            store: self.store.clone(),
            inbox: self.store.clone(),
            gate: Arc::new(self.gate),
            sink: self.sink.clone(),
            clock: Arc::new(VirtualClock(self.begun)),
            background: self.background,
            rewinder: None,
        };
        let mut agent = self.leader;
        agent.steps = self.steps;
        let price = Price { input: rust_decimal::Decimal::ONE, ..Price::default() };
        let job = Job {
            session: self.session,
            is_new: self.is_new,
            prompt: Prompt { text: self.prompt, files: self.files, ..Prompt::default() },
            profile: agent,
            model: Model { price: Some(price), ..self.model },
            policy: self.policy,
            limits: self.limits,
            options: self.options,
            roster: Arc::new(Roster::new(self.agents)),
            offspring: self.offspring,
        };
        let outcome = how(job, &ports, self.cancel).await?;
        let (session, history) = self.store.now();
        Ok(Left {
            outcome,
            provider: self.provider,
            tools: self.tools,
            store: self.store,
            sink: self.sink,
            session: session.unwrap(),
            history,
            begun: self.begun,
        })
    }
}

impl Left {
    pub(crate) fn parts(&self) -> Vec<&Part> {
        self.history.iter().filter(|m| matches!(m.info, Message::Assistant(_))).flat_map(|m| &m.parts).collect()
    }

    pub(crate) fn tool_parts(&self) -> Vec<&ToolPart> {
        let tools = self.parts().into_iter().filter_map(|p| match &p.body {
            PartBody::Tool(t) => Some(t),
            _ => None,
        });
        tools.collect()
    }

    /// Each call's end: its output, or `kind: error`.
    pub(crate) fn results(&self) -> Vec<String> {
        use model::tool_state::ToolState as S;
        let of = |t: &ToolPart| match &t.state {
            S::Completed { output, .. } => output.clone(),
            S::Error { error, metadata, .. } => format!("{}: {error}", metadata["kind"].as_str().unwrap()),
            open => panic!("left open: {open:?}"),
        };
        self.tool_parts().into_iter().map(of).collect()
    }

    /// Every message is closed and every call has ended.
    pub(crate) fn assert_closed(&self) {
        for message in &self.history {
            if let Message::Assistant(info) = &message.info {
                assert!(info.time.completed.is_some(), "an open message: {info:?}");
            }
        }
        assert!(self.tool_parts().iter().all(|t| t.state.is_final()), "an open call");
    }
}
