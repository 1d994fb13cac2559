//! Thousands of calls that wait for a person at once: what they hold, and who works meanwhile.

use crate::guests::guest;
use crate::stage::{Answer, Stage, options};
use async_trait::async_trait;
use model::grant::{Grant, LimitsAsked};
use model::permission::{Act, Action, Actor, Denial, Gate};
use runtime::{Brought, Bundled, Learnt, PluginUse, Runtime, RuntimeOptions, Share, Use};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

const WAITING: usize = 5000;
/// 300 MiB for five thousand. Without optimisation the host's own frames take thrice the room.
const MOST_KIB: usize = if cfg!(debug_assertions) { 600 << 10 } else { 300 << 10 };

/// A person who is asked and does not answer yet.
struct Slow {
    asked: AtomicUsize,
    answers: Semaphore,
}

#[async_trait]
impl Gate for Slow {
    fn decide(&self, _: &Actor, _: &Act) -> Action {
        Action::Ask
    }

    async fn permit(&self, _: &Actor, _: &[Act], _: Value, _: &CancellationToken) -> Result<(), Denial> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        drop(self.answers.acquire().await);
        Ok(())
    }
}

/// Memory of this process that is in use, in KiB.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// The guest `patient`, with more time than it asks for.
fn patient(stage: &Stage) -> Arc<Runtime> {
    let path = stage.home.path().join("patient.wasm");
    std::fs::write(&path, guest("patient")).unwrap();
    let limits = LimitsAsked { wall_ms: Some(600_000), ..LimitsAsked::default() };
    let grant = Some(Grant { limits, ..Grant::default() });
    let plugins = vec![PluginUse { name: "patient".into(), how: Use::File { path, grant } }];
    let brought = Brought { plugins, ..Brought::default() };
    // What their linear memories come to on paper; little of it is touched.
    let share = Share { memory: 16 << 30, ..Share::default() };
    let echo = Bundled { name: "echo", bytes: guest("echo"), learnt: Learnt::AtStart };
    Runtime::open(RuntimeOptions { brought, share, ..options(stage.home.path(), vec![echo]) }).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_wait_for_an_answer() {
    let stage = Stage::new(&[]);
    let stage = Stage { runtime: patient(&stage), ..stage };
    let _ = stage.run("patient", Answer::Yes).await.unwrap();
    let gate = Arc::new(Slow { asked: AtomicUsize::new(0), answers: Semaphore::new(0) });
    let tools = stage.runtime.tools(gate.clone(), Arc::new(crate::stage::Memory));
    let before = resident();
    let mut calls: Vec<_> = (0..WAITING)
        .map(|_| {
            let (tools, call, progress) = (tools.clone(), stage.call("patient", json!({})), stage.progress.clone());
            tokio::spawn(async move { tools.call(call, progress, CancellationToken::new()).await })
        })
        .collect();
    while gate.asked.load(Ordering::Relaxed) < WAITING {
        if let Some(ended) = calls.iter_mut().find(|c| c.is_finished()) {
            panic!("one does not wait: {:?}", ended.await);
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let held = resident().saturating_sub(before);
    println!("{WAITING} calls that wait hold {held} KiB");
    assert!(held <= MOST_KIB, "{held} KiB");
    assert!(stage.run("echo", Answer::Yes).await.is_ok(), "others work meanwhile");
    gate.answers.add_permits(WAITING);
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap().text, "permitted");
    }
}
