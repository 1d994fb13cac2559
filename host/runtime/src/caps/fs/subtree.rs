//! What a folder takes along when it is renamed.
//!
//! A rule for a path would not hold any more for what lies below, and a link below may lead elsewhere from its new place. So all
//! that lies below is judged before, silently: a folder with thousands of files cannot be asked for file by file.

use super::entry::Spot;
use super::handle::{Handle, Kind};
use super::{Failure, State};
use model::fault::FailureKind;
use model::tool::ToolFailure;
use rustix::fs::{Dir, OFlags};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Entries below one renamed folder. More is not judged, so not moved.
const MOST_ENTRIES: usize = 20_000;

/// Folders within folders, one handle each.
const DEEPEST: usize = 128;

/// A folder that moves along, being looked through.
struct Level {
    folder: Handle,
    listing: Dir,
    from: PathBuf,
    to: PathBuf,
}

impl Level {
    fn new(folder: Handle, from: PathBuf, to: PathBuf) -> Result<Self, Failure> {
        let listing = Dir::new(folder.open(OFlags::RDONLY | OFlags::DIRECTORY)?)?;
        Ok(Self { folder, listing, from, to })
    }
}

impl State {
    /// Judges what moves with the entry at `from` when it comes to be at `to`.
    pub(super) fn check_move(&self, from: &Spot, to: &Spot, mounts: &[PathBuf]) -> Result<(), Failure> {
        let Some(moved) = from.look()? else { return Ok(()) };
        match moved.kind() {
            Kind::Link => self.check_link(&moved.target()?, &to.path, mounts),
            Kind::Folder => self.check_below(moved, from, to, mounts),
            Kind::File | Kind::Special => Ok(()),
        }
    }

    /// A link that leads outside is harmless to us, who never follow it, but not to the shell or the editor that comes next.
    pub(super) fn check_link(&self, target: &Path, at: &Path, mounts: &[PathBuf]) -> Result<(), Failure> {
        if stays_inside(at, target, mounts) {
            return Ok(());
        }
        let what = format!("A link at {} to {} could lead outside.", at.display(), target.display());
        Err(self.funnel.refuse(ToolFailure::new(FailureKind::Denied, what)).into())
    }

    fn check_below(&self, folder: Handle, from: &Spot, to: &Spot, mounts: &[PathBuf]) -> Result<(), Failure> {
        let mut levels = vec![Level::new(folder, from.path.clone(), to.path.clone())?];
        let mut entries = 0;
        while let Some(level) = levels.last_mut() {
            let Some(entry) = level.listing.next().transpose()? else {
                levels.pop();
                continue;
            };
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let below = self.check_entry(level, Path::new(name), mounts)?;
            levels.extend(below);
            entries += 1;
            if entries > MOST_ENTRIES || levels.len() > DEEPEST {
                return Err(self.too_many(&from.path));
            }
        }
        Ok(())
    }

    /// Judges one entry; gives it back as a level of its own if it is a folder.
    fn check_entry(&self, level: &Level, name: &Path, mounts: &[PathBuf]) -> Result<Option<Level>, Failure> {
        let (from, to) = (level.from.join(name), level.to.join(name));
        if !self.funnel.may_read_silently(&from) || self.funnel.forbids_write(&from) {
            let what = format!("{} would be carried along, which the rules forbid.", from.display());
            return Err(self.funnel.refuse(ToolFailure::new(FailureKind::Denied, what)).into());
        }
        let Some(entry) = level.folder.child(name)? else { return Ok(None) };
        match entry.kind() {
            Kind::Folder => Level::new(entry, from, to).map(Some),
            Kind::Link => {
                let target = entry.target()?;
                if leads_outside_already(&from, &target, mounts) {
                    return Ok(None);
                }
                self.check_link(&target, &to, mounts).map(|()| None)
            }
            Kind::File | Kind::Special => Ok(None),
        }
    }

    fn too_many(&self, folder: &Path) -> Failure {
        let what = format!("{} holds too much below it to be judged: move it in parts.", folder.display());
        self.funnel.refuse(ToolFailure::new(FailureKind::Limit, what)).into()
    }
}

/// Somebody wanted it so before: moving it makes it no worse.
fn leads_outside_already(at: &Path, target: &Path, mounts: &[PathBuf]) -> bool {
    let leads_out = |end: PathBuf| !is_mounted(&end, mounts) || goes_on_outside(&end, mounts);
    target.is_absolute() || destination(at, target).is_some_and(leads_out)
}

fn stays_inside(at: &Path, target: &Path, mounts: &[PathBuf]) -> bool {
    destination(at, target).is_some_and(|end| is_mounted(&end, mounts) && !goes_on_outside(&end, mounts))
}

/// Whether what is there now, or its nearest folder, is reached through a link of somebody's that leads outside.
fn goes_on_outside(end: &Path, mounts: &[PathBuf]) -> bool {
    end.ancestors().find_map(|there| there.canonicalize().ok()).is_some_and(|real| !is_mounted(&real, mounts))
}

fn is_mounted(path: &Path, mounts: &[PathBuf]) -> bool {
    mounts.iter().any(|mount| path.starts_with(mount))
}

/// Where a link at the real path `at` leads, as far as its text tells for certain: `None` for an absolute one, and for one that
/// goes down and then up, since what it goes down through may itself be a link.
fn destination(at: &Path, target: &Path) -> Option<PathBuf> {
    let mut end = at.parent()?.to_path_buf();
    let mut down = false;
    for step in target.components() {
        match step {
            Component::CurDir => {}
            Component::ParentDir if !down && end.pop() => {}
            Component::Normal(name) => {
                down = true;
                end.push(name);
            }
            _ => return None,
        }
    }
    Some(end)
}
