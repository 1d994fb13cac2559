//! The chain of configured hooks, with the fault outcome of each point: a gate that fails denies, a transformer that fails
//! changes nothing, an observer that fails is ignored.

mod conversation;
mod observe;

use crate::bounds::Bounds;
use crate::fault::Fault;
use crate::instance::Call;
use crate::nobody;
use crate::open::Runtime;
use crate::registry::{HookPoint, Plugin};
use crate::state::CallState;
use crate::v0_1::{Hook, RawOpinion, cut};
use async_trait::async_trait;
use model::event::Event;
use model::hook::{
    CallContext, CommandView, Compacting, HookDenial, Hooks, Opinion, Params, PermissionView, ResultView, TextContext,
    TurnContext, UserText,
};
use model::provider::{ChatMessage, ToolDecl};
use observe::Observers;
use serde_json::Value;
use std::sync::{Arc, OnceLock};
use tokio_util::sync::CancellationToken;
use wasmtime::Store;

/// Bytes of a reason for refusing, or for going on.
const REASON: usize = 4 << 10;
/// Headers or variables of one request or call.
const PAIRS: usize = 64;

/// A hook that the config names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookUse {
    /// Name of a component, or a file.
    pub name: String,
    /// Its *allow* counts, in place of a question.
    pub may_allow: bool,
}

impl From<&str> for HookUse {
    fn from(name: &str) -> Self {
        Self { name: name.to_owned(), may_allow: false }
    }
}

#[derive(Clone)]
struct Link {
    plugin: Arc<Plugin>,
    may_allow: bool,
}

pub struct Chain {
    runtime: Arc<Runtime>,
    hooks: Vec<Link>,
    observers: OnceLock<Option<Observers>>,
}

impl Chain {
    #[must_use]
    pub fn new(runtime: Arc<Runtime>, hooks: Vec<(Arc<Plugin>, bool)>) -> Self {
        let hooks = hooks.into_iter().map(|(plugin, may_allow)| Link { plugin, may_allow }).collect();
        Self { runtime, hooks, observers: OnceLock::new() }
    }

    /// The same chain for a task of its own.
    fn alike(&self) -> Self {
        Self { runtime: Arc::clone(&self.runtime), hooks: self.hooks.clone(), observers: OnceLock::from(None) }
    }

    fn at(&self, point: HookPoint) -> impl Iterator<Item = &Arc<Plugin>> {
        self.links(point).map(|l| &l.plugin)
    }

    fn links(&self, point: HookPoint) -> impl Iterator<Item = &Link> {
        self.hooks.iter().filter(move |l| l.plugin.about.hooks.contains(&point))
    }

    /// Runs one hook in an instance of its own, with no right to act.
    async fn run<T>(
        &self,
        plugin: &Arc<Plugin>,
        body: impl AsyncFnOnce(&Hook, &mut Store<CallState>) -> wasmtime::Result<Option<T>>,
    ) -> Result<Option<T>, HookFault> {
        if plugin.source.installed().is_some_and(|installed| installed.leave.grant().is_none()) {
            return Err(HookFault("it was removed or replaced since this session began".into()));
        }
        let _place = self.runtime.hook_place().await;
        let loader = self.runtime.loader();
        let hook = plugin.hook(loader).map_err(|e| HookFault(e.to_string()))?;
        let setup = nobody::setup(Arc::clone(&plugin.label), Bounds::HOOK);
        let mut call = Call::new(hook.engine(), setup, loader.running());
        let ended = call.run(&CancellationToken::new(), async |store| body(&hook, store).await).await;
        ended.map_err(|fault| HookFault(fault.to_string()))
    }
}

/// Lets each hook of a transforming point change the value in turn; what does not pass the check changes nothing.
macro_rules! transform {
    ($chain:expr, $point:expr, $value:expr, |$hook:ident, $store:ident, $seen:ident| $run:expr, $check:expr) => {{
        let mut value = $value;
        for plugin in $chain.at($point) {
            let $seen = &value;
            let given = $chain.run(plugin, async |$hook, $store| $run.await).await;
            let checked = given.and_then(|new| match new {
                Some(new) => $check(&new).map(|()| Some(new)).map_err(HookFault::from),
                None => Ok(None),
            });
            match checked {
                Ok(Some(new)) => value = new,
                Ok(None) => {}
                Err(fault) => fault.ignored(plugin),
            }
        }
        value
    }};
}

/// Why a hook gave no usable answer.
struct HookFault(String);

impl From<Fault> for HookFault {
    fn from(fault: Fault) -> Self {
        Self(fault.to_string())
    }
}

impl HookFault {
    fn ignored(&self, plugin: &Plugin) {
        tracing::warn!(hook = %plugin.label, why = %self.0, "a hook failed and changed nothing");
    }
}

fn bounded(text: String) -> Result<String, Fault> {
    let limit = Bounds::HOOK.output;
    if text.len() > limit { Err(Fault::Flood { limit }) } else { Ok(text) }
}

#[async_trait]
impl Hooks for Chain {
    async fn text_complete(&self, context: &TextContext, text: String) -> String {
        let mut text = text;
        for plugin in self.at(HookPoint::TextComplete) {
            let given = self.run(plugin, async |hook, store| hook.text_complete(store, context, &text).await).await;
            match given.and_then(|t| Ok(t.map(bounded).transpose()?)) {
                Ok(Some(new)) => text = new,
                Ok(None) => {}
                Err(fault) => fault.ignored(plugin),
            }
        }
        text
    }

    async fn tool_before(&self, context: &CallContext, input: Value) -> Result<Value, HookDenial> {
        let mut input = input;
        for plugin in self.at(HookPoint::ToolBefore) {
            let denial = |reason: String| HookDenial { hook: plugin.source.name.clone(), reason: cut(reason, REASON) };
            let failed =
                |f: HookFault| denial(format!("The guard `{}` failed, so nothing passes: {}.", plugin.label, f.0));
            let given = self.run(plugin, async |hook, store| hook.tool_before(store, context, &input).await).await;
            match given.map_err(failed)? {
                Some(Ok(raw)) => input = raw.check().map_err(|fault| failed(fault.into()))?,
                Some(Err(reason)) => return Err(denial(reason)),
                None => {}
            }
        }
        Ok(input)
    }

    async fn tool_after(&self, context: &CallContext, input: &Value, result: ResultView) -> ResultView {
        let mut result = result;
        for plugin in self.at(HookPoint::ToolAfter) {
            let given =
                self.run(plugin, async |hook, store| hook.tool_after(store, context, input, &result).await).await;
            match given.and_then(|v| Ok(v.map(|raw| raw.check(Bounds::HOOK.output)).transpose()?)) {
                Ok(Some(new)) => result = new,
                Ok(None) => {}
                Err(fault) => fault.ignored(plugin),
            }
        }
        result
    }

    async fn permission(&self, view: &PermissionView) -> Opinion {
        let mut all = Opinion::None;
        for link in self.links(HookPoint::Permission) {
            let plugin = &link.plugin;
            let denial = |reason: String| {
                Opinion::Deny(HookDenial { hook: plugin.source.name.clone(), reason: cut(reason, REASON) })
            };
            let given = self.run(plugin, async |hook, store| hook.permission(store, view).await).await;
            let opinion = match given {
                Ok(None | Some(RawOpinion::None)) => Opinion::None,
                Ok(Some(RawOpinion::Ask)) => Opinion::Ask,
                Ok(Some(RawOpinion::Deny(reason))) => denial(reason),
                Ok(Some(RawOpinion::Allow)) if link.may_allow => Opinion::Allow,
                Ok(Some(RawOpinion::Allow)) => Opinion::None,
                Err(f) => denial(format!("The guard `{}` failed, so nothing passes: {}.", plugin.label, f.0)),
            };
            all = all.or_stricter(opinion);
            if matches!(all, Opinion::Deny(_)) {
                break;
            }
        }
        all
    }

    async fn message(&self, context: &TurnContext, said: UserText) -> UserText {
        let check = |s: &UserText| fits(s.notes.iter().chain([&s.text]));
        transform!(self, HookPoint::Message, said, |hook, store, said| hook.message(store, context, said), check)
    }

    async fn messages(&self, context: &TurnContext, messages: Vec<Arc<ChatMessage>>) -> Vec<Arc<ChatMessage>> {
        let mut messages = messages;
        for plugin in self.at(HookPoint::Messages) {
            let written = conversation::written(&messages);
            let given = self.run(plugin, async |hook, store| hook.messages(store, context, &written).await).await;
            match given.and_then(|g| Ok(g.map(|json| conversation::read(&json, &messages)).transpose()?)) {
                Ok(Some(new)) => messages = new,
                Ok(None) => {}
                Err(fault) => fault.ignored(plugin),
            }
        }
        messages
    }

    async fn system(&self, context: &TurnContext, blocks: Vec<String>) -> Vec<String> {
        let check = |b: &Vec<String>| fits(b.iter());
        transform!(self, HookPoint::System, blocks, |hook, store, blocks| hook.system(store, context, blocks), check)
    }

    async fn params(&self, context: &TurnContext, params: Params) -> Params {
        let mut params = params;
        for plugin in self.at(HookPoint::Params) {
            let given = self.run(plugin, async |hook, store| hook.params(store, context, &params).await).await;
            let checked =
                given.and_then(|g| g.map(|raw| raw.check().map_err(|why| Fault::Lie(why).into())).transpose());
            match checked {
                Ok(Some(new)) => params = new,
                Ok(None) => {}
                Err(fault) => fault.ignored(plugin),
            }
        }
        params
    }

    async fn headers(&self, context: &TurnContext) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for plugin in self.at(HookPoint::Headers) {
            match self.run(plugin, async |hook, store| hook.headers(store, context).await).await {
                Ok(given) => all.extend(given.unwrap_or_default()),
                Err(fault) => fault.ignored(plugin),
            }
        }
        all.truncate(PAIRS);
        all
    }

    async fn tool_spec(&self, context: &TurnContext, decl: ToolDecl) -> ToolDecl {
        let name = decl.name.clone();
        let check = |d: &ToolDecl| match serde_json::from_str(&d.input_schema) {
            Ok(Value::Object(_)) if d.name == name => fits([&d.description, &d.input_schema].into_iter()),
            Ok(Value::Object(_)) => Err(Fault::Lie("the tool has another name".into())),
            _ => Err(Fault::Lie("the schema is not a JSON object".into())),
        };
        transform!(self, HookPoint::ToolSpec, decl, |hook, store, decl| hook.tool_spec(store, context, decl), check)
    }

    async fn process_env(&self, context: &CallContext) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for plugin in self.at(HookPoint::ProcessEnv) {
            match self.run(plugin, async |hook, store| hook.process_env(store, context).await).await {
                Ok(given) => all.extend(given.unwrap_or_default()),
                Err(fault) => fault.ignored(plugin),
            }
        }
        all.retain(|(name, _)| !crate::caps::process::steers(name));
        all.truncate(PAIRS);
        all
    }

    async fn command(&self, context: &TurnContext, command: CommandView) -> CommandView {
        let check = |c: &CommandView| fits([&c.text].into_iter());
        transform!(self, HookPoint::Command, command, |hook, store, view| hook.command(store, context, view), check)
    }

    async fn compacting(&self, context: &TurnContext, plan: Compacting) -> Compacting {
        let check = |p: &Compacting| fits(p.context.iter().chain(&p.prompt));
        transform!(self, HookPoint::Compacting, plan, |hook, store, plan| hook.compacting(store, context, plan), check)
    }

    async fn stop(&self, context: &TurnContext, answer: &str, round: u32) -> Option<String> {
        for plugin in self.at(HookPoint::Stop) {
            match self.run(plugin, async |hook, store| hook.stop(store, context, answer, round).await).await {
                Ok(Some(Some(said))) if !said.trim().is_empty() => return Some(cut(said, REASON)),
                Ok(_) => {}
                Err(fault) => fault.ignored(plugin),
            }
        }
        None
    }

    fn event(&self, event: &Event) {
        if let Some(observers) = self.observers.get_or_init(|| Observers::of(self)) {
            observers.tell(event);
        }
    }

    async fn settle(&self) {
        if let Some(Some(observers)) = self.observers.get() {
            observers.settle().await;
        }
    }
}

fn fits<'t>(texts: impl Iterator<Item = &'t String>) -> Result<(), Fault> {
    let limit = Bounds::HOOK.output;
    if texts.map(String::len).sum::<usize>() > limit { Err(Fault::Flood { limit }) } else { Ok(()) }
}
