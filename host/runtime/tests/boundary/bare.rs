//! Components that know nothing of the contract: their functions as tools, and what they can be linked to.

use crate::stage::{Answer, Stage};
use model::fault::FailureKind;
use model::tool::{ToolFailure, ToolOutput};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// A module with memory and an allocator that never frees, as instance `$mem`.
pub const MEMORY: &str = r#"
    (core module $memory
        (memory (export "m") 2)
        (data (i32.const 16) "name")
        (global $next (mut i32) (i32.const 4096))
        (func (export "r") (param i32 i32 i32 i32) (result i32)
            (local $at i32)
            (local.set $at (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
            (global.set $next (i32.add (local.get $at) (local.get 3)))
            (local.get $at)))
    (core instance $mem (instantiate $memory))"#;
pub const LIFTING: &str = r#"(memory (core memory $mem "m")) (realloc (core func $mem "r"))"#;

pub fn component(text: &str) -> &'static [u8] {
    wat::parse_str(format!("(component {text})")).unwrap_or_else(|e| panic!("{e}")).leak()
}

/// Says whom it greets; whom nobody named it does not.
fn greeter() -> &'static [u8] {
    component(&format!(
        r#"{MEMORY}
        (core module $code
            (import "mem" "m" (memory 1))
            ;; ok(name), or err(name) where it is longer than three bytes
            (func (export "greet") (param $at i32) (param $len i32) (result i32)
                (i32.store8 (i32.const 0) (i32.gt_u (local.get $len) (i32.const 3)))
                (i32.store (i32.const 4) (local.get $at))
                (i32.store (i32.const 8) (local.get $len))
                (i32.const 0))
            (func (export "half") (param i64) (result i64) (i64.shr_u (local.get 0) (i64.const 1)))
            (func (export "fail") unreachable)
            (func (export "spin") (loop $l (br $l))))
        (core instance $c (instantiate $code (with "mem" (instance $mem))))
        (func (export "greet") (param "name" string) (result (result string (error string)))
            (canon lift (core func $c "greet") {LIFTING}))
        (func $half (param "n" u64) (result u64) (canon lift (core func $c "half")))
        (func (export "fail") (canon lift (core func $c "fail")))
        (func (export "spin") (canon lift (core func $c "spin")))
        (instance $math (export "half" (func $half)))
        (export "local:third-party/math@1.0.0" (instance $math))"#
    ))
}

fn stage() -> Stage {
    Stage::new(&[("greeter", greeter())])
}

async fn call(stage: &Stage, tool: &str, input: Value) -> Result<ToolOutput, ToolFailure> {
    stage.run_with(tool, input, Answer::Yes).await
}

const HALF: &str = "local_third-party_math_1_0_0_half";

#[tokio::test(flavor = "multi_thread")]
async fn functions_are_tools() {
    let stage = stage();
    let specs = stage.tools(Answer::Yes).specs();
    assert_eq!(specs.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["fail", "greet", HALF, "spin"]);
    assert_eq!(specs[1].input_schema["required"], json!(["name"]));

    assert_eq!(call(&stage, "greet", json!({"name": "Ann"})).await.unwrap().text, "Ann");
    let half = call(&stage, HALF, json!({"n": u64::MAX})).await.unwrap();
    assert_eq!(half.text, (u64::MAX / 2).to_string());
    assert_eq!(half.metadata["result"], json!(u64::MAX / 2));
    assert_eq!(
        call(&stage, HALF, json!({"n": "18446744073709551614"})).await.unwrap().text,
        (u64::MAX / 2).to_string()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_fail_as_tools_do() {
    let stage = stage();
    for (tool, input, kind, part) in [
        ("greet", json!({"name": "nobody"}), FailureKind::Failed, "nobody"),
        ("greet", json!({}), FailureKind::InvalidInput, "`name`: it is missing"),
        ("greet", json!({"name": 3}), FailureKind::InvalidInput, "`name`: it must be text, not 3"),
        (HALF, json!({"n": -1}), FailureKind::InvalidInput, "from 0 to"),
        ("fail", json!({}), FailureKind::Trap, "unreachable"),
        ("spin", json!({}), FailureKind::TimedOut, "of computing"),
    ] {
        let failure = call(&stage, tool, input).await.unwrap_err();
        assert_eq!(failure.kind, kind, "{tool}: {failure}");
        assert!(failure.message.contains(part), "{tool}: {failure}");
    }
    assert!(call(&stage, "greet", json!({"name": "Ann"})).await.is_ok(), "the host lives");
}

/// A bundled component's tool, and two of strangers with the same name.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_of_a_name_stands() {
    let echo = crate::guests::guest("echo");
    let impostor = component(
        r#"(core module $c (func (export "f"))) (core instance $i (instantiate $c))
        (func (export "echo") (canon lift (core func $i "f")))"#,
    );
    let stage = Stage::new(&[("echo", echo), ("impostor", impostor)]);
    assert_eq!(call(&stage, "echo", json!({"a": 1})).await.unwrap().text, r#"{"a":1}"#);
}

/// Every minor version of WASI 0.2 that toolchains build against: an import of each links, and the function runs.
#[tokio::test(flavor = "multi_thread")]
async fn every_wasi_0_2_links() {
    const INTERFACES: [(&str, &str); 7] = [
        ("wasi:cli/environment", r#"(export "get-environment" (func (result (list (tuple string string)))))"#),
        ("wasi:clocks/monotonic-clock", r#"(export "now" (func (result u64)))"#),
        ("wasi:random/random", r#"(export "get-random-u64" (func (result u64)))"#),
        ("wasi:io/error", r#"(export "error" (type (sub resource)))"#),
        ("wasi:filesystem/types", r#"(export "descriptor" (type (sub resource)))"#),
        ("wasi:http/types", r#"(export "fields" (type (sub resource)))"#),
        ("wasi:sockets/tcp", r#"(export "tcp-socket" (type (sub resource)))"#),
    ];
    for minor in 0..=12 {
        let mut text = String::new();
        for (name, exports) in INTERFACES {
            write!(text, r#"(import "{name}@0.2.{minor}" (instance {exports}))"#).unwrap();
        }
        text += r#"(core module $c (func (export "f") (result i32) (i32.const 7))) (core instance $i (instantiate $c))
            (func (export "seven") (result u32) (canon lift (core func $i "f")))"#;
        let stage = Stage::new(&[("guest", component(&text))]);
        let out = call(&stage, "seven", json!({})).await.unwrap_or_else(|e| panic!("0.2.{minor}: {e}"));
        assert_eq!(out.text, "7");
    }
}

/// Looks a setting up; its manifest asks for two of the environment's variables.
fn settings(version: &str) -> &'static [u8] {
    component(&format!(
        r#"(import "wasi:config/store@{version}" (instance $store
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
            (@custom "airlock:manifest" "{{\"env\":{{\"allow\":[\"CARGO_PKG_NAME\",\"AIRLOCK_UNSET\"]}}}}")
            (import "host" "get" (func $get (param i32 i32 i32)))
            (func (export "look-up") (param i32 i32) (result i32)
                (call $get (local.get 0) (local.get 1) (i32.const 64))
                (i32.const 64)))
        (core instance $c (instantiate $code (with "host" (instance $host))))
        (func (export "look-up") (param "key" string) (result $r) (canon lift (core func $c "look-up") {LIFTING}))"#
    ))
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_those_that_were_granted() {
    for version in ["0.2.0-draft", "0.2.0-rc.1"] {
        let stage = Stage::new(&[("settings", settings(version))]);
        for (key, want) in [("CARGO_PKG_NAME", "runtime"), ("AIRLOCK_UNSET", "null"), ("PATH", "null")] {
            let out = call(&stage, "look-up", json!({"key": key})).await.unwrap();
            assert_eq!(out.text, want, "{version} {key}");
        }
    }
}
