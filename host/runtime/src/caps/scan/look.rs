//! One look at folders, by the ignore files that lie in them and within bounds.

use super::lies_in;
use ignore::{DirEntry, WalkBuilder};
use model::journal::{Image, Seen};
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Entries of one look.
pub(super) const ENTRIES: usize = 20_000;

/// What stands at a path, and by what it is known to be the same later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub seen: Seen,
    pub mode: u32,
    /// Of a file only after its content was taken in.
    pub image: Image,
}

impl Found {
    /// Whether nobody changed it. A folder is the same whatever lies in it.
    pub(super) fn is_as(&self, other: &Self) -> bool {
        match (&self.image, &other.image) {
            (Image::Folder, Image::Folder) => true,
            _ => self.seen == other.seen && self.mode == other.mode,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Look {
    pub found: BTreeMap<PathBuf, Found>,
    /// Whether the bounds were wide enough.
    pub is_whole: bool,
    /// What was left out.
    pub uncovered: Vec<String>,
}

impl Look {
    pub(super) fn at(roots: &[PathBuf], hidden: &[PathBuf]) -> Self {
        let mut look = Self { is_whole: true, ..Self::default() };
        for root in roots {
            look.walk(root, hidden);
        }
        if !look.rules().is_empty() {
            look.uncovered.push("what ignore files leave out".into());
        }
        look
    }

    fn walk(&mut self, root: &PathBuf, hidden: &[PathBuf]) {
        let hidden = hidden.to_vec();
        let walk = WalkBuilder::new(root)
            .hidden(false)
            .git_global(false)
            .require_git(false)
            .same_file_system(true)
            .filter_entry(move |e| e.file_name() != ".git" && !lies_in(e.path(), &hidden))
            .build();
        if root.join(".git").symlink_metadata().is_ok() {
            self.uncovered.push("what git keeps in .git".into());
        }
        for entry in walk.flatten().filter(|e| e.depth() > 0) {
            if self.found.len() >= ENTRIES {
                self.is_whole = false;
                self.uncovered.push(format!("what lies beyond {ENTRIES} files and folders"));
                return;
            }
            if let Some(found) = found(&entry) {
                self.found.insert(entry.into_path(), found);
            }
        }
    }

    /// The ignore files, as they are now: where one changes, other paths are seen.
    pub(super) fn rules(&self) -> Vec<(&PathBuf, &Seen)> {
        let is_rule = |path: &PathBuf| path.file_name().is_some_and(|n| n == ".gitignore" || n == ".ignore");
        self.found.iter().filter(|(path, _)| is_rule(path)).map(|(path, found)| (path, &found.seen)).collect()
    }
}

fn found(entry: &DirEntry) -> Option<Found> {
    let metadata = entry.metadata().ok()?;
    let kind = metadata.file_type();
    let image = if kind.is_dir() {
        Image::Folder
    } else if kind.is_symlink() {
        Image::Link { target: std::fs::read_link(entry.path()).ok()? }
    } else if kind.is_file() {
        Image::File { hash: String::new(), size: metadata.len(), mode: metadata.mode() & 0o7777, kept: false }
    } else {
        return None;
    };
    Some(Found { seen: seen(&metadata), mode: metadata.mode() & 0o7777, image })
}

fn seen(m: &Metadata) -> Seen {
    let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    Seen {
        device: m.dev(),
        inode: m.ino(),
        size: m.len(),
        modified_ns: nanoseconds(m.mtime(), m.mtime_nsec()),
        changed_ns: nanoseconds(m.ctime(), m.ctime_nsec()),
    }
}
