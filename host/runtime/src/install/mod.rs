//! Installed components: looked at as strangers, agreed to by a person, pinned by their content, and run only as pinned.

mod error;
mod fetch;
mod lock;
pub(crate) mod name;
mod registry;
mod signature;

pub use error::InstallError;
pub use fetch::{Progress, from_url};
pub use lock::{Depot, Lock, Pinned};
pub use name::of_file as name_of_file;
pub use registry::{Login, Reference, from_registry};
pub use signature::{SigningKey, signer};

use crate::error::RuntimeError;
use crate::manifest::Manifest;
use crate::open::Runtime;
use crate::registry::{Plugin, PluginInfo};
use crate::source::{Bytes, Installed, Source};
use model::grant::{Grant, Upgrade};
use model::permission::OF_THE_HOST;
use model::tool::ToolSpec;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A component that somebody wants to install.
#[derive(Clone, Debug)]
pub struct Offer {
    /// What it is to be called.
    pub name: String,
    /// A person chose that name: what it offers under a name that is taken is called by it.
    pub named: bool,
    /// Where it comes from.
    pub source: String,
    pub bytes: Vec<u8>,
    /// In place of its own manifest.
    pub sidecar: Option<Manifest>,
}

/// One that may be installed once a person agrees.
pub struct Candidate {
    pub info: PluginInfo,
    pub source: String,
    pub sha256: String,
    /// Who signed it.
    pub publisher: Option<String>,
    /// It says itself, or by its sidecar, what it asks for.
    pub has_manifest: bool,
    /// What stands under its name now.
    pub before: Option<Pinned>,
    /// Its tools whose names are taken: as it calls them, and as they are called here.
    pub renamed: BTreeMap<String, String>,
    bytes: Vec<u8>,
    sidecar: Option<Manifest>,
}

/// How a candidate stands to what is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing of its name is there.
    New,
    /// The same bytes from the same place.
    Same,
    /// Another version: what it comes to, and what of it is new.
    Upgrade(Box<Upgrade>),
    /// Its name belongs to one from elsewhere: all of it is asked for anew.
    Elsewhere { from: String },
}

/// What a person agreed to.
#[derive(Clone, Debug)]
pub struct Decision {
    pub grant: Grant,
    /// RFC 3339.
    pub decided: String,
}

impl Candidate {
    #[must_use]
    pub fn standing(&self) -> Standing {
        match &self.before {
            None => Standing::New,
            Some(before) if before.source != self.source => Standing::Elsewhere { from: before.source.clone() },
            Some(before) if before.blake3 == self.info.digest && before.manifest == self.sidecar => Standing::Same,
            Some(before) if !self.has_manifest => {
                Standing::Upgrade(Box::new(Upgrade { grant: before.grant.clone(), new: Grant::default() }))
            }
            Some(before) => Standing::Upgrade(Box::new(Grant::upgrade(&before.grant, &before.asked, &self.info.grant))),
        }
    }

    /// The grant that a person's words come to: nothing beyond what the component asks for, but for limits, which are the
    /// person's affair. One that says nothing of itself gets what the person gives.
    ///
    /// # Errors
    /// [`InstallError::Wider`].
    pub fn narrowed(&self, given: &Grant) -> Result<Grant, InstallError> {
        let asks = self.has_manifest.then_some(&self.info.grant);
        narrowed(&self.info.name, asks, given)
    }
}

/// See [`Candidate::narrowed`].
fn narrowed(name: &str, asks: Option<&Grant>, given: &Grant) -> Result<Grant, InstallError> {
    let Some(asks) = asks else { return Ok(given.clone()) };
    let beyond = Grant { limits: asks.limits.clone(), ..given.clone() }.beyond(asks);
    if !beyond.touches_nothing() {
        return Err(InstallError::Wider { name: name.into(), what: beyond.new_words() });
    }
    Ok(Grant { limits: given.limits.or(&asks.limits), ..given.clone() })
}

impl Runtime {
    /// Looks at a component: is it one, is it signed by whom it should be, does it take nobody's name? It is run once, to be
    /// asked what it offers, with no rights at all. Slow: it is compiled.
    ///
    /// # Errors
    /// The first reason why it cannot be installed.
    pub fn candidate(&self, offer: Offer) -> Result<Candidate, RuntimeError> {
        let Offer { name, named, source, bytes, sidecar } = offer;
        name::check(&name)?;
        let before = self.depot().read()?.get(&name).cloned();
        let publisher = signer(&name, &bytes)?;
        let plugin = self.learn_file(&name, Arc::from(bytes.as_slice()))?;
        let mut info = plugin.info();
        let has_manifest = sidecar.is_some() || plugin.about.manifest != Manifest::default();
        if let Some(manifest) = &sidecar {
            info.describe_by(manifest);
        }
        let named = named || before.as_ref().is_some_and(|b| !b.tools.is_empty());
        let renamed = self.takes_no_name(&info, named)?;
        rename(&mut info.tools, &renamed);
        if let Some(before) = &before {
            same_publisher(&name, before.publisher.as_deref(), publisher.as_deref())?;
            not_older(&name, before.version.as_deref(), info.version.as_deref())?;
        }
        // The very bytes that were agreed to: a file that was damaged meanwhile is whole again.
        if before.as_ref().is_some_and(|b| b.blake3 == info.digest) {
            self.depot().keep(&info.digest, &bytes)?;
        }
        let sha256 = sha256(&bytes);
        Ok(Candidate { info, source, sha256, publisher, has_manifest, before, renamed, bytes, sidecar })
    }

    /// Stores a component and what was agreed to. In force from the next start on.
    ///
    /// # Errors
    /// A folder that cannot be written; a lock that another program changed meanwhile.
    pub fn install(&self, candidate: Candidate, decision: Decision) -> Result<Pinned, RuntimeError> {
        let Candidate { info, source, sha256, publisher, before, renamed, bytes, sidecar, .. } = candidate;
        let pinned = Pinned {
            name: info.name.clone(),
            source,
            blake3: info.digest,
            sha256,
            size: info.size,
            version: info.version,
            publisher,
            decided: decision.decided,
            owner: self.owner().clone(),
            asked: info.grant,
            grant: decision.grant,
            manifest: sidecar,
            tools: renamed,
        };
        let depot = self.depot();
        depot.keep(&pinned.blake3, &bytes)?;
        depot.change(|lock| {
            if lock.get(&pinned.name) != before.as_ref() {
                let why = format!("`{}` was changed by another program meanwhile", pinned.name);
                return Err(InstallError::Lock { path: depot.lock_file(), why });
            }
            lock.put(pinned.clone());
            Ok(())
        })?;
        Ok(pinned)
    }

    /// What is installed, as the lock has it.
    ///
    /// # Errors
    /// A lock that is damaged.
    pub fn installed(&self) -> Result<Vec<Pinned>, RuntimeError> {
        Ok(self.depot().read()?.plugins)
    }

    /// Why installed components cannot be used: each file is read and compared with what was agreed to.
    ///
    /// # Errors
    /// A lock that is damaged.
    pub fn unsound(&self) -> Result<Vec<RuntimeError>, RuntimeError> {
        let depot = self.depot();
        let trouble = |pinned: Pinned| {
            let name = pinned.name.clone();
            let read = Installed::new(pinned, &depot).map_err(RuntimeError::from).and_then(|i| i.read().map(drop));
            read.and_then(|()| self.inspect(&name).map(drop)).err()
        };
        Ok(self.installed()?.into_iter().filter_map(trouble).collect())
    }

    /// # Errors
    /// Where it is not installed, or the lock cannot be written.
    pub fn uninstall(&self, name: &str) -> Result<Pinned, RuntimeError> {
        Ok(self.depot().change(|lock| {
            let gone = lock.get(name).cloned().ok_or_else(|| InstallError::NotThere { name: name.into() })?;
            lock.plugins.retain(|p| p.name != name);
            Ok(gone)
        })?)
    }

    /// Changes what an installed component may do. `how` is given what it has; the result is bounded by what it asks for.
    ///
    /// # Errors
    /// Where it is not installed, or is given more than it asks for.
    pub fn regrant(
        &self,
        name: &str,
        decided: &str,
        how: impl FnOnce(&Grant) -> Grant,
    ) -> Result<Pinned, RuntimeError> {
        let there = self.inspect(name).ok();
        let says = there.is_some_and(|info| info.has_manifest);
        Ok(self.depot().change(|lock| {
            let before = lock.get(name).cloned().ok_or_else(|| InstallError::NotThere { name: name.into() })?;
            let asks = says.then_some(&before.asked);
            let grant = narrowed(name, asks, &how(&before.grant))?;
            let after = Pinned { grant, decided: decided.into(), ..before };
            lock.put(after.clone());
            Ok(after)
        })?)
    }

    fn depot(&self) -> Depot {
        Depot::new(self.owner(), self.data_dir())
    }

    fn learn_file(&self, name: &str, bytes: Arc<[u8]>) -> Result<Plugin, RuntimeError> {
        let source = Source::of(name, Bytes::Read(bytes));
        match Plugin::remembered(self.loader(), &source) {
            Some(plugin) => Ok(plugin),
            None => Plugin::learn(self.loader(), source),
        }
    }

    /// The program's own names stand, and so do those of what is installed already. A tool that is called like another one gets the
    /// plugin's name before its own, where a person chose that.
    fn takes_no_name(&self, info: &PluginInfo, named: bool) -> Result<BTreeMap<String, String>, InstallError> {
        let shadows = |what: String| Err(InstallError::Shadows { name: info.name.clone(), what });
        let alike = |other: &String| name::folded(other) == name::folded(&info.name);
        if let Some(own) = self.bundled_names().iter().find(|n| alike(n)) {
            return shadows(format!("`{own}` is part of the program"));
        }
        let installed = self.installed_names();
        if let Some(other) = installed.iter().find(|n| alike(n) && **n != info.name) {
            return shadows(format!("`{other}` is installed, which reads alike"));
        }
        let others = self.with_tools();
        let taken = |tool: &str| {
            let alike = |other: &str| name::folded(other) == name::folded(tool);
            if OF_THE_HOST.iter().any(|n| alike(n)) {
                return Some(format!("its tool `{tool}` has a name of the program"));
            }
            let mut others = others.iter().filter(|p| p.source.name != info.name);
            let owner = others.find(|p| p.about.tools.iter().any(|t| alike(&t.name)))?;
            Some(format!("its tool `{tool}` is called like one of `{}`", owner.source.name))
        };
        let mut renamed = BTreeMap::new();
        for tool in &info.tools {
            let Some(what) = taken(&tool.name) else { continue };
            let prefix = info.name.replace('.', "_");
            let here = format!("{prefix}_{}", tool.name);
            if !named {
                return shadows(format!("{what}. With --name OTHER it is called OTHER_{}", tool.name));
            }
            if here.len() > TOOL_NAME_MAX || taken(&here).is_some() {
                return shadows(format!("{what}, and `{here}` is too long or taken too"));
            }
            renamed.insert(tool.name.clone(), here);
        }
        Ok(renamed)
    }
}

/// Characters of a tool's name, as providers accept it.
const TOOL_NAME_MAX: usize = 64;

/// The tools as they are called here.
pub(crate) fn rename(tools: &mut [Arc<ToolSpec>], renamed: &BTreeMap<String, String>) {
    for tool in tools {
        if let Some(here) = renamed.get(&tool.name) {
            *tool = Arc::new(ToolSpec { name: here.clone(), ..(**tool).clone() });
        }
    }
}

/// Trust on first use: whoever signed it once signs it always.
fn same_publisher(name: &str, before: Option<&str>, now: Option<&str>) -> Result<(), InstallError> {
    let refused = |why: String| Err(InstallError::Publisher { name: name.into(), why });
    match (before, now) {
        (None, _) => Ok(()),
        (Some(old), Some(new)) if old == new => Ok(()),
        (Some(old), Some(new)) => refused(format!("it is signed by {new}, and what is installed by {old}")),
        (Some(old), None) => refused(format!("it is not signed, and what is installed is signed by {old}")),
    }
}

/// Versions that are none cannot be compared, and are not.
fn not_older(name: &str, before: Option<&str>, now: Option<&str>) -> Result<(), InstallError> {
    let parse = |v: Option<&str>| v.and_then(|v| semver::Version::parse(v.trim_start_matches('v')).ok());
    match (parse(before), parse(now)) {
        (Some(old), Some(new)) if new < old => {
            Err(InstallError::Older { name: name.into(), new: new.to_string(), old: old.to_string() })
        }
        (Some(old), None) => Err(InstallError::Older {
            name: name.into(),
            new: now.unwrap_or("without a version").into(),
            old: old.to_string(),
        }),
        _ => Ok(()),
    }
}

/// Hex, as registries write it behind `sha256:`.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    digest.as_ref().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod tests;
