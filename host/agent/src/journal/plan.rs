//! From recorded acts to the steps that take them back. Pure but for looking at what stands on the disk now.
//!
//! The acts are gone through from the last to the first. Each has to find what it left; what was there before it is then what the
//! act before has to find. Where an act finds what it itself began with, it is taken back already.

use super::error::Obstacle;
use super::tree::{Tree, same};
use model::journal::{Image, Op};
use model::undo::{Disk, DiskError, Recorded, Step, Undo};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

#[derive(Debug, Default, PartialEq)]
pub(super) struct Plan {
    pub steps: Vec<Step>,
    pub remarks: Vec<String>,
    pub obstacles: Vec<Obstacle>,
    /// Files as acts left them whose end nobody saw: their contents are in no journal yet.
    pub unseen: Vec<(PathBuf, Image)>,
}

/// Plans how `meant` is taken back; `kept` are the acts that stay, for naming what builds on what.
pub(super) fn plan(meant: &[&Recorded], kept: &[&Recorded], disk: &dyn Disk) -> Result<Plan, DiskError> {
    let mut work = Work { tree: Tree::of(disk), meant, kept, blamed: BTreeMap::new(), unseen: vec![] };
    let mut at = meant.len();
    while at > 0 {
        at -= 1;
        match work.partner(at) {
            Some(from) => {
                work.move_back(from, at)?;
                at = from;
            }
            None => work.put_back(at)?,
        }
    }
    work.tree.settle()?;
    Ok(work.done())
}

struct Work<'a> {
    tree: Tree<'a>,
    meant: &'a [&'a Recorded],
    kept: &'a [&'a Recorded],
    blamed: BTreeMap<PathBuf, Obstacle>,
    unseen: Vec<(PathBuf, Image)>,
}

impl Work<'_> {
    /// The other end of a move that carried more than a content: a folder, or a file too large to keep. Both ends are noted one
    /// after the other, before the move.
    fn partner(&self, at: usize) -> Option<usize> {
        let to = self.meant[at];
        let from = at.checked_sub(1)?;
        let source = self.meant[from];
        let of_one = to.entry.call == source.entry.call && to.entry.message == source.entry.message;
        let is_move = to.entry.op == Op::RenameTo && source.entry.op == Op::RenameFrom && of_one;
        let carries = match &source.entry.before {
            Image::Folder | Image::File { kept: false, .. } => true,
            Image::File { .. } | Image::Absent | Image::Link { .. } | Image::Special => false,
        };
        (is_move && carries).then_some(from)
    }

    fn move_back(&mut self, from: usize, to: usize) -> Result<(), DiskError> {
        let (source, target) = (self.meant[from], self.meant[to]);
        if !self.has_moved(source, target)? {
            return Ok(());
        }
        let (old, new) = (source.entry.path.clone(), target.entry.path.clone());
        let there = self.tree.look(&new)?.image;
        let whole = same(&there, &source.entry.before);
        if !whole || self.tree.look(&old)?.image != Image::Absent {
            self.blame(if whole { &old } else { &new }, to);
            return Ok(());
        }
        self.tree.rename(&new, &old)?;
        if target.entry.before != Image::Absent {
            self.tree.set(&new, target.entry.before.clone())?;
        }
        Ok(())
    }

    /// Whether the move took place, and still stands.
    fn has_moved(&self, source: &Recorded, target: &Recorded) -> Result<bool, DiskError> {
        if source.after.as_ref().is_some_and(|after| same(after, &source.entry.before)) {
            return Ok(false);
        }
        let old = self.tree.look(&source.entry.path)?.image;
        let new = self.tree.look(&target.entry.path)?.image;
        Ok(!(same(&old, &source.entry.before) && same(&new, &target.entry.before)))
    }

    fn put_back(&mut self, at: usize) -> Result<(), DiskError> {
        let Recorded { entry, after, .. } = self.meant[at];
        if after.as_ref().is_some_and(|after| same(after, &entry.before)) {
            return Ok(());
        }
        let now = self.tree.look(&entry.path)?.image;
        let as_left = after.as_ref().is_none_or(|after| same(after, &now));
        if !as_left && !same(&now, &entry.before) {
            self.blame(&entry.path, at);
        } else if after.is_none() && !self.tree.is_changed(&entry.path) && !same(&now, &entry.before) {
            let what =
                format!("{}: the act was cut short; whatever stands there counts as its work", entry.path.display());
            self.tree.remarks.push(what);
            self.unseen.extend(self.tree.on_disk(&entry.path).map(|path| (path, now)));
        }
        self.tree.set(&entry.path, entry.before.clone())
    }

    /// Something else stands here than the act at `at` left.
    fn blame(&mut self, path: &Path, at: usize) {
        let last = self.meant[at].id.0;
        let later = self.kept.iter().find(|k| k.entry.path == *path && k.id.0 > last);
        let path = path.to_path_buf();
        let why = match later {
            Some(k) => {
                Obstacle::BuiltOn { path: path.clone(), call: k.entry.call.clone(), message: k.entry.message.clone() }
            }
            None => Obstacle::Changed { path: path.clone() },
        };
        self.blamed.entry(path).or_insert(why);
    }

    fn done(mut self) -> Plan {
        let mut obstacles: Vec<Obstacle> = self.blamed.into_values().collect();
        obstacles.append(&mut self.tree.obstacles);
        Plan { steps: self.tree.steps, remarks: self.tree.remarks, obstacles, unseen: self.unseen }
    }
}

/// The contents that the steps need, and those that taking them back would need.
pub(super) fn hashes(steps: &[Step]) -> HashSet<String> {
    let images = steps.iter().flat_map(|step| match step {
        Step::Put { from, to, .. } => vec![from, to],
        Step::Move { .. } => vec![],
    });
    let hash = |image: &Image| match image {
        Image::File { hash, .. } if !hash.is_empty() => Some(hash.clone()),
        _ => None,
    };
    images.filter_map(hash).collect()
}

/// Looks whether everything can be made with the contents that are there: what is not is an obstacle; what could not be made
/// again is a remark.
pub(super) fn weigh(plan: &mut Plan, missing: &HashSet<String>) {
    for step in &mut plan.steps {
        let Step::Put { path, from, to, .. } = step else { continue };
        [&mut *from, &mut *to].into_iter().for_each(|image| note_kept(image, missing));
        if !can_be_made(to, from) {
            plan.obstacles.push(Obstacle::NotKept { path: path.clone() });
        } else if !can_be_made(from, to) {
            let what = format!("{}: what stands there now is not kept, so this can't be redone", path.display());
            plan.remarks.push(what);
        }
    }
}

/// A file that would be gone for good if this were done: what it holds is kept nowhere else.
#[must_use]
pub fn lost_by(undo: &Undo) -> Option<&Path> {
    undo.steps.iter().find_map(|step| match step {
        Step::Put { path, from, to, .. } if !can_be_made(from, to) => Some(path.as_path()),
        Step::Put { .. } | Step::Move { .. } => None,
    })
}

fn note_kept(image: &mut Image, missing: &HashSet<String>) {
    if let Image::File { hash, kept, .. } = image {
        *kept = !hash.is_empty() && !missing.contains(hash);
    }
}

/// Whether `to` can stand where `from` stands now.
fn can_be_made(to: &Image, from: &Image) -> bool {
    match to {
        Image::File { kept: true, .. } | Image::Absent | Image::Folder | Image::Link { .. } => true,
        // Only its mode changed.
        Image::File { hash, .. } => {
            !hash.is_empty() && matches!(from, Image::File { hash: other, .. } if other == hash)
        }
        Image::Special => false,
    }
}

/// Goes through steps without doing them: what stands in their way?
pub(super) fn rehearse(steps: impl Iterator<Item = Step>, disk: &dyn Disk) -> Result<Vec<Obstacle>, DiskError> {
    let mut tree = Tree::of(disk);
    let mut obstacles = vec![];
    for step in steps {
        match step {
            Step::Put { path, from, to, .. } => {
                let now = tree.look(&path)?.image;
                if !same(&now, &from) && !same(&now, &to) {
                    obstacles.push(Obstacle::Changed { path: path.clone() });
                }
                tree.set(&path, to)?;
            }
            Step::Move { from, to } => {
                let taken = tree.look(&to)?.image != Image::Absent;
                if taken || tree.look(&from)?.image == Image::Absent {
                    obstacles.push(Obstacle::Changed { path: if taken { to.clone() } else { from.clone() } });
                }
                tree.rename(&from, &to)?;
            }
        }
    }
    tree.settle()?;
    obstacles.append(&mut tree.obstacles);
    Ok(obstacles)
}
