//! Where things lie: the person's folders, and the workspace around the working directory.

use super::error::ConfigError;
use etcetera::BaseStrategy;
use etcetera::base_strategy::Xdg;
use std::path::{Path, PathBuf};

/// The person's folders, each with `airlock` below the base that XDG names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    pub home: Option<PathBuf>,
    pub config: PathBuf,
    pub data: PathBuf,
    pub cache: PathBuf,
}

impl Paths {
    /// # Errors
    /// [`ConfigError::NoHome`].
    pub fn find() -> Result<Self, ConfigError> {
        let xdg = Xdg::new().map_err(|_| ConfigError::NoHome)?;
        Ok(Self {
            home: Some(xdg.home_dir().to_owned()),
            config: xdg.config_dir().join("airlock"),
            data: xdg.data_dir().join("airlock"),
            cache: xdg.cache_dir().join("airlock"),
        })
    }

    #[must_use]
    pub fn user_config(&self) -> PathBuf {
        self.config.join("config.toml")
    }
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
