//! What a call will touch, read from its arguments: the acts to be judged, the grant that a yes gives, and its footprint, from
//! which follows what it may run beside. Pure but for [`Places`].

mod patch;

use crate::places::{Places, absolute};
use model::grant::{CallGrant, ShellLine};
use model::permission::Act;
use model::target::Target;
use model::tool::{Scope, ScopeKind, ToolSpec};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Name of the argument that says where a command runs.
const WORKDIR: &str = "workdir";

/// What a call's arguments say that it will do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Survey {
    pub acts: Vec<Act>,
    pub grant: CallGrant,
    pub footprint: Footprint,
}

/// What a call reads and writes, as far as the order of calls is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Footprint {
    /// Anything: it runs alone.
    Everything,
    /// These files, and folders with what lies below.
    Paths { reads: Vec<PathBuf>, writes: Vec<PathBuf> },
    /// A child session: it runs beside others of its kind, whose conflicts the stale-file check finds, and beside nothing else.
    Child,
}

impl Footprint {
    /// Whether the two could give another result in another order.
    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Paths { reads, writes }, Self::Paths { reads: other_reads, writes: other_writes }) => {
                overlap(writes, other_writes) || overlap(writes, other_reads) || overlap(reads, other_writes)
            }
            (Self::Child, Self::Child) => false,
            _ => true,
        }
    }
}

fn overlap(a: &[PathBuf], b: &[PathBuf]) -> bool {
    a.iter().any(|x| b.iter().any(|y| x.starts_with(y) || y.starts_with(x)))
}

/// Whether a call may have effects. A tool that calls itself read-only and declares writes or commands is not believed.
pub(crate) fn acts(spec: &ToolSpec) -> bool {
    let declares = |s: &Scope| matches!(s.kind, ScopeKind::FsWrite | ScopeKind::FsPatch | ScopeKind::Command);
    !spec.annotations.read_only || spec.scopes.iter().any(declares)
}

pub(crate) fn survey(spec: &ToolSpec, input: &Value, directory: &Path, places: &dyn Places) -> Survey {
    let mut survey = Survey { acts: vec![], grant: CallGrant::default(), footprint: Footprint::Everything };
    for scope in &spec.scopes {
        if let Some(value) = value(scope, input) {
            for act in acts_of(scope.kind, value, input, directory, places) {
                allow(&mut survey.grant, &act);
                survey.acts.push(act);
            }
        }
    }
    if survey.acts.is_empty() {
        survey.acts.push(Act::Call { subject: None });
    }
    survey.footprint = footprint(spec, &survey.grant);
    survey
}

fn value<'a>(scope: &'a Scope, input: &'a Value) -> Option<&'a str> {
    input.get(&scope.argument).and_then(Value::as_str).or(scope.default.as_deref())
}

fn acts_of(kind: ScopeKind, value: &str, input: &Value, directory: &Path, places: &dyn Places) -> Vec<Act> {
    let real = |written: &str| places.resolve(&absolute(directory, written));
    vec![match kind {
        ScopeKind::FsPatch => {
            let files = patch::paths(value).into_iter().map(real);
            return files.flat_map(|path| [Act::Read { path: path.clone() }, Act::Write { path }]).collect();
        }
        ScopeKind::FsRead => Act::Read { path: real(value) },
        ScopeKind::FsWrite => Act::Write { path: real(value) },
        ScopeKind::Command => {
            let workdir = input.get(WORKDIR).and_then(Value::as_str).unwrap_or(".");
            Act::Shell { line: value.to_owned(), cwd: real(workdir) }
        }
        ScopeKind::Subject | ScopeKind::Agent => Act::Call { subject: Some(value.to_owned()) },
        ScopeKind::Host => Act::Request { method: "GET".into(), url: destination(value) },
    }]
}

/// A URL in its one spelling, or a host with everything on it. What is neither is asked for as it stands, and grants nothing.
fn destination(value: &str) -> String {
    let url = || Target::parse(value).map(|t| t.to_string());
    let host = || Target::parse(&format!("https://{value}")).ok().filter(|t| t.beyond() == "/");
    url().ok().or_else(|| host().map(|t| format!("{t}*"))).unwrap_or_else(|| value.to_owned())
}

/// What a yes to this act lets the call do.
fn allow(grant: &mut CallGrant, act: &Act) {
    match act {
        Act::Read { path } => grant.reads.push(path.clone()),
        Act::Write { path } => grant.writes.push(path.clone()),
        Act::Shell { line, cwd } => grant.commands.push(ShellLine { line: line.clone(), cwd: cwd.clone() }),
        Act::Request { url, .. } => match url.strip_suffix("/*") {
            Some(host) => grant.hosts.extend(Target::parse(host)),
            None => grant.urls.extend(Target::parse(url)),
        },
        Act::Call { .. } | Act::Exec { .. } | Act::Escalate { .. } | Act::Other { .. } => (),
    }
}

/// A tool that acts keeps to its declared files or is taken to touch anything; one that only reads may read anything where it
/// names nothing.
fn footprint(spec: &ToolSpec, grant: &CallGrant) -> Footprint {
    let declares = |kind: ScopeKind| spec.scopes.iter().any(|s| s.kind == kind);
    let (reads, writes) = (grant.reads.clone(), grant.writes.clone());
    if declares(ScopeKind::Command) || !grant.commands.is_empty() {
        return Footprint::Everything;
    }
    if declares(ScopeKind::Agent) {
        return Footprint::Child;
    }
    if spec.annotations.read_only {
        // What is far away is nothing that a file could be written under.
        let is_far = !spec.scopes.is_empty() && spec.scopes.iter().all(|s| s.kind == ScopeKind::Host);
        let reads = if is_far {
            vec![]
        } else if reads.is_empty() {
            vec![PathBuf::from("/")]
        } else {
            reads
        };
        return Footprint::Paths { reads, writes };
    }
    if writes.is_empty() { Footprint::Everything } else { Footprint::Paths { reads, writes } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tools::spec;
    use serde_json::json;

    /// `link` leads to `real`.
    struct Linked;
    impl Places for Linked {
        fn resolve(&self, path: &Path) -> PathBuf {
            PathBuf::from(path.to_string_lossy().replace("/link", "/real"))
        }
    }

    fn tool(read_only: bool, scopes: &[(&str, ScopeKind, Option<&str>)]) -> ToolSpec {
        let mut s = spec("t", read_only);
        s.scopes = scopes
            .iter()
            .map(|(a, k, d)| Scope { argument: (*a).into(), kind: *k, default: d.map(str::to_owned) })
            .collect();
        s
    }

    fn of(t: &ToolSpec, input: Value) -> Survey {
        survey(t, &input, Path::new("/w"), &Linked)
    }

    #[test]
    fn acts_follow_the_scopes() {
        let check = |kind, input: Value, expected: &[Act]| {
            assert_eq!(of(&tool(false, &[("a", kind, None)]), input.clone()).acts, expected, "{input}");
        };
        check(ScopeKind::FsRead, json!({"a": "x/../link/y"}), &[Act::Read { path: "/w/real/y".into() }]);
        check(ScopeKind::FsWrite, json!({"a": "/abs"}), &[Act::Write { path: "/abs".into() }]);
        check(ScopeKind::Command, json!({"a": "ls"}), &[Act::Shell { line: "ls".into(), cwd: "/w".into() }]);
        let elsewhere = [Act::Shell { line: "ls".into(), cwd: "/w/real".into() }];
        check(ScopeKind::Command, json!({"a": "ls", "workdir": "link"}), &elsewhere);
        check(ScopeKind::Subject, json!({"a": "x*"}), &[Act::Call { subject: Some("x*".into()) }]);
        let both = [Act::Read { path: "/w/real/y".into() }, Act::Write { path: "/w/real/y".into() }];
        check(ScopeKind::FsPatch, json!({"a": "*** Begin Patch\n*** Delete File: link/y\n"}), &both);
        check(ScopeKind::FsPatch, json!({"a": "no patch"}), &[Act::Call { subject: None }]);
        let fetch = |url: &str| [Act::Request { method: "GET".into(), url: url.into() }];
        check(ScopeKind::Host, json!({"a": "HTTPS://X.org/a#b"}), &fetch("https://x.org/a"));
        check(ScopeKind::Host, json!({"a": "x.org"}), &fetch("https://x.org/*"));
        check(ScopeKind::Host, json!({"a": "a@x.org"}), &fetch("a@x.org"));
        check(ScopeKind::FsRead, json!({}), &[Act::Call { subject: None }]);
        check(ScopeKind::FsRead, json!({"a": 3}), &[Act::Call { subject: None }]);
        assert_eq!(of(&tool(true, &[]), json!({})).acts, [Act::Call { subject: None }]);
        let defaulted = tool(true, &[("a", ScopeKind::FsRead, Some("."))]);
        assert_eq!(of(&defaulted, json!({})).acts, [Act::Read { path: "/w".into() }]);
    }

    #[test]
    fn the_grant_holds_what_was_asked_for_and_no_more() {
        let t = tool(false, &[("r", ScopeKind::FsRead, None), ("w", ScopeKind::FsWrite, None)]);
        let grant = of(&t, json!({"r": "a", "w": "b"})).grant;
        assert_eq!(
            grant,
            CallGrant { reads: vec!["/w/a".into()], writes: vec!["/w/b".into()], ..CallGrant::default() }
        );
        let shell = tool(false, &[("c", ScopeKind::Command, None)]);
        let grant = of(&shell, json!({"c": "ls", "workdir": "link"})).grant;
        assert_eq!(grant.commands, [ShellLine { line: "ls".into(), cwd: "/w/real".into() }]);
        let web = tool(true, &[("u", ScopeKind::Host, None)]);
        let target = |text: &str| vec![Target::parse(text).unwrap()];
        let grant = of(&web, json!({"u": "https://x.org/a"})).grant;
        assert_eq!((grant.urls, grant.hosts), (target("https://x.org/a"), vec![]));
        let grant = of(&web, json!({"u": "x.org:8443"})).grant;
        assert_eq!((grant.urls, grant.hosts), (vec![], target("https://x.org:8443/")));
        assert_eq!(of(&web, json!({"u": "a@x.org"})).grant, CallGrant::default());
    }

    #[test]
    fn what_conflicts_runs_in_order() {
        let read = tool(true, &[("a", ScopeKind::FsRead, None)]);
        let write = tool(false, &[("a", ScopeKind::FsWrite, None)]);
        let shell = tool(false, &[("a", ScopeKind::Command, None)]);
        let (bare, look) = (tool(false, &[]), tool(true, &[]));
        let check = |x: (&ToolSpec, &str), y: (&ToolSpec, &str), expected: bool| {
            let a = of(x.0, json!({"a": x.1})).footprint;
            let b = of(y.0, json!({"a": y.1})).footprint;
            assert_eq!((a.conflicts(&b), b.conflicts(&a)), (expected, expected), "{x:?} {y:?}");
        };
        check((&read, "x"), (&read, "x"), false);
        check((&read, "x"), (&write, "x"), true);
        check((&read, "x"), (&write, "y"), false);
        check((&read, "link/x"), (&write, "real/x"), true);
        check((&read, "."), (&write, "sub/y"), true);
        check((&write, "x"), (&write, "x"), true);
        check((&write, "x"), (&write, "xy"), false);
        check((&shell, "ls"), (&read, "x"), true);
        check((&shell, "ls"), (&shell, "ls"), true);
        check((&bare, ""), (&read, "x"), true);
        check((&look, ""), (&read, "x"), false);
        check((&look, ""), (&write, "x"), true);
        let web = tool(true, &[("a", ScopeKind::Host, None)]);
        check((&web, "https://x.org"), (&write, "x"), false);
        check((&web, "https://x.org"), (&shell, "ls"), true);
        let task = tool(false, &[("a", ScopeKind::Agent, None)]);
        check((&task, "x"), (&task, "x"), false);
        check((&task, "x"), (&read, "x"), true);
        check((&task, "x"), (&bare, ""), true);
    }
}
