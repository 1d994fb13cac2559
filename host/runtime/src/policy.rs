//! `policy.yaml`, version 1.0: what other hosts of bare components let one touch, read as a grant.
//!
//! What cannot be granted here is said in a note; a key that nobody knows is an error, for it might be meant to narrow something.

use crate::engine::MEMORY_MAX;
use crate::yaml;
use model::grant::{Grant, Mode, Requests};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Component, Path};

/// Bytes of a file.
pub const SIZE_MAX: usize = 256 << 10;

/// A policy that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    #[error("the policy cannot be read: {0}. Correct the file; its format is version 1.0.")]
    Unreadable(String),
    #[error("the policy has the version `{0}`, and only 1.0 is known. Write `version: \"1.0\"`.")]
    Version(String),
    #[error("`{place}` of the policy cannot be used: {why}. Correct the file.")]
    Entry { place: String, why: String },
}

/// A policy as this host understands it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    pub description: Option<String>,
    pub grant: Grant,
    /// What does not become part of the grant, in sentences.
    pub notes: Vec<String>,
}

/// # Errors
/// [`PolicyError`], with the line or the place.
pub fn parse(text: &str) -> Result<Policy, PolicyError> {
    if text.len() > SIZE_MAX {
        return Err(PolicyError::Unreadable(format!("it has {} bytes, more than {SIZE_MAX}", text.len())));
    }
    let file: File = typed(yaml::read(text, 0).map_err(PolicyError::Unreadable)?)?;
    let version = match &file.version {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if version != "1.0" {
        return Err(PolicyError::Version(version));
    }
    let mut policy = Policy { description: file.description, ..Policy::default() };
    policy.permissions(file.permissions)?;
    Ok(policy)
}

fn typed<T: DeserializeOwned>(value: Value) -> Result<T, PolicyError> {
    let value = if value.is_null() { Value::Object(serde_json::Map::new()) } else { value };
    serde_json::from_value(value).map_err(|e| PolicyError::Unreadable(e.to_string()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    version: Value,
    description: Option<String>,
    #[serde(default)]
    permissions: Permissions,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Permissions {
    storage: Option<Lists<Storage>>,
    network: Option<Lists<Place>>,
    environment: Option<Lists<Variable>>,
    resources: Option<Resources>,
    runtime: Option<Value>,
    ipc: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lists<T> {
    allow: Option<Vec<T>>,
    deny: Option<Vec<T>>,
}

impl<T> Lists<T> {
    fn parts(this: Option<Self>) -> (Vec<T>, Vec<T>) {
        this.map_or_else(Default::default, |l| (l.allow.unwrap_or_default(), l.deny.unwrap_or_default()))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Storage {
    uri: String,
    access: Vec<Access>,
}

impl Storage {
    fn folder(&self) -> Result<String, PolicyError> {
        match self.access.is_empty() {
            true => Err(wrong(&self.uri, "its `access` is empty; it is `read`, `write` or both")),
            false => folder(&self.uri),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Access {
    Read,
    Write,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    host: Option<String>,
    cidr: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Variable {
    key: String,
}

impl Variable {
    fn named(self) -> Result<String, PolicyError> {
        if self.key.is_empty() || self.key.contains(['*', '=', '\0']) {
            return Err(wrong(&self.key, "it is no name of a variable; they are named one by one"));
        }
        Ok(self.key)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Resources {
    limits: Option<Limits>,
    cpu: Option<Value>,
    memory: Option<Value>,
    io: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Limits {
    cpu: Option<Value>,
    memory: Option<Value>,
}

impl Policy {
    fn permissions(&mut self, given: Permissions) -> Result<(), PolicyError> {
        self.storage(given.storage)?;
        self.network(given.network)?;
        self.environment(given.environment)?;
        if let Some(resources) = given.resources {
            self.resources(resources)?;
        }
        for (name, value) in [("runtime", given.runtime), ("ipc", given.ipc)] {
            if value.is_some_and(|v| !v.is_null()) {
                self.note(format!("`permissions.{name}` is about other hosts and means nothing here"));
            }
        }
        Ok(())
    }

    fn note(&mut self, text: String) {
        self.notes.push(text);
    }

    /// A denial that takes nothing away may be one that is written otherwise than what it is meant for.
    fn unmatched(&mut self, kind: &str, denied: &str) {
        self.note(format!("the {kind} `{denied}` is denied, and nothing that is allowed holds it"));
    }

    fn storage(&mut self, given: Option<Lists<Storage>>) -> Result<(), PolicyError> {
        let (allow, deny) = Lists::parts(given);
        for entry in &allow {
            let folder = entry.folder()?;
            // To write a file its folder has to be seen.
            let mode = if entry.access.contains(&Access::Write) { Mode::ReadWrite } else { Mode::ReadOnly };
            let held = self.grant.fs.entry(folder).or_insert(mode);
            *held = mode.max(*held);
        }
        if allow.iter().any(|e| !e.uri.starts_with("fs:///")) {
            self.note("relative folders start at the workspace".into());
        }
        deny.iter().try_for_each(|entry| self.deny_storage(entry))
    }

    /// A denied folder takes away what lies inside it; one inside a granted folder becomes an exception.
    fn deny_storage(&mut self, entry: &Storage) -> Result<(), PolicyError> {
        let denied = entry.folder()?;
        let reads = entry.access.contains(&Access::Read);
        let inside: Vec<String> = self.grant.fs.keys().filter(|f| lies_in(f, &denied)).cloned().collect();
        if inside.is_empty() && !self.grant.fs.keys().any(|f| lies_in(&denied, f)) {
            self.unmatched("folder", &entry.uri);
        }
        for folder in inside {
            if reads {
                self.grant.fs.remove(&folder);
            } else {
                self.grant.fs.insert(folder, Mode::ReadOnly);
            }
        }
        let holds = |(f, mode): (&String, &Mode)| lies_in(&denied, f) && (reads || *mode == Mode::ReadWrite);
        if !self.grant.fs.iter().any(holds) {
            return Ok(());
        }
        if reads {
            self.grant.except.insert(denied);
            return Ok(());
        }
        // Writing alone cannot be taken from a part of a folder: what is granted shrinks to reading.
        let outer: Vec<String> = self.grant.fs.keys().filter(|f| lies_in(&denied, f)).cloned().collect();
        for folder in outer {
            self.note(format!("`{folder}` becomes read-only, since writing in `{denied}` is denied"));
            self.grant.fs.insert(folder, Mode::ReadOnly);
        }
        Ok(())
    }

    fn network(&mut self, given: Option<Lists<Place>>) -> Result<(), PolicyError> {
        let (allow, deny) = Lists::parts(given);
        let mut hosts = BTreeSet::new();
        for place in allow {
            match (place.host, place.cidr) {
                (Some(host), None) => {
                    let host = Host::read("network.allow", &host)?;
                    if host.name == "*" {
                        let why = "every host at once cannot be granted; name those that are needed";
                        return Err(wrong(&host.written, why));
                    }
                    hosts.insert(host);
                }
                (None, Some(cidr)) => {
                    self.note(format!("the addresses {cidr} are not granted: hosts are granted by name"));
                }
                _ => return Err(wrong("network.allow", "each entry has either `host` or `cidr`")),
            }
        }
        for place in deny {
            match (place.host, place.cidr) {
                (Some(host), None) => self.deny_host(&mut hosts, &Host::read("network.deny", &host)?),
                (None, Some(cidr)) if !is_all(&cidr) => {
                    self.note(format!(
                        "hosts are granted by name: that the addresses {cidr} are denied is not looked at"
                    ));
                }
                (None, Some(_)) => {}
                _ => return Err(wrong("network.deny", "each entry has either `host` or `cidr`")),
            }
        }
        let hosts = hosts.into_iter().map(|h| h.written);
        self.grant.http = Requests::to(hosts).map_err(|e| wrong("network.allow", &e.to_string()))?;
        Ok(())
    }

    /// `*` says what holds anyway: nothing but what is allowed. A host is denied on every port and by every scheme.
    fn deny_host(&mut self, hosts: &mut BTreeSet<Host>, denied: &Host) {
        if denied.name == "*" {
            return;
        }
        let before = hosts.len();
        hosts.retain(|h| !covers(&denied.name, &h.name));
        let wider: Vec<Host> = hosts.iter().filter(|h| covers(&h.name, &denied.name)).cloned().collect();
        if hosts.len() == before && wider.is_empty() {
            self.unmatched("host", &denied.written);
        }
        for host in wider {
            hosts.remove(&host);
            self.note(format!(
                "`{}` is not granted, since `{}` in it is denied; name the hosts that are needed",
                host.written, denied.written
            ));
        }
    }

    fn environment(&mut self, given: Option<Lists<Variable>>) -> Result<(), PolicyError> {
        let (allow, deny) = Lists::parts(given);
        for variable in allow {
            self.grant.env.allow.insert(variable.named()?);
        }
        for variable in deny {
            let key = variable.named()?;
            if !self.grant.env.allow.remove(&key) {
                self.unmatched("variable", &key);
            }
        }
        Ok(())
    }

    fn resources(&mut self, given: Resources) -> Result<(), PolicyError> {
        let limits = given.limits.unwrap_or(Limits { cpu: None, memory: None });
        // The older form counts in MiB.
        let older = given.memory.as_ref().and_then(Value::as_u64).map(|mib| mib.saturating_mul(1 << 20));
        let memory = limits.memory.as_ref().or(given.memory.as_ref().filter(|_| older.is_none()));
        let bytes =
            memory.map(|m| quantity(m).ok_or_else(|| wrong("memory", &format!("{m} is no amount such as \"512Mi\""))));
        self.grant.limits.memory = bytes.transpose()?.or(older);
        if let Some(asked) = self.grant.limits.memory.filter(|m| *m > MEMORY_MAX as u64) {
            self.note(format!(
                "{} MiB of memory become the {} MiB that a component can have",
                asked >> 20,
                MEMORY_MAX >> 20
            ));
        }
        if limits.cpu.is_some() || given.cpu.is_some() {
            self.note("`cpu` is a share of a processor; here computing is bounded by time (`[limits] cpu`)".into());
        }
        if given.io.is_some() {
            self.note("`io` is not bounded by a rate here".into());
        }
        Ok(())
    }
}

fn wrong(place: &str, why: &str) -> PolicyError {
    PolicyError::Entry { place: place.to_owned(), why: why.to_owned() }
}

/// A host of a policy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Host {
    /// In small letters, as a grant reads it.
    written: String,
    /// In its one form, without scheme and port: what is compared. `*` = all.
    name: String,
}

impl Host {
    /// A dot behind a name changes nothing about the host, and is no part of its plain form.
    fn read(place: &str, text: &str) -> Result<Self, PolicyError> {
        let written = text.trim_end_matches('.').to_ascii_lowercase();
        let read = Requests::to([&written]).map_err(|e| wrong(place, &e.to_string()))?.in_words().concat();
        let rest = read.split_once("://").map_or(read.as_str(), |(_, rest)| rest);
        // The colons of an IPv6 address stand in brackets.
        let name = rest.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')).map_or(rest, |(name, _)| name);
        Ok(Self { name: name.to_owned(), written })
    }
}

/// Whether a host, or a pattern for the hosts below a domain, holds another.
fn covers(outer: &str, inner: &str) -> bool {
    match outer.strip_prefix("*.") {
        Some(domain) => outer == inner || inner.strip_suffix(domain).is_some_and(|h| h.ends_with('.')),
        None => outer == inner,
    }
}

fn is_all(cidr: &str) -> bool {
    matches!(cidr, "0.0.0.0/0" | "::/0")
}

/// The folder that a storage URI names. `/**` and `/*` behind it are all that lies in it, which is what a folder is here.
fn folder(uri: &str) -> Result<String, PolicyError> {
    let path = uri.strip_prefix("fs://").ok_or_else(|| wrong(uri, "it does not begin with `fs://`"))?;
    let all = if path == "**" { Some("") } else { None };
    let path = all.or_else(|| path.strip_suffix("/**")).or_else(|| path.strip_suffix("/*")).unwrap_or(path);
    let whole = match path.trim_end_matches('/') {
        "" if uri.starts_with("fs:///") => "/",
        "" => ".",
        path => path,
    };
    if whole.contains(['*', '?', '\0']) {
        return Err(wrong(uri, "only a folder can be granted; patterns can stand at the end alone, as `/**`"));
    }
    if Path::new(whole).components().any(|c| c == Component::ParentDir) {
        return Err(wrong(uri, "it leaves its folder with `..`"));
    }
    Ok(model::grant::place::spelt(whole))
}

/// Lexical: both are names of a policy, neither is opened here.
fn lies_in(inner: &str, outer: &str) -> bool {
    outer == "." && !inner.starts_with('/') || Path::new(inner).starts_with(outer)
}

/// `512Mi`, `64M`, `1024`: bytes, with the suffixes that containers use.
fn quantity(value: &Value) -> Option<u64> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        other => other.to_string(),
    };
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let factor: u64 = match suffix {
        "" => 1,
        "k" | "K" => 1000,
        "M" => 1000 * 1000,
        "G" => 1000 * 1000 * 1000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests;
