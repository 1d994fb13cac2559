//! What of the disk a component finds at which name. A folder that it was granted is mounted as it is; of a file the folder around it
//! is, and the funnel keeps the rest of that out of reach ([`Reach`]).

use model::grant::{Grant, Mode};
use std::path::{Path, PathBuf};

/// Real folder and name → mode, in the order of mounting: libraries take the later of two names that fit a path equally well, and
/// `/` fits as well as `.`.
pub type Mounts = Vec<((PathBuf, String), Mode)>;

/// What a component may touch, where its mounts are wider than that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach(Option<Vec<(PathBuf, Mode)>>);

impl Reach {
    /// Whether a real path lies in what was granted, so.
    #[must_use]
    pub fn holds(&self, real: &Path, mode: Mode) -> bool {
        let Some(places) = &self.0 else { return true };
        places.iter().any(|(place, held)| *held >= mode && real.starts_with(place))
    }

    /// Of a grant. Looks at the disk only where it names anything but the whole workspace.
    #[must_use]
    pub fn of(grant: &Grant, workspace: &Path) -> Self {
        if grant.fs.keys().all(|name| name == ".") {
            return Self(None);
        }
        let places: Vec<_> = grant.fs.iter().filter_map(|(name, mode)| Some((real(name, workspace)?, *mode))).collect();
        let is_wider = places.iter().any(|(place, _)| !place.is_dir());
        Self(is_wider.then_some(places))
    }
}

/// A folder is found under its real path, and one of the workspace under its relative path too. What a link takes out of the workspace
/// is not mounted, nor what is not there, unless it may be made.
#[must_use]
pub fn mounts(grant: &Grant, workspace: &Path) -> Mounts {
    let mut all = Mounts::new();
    for (name, mode) in &grant.fs {
        let Some(place) = real(name, workspace) else { continue };
        if place.is_dir() {
            add_folder(&mut all, &place, name, *mode, workspace);
        } else if let Some(folder) = place.parent().filter(|_| place.exists() || *mode == Mode::ReadWrite) {
            let around = Path::new(name).parent().filter(|p| !p.as_os_str().is_empty());
            let around = around.map_or_else(|| ".".to_owned(), |p| p.to_string_lossy().into_owned());
            add_folder(&mut all, folder, &around, *mode, workspace);
        }
    }
    all
}

fn add_folder(all: &mut Mounts, real: &Path, name: &str, mode: Mode, workspace: &Path) {
    let inside = Path::new(name).is_relative();
    let mut add = |folder: &Path, name: String| {
        let mount = (folder.to_owned(), name);
        match all.iter_mut().find(|(known, _)| *known == mount) {
            Some((_, held)) => *held = (*held).max(mode),
            None => all.push((mount, mode)),
        }
    };
    if !inside && workspace.starts_with(real) {
        add(workspace, ".".to_owned());
    }
    add(real, real.to_string_lossy().into_owned());
    if inside {
        add(real, name.to_owned());
    }
}

/// The real path of what a grant names, or the one that it will have. `None` = it lies outside where it must not, or nowhere.
fn real(name: &str, workspace: &Path) -> Option<PathBuf> {
    let path = workspace.join(name);
    let real = match path.canonicalize() {
        Ok(real) => real,
        // A link that leads nowhere is not what was granted.
        Err(_) if path.symlink_metadata().is_ok() => return None,
        Err(_) => path.parent()?.canonicalize().ok()?.join(path.file_name()?),
    };
    (Path::new(name).is_absolute() || real.starts_with(workspace)).then_some(real)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const RO: Mode = Mode::ReadOnly;
    const RW: Mode = Mode::ReadWrite;

    fn world() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("w/docs")).unwrap();
        for file in ["w/notes.md", "w/docs/a", "w/docs/b", "outside"] {
            std::fs::write(root.join(file), "x").unwrap();
        }
        std::os::unix::fs::symlink("../outside", root.join("w/out")).unwrap();
        std::os::unix::fs::symlink("nowhere", root.join("w/dangling")).unwrap();
        (dir, root.join("w"))
    }

    fn grant(fs: serde_json::Value) -> Grant {
        serde_json::from_value(json!({ "fs": fs })).unwrap()
    }

    /// Names that are relative, with their modes.
    fn names(fs: serde_json::Value, w: &Path) -> Vec<(String, Mode)> {
        let all = mounts(&grant(fs), w);
        assert!(all.iter().all(|((real, _), _)| real.starts_with(w)), "{all:?}");
        all.into_iter().filter(|((_, name), _)| !name.starts_with('/')).map(|((_, name), mode)| (name, mode)).collect()
    }

    #[test]
    fn folders_are_mounted_and_of_files_the_folder_around() {
        let (_dir, w) = world();
        for (fs, want) in [
            (json!({ "docs": "ro" }), vec![("docs", RO)]),
            (json!({ "notes.md": "ro" }), vec![(".", RO)]),
            (json!({ "docs/a": "rw" }), vec![("docs", RW)]),
            (json!({ "docs/a": "rw", "docs": "ro" }), vec![("docs", RW)]),
            (json!({ "new.md": "rw" }), vec![(".", RW)]),
            (json!({ "new.md": "ro" }), vec![]),
            (json!({ "out": "rw", "dangling": "rw", "no/where": "rw" }), vec![]),
        ] {
            let want: Vec<_> = want.into_iter().map(|(n, m)| (n.to_owned(), m)).collect();
            assert_eq!(names(fs.clone(), &w), want, "{fs}");
        }
    }

    /// A library that looks for the mount of an absolute path must not find the workspace.
    #[test]
    fn the_whole_machine_is_mounted_after_the_workspace() {
        let (_dir, w) = world();
        let all = mounts(&grant(json!({ "/": "rw" })), &w);
        let names: Vec<&str> = all.iter().map(|((_, name), _)| name.as_str()).collect();
        assert_eq!(names, [".", "/"]);
        let all = mounts(&grant(json!({ ".": "rw" })), &w);
        let names: Vec<&str> = all.iter().map(|((_, name), _)| name.as_str()).collect();
        assert_eq!(names, [w.to_str().unwrap(), "."]);
    }

    #[test]
    fn a_file_is_all_that_is_in_reach() {
        let (_dir, w) = world();
        let check = |fs: serde_json::Value, path: &str, mode, want| {
            assert_eq!(Reach::of(&grant(fs.clone()), &w).holds(&w.join(path), mode), want, "{fs} {path} {mode:?}");
        };
        let one = || json!({ "notes.md": "ro", "docs/a": "rw", "new.md": "rw" });
        check(one(), "notes.md", RO, true);
        check(one(), "notes.md", RW, false);
        check(one(), "docs/a", RW, true);
        check(one(), "docs/b", RO, false);
        check(one(), "", RO, false);
        check(one(), "new.md", RW, true);
        check(one(), "new.mdx", RW, false);
        let mixed = || json!({ "docs/a": "rw", "docs": "ro" });
        check(mixed(), "docs/b", RO, true);
        check(mixed(), "docs/b", RW, false);
        check(mixed(), "docs/a", RW, true);
        // Mounts say it all.
        check(json!({ ".": "ro" }), "notes.md", RW, true);
        check(json!({ "docs": "ro" }), "notes.md", RW, true);
    }
}
