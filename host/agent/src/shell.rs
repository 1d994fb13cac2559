//! A shell line, taken apart for the person who is asked about it: which programs it runs, which directories outside the
//! worktree it names, which files its redirections write. Pure; no disk, no environment.
//!
//! This is no wall: the sandbox is. What cannot be known from the text (a program named by a variable, a script from a pipe, a
//! syntax error) makes the line *opaque*, and an opaque line is never allowed without a question. Errors lie on the side of
//! asking: where two readings are possible, both count.

mod arity;
mod paths;
mod walk;
mod word;
mod wrap;

#[cfg(test)]
mod tests;

pub(crate) use arity::is_literal;
pub(crate) use paths::{holder, normal};

use std::path::{Path, PathBuf};

/// A longer line is not taken apart: opaque.
const LONGEST_LINE: usize = 64 * 1024;
/// More sub-commands than a person could judge: opaque.
const MOST_COMMANDS: usize = 256;

/// What a line does, as far as its text tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// Every sub-command, in the order of the text, none twice. `cd` and its kin are not among them.
    pub commands: Vec<Command>,
    /// Directories outside the worktree that the line names.
    pub external: Vec<PathBuf>,
    /// Files that redirections (and `tee`) write, absolute.
    pub writes: Vec<PathBuf>,
    /// Something in the line cannot be known from its text.
    pub opaque: bool,
}

/// One program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The name without quotes, the arguments as they were written, one blank between.
    pub text: String,
    /// The pattern that an answer of *always* adds; `None` if no pattern would cover just this.
    pub always: Option<String>,
    /// Name and arguments after quote removal; what cannot be known stays as it was written.
    pub words: Vec<String>,
}

/// Takes `line` apart, as bash would read it in `cwd`. `worktree` and `cwd` are absolute; without `home`, `~` cannot be known.
#[must_use]
pub fn scan(line: &str, cwd: &Path, worktree: &Path, home: Option<&Path>) -> Scan {
    if line.len() > LONGEST_LINE {
        return Scan { opaque: true, ..Scan::default() };
    }
    let place = paths::Place { worktree: paths::normal(worktree), home: home.map(paths::normal) };
    let mut walk = walk::Walk::new(place, paths::normal(cwd));
    walk.line(line);
    // Bash joins a word that a backslash splits over two lines, the parser does not: both readings count.
    if line.contains("\\\n") {
        walk.line(&without_continuations(line));
    }
    walk.finish()
}

/// The text with every backslash-newline taken out.
fn without_continuations(line: &str) -> String {
    let mut joined = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, chars.as_str().starts_with('\n')) {
            ('\\', true) => drop(chars.next()),
            ('\\', false) => joined.extend(std::iter::once(c).chain(chars.next())),
            _ => joined.push(c),
        }
    }
    joined
}

/// An argument list as a shell line that means just these words.
#[must_use]
pub fn quote(argv: &[String]) -> String {
    argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    if is_plain(word) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Whether quotes around this word would change nothing.
fn is_plain(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-./:@%+,=".contains(c))
}
