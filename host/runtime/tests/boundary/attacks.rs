//! Attacks 7 to 13: components, written by hand, that loop, flood, hoard or lie in every place where they get to run. Each ends as a
//! typed failure that names its limit, and the same host then serves another call.

use crate::bare::{LIFTING, MEMORY, component};
use crate::guests::guest;
use crate::stage::{Answer, Stage};
use model::fault::FailureKind::{self, Limit, TimedOut, Trap};
use serde_json::json;

/// Short limits, so that the tests are short.
const MANIFEST: &str = r#"(@custom "airlock:manifest" "{\"limits\":{\"cpu_ms\":400,\"wall_ms\":2000}}")"#;
const SPIN: &str = "(loop $l (br $l))";
const YEARS: i64 = 10 * 365 * 86_400 * 1_000_000_000;

/// A component with one function `f` without parameters; `before` stands in front of its module, `code` in it.
fn plain(before: &str, with: &str, code: &str) -> &'static [u8] {
    component(&format!(
        r#"{before}
        (core module $code {MANIFEST} {code})
        (core instance $c (instantiate $code {with}))
        (func (export "f") (canon lift (core func $c "f")))"#
    ))
}

/// As [`plain`], where `f` returns what lies at the address that its code gives, of this type.
fn returning(ty: &str, code: &str) -> &'static [u8] {
    component(&format!(
        r#"(core module $code {MANIFEST} {code})
        (core instance $c (instantiate $code))
        (func (export "f") (result {ty}) (canon lift (core func $c "f") (memory (core memory $c "m"))))"#
    ))
}

/// As [`plain`], with functions of the host as module `host`.
fn calling(imports: &str, functions: &[(&str, &str)], code: &str) -> &'static [u8] {
    let lowered: String = functions.iter().map(|(name, from)| format!("(core func ${name} {from})")).collect();
    let exports: String = functions.iter().map(|(name, _)| format!("(export \"{name}\" (func ${name}))")).collect();
    plain(
        &format!("{MEMORY} {imports} {lowered} (core instance $host {exports})"),
        r#"(with "host" (instance $host))"#,
        code,
    )
}

/// Runs `f` of the component, which must fail so; then the host serves another.
async fn ends(what: &str, bytes: &'static [u8], kinds: &[FailureKind], part: &str) {
    let stage = Stage::new(&[("attacker", bytes), ("echo", guest("echo"))]);
    let failure = stage.run("f", Answer::Yes).await.expect_err(what);
    assert!(kinds.contains(&failure.kind), "{what}: {:?} {failure}", failure.kind);
    assert!(failure.message.contains(part), "{what}: {failure}");
    assert!(stage.run("echo", Answer::Yes).await.is_ok(), "{what}: the host lives");
}

const CLOCK: &str = r#"(import "wasi:io/poll@0.2.0" (instance $poll
        (export "pollable" (type $p (sub resource)))
        (export "[method]pollable.block" (func (param "self" (borrow $p))))))
    (alias export $poll "pollable" (type $pollable))
    (import "wasi:clocks/monotonic-clock@0.2.0" (instance $clock
        (export "now" (func (result u64)))
        (alias outer 1 $pollable (type $q))
        (export "pollable" (type $p (eq $q)))
        (export "subscribe-duration" (func (param "when" u64) (result (own $p))))))"#;
const CLOCK_FUNCTIONS: &[(&str, &str)] = &[
    ("now", r#"(canon lower (func $clock "now"))"#),
    ("after", r#"(canon lower (func $clock "subscribe-duration"))"#),
    ("block", r#"(canon lower (func $poll "[method]pollable.block"))"#),
    ("drop", "(canon resource.drop $pollable)"),
];
const CLOCK_IMPORTS: &str = r#"(import "host" "now" (func $now (result i64)))
    (import "host" "after" (func $after (param i64) (result i32)))
    (import "host" "block" (func $block (param i32)))
    (import "host" "drop" (func $drop (param i32)))"#;

fn clock(code: &str) -> &'static [u8] {
    calling(CLOCK, CLOCK_FUNCTIONS, &format!("{CLOCK_IMPORTS} {code}"))
}

/// Asks the host for the time, over and over.
pub fn asks_the_time() -> &'static [u8] {
    clock(r#"(func (export "f") (loop $l (drop (call $now)) (br $l)))"#)
}

/// Takes handles and gives none back.
pub fn hoards_handles() -> &'static [u8] {
    clock(r#"(func (export "f") (loop $l (drop (call $after (i64.const 0))) (br $l)))"#)
}

/// Attack 7.
#[tokio::test(flavor = "multi_thread")]
async fn endless_loops_wherever_a_guest_runs() {
    let start = plain("", "", &format!(r#"(func $s {SPIN}) (start $s) (func (export "f"))"#));
    ends("start function", start, &[TimedOut], "400ms of computing").await;

    let after = component(&format!(
        r#"(core module $code {MANIFEST} (func (export "f")) (func (export "p") {SPIN}))
        (core instance $c (instantiate $code))
        (func (export "f") (canon lift (core func $c "f") (post-return (core func $c "p"))))"#
    ));
    ends("post-return", after, &[TimedOut], "400ms of computing").await;

    let allocator = component(
        &format!(
            r#"(core module $code {MANIFEST} (memory (export "m") 1)
            (func (export "f") (param i32 i32))
            (func (export "r") (param i32 i32 i32 i32) (result i32) {SPIN} unreachable))
        (core instance $c (instantiate $code))
        (func (export "f") (param "text" (option string))
            (canon lift (core func $c "g") (memory (core memory $c "m")) (realloc (core func $c "r"))))"#
        )
        .replace(r#"(func (export "f") (param i32 i32))"#, r#"(func (export "g") (param i32 i32 i32))"#),
    );
    let stage = Stage::new(&[("attacker", allocator)]);
    let failure = stage.run_with("f", json!({"text": "x"}), Answer::Yes).await.unwrap_err();
    assert_eq!(failure.kind, TimedOut, "allocator: {failure}");

    let destructor = plain(
        &format!(
            r#"(core module $d (func (export "d") (param i32) {SPIN}))
            (core instance $di (instantiate $d))
            (alias core export $di "d" (core func $dtor))
            (type $r (resource (rep i32) (dtor (core func $dtor))))
            (core func $new (canon resource.new $r)) (core func $drop (canon resource.drop $r))
            (core instance $host (export "new" (func $new)) (export "drop" (func $drop)))"#
        ),
        r#"(with "host" (instance $host))"#,
        r#"(import "host" "new" (func $new (param i32) (result i32))) (import "host" "drop" (func $drop (param i32)))
        (func (export "f") (call $drop (call $new (i32.const 1))))"#,
    );
    ends("destructor", destructor, &[TimedOut], "400ms of computing").await;
}

/// Attack 8.
#[tokio::test(flavor = "multi_thread")]
async fn loops_of_host_calls() {
    ends("the time, over and over", asks_the_time(), &[TimedOut], "").await;
    let polls = clock(
        r#"(func (export "f") (local $p i32)
            (loop $l
                (local.set $p (call $after (i64.const 0)))
                (call $block (local.get $p))
                (call $drop (local.get $p))
                (br $l)))"#,
    );
    ends("waits for nothing, over and over", polls, &[TimedOut], "").await;
}

/// Attack 9.
#[tokio::test(flavor = "multi_thread")]
async fn memory_tables_and_stack() {
    let grows = plain(
        "",
        "",
        r#"(memory 1) (func (export "f")
            (loop $l (br_if $l (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable)"#,
    );
    ends("memory", grows, &[Limit], "64 MiB of memory").await;
    let many = plain(
        "",
        "",
        r#"(memory 1) (memory $b 1) (memory $c 1) (func (export "f")
            (loop $l (br_if $l (i32.ne (memory.grow $c (i32.const 16)) (i32.const -1))))
            (loop $l (br_if $l (i32.ne (memory.grow $b (i32.const 16)) (i32.const -1)))) unreachable)"#,
    );
    ends("several memories", many, &[Limit], "64 MiB of memory").await;
    let tables = plain(
        "",
        "",
        r#"(table $t 1 funcref) (func (export "f")
            (loop $l (br_if $l (i32.ne (table.grow $t (ref.null func) (i32.const 500)) (i32.const -1)))) unreachable)"#,
    );
    ends("table", tables, &[Limit], "20000 places in its tables").await;
    let deep = plain("", "", r#"(func $f (export "f") (call $f))"#);
    ends("recursion", deep, &[Trap], "call stack exhausted").await;
}

/// Attack 9: what asks for too much before it even runs is refused when it is looked at.
#[test]
fn what_wants_too_much_is_refused_at_once() {
    let home = tempfile::tempdir().unwrap();
    let runtime = runtime::Runtime::open(crate::stage::options(home.path(), vec![])).unwrap();
    let file = home.path().join("attacker.wasm");
    let memories: String = "(memory 1)".repeat(50);
    for (what, code) in [
        ("four GiB at the start", r#"(memory 65536) (func (export "f"))"#.to_owned()),
        ("fifty memories", format!(r#"{memories} (func (export "f"))"#)),
        ("a table of two thousand millions", r#"(table 2000000000 funcref) (func (export "f"))"#.to_owned()),
    ] {
        std::fs::write(&file, plain("", "", &code)).unwrap();
        let error = runtime.inspect(file.to_str().unwrap()).map(|p| p.name).expect_err(what).to_string();
        assert!(error.contains("attacker.wasm"), "{what}: {error}");
    }
}

/// Attack 10.
#[tokio::test(flavor = "multi_thread")]
async fn hoards_of_handles() {
    ends("handles of the host", hoards_handles(), &[Limit], "4096 handles").await;
    let own = plain(
        r#"(type $r (resource (rep i32))) (core func $new (canon resource.new $r))
        (core instance $host (export "new" (func $new)))"#,
        r#"(with "host" (instance $host))"#,
        r#"(import "host" "new" (func $new (param i32) (result i32)))
        (func (export "f") (loop $l (drop (call $new (i32.const 1))) (br $l)))"#,
    );
    ends("handles of its own", own, &[Limit, Trap, TimedOut], "").await;

    let fields = calling(
        r#"(import "wasi:http/types@0.2.0" (instance $http
            (export "fields" (type $f (sub resource)))
            (type $v (variant (case "invalid-syntax") (case "forbidden") (case "immutable")))
            (export "header-error" (type $e (eq $v)))
            (export "[constructor]fields" (func (result (own $f))))
            (export "[method]fields.append"
                (func (param "self" (borrow $f)) (param "name" string) (param "value" (list u8)) (result (result (error $e)))))))"#,
        &[
            ("new", r#"(canon lower (func $http "[constructor]fields"))"#),
            ("append", &format!(r#"(canon lower (func $http "[method]fields.append") {LIFTING})"#)),
        ],
        r#"(import "host" "new" (func $new (result i32)))
        (import "host" "append" (func $append (param i32 i32 i32 i32 i32 i32)))
        (func (export "f") (local $f i32)
            (local.set $f (call $new))
            (loop $l (call $append (local.get $f) (i32.const 16) (i32.const 4) (i32.const 64) (i32.const 0) (i32.const 2048))
                (br $l)))"#,
    );
    ends("header fields", fields, &[Limit, Trap, TimedOut], "").await;
}

/// Attack 11.
#[tokio::test(flavor = "multi_thread")]
async fn values_that_lie_about_their_size() {
    let text_of = |at: i64, len: i64, memory: &str| {
        returning(
            "string",
            &format!(
                r#"{memory} (func (export "f") (result i32)
                    (i32.store (i32.const 8) (i32.const {at})) (i32.store (i32.const 12) (i32.const {len})) (i32.const 8))"#
            ),
        )
    };
    let small = r#"(memory (export "m") 1)"#;
    ends("a length of four thousand millions", text_of(0, -1, small), &[Trap], "").await;
    ends("an end beyond the memory", text_of(65_000, 1000, small), &[Trap], "").await;
    ends("an address beyond the memory", text_of(-16, 8, small), &[Trap], "").await;
    let bytes = r#"(memory (export "m") 1) (data (i32.const 100) "\ff\fe\80")"#;
    ends("bytes that are no text", text_of(100, 3, bytes), &[Trap], "").await;

    // Two hundred thousand texts that share one buffer of 64 KiB.
    let shared = returning(
        "(list string)",
        r#"(memory (export "m") 48) (func (export "f") (result i32) (local $i i32)
            (loop $l
                (i32.store (i32.add (i32.const 1000004) (i32.mul (local.get $i) (i32.const 8))) (i32.const 65536))
                (local.set $i (i32.add (local.get $i) (i32.const 1)))
                (br_if $l (i32.lt_u (local.get $i) (i32.const 200000))))
            (i32.store (i32.const 8) (i32.const 1000000)) (i32.store (i32.const 12) (i32.const 200000)) (i32.const 8))"#,
    );
    ends("one buffer many times", shared, &[Limit], "larger than 1024 KiB").await;

    let random = calling(
        r#"(import "wasi:random/random@0.2.0" (instance $random
            (export "get-random-bytes" (func (param "len" u64) (result (list u8))))))"#,
        &[("random", &format!(r#"(canon lower (func $random "get-random-bytes") {LIFTING})"#))],
        r#"(import "host" "random" (func $random (param i64 i32)))
        (func (export "f") (call $random (i64.const 0x7fffffffffffffff) (i32.const 0)))"#,
    );
    ends("random bytes without end", random, &[Trap, Limit], "").await;
}

/// Attack 12.
#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_floods() {
    let flood = returning(
        "string",
        r#"(memory (export "m") 900) (func (export "f") (result i32)
            (i32.store (i32.const 12) (i32.const 58000000)) (i32.const 8))"#,
    );
    ends("fifty million bytes", flood, &[Limit], "larger than 1024 KiB").await;
    let some = returning(
        "string",
        r#"(memory (export "m") 40) (func (export "f") (result i32)
            (i32.store (i32.const 8) (i32.const 16)) (i32.store (i32.const 12) (i32.const 2000000)) (i32.const 8))"#,
    );
    ends("two million bytes", some, &[Limit], "`output` under `[limits]`").await;
}

/// Attack 13; that a cancelled call ends at once is shown in `tools`.
#[tokio::test(flavor = "multi_thread")]
async fn a_sleep_of_ten_years() {
    let sleeps = clock(&format!(r#"(func (export "f") (call $block (call $after (i64.const {YEARS}))))"#));
    ends("a sleep", sleeps, &[TimedOut], "stopped after 2s").await;
}
