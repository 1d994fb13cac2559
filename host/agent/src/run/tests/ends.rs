//! How runs end, what they leave, and what they cost.

use super::*;
use crate::AgentError;
use crate::testing::provider::{Reply, using};
use model::budget::{Limit, Limits};
use model::event::{Ending, Event};
use model::message::{FinishReason, Message, MessageError};
use model::provider::{FailureKind, StreamEvent, ToolChoice};
use model::store::Change;
use serde_json::json;
use std::time::Duration;

fn reply(reason: FinishReason, mut events: Vec<StreamEvent>) -> Reply {
    events.push(finish(reason));
    Reply::Stream(vec![(0, events)])
}

#[tokio::test(start_paused = true)]
async fn a_text_ends_the_turn_whatever_the_reason() {
    use FinishReason as F;
    for reason in [F::Stop, F::Length, F::ToolCalls, F::Unknown] {
        let left = stage(vec![reply(reason, said("hi"))]).run().await;
        assert_eq!(
            (left.outcome.ending, left.outcome.finish, left.outcome.text.as_str()),
            (Ending::Done, reason, "hi")
        );
        assert_eq!(left.outcome.steps, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_goes_on_whatever_the_reason() {
    use FinishReason as F;
    for reason in [F::Stop, F::Length, F::ToolCalls, F::Pause, F::Unknown] {
        let call = crate::testing::provider::call("1", "read", r#"{"path":"a"}"#);
        let left = stage(vec![reply(reason, vec![call]), answers("done")]).run().await;
        assert_eq!((left.outcome.ending.clone(), left.outcome.steps), (Ending::Done, 2), "{reason:?}");
        assert_eq!(left.results(), ["hooked read"]);
        left.assert_closed();
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_that_reads_takes_one_transaction_and_no_load() {
    let left = stage(vec![calls(&[("1", "read", r#"{"path":"a"}"#)]), answers("done")]).run().await;
    // The prompt; the answer with its call and its result; the last answer.
    assert_eq!(left.store.log().len(), 3);
    assert_eq!(left.store.loads(), 0);
    let resumed = Stage::resumed(&left, vec![answers("more")]).run().await;
    assert_eq!(resumed.store.loads(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_another_run_added_before_the_claim_stays() {
    let left = stage(vec![answers("done")]).run().await;
    let mut stage = Stage::resumed(&left, vec![answers("more")]);
    // Loaded, then another run ended, then claimed.
    stage.session.cost = 0.into();
    stage.session.title = String::new();
    let resumed = stage.run().await;
    assert_eq!((resumed.session.cost.to_string().as_str(), resumed.session.title.as_str()), ("2", "go"));
}

#[tokio::test(start_paused = true)]
async fn cost_and_tokens_are_summed() {
    let left = stage(vec![calls(&[("1", "read", r#"{"path":"a"}"#)]), answers("done")]).run().await;
    // One USD for each million tokens of input, and a million each time.
    assert_eq!(left.outcome.cost.to_string(), "2");
    assert_eq!((left.outcome.tokens.input, left.outcome.tokens.output), (2_000_000, 4));
    assert_eq!(left.session.cost.to_string(), "2");
    let Message::Assistant(last) = &left.history.last().unwrap().info else { panic!() };
    assert_eq!((last.cost.to_string(), last.tokens.input), ("1".into(), 1_000_000));
    let finishes = left.parts().into_iter().filter(|p| matches!(p.body, PartBody::StepFinish(_))).count();
    assert_eq!(finishes, 2);
}

#[tokio::test(start_paused = true)]
async fn a_filtered_answer_fails() {
    let call = crate::testing::provider::call("1", "write", r#"{"path":"a"}"#);
    let left = stage(vec![reply(FinishReason::ContentFilter, vec![call])]).run().await;
    assert!(matches!(&left.outcome.ending, Ending::Failed(f) if f.kind == FailureKind::ContentFilter));
    let Message::Assistant(info) = &left.history[1].info else { panic!() };
    assert!(matches!(info.error, Some(MessageError::ContentFilter { .. })));
    assert!(left.tools.seen().is_empty());
    left.assert_closed();
}

#[tokio::test(start_paused = true)]
async fn the_title_is_the_first_line() {
    let mut s = stage(vec![answers("hi")]);
    s.prompt = "Fix the bug\nin main".into();
    let left = s.run().await;
    assert_eq!(left.session.title, "Fix the bug");
    let mut again = Stage::resumed(&left, vec![answers("hi")]);
    again.prompt = "Another thing".into();
    assert_eq!(again.run().await.session.title, "Fix the bug");
}

fn limits(steps: Option<u32>, cost: Option<i64>, wall: Option<u64>) -> Limits {
    Limits { steps, cost_usd: cost.map(Into::into), wall: wall.map(Duration::from_millis), ..Limits::default() }
}

#[tokio::test(start_paused = true)]
async fn limits_are_checked_before_each_request() {
    let read = || calls(&[("1", "read", r#"{"path":"a","ms":400}"#)]);
    let check = async |l: Limits, expected: Limit, requests: usize| {
        let left = stage(vec![read(), read(), read()]).price(l).run().await;
        assert_eq!(left.outcome.ending, Ending::Limit(expected));
        assert_eq!(left.provider.requests().len(), requests, "{expected:?}");
        left.assert_closed();
    };
    check(limits(Some(2), None, None), Limit::Steps, 2).await;
    check(limits(None, Some(2), None), Limit::Cost, 2).await;
    check(limits(None, None, Some(1000)), Limit::Wall, 3).await;
}

#[tokio::test(start_paused = true)]
async fn tokens_and_output_have_limits_too() {
    // A million tokens of input and two of output each; 12 bytes of arguments.
    let read = |n: u32| calls(&[("1", "read", &format!(r#"{{"path":"{n}"}}"#))]);
    let check = async |l: Limits, expected: Limit, requests: usize| {
        let left = stage((0..6).map(read).collect()).price(l).run().await;
        assert_eq!(left.outcome.ending, Ending::Limit(expected));
        assert_eq!(left.provider.requests().len(), requests, "{expected:?}");
    };
    check(Limits { tokens: Some(2_000_003), ..Limits::default() }, Limit::Tokens, 2).await;
    check(Limits { output_tokens: Some(5), ..Limits::default() }, Limit::OutputTokens, 3).await;
    check(Limits { output_bytes: Some(25), ..Limits::default() }, Limit::OutputBytes, 3).await;
}

#[tokio::test(start_paused = true)]
async fn what_a_provider_does_not_count_counts_by_its_size() {
    let silent = |n: u32| using(0, calls(&[("1", "read", &format!(r#"{{"path":"{n}"}}"#))]));
    // A prompt of 4000 bytes is sent each time: a thousand tokens, and a few more.
    let mut s = stage((0..6).map(silent).collect()).price(Limits { tokens: Some(3000), ..Limits::default() });
    s.prompt = "x".repeat(4000);
    let left = s.run().await;
    assert_eq!(left.outcome.ending, Ending::Limit(Limit::Tokens));
    assert_eq!(left.provider.requests().len(), 3);
    assert_eq!(left.outcome.tokens.total(), 0, "what is told is what was counted");
}

#[tokio::test(start_paused = true)]
async fn a_limit_does_not_spoil_an_answer() {
    let left = stage(vec![answers("hi")]).price(limits(Some(1), Some(1), None)).run().await;
    assert_eq!(left.outcome.ending, Ending::Done);
}

#[tokio::test(start_paused = true)]
async fn the_last_step_gets_no_tools_and_is_told_so() {
    let mut s = stage(vec![calls(&[("1", "read", r#"{"path":"a"}"#)]), answers("that far")]);
    s.steps = Some(2);
    let left = s.run().await;
    assert_eq!((left.outcome.ending.clone(), left.outcome.text.as_str()), (Ending::Done, "that far"));
    let requests = left.provider.requests();
    assert_eq!((requests[0].tools.is_empty(), &requests[0].tool_choice), (false, &ToolChoice::Auto));
    assert_eq!((requests[1].tools.len(), &requests[1].tool_choice), (0, &ToolChoice::None));
    assert!(format!("{:?}", requests[1].messages.last().unwrap()).contains("step limit"));
}

#[tokio::test(start_paused = true)]
async fn a_call_on_the_last_step_is_refused_and_the_limit_stands() {
    let write = || calls(&[("1", "write", r#"{"path":"a"}"#)]);
    let left = stage(vec![write(), write()]).price(limits(Some(2), None, None)).run().await;
    assert_eq!(left.outcome.ending, Ending::Limit(Limit::Steps));
    assert_eq!(left.tools.seen(), ["+write:a", "-write:a"]);
    assert!(left.results()[1].starts_with("unavailable: "), "{:?}", left.results());
}

#[tokio::test(start_paused = true)]
async fn the_answer_is_held_against_the_schema() {
    let check = async |texts: &[&str], good: bool| {
        let mut s = stage(texts.iter().map(|t| answers(t)).collect());
        s.options.schema = Some(json!({"type": "object", "required": ["a"]}));
        let left = s.run().await;
        assert_eq!(left.outcome.ending == Ending::Done, good, "{texts:?} {:?}", left.outcome);
        assert_eq!(left.provider.requests().len(), texts.len());
        assert!(left.provider.requests().iter().all(|r| r.response_schema.is_some()));
    };
    check(&["{\"a\":1}"], true).await;
    check(&["no", "{}", "{\"a\":1}"], true).await;
    check(&["no", "{}", "{}"], false).await;
}

#[tokio::test(start_paused = true)]
async fn a_schema_that_is_none_is_an_error() {
    let mut s = stage(vec![]);
    s.options.schema = Some(json!({"type": 7}));
    assert!(matches!(s.try_run().await, Err(AgentError::Schema(_))));
}

#[tokio::test(start_paused = true)]
async fn the_prefix_is_the_same_in_later_runs() {
    let left = stage(vec![calls(&[("1", "read", r#"{"path":"a"}"#)]), answers("done")]).run().await;
    let mut again = Stage::resumed(&left, vec![answers("more")]);
    again.prompt = "and now".into();
    let again = again.run().await;
    let (before, after) = (left.provider.requests().pop().unwrap(), again.provider.requests().pop().unwrap());
    assert_eq!(before.system, after.system);
    assert_eq!(before.tools, after.tools);
    assert_eq!(after.messages[..before.messages.len()], before.messages[..]);
}

#[tokio::test(start_paused = true)]
async fn a_session_without_a_prompt_is_an_error_and_an_answered_one_is_done() {
    let mut s = stage(vec![]);
    s.prompt = String::new();
    assert!(matches!(s.try_run().await, Err(AgentError::NothingToAnswer(_))));
    let left = stage(vec![answers("hi")]).run().await;
    let mut again = Stage::resumed(&left, vec![]);
    again.prompt = String::new();
    let again = again.run().await;
    assert_eq!((again.outcome.ending, again.outcome.text.as_str(), again.outcome.steps), (Ending::Done, "hi", 0));
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_ends_the_run_with_its_reason() {
    let s = stage(vec![calls(&[("1", "write", r#"{"path":"a"}"#)])]);
    let tools = s.tools.clone();
    s.store.break_at(2);
    assert!(matches!(s.try_run().await, Err(AgentError::Store(_))));
    assert!(tools.seen().is_empty(), "what could not be noted did not happen");
}

#[tokio::test(start_paused = true)]
async fn text_is_in_the_ledger_within_a_quarter_of_a_second() {
    let mut beats: Vec<_> =
        (0..50).map(|_| (30, vec![StreamEvent::TextDelta { id: "t".into(), text: "x".into() }])).collect();
    beats[0].1.insert(0, StreamEvent::TextStart { id: "t".into() });
    beats.push((0, vec![finish(FinishReason::Stop)]));
    let left = stage(vec![Reply::Stream(beats)]).run().await;
    // What had come is compared with what was stored, each time that something came.
    let stored: Vec<_> = left.store.log();
    let length = |changes: &[Change]| {
        changes.iter().find_map(|c| match c {
            Change::Part(p) => match &p.body {
                PartBody::Text(t) if t.text.contains('x') => Some(t.text.len()),
                _ => None,
            },
            _ => None,
        })
    };
    let mut come = 0;
    for (at, event) in left.sink.events() {
        let Event::PartDelta { delta, .. } = event else { continue };
        come += delta.len();
        let by = at + Duration::from_millis(250);
        let kept = stored.iter().filter(|(t, _)| *t <= by).filter_map(|(_, c)| length(c)).max();
        assert!(kept >= Some(come), "{come} had come, {kept:?} were stored by then");
    }
    assert_eq!(come, 50);
    assert!(stored.len() < 14, "few transactions: {}", stored.len());
}

#[tokio::test(start_paused = true)]
async fn the_session_is_announced_first_and_the_end_last() {
    let left = stage(vec![reply(FinishReason::Stop, said("a secret"))]).run().await;
    let events = left.sink.events();
    assert!(matches!(events.first().unwrap().1, Event::SessionOpened { .. }));
    assert!(matches!(events.last().unwrap().1, Event::Finished { .. }));
    assert_eq!(texts(&left), ["a (redacted)"]);
}
