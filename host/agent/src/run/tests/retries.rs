//! Requests that fail.

use super::*;
use crate::testing::provider::{Reply, failure};
use model::event::{Ending, Event};
use model::message::{FinishReason, Message, MessageError};
use model::provider::{FailureKind, StreamEvent};
use std::time::Duration;

fn broken(kind: FailureKind, retryable: bool) -> Reply {
    let mut events = said("half");
    events.push(StreamEvent::Failure(failure(kind, retryable)));
    Reply::Stream(vec![(0, events)])
}

#[tokio::test(start_paused = true)]
async fn a_failed_attempt_leaves_no_trace_in_the_answer() {
    let left = stage(vec![broken(FailureKind::Overloaded, true), answers("whole")]).run().await;
    assert_eq!((left.outcome.ending.clone(), left.outcome.text.as_str()), (Ending::Done, "whole"));
    assert_eq!(texts(&left), ["whole"]);
    assert_eq!(left.history.len(), 2);
    let retries = left.parts().into_iter().filter(|p| matches!(p.body, PartBody::Retry(_))).count();
    assert_eq!(retries, 1);
    let events = left.sink.events();
    assert!(events.iter().any(|(_, e)| matches!(e, Event::Retry { attempt: 1, .. })));
    assert!(events.iter().any(|(_, e)| matches!(e, Event::PartDropped { .. })));
    assert_eq!(left.outcome.steps, 1, "an attempt is not a step");
}

#[tokio::test(start_paused = true)]
async fn there_are_five_attempts_with_growing_waits() {
    let refused = || Reply::Refuse(failure(FailureKind::RateLimit, true));
    let left = stage(vec![refused(), refused(), refused(), refused(), refused()]).run().await;
    assert!(matches!(&left.outcome.ending, Ending::Failed(f) if f.kind == FailureKind::RateLimit));
    let gaps = left.provider.gaps();
    for (gap, base) in gaps.iter().zip([2000, 4000, 8000, 16000]) {
        assert!((base..=base * 5 / 4 + 10).contains(gap), "{gaps:?}");
    }
    assert_eq!(gaps.len(), 4);
    let Message::Assistant(info) = &left.history[1].info else { panic!() };
    assert!(matches!(info.error, Some(MessageError::Provider { kind: FailureKind::RateLimit, .. })));
    assert!(left.sink.events().iter().any(|(_, e)| matches!(e, Event::Failed { .. })));
    left.assert_closed();
}

#[tokio::test(start_paused = true)]
async fn what_the_provider_asks_for_is_waited() {
    let mut asked = failure(FailureKind::RateLimit, true);
    asked.retry_after = Some(Duration::from_millis(7500));
    let left = stage(vec![Reply::Refuse(asked), answers("ok")]).run().await;
    assert!((7500..7510).contains(&left.provider.gaps()[0]), "{:?}", left.provider.gaps());
}

#[tokio::test(start_paused = true)]
async fn what_cannot_help_is_not_tried() {
    for (kind, retryable) in [(FailureKind::Auth, false), (FailureKind::ContextOverflow, true)] {
        let mut s = stage(vec![broken(kind, retryable)]);
        s.options.compaction.auto = false;
        let left = s.run().await;
        assert!(matches!(&left.outcome.ending, Ending::Failed(f) if f.kind == kind));
        assert_eq!(left.outcome.text, "");
    }
}

#[tokio::test(start_paused = true)]
async fn silence_and_a_cut_are_transport_failures() {
    let check = async |first: Reply, waited: std::ops::RangeInclusive<u64>| {
        let left = stage(vec![first.clone(), answers("ok")]).run().await;
        assert_eq!(left.outcome.ending, Ending::Done, "{first:?}");
        assert!(waited.contains(&left.provider.gaps()[0]), "{first:?} {:?}", left.provider.gaps());
    };
    check(Reply::Stream(vec![(0, said("half"))]), 2000..=2510).await;
    check(Reply::Hang(vec![(0, said("half"))]), 122_000..=122_510).await;
    check(Reply::Silence, 122_000..=122_510).await;
    // A slow stream is not a silent one.
    let slow = (0..3).map(|_| (100_000, vec![StreamEvent::StepStart]));
    let end = said("late").into_iter().chain([finish(FinishReason::Stop)]).collect();
    let slow = slow.chain([(100_000, end)]).collect();
    assert_eq!(stage(vec![Reply::Stream(slow)]).run().await.outcome.ending, Ending::Done);
}

#[tokio::test(start_paused = true)]
async fn an_adapter_that_breaks_down_does_not_take_the_run_along() {
    let left = stage(vec![Reply::Panic]).run().await;
    assert!(matches!(&left.outcome.ending, Ending::Failed(f) if f.kind == FailureKind::Unknown));
    left.assert_closed();
}
