//! The chain of configured hooks, with the fault outcome of each point: a gate that fails denies, a transformer that fails
//! changes nothing.

use crate::bounds::Bounds;
use crate::fault::Fault;
use crate::instance::Call;
use crate::nobody;
use crate::open::Runtime;
use crate::registry::{HookPoint, Plugin};
use crate::state::CallState;
use crate::v0_1::{Hook, cut};
use async_trait::async_trait;
use model::hook::{CallContext, HookDenial, Hooks, ResultView, TextContext};
use serde_json::Value;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use wasmtime::Store;

/// Bytes of a reason for refusing.
const REASON: usize = 4 << 10;

pub struct Chain {
    runtime: Arc<Runtime>,
    hooks: Vec<Arc<Plugin>>,
}

impl Chain {
    #[must_use]
    pub fn new(runtime: Arc<Runtime>, hooks: Vec<Arc<Plugin>>) -> Self {
        Self { runtime, hooks }
    }

    fn at(&self, point: HookPoint) -> impl Iterator<Item = &Arc<Plugin>> {
        self.hooks.iter().filter(move |h| h.about.hooks.contains(&point))
    }

    /// Runs one hook in an instance of its own, with no right to act.
    async fn run<T>(
        &self,
        plugin: &Arc<Plugin>,
        body: impl AsyncFnOnce(&Hook, &mut Store<CallState>) -> wasmtime::Result<Option<T>>,
    ) -> Result<Option<T>, HookFault> {
        let _slot = self.runtime.acting_slot().await;
        let loader = self.runtime.loader();
        let hook = plugin.hook(loader).map_err(|e| HookFault(e.to_string()))?;
        let mut call =
            Call::new(hook.engine(), nobody::setup(Arc::clone(&plugin.label), Bounds::HOOK), loader.running());
        let ended = call.run(&CancellationToken::new(), async |store| body(&hook, store).await).await;
        ended.map_err(|fault| HookFault(fault.to_string()))
    }
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
}
