//! Which calls run, when, beside what; and those that do not.

use super::*;
use crate::testing::provider::{Reply, call, failure};
use model::event::Ending;
use model::message::FinishReason;
use model::permission::{Act, Action, Denial, Rule};
use model::provider::{FailureKind, StreamEvent};
use model::store::Change;
use model::tool_state::ToolState;
use serde_json::json;
use std::sync::Arc;

/// Runs one step of calls and returns what ran, in order.
async fn order(made: &[(&str, &str)]) -> Vec<String> {
    let ids: Vec<String> = (0..made.len()).map(|i| i.to_string()).collect();
    let made: Vec<_> = made.iter().zip(&ids).map(|((name, input), id)| (id.as_str(), *name, *input)).collect();
    let left = stage(vec![calls(&made), answers("done")]).run().await;
    left.assert_closed();
    assert_eq!(left.results().len(), made.len());
    left.tools.seen()
}

#[tokio::test(start_paused = true)]
async fn calls_that_do_not_conflict_run_together() {
    let seen = order(&[("read", r#"{"path":"a","ms":20}"#), ("write", r#"{"path":"b","ms":10}"#)]).await;
    assert_eq!(seen, ["+read:a", "+write:b", "-write:b", "-read:a"]);
}

#[tokio::test(start_paused = true)]
async fn calls_that_conflict_run_in_the_models_order() {
    let check = async |made: &[(&str, &str)], expected: &[&str]| assert_eq!(order(made).await, expected, "{made:?}");
    check(
        &[("write", r#"{"path":"a","ms":20}"#), ("read", r#"{"path":"a"}"#)],
        &["+write:a", "-write:a", "+read:a", "-read:a"],
    )
    .await;
    check(
        &[("read", r#"{"path":"d/x","ms":20}"#), ("write", r#"{"path":"d"}"#)],
        &["+read:d/x", "-read:d/x", "+write:d", "-write:d"],
    )
    .await;
    check(
        &[("bash", r#"{"command":"ls","ms":20}"#), ("read", r#"{"path":"a"}"#)],
        &["+bash:ls", "-bash:ls", "+read:a", "-read:a"],
    )
    .await;
    // The third waits for the first only.
    check(
        &[("write", r#"{"path":"a","ms":20}"#), ("write", r#"{"path":"b","ms":40}"#), ("read", r#"{"path":"a"}"#)],
        &["+write:a", "+write:b", "-write:a", "+read:a", "-read:a", "-write:b"],
    )
    .await;
    // A hook changes where the first one writes: that is what counts, though it takes its time.
    check(
        &[("write", r#"{"swap":"a","slow":1}"#), ("read", r#"{"path":"a"}"#)],
        &["+write:a", "-write:a", "+read:a", "-read:a"],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_read_starts_while_the_model_speaks_and_a_write_does_not() {
    let first = vec![call("1", "read", r#"{"path":"a"}"#), call("2", "write", r#"{"path":"b"}"#)];
    let beats =
        vec![(0, first), (100, vec![call("3", "read", r#"{"path":"b"}"#)]), (100, vec![finish(FinishReason::Stop)])];
    let left = stage(vec![Reply::Stream(beats), answers("done")]).run().await;
    assert_eq!(left.tools.seen(), ["+read:a", "-read:a", "+write:b", "-write:b", "+read:b", "-read:b"]);
    let begun: Vec<u64> = left.tools.calls().iter().map(|c| c.now_ms).collect();
    assert!(begun[0] < 50 && begun[1] >= 200 && begun[2] >= 200, "{begun:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_fails_takes_its_calls_back() {
    let broken = StreamEvent::Failure(failure(FailureKind::Server, true));
    let first = vec![call("1", "read", r#"{"path":"a"}"#), call("2", "write", r#"{"path":"b"}"#)];
    let left = stage(vec![Reply::Stream(vec![(0, first), (50, vec![broken])]), answers("done")]).run().await;
    assert_eq!(left.outcome.ending, Ending::Done);
    assert_eq!(left.tools.seen(), ["+read:a", "-read:a"], "the write never began");
    let dropped: Vec<bool> =
        left.parts().iter().filter(|p| matches!(p.body, PartBody::Tool(_))).map(|p| p.body.is_dropped()).collect();
    assert_eq!(dropped, [true, true]);
    assert_eq!(left.provider.requests()[1].messages, left.provider.requests()[0].messages);
    assert_eq!(left.history.len(), 2, "the second attempt goes on in the same message");
    left.assert_closed();
}

#[tokio::test(start_paused = true)]
async fn a_call_that_acts_is_in_the_ledger_before_it_begins() {
    let left = stage(vec![calls(&[("1", "write", r#"{"path":"a","ms":5}"#)]), answers("done")]).run().await;
    let begun = left.begun + std::time::Duration::from_millis(left.tools.calls()[0].now_ms);
    let noted = left.store.log().into_iter().any(|(at, changes)| {
        at <= begun
            && changes.iter().any(|c| match c {
                Change::Part(p) => matches!(&p.body, PartBody::Tool(t) if matches!(t.state, ToolState::Running { .. })),
                _ => false,
            })
    });
    assert!(noted);
}

/// One call, and how it ended.
async fn result(name: &str, input: &str) -> (String, Vec<String>) {
    let left = stage(vec![calls(&[("1", name, input)]), answers("done")]).run().await;
    assert_eq!(left.outcome.ending, Ending::Done);
    left.assert_closed();
    (left.results().remove(0), left.tools.seen())
}

#[tokio::test(start_paused = true)]
async fn arguments_that_cannot_be_used_are_never_run() {
    let check = async |name: &str, input: &str, expected: &[&str]| {
        let (said, seen) = result(name, input).await;
        for words in expected {
            assert!(said.contains(words), "{name} {input}: {said}");
        }
        assert!(seen.is_empty(), "{name} {input}");
    };
    check("write", r#"{"path":"a","content":"half"#, &["invalid-input: ", "EOF while parsing"]).await;
    check("write", r#"["a"]"#, &["invalid-input: ", "not an object"]).await;
    check("write", "null", &["invalid-input: ", "not an object"]).await;
    check("read", r#"{"path":3}"#, &["invalid-input: ", "/path"]).await;
    check("grep", "{}", &["unavailable: ", "bash, plan_exit, question, read, write"]).await;
    check("write", r#"{"evil":1}"#, &["denied: ", "guard", "evil"]).await;
}

#[tokio::test(start_paused = true)]
async fn arguments_that_can_be_used_are() {
    let check = async |name: &str, input: &str, expected: &[&str]| {
        assert_eq!(result(name, input).await.1, expected, "{name} {input}");
    };
    check("read", "", &["+read:", "-read:"]).await;
    check("read", " \n", &["+read:", "-read:"]).await;
    check("Read", r#"{"path":"a"}"#, &["+read:a", "-read:a"]).await;
    check("read", r#"{"swap":"b"}"#, &["+read:b", "-read:b"]).await;
}

#[tokio::test(start_paused = true)]
async fn no_arguments_after_a_cut_are_no_arguments() {
    let cut = Reply::Stream(vec![(0, vec![call("1", "bash", ""), finish(FinishReason::Length)])]);
    let left = stage(vec![cut, answers("done")]).run().await;
    assert!(left.results()[0].starts_with("invalid-input: "), "{:?}", left.results());
    assert!(left.tools.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_the_model_wrote_is_kept() {
    let left = stage(vec![calls(&[("1", "read", r#"{"path":3}"#)]), answers("done")]).run().await;
    assert_eq!(*left.tool_parts()[0].state.input(), serde_json::json!({"path": 3}));
}

#[tokio::test(start_paused = true)]
async fn equal_ids_get_a_result_each() {
    let left =
        stage(vec![calls(&[("1", "read", r#"{"path":"a"}"#), ("1", "read", r#"{"path":"b"}"#)]), answers("done")])
            .run()
            .await;
    let mut seen = left.tools.seen();
    seen.sort();
    assert_eq!(seen, ["+read:a", "+read:b", "-read:a", "-read:b"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_breaks_down_is_a_failed_call() {
    let (said, _) = result("read", r#"{"path":"a","panic":1}"#).await;
    assert!(said.starts_with("trap: "), "{said}");
    let (said, _) = result("read", r#"{"path":"a","fail":"no file"}"#).await;
    assert_eq!(said, "not-found: no file");
}

#[tokio::test(start_paused = true)]
async fn a_large_output_is_cut_and_kept() {
    let left = stage(vec![calls(&[("1", "read", r#"{"path":"a","size":60000}"#)]), answers("done")]).run().await;
    assert_eq!(left.store.outputs()[0].len(), 60000);
    assert!(left.results()[0].len() < 52_000 && left.results()[0].contains("/outputs/1"));
}

#[tokio::test(start_paused = true)]
async fn progress_is_shown_but_not_at_every_word() {
    let left = stage(vec![calls(&[("1", "read", r#"{"path":"a","words":50}"#)]), answers("done")]).run().await;
    let shown = left.sink.events().iter().filter(|(_, e)| matches!(e, model::event::Event::PartUpdated { part } if matches!(&part.body, PartBody::Tool(t) if matches!(&t.state, ToolState::Running { title: Some(_), .. })))).count();
    // Half a second of words.
    assert!((2..=6).contains(&shown), "{shown}");
}

type Verdict = Box<dyn Fn(&Act) -> Result<(), Denial> + Send + Sync>;

fn denying(denial: Denial) -> Verdict {
    Box::new(move |act| if matches!(act, Act::Write { .. }) { Err(denial.clone()) } else { Ok(()) })
}

#[tokio::test(start_paused = true)]
async fn a_denial_is_told_to_the_model_or_ends_the_run() {
    let check = async |denial: Denial, go_on: bool, words: &[&str], ends: bool| {
        let mut s =
            stage(vec![calls(&[("1", "write", r#"{"path":"a"}"#), ("2", "read", r#"{"path":"b"}"#)]), answers("done")]);
        s.gate.judge = denying(denial.clone());
        s.options.continue_on_deny = go_on;
        let left = s.run().await;
        let results = left.results();
        assert!(results[0].starts_with("denied: ") && words.iter().all(|w| results[0].contains(w)), "{results:?}");
        assert_eq!(results[1], "hooked read", "the rest of the step is done");
        assert_eq!(left.tools.seen(), ["+read:b", "-read:b"]);
        match &left.outcome.ending {
            Ending::Denied(why) => {
                assert!(ends && why.contains(r"--allow 'edit:it'\''s /w/a' would permit it"), "{why}");
            }
            ending => assert!(!ends && *ending == Ending::Done, "{denial:?}: {ending:?}"),
        }
        left.assert_closed();
    };
    check(Denial::Rule(Rule::new("edit", "*", Action::Deny)), false, &["deny edit:*"], false).await;
    check(Denial::Rejected(Some("use b".into())), false, &["use b"], false).await;
    check(Denial::Rejected(None), false, &["the person said no"], true).await;
    check(Denial::Unanswered, false, &["nobody is there"], true).await;
    check(Denial::Unanswered, true, &["nobody is there"], false).await;
}

#[tokio::test(start_paused = true)]
async fn a_denial_in_the_middle_of_a_call_ends_the_run_too() {
    let mut s = stage(vec![calls(&[("1", "bash", r#"{"command":"x","denied":"Not permitted."}"#)])]);
    s.gate.blocked = Some(Denial::Unanswered).into();
    assert!(matches!(s.run().await.outcome.ending, Ending::Denied(_)));
    let mut s = stage(vec![calls(&[("1", "bash", r#"{"command":"x","denied":"Not permitted."}"#)]), answers("ok")]);
    s.gate.blocked = None.into();
    assert_eq!(s.run().await.outcome.ending, Ending::Done);
}

#[tokio::test(start_paused = true)]
async fn the_call_is_granted_what_was_permitted() {
    let asked: Arc<std::sync::Mutex<Vec<Act>>> = Arc::default();
    let mut s = stage(vec![calls(&[("1", "write", r#"{"path":"x/../a"}"#)]), answers("done")]);
    let kept = asked.clone();
    s.gate.judge = Box::new(move |act| {
        kept.lock().unwrap().push(act.clone());
        Ok(())
    });
    let left = s.run().await;
    assert_eq!(*asked.lock().unwrap(), [Act::Write { path: "/w/a".into() }]);
    assert_eq!(left.tools.calls()[0].grant.writes, [std::path::PathBuf::from("/w/a")]);
}

#[tokio::test(start_paused = true)]
async fn a_call_of_the_providers_own_is_not_ours() {
    let result = model::provider::ModelResult {
        call_id: model::id::CallId::given("1"),
        name: "web".into(),
        text: "found".into(),
        is_error: false,
        files: vec![],
    };
    let mut events = vec![call("1", "web", "{}"), StreamEvent::ToolResult(result)];
    events.extend(said("so it is"));
    events.push(finish(FinishReason::Stop));
    let left = stage(vec![Reply::Stream(vec![(0, events)])]).run().await;
    assert_eq!((left.outcome.ending.clone(), left.outcome.steps), (Ending::Done, 1));
    assert_eq!(left.results(), ["found"]);
}

/// The same call twice in one step runs once, unless something between them may have changed what it comes to.
#[tokio::test(start_paused = true)]
async fn the_same_call_twice_runs_once() {
    let read = |id: &'static str| (id, "read", r#"{"path":"a","ms":20}"#);
    let runs = async |made: &[(&str, &str, &str)]| {
        let left = stage(vec![calls(made), answers("done")]).run().await;
        left.assert_closed();
        assert_eq!(left.results().len(), made.len());
        assert!(left.results().iter().all(|r| r.starts_with("hooked")), "{:?}", left.results());
        left.tools.seen().iter().filter(|s| s.starts_with("+read")).count()
    };
    assert_eq!(runs(&[read("1"), read("2"), read("3")]).await, 1);
    assert_eq!(runs(&[read("1"), ("2", "write", r#"{"path":"b"}"#), read("3")]).await, 1);
    assert_eq!(runs(&[read("1"), ("2", "write", r#"{"path":"a"}"#), read("3")]).await, 2);
    assert_eq!(runs(&[read("1"), ("2", "bash", r#"{"command":"ls"}"#), read("3")]).await, 2);
    let left =
        stage(vec![calls(&[("1", "write", r#"{"path":"a"}"#), ("2", "write", r#"{"path":"a"}"#)]), answers("done")])
            .run()
            .await;
    assert_eq!(left.tools.seen().len(), 4, "what acts runs as often as it is called");
}

/// Its result takes the place of the first one's, whatever order the calls are made in; a later call that conflicts waits for it.
#[tokio::test(start_paused = true)]
async fn a_call_may_end_in_another() {
    let first = r#"{"path":"a","tail":{"tool":"write","input":{"path":"b","ms":10}}}"#;
    let left =
        stage(vec![calls(&[("1", "read", first), ("2", "read", r#"{"path":"b"}"#)]), answers("done")]).run().await;
    left.assert_closed();
    assert_eq!(left.results(), ["hooked write", "hooked read"]);
    let seen = left.tools.seen();
    assert_eq!(seen.iter().filter(|s| s.ends_with("write:b")).count(), 2, "{seen:?}");
}

/// A chain has an end, and one that names what is not there is a failed call.
#[tokio::test(start_paused = true)]
async fn tails_are_bounded() {
    let mut input = json!({"path": "end"});
    for _ in 0..20 {
        input = json!({"path": "a", "tail": {"tool": "read", "input": input}});
    }
    let left = stage(vec![calls(&[("1", "read", &input.to_string())]), answers("done")]).run().await;
    left.assert_closed();
    assert_eq!(left.tools.calls().len(), 9);
    let left =
        stage(vec![calls(&[("1", "read", r#"{"path":"a","tail":{"tool":"gone"}}"#)]), answers("done")]).run().await;
    left.assert_closed();
    assert!(left.results()[0].contains("gone"), "{:?}", left.results());
}
