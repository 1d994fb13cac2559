//! The composition root: the only file that knows every room. It opens them, hands each what it needs, and decides nothing.

use crate::bundled::BUNDLED;
use crate::cli::{self, Ground, Yes, say};
use crate::config::choice::{self, Choice};
use crate::config::paths::Paths;
use crate::config::secrets::Declared;
use crate::config::{ConfigError, probe};
use crate::report::Report;
use crate::skills::{SkillTool, Skills};
use crate::tui::Screen;
use crate::tui::asker::{Nobody, Person, Ready};
use agent::gate::{GateOptions, Gatekeeper};
use agent::journal::Rewinder;
use agent::{Agent, Clock, HostTool, Job, LonePorts, Observed, Ports, RetryPolicy, Roster};
use model::event::EventSink;
use model::hook::Hooks;
use model::permission::{Asker, Policy};
use model::profile::Profile;
use model::provider::{Minds, Provider};
use model::session::Session;
use model::store::{Store, StoreError};
use model::undo::Disk;
use runtime::caps::http::Means;
use runtime::{Brought, Compiler, HttpOptions, Machine, Runtime, RuntimeError, RuntimeOptions, Share};
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
    let options = options_of(&Paths::find()?);
    let opened = tokio::task::spawn_blocking(move || Runtime::open(options)).await;
    Ok(opened.map_err(broke)??)
}

/// As [`runtime`], with what the config here brings along.
///
/// # Errors
/// As [`runtime`]; a config that is wrong.
pub async fn runtime_of(ground: &Ground) -> Result<Arc<Runtime>, Report> {
    let options = RuntimeOptions { brought: ground.config.brought.clone(), ..options_of(&ground.paths) };
    let opened = tokio::task::spawn_blocking(move || Runtime::open(options)).await;
    Ok(opened.map_err(broke)??)
}

/// What requests of components stand on. A file of certificates that cannot be read is told of where a provider needs it.
fn network(ground: &Ground) -> Means {
    let ca = ground.config.http.options().ok().and_then(|o| o.ca);
    Means { secrets: Arc::new(Declared::new(&ground.config, &ground.keys)), ca, ..Means::default() }
}

/// Without a say of anybody's config.
fn options_of(paths: &Paths) -> RuntimeOptions {
    RuntimeOptions {
        machine: Machine::new(),
        owner: paths.owner.clone(),
        environment: paths.environment.clone(),
        share: Share::default(),
        cache_dir: paths.cache.join("compiled"),
        data_dir: paths.data.clone(),
        bundled: BUNDLED.to_vec(),
        on_compile: Some(announce_compiling()),
        compiler: Some(compiler()),
        require_sandbox: false,
        private: paths.homes.clone(),
        network: Means::default(),
        brought: Brought::default(),
    }
}

/// This same program under its hidden command. A strange component is never compiled in a process that matters.
fn compiler() -> Compiler {
    let program = std::env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into());
    Compiler { program, args: vec![cli::COMPILE.into()] }
}

fn broke(error: tokio::task::JoinError) -> Report {
    Report::internal(format!("the start broke off: {error}"))
}

/// Loads a component while other things go on.
pub fn in_background(runtime: &Arc<Runtime>, name: String, load: impl Fn(&Runtime, &str) + Send + 'static) {
    let runtime = runtime.clone();
    tokio::task::spawn_blocking(move || load(&runtime, &name));
}

/// The ledger alone.
///
/// # Errors
/// What keeps it shut.
pub fn ledger(paths: &Paths) -> Result<Arc<Ledger>, StoreError> {
    Ledger::of(&paths.owner, &paths.data)
}

/// Opens ledger and runtime, each on a thread of its own. The person who runs the command has the machine for themselves.
#[must_use]
pub fn open(ground: &Ground, require_sandbox: bool) -> Opening {
    open_on(Machine::new(), ground, require_sandbox)
}

/// As [`open`], on a machine that others may use as well.
#[must_use]
pub fn open_on(machine: Arc<Machine>, ground: &Ground, require_sandbox: bool) -> Opening {
    let (owner, data) = (ground.paths.owner.clone(), ground.paths.data.clone());
    let options = RuntimeOptions {
        machine,
        require_sandbox,
        share: ground.config.components,
        network: network(ground),
        brought: ground.config.brought.clone(),
        ..options_of(&ground.paths)
    };
    Opening {
        ledger: tokio::task::spawn_blocking(move || Ledger::of(&owner, &data)),
        runtime: tokio::task::spawn_blocking(move || Runtime::open(options)),
    }
}

impl Opening {
    /// # Errors
    /// What keeps one of them shut.
    pub async fn ready(self) -> Result<Rooms, Report> {
        let rooms = Rooms { ledger: self.ledger.await.map_err(broke)??, runtime: self.runtime.await.map_err(broke)?? };
        rooms.runtime.notices().iter().for_each(|notice| say(notice));
        Ok(rooms)
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
    minds: Arc<dyn Minds>,
    job: &Job,
    asker: Arc<dyn Asker>,
    sink: Arc<dyn EventSink>,
) -> Result<Ports, Report> {
    let (skills, hooks) = (Arc::new(ground.skills()), hooks(ground, rooms)?);
    let sink: Arc<dyn EventSink> =
        if ground.config.hooks.is_empty() { sink } else { Observed::new(hooks.clone(), sink) };
    let mut policy = job.policy.clone();
    // The person's own skills lie outside the workspace, and their files are there to be read.
    policy.layers.splice(0..0, skills.own.iter().map(|folder| agent::gate::readable_rules(&folder.join("*"))));
    let gate = gate(ground, rooms, policy, asker, sink.clone(), hooks.clone()).await?;
    Ok(Ports {
        provider,
        minds,
        tools: rooms.runtime.tools(gate.clone(), rooms.ledger.clone()),
        host_tools: skill_tool(skills),
        hooks,
        store: rooms.ledger.clone(),
        inbox: rooms.ledger.clone(),
        gate: gate.clone(),
        sink,
        clock: Arc::new(SystemClock),
        background: Some(rooms.runtime.background()),
        rewinder: Some(Arc::new(rewinder(rooms.ledger.clone()))),
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

/// What a single call is handed.
///
/// # Errors
/// As [`ports`].
pub async fn lone_ports(
    ground: &Ground,
    rooms: &Rooms,
    policy: Policy,
    asker: Arc<dyn Asker>,
    sink: Arc<dyn EventSink>,
) -> Result<LonePorts, Report> {
    let hooks = hooks(ground, rooms)?;
    let gate = gate(ground, rooms, policy, asker, sink, hooks.clone()).await?;
    Ok(LonePorts {
        tools: rooms.runtime.tools(gate.clone(), rooms.ledger.clone()),
        hooks,
        gate,
        store: rooms.ledger.clone(),
        clock: Arc::new(SystemClock),
    })
}

/// The tool `skill`, where there is something to load.
fn skill_tool(skills: Arc<Skills>) -> Vec<Arc<dyn HostTool>> {
    if skills.all.is_empty() { vec![] } else { vec![Arc::new(SkillTool::new(skills))] }
}

/// The chain of hooks that the config names.
///
/// # Errors
/// A hook that is not there.
pub fn hooks(ground: &Ground, rooms: &Rooms) -> Result<Arc<dyn Hooks>, Report> {
    Ok(rooms.runtime.hooks(&ground.config.hooks)?)
}

/// The one judge of a run.
///
/// # Errors
/// A ledger that fails.
async fn gate(
    ground: &Ground,
    rooms: &Rooms,
    policy: Policy,
    asker: Arc<dyn Asker>,
    sink: Arc<dyn EventSink>,
    hooks: Arc<dyn Hooks>,
) -> Result<Arc<Gatekeeper>, Report> {
    let approvals = rooms.ledger.approvals(&ground.place.worktree).await?;
    let options = GateOptions { policy, approvals, home: ground.paths.home.clone(), flow: ground.config.flow.clone() };
    Ok(Gatekeeper::hooked(options, rooms.ledger.clone(), asker, sink, hooks))
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

#[must_use]
pub fn now() -> SystemTime {
    SystemTime::now()
}

/// Milliseconds since the Unix epoch.
#[must_use]
pub fn now_ms() -> u64 {
    let since = now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The bounds on trying again; `AIRLOCK_RETRY_BASE_MS` shrinks the waits, for tests.
///
/// # Errors
/// A variable that is no number.
pub fn retry_policy(ground: &Ground) -> Result<RetryPolicy, ConfigError> {
    const NAME: &str = "AIRLOCK_RETRY_BASE_MS";
    let policy = RetryPolicy { idle: patience(&ground.config.http.options()?), ..RetryPolicy::default() };
    let Some(text) = ground.paths.environment.said(NAME) else { return Ok(policy) };
    let bad = |_| ConfigError::BadVariable { name: NAME, why: format!("`{text}` is no number of milliseconds") };
    let base = Duration::from_millis(text.parse().map_err(bad)?);
    Ok(RetryPolicy { base, ..policy })
}

/// The loop's own patience ends after that of the connection, which can say what was waited for.
fn patience(http: &HttpOptions) -> Duration {
    http.connect.saturating_add(http.first_byte).max(http.idle).saturating_add(Duration::from_secs(5))
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

#[cfg(test)]
mod tests;
