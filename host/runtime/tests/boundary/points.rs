//! The hook points around permissions, messages and requests: what a good one changes, and what comes of a fault at each.

use crate::guests::guest;
use crate::stage::Stage;
use model::hook::{
    CallContext, CommandView, Compacting, Hooks, Opinion, Params, PermissionView, TurnContext, UserText,
};
use model::id::{CallId, SessionId};
use model::permission::Action;
use model::provider::{ChatMessage, ChatPart, ModelRef, Role, ToolDecl};
use runtime::HookUse;
use serde_json::json;
use std::sync::Arc;

fn chain(stage: &Stage, names: &[&str], may_allow: bool) -> Arc<dyn Hooks> {
    let uses: Vec<_> = names.iter().map(|n| HookUse { name: (*n).into(), may_allow }).collect();
    stage.runtime.hooks(&uses).unwrap()
}

fn stage() -> Stage {
    Stage::new(&[
        ("points-good", guest("points-good")),
        ("points-trap", guest("points-trap")),
        ("points-liar", guest("points-liar")),
    ])
}

fn turn() -> TurnContext {
    let model = ModelRef::parse("p/m").unwrap();
    TurnContext { session: SessionId::new(), agent: "build".into(), model }
}

fn call() -> CallContext {
    CallContext {
        session: SessionId::new(),
        call: CallId::given("c"),
        agent: "build".into(),
        tool: "bash".into(),
        workspace: "/w".into(),
        now_ms: 1,
    }
}

fn request(tool: &str) -> PermissionView {
    PermissionView {
        session: SessionId::new(),
        call: CallId::given("c"),
        agent: "build".into(),
        tool: tool.into(),
        needs: vec![("edit".into(), "a".into())],
        by_rules: Action::Ask,
    }
}

fn said(text: &str) -> UserText {
    UserText { text: text.into(), notes: vec![] }
}

fn decl() -> ToolDecl {
    ToolDecl { name: "t".into(), description: "Does.".into(), input_schema: "{}".into() }
}

fn plan() -> Compacting {
    Compacting { go_on: true, ..Compacting::default() }
}

fn command() -> CommandView {
    CommandView { name: "c".into(), arguments: String::new(), text: "text".into() }
}

fn messages(text: &str) -> Vec<Arc<ChatMessage>> {
    vec![Arc::new(ChatMessage { role: Role::User, parts: vec![ChatPart::Text(text.into())] })]
}

#[tokio::test]
async fn a_good_hook_has_its_effect_at_each_point() {
    let stage = stage();
    let (hooks, turn) = (chain(&stage, &["points-good"], true), turn());
    assert_eq!(hooks.message(&turn, said("hi")).await, UserText { text: "hi!".into(), notes: vec!["note".into()] });
    assert_eq!(hooks.messages(&turn, messages("long")).await, messages("short"));
    assert_eq!(hooks.system(&turn, vec!["a".into()]).await, ["a", "block"]);
    let params = hooks.params(&turn, Params { max_output_tokens: Some(9), ..Params::default() }).await;
    let expected = Params { temperature: Some(0.5), max_output_tokens: Some(9), options: Some(json!({"k": 1})) };
    assert_eq!(params, expected);
    assert_eq!(hooks.headers(&turn).await, [("x-model".into(), "p/m".into())]);
    assert_eq!(hooks.tool_spec(&turn, decl()).await.description, "Does. Marked.");
    // What decides which code a program loads is nobody's to set.
    assert_eq!(hooks.process_env(&call()).await, [("TOOL".into(), "bash".into())]);
    assert_eq!(hooks.command(&turn, command()).await.text, "TEXT");
    assert!(!hooks.compacting(&turn, plan()).await.go_on);
    assert_eq!(hooks.stop(&turn, "it", 0).await.as_deref(), Some("more than \"it\""));
    assert_eq!(hooks.stop(&turn, "it", 1).await, None);
}

#[tokio::test]
async fn an_allow_counts_only_where_it_was_granted() {
    let stage = stage();
    for (may_allow, expected) in [(true, Opinion::Allow), (false, Opinion::None)] {
        let hooks = chain(&stage, &["points-good"], may_allow);
        assert_eq!(hooks.permission(&request("read")).await, expected);
        assert_eq!(hooks.permission(&request("watched")).await, Opinion::Ask);
        assert!(
            matches!(hooks.permission(&request("forbidden")).await, Opinion::Deny(d) if d.reason == "not this one")
        );
    }
}

/// A gate that fails denies, whatever the others say; a transformer that fails changes nothing; an observer is ignored.
#[tokio::test]
async fn a_fault_has_the_outcome_of_its_point() {
    let stage = stage();
    let turn = turn();
    let denied = chain(&stage, &["points-good", "points-trap"], true).permission(&request("read")).await;
    assert!(matches!(denied, Opinion::Deny(d) if d.hook == "points-trap" && d.reason.contains("nothing passes")));
    for name in ["points-trap", "points-liar"] {
        let hooks = chain(&stage, &[name], false);
        assert_eq!(hooks.message(&turn, said("hi")).await, said("hi"), "{name}");
        assert_eq!(hooks.messages(&turn, messages("long")).await, messages("long"), "{name}");
        assert_eq!(hooks.system(&turn, vec!["a".into()]).await, ["a"], "{name}");
        assert_eq!(hooks.params(&turn, Params::default()).await, Params::default(), "{name}");
        assert_eq!(hooks.tool_spec(&turn, decl()).await, decl(), "{name}");
        assert_eq!(hooks.process_env(&call()).await, [], "{name}");
        assert_eq!(hooks.command(&turn, command()).await, command(), "{name}");
        assert_eq!(hooks.compacting(&turn, plan()).await, plan(), "{name}");
        assert_eq!(hooks.stop(&turn, "it", 0).await, None, "{name}");
        hooks.event(&model::event::Event::Finished { session: SessionId::new(), outcome: outcome() });
        hooks.settle().await;
    }
    assert_eq!(chain(&stage, &["points-trap"], true).headers(&turn).await, []);
}

fn outcome() -> model::event::RunOutcome {
    model::event::RunOutcome {
        ending: model::event::Ending::Done,
        finish: model::message::FinishReason::Stop,
        text: String::new(),
        cost: Default::default(),
        tokens: model::budget::Tokens::default(),
        steps: 1,
    }
}
