//! Hooks: the chain, and the fault outcome of each point for each way of failing.

use crate::guests::guest;
use crate::stage::Stage;
use model::hook::{CallContext, Hooks, ResultView, TextContext};
use model::id::{CallId, MessageId, PartId, SessionId};
use model::tool_state::Metadata;
use runtime::HookUse;
use serde_json::json;
use std::sync::Arc;

fn chain(stage: &Stage, names: &[&str]) -> Arc<dyn Hooks> {
    stage.runtime.hooks(&names.iter().map(|n| HookUse::from(*n)).collect::<Vec<_>>()).unwrap()
}

fn text_context() -> TextContext {
    TextContext { session: SessionId::new(), message: MessageId::new(), part: PartId::new() }
}

fn call_context(tool: &str) -> CallContext {
    CallContext {
        session: SessionId::new(),
        call: CallId::given("c"),
        agent: "build".into(),
        tool: tool.into(),
        workspace: "/w".into(),
        now_ms: 1,
    }
}

fn view() -> ResultView {
    ResultView { title: "t".into(), text: "result".into(), metadata: Metadata::new() }
}

#[tokio::test]
async fn each_hook_sees_what_the_one_before_returned() {
    let stage = Stage::new(&[("hook-good", guest("hook-good"))]);
    let hooks = chain(&stage, &["hook-good", "hook-good"]);
    assert_eq!(hooks.text_complete(&text_context(), "hi".into()).await, "hi!!");
    let input = hooks.tool_before(&call_context("read"), json!({"a": 1})).await.unwrap();
    assert_eq!(input, json!({"a": 1, "seen": true}));
    let after = hooks.tool_after(&call_context("read"), &json!({}), view()).await;
    assert_eq!((after.text.as_str(), after.title.as_str()), ("RESULT", "t"));
}

#[tokio::test]
async fn a_hook_refuses_with_its_reason() {
    let stage = Stage::new(&[("hook-good", guest("hook-good"))]);
    let denial = chain(&stage, &["hook-good"]).tool_before(&call_context("forbidden"), json!({})).await.unwrap_err();
    assert_eq!((denial.hook.as_str(), denial.reason.as_str()), ("hook-good", "not this one"));
}

/// A gate that fails denies; a transformer that fails changes nothing; what comes after it in the chain still works.
#[tokio::test]
async fn fault_outcomes() {
    for (name, why) in [
        ("hook-trap", "before"),
        ("hook-spin", "1s"),
        ("hook-hog", "64 MiB of memory"),
        ("hook-liar", "not a JSON object"),
    ] {
        let stage = Stage::new(&[(name, guest(name)), ("hook-good", guest("hook-good"))]);
        let hooks = chain(&stage, &[name, "hook-good"]);
        assert_eq!(hooks.text_complete(&text_context(), "hi".into()).await, "hi!", "{name}");
        let denial = hooks.tool_before(&call_context("read"), json!({})).await.unwrap_err();
        assert_eq!(denial.hook, name);
        assert!(denial.reason.contains(why), "{name}: {}", denial.reason);
        let after = hooks.tool_after(&call_context("read"), &json!({}), view()).await;
        assert_eq!(after.text, "RESULT", "{name}");
    }
}

#[test]
fn a_hook_that_is_not_there() {
    let stage = Stage::new(&[("echo", guest("echo")), ("hook-good", guest("hook-good"))]);
    for name in ["echo", "nothing"] {
        let error = stage.runtime.hooks(&[name.into()]).err().unwrap().to_string();
        assert!(error.contains(name) && error.contains("hook-good"), "{error}");
    }
}
