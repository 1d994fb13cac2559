//! The composition root: the only file that knows every room. It opens them, hands each what it needs, and decides nothing.

use crate::bundled::BUNDLED;
use crate::cli::{Ground, Yes, say};
use crate::config::choice::{self, Choice};
use crate::config::keys::Keys;
use crate::config::paths::Paths;
use crate::config::providers::OFFLINE;
use crate::config::resolve::{self, Target};
use crate::config::{Config, ConfigError, probe, variable};
use crate::report::Report;
use crate::tui::Screen;
use crate::tui::asker::{Nobody, Person, Ready};
use agent::gate::{GateOptions, Gatekeeper};
use agent::journal::Rewinder;
use agent::{Agent, Clock, Job, Ports, RetryPolicy, Roster};
use model::event::EventSink;
use model::hook::{Hooks, NoHooks};
use model::permission::{Asker, Policy};
use model::profile::Profile;
use model::provider::{Mind, Minds, Model, ModelRef, Provider};
use model::session::Session;
use model::store::{Store, StoreError};
use model::undo::Disk;
use runtime::{ProviderConfig, Runtime, RuntimeError, RuntimeOptions, Secret};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};
use store::Ledger;
use tokio::task::JoinHandle;

/// What a run or a call works with.
pub struct Rooms {
    pub ledger: Arc<Ledger>,
    pub runtime: Arc<Runtime>,
}

/// Rooms that are being opened.
pub struct Opening {
    ledger: JoinHandle<Result<Arc<Ledger>, StoreError>>,
    runtime: JoinHandle<Result<Arc<Runtime>, RuntimeError>>,
}

/// The components alone: what is needed to look at them.
///
/// # Errors
/// What keeps them from being loaded.
pub async fn runtime() -> Result<Arc<Runtime>, Report> {
    let options = options_of(&Paths::find()?, false);
    let opened = tokio::task::spawn_blocking(move || Runtime::open(options)).await;
    Ok(opened.map_err(broke)??)
}

fn options_of(paths: &Paths, require_sandbox: bool) -> RuntimeOptions {
    RuntimeOptions {
        cache_dir: paths.cache.join("compiled"),
        data_dir: paths.data.clone(),
        bundled: BUNDLED.to_vec(),
        on_compile: Some(announce_compiling()),
        require_sandbox,
        private: vec![paths.config.clone()],
    }
}

fn broke(error: tokio::task::JoinError) -> Report {
    Report::internal(format!("the start broke off: {error}"))
}

/// What nearly every run calls first.
const FIRST_TOOL: &str = "read";

fn in_background(runtime: &Arc<Runtime>, name: String, load: impl Fn(&Runtime, &str) + Send + 'static) {
    let runtime = runtime.clone();
    tokio::task::spawn_blocking(move || load(&runtime, &name));
}

/// Opens ledger and runtime, each on a thread of its own.
#[must_use]
pub fn open(paths: &Paths, require_sandbox: bool) -> Opening {
    let data = paths.data.clone();
    let options = options_of(paths, require_sandbox);
    Opening {
        ledger: tokio::task::spawn_blocking(move || Ledger::open(&data)),
        runtime: tokio::task::spawn_blocking(move || {
            let opened = Runtime::open(options)?;
            in_background(&opened, FIRST_TOOL.into(), Runtime::warm_up_tool);
            Ok(opened)
        }),
    }
}

impl Opening {
    /// # Errors
    /// What keeps one of them shut.
    pub async fn ready(self) -> Result<Rooms, Report> {
        Ok(Rooms { ledger: self.ledger.await.map_err(broke)??, runtime: self.runtime.await.map_err(broke)?? })
    }
}

/// Told once: the first start compiles the bundled components, which takes a moment.
fn announce_compiling() -> Arc<dyn Fn(runtime::CompileNotice) + Send + Sync> {
    let told = AtomicBool::new(false);
    Arc::new(move |_| {
        if !told.swap(true, Ordering::Relaxed) {
            say("compiling the components for this machine (only once for each version)");
        }
    })
}

/// Which model a run speaks to. Looks for local servers only where nothing names one.
pub async fn choose(ground: &Ground, profile: &Profile, session: Option<&Session>) -> Choice {
    let context = choice::Context { session: session.map(|s| &s.model), agent: profile.model.as_ref() };
    match choice::without_looking(&ground.config, context, |k| ground.keys.find(k)) {
        Some(choice) => choice,
        None => choice::after_looking(&probe::local_servers().await),
    }
}

/// # Errors
/// No such provider, no key, no such adapter.
pub fn mind(ground: &Ground, rooms: &Rooms, choice: &Choice) -> Result<Mind, Report> {
    mind_of(&ground.config, &ground.keys, &rooms.runtime, &choice.model)
}

/// Looks models up when an agent wants one.
struct ByName {
    config: Config,
    keys: Keys,
    runtime: Arc<Runtime>,
}

impl Minds for ByName {
    fn mind(&self, model: &ModelRef) -> Result<Mind, String> {
        mind_of(&self.config, &self.keys, &self.runtime, model).map_err(|report| report.what)
    }
}

fn mind_of(config: &Config, keys: &Keys, runtime: &Arc<Runtime>, wanted: &ModelRef) -> Result<Mind, Report> {
    let target = resolve::target(config, wanted)?;
    in_background(runtime, target.adapter.clone(), Runtime::warm_up_adapter);
    let info = runtime.provider_info(&target.adapter)?;
    let known = || info.models.iter().find(|m| m.id == wanted.model).cloned();
    let model = target.model.clone().or_else(known).unwrap_or_else(|| Model::unknown(&wanted.model));
    let secret = resolve::key(keys, &wanted.provider, target.key.as_ref())?;
    let name = info.secrets.first().cloned().unwrap_or_else(|| "key".into());
    let config = ProviderConfig {
        adapter: target.adapter.clone(),
        base_url: target.base_url.clone(),
        secrets: secret.map(|value| (name, Secret::new(value))).into_iter().collect(),
        options: options(target)?,
        http: runtime::HttpOptions::default(),
    };
    Ok(Mind { provider: runtime.provider(config)?, model })
}

fn options(target: Target) -> Result<Option<serde_json::Value>, ConfigError> {
    let script = if target.adapter == OFFLINE { resolve::offline_script()? } else { None };
    Ok(script.or(target.options))
}

/// Who answers the gate's questions.
#[must_use]
pub fn asker(yes: Option<Yes>, screen: &Arc<Screen>, ground: &Ground) -> Arc<dyn Asker> {
    match yes {
        Some(yes) => Arc::new(Ready(yes)),
        None if Person::is_there() => Arc::new(Person::new(screen.clone(), ground.place.directory.clone())),
        None => Arc::new(Nobody),
    }
}

/// Everything that the loop is handed.
///
/// # Errors
/// A ledger that fails, a hook that is not there.
pub async fn ports(
    ground: &Ground,
    rooms: &Rooms,
    provider: Arc<dyn Provider>,
    job: &Job,
    asker: Arc<dyn Asker>,
    sink: Arc<dyn EventSink>,
) -> Result<Ports, Report> {
    let gate = gate(ground, rooms, job.policy.clone(), asker, sink.clone()).await?;
    let hooks: Arc<dyn Hooks> = match ground.config.hooks.as_slice() {
        [] => Arc::new(NoHooks),
        names => rooms.runtime.hooks(names)?,
    };
    Ok(Ports {
        provider,
        minds: Arc::new(ByName {
            config: ground.config.clone(),
            keys: ground.keys.clone(),
            runtime: rooms.runtime.clone(),
        }),
        tools: rooms.runtime.tools(gate.clone(), rooms.ledger.clone()),
        host_tools: vec![],
        hooks,
        store: rooms.ledger.clone(),
        inbox: rooms.ledger.clone(),
        gate: gate.clone(),
        sink,
        clock: Arc::new(SystemClock),
    })
}

/// All rules under which an agent leads a run.
#[must_use]
pub fn policy(ground: &Ground, profile: &Profile) -> Policy {
    let mut policy = ground.config.policy(agent::gate::default_rules(), profile);
    // What was kept of a long output is there for the agent to read on.
    let kept = ground.paths.data.join("outputs").join("*");
    policy.layers.insert(0, agent::gate::readable_rules(&kept));
    policy
}

/// The agents that a run may call on.
#[must_use]
pub fn roster(ground: &Ground) -> Arc<Roster> {
    let agent = |p: &Profile| Agent { profile: p.clone(), policy: policy(ground, p) };
    Arc::new(Roster::new(ground.config.agents.values().map(agent).collect()))
}

/// The one judge of a run.
///
/// # Errors
/// A ledger that fails.
pub async fn gate(
    ground: &Ground,
    rooms: &Rooms,
    policy: Policy,
    asker: Arc<dyn Asker>,
    sink: Arc<dyn EventSink>,
) -> Result<Arc<Gatekeeper>, Report> {
    let approvals = rooms.ledger.approvals(&ground.place.worktree).await?;
    let options = GateOptions { policy, approvals, home: ground.paths.home.clone() };
    Ok(Gatekeeper::new(options, rooms.ledger.clone(), asker, sink))
}

/// Undo on this ledger and the real disk.
#[must_use]
pub fn rewinder(ledger: Arc<Ledger>) -> Rewinder {
    Rewinder { ledger, disk: disk(), clock: Arc::new(SystemClock) }
}

/// The disk as undo sees it.
#[must_use]
pub fn disk() -> Arc<dyn Disk> {
    Arc::new(runtime::caps::fs::Restorer)
}

struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        now_ms()
    }
}

/// Milliseconds since the Unix epoch.
#[must_use]
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The bounds on trying again; `AIRLOCK_RETRY_BASE_MS` shrinks the waits, for tests.
///
/// # Errors
/// A variable that is no number.
pub fn retry_policy() -> Result<RetryPolicy, ConfigError> {
    const NAME: &str = "AIRLOCK_RETRY_BASE_MS";
    let Some(text) = variable(NAME) else { return Ok(RetryPolicy::default()) };
    let bad = |_| ConfigError::BadVariable { name: NAME, why: format!("`{text}` is no number of milliseconds") };
    let base = Duration::from_millis(text.parse().map_err(bad)?);
    Ok(RetryPolicy { base, ..RetryPolicy::default() })
}

/// How strong the wall around programs is on this machine; `None` where there is none.
#[must_use]
pub fn sandbox() -> Option<String> {
    use runtime::caps::process::{Level, detect};
    match detect() {
        Level::None => None,
        level @ (Level::Partial | Level::Strong | Level::Full) => Some(level.to_string()),
    }
}
