//! One config file, read and checked. Nothing is looked up here: a key that is named but not set is found out when it is needed.

use super::compaction;
use super::error::ConfigError;
use super::http::{self, HttpEntry};
use super::inputs::{InputConfig, KEYS};
use super::models::{self, Aliases, decimal};
use super::plugins::{self, PluginEntry};
use super::read::{Node, Source, Table, parse};
use super::rules::{self, Permissions};
use agent::CompactionOptions;
use indexmap::IndexMap;
use model::budget::{Limits, Offspring};
use model::flow::FlowRule;
use model::grant::Requests;
use model::profile::AgentMode;
use model::provider::{Model, ModelRef};
use runtime::{HookUse, Share};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::Retention;
use toml::de::DeValue;

/// What one file says; everything is optional.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileConfig {
    pub path: PathBuf,
    /// A workspace's file that the person trusts as it is.
    pub trusted: bool,
    /// The files that it names, each with the SHA-256 under which it is trusted.
    pub pins: BTreeMap<PathBuf, String>,
    pub model: Option<ModelRef>,
    pub small_model: Option<ModelRef>,
    pub agent: Option<String>,
    pub providers: IndexMap<String, ProviderEntry>,
    pub permissions: Permissions,
    pub agents: IndexMap<String, AgentEntry>,
    pub limits: Limits,
    pub offspring: OffspringEntry,
    pub compaction: Option<CompactionOptions>,
    pub hooks: Option<Vec<HookUse>>,
    pub inputs: InputConfig,
    pub secrets: IndexMap<String, SecretEntry>,
    pub storage: Option<Retention>,
    pub components: Option<Share>,
    pub flow: Vec<FlowRule>,
    /// Short names of models.
    pub aliases: Aliases,
    /// Asked in this order where the model before fails for good.
    pub fallback: Vec<ModelRef>,
    pub http: HttpEntry,
    pub plugins: IndexMap<String, PluginEntry>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ProviderEntry {
    pub adapter: String,
    pub base_url: Option<String>,
    pub key: Option<KeySource>,
    pub models: Vec<Model>,
    pub options: Option<Value>,
    /// Small models write calls as text: an answer that is nothing else counts as one.
    pub text_calls: bool,
}

/// Where a secret lies. The secret itself is never part of a config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    Env(String),
    File(PathBuf),
    Keyring(String),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentEntry {
    pub description: Option<String>,
    pub mode: Option<AgentMode>,
    pub prompt: Option<String>,
    pub tools: Option<Vec<String>>,
    pub permissions: Permissions,
    pub model: Option<ModelRef>,
    pub temperature: Option<f64>,
    pub steps: Option<u32>,
}

/// What `[limits]` says of sub-agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OffspringEntry {
    pub depth: Option<u32>,
    pub at_once: Option<u32>,
    pub total: Option<u32>,
}

impl OffspringEntry {
    /// Where it says nothing, `base` does.
    #[must_use]
    pub fn over(self, base: Offspring) -> Offspring {
        Offspring {
            depth: self.depth.unwrap_or(base.depth),
            at_once: self.at_once.map_or(base.at_once, |n| n as usize),
            total: self.total.map_or(base.total, |n| n as usize),
        }
    }

    /// The smaller of both, each.
    #[must_use]
    pub fn tightening(self, base: Offspring) -> Offspring {
        let said = self.over(base);
        Offspring {
            depth: said.depth.min(base.depth),
            at_once: said.at_once.min(base.at_once),
            total: said.total.min(base.total),
        }
    }
}

/// A prompt under a name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandEntry {
    pub template: String,
    pub description: Option<String>,
    pub agent: Option<String>,
    pub model: Option<ModelRef>,
}

/// A secret that plugins may name, and the hosts that may receive it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretEntry {
    pub source: KeySource,
    pub hosts: Vec<String>,
}

const ROOT: &[&str] = &[
    "model",
    "small_model",
    "agent",
    "providers",
    "permission",
    "agents",
    "limits",
    "compaction",
    "hooks",
    "secrets",
    "aliases",
    "fallback",
    "http",
    "storage",
    "components",
    "flow",
    "plugins",
    KEYS[0],
    KEYS[1],
    KEYS[2],
];
const PROVIDER: &[&str] = &["adapter", "base_url", "key", "models", "options", "text_calls"];
const AGENT: &[&str] = &["description", "mode", "prompt", "tools", "permission", "model", "temperature", "steps"];
const LIMITS: &[&str] =
    &["steps", "cost_usd", "wall", "tokens", "output_tokens", "output_bytes", "depth", "children_at_once", "children"];
const HOOK: &[&str] = &["name", "may_allow"];
const SOURCES: &[&str] = &["env", "file", "keyring"];
const SECRET: &[&str] = &["env", "file", "keyring", "hosts"];
const KEY_FORMS: &str = "Write key = { env = \"NAME\" } or key = { file = \"PATH\" }.";

impl FileConfig {
    /// Reads the text of the file at `path`.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line.
    pub fn parse(path: &Path, text: &str, home: Option<&Path>) -> Result<Self, ConfigError> {
        parse(Source { file: path, text }, |root| Self::read(path, root, home))
    }

    fn read(path: &Path, root: &Table<'_>, home: Option<&Path>) -> Result<Self, ConfigError> {
        root.only(ROOT)?;
        let aliases: Aliases = named(root, "aliases", models::alias)?;
        let model_ref = |n: &Node<'_>| models::reference(n, &aliases);
        let models = |n: &Node<'_>| n.items()?.iter().map(model_ref).collect::<Result<Vec<_>, _>>();
        Ok(Self {
            path: path.into(),
            trusted: false,
            pins: BTreeMap::new(),
            model: root.read("model", model_ref)?,
            small_model: root.read("small_model", model_ref)?,
            fallback: root.read("fallback", models)?.unwrap_or_default(),
            http: root.read("http", |n| http::read(n, path, home))?.unwrap_or_default(),
            agent: root.read("agent", Node::text)?,
            providers: named(root, "providers", |n| provider(n, path, home))?,
            permissions: root.read("permission", |n| rules::read(n, home))?.unwrap_or_default(),
            agents: named(root, "agents", |n| agent(n, home, &aliases))?,
            limits: root.read("limits", limits)?.unwrap_or_default(),
            offspring: root.read("limits", offspring)?.unwrap_or_default(),
            compaction: root.read("compaction", compaction::read)?,
            hooks: root.read("hooks", |n| n.items()?.iter().map(|n| hook(n, path, home)).collect())?,
            inputs: InputConfig::read(root, &aliases)?,
            secrets: named(root, "secrets", |n| secret(n, home))?,
            flow: root.read("flow", super::flow::read)?.unwrap_or_default(),
            storage: root.read("storage", super::storage::read)?,
            plugins: named(root, "plugins", |n| plugins::read(n, path, home))?,
            components: root.read("components", super::components::read)?,
            aliases,
        })
    }
}

pub fn named<T>(
    root: &Table<'_>,
    key: &str,
    how: impl Fn(&Node<'_>) -> Result<T, ConfigError>,
) -> Result<IndexMap<String, T>, ConfigError> {
    let Some(node) = root.get(key) else { return Ok(IndexMap::new()) };
    node.table()?.entries().map(|(name, n)| Ok((name.to_owned(), how(&n)?))).collect()
}

/// A name, or a table with what the hook may do.
fn hook(node: &Node<'_>, config: &Path, home: Option<&Path>) -> Result<HookUse, ConfigError> {
    if node.value().is_str() {
        return Ok(HookUse { name: component(&node.text()?, config, home), may_allow: false });
    }
    let table = node.table()?;
    table.only(HOOK)?;
    Ok(HookUse {
        name: component(&table.need("name", "Name the hook, such as name = \"redact\".", Node::text)?, config, home),
        may_allow: table.read("may_allow", Node::flag)?.unwrap_or(false),
    })
}

fn provider(node: &Node<'_>, config: &Path, home: Option<&Path>) -> Result<ProviderEntry, ConfigError> {
    let table = node.table()?;
    table.only(PROVIDER)?;
    Ok(ProviderEntry {
        adapter: component(
            &table.need("adapter", "Name the adapter, such as \"openai-chat\".", Node::text)?,
            config,
            home,
        ),
        base_url: table.read("base_url", base_url)?,
        key: table.read("key", |n| key(n, home))?,
        models: table.read("models", |n| n.items()?.iter().map(models::model).collect())?.unwrap_or_default(),
        options: table.read("options", |n| n.table().and_then(|_| json(n)))?,
        text_calls: table.read("text_calls", Node::flag)?.unwrap_or(false),
    })
}

/// A name, or the file of a component: `~/x.wasm`, or relative to the folder of the config.
fn component(text: &str, config: &Path, home: Option<&Path>) -> String {
    let is_file = text.contains('/') || Path::new(text).extension().is_some_and(|e| e == "wasm");
    if is_file { beside(text, config, home).display().to_string() } else { text.to_owned() }
}

/// `~/x`, or relative to the folder of the config that names it.
pub fn beside(text: &str, config: &Path, home: Option<&Path>) -> PathBuf {
    let file = from_home(text, home);
    let whole = config.parent().map_or(file.clone(), |folder| folder.join(&file));
    whole.components().collect()
}

fn base_url(node: &Node<'_>) -> Result<String, ConfigError> {
    let text = node.text()?;
    if text.starts_with("http://") || text.starts_with("https://") {
        return Ok(text.trim_end_matches('/').to_owned());
    }
    Err(node.bad(format!("`{text}` is no http address"), "Begin it with http:// or https://."))
}

fn key(node: &Node<'_>, home: Option<&Path>) -> Result<KeySource, ConfigError> {
    if node.value().is_str() {
        return Err(node.bad("a key is never written into a config: files are copied, shown and committed", KEY_FORMS));
    }
    let table = node.table()?;
    table.only(SOURCES)?;
    key_source(node, &table, home)
}

fn key_source(node: &Node<'_>, table: &Table<'_>, home: Option<&Path>) -> Result<KeySource, ConfigError> {
    let env = table.read("env", Node::text)?.map(KeySource::Env);
    let file = table.read("file", Node::text)?.map(|f| KeySource::File(from_home(&f, home)));
    let keyring = table.read("keyring", Node::text)?.map(KeySource::Keyring);
    let mut all = [env, file, keyring].into_iter().flatten();
    match (all.next(), all.next()) {
        (Some(source), None) => Ok(source),
        (None, _) => Err(node.bad("it says nowhere where the key lies", KEY_FORMS)),
        (Some(_), Some(_)) => Err(node.bad("it names two places", KEY_FORMS)),
    }
}

pub fn from_home(file: &str, home: Option<&Path>) -> PathBuf {
    match (file.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => file.into(),
    }
}

fn secret(node: &Node<'_>, home: Option<&Path>) -> Result<SecretEntry, ConfigError> {
    let table = node.table()?;
    table.only(SECRET)?;
    let hosts =
        table.need("hosts", "List the hosts that may receive it: hosts = [\"api.example.com\"].", Node::texts)?;
    Requests::to(&hosts).map_err(|e| node.bad(e.to_string(), "Such as hosts = [\"api.example.com\"]."))?;
    Ok(SecretEntry { source: key_source(node, &table, home)?, hosts })
}

fn agent(node: &Node<'_>, home: Option<&Path>, aliases: &Aliases) -> Result<AgentEntry, ConfigError> {
    let table = node.table()?;
    table.only(AGENT)?;
    Ok(AgentEntry {
        description: table.read("description", Node::text)?,
        mode: table.read("mode", mode)?,
        prompt: table.read("prompt", Node::text)?,
        tools: table.read("tools", Node::texts)?,
        permissions: table.read("permission", |n| rules::read(n, home))?.unwrap_or_default(),
        model: table.read("model", |n| models::reference(n, aliases))?,
        temperature: table.read("temperature", temperature)?,
        steps: table.read("steps", steps)?,
    })
}

fn mode(node: &Node<'_>) -> Result<AgentMode, ConfigError> {
    match node.text()?.as_str() {
        "primary" => Ok(AgentMode::Primary),
        "subagent" => Ok(AgentMode::Subagent),
        "all" => Ok(AgentMode::All),
        other => Err(node.bad(format!("`{other}` is no mode"), "Use \"primary\", \"subagent\" or \"all\".")),
    }
}

fn temperature(node: &Node<'_>) -> Result<f64, ConfigError> {
    let value: f64 = node.number()?.replace('_', "").parse().map_err(|_| node.wrong("a number"))?;
    let fits = (0.0..=2.0).contains(&value);
    if fits { Ok(value) } else { Err(node.bad(format!("{value} is out of range"), "Use a number from 0 to 2.")) }
}

fn steps(node: &Node<'_>) -> Result<u32, ConfigError> {
    match node.count()? {
        0 => Err(node.bad("nothing can be done in no step", "Use 1 or more.")),
        n => Ok(n),
    }
}

/// A bound of nothing would end every run before it begins.
fn amount(node: &Node<'_>) -> Result<u64, ConfigError> {
    Ok(u64::from(steps(node)?))
}

fn limits(node: &Node<'_>) -> Result<Limits, ConfigError> {
    let table = node.table()?;
    table.only(LIMITS)?;
    Ok(Limits {
        steps: table.read("steps", steps)?,
        cost_usd: table.read("cost_usd", decimal)?,
        wall: table.read("wall", duration)?,
        tokens: table.read("tokens", amount)?,
        output_tokens: table.read("output_tokens", amount)?,
        output_bytes: table.read("output_bytes", amount)?,
    })
}

fn offspring(node: &Node<'_>) -> Result<OffspringEntry, ConfigError> {
    let table = node.table()?;
    Ok(OffspringEntry {
        depth: table.read("depth", Node::count)?,
        at_once: table.read("children_at_once", steps)?,
        total: table.read("children", Node::count)?,
    })
}

pub fn duration(node: &Node<'_>) -> Result<Duration, ConfigError> {
    let text = node.text()?;
    humantime::parse_duration(&text)
        .map_err(|e| node.bad(format!("`{text}` is no length of time ({e})"), "Write it as \"90s\" or \"30m\"."))
}

/// Options of an adapter are its own affair: they are handed on as JSON.
pub fn json(node: &Node<'_>) -> Result<Value, ConfigError> {
    Ok(match node.value() {
        DeValue::String(s) => Value::from(s.as_ref()),
        DeValue::Boolean(b) => Value::from(*b),
        DeValue::Integer(n) => whole(node, n.as_str(), n.radix())?,
        DeValue::Float(n) => broken(node, n.as_str())?,
        DeValue::Datetime(d) => Value::from(d.to_string()),
        DeValue::Array(_) => node.items()?.iter().map(json).collect::<Result<_, _>>()?,
        DeValue::Table(_) => Value::Object(
            node.table()?.entries().map(|(k, n)| Ok((k.to_owned(), json(&n)?))).collect::<Result<_, _>>()?,
        ),
    })
}

fn whole(node: &Node<'_>, digits: &str, radix: u32) -> Result<Value, ConfigError> {
    i64::from_str_radix(&digits.replace('_', ""), radix).map(Value::from).map_err(|_| node.wrong("a smaller number"))
}

fn broken(node: &Node<'_>, digits: &str) -> Result<Value, ConfigError> {
    let number: Option<f64> = digits.replace('_', "").parse().ok();
    number.filter(|n| n.is_finite()).map(Value::from).ok_or_else(|| node.wrong("a finite number"))
}

#[cfg(test)]
mod tests;
