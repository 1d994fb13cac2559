//! The lock: what is installed, from where, under which digest, and what was agreed to. A file of text for its owner alone, written
//! whole or not at all; no component and no program of an agent reaches its folder.

use super::InstallError;
use crate::manifest::Manifest;
use model::grant::Grant;
use model::owner::Owner;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const VERSION: u32 = 1;
/// Bytes of the file; far more than any number of plugins takes.
const SIZE_MAX: u64 = 8 << 20;
/// Plugins at once.
const PLUGINS_MAX: usize = 1000;

/// One installed component, as the person agreed to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pinned {
    pub name: String,
    /// A path, an `https:` address or an `oci:` reference: where an update is looked for.
    pub source: String,
    /// BLAKE3 of the component, hex: what is run has this digest.
    pub blake3: String,
    /// SHA-256 of the same bytes, hex, as registries name them.
    pub sha256: String,
    /// Bytes.
    pub size: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The public key that signed it, as `ed25519:` and hex. Once known it does not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publisher: Option<String>,
    /// When the person decided, RFC 3339.
    pub decided: String,
    /// Whose decision it is: nobody is bound by another's.
    pub owner: Owner,
    /// What it asked for when that was agreed to: a new version is compared with it.
    pub asked: Grant,
    /// What it was given.
    pub grant: Grant,
    /// In place of a manifest of its own: the sidecar that lay beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Manifest>,
    /// Tools whose names were taken: as it calls them, and as they are called here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    version: u32,
    #[serde(default, rename = "plugin")]
    pub plugins: Vec<Pinned>,
}

impl Lock {
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Pinned> {
        self.plugins.iter().find(|p| p.name == name)
    }

    /// Adds it, in place of the one of the same name.
    pub fn put(&mut self, pinned: Pinned) {
        self.plugins.retain(|p| p.name != pinned.name);
        self.plugins.push(pinned);
        self.plugins.sort_by(|a, b| a.name.cmp(&b.name));
    }
}

/// The folder of the components, and the lock beside it.
#[derive(Clone, Debug)]
pub struct Depot {
    owner: Owner,
    data: PathBuf,
}

impl Depot {
    #[must_use]
    pub fn new(owner: &Owner, data: &Path) -> Self {
        Self { owner: owner.clone(), data: data.to_owned() }
    }

    #[must_use]
    pub fn lock_file(&self) -> PathBuf {
        self.data.join("plugins.lock")
    }

    /// Where the component with this digest lies.
    #[must_use]
    pub fn file(&self, blake3: &str) -> PathBuf {
        self.data.join("plugins").join(format!("{blake3}.wasm"))
    }

    /// What is installed; nothing where there is no lock.
    ///
    /// # Errors
    /// A lock that is damaged, or that others can write.
    pub fn read(&self) -> Result<Lock, InstallError> {
        let path = self.lock_file();
        let bad = |why: String| InstallError::Lock { path: path.clone(), why };
        match fs::symlink_metadata(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Lock { version: VERSION, plugins: vec![] }),
            Err(e) => return Err(bad(e.to_string())),
            Ok(meta) if meta.len() > SIZE_MAX => return Err(bad("it is larger than 8 MiB".into())),
            Ok(_) => crate::vault::owned(&path).map_err(|e| bad(e.to_string()))?,
        }
        let text = fs::read_to_string(&path).map_err(|e| bad(e.to_string()))?;
        let lock: Lock = toml::from_str(&text).map_err(|e| bad(e.message().to_owned()))?;
        sound(&lock, &self.owner).map_err(bad)?;
        Ok(lock)
    }

    /// Two programs may change it at once: one after the other, and each the newest state.
    ///
    /// # Errors
    /// What `act` says, or what keeps the lock from being read or written.
    pub fn change<T>(&self, act: impl FnOnce(&mut Lock) -> Result<T, InstallError>) -> Result<T, InstallError> {
        self.make_folder()?;
        let turn_file = self.data.join("plugins.turn");
        let unwritable = |e: io::Error| InstallError::Unwritable { path: self.lock_file(), why: e.to_string() };
        let turn = owners().open(turn_file).map_err(unwritable)?;
        turn.lock().map_err(unwritable)?;
        let before = self.read()?;
        let mut lock = before.clone();
        let done = act(&mut lock)?;
        sound(&lock, &self.owner).map_err(|why| InstallError::Lock { path: self.lock_file(), why })?;
        if lock != before {
            self.write(&lock).map_err(unwritable)?;
            self.sweep(&before, &lock);
        }
        Ok(done)
    }

    /// Stores a component under its digest.
    ///
    /// # Errors
    /// [`InstallError::Unwritable`].
    pub fn keep(&self, blake3: &str, bytes: &[u8]) -> Result<(), InstallError> {
        self.make_folder()?;
        let path = self.file(blake3);
        put(&path, bytes).map_err(|e| InstallError::Unwritable { path, why: e.to_string() })
    }

    fn make_folder(&self) -> Result<(), InstallError> {
        let folder = self.data.join("plugins");
        let unwritable = |e: io::Error| InstallError::Unwritable { path: folder.clone(), why: e.to_string() };
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(unwritable)
    }

    fn write(&self, lock: &Lock) -> io::Result<()> {
        let text = toml::to_string(lock).map_err(io::Error::other)?;
        let head = "# Written by airlock: what is installed, and what was agreed to. `airlock plugin` changes it.\n\n";
        put(&self.lock_file(), format!("{head}{text}").as_bytes())
    }

    /// Components that nothing names any more.
    fn sweep(&self, before: &Lock, after: &Lock) {
        let named = |p: &&Pinned| after.plugins.iter().any(|a| a.blake3 == p.blake3);
        for gone in before.plugins.iter().filter(|p| !named(p)) {
            // A file that stays takes room and does no harm.
            let _ = fs::remove_file(self.file(&gone.blake3));
        }
    }
}

/// A lock is also read by hand and copied about: what could point outside its folder, or at two things, is refused.
fn sound(lock: &Lock, owner: &Owner) -> Result<(), String> {
    if lock.version != VERSION {
        return Err(format!("it is of version {}, and this program knows version {VERSION}", lock.version));
    }
    if lock.plugins.len() > PLUGINS_MAX {
        return Err(format!("more than {PLUGINS_MAX} plugins"));
    }
    let mut names = std::collections::BTreeSet::new();
    for plugin in &lock.plugins {
        super::name::check(&plugin.name).map_err(|e| e.to_string())?;
        let is_hash = plugin.blake3.len() == 64 && plugin.blake3.bytes().all(|b| b.is_ascii_hexdigit());
        if !is_hash {
            return Err(format!("the digest of `{}` is none", plugin.name));
        }
        if plugin.owner != *owner {
            return Err(format!("`{}` was agreed to by {}, not by {owner}", plugin.name, plugin.owner));
        }
        let beyond = Grant { limits: plugin.asked.limits.clone(), ..plugin.grant.clone() }.beyond(&plugin.asked);
        // One that asked for nothing may have no manifest at all; then its person's word is the only bound.
        if !plugin.asked.touches_nothing() && !beyond.touches_nothing() {
            return Err(format!("`{}` is given more than it asks for: it {}", plugin.name, beyond.new_words()));
        }
        if !names.insert(super::name::folded(&plugin.name)) {
            return Err(format!("`{}` is there twice", plugin.name));
        }
    }
    Ok(())
}

/// Whole or not at all, for its owner alone.
fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

fn owners() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    options
}

#[cfg(test)]
impl Pinned {
    /// One whose digests are this digit over and over.
    pub(crate) fn for_tests(name: &str, digit: char, grant: Grant) -> Self {
        Self {
            name: name.into(),
            source: format!("/x/{name}.wasm"),
            blake3: digit.to_string().repeat(64),
            sha256: digit.to_string().repeat(64),
            size: 3,
            version: Some("1.2.0".into()),
            publisher: None,
            decided: "2026-01-02T03:04:05Z".into(),
            owner: Owner::local(),
            asked: Grant::default(),
            grant,
            manifest: Some(Manifest { description: Some("d".into()), ..Manifest::default() }),
            tools: [("t".to_owned(), "a_t".to_owned())].into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn pinned(name: &str, digit: char) -> Pinned {
        let grant = serde_json::from_str(r#"{"fs":{"docs":"ro"},"limits":{"memory":5}}"#).unwrap();
        Pinned::for_tests(name, digit, grant)
    }

    #[test]
    fn what_is_written_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let depot = Depot::new(&Owner::local(), dir.path());
        assert_eq!(depot.read().unwrap().plugins, []);
        for (name, digit) in [("b", '1'), ("a", '2'), ("b", '3')] {
            let pinned = pinned(name, digit);
            depot.keep(&pinned.blake3, b"abc").unwrap();
            depot
                .change(|lock| {
                    lock.put(pinned.clone());
                    Ok(())
                })
                .unwrap();
        }
        let lock = depot.read().unwrap();
        assert_eq!(lock.plugins, [pinned("a", '2'), pinned("b", '3')]);
        assert!(!depot.file(&"1".repeat(64)).exists(), "nothing names it any more");
        assert!(depot.file(&"2".repeat(64)).exists() && depot.file(&"3".repeat(64)).exists());
        let mode = |p: &Path| fs::metadata(p).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&depot.lock_file()), 0o600);
        assert_eq!(mode(&dir.path().join("plugins")), 0o700);
        assert_eq!(mode(&depot.file(&"2".repeat(64))), 0o600);
    }

    #[test]
    fn a_lock_that_is_not_sound_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let depot = Depot::new(&Owner::local(), dir.path());
        depot
            .change(|lock| {
                lock.put(pinned("a", '1'));
                Ok(())
            })
            .unwrap();
        let good = fs::read_to_string(depot.lock_file()).unwrap();
        let entry = good.split_once("[[plugin]]").unwrap().1;
        for (text, word) in [
            ("nonsense".to_owned(), "cannot be read"),
            (good.replace("owner = \"local\"", "owner = \"bob\""), "by bob, not by local"),
            (good.replace("owner = \"local\"", "owner = \"../x\""), "names no owner"),
            (good.replace("version = 1\n", "version = 2\n"), "version 2"),
            (good.replace(&"1".repeat(64), "../../x"), "digest"),
            (good.replace("name = \"a\"", "name = \"../a\""), "name"),
            (good.replace("size = 3", "size = 3\nextra = 1"), "extra"),
            (format!("{good}\n[[plugin]]{entry}"), "twice"),
        ] {
            fs::write(depot.lock_file(), &text).unwrap();
            let error = depot.read().unwrap_err().to_string();
            assert!(error.contains(word) && error.contains("plugins.lock"), "{error}");
            assert!(depot.change(|_| Ok(())).is_err(), "nor is it written over");
        }
        fs::write(depot.lock_file(), good).unwrap();
        fs::set_permissions(depot.lock_file(), fs::Permissions::from_mode(0o666)).unwrap();
        assert!(depot.read().unwrap_err().to_string().contains("belong to you alone"));
    }
}
