//! Attack 25: several owners in one process, on one machine. Each has a home, components and calls of their own, many at once, and what
//! is one's never shows at the other's.

use crate::bare::{LIFTING, MEMORY, component};
use crate::guests::guest;
use crate::stage::{Answer, Memory, Reports};
use futures::future::join_all;
use model::environment::Environment;
use model::fault::FailureKind;
use model::grant::{CallGrant, Grant};
use model::id::{CallId, MessageId, SessionId};
use model::owner::Owner;
use model::tool::{ToolCall, ToolFailure, ToolOutput};
use runtime::install::{Decision, Offer};
use runtime::{Bundled, Learnt, Machine, Runtime, RuntimeOptions, Share};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// One owner, at home.
#[derive(Clone)]
pub struct Person {
    pub runtime: Arc<Runtime>,
    home: Arc<TempDir>,
    reports: Arc<Reports>,
    /// What is theirs and nobody else's.
    canary: String,
}

impl Person {
    pub fn new(machine: &Arc<Machine>, name: &str, bundled: &[(&'static str, &'static [u8])]) -> Self {
        Self::with(machine, name, bundled, Share::default())
    }

    fn with(machine: &Arc<Machine>, name: &str, bundled: &[(&'static str, &'static [u8])], share: Share) -> Self {
        let (home, canary) = (tempfile::tempdir().unwrap(), format!("canary-of-{name}-4711"));
        let environment: Environment = [("CANARY".to_owned(), canary.clone())].into_iter().collect();
        let bundled = bundled.iter().map(|(name, bytes)| Bundled { name, bytes, learnt: Learnt::AtStart }).collect();
        std::fs::create_dir(home.path().join("work")).unwrap();
        let options = RuntimeOptions {
            machine: Arc::clone(machine),
            owner: Owner::parse(name).unwrap(),
            environment,
            share,
            ..RuntimeOptions::below(home.path(), bundled)
        };
        let runtime = Runtime::open(options).unwrap();
        Self { runtime, home: Arc::new(home), reports: Arc::default(), canary }
    }

    /// With a component that was installed, and all that it asks for.
    pub fn installing(self, name: &str, bytes: &[u8]) -> Self {
        let offer = Offer {
            name: name.into(),
            named: false,
            source: format!("/x/{name}.wasm"),
            bytes: bytes.to_vec(),
            sidecar: None,
        };
        let candidate = self.runtime.candidate(offer).unwrap();
        let decision = Decision { grant: candidate.info.grant.clone(), decided: "2026-01-02T03:04:05Z".into() };
        self.runtime.install(candidate, decision).unwrap();
        let options =
            RuntimeOptions { owner: self.runtime.owner().clone(), ..RuntimeOptions::below(self.home.path(), vec![]) };
        // What is installed is in force from the next start on.
        Self { runtime: Runtime::open(options).unwrap(), ..self }
    }

    fn work(&self) -> std::path::PathBuf {
        self.home.path().canonicalize().unwrap().join("work")
    }

    pub async fn call(&self, tool: &str, input: Value, gate: Answer) -> Result<ToolOutput, ToolFailure> {
        let call = ToolCall {
            session: SessionId::new(),
            message: MessageId::new(),
            call: CallId::given("c1"),
            agent: self.canary.clone(),
            tool: tool.into(),
            input,
            workspace: self.work(),
            worktree: self.work(),
            grant: CallGrant::default(),
            env: vec![],
            now_ms: 7,
        };
        let tools = self.runtime.tools(Arc::new(gate), Arc::new(Memory));
        tools.call(call, self.reports.clone(), CancellationToken::new()).await
    }
}

/// All that lies below a folder, as bytes.
fn all_bytes(folder: &Path) -> Vec<u8> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
    entries.flat_map(|p| if p.is_dir() { all_bytes(&p) } else { std::fs::read(&p).unwrap_or_default() }).collect()
}

fn holds(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|w| w == word.as_bytes())
}

/// Tells how many words of its memory are not what a new memory holds, then fills it with its input.
fn hoarder() -> &'static [u8] {
    component(
        r#"(core module $code
            (memory (export "m") 32)
            (func (export "f") (param $mark i64) (result i64) (local $at i32) (local $dirty i64)
                (loop $l
                    (if (i64.ne (i64.load (local.get $at)) (i64.const 0))
                        (then (local.set $dirty (i64.add (local.get $dirty) (i64.const 1)))))
                    (i64.store (local.get $at) (local.get $mark))
                    (local.set $at (i32.add (local.get $at) (i32.const 8)))
                    (br_if $l (i32.lt_u (local.get $at) (i32.const 2097152))))
                (local.get $dirty)))
        (core instance $c (instantiate $code))
        (func (export "hoard") (param "mark" u64) (result u64) (canon lift (core func $c "f")))"#,
    )
}

/// A hundred calls of each owner in parallel, each with its canary, while other components of one of them trap.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_crosses_between_two_owners() {
    let machine = Machine::new();
    let bundled =
        [("echo", guest("echo")), ("trap", guest("trap")), ("writer", guest("writer")), ("hoarder", hoarder())];
    let people = ["ann", "bob"].map(|name| Person::new(&machine, name, &bundled));
    let calls = (0..100).flat_map(|n| people.iter().map(move |p| (n, p.clone()))).map(|(n, person)| {
        tokio::spawn(async move {
            let mine = format!("{}-{n}", person.canary);
            let echoed = person.call("echo", json!({ "mine": mine }), Answer::Yes).await.unwrap();
            assert_eq!(echoed.text, json!({ "mine": mine }).to_string());
            assert_eq!(
                (echoed.title, &echoed.metadata["agent"]),
                (person.work().display().to_string(), &json!(person.canary))
            );
            let hoarded = person.call("hoard", json!({ "mark": u64::MAX - n }), Answer::Yes).await.unwrap();
            assert_eq!(hoarded.text, "0", "the memory of a new instance holds what another one left");
            if person.canary.contains("ann") {
                let trapped = person.call("trap", json!({}), Answer::Yes).await.unwrap_err();
                assert_eq!(trapped.kind, FailureKind::Trap, "{trapped}");
            }
            person.call("writer", json!({ "file": format!("{mine}.txt") }), Answer::Yes).await.unwrap();
        })
    });
    join_all(calls).await.into_iter().for_each(|ended| ended.unwrap());
    let [ann, bob] = &people;
    for (mine, other) in [(ann, bob), (bob, ann)] {
        let files = std::fs::read_dir(mine.work()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        let files: Vec<String> = files.collect();
        assert!(files.len() == 100 && files.iter().all(|f| f.starts_with(&mine.canary)), "{files:?}");
        assert_eq!(mine.reports.0.lock().unwrap().len(), 100, "each hears of their own calls");
        assert!(!holds(&all_bytes(mine.home.path()), &other.canary));
    }
}

/// Components are installed, compiled and granted for one owner.
#[tokio::test(flavor = "multi_thread")]
async fn what_one_installed_is_not_there_for_the_other() {
    let machine = Machine::new();
    let ann = Person::new(&machine, "ann", &[]).installing("writer", guest("writer"));
    let bob = Person::new(&machine, "bob", &[]);
    ann.call("writer", json!({ "file": "a.txt" }), Answer::Yes).await.unwrap();
    let failure = bob.call("writer", json!({ "file": "a.txt" }), Answer::Yes).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Unavailable, "{failure}");
    assert!(bob.runtime.installed().unwrap().is_empty() && bob.runtime.plugins().unwrap().is_empty());
    // Even where bob's folders are a copy of hers, what she agreed to binds nobody but her.
    for folder in ["data", "cache"] {
        let (from, to) = (ann.home.path().join(folder), bob.home.path().join(folder));
        std::fs::remove_dir_all(&to).unwrap();
        copy(&from, &to);
    }
    let options =
        RuntimeOptions { owner: Owner::parse("bob").unwrap(), ..RuntimeOptions::below(bob.home.path(), vec![]) };
    let refused = Runtime::open(options).err().unwrap().to_string();
    assert!(refused.contains("`writer` was agreed to by ann, not by bob"), "{refused}");
}

fn copy(from: &Path, to: &Path) {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().mode(0o700).create(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Reads a variable that its manifest asks for.
fn variable() -> &'static [u8] {
    component(&format!(
        r#"(import "wasi:config/store@0.2.0-rc.1" (instance $store
            (type $e (variant (case "upstream" string) (case "io" string)))
            (export "error" (type $error (eq $e)))
            (type $r (result (option string) (error $error)))
            (export "get" (func (param "key" string) (result $r)))))
        (alias export $store "error" (type $error))
        (type $r (result (option string) (error $error)))
        {MEMORY}
        (core func $get (canon lower (func $store "get") {LIFTING}))
        (core instance $host (export "get" (func $get)))
        (core module $code
            (@custom "airlock:manifest" "{{\"env\":{{\"allow\":[\"CANARY\",\"PATH\"]}}}}")
            (import "host" "get" (func $get (param i32 i32 i32)))
            (func (export "look-up") (param i32 i32) (result i32)
                (call $get (local.get 0) (local.get 1) (i32.const 64))
                (i32.const 64)))
        (core instance $c (instantiate $code (with "host" (instance $host))))
        (func (export "look-up") (param "key" string) (result $r) (canon lift (core func $c "look-up") {LIFTING}))"#
    ))
}

#[tokio::test(flavor = "multi_thread")]
async fn each_has_an_environment_of_their_own() {
    let machine = Machine::new();
    for name in ["ann", "bob"] {
        let person = Person::new(&machine, name, &[("variable", variable())]);
        for (key, want) in [("CANARY", person.canary.as_str()), ("PATH", "null")] {
            let out = person.call("look-up", json!({ "key": key }), Answer::Yes).await.unwrap();
            assert_eq!(out.text, want, "{name}: {key} of the process is nobody's");
        }
    }
}

/// A call waits for an answer; meanwhile what it was granted is taken back, or the component goes. The answer is one to nobody.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_for_what_was_taken_back_counts_for_nothing() {
    type Change = fn(&Runtime);
    let changes: [(&str, Change); 2] = [
        ("revoke", |r| drop(r.regrant("writer", "2026-01-02T03:04:06Z", |_| Grant::default()).unwrap())),
        ("remove", |r| drop(r.uninstall("writer").unwrap())),
    ];
    for (what, change) in changes {
        let machine = Machine::new();
        let ann = Person::new(&machine, "ann", &[]).installing("writer", guest("writer"));
        let bob = Person::new(&machine, "bob", &[]).installing("writer", guest("writer"));
        // Both are compiled before the clock counts.
        for person in [&ann, &bob] {
            person.call("writer", json!({ "file": "a.txt" }), Answer::Yes).await.unwrap();
        }
        let slow = Answer::YesAfter(Duration::from_millis(600));
        let late = |person: &Person| {
            let person = person.clone();
            tokio::spawn(async move { person.call("writer", json!({ "file": "b.txt" }), slow).await })
        };
        let (hers, his) = (late(&ann), late(&bob));
        tokio::time::sleep(Duration::from_millis(150)).await;
        change(&ann.runtime);
        let failure = hers.await.unwrap().unwrap_err();
        assert_eq!(failure.kind, FailureKind::Denied, "{what}: {failure}");
        assert!(failure.message.contains("was changed while it ran"), "{what}: {failure}");
        assert!(!ann.work().join("b.txt").exists(), "{what}");
        his.await.unwrap().unwrap();
        assert!(bob.work().join("b.txt").exists(), "{what}: another owner's is another matter");
        let next = ann.call("writer", json!({ "file": "c.txt" }), Answer::Yes).await.unwrap_err();
        let want = if what == "revoke" { FailureKind::Failed } else { FailureKind::Unavailable };
        assert_eq!(next.kind, want, "{what}: {next}");
        bob.call("writer", json!({ "file": "c.txt" }), Answer::Yes).await.unwrap();
    }
}

/// One that does nothing that could be asked for: it is stopped all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_without_acts_ends_when_its_component_goes() {
    let ann = Person::new(&Machine::new(), "ann", &[]).installing("clock", crate::attacks::asks_the_time());
    let running = tokio::spawn({
        let ann = ann.clone();
        async move { ann.call("f", json!({}), Answer::Yes).await }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    ann.runtime.uninstall("clock").unwrap();
    let failure = running.await.unwrap().unwrap_err();
    assert_eq!(failure.kind, FailureKind::Denied, "{failure}");
    assert!(failure.message.contains("changed while it ran"), "{failure}");
}

/// One owner's crowd is refused at its own bounds, and the other one is served.
#[tokio::test(flavor = "multi_thread")]
async fn an_owner_has_a_share_of_the_machine() {
    let machine = Machine::new();
    let bundled = [("sleeper", guest("sleeper")), ("hog", guest("hog")), ("echo", guest("echo"))];
    let few = Share { instances: 2, memory: 24 << 20, wait: Duration::from_millis(100) };
    let (ann, bob) = (Person::with(&machine, "ann", &bundled, few), Person::new(&machine, "bob", &bundled));
    for person in [&ann, &bob] {
        person.call("echo", json!({}), Answer::Yes).await.unwrap();
    }
    let failure = ann.call("hog", json!({}), Answer::Yes).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Limit, "{failure}");
    for words in ["24 MiB of memory", "`memory` under `[components]`"] {
        assert!(failure.message.contains(words), "{failure}");
    }
    let asleep: Vec<_> = (0..2)
        .map(|_| {
            let ann = ann.clone();
            tokio::spawn(async move { ann.call("sleeper", json!({}), Answer::Yes).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let refused = ann.call("echo", json!({}), Answer::Yes).await.unwrap_err();
    assert_eq!(refused.kind, FailureKind::Limit, "{refused}");
    for words in ["2 calls run already", "100ms", "`at_once` under `[components]`"] {
        assert!(refused.message.contains(words), "{refused}");
    }
    bob.call("echo", json!({}), Answer::Yes).await.unwrap();
    join_all(asleep).await;
    ann.call("echo", json!({}), Answer::Yes).await.unwrap();
}
