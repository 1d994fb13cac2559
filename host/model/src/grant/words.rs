//! A grant in words that a person understands: what is agreed to is what is read.

use super::{Grant, LimitsAsked, Mode};
use std::fmt::Write as _;

impl Grant {
    /// What it allows, such as `may read files under ./docs; may run git; 64 MiB, 10 s`. What stands in a manifest is data:
    /// whoever shows this to a person takes control characters out.
    #[must_use]
    pub fn words(&self) -> String {
        let mut all = self.acts();
        if all.is_empty() {
            all.push("may touch nothing: no files, no network, no programs".into());
        }
        all.push(self.limits.words());
        all.join("; ")
    }

    /// What goes beyond what was agreed to: limits stand in it only where they grow.
    #[must_use]
    pub fn new_words(&self) -> String {
        let mut all = self.acts();
        if self.limits != LimitsAsked::default() {
            all.push(format!("may use {}", self.limits.said()));
        }
        all.join("; ")
    }

    fn acts(&self) -> Vec<String> {
        let names = |names: &std::collections::BTreeSet<String>| {
            names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
        };
        let files = self.fs.iter().map(|(path, mode)| folder(path, *mode));
        let mut all: Vec<String> = files.collect();
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
            (false, true) => all.push(format!("may connect to {}", self.http.in_words().join(", "))),
            (false, false) => {
                let hosts = self.http.in_words().join(", ");
                all.push(format!("may connect to {hosts} with your secrets: {secrets}"));
            }
        }
        all
    }
}

fn folder(path: &str, mode: Mode) -> String {
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
    format!("may {verb} files {place}")
}

impl LimitsAsked {
    /// Memory and computing time, which are always bounded; the other two where they are not the usual ones.
    fn words(&self) -> String {
        let all = self.or(&Self { memory: Self::STANDARD.memory, cpu_ms: Self::STANDARD.cpu_ms, ..Self::default() });
        all.said()
    }

    fn said(&self) -> String {
        let parts = [
            self.memory.map(bytes),
            self.cpu_ms.map(time),
            self.wall_ms.map(|ms| format!("{} from start to end", time(ms))),
            self.output.map(|n| format!("{} of output", bytes(n))),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

fn bytes(n: u64) -> String {
    let (unit, size) = match n {
        0..1024 => ("bytes", 1),
        1024..0x10_0000 => ("KiB", 1 << 10),
        _ => ("MiB", 1 << 20),
    };
    broken(n, size, unit)
}

fn time(ms: u64) -> String {
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
