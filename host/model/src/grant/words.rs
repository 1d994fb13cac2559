//! A grant in words that a person understands: what is agreed to is what is read.

use super::{Grant, LimitsAsked, Mode};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Characters of the names in one act.
const NAMES_MAX: usize = 200;
/// Folders that are named one by one.
const FOLDERS_MAX: usize = 12;

impl Grant {
    /// What it allows, such as `may read files under ./docs; may run git; 64 MiB, 10 s`. What stands in a manifest is data:
    /// whoever shows this to a person takes control characters out.
    #[must_use]
    pub fn words(&self) -> String {
        self.lines().join("; ")
    }

    /// Each act by itself, a few of them, of bounded length: names that somebody made up push none of them out of sight, and none is
    /// taken for another act.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut all = self.acts();
        if all.is_empty() {
            all.push("may touch nothing: no files, no network, no programs".into());
        }
        all.push(self.limits.words());
        all
    }

    /// What goes beyond what was agreed to: limits stand in it only where they grow.
    #[must_use]
    pub fn new_words(&self) -> String {
        self.new_lines().join("; ")
    }

    /// As [`Self::lines`], of what is new; empty where nothing is.
    #[must_use]
    pub fn new_lines(&self) -> Vec<String> {
        let mut all = self.acts();
        if self.limits != LimitsAsked::default() {
            all.push(format!("may use {}", self.limits.said()));
        }
        all
    }

    fn acts(&self) -> Vec<String> {
        let names = |names: &BTreeSet<String>| listed(names.iter().map(String::as_str));
        let hosts = || {
            let mut all = self.http.in_words();
            all.sort_by_key(|host| !host.contains('*'));
            listed(all.iter().map(String::as_str))
        };
        let mut all = folders(&self.fs);
        if !self.except.is_empty() {
            all.push(format!("never what lies in {}", names(&self.except)));
        }
        if self.process.programs.contains("*") {
            all.push("may run any program, in the sandbox".into());
        } else if !self.process.programs.is_empty() {
            all.push(format!("may run {}, in the sandbox", names(&self.process.programs)));
        }
        if self.env.allow.contains("*") {
            all.push("may see all environment variables".into());
        } else if !self.env.allow.is_empty() {
            all.push(format!("may see the environment variables {}", names(&self.env.allow)));
        }
        let secrets = names(&self.secrets.allow);
        match (self.http.is_empty(), secrets.is_empty()) {
            (true, true) => {}
            (true, false) => all.push(format!("may have your secrets sent for it: {secrets}")),
            (false, true) => all.push(format!("may connect to {}", hosts())),
            (false, false) => all.push(format!("may connect to {} with your secrets: {secrets}", hosts())),
        }
        all
    }
}

/// As many names as have room, and how many are left out. One alone is shown as far as it has room.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let (mut all, mut left_out) = (String::new(), 0usize);
    for name in names {
        let room = NAMES_MAX.saturating_sub(all.chars().count());
        if left_out > 0 || !all.is_empty() && name.chars().count() + 2 > room {
            left_out += 1;
            continue;
        }
        all.push_str(if all.is_empty() { "" } else { ", " });
        all.push_str(&shown(name));
    }
    if left_out > 0 {
        let _ = write!(all, ", ... and {left_out} more");
    }
    all
}

/// One line of bounded length, whatever the name holds.
fn shown(name: &str) -> String {
    let line: String = name.chars().filter(|c| !c.is_control()).take(NAMES_MAX).collect();
    if name.chars().nth(NAMES_MAX).is_some() { line + "..." } else { line }
}

/// In order; of many those first that hold everything, lie outside of the workspace, or may be changed.
fn folders(fs: &BTreeMap<String, Mode>) -> Vec<String> {
    let mut all: Vec<(&String, Mode)> = fs.iter().map(|(path, mode)| (path, *mode)).collect();
    if all.len() > FOLDERS_MAX {
        let depth = |path: &str| path.split('/').filter(|part| !matches!(*part, "" | ".")).count();
        all.sort_by_key(|(path, mode)| (depth(path) > 0, !path.starts_with('/'), *mode == Mode::ReadOnly, depth(path)));
    }
    let left_out = all.split_off(all.len().min(FOLDERS_MAX));
    let mut acts: Vec<String> = all.into_iter().map(|(path, mode)| folder(path, mode)).collect();
    let verb = if left_out.iter().any(|(_, mode)| *mode == Mode::ReadWrite) { "read and change" } else { "read" };
    let outside = left_out.iter().any(|(path, _)| path.starts_with('/'));
    let place = if outside { "some of them outside of the workspace" } else { "all in the workspace" };
    if !left_out.is_empty() {
        acts.push(format!("... and may {verb} files in {} more folders, {place}", left_out.len()));
    }
    acts
}

fn folder(path: &str, mode: Mode) -> String {
    let path = &*shown(path);
    let verb = match mode {
        Mode::ReadOnly => "read",
        Mode::ReadWrite => "read and change",
    };
    let place = match path.strip_prefix("./").unwrap_or(path) {
        "." | "" => "in the workspace".into(),
        "/" => "anywhere on this machine".into(),
        absolute if absolute.starts_with('/') => format!("under {absolute}"),
        inside => format!("under ./{inside}"),
    };
    if is_like_a_file(path) { format!("may {verb} {}", dotted(path)) } else { format!("may {verb} files {place}") }
}

/// By its name: the words fit a folder of such a name as well.
fn is_like_a_file(path: &str) -> bool {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    name.rsplit_once('.').is_some_and(|(stem, ending)| !stem.is_empty() && !ending.is_empty() && ending != ".")
}

fn dotted(path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("./{path}") }
}

pub(super) fn bytes(n: u64) -> String {
    let (unit, size) = match n {
        0..1024 => ("bytes", 1),
        1024..0x10_0000 => ("KiB", 1 << 10),
        _ => ("MiB", 1 << 20),
    };
    broken(n, size, unit)
}

pub(super) fn time(ms: u64) -> String {
    if ms < 1000 { format!("{ms} ms") } else { broken(ms, 1000, "s") }
}

/// With one digit behind the point where it does not come out even.
fn broken(n: u64, size: u64, unit: &str) -> String {
    let mut text = (n / size).to_string();
    let tenth = n % size * 10 / size;
    if tenth > 0 {
        let _ = write!(text, ".{tenth}");
    }
    format!("{text} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_agreed_to_is_what_is_read() {
        for (grant, want) in [
            (json!({}), "may touch nothing: no files, no network, no programs; 64 MiB, 10 s"),
            (json!({ "fs": { "docs": "ro" } }), "may read files under ./docs; 64 MiB, 10 s"),
            (json!({ "fs": { "docs/notes.md": "rw" } }), "may read and change ./docs/notes.md; 64 MiB, 10 s"),
            (json!({ "fs": { ".config": "ro" } }), "may read files under ./.config; 64 MiB, 10 s"),
            (
                json!({ "fs": { ".": "rw", "/srv/x": "ro" }, "limits": { "cpu_ms": 1500, "memory": 1024 } }),
                "may read and change files in the workspace; may read files under /srv/x; 1 KiB, 1.5 s",
            ),
            (
                json!({ "process": { "programs": ["git", "ls"] }, "env": { "allow": ["LANG"] } }),
                "may run git, ls, in the sandbox; may see the environment variables LANG; 64 MiB, 10 s",
            ),
            (
                json!({ "http": { "hosts": ["api.example.com"] }, "secrets": { "allow": ["github"] } }),
                "may connect to https://api.example.com with your secrets: github; 64 MiB, 10 s",
            ),
            (
                json!({ "http": { "hosts": ["http://127.0.0.1:8080"], "rule": [{ "host": "x.org", "methods": ["GET"], "paths": ["/v1"] }] } }),
                "may connect to http://127.0.0.1:8080, GET https://x.org/v1; 64 MiB, 10 s",
            ),
            (
                json!({ "process": { "programs": ["*"] }, "secrets": { "allow": ["github"] }, "limits": { "output": 2_097_152, "wall_ms": 10 } }),
                "may run any program, in the sandbox; may have your secrets sent for it: github; 64 MiB, 10 s, 10 ms from start to end, 2 MiB of output",
            ),
        ] {
            let grant: Grant = serde_json::from_value(grant).unwrap();
            assert_eq!(grant.words(), want);
        }
    }

    /// A consent is asked for with these lines: what a manifest makes up forges none, and pushes none out of sight.
    #[test]
    fn nothing_is_pushed_out_of_sight() {
        let many: Vec<String> = (0..2000).map(|n| format!("NAME_{n:04}")).collect();
        let folders: BTreeMap<String, &str> = (0..2000).map(|n| (format!("a/b/{n:04}"), "ro")).collect();
        let mut with_root: BTreeMap<String, &str> = (0..20).map(|n| (format!("a{n}"), "rw")).collect();
        with_root.insert("/".into(), "ro");
        let hosts: Vec<String> = (0..200).map(|n| format!("http://h{n}.org")).chain(["*".into()]).collect();
        for (grant, count, words) in [
            (json!({ "process": { "programs": ["git; may touch nothing else"] } }), 2, "may run git; may touch"),
            (json!({ "env": { "allow": many } }), 2, ", ... and 1982 more"),
            (
                json!({ "process": { "programs": ["git"] }, "fs": folders }),
                15,
                "may read files in 1988 more folders, all in the workspace",
            ),
            (json!({ "fs": with_root }), 14, "may read files anywhere on this machine"),
            (json!({ "http": { "hosts": hosts } }), 2, "may connect to https://*, http://"),
            (json!({ "fs": { "a\nAgreed.": "ro" } }), 2, "under ./aAgreed."),
            (json!({ "fs": { "x".repeat(5000): "ro" } }), 2, "xxx..."),
        ] {
            let lines = serde_json::from_value::<Grant>(grant).unwrap().lines();
            assert_eq!(lines.len(), count, "{lines:?}");
            assert!(lines.iter().any(|l| l.contains(words)), "{words}: {lines:?}");
            assert!(lines.iter().all(|l| l.chars().count() < 300 && !l.contains('\n')), "{lines:?}");
        }
    }

    #[test]
    fn a_difference_names_just_what_is_new() {
        for (grant, want) in [
            (json!({}), ""),
            (json!({ "fs": { "out": "rw" } }), "may read and change files under ./out"),
            (json!({ "limits": { "memory": 134_217_728 } }), "may use 128 MiB"),
        ] {
            let grant: Grant = serde_json::from_value(grant).unwrap();
            assert_eq!(grant.new_words(), want);
        }
    }
}
