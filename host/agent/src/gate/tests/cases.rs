//! Field reports on permissions, as data: every case of area D of the shared case files.

use super::{Silent, actor};
use crate::gate::{GateOptions, Gatekeeper};
use crate::shell;
use crate::testing::store::Memory;
use async_trait::async_trait;
use model::flow::Flow;
use model::permission::{Act, Action, Ask, Asker, Gate, Layer, Policy, Reach, Reply, Rule};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

struct Always;

#[async_trait]
impl Asker for Always {
    async fn ask(&self, _: &Ask, _: &CancellationToken) -> Option<Reply> {
        Some(Reply::Always)
    }
}

fn layer(rules: Vec<Rule>) -> Layer {
    Layer { origin: "case".to_owned(), reach: Reach::Full, rules }
}

fn gate(layers: Vec<Layer>, home: Option<PathBuf>) -> Arc<Gatekeeper> {
    let options = GateOptions { policy: Policy { layers }, approvals: Vec::new(), home, flow: Flow::default() };
    Gatekeeper::new(options, Arc::new(Memory::default()), Arc::new(Always), Arc::new(Silent))
}

fn text<'c>(case: &'c Value, key: &str) -> &'c str {
    case[key].as_str().unwrap_or_default()
}

fn rules(value: &Value) -> Vec<Rule> {
    if value.is_null() { Vec::new() } else { serde_json::from_value(value.clone()).expect("rules of a case") }
}

/// Whether `got` is what the case expects, or one of the things that it accepts.
fn accepted(expect: &Value, got: Action) -> Result<(), String> {
    let got = serde_json::to_value(got).expect("an action");
    let fits = expect.as_array().map_or(*expect == got, |any| any.contains(&got));
    if fits { Ok(()) } else { Err(format!("expected {expect}, got {got}")) }
}

fn rule(case: &Value) -> Result<(), String> {
    let policy = Policy { layers: vec![layer(rules(&case["rules"]))] };
    let request = &case["request"];
    accepted(&case["expect"], policy.decide(text(request, "permission"), text(request, "pattern")).action)
}

fn bash(case: &Value) -> Result<(), String> {
    let home = PathBuf::from(text(case, "home"));
    let (worktree, cwd, line) = (text(case, "worktree"), text(case, "cwd"), text(case, "command"));
    let scan = shell::scan(line, Path::new(cwd), Path::new(worktree), Some(&home));
    let found: Vec<&str> = scan.commands.iter().map(|c| c.text.as_str()).collect();
    if let Some(want) = case["expect_subcommands"].as_array()
        && found != want.iter().filter_map(Value::as_str).collect::<Vec<_>>()
    {
        return Err(format!("sub-commands {found:?}"));
    }
    for want in case["expect_external"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !scan.external.iter().any(|d| d == Path::new(want)) {
            return Err(format!("{want} is not among {:?}", scan.external));
        }
    }
    let act = Act::Shell { line: line.to_owned(), cwd: cwd.into() };
    accepted(
        &case["expect"],
        gate(vec![layer(rules(&case["rules"]))], Some(home)).decide(&actor(worktree, "bash"), &act),
    )
}

/// The decision only: joined and made normal as the file capability does where no links are.
fn path(case: &Value) -> Result<(), String> {
    let worktree = text(case, "worktree");
    let path = Path::new(worktree).join(text(case, "path"));
    let act = match text(case, "tool") {
        "write" | "edit" => Act::Write { path },
        _ => Act::Read { path },
    };
    accepted(
        &case["expect"],
        gate(vec![layer(rules(&case["rules"]))], None).decide(&actor(worktree, text(case, "tool")), &act),
    )
}

async fn always(case: &Value) -> Result<(), String> {
    let gate = gate(vec![layer(rules(&case["rules"]))], None);
    let shell = |key| Act::Shell { line: text(case, key).to_owned(), cwd: "/w".into() };
    let actor = actor("/w", "bash");
    let approved = gate.permit(&actor, &[shell("approve")], Value::Null, &CancellationToken::new()).await;
    approved.map_err(|denial| format!("the first line: {denial}"))?;
    accepted(&case["expect"], gate.decide(&actor, &shell("then")))
}

/// A child's rules come on top of its parent's and may only narrow them.
fn subagent(case: &Value) -> Result<(), String> {
    let child = Layer { reach: Reach::NarrowOnly, ..layer(rules(&case["child"])) };
    let policy = Policy { layers: vec![layer(rules(&case["parent"])), child] };
    let request = &case["request"];
    accepted(&case["expect"], policy.decide(text(request, "permission"), text(request, "pattern")).action)
}

fn cases() -> Option<Vec<Value>> {
    #[expect(clippy::disallowed_methods, reason = "where the cases lie is the tester's affair")]
    let shared = std::env::var_os("AIRLOCK_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let file = std::fs::read_to_string(shared.join("cases/D.json")).ok()?;
    let file: Value = serde_json::from_str(&file).expect("the case file is JSON");
    Some(file["cases"].as_array().expect("a list of cases").clone())
}

#[tokio::test]
async fn every_case_of_area_d_holds() {
    let Some(cases) = cases() else {
        println!("skipped: the shared cases are not there (AIRLOCK_SHARED names their folder)");
        return;
    };
    let mut failures = Vec::new();
    for case in &cases {
        let outcome = match text(case, "type") {
            "rule" => rule(case),
            "bash" => bash(case),
            "path" => path(case),
            "always" => always(case).await,
            "subagent" => subagent(case),
            other => Err(format!("a case of the unknown type `{other}`")),
        };
        failures.extend(outcome.err().map(|why| format!("{}: {why}", text(case, "id"))));
    }
    assert!(failures.is_empty(), "{} of {} cases:\n{}", failures.len(), cases.len(), failures.join("\n"));
}
