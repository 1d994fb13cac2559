//! Grants as people write them: a file (`NAME.airlock.toml` beside a component, or what `--grant` names), and the short form of flags.

use super::error::ConfigError;
use super::file::{duration, json};
use super::read::{Node, Source, Table, parse};
use model::grant::place::spelt;
use model::grant::{AllowList, Grant, LimitsAsked, Mode, Programs, Requests, is_name};
use runtime::Manifest;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

const ROOT: &[&str] =
    &["description", "version", "licence", "homepage", "fs", "http", "process", "env", "secrets", "limits"];
const RIGHTS: &[&str] = &["fs", "http", "process", "env", "secrets", "limits"];
const LIMITS: &[&str] = &["memory", "cpu", "wall", "output", "calls", "handles", "log", "progress"];
/// Bytes of such a file.
const SIZE_MAX: u64 = 64 << 10;

/// Reads a sidecar manifest or a grant file.
///
/// # Errors
/// The first thing that is wrong, with its line.
pub fn read_file(path: &Path) -> Result<Manifest, ConfigError> {
    let unreadable = |why: String| ConfigError::Unreadable { file: path.into(), why };
    let meta = std::fs::metadata(path).map_err(|e| unreadable(e.to_string()))?;
    if !meta.is_file() || meta.len() > SIZE_MAX {
        return Err(unreadable("it is no file of at most 64 KiB".into()));
    }
    let text = std::fs::read_to_string(path).map_err(|e| unreadable(e.to_string()))?;
    from_text(path, &text)
}

fn from_text(path: &Path, text: &str) -> Result<Manifest, ConfigError> {
    parse(Source { file: path, text }, |root| {
        root.only(ROOT)?;
        Ok(Manifest {
            description: root.read("description", Node::text)?,
            version: root.read("version", Node::text)?,
            licence: root.read("licence", Node::text)?,
            homepage: root.read("homepage", Node::text)?,
            ..touching(root)?
        })
    })
}

/// A table of rights and nothing else.
pub(super) fn rights(table: &Table<'_>) -> Result<Grant, ConfigError> {
    table.only(RIGHTS)?;
    Ok(touching(table)?.grant())
}

fn touching(table: &Table<'_>) -> Result<Manifest, ConfigError> {
    Ok(Manifest {
        fs: table.read("fs", folders)?.unwrap_or_default(),
        http: table.read("http", requests)?.unwrap_or_default(),
        process: Programs { programs: names(table, "process", "programs")? },
        env: AllowList { allow: names(table, "env", "allow")? },
        secrets: AllowList { allow: names(table, "secrets", "allow")? },
        limits: table.read("limits", limits)?.unwrap_or_default(),
        ..Manifest::default()
    })
}

fn folders(node: &Node<'_>) -> Result<BTreeMap<String, Mode>, ConfigError> {
    let folder = |(path, n): (&str, Node<'_>)| match runtime::leaves_workspace(path) {
        false if path.chars().any(char::is_control) => {
            Err(n.bad("the folder has control characters in its name", "Name it as it is shown."))
        }
        true => Err(n.bad(format!("the folder `{path}` leaves the workspace"), "Name a folder without `..` in it.")),
        false => {
            let unknown = || n.bad("this is no way to use a folder", "Write \"ro\" or \"rw\".");
            Ok((spelt(path), mode(&n.text()?).ok_or_else(unknown)?))
        }
    };
    node.table()?.entries().map(folder).collect()
}

/// The host's own form of requests reads itself; here its error gets its place.
fn requests(node: &Node<'_>) -> Result<Requests, ConfigError> {
    let wrong = |e: serde_json::Error| node.bad(e.to_string(), "Write hosts = [\"api.example.com\"].");
    serde_json::from_value(json(node)?).map_err(wrong)
}

fn mode(text: &str) -> Option<Mode> {
    match text {
        "ro" => Some(Mode::ReadOnly),
        "rw" => Some(Mode::ReadWrite),
        _ => None,
    }
}

fn names(root: &Table<'_>, table: &str, key: &str) -> Result<BTreeSet<String>, ConfigError> {
    let name = |n: &Node<'_>| {
        let name = n.text()?;
        let hint = "Write at most 128 characters, without `;`, `,` and control characters.";
        if is_name(&name) { Ok(name) } else { Err(n.bad("this cannot be a name in a list", hint)) }
    };
    let of = |n: &Node<'_>| {
        let table = n.table()?;
        table.only(&[key])?;
        let all = |n: &Node<'_>| n.items()?.iter().map(name).collect::<Result<_, ConfigError>>();
        Ok(table.read(key, all)?.unwrap_or_default())
    };
    Ok(root.read(table, of)?.unwrap_or_default())
}

fn limits(node: &Node<'_>) -> Result<LimitsAsked, ConfigError> {
    let table = node.table()?;
    table.only(LIMITS)?;
    let time = |n: &Node<'_>| duration(n).map(milliseconds);
    let limits = LimitsAsked {
        memory: table.read("memory", size)?,
        cpu_ms: table.read("cpu", time)?,
        wall_ms: table.read("wall", time)?,
        output: table.read("output", size)?,
        calls: table.read("calls", number)?,
        handles: table.read("handles", number)?,
        log: table.read("log", size)?,
        progress: table.read("progress", size)?,
    };
    let wrong = |(why, hint): (String, String)| node.bad(why, hint);
    out_of_range(&limits).map_or(Ok(limits), |w| Err(wrong(w)))
}

/// Why one of these limits makes no sense, and what would.
#[must_use]
pub fn out_of_range(limits: &LimitsAsked) -> Option<(String, String)> {
    let bytes = |n: u64| match n {
        n if n >= 1 << 20 => format!("{}MiB", n >> 20),
        n => format!("{}KiB", n >> 10),
    };
    let time = |ms: u64| humantime::format_duration(Duration::from_millis(ms)).to_string();
    let check = |name: &str, value: Option<u64>, range: RangeInclusive<u64>, shown: &dyn Fn(u64) -> String| {
        value.filter(|v| !range.contains(v)).map(|_| {
            let hint = format!("Say something from {} to {}.", shown(*range.start()), shown(*range.end()));
            (format!("the limit `{name}` makes no sense: nothing runs with so little, or is given so much"), hint)
        })
    };
    check("memory", limits.memory, runtime::MEMORY_RANGE, &bytes)
        .or_else(|| check("cpu", limits.cpu_ms, runtime::TIME_RANGE, &time))
        .or_else(|| check("wall", limits.wall_ms, runtime::TIME_RANGE, &time))
        .or_else(|| check("output", limits.output, runtime::OUTPUT_RANGE, &bytes))
}

fn number(node: &Node<'_>) -> Result<u64, ConfigError> {
    node.count().map(u64::from)
}

fn milliseconds(d: Duration) -> u64 {
    u64::try_from(d.as_millis()).unwrap_or(u64::MAX)
}

fn size(node: &Node<'_>) -> Result<u64, ConfigError> {
    let text = node.text()?;
    bytes(&text).ok_or_else(|| node.bad(format!("`{text}` is no size"), "Write it as \"512KiB\" or \"64MiB\"."))
}

fn bytes(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = match unit.trim() {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

/// One right in the short form: `fs:docs=ro`, `net:api.example.com`, `process:git`, `env:LANG`, `secrets:github`, `memory=128MiB`, `cpu=30s`. `None` for
/// anything else.
#[must_use]
pub fn from_flag(text: &str) -> Option<Grant> {
    let mut grant = Grant::default();
    if let Some((limit, value)) = text.split_once('=').filter(|(limit, _)| LIMITS.contains(limit)) {
        let time = || humantime::parse_duration(value).ok().map(milliseconds);
        match limit {
            "memory" => grant.limits.memory = Some(bytes(value)?),
            "output" => grant.limits.output = Some(bytes(value)?),
            "log" => grant.limits.log = Some(bytes(value)?),
            "progress" => grant.limits.progress = Some(bytes(value)?),
            "calls" => grant.limits.calls = Some(value.parse().ok()?),
            "handles" => grant.limits.handles = Some(value.parse().ok()?),
            "cpu" => grant.limits.cpu_ms = Some(time()?),
            _ => grant.limits.wall_ms = Some(time()?),
        }
        return Some(grant);
    }
    let (kind, what) = text.split_once(':').filter(|(_, what)| !what.is_empty())?;
    let named = || BTreeSet::from([what.to_owned()]);
    match kind {
        "fs" => {
            let (path, mode) =
                what.rsplit_once('=').map_or(Some((what, Mode::ReadOnly)), |(p, m)| Some((p, mode(m)?)))?;
            let fits = !path.is_empty() && !runtime::leaves_workspace(path);
            grant.fs.extend(fits.then(|| (spelt(path), mode)));
            fits.then_some(grant)
        }
        "net" => Some(Grant { http: Requests::to([what]).ok()?, ..grant }),
        "process" => Some(Grant { process: Programs { programs: named() }, ..grant }),
        "env" => Some(Grant { env: AllowList { allow: named() }, ..grant }),
        "secrets" => Some(Grant { secrets: AllowList { allow: named() }, ..grant }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_grant_file() {
        let text = "description = \"d\"\nversion = \"1.0\"\n[fs]\n\"./docs/\" = \"ro\"\n\".\" = \"rw\"\n[process]\nprograms = [\"git\"]\n\
                    [http]\nhosts = [\"api.example.com\"]\n\
                    [env]\nallow = [\"LANG\"]\n[secrets]\nallow = [\"github\"]\n\
                    [limits]\nmemory = \"64MiB\"\ncpu = \"3s\"\nwall = \"5s\"\noutput = \"1MiB\"\n\
                    calls = 500\nhandles = 9\nlog = \"1KiB\"\nprogress = \"2KiB\"\n";
        let manifest = from_text(Path::new("x.airlock.toml"), text).unwrap();
        let want = json!({
            "description": "d", "version": "1.0", "fs": { ".": "rw", "docs": "ro" }, "process": { "programs": ["git"] },
            "http": { "hosts": ["api.example.com"] }, "env": { "allow": ["LANG"] }, "secrets": { "allow": ["github"] },
            "limits": { "memory": 67_108_864, "cpu_ms": 3000, "wall_ms": 5000, "output": 1_048_576,
                "calls": 500, "handles": 9, "log": 1024, "progress": 2048 },
        });
        assert_eq!(serde_json::from_value::<Manifest>(want).unwrap(), manifest);
    }

    #[test]
    fn a_file_that_is_wrong_names_its_line() {
        for (text, words) in [
            ("[fs]\n\"../x\" = \"ro\"", ["line 2", "leaves the workspace"]),
            ("[fs]\nx = \"wx\"", ["line 2", "no way to use a folder"]),
            ("[limits]\nmemory = \"many\"", ["line 2", "no size"]),
            ("[limits]\nmemry = \"1MiB\"", ["line 2", "memry"]),
            ("[limits]\nmemory = \"1KiB\"", ["line 1", "`memory` makes no sense"]),
            ("[limits]\nmemory = \"99999GiB\"", ["line 1", "`memory` makes no sense"]),
            ("[limits]\ncpu = \"0s\"", ["line 1", "`cpu` makes no sense"]),
            ("[limits]\nwall = \"25h\"", ["line 1", "`wall` makes no sense"]),
            ("[http]\nhosts = [\"a b\"]", ["line 1", "no host"]),
            ("[fs]\n\"a\\nb\" = \"ro\"", ["line 2", "control characters"]),
            ("[process]\nprograms = [\"git; may touch nothing else\"]", ["line 2", "cannot be a name"]),
            ("[env]\nallow = [\"LANG\",\n\"A,B\"]", ["line 3", "cannot be a name"]),
            ("netwrk = 1", ["line 1", "netwrk"]),
            ("[fs", ["line 1", "x.airlock.toml"]),
        ] {
            let error = from_text(Path::new("x.airlock.toml"), text).unwrap_err().to_string();
            assert!(words.iter().all(|w| error.contains(w)), "{error}");
        }
    }

    #[test]
    fn a_right_in_a_flag() {
        for (text, want) in [
            ("fs:docs=ro", json!({ "fs": { "docs": "ro" } })),
            ("fs:./docs/=ro", json!({ "fs": { "docs": "ro" } })),
            ("fs:notes.md=rw", json!({ "fs": { "notes.md": "rw" } })),
            ("fs:docs", json!({ "fs": { "docs": "ro" } })),
            ("fs:.=rw", json!({ "fs": { ".": "rw" } })),
            ("net:api.example.com", json!({ "http": { "hosts": ["https://api.example.com"] } })),
            ("net:a b", Value::Null),
            ("process:git", json!({ "process": { "programs": ["git"] } })),
            ("env:LANG", json!({ "env": { "allow": ["LANG"] } })),
            ("secrets:github", json!({ "secrets": { "allow": ["github"] } })),
            ("memory=128MiB", json!({ "limits": { "memory": 134_217_728 } })),
            ("calls=20000000", json!({ "limits": { "calls": 20_000_000 } })),
            ("handles=-1", Value::Null),
            ("log=1MiB", json!({ "limits": { "log": 1 << 20 } })),
            ("cpu=1500ms", json!({ "limits": { "cpu_ms": 1500 } })),
            ("fs:../x=ro", Value::Null),
            ("fs:docs=wx", Value::Null),
            ("fs:", Value::Null),
            ("memory=much", Value::Null),
            ("memory=99999999999GiB", Value::Null),
            ("grant.toml", Value::Null),
            ("./x:y/grant.toml", Value::Null),
        ] {
            let want: Option<Grant> = serde_json::from_value(want).unwrap();
            assert_eq!(from_flag(text), want, "{text}");
        }
    }
}
