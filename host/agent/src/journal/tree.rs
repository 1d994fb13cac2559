//! The disk as it will be: a thin layer of changes over what stands there now, and the steps that lead to it.

use super::error::Obstacle;
use model::journal::Image;
use model::undo::{Disk, DiskError, Look, Step};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(super) struct Tree<'a> {
    disk: &'a dyn Disk,
    /// What differs from the disk, by the names of now.
    changed: BTreeMap<PathBuf, Image>,
    /// Moves so far, in order.
    moves: Vec<(PathBuf, PathBuf)>,
    /// What stood at each path that was changed since the last move.
    since: BTreeMap<PathBuf, Look>,
    pub(super) steps: Vec<Step>,
    pub(super) remarks: Vec<String>,
    pub(super) obstacles: Vec<Obstacle>,
}

impl<'a> Tree<'a> {
    pub(super) fn of(disk: &'a dyn Disk) -> Self {
        Self {
            disk,
            changed: BTreeMap::new(),
            moves: vec![],
            since: BTreeMap::new(),
            steps: vec![],
            remarks: vec![],
            obstacles: vec![],
        }
    }

    pub(super) fn look(&self, path: &Path) -> Result<Look, DiskError> {
        if let Some(image) = self.changed.get(path) {
            return Ok(Look { image: image.clone(), shared: false });
        }
        match self.on_disk(path) {
            Some(path) => self.disk.look(&path),
            None => Ok(Look { image: Image::Absent, shared: false }),
        }
    }

    /// Whether anything was laid over this path.
    pub(super) fn is_changed(&self, path: &Path) -> bool {
        self.changed.contains_key(path)
    }

    /// Where on the disk lies what will have this name; `None` = it will have moved away.
    pub(super) fn on_disk(&self, path: &Path) -> Option<PathBuf> {
        let mut path = path.to_path_buf();
        for (from, to) in self.moves.iter().rev() {
            if let Ok(rest) = path.strip_prefix(to) {
                path = join(from, rest);
            } else if path.starts_with(from) {
                return None;
            }
        }
        Some(path)
    }

    /// `path` will be `image`.
    pub(super) fn set(&mut self, path: &Path, image: Image) -> Result<(), DiskError> {
        if !self.since.contains_key(path) {
            let now = self.look(path)?;
            self.since.insert(path.into(), now);
        }
        self.changed.insert(path.into(), image);
        Ok(())
    }

    /// What stands at `from` will have the free name `to`.
    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> Result<(), DiskError> {
        let image = self.look(from)?.image;
        self.settle()?;
        self.need_folder(to)?;
        self.steps.push(Step::Move { from: from.into(), to: to.into() });
        let carried: Vec<_> = self.changed.keys().filter(|p| p.starts_with(from)).cloned().collect();
        // `to` is free: what was said of things below it was that they are gone. What comes with the move is there.
        self.changed.retain(|p, _| !p.starts_with(to));
        for path in carried {
            if let (Some(image), Ok(rest)) = (self.changed.remove(&path), path.strip_prefix(from)) {
                self.changed.insert(join(to, rest), image);
            }
        }
        self.moves.push((from.into(), to.into()));
        self.changed.insert(from.into(), Image::Absent);
        self.changed.insert(to.into(), image);
        Ok(())
    }

    /// Turns what was set since the last move into steps: what goes, the deepest first; then what comes, the topmost first.
    pub(super) fn settle(&mut self) -> Result<(), DiskError> {
        let since = std::mem::take(&mut self.since);
        for (path, was) in since.iter().rev().filter(|(_, was)| was.image == Image::Folder) {
            self.spare(path, was)?;
        }
        for path in since.keys() {
            if self.changed.get(path) != Some(&Image::Absent) {
                self.need_folder(path)?;
            }
        }
        let mut put = |path: &PathBuf, was: &Look| {
            let to = self.changed.get(path).cloned().unwrap_or_else(|| was.image.clone());
            if !same(&was.image, &to) {
                let from = was.image.clone();
                self.steps.push(Step::Put { path: path.clone(), from, to, shared: was.shared });
            }
        };
        let goes = |path: &PathBuf| self.changed.get(path) == Some(&Image::Absent);
        let (going, coming): (Vec<_>, Vec<_>) = since.iter().partition(|(path, _)| goes(path));
        going.into_iter().rev().for_each(|(path, was)| put(path, was));
        coming.into_iter().for_each(|(path, was)| put(path, was));
        Ok(())
    }

    /// What comes needs a folder to lie in.
    fn need_folder(&mut self, path: &Path) -> Result<(), DiskError> {
        let Some(folder) = path.parent().filter(|f| f.parent().is_some()) else { return Ok(()) };
        if self.look(folder)?.image != Image::Folder {
            let missing = Obstacle::Changed { path: folder.into() };
            if !self.obstacles.contains(&missing) {
                self.obstacles.push(missing);
            }
        }
        Ok(())
    }

    /// A folder in which something lies that is not ours stays; where something else is to be in its place, that is an obstacle.
    fn spare(&mut self, folder: &Path, was: &Look) -> Result<(), DiskError> {
        let to = self.changed.get(folder).unwrap_or(&was.image);
        if *to == Image::Folder {
            return Ok(());
        }
        let goes = *to == Image::Absent;
        let Some(left) = self.children(folder)?.into_iter().next() else { return Ok(()) };
        if goes {
            self.changed.insert(folder.into(), Image::Folder);
            self.remarks.push(format!("{} stays: {} lies in it", folder.display(), left.display()));
        } else {
            self.obstacles.push(Obstacle::Changed { path: left });
        }
        Ok(())
    }

    /// What will lie in a folder.
    fn children(&self, folder: &Path) -> Result<Vec<PathBuf>, DiskError> {
        let mut found: Vec<PathBuf> = match self.on_disk(folder) {
            Some(real) if self.disk.look(&real)?.image == Image::Folder => {
                let names = self.disk.below(&real)?;
                names.iter().filter_map(|p| p.file_name()).map(|name| folder.join(name)).collect()
            }
            Some(_) | None => vec![],
        };
        found.retain(|p| !self.changed.contains_key(p));
        let ours = self.changed.iter().filter(|(p, i)| p.parent() == Some(folder) && **i != Image::Absent);
        found.extend(ours.map(|(p, _)| p.clone()));
        Ok(found)
    }
}

fn join(base: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { base.into() } else { base.join(rest) }
}

/// Whether two images are of one thing. What could not be read is equal to nothing.
pub(super) fn same(a: &Image, b: &Image) -> bool {
    match (a, b) {
        (Image::File { hash, mode, .. }, Image::File { hash: other, mode: bits, .. }) => {
            !hash.is_empty() && hash == other && mode == bits
        }
        (Image::Special, _) | (_, Image::Special) => false,
        _ => a == b,
    }
}
