//! Answers that are of no use, each with what is done about it; and models that take over.

use super::*;
use crate::testing::model_ref;
use crate::testing::provider::{Reply, call, failure};
use model::event::{Ending, Event};
use model::message::{FinishReason, Message, MessageError};
use model::provider::{FailureKind, ModelRef, StreamEvent};
use serde_json::json;

fn ends(reason: FinishReason, mut events: Vec<StreamEvent>) -> Reply {
    events.push(finish(reason));
    Reply::Stream(vec![(0, events)])
}

fn blocked(word: &str) -> Reply {
    let finish = StreamEvent::StepFinish {
        reason: FinishReason::ContentFilter,
        usage: None,
        metadata: Some(json!({ "finish_reason": word })),
    };
    Reply::Stream(vec![(0, said("half").into_iter().chain([finish]).collect())])
}

fn thinks() -> Vec<StreamEvent> {
    let id = "r".to_owned();
    vec![
        StreamEvent::ReasoningStart { id: id.clone() },
        StreamEvent::ReasoningDelta { id: id.clone(), text: "hm".into() },
        StreamEvent::ReasoningEnd { id, opaque: None },
    ]
}

/// The flaw once and then a good answer: it is as if the flaw had never been.
async fn mended(flawed: Reply) {
    let left = stage(vec![flawed.clone(), answers("good")]).run().await;
    assert_eq!((left.outcome.ending.clone(), left.outcome.text.as_str()), (Ending::Done, "good"), "{flawed:?}");
    assert_eq!(left.outcome.finish, FinishReason::Stop);
    let requests = left.provider.requests();
    assert_eq!(requests[0].messages, requests[1].messages, "the same is asked again");
    assert!(left.sink.events().iter().any(|(_, e)| matches!(e, Event::Retry { .. })), "it is visible");
    let again = Stage::resumed(&left, vec![answers("more")]).run().await;
    let sent = format!("{:?}", again.provider.requests()[0].messages);
    assert!(sent.contains("good") && !sent.contains("hm") && !sent.contains("half"), "{sent}");
    left.assert_closed();
}

/// The flaw for ever: so many requests, and this end.
async fn hopeless(flawed: Reply, requests: usize, kind: FailureKind) {
    let left = stage((0..requests).map(|_| flawed.clone()).collect()).run().await;
    assert!(matches!(&left.outcome.ending, Ending::Failed(f) if f.kind == kind), "{flawed:?}: {:?}", left.outcome);
    assert_eq!(left.provider.requests().len(), requests);
    assert!(left.tools.seen().is_empty(), "nothing of it is run");
    let Message::Assistant(info) = &left.history[1].info else { panic!() };
    assert!(info.error.is_some());
    left.assert_closed();
}

#[tokio::test(start_paused = true)]
async fn what_chance_may_mend_is_asked_for_again() {
    let malformed =
        || Reply::Stream(vec![(0, vec![StreamEvent::Failure(failure(FailureKind::MalformedToolCall, true))])]);
    mended(Reply::Stream(vec![(0, said("half"))])).await;
    mended(ends(FinishReason::Stop, vec![])).await;
    mended(ends(FinishReason::ToolCalls, said(" \n"))).await;
    mended(ends(FinishReason::Stop, thinks())).await;
    mended(malformed()).await;
    mended(blocked("RECITATION")).await;
    hopeless(Reply::Stream(vec![(0, said("half"))]), 5, FailureKind::Transport).await;
    hopeless(ends(FinishReason::Unknown, vec![]), 3, FailureKind::Unknown).await;
    hopeless(ends(FinishReason::Stop, thinks()), 3, FailureKind::Unknown).await;
    hopeless(malformed(), 3, FailureKind::MalformedToolCall).await;
    hopeless(blocked("RECITATION"), 2, FailureKind::ContentFilter).await;
}

#[tokio::test(start_paused = true)]
async fn what_would_be_the_same_again_ends_the_run() {
    let act = || call("1", "write", r#"{"path":"a"}"#);
    hopeless(ends(FinishReason::Length, vec![]), 1, FailureKind::Unknown).await;
    hopeless(ends(FinishReason::Length, thinks()), 1, FailureKind::Unknown).await;
    hopeless(ends(FinishReason::ContentFilter, vec![act()]), 1, FailureKind::ContentFilter).await;
    hopeless(blocked("PROHIBITED_CONTENT"), 1, FailureKind::ContentFilter).await;
}

#[tokio::test(start_paused = true)]
async fn empty_answers_after_a_result_end_with_a_word() {
    let empty = || ends(FinishReason::Stop, vec![]);
    let left = stage(vec![calls(&[("1", "read", r#"{"path":"a"}"#)]), empty(), empty(), empty()]).run().await;
    assert!(matches!(&left.outcome.ending, Ending::Failed(f) if f.message.contains("empty answer")));
    let again = Stage::resumed(&left, vec![answers("more")]).run().await;
    assert_eq!(again.outcome.ending, Ending::Done, "nothing blank stays in the history");
}

#[tokio::test(start_paused = true)]
async fn a_text_that_repeats_itself_is_stopped_and_asked_for_once_more() {
    let echo = || {
        let delta = || StreamEvent::TextDelta { id: "t".into(), text: "again ".into() };
        let mut beats = vec![(0, vec![StreamEvent::TextStart { id: "t".into() }])];
        beats.extend((0..2000).map(|_| (0, vec![delta()])));
        Reply::Hang(beats)
    };
    let left = stage(vec![echo(), answers("good")]).run().await;
    assert_eq!((left.outcome.ending.clone(), left.outcome.text.as_str()), (Ending::Done, "good"));
    let left = stage(vec![echo(), echo()]).run().await;
    assert!(matches!(left.outcome.ending, Ending::Looped(_)), "{:?}", left.outcome);
    assert_eq!(left.outcome.text, "");
    left.assert_closed();
}

fn named(names: &[&str]) -> Vec<ModelRef> {
    names.iter().map(|n| ModelRef::parse(n).unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn the_next_model_takes_over_where_one_fails_for_good() {
    let refused = || Reply::Refuse(failure(FailureKind::Quota, false));
    let read = calls(&[("1", "read", r#"{"path":"a"}"#)]);
    let mut s = stage(vec![refused(), refused(), read, answers("from three")]);
    s.options.fallback = named(&["gone/none", "other/two", "other/three"]);
    let left = s.run().await;
    assert_eq!((left.outcome.ending.clone(), left.outcome.text.as_str()), (Ending::Done, "from three"));
    let asked: Vec<String> = left.provider.requests().iter().map(|r| r.model.clone()).collect();
    assert_eq!(asked, ["m", "two", "three", "three"], "it stays with the one that answers");
    let Message::Assistant(last) = &left.history.last().unwrap().info else { panic!() };
    assert_eq!((last.provider_id.as_str(), last.model_id.as_str()), ("other", "three"));
    let switches: Vec<String> = left
        .sink
        .events()
        .into_iter()
        .filter_map(|(_, e)| match e {
            Event::Switched { from, to, .. } => Some(format!("{from} → {to}")),
            _ => None,
        })
        .collect();
    assert_eq!(switches, [format!("{} → other/two", model_ref()), "other/two → other/three".to_owned()]);
}

#[tokio::test(start_paused = true)]
async fn no_model_takes_over_what_none_can_mend() {
    let mut s = stage(vec![Reply::Refuse(failure(FailureKind::ContentFilter, false))]);
    s.options.fallback = named(&["other/two"]);
    let left = s.run().await;
    assert!(matches!(&left.outcome.ending, Ending::Failed(f) if f.kind == FailureKind::ContentFilter));
    let refuse = |kind| Reply::Refuse(failure(kind, false));
    let mut s = stage(vec![refuse(FailureKind::Quota), refuse(FailureKind::Auth)]);
    s.options.fallback = named(&["other/two"]);
    let left = s.run().await;
    assert!(matches!(&left.outcome.ending, Ending::Failed(f) if f.kind == FailureKind::Auth), "the last one's word");
    let errors = left
        .history
        .iter()
        .filter(|m| matches!(&m.info, Message::Assistant(i) if matches!(i.error, Some(MessageError::Provider { .. }))));
    assert_eq!(errors.count(), 2);
}
