//! Standing instructions that people keep beside their work (agent-core, sections 9.1 and 9.2): the person's own, then the workspace's
//! from its root down to the working directory, then what the config names. Bounded, since each request carries them.

use crate::config::inputs::Pattern;
use crate::config::paths::{Paths, Place};
use agent::{Instruction, Nearby};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The first name with any hit wins, with all its hits.
const NAMES: &[&str] = &["AGENTS.md", "CLAUDE.md", "CONTEXT.md"];
/// Of one file.
const MAX_FILE: usize = 32 << 10;
/// Of all files together.
const MAX_ALL: usize = 96 << 10;
/// Files that one pattern names.
const MAX_MATCHES: usize = 64;

/// A block a file, each with the file's path before it.
#[must_use]
pub fn read(paths: &Paths, place: &Place, patterns: &[Pattern]) -> Vec<Instruction> {
    let configured = patterns.iter().flat_map(|p| matches(p, paths.home.as_deref(), place));
    let mut files: Vec<PathBuf> = of_person(paths).into_iter().chain(of_workspace(place)).chain(configured).collect();
    let mut seen = std::collections::HashSet::new();
    files.retain(|f| seen.insert(f.clone()));
    let mut left = MAX_ALL;
    files.iter().filter_map(|f| block(f, &mut left)).collect()
}

/// The first that is there.
fn of_person(paths: &Paths) -> Option<PathBuf> {
    let claude = paths.home.iter().map(|h| h.join(".claude/CLAUDE.md"));
    std::iter::once(paths.config.join("AGENTS.md")).chain(claude).find(|f| f.is_file())
}

fn of_workspace(place: &Place) -> Vec<PathBuf> {
    let hits = |name: &&str| place.upwards().map(|d| d.join(name)).filter(|f| is_inside(f, &place.worktree)).collect();
    let mut found: Vec<PathBuf> = NAMES.iter().map(hits).find(|f: &Vec<PathBuf>| !f.is_empty()).unwrap_or_default();
    found.reverse();
    found
}

/// A repository that somebody else wrote must not lead to a file outside of it by a link.
fn is_inside(file: &Path, worktree: &Path) -> bool {
    file.is_file() && file.canonicalize().is_ok_and(|real| real.starts_with(worktree))
}

fn matches(pattern: &Pattern, home: Option<&Path>, place: &Place) -> Vec<PathBuf> {
    let found =
        pattern.places(home, place).into_iter().flat_map(|p| glob::glob(&p.to_string_lossy()).into_iter().flatten());
    let files = found.flatten().filter(|f| f.is_file() && pattern.admits(f, place));
    files.take(MAX_MATCHES).collect()
}

fn block(file: &Path, left: &mut usize) -> Option<Instruction> {
    let (text, cut) = head(file, MAX_FILE.min(*left))?;
    *left -= text.len();
    let note = if cut { "\n(cut here: the file is longer)" } else { "" };
    let text = format!("Instructions from {}:\n{}{note}", file.display(), text.trim());
    Some(Instruction { source: file.display().to_string(), text })
}

/// The beginning of a text file, and whether there is more. `None` where there is nothing to say.
fn head(file: &Path, max: usize) -> Option<(String, bool)> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(max).ok()? + 1;
    std::fs::File::open(file).ok()?.take(limit).read_to_end(&mut bytes).ok()?;
    let cut = bytes.len() > max;
    bytes.truncate(max);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (!text.trim().is_empty()).then_some((text, cut))
}

/// Instructions below the workspace's root, for whoever reads a file there.
#[derive(Clone, Debug)]
pub struct Near {
    pub worktree: PathBuf,
}

impl Nearby for Near {
    fn of(&self, file: &Path) -> Vec<Instruction> {
        let folders = file.ancestors().skip(1).take_while(|d| d.starts_with(&self.worktree) && *d != self.worktree);
        let first = |d: &Path| NAMES.iter().map(|n| d.join(n)).find(|f| is_inside(f, &self.worktree));
        let mut files: Vec<PathBuf> = folders.filter_map(first).collect();
        files.reverse();
        let mut left = MAX_ALL;
        files.iter().filter_map(|f| block(f, &mut left)).collect()
    }
}

#[cfg(test)]
mod tests;
