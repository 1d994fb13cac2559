//! Tools: what a call gives, and how each way of failing reads.

use crate::guests::guest;
use crate::stage::{Answer, Stage};
use model::fault::FailureKind;
use model::tool::ProgressSink;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

fn stage(name: &'static str) -> Stage {
    Stage::new(&[(name, guest(name))])
}

/// Runs the guest's tool, which must fail so, within the time; then the host must still serve another.
async fn fails(name: &'static str, kind: FailureKind, part: &str, within: Duration) {
    let stage = Stage::new(&[(name, guest(name)), ("echo", guest("echo"))]);
    let begun = Instant::now();
    let failure = stage.run(name, Answer::Yes).await.unwrap_err();
    assert!(begun.elapsed() < within, "{name}: {:?}", begun.elapsed());
    assert_eq!(failure.kind, kind, "{name}: {failure}");
    assert!(failure.message.contains(part), "{name}: {failure}");
    assert!(stage.run("echo", Answer::Yes).await.is_ok(), "{name}: the host lives");
}

#[tokio::test]
async fn a_tool_is_called_through_the_set_of_tools() {
    let stage = stage("echo");
    let specs = stage.tools(Answer::Yes).specs();
    assert_eq!(specs.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["echo"]);
    assert!(specs[0].annotations.read_only && !specs[0].annotations.destructive);

    let out = stage.run_with("echo", json!({"a": [1, "ü"]}), Answer::Yes).await.unwrap();
    assert_eq!(out.text, r#"{"a":[1,"ü"]}"#);
    assert_eq!(out.title, stage.workspace.path().canonicalize().unwrap().to_str().unwrap());
    assert_eq!(serde_json::Value::Object(out.metadata), json!({"agent": "build", "now": 7}));
    let reported = stage.progress.0.lock().unwrap().clone();
    assert_eq!(reported.len(), 1);
    assert_eq!(reported[0].title.as_deref(), Some("at work"));
    assert_eq!(reported[0].metadata.as_ref().and_then(|m| m.get("half")), Some(&json!(true)));
}

#[tokio::test]
async fn a_thread_of_one_is_enough() {
    assert!(stage("echo").run("echo", Answer::Yes).await.is_ok());
}

#[tokio::test]
async fn a_tool_that_is_not_there() {
    let failure = stage("echo").run("nothing", Answer::Yes).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Unavailable);
    assert!(failure.message.contains("`nothing`") && failure.message.contains("echo"), "{failure}");
}

#[tokio::test]
async fn a_crash_tells_what_was_printed() {
    fails("trap", FailureKind::Trap, "the guest gave up", Duration::from_secs(20)).await;
}

#[tokio::test]
async fn endless_computing_ends() {
    fails("spin", FailureKind::TimedOut, "300ms of computing", Duration::from_secs(20)).await;
}

#[tokio::test]
async fn endless_sleep_ends() {
    fails("sleeper", FailureKind::TimedOut, "1.5s", Duration::from_secs(20)).await;
}

#[tokio::test]
async fn memory_is_bounded() {
    fails("hog", FailureKind::Limit, "64 MiB of memory", Duration::from_secs(30)).await;
}

#[tokio::test]
async fn a_result_is_bounded() {
    fails("flood", FailureKind::Limit, "larger than 1024 KiB", Duration::from_secs(30)).await;
    let failure = stage("flood").run_with("flood", json!({"attachment": true}), Answer::Yes).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Limit, "{failure}");
}

#[tokio::test]
async fn prints_and_reports_are_swallowed_beyond_their_budget() {
    let stage = stage("chatter");
    assert_eq!(stage.run("chatter", Answer::Yes).await.unwrap().text, "said");
}

#[tokio::test]
async fn metadata_that_is_no_object_breaks_the_contract() {
    fails("liar", FailureKind::Trap, "metadata is not a JSON object", Duration::from_secs(20)).await;
}

/// The promise: within 250 ms, whether the guest sleeps or computes. The rest is the machine's.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_ends_at_once() {
    for name in ["sleeper", "spin"] {
        let stage = stage(name);
        let (cancel, progress) = (CancellationToken::new(), Arc::clone(&stage.progress) as Arc<dyn ProgressSink>);
        let (tools, call) = (stage.tools(Answer::Yes), stage.call(name, json!({})));
        let running = tokio::spawn({
            let cancel = cancel.clone();
            async move { tools.call(call, progress, cancel).await }
        });
        tokio::time::sleep(Duration::from_millis(100)).await;
        let begun = Instant::now();
        cancel.cancel();
        let failure = running.await.unwrap().unwrap_err();
        assert!(begun.elapsed() < Duration::from_millis(250), "{name}: {:?}", begun.elapsed());
        assert_eq!(failure.kind, FailureKind::Interrupted, "{name}: {failure}");
    }
}

#[tokio::test]
async fn the_time_of_a_question_does_not_count() {
    let out = stage("patient").run("patient", Answer::YesAfter(Duration::from_millis(900))).await.unwrap();
    assert_eq!(out.text, "permitted");
}

#[tokio::test]
async fn a_call_that_fails_after_a_refusal_fails_for_that_reason() {
    let stage = stage("writer");
    let failure = stage.run_with("writer", json!({"file": "a.txt"}), Answer::No).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Denied, "{failure}");
    assert!(failure.message.contains("deny *:*"), "{failure}");
    assert!(!stage.workspace.path().join("a.txt").exists());
    let denied = stage_patient_denied().await;
    assert_eq!(denied.kind, FailureKind::Denied, "{denied}");
}

async fn stage_patient_denied() -> model::tool::ToolFailure {
    stage("patient").run("patient", Answer::No).await.unwrap_err()
}

#[tokio::test]
async fn a_permitted_write_is_written() {
    let stage = stage("writer");
    stage.run_with("writer", json!({"file": "a.txt"}), Answer::Yes).await.unwrap();
    assert_eq!(std::fs::read_to_string(stage.workspace.path().join("a.txt")).unwrap(), "written");
}

#[tokio::test]
async fn without_a_grant_nothing_lies_outside() {
    let stage = stage("outsider");
    std::fs::write(stage.workspace.path().join("file"), "x").unwrap();
    let out = stage.run("outsider", Answer::Yes).await.unwrap();
    assert_eq!(out.text, "env 0 args 0 tcp false dns false file false secret false");
}

#[tokio::test]
async fn a_program_runs_in_the_workspace() {
    let stage = stage("runner");
    std::fs::write(stage.workspace.path().join("here"), "x").unwrap();
    let out = stage.run_with("runner", json!({"line": "ls; exit 3"}), Answer::Yes).await.unwrap();
    assert_eq!(out.text, "here\nExit::Code(3)");
    let failure = stage.run_with("runner", json!({"line": "ls"}), Answer::No).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Denied, "{failure}");
}

/// Many calls at once of one component: each its own instance, and more than there are places waits.
#[tokio::test]
async fn many_calls_at_once() {
    let stage = Arc::new(stage("echo"));
    let calls = (0..300).map(|n| {
        let stage = Arc::clone(&stage);
        tokio::spawn(async move { (n, stage.run_with("echo", json!({"n": n}), Answer::Yes).await) })
    });
    for ended in futures::future::join_all(calls).await {
        let (n, out) = ended.unwrap();
        assert_eq!(out.unwrap().text, format!(r#"{{"n":{n}}}"#));
    }
}

/// On one thread, as the product runs its loop: sockets and timers get their turn while a guest computes there.
#[tokio::test]
async fn timers_go_on_beside_a_guest_that_computes() {
    let stage = stage("spin");
    let (tools, progress) = (stage.tools(Answer::Yes), Arc::clone(&stage.progress) as Arc<dyn ProgressSink>);
    let running = tools.call(stage.call("spin", json!({})), progress, CancellationToken::new());
    tokio::pin!(running);
    let (mut clock, mut ticks) = (tokio::time::interval(Duration::from_millis(20)), 0);
    clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let failure = loop {
        tokio::select! {
            biased;
            _ = clock.tick() => ticks += 1,
            ended = &mut running => break ended.unwrap_err(),
        }
    };
    assert_eq!(failure.kind, FailureKind::TimedOut);
    // It computes for 300 ms; a clock that is looked at once in sixty turns of 10 ms ticks once.
    assert!(ticks > 2, "{ticks} ticks");
}
