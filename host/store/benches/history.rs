//! A session of 10,000 messages is opened. The bound is 100 ms.

#![expect(clippy::expect_used, reason = "a bench that cannot go on has nothing to measure")]

use criterion::{Criterion, criterion_group, criterion_main};
use model::id::SessionId;
use model::message::{Message, Part};
use model::owner::Owner;
use model::session::Session;
use model::store::{Change, Store};
use serde_json::{Value, json};
use std::hint::black_box;
use store::Ledger;

const MESSAGES: usize = 10_000;

fn record<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("a record")
}

/// A prompt, then answers that each make a call.
fn message(session: &str, i: usize) -> Vec<Change> {
    let model = json!({"providerID": "a", "modelID": "b"});
    let tokens = json!({"input": 100, "output": 10, "reasoning": 0, "cache": {"read": 0, "write": 0}});
    let id = format!("msg_{i}");
    let part = |n: usize, mut body: Value| {
        body["id"] = json!(format!("prt_{i}x{n}"));
        body["sessionID"] = json!(session);
        body["messageID"] = json!(id);
        Change::Part(record::<Part>(body))
    };
    if i.is_multiple_of(10) {
        let info = json!({"role": "user", "id": id, "sessionID": session, "time": {"created": 1}, "agent": "build", "model": model});
        return vec![Change::Message(record::<Message>(info)), part(0, json!({"type": "text", "text": "Do it."}))];
    }
    let info = json!({"role": "assistant", "id": id, "sessionID": session, "parentID": "msg_0", "time": {"created": 1, "completed": 2},
        "providerID": "a", "modelID": "b", "agent": "build", "path": {"cwd": "/w", "root": "/w"}, "cost": 0.01, "tokens": tokens,
        "finish": "tool-calls"});
    let state = json!({"status": "completed", "input": {"filePath": "a.txt"}, "output": "line\n".repeat(100), "title": "a.txt",
        "metadata": {}, "time": {"start": 1, "end": 2}});
    vec![
        Change::Message(record::<Message>(info)),
        part(0, json!({"type": "step-start"})),
        part(1, json!({"type": "tool", "callID": "c", "tool": "read", "state": state})),
        part(2, json!({"type": "step-finish", "reason": "tool-calls", "cost": 0.01, "tokens": tokens})),
    ]
}

fn filled(ledger: &Ledger, runtime: &tokio::runtime::Runtime) -> SessionId {
    let id = "ses_bench";
    let session: Session = record(
        json!({"id": id, "title": "t", "directory": "/w", "worktree": "/w", "agent": "build",
        "model": {"providerID": "a", "modelID": "b"}, "version": "0", "cost": 0.0,
        "tokens": {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}, "time": {"created": 1, "updated": 1}}),
    );
    runtime.block_on(ledger.apply(vec![Change::Session(session.clone())])).expect("a session");
    for batch in (0..MESSAGES).collect::<Vec<_>>().chunks(500) {
        let changes = batch.iter().flat_map(|i| message(id, *i)).collect();
        runtime.block_on(ledger.apply(changes)).expect("messages");
    }
    session.id
}

fn history(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a folder");
    let runtime = tokio::runtime::Builder::new_multi_thread().build().expect("a runtime");
    let ledger = Ledger::of(&Owner::local(), dir.path()).expect("a ledger");
    let id = filled(&ledger, &runtime);
    c.bench_function("open 10,000 messages", |b| {
        b.iter(|| black_box(runtime.block_on(ledger.history(&id)).expect("a history")));
    });
}

criterion_group! { name = benches; config = Criterion::default().sample_size(20); targets = history }
criterion_main!(benches);
