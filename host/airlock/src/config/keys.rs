//! Keys that a person handed to the program: one file in the data folder, for its owner alone. No component and no program of an
//! agent reaches that folder.

use super::providers::Known;
use super::ring::{Ring, RingError};
use super::sources::Sources;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Bytes of the file; far more than any number of keys takes.
const MAX_FILE: u64 = 4 << 20;
/// Bytes of one key. Some are whole documents.
pub const MAX_KEY: usize = 64 << 10;

/// What is kept for one provider.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
enum Kept {
    Api {
        key: String,
    },
    /// For tools: the hosts that may get it.
    Secret {
        value: String,
        hosts: Vec<String>,
    },
    /// For tools, with its value in the keyring of the machine.
    Ring {
        hosts: Vec<String>,
    },
}

/// Stands before the names of secrets: no provider's name holds a colon.
const SECRET: &str = "secret:";

/// The keys of the file. They have no text form.
#[derive(Clone, Default)]
pub struct Keys {
    path: PathBuf,
    kept: BTreeMap<String, Kept>,
    sources: Sources,
}

/// Where the key of a known service was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Variable(&'static str),
    Kept,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeysError {
    #[error("the keys in {path} can be read by others (mode {mode:04o})")]
    Open { path: PathBuf, mode: u32 },
    #[error("the keys in {path} cannot be read: {why}")]
    Unreadable { path: PathBuf, why: String },
    #[error("the keys cannot be written to {path}: {why}")]
    Unwritable { path: PathBuf, why: String },
    #[error("`{0}` is no name of a provider")]
    BadName(String),
    #[error("that is no key: {0}")]
    BadKey(&'static str),
    #[error("no key is kept for `{name}`")]
    NoKey { name: String, path: PathBuf },
    #[error("no secret is kept as `{0}`")]
    NoSecret(String),
    #[error(transparent)]
    Ring(RingError),
}

impl KeysError {
    /// What the person can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Open { path, .. } => {
                format!("Run `chmod 600 {}`, and make new keys if others use this machine.", path.display())
            }
            Self::Unreadable { path, .. } => {
                format!("Mend or remove {}, then give the keys again with `airlock auth add`.", path.display())
            }
            Self::Unwritable { .. } => "Check who owns the folder, and that the disk is not full.".into(),
            Self::BadName(_) => "`airlock providers` lists the names.".into(),
            Self::BadKey(_) => "Paste the key alone, as the provider shows it.".into(),
            Self::Ring(error) => error.hint().into(),
            Self::NoSecret(_) => "`airlock secret list` shows those that there are.".into(),
            Self::NoKey { .. } => "`airlock auth list` shows the keys that there are.".into(),
        }
    }
}

/// A secret for tools is no provider's key, though both may have one name: neither is sent where the other belongs.
pub(super) fn in_store(name: &str) -> String {
    format!("{SECRET}{name}")
}

impl Keys {
    /// Reads the file of this data folder; without one there are no keys.
    ///
    /// # Errors
    /// A file that others can read, or that is damaged.
    pub fn load(data: &Path) -> Result<Self, KeysError> {
        let path = data.join("auth.json");
        let unreadable = |why: String| KeysError::Unreadable { path: path.clone(), why };
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Self { path, ..Self::default() }),
            Err(e) => return Err(unreadable(e.to_string())),
        };
        let mode = file.metadata().map_err(|e| unreadable(e.to_string()))?.permissions().mode() & 0o7777;
        if mode & 0o077 != 0 {
            return Err(KeysError::Open { path, mode });
        }
        let mut text = String::new();
        file.take(MAX_FILE).read_to_string(&mut text).map_err(|e| unreadable(e.to_string()))?;
        // The parser's own words could quote a key.
        let place = |e: serde_json::Error| format!("no list of keys (line {}, column {})", e.line(), e.column());
        let kept = serde_json::from_str(&text).map_err(|e| unreadable(place(e)))?;
        Ok(Self { path, kept, sources: Sources::default() })
    }

    /// With the other places where their owner has keys.
    #[must_use]
    pub fn looking_in(self, sources: Sources) -> Self {
        Self { sources, ..self }
    }

    #[must_use]
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The key that is kept for a provider.
    #[must_use]
    pub fn key(&self, provider: &str) -> Option<&str> {
        match self.kept.get(provider) {
            Some(Kept::Api { key }) => Some(key),
            Some(Kept::Secret { .. } | Kept::Ring { .. }) | None => None,
        }
    }

    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.kept.keys().map(String::as_str).filter(|n| !n.starts_with(SECRET)).collect()
    }

    /// The secrets for tools, with their hosts.
    pub fn secrets(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.kept.iter().filter_map(|(name, kept)| match kept {
            Kept::Secret { hosts, .. } | Kept::Ring { hosts } => Some((name.strip_prefix(SECRET)?, hosts.as_slice())),
            Kept::Api { .. } => None,
        })
    }

    /// The value of a secret for tools, and its hosts.
    #[must_use]
    pub fn secret(&self, name: &str) -> Option<(String, &[String])> {
        match self.kept.get(&in_store(name))? {
            Kept::Secret { value, hosts } => Some((value.clone(), hosts)),
            Kept::Ring { hosts } => Some((self.sources.ring.get(&in_store(name)).ok()?, hosts)),
            Kept::Api { .. } => None,
        }
    }

    /// Whether the value of a secret for tools lies in the keyring.
    #[must_use]
    pub fn is_in_ring(&self, name: &str) -> bool {
        matches!(self.kept.get(&in_store(name)), Some(Kept::Ring { .. }))
    }

    /// As [`Keys::add_secret`], with the value in the keyring.
    ///
    /// # Errors
    /// As there; what the keyring says.
    pub fn add_to_ring(
        data: &Path,
        ring: &Ring,
        name: &str,
        value: &str,
        hosts: Vec<String>,
    ) -> Result<bool, KeysError> {
        let value = check(name, value)?;
        ring.set(&in_store(name), value).map_err(KeysError::Ring)?;
        Self::change(data, |kept| Ok(kept.insert(in_store(name), Kept::Ring { hosts }).is_some()))
    }

    /// A provider's key into the keyring; the config names it there.
    ///
    /// # Errors
    /// A name or key that is none; what the keyring says.
    pub fn key_to_ring(ring: &Ring, provider: &str, key: &str) -> Result<(), KeysError> {
        ring.set(provider, check(provider, key)?).map_err(KeysError::Ring)
    }

    /// Takes a secret for tools out of the keyring. One that a restart has emptied, or that is out of reach, is gone all the same.
    pub fn forget_in_ring(ring: &Ring, name: &str) {
        let _ = ring.remove(&in_store(name));
    }

    /// Keeps a secret for tools, in place of the one of this name. `true` where there was one.
    ///
    /// # Errors
    /// As [`Keys::add`].
    pub fn add_secret(data: &Path, name: &str, value: &str, hosts: Vec<String>) -> Result<bool, KeysError> {
        let secret = Kept::Secret { value: check(name, value)?.into(), hosts };
        Self::change(data, |kept| Ok(kept.insert(in_store(name), secret).is_some()))
    }

    /// # Errors
    /// As [`Keys::remove`].
    pub fn remove_secret(data: &Path, name: &str) -> Result<(), KeysError> {
        let none = || KeysError::NoSecret(name.into());
        Self::change(data, |kept| kept.remove(&in_store(name)).map(|_| ()).ok_or_else(none))
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the key of a known service lies: the environment comes first.
    #[must_use]
    pub fn find(&self, service: &Known) -> Option<Found> {
        match self.sources.environment.said(service.variable) {
            Some(_) => Some(Found::Variable(service.variable)),
            None => self.key(service.id).map(|_| Found::Kept),
        }
    }

    /// Keeps a key, in place of the one that was kept for this provider. `true` where there was one.
    ///
    /// # Errors
    /// A name or key that is none, or a file that cannot be written.
    pub fn add(data: &Path, provider: &str, key: &str) -> Result<bool, KeysError> {
        let key = check(provider, key)?;
        Self::change(data, |kept| Ok(kept.insert(provider.into(), Kept::Api { key: key.into() }).is_some()))
    }

    /// # Errors
    /// [`KeysError::NoKey`], or a file that cannot be written.
    pub fn remove(data: &Path, provider: &str) -> Result<(), KeysError> {
        let none = || KeysError::NoKey { name: provider.into(), path: data.join("auth.json") };
        Self::change(data, |kept| kept.remove(provider).map(|_| ()).ok_or_else(none))
    }

    /// Two programs may change the file at once: one after the other, and each the newest state.
    fn change<T>(
        data: &Path,
        act: impl FnOnce(&mut BTreeMap<String, Kept>) -> Result<T, KeysError>,
    ) -> Result<T, KeysError> {
        let unwritable = |e: io::Error| KeysError::Unwritable { path: data.join("auth.json"), why: e.to_string() };
        DirBuilder::new().recursive(true).mode(0o700).create(data).map_err(unwritable)?;
        let lock = owners().open(data.join("auth.lock")).map_err(unwritable)?;
        lock.lock().map_err(unwritable)?;
        let mut keys = Self::load(data)?;
        let done = act(&mut keys.kept)?;
        keys.write().map_err(unwritable)?;
        Ok(done)
    }

    /// Whole or not at all.
    fn write(&self) -> io::Result<()> {
        let fresh = self.path.with_extension("json.new");
        // One that an interrupted run left may have any mode.
        let _ = fs::remove_file(&fresh);
        let mut file = owners().create_new(true).open(&fresh)?;
        serde_json::to_writer_pretty(&mut file, &self.kept)?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        fs::rename(&fresh, &self.path)
    }
}

fn owners() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    options
}

fn check<'k>(provider: &str, key: &'k str) -> Result<&'k str, KeysError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if provider.is_empty() || provider.len() > 64 || !provider.chars().all(fits) {
        return Err(KeysError::BadName(provider.into()));
    }
    let key = key.trim();
    match key {
        "" => Err(KeysError::BadKey("it is empty")),
        _ if key.len() > MAX_KEY => Err(KeysError::BadKey("it is longer than 64 KiB")),
        _ if key.chars().any(char::is_control) => {
            Err(KeysError::BadKey("it has more than one line, or control characters"))
        }
        _ => Ok(key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_kept_for_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        assert_eq!(Keys::add(&data, "p", " sk-1\n"), Ok(false));
        assert_eq!(Keys::add(&data, "q", "sk-2"), Ok(false));
        assert_eq!(Keys::add(&data, "p", "sk-3"), Ok(true));
        let keys = Keys::load(&data).unwrap();
        assert_eq!((keys.names(), keys.key("p"), keys.key("x")), (vec!["p", "q"], Some("sk-3"), None));
        let mode = |p: &Path| fs::metadata(p).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(keys.path()), mode(&data)), (0o600, 0o700));
        Keys::remove(&data, "p").unwrap();
        assert_eq!(Keys::load(&data).unwrap().names(), ["q"]);
        assert!(matches!(Keys::remove(&data, "p"), Err(KeysError::NoKey { .. })));
    }

    #[test]
    fn secrets_for_tools_lie_beside_the_keys_and_are_none() {
        let dir = tempfile::tempdir().unwrap();
        let hosts = vec!["api.example.com".to_owned()];
        Keys::add(dir.path(), "github", "sk-1").unwrap();
        assert_eq!(Keys::add_secret(dir.path(), "github", "tok-1\n", hosts.clone()), Ok(false));
        let keys = Keys::load(dir.path()).unwrap();
        assert_eq!((keys.names(), keys.key("github")), (vec!["github"], Some("sk-1")));
        assert_eq!(keys.secret("github"), Some(("tok-1".to_owned(), hosts.as_slice())));
        assert_eq!(keys.key("secret:github"), None);
        assert_eq!(keys.secrets().collect::<Vec<_>>(), [("github", hosts.as_slice())]);
        Keys::remove_secret(dir.path(), "github").unwrap();
        assert_eq!(Keys::remove_secret(dir.path(), "github"), Err(KeysError::NoSecret("github".into())));
        assert_eq!(Keys::load(dir.path()).unwrap().names(), ["github"]);
    }

    #[test]
    fn a_secret_in_the_keyring_is_nowhere_else() {
        let dir = tempfile::tempdir().unwrap();
        let ring = crate::config::ring::tests::part(&crate::config::ring::tests::store(), "local");
        let hosts = vec!["api.example.com".to_owned()];
        assert_eq!(Keys::add_to_ring(dir.path(), &ring, "github", "tok-1\n", hosts.clone()), Ok(false));
        let keys = Keys::load(dir.path()).unwrap().looking_in(Sources { ring: ring.clone(), ..Sources::default() });
        assert_eq!(keys.secret("github"), Some(("tok-1".to_owned(), hosts.as_slice())));
        assert!(keys.is_in_ring("github") && keys.secrets().eq([("github", hosts.as_slice())]));
        assert!(!fs::read_to_string(keys.path()).unwrap().contains("tok-1"));
        Keys::key_to_ring(&ring, "github", "sk-of-the-provider").unwrap();
        assert_eq!(keys.secret("github").map(|s| s.0).as_deref(), Some("tok-1"), "a key is no secret for tools");
        assert_eq!(ring.get("github"), Ok("sk-of-the-provider".into()));
        Keys::forget_in_ring(&ring, "github");
        assert_eq!(keys.secret("github"), None, "after a restart");
        assert_eq!(ring.get("github"), Ok("sk-of-the-provider".into()));
        assert!(Keys::add_to_ring(dir.path(), &ring, "bad name", "tok", vec![]).is_err());
    }

    #[test]
    fn what_is_no_key_is_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        for (name, key) in [("p", ""), ("p", " \n"), ("p", "a\nb"), ("p/m", "sk"), ("", "sk"), ("a b", "sk")] {
            assert!(Keys::add(dir.path(), name, key).is_err(), "{name:?} {key:?}");
        }
        assert!(!dir.path().join("auth.json").exists());
    }

    #[test]
    fn a_file_that_others_read_or_that_is_damaged_is_refused_without_its_content() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("auth.json");
        Keys::add(dir.path(), "p", "sk-secret").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let error = Keys::load(dir.path()).err().unwrap();
        assert_eq!(error, KeysError::Open { path: path.clone(), mode: 0o640 });
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        for text in ["{\"p\": \"sk-secret\"}", "{\"p\": {\"type\": \"sk-secret\"}}", "sk-secret"] {
            fs::write(&path, text).unwrap();
            let error = Keys::load(dir.path()).err().unwrap().to_string();
            assert!(error.contains("auth.json") && !error.contains("sk-secret"), "{error}");
        }
    }
}
