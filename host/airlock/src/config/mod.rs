//! The config: what the person, the workspace, the environment and the flags say, laid over the defaults in this order.
//!
//! A workspace's file is written by whoever wrote the repository. Until it is trusted it may make things stricter and nothing
//! else: its rules form a layer that only narrows, its limits count where they are smaller, all else is left out and said so.

pub mod agent_files;
pub mod agents;
pub mod choice;
mod compaction;
mod components;
pub mod error;
pub mod file;
mod flow;
pub mod grants;
pub mod http;
pub mod inputs;
pub mod keys;
pub mod models;
pub mod names;
pub mod paths;
mod plugins;
pub mod probe;
pub mod providers;
mod read;
pub mod resolve;
pub mod ring;
pub mod rules;
pub mod secrets;
pub mod sources;
mod storage;
pub mod trust;

pub use error::ConfigError;
pub use read::nearest;

use agent::CompactionOptions;
use file::{FileConfig, OffspringEntry, ProviderEntry, SecretEntry};
use http::HttpEntry;
use indexmap::IndexMap;
use inputs::InputConfig;
use model::budget::{Limits, Offspring};
use model::environment::Environment;
use model::flow::{Flow, FlowRule};
use model::permission::{Action, Layer, Policy, Reach, Rule};
use model::profile::Profile;
use model::provider::ModelRef;
use models::Aliases;
use paths::{Paths, Place};
use rules::Permissions;
use runtime::{Brought, HookUse, Share};
use std::fmt;
use std::path::{Path, PathBuf};
use store::Retention;

/// Who said so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Default,
    File(PathBuf),
    Variable(&'static str),
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Variable(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said<T> {
    pub value: T,
    pub by: Origin,
}

/// What the environment says. A closed list: other variables are not looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Variables {
    pub model: Option<ModelRef>,
    pub small_model: Option<ModelRef>,
    pub agent: Option<String>,
}

/// What the flags say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    pub model: Option<ModelRef>,
    /// `--model` as it was written; [`Config::load`] finds out which one that is.
    pub model_name: Option<String>,
    pub agent: Option<String>,
    pub allow: Vec<Rule>,
    pub deny: Vec<Rule>,
    pub limits: Limits,
}

impl Overrides {
    fn named(&self) -> impl Iterator<Item = (String, String)> {
        let of = |flag: &str, rules: &[Rule]| {
            let flag = flag.to_owned();
            rules.iter().map(move |r| (r.permission.clone(), flag.clone())).collect::<Vec<_>>()
        };
        of("--allow", &self.allow).into_iter().chain(of("--deny", &self.deny))
    }
}

/// Everything that was said, merged.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    pub model: Option<Said<ModelRef>>,
    pub small_model: Option<Said<ModelRef>>,
    pub agent: Said<String>,
    pub providers: IndexMap<String, ProviderEntry>,
    pub agents: IndexMap<String, Profile>,
    pub limits: Limits,
    pub offspring: Offspring,
    pub compaction: CompactionOptions,
    /// Run in this order.
    pub hooks: Vec<HookUse>,
    pub inputs: InputConfig,
    pub secrets: IndexMap<String, SecretEntry>,
    pub flow: Flow,
    pub storage: Retention,
    pub components: Share,
    pub aliases: Aliases,
    /// Asked in this order where the model before fails for good.
    pub fallback: Vec<ModelRef>,
    pub http: HttpEntry,
    /// Components of the files, and what installed ones may do.
    pub brought: Brought,
    /// `permission.continue`.
    pub go_on: bool,
    /// Every permission that files and flags name, and where.
    named: Vec<(String, String)>,
    /// Rules of the files, least specific first.
    layers: Vec<Layer>,
    /// Rules of the flags: the last word.
    flags: Vec<Rule>,
    pub files: Vec<PathBuf>,
    /// For the person: what was left out, and why.
    pub notices: Vec<String>,
}

impl Config {
    /// Reads the files and lays all layers over each other.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn load(paths: &Paths, place: &Place, mut flags: Overrides) -> Result<Self, ConfigError> {
        let home = paths.home.as_deref();
        let user = read_file(&paths.user_config(), home)?.unwrap_or_default();
        let workspace = match place.workspace_config() {
            Some(file) => read_workspace(&file, paths)?,
            None => None,
        };
        if let Some(name) = flags.model_name.take() {
            let wrong = |near| ConfigError::NoSuchModel { by: "--model", name: name.clone(), hint: models::hint(near) };
            flags.model = Some(models::named(&name, &user.aliases).map_err(wrong)?);
        }
        let env = variables(&paths.environment, &user.aliases)?;
        let mut config = Self::merge(user, workspace, env, flags);
        config.add_agents(agent_files::read(paths, place));
        Ok(config)
    }

    /// Lays agents that are written as files beside those that there are. A name stands for what it stood for: the config weighs
    /// more than the person's files, and no workspace takes a name that is in use.
    pub fn add_agents(&mut self, found: agent_files::Found) {
        self.notices.extend(found.notices);
        for file in found.files {
            if let Err(why) = agents::add(&mut self.agents, &file) {
                self.notices.push(format!("the agent {} is left out: {why}", file.path.display()));
            }
        }
    }

    /// Pure: defaults < user < workspace < environment < flags.
    #[must_use]
    pub fn merge(user: FileConfig, workspace: Option<FileConfig>, env: Variables, flags: Overrides) -> Self {
        let mut brought = Brought { plugins: plugins::in_full(&user), ..Brought::default() };
        let (user, workspace) = match workspace {
            Some(trusted) if trusted.trusted => {
                brought.plugins.extend(plugins::in_full(&trusted));
                brought.pins.clone_from(&trusted.pins);
                (user.under(&trusted), Some(trusted))
            }
            other => (user, other),
        };
        let mut agents = agents::built_in();
        for (name, entry) in &user.agents {
            agents::overlay(&mut agents, name, entry, &user.path);
        }
        let of_agents = user.agents.values().flat_map(|a| places(&a.permissions));
        let named = places(&user.permissions).chain(of_agents).chain(flags.named()).collect();
        let from_user = || Origin::File(user.path.clone());
        let mut config = Self {
            model: last(flags.model, "--model", env.model, "AIRLOCK_MODEL", user.model, from_user()),
            small_model: last(None, "", env.small_model, "AIRLOCK_SMALL_MODEL", user.small_model, from_user()),
            agent: last(flags.agent, "--agent", env.agent, "AIRLOCK_AGENT", user.agent, from_user())
                .unwrap_or(Said { value: agents::DEFAULT.into(), by: Origin::Default }),
            providers: user.providers,
            agents,
            limits: user.limits,
            offspring: user.offspring.over(Offspring::default()),
            compaction: user.compaction.unwrap_or_default(),
            hooks: user.hooks.unwrap_or_default(),
            inputs: user.inputs,
            secrets: user.secrets,
            storage: user.storage.unwrap_or_default(),
            components: user.components.unwrap_or_default(),
            flow: flow_of(user.flow),
            aliases: user.aliases,
            fallback: user.fallback,
            http: user.http,
            brought,
            go_on: user.permissions.go_on.unwrap_or(false),
            named,
            layers: layer(&user.path, Reach::Full, user.permissions.rules).into_iter().collect(),
            // Denials last: of two flags that meet, the stricter one stands.
            flags: flags.allow.into_iter().chain(flags.deny).collect(),
            files: if user.path.as_os_str().is_empty() { vec![] } else { vec![user.path] },
            notices: Vec::new(),
        };
        match workspace {
            Some(workspace) if workspace.trusted => config.follow(workspace),
            Some(workspace) => config.narrow(workspace),
            None => {}
        }
        config.limits = over(flags.limits, config.limits);
        config
    }

    /// Lays the rules of a trusted file over those of the person; all else of it is laid over theirs already.
    fn follow(&mut self, workspace: FileConfig) {
        let of_agents = workspace.agents.values().flat_map(|a| places(&a.permissions));
        self.named.extend(places(&workspace.permissions).chain(of_agents));
        self.layers.extend(layer(&workspace.path, Reach::Full, workspace.permissions.rules));
        self.inputs.add_untrusted(workspace.inputs);
        self.files.push(workspace.path);
    }

    /// Takes from an untrusted file what makes things stricter.
    fn narrow(&mut self, workspace: FileConfig) {
        let ignored = widening(&workspace);
        if !ignored.is_empty() {
            self.notices.push(format!(
                "{} is not trusted, so only what it denies or asks and smaller limits count (`airlock trust` changes that); left out: {}",
                workspace.path.display(),
                ignored.join(", ")
            ));
        }
        self.brought.plugins.extend(plugins::narrowing(&workspace));
        self.named.extend(places(&workspace.permissions));
        self.layers.extend(layer(&workspace.path, Reach::NarrowOnly, workspace.permissions.rules));
        self.limits = tighter(std::mem::take(&mut self.limits), workspace.limits);
        self.offspring = workspace.offspring.tightening(self.offspring);
        self.inputs.add_untrusted(workspace.inputs);
        workspace.flow.into_iter().for_each(|rule| self.flow.tighten(rule));
        self.files.push(workspace.path);
    }

    /// All rules of a run, least specific first: defaults, user, agent, workspace, flags. The workspace's layer only narrows; it
    /// lies over the agent's, so that no agent's *allow* undoes a workspace's *deny*. Flags are the person's word of the moment.
    #[must_use]
    pub fn policy(&self, defaults: Layer, profile: &Profile) -> Policy {
        let origin = format!("agent {}", profile.name);
        let agent = Layer { origin, reach: profile.reach, rules: profile.rules.clone() };
        let flags = full("--allow and --deny", self.flags.clone());
        let (user, narrow): (Vec<Layer>, Vec<Layer>) =
            self.layers.iter().cloned().partition(|l| l.reach == Reach::Full);
        let said = user.into_iter().chain([agent]).chain(narrow).chain([flags]).filter(|l| !l.rules.is_empty());
        Policy { layers: std::iter::once(defaults).chain(said).collect() }
    }

    /// The rules of files and flags, for `config show`, each with where it stands and whether it counts: what an untrusted file
    /// allows does not.
    pub fn rules(&self) -> impl Iterator<Item = (&str, &Rule, bool)> {
        let counts = |l: &Layer, r: &Rule| l.reach == Reach::Full || r.action != Action::Allow;
        let files = self.layers.iter().flat_map(move |l| l.rules.iter().map(move |r| (&*l.origin, r, counts(l, r))));
        files.chain(self.flags.iter().map(|r| ("flags", r, true)))
    }
}

/// The person's rules over the defaults.
fn flow_of(rules: Vec<FlowRule>) -> Flow {
    let mut flow = Flow::default();
    rules.into_iter().for_each(|rule| flow.set(rule));
    flow
}

fn places(permissions: &Permissions) -> impl Iterator<Item = (String, String)> {
    permissions.named.iter().map(|(name, place)| (name.clone(), place.to_string()))
}

fn full(origin: &str, rules: Vec<Rule>) -> Layer {
    Layer { origin: origin.into(), reach: Reach::Full, rules }
}

fn layer(path: &Path, reach: Reach, rules: Vec<Rule>) -> Option<Layer> {
    let layer = Layer { origin: path.display().to_string(), reach, rules };
    (!layer.rules.is_empty()).then_some(layer)
}

fn last<T>(
    flag: Option<T>,
    flag_name: &'static str,
    variable: Option<T>,
    variable_name: &'static str,
    file: Option<T>,
    origin: Origin,
) -> Option<Said<T>> {
    let flag = flag.map(|value| Said { value, by: Origin::Flag(flag_name) });
    let variable = variable.map(|value| Said { value, by: Origin::Variable(variable_name) });
    flag.or(variable).or(file.map(|value| Said { value, by: origin }))
}

/// Keys of a workspace's file that could widen what a run may do.
fn widening(file: &FileConfig) -> Vec<&'static str> {
    let told = |is: bool, key| is.then_some(key);
    [
        told(file.model.is_some(), "model"),
        told(file.small_model.is_some(), "small_model"),
        told(file.compaction.is_some(), "compaction"),
        told(file.agent.is_some(), "agent"),
        told(!file.providers.is_empty(), "providers"),
        told(file.permissions.rules.iter().any(|r| r.action == Action::Allow), "what [permission] allows"),
        told(file.permissions.go_on.is_some(), "permission.continue"),
        told(!file.agents.is_empty(), "agents"),
        told(file.hooks.is_some(), "hooks"),
        told(!file.secrets.is_empty(), "secrets"),
        told(file.storage.is_some(), "storage"),
        told(file.components.is_some(), "components"),
        told(!file.aliases.is_empty(), "aliases"),
        told(!file.fallback.is_empty(), "fallback"),
        told(file.http != HttpEntry::default(), "http"),
        told(file.plugins.values().any(|p| p.source.is_some()), "plugins"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Where the first says nothing, the second does.
fn over(first: Limits, second: Limits) -> Limits {
    Limits {
        steps: first.steps.or(second.steps),
        cost_usd: first.cost_usd.or(second.cost_usd),
        wall: first.wall.or(second.wall),
        tokens: first.tokens.or(second.tokens),
        output_tokens: first.output_tokens.or(second.output_tokens),
        output_bytes: first.output_bytes.or(second.output_bytes),
    }
}

fn tighter(a: Limits, b: Limits) -> Limits {
    fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
        a.into_iter().chain(b).min()
    }
    Limits {
        steps: least(a.steps, b.steps),
        cost_usd: least(a.cost_usd, b.cost_usd),
        wall: least(a.wall, b.wall),
        tokens: least(a.tokens, b.tokens),
        output_tokens: least(a.output_tokens, b.output_tokens),
        output_bytes: least(a.output_bytes, b.output_bytes),
    }
}

/// Config files are small; something else by this name is not read whole.
const MAX_FILE: u64 = 1 << 20;

fn read_file(path: &Path, home: Option<&Path>) -> Result<Option<FileConfig>, ConfigError> {
    read_text(path)?.map(|text| FileConfig::parse(path, &text, home)).transpose()
}

fn read_text(path: &Path) -> Result<Option<String>, ConfigError> {
    let unreadable = |why: String| ConfigError::Unreadable { file: path.into(), why };
    match std::fs::metadata(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(unreadable(e.to_string())),
        Ok(meta) if meta.len() > MAX_FILE => return Err(unreadable("it is larger than 1 MiB".into())),
        Ok(_) => {}
    }
    std::fs::read_to_string(path).map(Some).map_err(|e| unreadable(e.to_string()))
}

/// A workspace's file, with what the person thinks of it.
fn read_workspace(file: &Path, paths: &Paths) -> Result<Option<FileConfig>, ConfigError> {
    let Some(text) = read_text(file)? else { return Ok(None) };
    let mut config = FileConfig::parse(file, &text, paths.home.as_deref())?;
    let trust = trust::Trust::load(&paths.data);
    let unreadable = |e: trust::TrustError| ConfigError::Unreadable { file: paths.data.clone(), why: e.to_string() };
    if let Some(pins) = trust.map_err(unreadable)?.holds(file, &text, &config) {
        config.trusted = true;
        config.pins = pins;
    }
    Ok(Some(config))
}

/// What of a workspace's file counts only once it is trusted.
pub struct Untrusted {
    pub keys: Vec<&'static str>,
    /// Under which it would be trusted; `None` where a file that it names cannot be read.
    pub digest: Option<String>,
    /// What each component that it names could do then, in sentences.
    pub plugins: Vec<String>,
}

/// # Errors
/// A file that is not there or is wrong.
pub fn untrusted(file: &Path, home: Option<&Path>) -> Result<Untrusted, ConfigError> {
    let gone = || ConfigError::Unreadable { file: file.into(), why: "it is not there".into() };
    let text = read_text(file)?.ok_or_else(gone)?;
    let config = FileConfig::parse(file, &text, home)?;
    let mut keys = widening(&config);
    // Of these an untrusted file counts where it makes things stricter; a trusted one in place of what the person says.
    let told = |is: bool, key| is.then_some(key);
    keys.extend(told(!config.permissions.rules.is_empty(), "permission"));
    keys.extend(told(!config.flow.is_empty(), "flow"));
    keys.extend(told(config.plugins.values().any(|p| p.source.is_none()), "grants of plugins"));
    keys.extend(told(config.limits != Limits::default(), "limits"));
    keys.extend(told(config.offspring != OffspringEntry::default(), "limits of sub-agents"));
    Ok(Untrusted { keys, digest: trust::digest(&text, &config), plugins: plugins::in_words(&config) })
}

fn variables(environment: &Environment, aliases: &Aliases) -> Result<Variables, ConfigError> {
    let model = |name: &'static str| {
        let Some(text) = environment.said(name) else { return Ok(None) };
        let wrong = |near| ConfigError::NoSuchModel { by: name, name: text.to_owned(), hint: models::hint(near) };
        models::named(text, aliases).map(Some).map_err(wrong)
    };
    Ok(Variables {
        model: model("AIRLOCK_MODEL")?,
        small_model: model("AIRLOCK_SMALL_MODEL")?,
        agent: environment.said("AIRLOCK_AGENT").map(str::to_owned),
    })
}

#[cfg(test)]
mod tests;
