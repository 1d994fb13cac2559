//! The points where hooks see a run.

use super::*;
use async_trait::async_trait;
use model::event::Ending;
use model::hook::{CallContext, Hooks, Params, TurnContext, UserText};
use model::provider::{ChatMessage, ChatPart, Extra, ToolDecl};
use serde_json::json;
use std::sync::Arc;

/// Marks all that it sees, and wants `again` twice more often than it is allowed to.
struct Marks {
    again: u32,
}

#[async_trait]
impl Hooks for Marks {
    async fn message(&self, _: &TurnContext, said: UserText) -> UserText {
        UserText { text: format!("{} (seen)", said.text), notes: vec!["a note".into()] }
    }
    async fn messages(&self, _: &TurnContext, mut messages: Vec<Arc<ChatMessage>>) -> Vec<Arc<ChatMessage>> {
        Arc::make_mut(&mut messages[0]).parts.push(ChatPart::Text("sent only".into()));
        messages
    }
    async fn system(&self, _: &TurnContext, mut blocks: Vec<String>) -> Vec<String> {
        blocks.push("a block".into());
        blocks
    }
    async fn params(&self, _: &TurnContext, _: Params) -> Params {
        Params { temperature: Some(0.5), max_output_tokens: Some(7), options: Some(json!({"k": 1})) }
    }
    async fn headers(&self, context: &TurnContext) -> Vec<(String, String)> {
        vec![("x-agent".into(), context.agent.clone())]
    }
    async fn tool_spec(&self, _: &TurnContext, decl: ToolDecl) -> ToolDecl {
        ToolDecl { name: "renamed".into(), description: "Marked.".into(), ..decl }
    }
    async fn process_env(&self, context: &CallContext) -> Vec<(String, String)> {
        vec![("TOOL".into(), context.tool.clone())]
    }
    async fn stop(&self, _: &TurnContext, answer: &str, round: u32) -> Option<String> {
        (round < self.again).then(|| format!("not yet after {answer:?}"))
    }
}

#[tokio::test(start_paused = true)]
async fn each_point_has_its_effect() {
    let mut s =
        stage(vec![calls(&[("1", "bash", r#"{"command":"ls"}"#), ("2", "read", r#"{"path":"a"}"#)]), answers("ok")]);
    s.hooks = Arc::new(Marks { again: 0 });
    let left = s.run().await;
    let request = &left.provider.requests()[0];
    let texts = ["go (seen)", "a note", "sent only"].map(|t| ChatPart::Text(t.into()));
    assert_eq!(request.messages[0].parts, texts);
    assert_eq!(request.system.last().map(|b| &**b), Some("a block"));
    assert_eq!((request.temperature, request.max_output_tokens), (Some(0.5), Some(7)));
    let headers = vec![("x-agent".into(), "build".into())];
    assert_eq!(request.extra, Extra { options: Some(json!({"k": 1})), headers });
    assert!(request.tools.iter().any(|t| t.name == "bash"), "a tool keeps its name");
    assert!(request.tools.iter().all(|t| t.description == "Marked."), "{:?}", request.tools);
    let env: Vec<_> = left.tools.calls().into_iter().map(|c| (c.tool, c.env)).collect();
    assert!(env.contains(&("bash".into(), vec![("TOOL".into(), "bash".into())])), "{env:?}");
    assert!(env.contains(&("read".into(), vec![])), "a call that only reads runs no programs: {env:?}");
}

#[tokio::test(start_paused = true)]
async fn a_hook_goes_on_at_most_three_times() {
    for (again, requests) in [(0, 1), (1, 2), (9, 4)] {
        let mut s = stage((0..requests).map(|_| answers("ok")).collect());
        s.hooks = Arc::new(Marks { again });
        let left = s.run().await;
        assert_eq!((left.outcome.ending, left.provider.requests().len()), (Ending::Done, requests));
    }
}

#[tokio::test(start_paused = true)]
async fn the_prefix_holds_between_runs_whatever_changes() {
    let block = |text: &str| crate::prefix::Instruction { source: "AGENTS.md".into(), text: text.into() };
    let mut s = stage(vec![answers("one")]);
    s.options.instructions = vec![block("first")];
    let first = s.run().await;
    let mut s = Stage::resumed(&first, vec![answers("two")]);
    s.options.instructions = vec![block("second")];
    let second = s.run().await;
    let (before, after) = (&first.provider.requests()[0], &second.provider.requests()[0]);
    assert_eq!(before.system, after.system);
    assert_eq!(after.messages[0], before.messages[0]);
    let told = ChatPart::Text("These instructions hold from now on.\nsecond".into());
    assert_eq!(after.messages[2].parts, [told, ChatPart::Text("go".into())]);
}
