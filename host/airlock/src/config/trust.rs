//! Which workspaces the person trusts: each `airlock.toml` by its content, and that of the components and the certificates that it
//! names. A file that changed is a stranger again.

use super::file::{FileConfig, OffspringEntry};
use super::http::HttpEntry;
use runtime::install::sha256;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Bytes of the list.
const MAX_FILE: u64 = 1 << 20;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    #[error("the list of trusted workspaces {path} cannot be read: {why}")]
    Unreadable { path: PathBuf, why: String },
    #[error("the list of trusted workspaces {path} cannot be written: {why}")]
    Unwritable { path: PathBuf, why: String },
    #[error("{0} is not trusted")]
    NotThere(PathBuf),
}

impl TrustError {
    /// What the person can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "Mend or remove it, and trust the workspaces anew.",
            Self::Unwritable { .. } => "Check who owns the folder, and that the disk is not full.",
            Self::NotThere(_) => "`airlock trust list` shows what is.",
        }
    }
}

/// The trusted files, each with the digest under which it was trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trust {
    #[serde(default)]
    pub workspaces: BTreeMap<PathBuf, String>,
}

impl Trust {
    /// # Errors
    /// A list that is damaged, or that others can write.
    pub fn load(data: &Path) -> Result<Self, TrustError> {
        let path = list(data);
        let bad = |why: String| TrustError::Unreadable { path: path.clone(), why };
        let meta = match fs::symlink_metadata(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(e) => return Err(bad(e.to_string())),
            Ok(meta) => meta,
        };
        if !meta.is_file() || meta.len() > MAX_FILE || meta.mode() & 0o022 != 0 {
            return Err(bad("it must be a file of at most 1 MiB that you alone can write".into()));
        }
        let text = fs::read_to_string(&path).map_err(|e| bad(e.to_string()))?;
        toml::from_str(&text).map_err(|e| bad(e.message().to_owned()))
    }

    /// Where a file is trusted as it is now: the files that it names, each with its digest.
    #[must_use]
    pub fn holds(&self, file: &Path, text: &str, config: &FileConfig) -> Option<BTreeMap<PathBuf, String>> {
        let known = self.workspaces.get(file)?;
        let pins = pins(config)?;
        (of_all(text, config, &pins) == *known).then_some(pins)
    }

    /// # Errors
    /// A list that cannot be read or written.
    pub fn add(data: &Path, file: &Path, digest: &str) -> Result<(), TrustError> {
        Self::change(data, |trust| {
            trust.workspaces.insert(file.to_owned(), digest.to_owned());
            Ok(())
        })
    }

    /// # Errors
    /// [`TrustError::NotThere`], or a list that cannot be read or written.
    pub fn revoke(data: &Path, file: &Path) -> Result<(), TrustError> {
        Self::change(data, |trust| match trust.workspaces.remove(file) {
            Some(_) => Ok(()),
            None => Err(TrustError::NotThere(file.to_owned())),
        })
    }

    /// One program after the other, and each on the newest state; whole or not at all.
    fn change(data: &Path, act: impl FnOnce(&mut Self) -> Result<(), TrustError>) -> Result<(), TrustError> {
        let unwritable = |e: io::Error| TrustError::Unwritable { path: list(data), why: e.to_string() };
        DirBuilder::new().recursive(true).mode(0o700).create(data).map_err(unwritable)?;
        let turn = fs::File::create(data.join("trust.turn")).map_err(unwritable)?;
        turn.lock().map_err(unwritable)?;
        let mut trust = Self::load(data)?;
        act(&mut trust)?;
        let text = toml::to_string(&trust).map_err(|e| unwritable(io::Error::other(e)))?;
        let mut file = tempfile::NamedTempFile::new_in(data).map_err(unwritable)?;
        file.write_all(text.as_bytes()).map_err(unwritable)?;
        file.persist(list(data)).map_err(|e| unwritable(e.error))?;
        Ok(())
    }
}

impl FileConfig {
    /// With what a trusted workspace says in place of what the person's file says. Rules stay apart: they are laid over each other.
    pub(super) fn under(mut self, workspace: &Self) -> Self {
        let over = workspace.clone();
        self.model = over.model.or(self.model);
        self.small_model = over.small_model.or(self.small_model);
        self.agent = over.agent.or(self.agent);
        self.providers.extend(over.providers);
        self.agents.extend(over.agents);
        self.limits = super::over(over.limits, self.limits);
        self.offspring = OffspringEntry {
            depth: over.offspring.depth.or(self.offspring.depth),
            at_once: over.offspring.at_once.or(self.offspring.at_once),
            total: over.offspring.total.or(self.offspring.total),
        };
        self.flow.extend(over.flow);
        self.compaction = over.compaction.or(self.compaction);
        self.hooks = over.hooks.or(self.hooks);
        self.secrets.extend(over.secrets);
        self.aliases.extend(over.aliases);
        self.permissions.go_on = over.permissions.go_on.or(self.permissions.go_on);
        self.storage = over.storage.or(self.storage);
        self.components = over.components.or(self.components);
        if over.http != HttpEntry::default() {
            self.http = over.http;
        }
        if !over.fallback.is_empty() {
            self.fallback = over.fallback;
        }
        self
    }
}

fn list(data: &Path) -> PathBuf {
    data.join("trust.toml")
}

/// Of the file and of every component and certificate file that it names: with one that is swapped it is another workspace. `None`
/// where one of them cannot be read.
#[must_use]
pub fn digest(text: &str, config: &FileConfig) -> Option<String> {
    Some(of_all(text, config, &pins(config)?))
}

fn of_all(text: &str, config: &FileConfig, pins: &BTreeMap<PathBuf, String>) -> String {
    let named = named_files(config);
    let all = named.iter().filter_map(|file| pins.get(file)).fold(sha256(text.as_bytes()), |all, one| all + one);
    sha256(all.as_bytes())
}

fn pins(config: &FileConfig) -> Option<BTreeMap<PathBuf, String>> {
    let digest = |file: PathBuf| {
        let bytes = runtime::read_bounded(&file).ok()?;
        Some((file, sha256(&bytes)))
    };
    named_files(config).into_iter().map(digest).collect()
}

/// Components that are named by file stand there with their whole path.
fn named_files(config: &FileConfig) -> Vec<PathBuf> {
    let adapters = config.providers.values().map(|p| p.adapter.as_str());
    let hooks = config.hooks.iter().flatten().map(|h| h.name.as_str());
    let by_file = adapters.chain(hooks).filter(|name| name.contains('/')).map(PathBuf::from);
    let plugins = config.plugins.values().filter_map(|p| p.source.clone());
    by_file.chain(plugins).chain(config.http.ca_file.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str, folder: &Path) -> FileConfig {
        FileConfig::parse(&folder.join("airlock.toml"), text, None).unwrap()
    }

    #[test]
    fn trust_ends_with_a_change() {
        trust_of("x.wasm", "[providers.x]\nadapter = \"./x.wasm\"\nbase_url = \"http://127.0.0.1:1\"\n");
        trust_of("ca.pem", "[http]\nca_file = \"ca.pem\"\n");
        trust_of("hook.wasm", "hooks = [\"./hook.wasm\"]\n");
        trust_of("tool.wasm", "[plugins.tool]\nsource = \"tool.wasm\"\n");
    }

    /// Of a config with this text, which names this file beside it.
    fn trust_of(name: &str, text: &str) {
        let dir = tempfile::tempdir().unwrap();
        let (data, file) = (dir.path().join("data"), dir.path().join("airlock.toml"));
        let component = dir.path().join(name);
        fs::write(&component, "one").unwrap();
        let read = config(text, dir.path());
        let trusted = |text: &str| Trust::load(&data).unwrap().holds(&file, text, &config(text, dir.path())).is_some();
        assert!(!trusted(text));
        Trust::add(&data, &file, &digest(text, &read).unwrap()).unwrap();
        assert!(trusted(text));
        assert!(!trusted(&format!("{text}\n")), "another file");
        assert!(
            Trust::load(&data).unwrap().holds(&dir.path().join("other.toml"), text, &read).is_none(),
            "another place"
        );
        fs::write(&component, "two").unwrap();
        assert!(!trusted(text), "another {name}");
        fs::remove_file(&component).unwrap();
        assert!(!trusted(text), "none at all");
        fs::write(&component, "one").unwrap();
        assert!(trusted(text));
        Trust::revoke(&data, &file).unwrap();
        assert!(!trusted(text));
        assert_eq!(Trust::revoke(&data, &file), Err(TrustError::NotThere(file)));
    }

    #[test]
    fn a_trusted_workspace_counts_in_full() {
        use crate::config::{Config, Overrides, Variables};
        let user = "model = \"a/b\"\n[permission]\nedit = \"ask\"\n[limits]\nsteps = 5\n";
        let text = "model = \"c/d\"\n[permission]\nedit = \"allow\"\n[limits]\nsteps = 50\n";
        for (trusted, model, steps, notices) in [(false, "a/b", 5, 1), (true, "c/d", 50, 0)] {
            let workspace = FileConfig { trusted, ..config(text, Path::new("/w")) };
            let merged = Config::merge(
                config(user, Path::new("/u")),
                Some(workspace),
                Variables::default(),
                Overrides::default(),
            );
            assert_eq!(merged.model.as_ref().map(|m| m.value.to_string()).as_deref(), Some(model), "{trusted}");
            assert_eq!((merged.limits.steps, merged.notices.len()), (Some(steps), notices), "{trusted}");
        }
    }

    #[test]
    fn a_list_that_is_not_sound_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trust.toml");
        for text in ["nonsense", "[workspaces]\n\"/x\" = 1\n", "others = 1\n"] {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            assert!(Trust::load(dir.path()).unwrap_err().to_string().contains("trust.toml"), "{text}");
        }
        fs::write(&path, "[workspaces]\n").unwrap();
        assert!(Trust::load(dir.path()).is_ok());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(Trust::load(dir.path()).is_err());
    }
}
