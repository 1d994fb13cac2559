//! Secrets of tools: declared under `[secrets.NAME]` with their hosts, or kept with `airlock secret set`. The config comes first.

use super::Config;
use super::file::{KeySource, SecretEntry};
use super::keys::{Keys, in_store};
use model::grant::Requests;
use runtime::Secret;
use runtime::caps::secrets::{SecretSource, ToolSecret};
use std::collections::BTreeSet;

/// Where the secrets of a run lie.
pub struct Declared {
    entries: Vec<(String, SecretEntry)>,
    keys: Keys,
}

impl Declared {
    #[must_use]
    pub fn new(config: &Config, keys: &Keys) -> Self {
        let entries = config.secrets.iter().map(|(n, s)| (n.clone(), s.clone())).collect();
        Self { entries, keys: keys.clone() }
    }

    fn is_there(&self, entry: &SecretEntry) -> bool {
        self.keys.sources().is_there(&for_tools(&entry.source))
    }

    /// Each secret with its source, its hosts, and whether it has a value.
    #[must_use]
    pub fn list(&self) -> Vec<(String, Origin, Vec<String>, bool)> {
        let declared = self
            .entries
            .iter()
            .map(|(name, e)| (name.clone(), Origin::Config(e.source.clone()), e.hosts.clone(), self.is_there(e)));
        let is_new = |name: &str| !self.entries.iter().any(|(n, _)| n == name);
        let kept = self.keys.secrets().filter(|(name, _)| is_new(name));
        let place = |name: &str| if self.keys.is_in_ring(name) { Origin::Ring } else { Origin::Kept };
        let kept =
            kept.map(|(name, hosts)| (name.to_owned(), place(name), hosts.to_vec(), self.keys.secret(name).is_some()));
        declared.chain(kept).collect()
    }
}

/// Names in the keyring are those that `secret set` gives there, not those of keys.
fn for_tools(source: &KeySource) -> KeySource {
    match source {
        KeySource::Keyring(name) => KeySource::Keyring(in_store(name)),
        KeySource::Env(_) | KeySource::File(_) => source.clone(),
    }
}

/// Where a secret was declared.
pub enum Origin {
    Config(KeySource),
    Kept,
    /// With its value in the keyring.
    Ring,
}

impl SecretSource for Declared {
    fn names(&self) -> Vec<String> {
        let names = self.entries.iter().map(|(n, _)| n.as_str()).chain(self.keys.secrets().map(|(n, _)| n));
        names.collect::<BTreeSet<_>>().into_iter().map(str::to_owned).collect()
    }

    fn find(&self, name: &str) -> Option<ToolSecret> {
        let (value, hosts) = match self.entries.iter().find(|(n, _)| n == name) {
            Some((_, entry)) => {
                (self.keys.sources().fetch(name, &for_tools(&entry.source)).ok()?, entry.hosts.as_slice())
            }
            None => {
                let (value, hosts) = self.keys.secret(name)?;
                (value, hosts)
            }
        };
        let to = Requests::to(hosts).ok()?;
        (!value.is_empty()).then(|| ToolSecret { value: Secret::new(value), to })
    }
}
