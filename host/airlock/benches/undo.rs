//! A thousand writes are taken back and put back, on the real disk with the real ledger. The bound is 300 ms each.

#![expect(clippy::expect_used, reason = "a bench that cannot go on has nothing to measure")]

use agent::Clock;
use agent::journal::Rewinder;
use criterion::{Criterion, criterion_group, criterion_main};
use model::id::{CallId, MessageId, SessionId};
use model::journal::{Entry, Journal, Op};
use model::message::Message;
use model::owner::Owner;
use model::session::Session;
use model::store::{Change, Store};
use model::undo::{Disk, Reach};
use runtime::caps::fs::Restorer;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::Ledger;

const WRITES: usize = 1000;

struct Stopped;

impl Clock for Stopped {
    fn now_ms(&self) -> u64 {
        0
    }
}

/// A session whose one prompt led to a thousand writes, half of them of new files.
async fn worked(ledger: &Ledger, root: &Path) -> SessionId {
    let model = json!({"providerID": "a", "modelID": "b"});
    let session: Session = serde_json::from_value(json!({"id": "ses_bench", "title": "t", "directory": root, "worktree": root,
        "agent": "build", "model": model, "version": "0", "cost": 0.0,
        "tokens": {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}, "time": {"created": 1, "updated": 1}}))
    .expect("a session");
    let message: Message = serde_json::from_value(json!({"role": "user", "id": "msg_1", "sessionID": session.id,
        "time": {"created": 1}, "agent": "build", "model": model}))
    .expect("a message");
    let part =
        serde_json::from_value(json!({"id": "prt_1", "sessionID": session.id, "messageID": "msg_1", "type": "text",
        "text": "Do it."}))
        .expect("a part");
    let all = vec![Change::Session(session.clone()), Change::Message(message.clone()), Change::Part(part)];
    ledger.apply(all).await.expect("a session");
    for i in 0..WRITES {
        write(ledger, &session.id, message.id(), &root.join(format!("f{i}")), i).await;
    }
    session.id
}

async fn write(ledger: &Ledger, session: &SessionId, message: &MessageId, path: &Path, i: usize) {
    if i.is_multiple_of(2) {
        std::fs::write(path, format!("old {i}\n").repeat(200)).expect("a file");
    }
    let before = keep(ledger, path).await;
    let op = if i.is_multiple_of(2) { Op::Write } else { Op::Create };
    let (session, message, call) = (session.clone(), message.clone(), CallId::given("c"));
    let entry = Entry { session, message, call, tool: "write".into(), op, path: path.into(), before, time: 1 };
    let id = ledger.begin(entry).await.expect("an entry");
    std::fs::write(path, format!("new {i}\n").repeat(200)).expect("a file");
    let after = keep(ledger, path).await;
    ledger.finish(id, after).await.expect("an end");
}

async fn keep(ledger: &Ledger, path: &Path) -> model::journal::Image {
    let image = Restorer.look(path).expect("a look").image;
    if let Some((hash, content)) = Restorer.read(path).expect("a content") {
        ledger.keep(&hash, content).await.expect("a content kept");
    }
    image
}

fn undo(c: &mut Criterion) {
    let (data, work) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let root = work.path().canonicalize().expect("its real path");
    let tokio = tokio::runtime::Builder::new_multi_thread().build().expect("a runtime");
    let ledger = Ledger::of(&Owner::local(), data.path()).expect("a ledger");
    let session = tokio.block_on(worked(&ledger, &root));
    let rewinder = Rewinder { ledger, disk: Arc::new(Restorer), clock: Arc::new(Stopped) };
    let mut timed = |name: &str, back: bool| {
        c.bench_function(name, |b| {
            b.iter_custom(|times| {
                let mut spent = Duration::ZERO;
                for _ in 0..times {
                    let begun = Instant::now();
                    tokio.block_on(rewinder.undo(&session, None, Reach::Both)).expect("an undo");
                    let undone = begun.elapsed();
                    let begun = Instant::now();
                    tokio.block_on(rewinder.redo(&session, Reach::Both)).expect("a redo");
                    spent += if back { begun.elapsed() } else { undone };
                }
                spent
            });
        });
    };
    timed("undo 1,000 writes", false);
    timed("redo 1,000 writes", true);
}

criterion_group! { name = benches; config = Criterion::default().sample_size(10); targets = undo }
criterion_main!(benches);
