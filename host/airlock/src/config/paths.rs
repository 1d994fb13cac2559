//! Where things lie: the person's folders, and the workspace around the working directory.

use super::error::ConfigError;
use etcetera::BaseStrategy;
use etcetera::base_strategy::Xdg;
use model::environment::Environment;
use model::owner::{BadOwner, Owner};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The home of one owner: their folders and their variables. All that is theirs is opened from here, and nothing of theirs is looked
/// for anywhere else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    pub owner: Owner,
    pub home: Option<PathBuf>,
    pub config: PathBuf,
    pub data: PathBuf,
    pub cache: PathBuf,
    pub environment: Environment,
    /// Folders that hold homes, those of other owners too: no component and no program of an agent comes near them.
    pub homes: Vec<PathBuf>,
}

impl Paths {
    /// Of the person who started this process: each folder is `airlock` below the base that XDG names. `AIRLOCK_OWNER` names another
    /// owner, where several share an account of the system; their homes lie side by side below the data folder.
    ///
    /// # Errors
    /// [`ConfigError::NoHome`], [`ConfigError::BadVariable`].
    pub fn find() -> Result<Self, ConfigError> {
        let xdg = Xdg::new().map_err(|_| ConfigError::NoHome)?;
        let [config, data, cache] =
            [xdg.config_dir(), xdg.data_dir(), xdg.cache_dir()].map(|base| base.join("airlock"));
        let (home, environment) = (Some(xdg.home_dir().to_owned()), of_process());
        let homes = vec![config.clone(), data.clone(), cache.clone()];
        match owner(&environment)? {
            local if local.is_local() => Ok(Self { owner: local, home, config, data, cache, environment, homes }),
            owner => Ok(Self { home, homes, ..Self::below(&data.join("owners"), owner, environment) }),
        }
    }

    /// Of one of several owners whose homes lie side by side below `root`. They have no variables but those that are given, and no home
    /// folder of the system.
    #[must_use]
    pub fn below(root: &Path, owner: Owner, environment: Environment) -> Self {
        let own = root.join(owner.as_str());
        let [config, data, cache] = ["config", "data", "cache"].map(|folder| own.join(folder));
        Self { owner, home: None, config, data, cache, environment, homes: vec![root.to_owned()] }
    }

    #[cfg(test)]
    pub fn for_tests() -> Self {
        Self::below(Path::new("/nowhere"), Owner::local(), Environment::default())
    }

    #[must_use]
    pub fn user_config(&self) -> PathBuf {
        self.config.join("config.toml")
    }
}

fn owner(environment: &Environment) -> Result<Owner, ConfigError> {
    const NAME: &str = "AIRLOCK_OWNER";
    let bad = |e: BadOwner| ConfigError::BadVariable { name: NAME, why: e.to_string() };
    environment.said(NAME).map_or_else(|| Ok(Owner::local()), |name| Owner::parse(name).map_err(bad))
}

/// What the process was started with. It belongs to the person who started it.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the one place where it is read")]
pub fn of_process() -> Environment {
    let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    std::env::vars_os().filter_map(text).collect()
}

/// Where the run works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where it was started; real and absolute.
    pub directory: PathBuf,
    /// Root of the repository, else `directory`: what counts as inside.
    pub worktree: PathBuf,
}

impl Place {
    /// # Errors
    /// Where there is no such folder.
    pub fn at(directory: &Path) -> std::io::Result<Self> {
        let directory = directory.canonicalize()?;
        if !directory.is_dir() {
            return Err(std::io::ErrorKind::NotADirectory.into());
        }
        let root = directory.ancestors().find(|d| d.join(".git").exists());
        Ok(Self { worktree: root.unwrap_or(&directory).to_owned(), directory })
    }

    /// From the working directory up to the worktree's root, both included.
    pub fn upwards(&self) -> impl Iterator<Item = &Path> {
        self.directory.ancestors().take_while(|d| d.starts_with(&self.worktree))
    }

    /// The nearest `airlock.toml`.
    #[must_use]
    pub fn workspace_config(&self) -> Option<PathBuf> {
        self.upwards().map(|d| d.join("airlock.toml")).find(|f| f.is_file())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_workspace_ends_at_the_repository() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let inner = base.join("repo/a/b");
        fs::create_dir_all(&inner).unwrap();
        fs::create_dir(base.join("repo/.git")).unwrap();
        fs::write(base.join("airlock.toml"), "").unwrap();
        let place = Place::at(&inner).unwrap();
        assert_eq!(place.worktree, base.join("repo"));
        assert_eq!(place.workspace_config(), None, "above the repository is not the workspace");
        fs::write(base.join("repo/airlock.toml"), "").unwrap();
        assert_eq!(place.workspace_config(), Some(base.join("repo/airlock.toml")));
    }

    #[test]
    fn without_a_repository_the_folder_is_the_workspace() {
        let base = tempfile::tempdir().unwrap();
        let inner = base.path().join("a");
        fs::create_dir(&inner).unwrap();
        fs::write(base.path().join("airlock.toml"), "").unwrap();
        let place = Place::at(&inner).unwrap();
        assert_eq!(place.worktree, place.directory);
        assert_eq!(place.workspace_config(), None);
    }
}
