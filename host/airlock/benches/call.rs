//! A call of a bundled tool whose code is there, with a fresh instance as each call has: `todowrite`, which does next to nothing itself,
//! and `read` on a small file. The bound is 100 µs over a tool's own work.

#![expect(clippy::expect_used, reason = "a bench that cannot go on has nothing to measure")]

use async_trait::async_trait;
use criterion::{Criterion, criterion_group, criterion_main};
use model::grant::CallGrant;
use model::id::{CallId, MessageId, SessionId};
use model::journal::{Entry, EntryId, Image, Journal, JournalError, Seen};
use model::permission::{Act, Action, Actor, Denial, Gate};
use model::tool::{Progress, ProgressSink, ToolCall, Tools};
use runtime::{Bundled, Learnt, Runtime, RuntimeOptions};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

include!(concat!(env!("OUT_DIR"), "/bundled.rs"));

/// Says yes and remembers nothing.
struct Yes;

#[async_trait]
impl Gate for Yes {
    fn decide(&self, _: &Actor, _: &Act) -> Action {
        Action::Allow
    }

    async fn permit(&self, _: &Actor, _: &[Act], _: Value, _: &CancellationToken) -> Result<(), Denial> {
        Ok(())
    }
}

#[async_trait]
impl Journal for Yes {
    async fn keep(&self, _: &str, _: Vec<u8>) -> Result<(), JournalError> {
        Ok(())
    }
    async fn begin(&self, _: Entry) -> Result<EntryId, JournalError> {
        Ok(EntryId(1))
    }
    async fn finish(&self, _: EntryId, _: Image) -> Result<(), JournalError> {
        Ok(())
    }
    async fn seen(&self, _: &SessionId, _: &Path) -> Result<Option<Seen>, JournalError> {
        Ok(None)
    }
    async fn mark_seen(&self, _: &SessionId, _: &Path, _: Seen) -> Result<(), JournalError> {
        Ok(())
    }
}

impl ProgressSink for Yes {
    fn update(&self, _: Progress) {}
}

fn call(root: &Path, tool: &str, input: Value) -> ToolCall {
    ToolCall {
        session: SessionId::new(),
        message: MessageId::new(),
        call: CallId::given("bench"),
        agent: "build".into(),
        tool: tool.into(),
        input,
        workspace: root.into(),
        worktree: root.into(),
        grant: CallGrant { reads: vec![root.join("small.txt")], ..CallGrant::default() },
        env: vec![],
        now_ms: 0,
    }
}

async fn made(tools: &dyn Tools, call: ToolCall) {
    let output = tools.call(call, Arc::new(Yes), CancellationToken::new()).await.expect("it ends well");
    std::hint::black_box(output);
}

fn calls(c: &mut Criterion) {
    let home = tempfile::tempdir().expect("a home");
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("its real path");
    std::fs::write(root.join("small.txt"), "a line of text\n".repeat(20)).expect("a file");
    let runtime = Runtime::open(RuntimeOptions::below(home.path(), BUNDLED.to_vec())).expect("a runtime");
    let tools = runtime.tools(Arc::new(Yes), Arc::new(Yes));
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("an executor");
    let todo = json!({ "todos": [{ "content": "look", "status": "pending", "priority": "high" }] });
    let mut group = c.benchmark_group("call");
    for (tool, input) in [("todowrite", todo), ("read", json!({ "filePath": root.join("small.txt") }))] {
        let one = call(&root, tool, input);
        group.bench_function(tool, |b| b.to_async(&tokio).iter(|| made(tools.as_ref(), one.clone())));
    }
    group.finish();
}

criterion_group!(benches, calls);
criterion_main!(benches);
