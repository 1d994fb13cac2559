//! What a component could ever touch, and what one call may. Grants form a lattice: the grant in force is the meet of what the
//! manifest asks for, what the user gave, what the parent has and what the call's scopes name.

mod difference;
mod http;
mod limits;
pub mod place;
mod words;

pub use difference::Upgrade;
pub use http::{BadPattern, Requests};
pub use limits::LimitsAsked;

use crate::target::Target;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Ordered: read-write holds read-only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Mode {
    #[serde(rename = "ro")]
    ReadOnly,
    #[serde(rename = "rw")]
    ReadWrite,
}

/// The upper bound of a component. An empty grant touches nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Grant {
    /// What inside the folders of `fs` stays out of reach; written as they are.
    #[serde(skip_serializing_if = "BTreeSet::is_empty", deserialize_with = "place::names")]
    pub except: BTreeSet<String>,
    /// Folder with all below it, or file → mode; relative to the workspace (`.` = all of it), or absolute. In the spelling of [`place`].
    #[serde(deserialize_with = "place::modes")]
    pub fs: BTreeMap<String, Mode>,
    pub http: Requests,
    pub process: Programs,
    pub env: AllowList,
    pub secrets: AllowList,
    pub limits: LimitsAsked,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Programs {
    /// Names of programs; `*` = any.
    pub programs: BTreeSet<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AllowList {
    pub allow: BTreeSet<String>,
}

impl Grant {
    /// What both allow.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        let mut fs = BTreeMap::new();
        for (a, x, b, y) in self.fs.iter().flat_map(|(a, x)| other.fs.iter().map(move |(b, y)| (a, x, b, y))) {
            if let Some(inner) = inner_of(a, b) {
                fs.insert(inner.to_owned(), *x.min(y));
            }
        }
        Self {
            except: within_reach(self.except.union(&other.except), &fs),
            fs,
            http: self.http.meet(&other.http),
            process: Programs { programs: meet_names(&self.process.programs, &other.process.programs) },
            env: AllowList { allow: meet_names(&self.env.allow, &other.env.allow) },
            secrets: AllowList { allow: meet_names(&self.secrets.allow, &other.secrets.allow) },
            limits: self.limits.meet(&other.limits),
        }
    }

    /// `self` allows nothing that `other` does not.
    #[must_use]
    pub fn within(&self, other: &Self) -> bool {
        self.meet(other) == *self
    }
}

/// Whether this can be the name of a program, a variable or a secret that a component asks for: one that is shown to a person in a
/// list of them, and cannot be taken for several, or for other words.
#[must_use]
pub fn is_name(text: &str) -> bool {
    const LONGEST: usize = 128;
    text.chars().count() <= LONGEST && !text.chars().any(|c| matches!(c, ';' | ',') || c.is_control())
}

/// Exceptions that take something away from these folders.
fn within_reach<'a>(except: impl Iterator<Item = &'a String>, fs: &BTreeMap<String, Mode>) -> BTreeSet<String> {
    except.filter(|e| fs.keys().any(|folder| inner_of(e, folder).is_some())).cloned().collect()
}

/// The deeper of two folders where one holds the other. Lexical: both come from a manifest, neither is opened by this name.
fn inner_of<'a>(a: &'a str, b: &'a str) -> Option<&'a str> {
    let holds = |outer: &str, inner: &str| {
        let outer = Path::new(outer);
        outer == Path::new(".") && !inner.starts_with('/') || Path::new(inner).starts_with(outer)
    };
    if holds(a, b) {
        Some(b)
    } else if holds(b, a) {
        Some(a)
    } else {
        None
    }
}

fn meet_names(a: &BTreeSet<String>, b: &BTreeSet<String>) -> BTreeSet<String> {
    if a.contains("*") {
        return b.clone();
    }
    if b.contains("*") {
        return a.clone();
    }
    a.intersection(b).cloned().collect()
}

/// What one call was permitted before it began, made from its scopes. An act that it covers is not asked for again; any other
/// act is judged when it happens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallGrant {
    /// Files, and folders with all below them.
    pub reads: Vec<PathBuf>,
    /// Files exactly.
    pub writes: Vec<PathBuf>,
    /// Shell lines, letter by letter, each in its folder: `rm -r build` is another act elsewhere.
    pub commands: Vec<ShellLine>,
    /// URLs exactly, to be fetched and not written to.
    pub urls: Vec<Target>,
    /// Hosts with everything on them, each as its own root.
    pub hosts: Vec<Target>,
}

/// A shell line and the real folder that it runs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellLine {
    pub line: String,
    pub cwd: PathBuf,
}

/// How a grant stands to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Named by the call: permitted already.
    Named,
    /// Below a folder that the call names: the rules filter, nobody is asked.
    Below,
    Outside,
}

impl CallGrant {
    #[must_use]
    pub fn covers_read(&self, path: &Path) -> Coverage {
        // To write a file is not to read it: else its content would come back by way of an error message.
        if self.reads.iter().any(|p| p == path) {
            return Coverage::Named;
        }
        if self.reads.iter().any(|p| path.starts_with(p)) { Coverage::Below } else { Coverage::Outside }
    }

    #[must_use]
    pub fn covers_write(&self, path: &Path) -> bool {
        self.writes.iter().any(|p| p == path)
    }

    #[must_use]
    pub fn covers_line(&self, line: &str, cwd: &Path) -> bool {
        self.commands.iter().any(|c| c.line == line && c.cwd == cwd)
    }

    #[must_use]
    pub fn covers_request(&self, method: &str, target: &Target) -> bool {
        let fetches = matches!(method, "GET" | "HEAD");
        (fetches && self.urls.contains(target)) || self.hosts.iter().any(|h| h.origin() == target.origin())
    }

    /// A file that may be made may have its folders made.
    #[must_use]
    pub fn covers_folder(&self, path: &Path) -> bool {
        self.writes.iter().any(|p| p.starts_with(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(fs: &[(&str, Mode)], programs: &[&str]) -> Grant {
        Grant {
            fs: fs.iter().map(|(p, m)| ((*p).to_owned(), *m)).collect(),
            process: Programs { programs: programs.iter().map(|p| (*p).to_owned()).collect() },
            ..Grant::default()
        }
    }

    #[test]
    fn the_meet_is_the_smaller_of_both() {
        let manifest = grant(&[(".", Mode::ReadWrite)], &["*"]);
        let user = grant(&[("docs", Mode::ReadOnly)], &["git"]);
        assert_eq!(manifest.meet(&user), user);
        assert!(user.within(&manifest));
        assert!(!manifest.within(&user));
        assert_eq!(user.meet(&grant(&[("src", Mode::ReadWrite)], &[])), Grant::default());
    }

    #[test]
    fn more_exceptions_are_less() {
        let except = |names: &[&str]| Grant {
            except: names.iter().map(|n| (*n).to_owned()).collect(),
            ..grant(&[(".", Mode::ReadOnly)], &[])
        };
        assert_eq!(except(&["a"]).meet(&except(&["b"])), except(&["a", "b"]));
        assert!(except(&["a", "b"]).within(&except(&["a"])) && !except(&[]).within(&except(&["a"])));
        assert_eq!(except(&["a"]).meet(&grant(&[("b", Mode::ReadOnly)], &[])), grant(&[("b", Mode::ReadOnly)], &[]));
        // Nothing is lost of one by adding nothing; what one of both grants is granted.
        assert_eq!(except(&["a"]).join(&Grant::default()), except(&["a"]));
        assert_eq!(except(&["a"]).join(&except(&[])), except(&[]));
        assert_eq!(except(&["a", "b"]).join(&except(&["b"])), except(&["b"]));
        // To lift an exception is to ask for more; to add one is not.
        assert_eq!(except(&[]).beyond(&except(&["a"])), except(&[]));
        assert_eq!(except(&["a"]).beyond(&except(&[])), Grant::default());
        assert!(except(&["a"]).words().contains("never what lies in a"));
    }

    #[test]
    fn a_line_is_covered_where_it_was_permitted() {
        let line = ShellLine { line: "make clean".into(), cwd: "/w/a".into() };
        let g = CallGrant { commands: vec![line], ..CallGrant::default() };
        for (line, cwd, covered) in [
            ("make clean", "/w/a", true),
            ("make clean", "/w/b", false),
            ("make clean", "/w", false),
            ("make  clean", "/w/a", false),
        ] {
            assert_eq!(g.covers_line(line, Path::new(cwd)), covered, "{line} in {cwd}");
        }
    }

    #[test]
    fn a_url_is_covered_for_fetching_it_alone() {
        let url = |text: &str| Target::parse(text).unwrap();
        let g = CallGrant {
            urls: vec![url("https://a.org/x?q")],
            hosts: vec![url("https://b.org")],
            ..CallGrant::default()
        };
        for (method, target, covered) in [
            ("GET", "https://a.org/x?q", true),
            ("HEAD", "https://a.org/x?q", true),
            ("POST", "https://a.org/x?q", false),
            ("GET", "https://a.org/x?r", false),
            ("GET", "https://a.org/x", false),
            ("POST", "https://b.org/y", true),
            ("GET", "http://b.org/y", false),
            ("GET", "https://b.org:8443/y", false),
        ] {
            assert_eq!(g.covers_request(method, &url(target)), covered, "{method} {target}");
        }
    }

    #[test]
    fn a_folder_covers_what_lies_below() {
        let g = CallGrant { reads: vec!["/w/src".into()], writes: vec!["/w/a".into()], ..CallGrant::default() };
        assert_eq!(g.covers_read(Path::new("/w/src")), Coverage::Named);
        assert_eq!(g.covers_read(Path::new("/w/src/x/y")), Coverage::Below);
        assert_eq!(g.covers_read(Path::new("/w/srcx")), Coverage::Outside);
        assert_eq!(g.covers_read(Path::new("/w/a")), Coverage::Outside);
        assert!(g.covers_write(Path::new("/w/a")) && !g.covers_write(Path::new("/w/src")));
        assert!(g.covers_folder(Path::new("/w")) && !g.covers_folder(Path::new("/w/src")));
    }
}
