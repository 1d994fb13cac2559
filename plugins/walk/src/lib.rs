//! Folders walked by the rules of `.gitignore`, for `glob` and `grep`.
//!
//! What is seen: regular files, hidden ones too, that no `.gitignore` or `.ignore` between the workspace and the file excludes, in a
//! repository or not. What is not: `.git`, and what symbolic links point to. Nothing above the workspace is read: it would be asked for.

mod pattern;
mod rules;

pub use pattern::Pattern;

use rules::Rules;
use std::fs::DirEntry;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

/// Entries that a walk looks at before it gives up.
const MAX_ENTRIES: usize = 200_000;
/// Folders in folders: the walk is recursive, and a component's stack is small.
const MAX_DEPTH: usize = 128;

/// One file of a walk.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    pub path: &'a Path,
    /// Relative to the root of the walk, parted by `/`.
    pub relative: &'a str,
    pub name: &'a str,
}

/// What a walk left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Folders that could not be read.
    pub unreadable: usize,
    /// The walk gave up: too many entries, or too deep.
    pub incomplete: bool,
}

impl Tally {
    /// Lines for the end of a result; empty where nothing was left out.
    #[must_use]
    pub fn notes(&self) -> String {
        let mut notes = String::new();
        if self.unreadable > 0 {
            notes += &format!("\n({} folders could not be read and were skipped.)", self.unreadable);
        }
        if self.incomplete {
            notes += "\n(Too many files: the search is incomplete. Give a deeper path.)";
        }
        notes
    }
}

/// Visits the files below `root` in order of their names, until `visit` breaks.
///
/// # Errors
/// Where `root` itself cannot be read. Folders below that cannot are counted.
pub fn files(workspace: &Path, root: &Path, visit: &mut dyn FnMut(Found<'_>) -> ControlFlow<()>) -> io::Result<Tally> {
    let entries = sorted(root)?;
    let mut walk = Walk { ignores: above(workspace, root), entries_left: MAX_ENTRIES, tally: Tally::default(), visit };
    let _ = walk.folder(root, "", entries, 0);
    Ok(walk.tally)
}

struct Walk<'a> {
    /// Outermost first.
    ignores: Vec<Rules>,
    entries_left: usize,
    tally: Tally,
    visit: &'a mut dyn FnMut(Found<'_>) -> ControlFlow<()>,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, relative: &str, entries: Vec<DirEntry>, depth: usize) -> ControlFlow<()> {
        let outer = self.ignores.len();
        self.ignores.extend(Rules::of_folder(folder, &entries));
        let flow = entries.into_iter().try_for_each(|entry| self.entry(&entry, relative, depth));
        self.ignores.truncate(outer);
        flow
    }

    fn entry(&mut self, entry: &DirEntry, folder: &str, depth: usize) -> ControlFlow<()> {
        if self.entries_left == 0 {
            self.tally.incomplete = true;
            return ControlFlow::Break(());
        }
        self.entries_left -= 1;
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let Ok(kind) = entry.file_type() else { return ControlFlow::Continue(()) };
        if name == ".git" || kind.is_symlink() || self.is_ignored(&path, kind.is_dir()) {
            return ControlFlow::Continue(());
        }
        let relative = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        if kind.is_dir() {
            self.below(&path, &relative, depth + 1)
        } else if kind.is_file() {
            (self.visit)(Found { path: &path, relative: &relative, name: &name })
        } else {
            ControlFlow::Continue(())
        }
    }

    fn below(&mut self, folder: &Path, relative: &str, depth: usize) -> ControlFlow<()> {
        if depth > MAX_DEPTH {
            self.tally.incomplete = true;
            return ControlFlow::Continue(());
        }
        match sorted(folder) {
            Ok(entries) => self.folder(folder, relative, entries, depth),
            Err(_) => {
                self.tally.unreadable += 1;
                ControlFlow::Continue(())
            }
        }
    }

    /// The innermost file that says something of a path decides.
    fn is_ignored(&self, path: &Path, is_dir: bool) -> bool {
        self.ignores.iter().rev().find_map(|rules| rules.says(path, is_dir)).unwrap_or(false)
    }
}

/// The rules that hold from the workspace down to the parent of `root`; none for a root outside.
fn above(workspace: &Path, root: &Path) -> Vec<Rules> {
    let Ok(inside) = root.strip_prefix(workspace) else { return Vec::new() };
    let mut folder = workspace.to_path_buf();
    let mut rules = Vec::new();
    for part in inside {
        rules.extend(Rules::read(&folder));
        folder.push(part);
    }
    rules
}

fn sorted(folder: &Path) -> io::Result<Vec<DirEntry>> {
    let mut entries: Vec<_> = std::fs::read_dir(folder)?.filter_map(Result::ok).take(MAX_ENTRIES).collect();
    entries.sort_by_key(DirEntry::file_name);
    Ok(entries)
}

#[cfg(test)]
mod tests;
