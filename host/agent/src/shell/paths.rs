//! Which paths a word names, and which of them lie outside. Lexical: links are the business of whoever opens the file.

use super::word::Word;
use std::path::{Component, Path, PathBuf};

/// What is inside, and where `~` is.
pub(super) struct Place {
    pub worktree: PathBuf,
    pub home: Option<PathBuf>,
}

/// `.` and `..` resolved by name alone.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(out.pop()),
            other => out.push(other),
        }
    }
    out
}

/// Files that belong to nobody: opening them touches nothing.
pub(super) fn is_harmless(path: &Path) -> bool {
    const DEVICES: [&str; 8] = ["null", "zero", "full", "stdin", "stdout", "stderr", "tty", "urandom"];
    path.strip_prefix("/dev").is_ok_and(|rest| DEVICES.iter().any(|d| rest == Path::new(d)) || rest.starts_with("fd"))
}

/// Programs whose operands are directories more often than files.
const TAKES_DIRECTORIES: [&str; 13] =
    ["cd", "chdir", "pushd", "ls", "find", "fd", "tree", "du", "mkdir", "git", "make", "ninja", "rmdir"];
/// Programs that only print their arguments.
const PRINTS: [&str; 6] = ["echo", "printf", ":", "true", "false", "test"];
/// Programs whose first operand is a script, unless a flag gave it.
const TAKES_SCRIPT: [&str; 13] =
    ["sed", "gsed", "awk", "gawk", "mawk", "nawk", "grep", "egrep", "fgrep", "rg", "ag", "jq", "yq"];

/// The arguments of a program that may be paths, and whether they name directories.
pub(super) fn operands<'a>(name: &str, arguments: &'a [Word]) -> (Vec<&'a Word>, Names) {
    let names = if TAKES_DIRECTORIES.contains(&name) { Names::Directory } else { Names::File };
    if PRINTS.contains(&name) {
        return (arguments.iter().filter(|w| w.glob).collect(), names);
    }
    let script = TAKES_SCRIPT.contains(&name) && !arguments.iter().any(gives_script);
    let skipped = script.then(|| arguments.iter().position(|w| !w.plain.starts_with('-'))).flatten();
    (arguments.iter().enumerate().filter(|(i, _)| Some(*i) != skipped).map(|(_, w)| w).collect(), names)
}

fn gives_script(word: &Word) -> bool {
    let p = word.plain.as_str();
    let short = p.starts_with('-') && !p.starts_with("--") && p.contains(['e', 'f']);
    short || ["--expression", "--regexp", "--file", "--from-file"].iter().any(|flag| p.starts_with(flag))
}

/// What the last component of a path is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    File,
    Directory,
}

/// What the text of a word tells of the place that it names.
pub(super) enum Named {
    /// It may lead anywhere.
    Unknown,
    Outside(Vec<PathBuf>),
}

impl Place {
    pub fn contains(&self, path: &Path) -> bool {
        path.starts_with(&self.worktree)
    }

    /// The outside directories that `word` names, seen from each of `cwds`.
    pub fn outside(&self, word: &Word, cwds: &[PathBuf], names: Names) -> Named {
        if word.brace && word.plain.split(['{', ',', '}']).any(|p| is_pathlike(p) || p.starts_with('~')) {
            return Named::Unknown;
        }
        // Somebody else's home.
        if word.dynamic && word.fixed == 0 && word.plain.starts_with('~') {
            return Named::Unknown;
        }
        let (fixed, rest) = word.plain.split_at(word.fixed.min(word.plain.len()));
        if has_parent(rest) {
            return Named::Unknown;
        }
        let found = candidates(fixed).flat_map(|text| {
            let cut = if rest.is_empty() {
                text
            } else {
                text.rsplit_once('/').map_or("", |(_, name)| &text[..text.len() - name.len()])
            };
            cwds.iter().filter_map(move |cwd| self.directory(cut, cwd, names))
        });
        Named::Outside(found.collect())
    }

    fn directory(&self, text: &str, cwd: &Path, names: Names) -> Option<PathBuf> {
        // Relative and without `..` it can only leave if it starts outside, and then the way there was counted.
        if !is_pathlike(text) && self.contains(cwd) {
            return None;
        }
        if text.is_empty() {
            return None;
        }
        let path = normal(&cwd.join(text));
        if self.contains(&path) || is_harmless(&path) {
            return None;
        }
        let itself = names == Names::Directory || text.ends_with(['/', '.']);
        Some(if itself { path } else { holder(&path) })
    }
}

/// The directory of a file; of something at the root, itself: nobody should be asked for `/*` because of `/x`.
pub(crate) fn holder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent.parent().is_some() => parent.to_path_buf(),
        _ => path.to_path_buf(),
    }
}

fn has_parent(text: &str) -> bool {
    text.split('/').any(|c| c == "..")
}

fn is_pathlike(text: &str) -> bool {
    text.starts_with('/') || has_parent(text)
}

/// The pieces of a word that may be a path: itself, the value of a flag or assignment, what follows `@` or `file://`.
fn candidates(text: &str) -> impl Iterator<Item = &str> {
    let value = text.split_once('=').map(|(_, v)| v);
    let attached = text.strip_prefix('-').and_then(|t| t.get(1..)).filter(|t| is_pathlike(t));
    let url = text.strip_prefix("file://");
    let listed = text.split_once(':').map(|(first, _)| first).filter(|t| is_pathlike(t) && !text.contains("://"));
    let is_whole = !text.starts_with('-') && !text.contains("://") && listed.is_none();
    let whole = is_whole.then_some(text);
    [whole, value, attached, url, listed].into_iter().flatten().map(|t| t.strip_prefix('@').unwrap_or(t))
}
