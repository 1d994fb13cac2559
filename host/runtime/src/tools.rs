//! All tools of all components as one set.

use crate::bounds::Bounds;
use crate::callable::{Answer, Callable};
use crate::caps::Funnel;
use crate::caps::process::{Held, Sandbox};
use crate::engine::EngineKind;
use crate::fault::Fault;
use crate::instance::Call;
use crate::leave::Lease;
use crate::mounts::Reach;
use crate::open::Runtime;
use crate::registry::Plugin;
use crate::state::{CallState, Setup};
use crate::v0_1::cut;
use async_trait::async_trait;
use model::fault::FailureKind;
use model::flow::Label;
use model::grant::Grant;
use model::journal::Journal;
use model::permission::{Actor, Gate};
use model::tool::{ProgressSink, ToolCall, ToolFailure, ToolOutput, ToolSpec, Tools};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use wasmtime::component::ResourceTable;

/// Bytes of what a crashed tool printed that the model gets to read.
const EXPLANATION: usize = 2 << 10;
/// Key of what a call's programs changed on the disk, and of what is not known of it.
const SCAN: &str = "scan";
/// Key of what was cut of a call's log and progress.
const CUT: &str = "cut";
/// Key of what held a call's programs, and what was opened for them.
const SANDBOX: &str = "sandbox";

pub struct ToolSet {
    runtime: Arc<Runtime>,
    gate: Arc<dyn Gate>,
    journal: Arc<dyn Journal>,
    by_name: BTreeMap<String, (Arc<ToolSpec>, Arc<Plugin>)>,
}

impl ToolSet {
    #[must_use]
    pub fn new(runtime: Arc<Runtime>, gate: Arc<dyn Gate>, journal: Arc<dyn Journal>) -> Self {
        let mut by_name = BTreeMap::new();
        let plugins = runtime.with_tools();
        for (spec, plugin) in plugins.iter().flat_map(|p| p.about.tools.iter().map(move |s| (s, p))) {
            let new = (Arc::clone(spec), Arc::clone(plugin));
            // The first stands: bundled components come first, and no other may take their names.
            by_name.entry(spec.name.clone()).or_insert(new);
        }
        Self { runtime, gate, journal, by_name }
    }

    fn unavailable(&self, name: &str) -> ToolFailure {
        let known: Vec<_> = self.by_name.keys().map(String::as_str).collect();
        let message = format!("There is no tool `{name}`. There are: {}.", known.join(", "));
        ToolFailure::new(FailureKind::Unavailable, message)
    }
}

#[async_trait]
impl Tools for ToolSet {
    fn specs(&self) -> Vec<Arc<ToolSpec>> {
        self.by_name.values().map(|(spec, _)| Arc::clone(spec)).collect()
    }

    async fn call(
        &self,
        call: ToolCall,
        progress: Arc<dyn ProgressSink>,
        cancel: CancellationToken,
    ) -> Result<ToolOutput, ToolFailure> {
        let Some((_, plugin)) = self.by_name.get(&call.tool) else { return Err(self.unavailable(&call.tool)) };
        let cancel = cancel.child_token();
        let job = Job {
            runtime: Arc::clone(&self.runtime),
            plugin: Arc::clone(plugin),
            gate: Arc::clone(&self.gate),
            journal: Arc::clone(&self.journal),
            call,
            progress,
            cancel: cancel.clone(),
        };
        // On a task of its own, so that a guest that computes holds up no other call; a caller that goes away ends it.
        let ended = cancel.drop_guard();
        let result = self.runtime.machine().lanes.run(job.run()).await;
        drop(ended);
        result.unwrap_or_else(|error| Err(ToolFailure::new(FailureKind::Failed, format!("The host failed: {error}."))))
    }
}

/// One call with all that it needs.
struct Job {
    runtime: Arc<Runtime>,
    plugin: Arc<Plugin>,
    gate: Arc<dyn Gate>,
    journal: Arc<dyn Journal>,
    call: ToolCall,
    progress: Arc<dyn ProgressSink>,
    cancel: CancellationToken,
}

impl Job {
    async fn run(self) -> Result<ToolOutput, ToolFailure> {
        let interrupted = || ToolFailure::new(FailureKind::Interrupted, "Interrupted.");
        let seat = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Err(interrupted()),
            seat = self.runtime.admit() => seat.map(Arc::new).map_err(|crowd| self.explain(&Fault::Waited(crowd)))?,
        };
        let loader = self.runtime.loader();
        let tool = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Err(interrupted()),
            tool = self.load(seat.kind) => tool?,
        };
        // Only now: who waited for a place or for the compiler begins with the rights of now.
        let lease = self.lease()?;
        let grant = lease.as_ref().map_or_else(|| Arc::clone(&self.plugin.grant), |l| self.plugin.granted(&l.given));
        let funnel = Arc::new(self.funnel(&grant, lease.clone()).seated(seat));
        if !self.plugin.source.is_bundled() {
            funnel.taint(Label::Plugin);
        }
        let setup = self.setup(grant, lease, Arc::clone(&funnel));
        let (mut call, own) = (Call::new(tool.engine(), setup, loader.running()), self.as_it_calls_it());
        let given = call.run(&self.cancel, async |store| tool.call(store, &own).await).await;
        let outcome = self.judge(given, call.bounds.output).and_then(|output| funnel.due(output));
        let outcome = told(outcome, call.store.data(), &call.bounds);
        call.store.data_mut().files.settle(outcome.is_ok()).await;
        call.store.data().network.settle().await;
        let scan = look_after(call.store.data_mut(), &funnel).await;
        let held = walls(&call.store.data().held);
        let outcome = outcome.map(|output| with(with(output, SCAN, scan), SANDBOX, held));
        outcome.map_err(|failure| because(failure, &funnel))
    }

    /// What an installed component may do now; `None` for one that is part of the program.
    fn lease(&self) -> Result<Option<Lease>, ToolFailure> {
        let Some(installed) = self.plugin.source.installed() else { return Ok(None) };
        let gone = || {
            let message = format!(
                "The plugin `{}` was removed or replaced since this session loaded it; begin again to use what is there now.",
                self.plugin.label
            );
            ToolFailure::new(FailureKind::Unavailable, message)
        };
        let leave = Arc::clone(&installed.leave);
        Ok(Some(Lease { given: leave.grant().ok_or_else(gone)?, leave }))
    }

    /// The call under the name that the component itself gives its tool.
    fn as_it_calls_it(&self) -> Cow<'_, ToolCall> {
        match self.plugin.own_name(&self.call.tool) {
            own if own == self.call.tool => Cow::Borrowed(&self.call),
            own => Cow::Owned(ToolCall { tool: own.to_owned(), ..self.call.clone() }),
        }
    }

    /// The first call of all compiles the component, which takes its time and a thread of its own. The code of one of ours that is
    /// kept is there sooner than such a thread.
    async fn load(&self, kind: EngineKind) -> Result<Callable, ToolFailure> {
        let unavailable = |why: String| ToolFailure::new(FailureKind::Unavailable, why);
        let loader = self.runtime.loader();
        let is_near = || self.plugin.source.is_bundled() && loader.holds_acting(&self.plugin.digest);
        if self.plugin.loaded_tool(kind).is_some() || is_near() {
            return self.plugin.tool_on(kind, loader).map_err(|e| unavailable(e.to_string()));
        }
        let (runtime, plugin) = (Arc::clone(&self.runtime), Arc::clone(&self.plugin));
        let load = move || plugin.tool_on(kind, runtime.loader()).map_err(|e| e.to_string());
        let loaded = tokio::task::spawn_blocking(load).await;
        loaded.map_err(|e| unavailable(e.to_string()))?.map_err(unavailable)
    }

    fn judge(
        &self,
        given: Result<Result<Answer, ToolFailure>, Fault>,
        limit: usize,
    ) -> Result<ToolOutput, ToolFailure> {
        match given {
            Ok(Ok(raw)) => raw.check(limit).map_err(|fault| self.explain(&fault)),
            Ok(Err(failure)) => Err(failure),
            Err(fault) => Err(self.explain(&fault)),
        }
    }

    fn explain(&self, fault: &Fault) -> ToolFailure {
        if *fault == Fault::Cancelled {
            return ToolFailure::new(FailureKind::Interrupted, "Interrupted.");
        }
        let raise = |limit| format!(" Its grant can give it more: `{limit}` under `[limits]`.");
        let more = fault.limit().map_or_else(String::new, raise);
        let message = format!("The tool `{}` failed: {fault}.{more}", self.call.tool);
        ToolFailure::new(fault.kind(), cut(message, EXPLANATION))
    }

    fn funnel(&self, grant: &Grant, lease: Option<Lease>) -> Funnel {
        let call = &self.call;
        let actor = Actor {
            session: call.session.clone(),
            message: call.message.clone(),
            call: call.call.clone(),
            agent: call.agent.clone(),
            tool: call.tool.clone(),
            worktree: call.worktree.clone(),
        };
        let (gate, journal) = (Arc::clone(&self.gate), Arc::clone(&self.journal));
        let funnel = Funnel::new(actor, call.grant.clone(), gate, journal, self.cancel.clone());
        let reach = Reach::of(grant, &call.workspace);
        let except = except(grant, &call.workspace);
        funnel.hiding(self.runtime.private()).except(except).reaching(reach).under(lease)
    }

    fn walls(&self, grant: &Grant) -> Sandbox {
        let mut sandbox = self.runtime.sandbox(&self.call.worktree);
        sandbox.except = except(grant, &self.call.workspace);
        sandbox
    }

    fn setup(&self, grant: Arc<Grant>, lease: Option<Lease>, funnel: Arc<Funnel>) -> Setup {
        Setup {
            component: Arc::clone(&self.plugin.label),
            funnel,
            progress: Arc::clone(&self.progress),
            workspace: self.call.workspace.clone(),
            bounds: Bounds::TOOL.with(&grant.limits),
            sandbox: Arc::new(self.walls(&grant)),
            grant,
            pool: Some(self.runtime.pool()),
            lease,
            env: self.call.env.clone(),
            digest: self.plugin.digest.hex(),
            means: self.runtime.means(),
            yard: self.runtime.yard(),
        }
    }
}

/// With what was cut of the call's log and progress: nothing else tells of it.
fn told(
    outcome: Result<ToolOutput, ToolFailure>,
    state: &CallState,
    bounds: &Bounds,
) -> Result<ToolOutput, ToolFailure> {
    let all = [("log", state.log.dropped(), bounds.log), ("progress", state.progress.dropped(), bounds.progress)];
    let cut = |(what, dropped, limit): (&str, usize, usize)| {
        (dropped > 0)
            .then(|| format!("Its {what} was cut after {} KiB: `{what}` under `[limits]` of its grant.", limit >> 10))
    };
    let cuts: Vec<String> = all.into_iter().filter_map(cut).collect();
    if cuts.is_empty() {
        return outcome;
    }
    match outcome {
        Ok(mut output) => {
            output.metadata.insert(CUT.to_owned(), cuts.into());
            Ok(output)
        }
        Err(failure) => Err(ToolFailure { message: format!("{} {}", failure.message, cuts.join(" ")), ..failure }),
    }
}

/// Real paths of what a grant leaves out. What is not there yet is to stay away as well.
fn except(grant: &Grant, workspace: &Path) -> Vec<PathBuf> {
    let real = |name: &String| {
        let path = workspace.join(name);
        path.canonicalize().unwrap_or(path)
    };
    grant.except.iter().map(real).collect()
}

/// Ends the call's programs and journals what they changed.
async fn look_after(state: &mut CallState, funnel: &Funnel) -> Option<Value> {
    let watch = state.sandbox.watch.clone()?;
    if state.has_left {
        return watch.gives_up();
    }
    if state.yard.is_busy() {
        watch.leaves_out(vec!["which changes are those of a program in the background".into()]);
    }
    // Whatever the guest still holds goes, and a program that goes is dead.
    state.table = ResourceTable::new();
    watch.after(funnel, state.files.own()).await
}

/// The host's own word on a call: no component writes it.
fn with(mut output: ToolOutput, key: &str, value: Option<Value>) -> ToolOutput {
    output.metadata.remove(key);
    output.metadata.extend(value.map(|value| (key.to_owned(), value)));
    output
}

/// The weakest of the walls that held a call's programs, and all that was opened; `None` where none ran.
fn walls(held: &[Held]) -> Option<Value> {
    let level = held.iter().map(|h| h.level).min()?;
    let opened: BTreeSet<String> = held.iter().flat_map(|h| h.beyond.names()).collect();
    let mut told = json!({ "level": level.name() });
    if !opened.is_empty() {
        told["opened"] = json!(opened);
    }
    Some(told)
}

/// A call that fails after an act was refused fails for that reason; the guest only saw an error code.
fn because(failure: ToolFailure, funnel: &Funnel) -> ToolFailure {
    if failure.kind == FailureKind::Interrupted { failure } else { funnel.refusal().unwrap_or(failure) }
}
