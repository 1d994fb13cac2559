//! Runs that are cancelled, and those that died.

use super::*;
use crate::testing::provider::{Reply, call, failure};
use model::budget::{Limit, Limits};
use model::event::Ending;
use model::id::SessionId;
use model::message::{Message, MessageError, WithParts};
use model::provider::FailureKind;
use std::time::Duration;
use tokio::time::Instant;

/// Cancels 5 s after the start and checks that the run is closed within 250 ms of that.
async fn cancelled(replies: Vec<Reply>) -> Left {
    let s = stage(replies);
    let (cancel, begun) = (s.cancel.clone(), s.begun);
    tokio::spawn(async move {
        tokio::time::sleep_until(begun + Duration::from_secs(5)).await;
        cancel.cancel();
    });
    let left = s.run().await;
    let took = Instant::now() - begun;
    assert!(took >= Duration::from_secs(5) && took <= Duration::from_millis(5250), "{took:?}");
    assert_eq!(left.outcome.ending, Ending::Interrupted);
    left.assert_closed();
    let Message::Assistant(info) = &left.history.last().unwrap().info else { panic!() };
    assert!(matches!(info.error, Some(MessageError::Aborted { .. })), "{info:?}");
    left
}

#[tokio::test(start_paused = true)]
async fn a_run_can_be_cancelled_at_every_stage() {
    cancelled(vec![Reply::Silence]).await;
    let left = cancelled(vec![Reply::Hang(vec![(0, said("half"))])]).await;
    assert_eq!(left.outcome.text, "half");
    let mut asked = failure(FailureKind::RateLimit, true);
    asked.retry_after = Some(Duration::from_secs(30));
    cancelled(vec![Reply::Refuse(asked)]).await;
    let left = cancelled(vec![calls(&[("1", "bash", r#"{"command":"x","hang":1}"#)])]).await;
    assert_eq!(left.tools.seen(), ["+bash:x", "!bash:x"], "the call was told");
    assert!(left.results()[0].starts_with("interrupted: "), "{:?}", left.results());
    // A call that does not listen, one that waits for it, and one that is being streamed.
    let left = cancelled(vec![calls(&[("1", "bash", r#"{"command":"x","stuck":1}"#), ("2", "read", "{}")])]).await;
    assert!(left.results().iter().all(|r| r.starts_with("interrupted: ")), "{:?}", left.results());
    let streaming = vec![(0, vec![call("1", "read", r#"{"path":"a","stuck":1}"#), call("2", "write", "{}")])];
    let left = cancelled(vec![Reply::Hang(streaming)]).await;
    assert_eq!(left.tools.seen(), ["+read:a"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_ended_before_the_cancel_keeps_its_result() {
    let left =
        cancelled(vec![calls(&[("1", "write", r#"{"path":"a"}"#), ("2", "bash", r#"{"command":"x","hang":1}"#)])])
            .await;
    assert_eq!(left.results()[0], "hooked write");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_ended_while_a_hook_was_at_work_is_no_interrupted_one() {
    let left = cancelled(vec![calls(&[("1", "write", r#"{"path":"a","endless":1}"#)])]).await;
    assert!(left.results()[0].starts_with("The call ended well."), "{:?}", left.results());
    assert!(!left.results()[0].contains("did write"), "what the hooks have not seen is not told");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_can_be_taken_up() {
    let left = cancelled(vec![calls(&[("1", "bash", r#"{"command":"x","hang":1}"#)])]).await;
    let mut again = Stage::resumed(&left, vec![answers("done")]);
    again.prompt = String::new();
    let again = again.run().await;
    assert_eq!(again.outcome.ending, Ending::Done);
    assert!(again.tools.seen().is_empty(), "no call is run twice");
}

#[tokio::test(start_paused = true)]
async fn a_run_cancelled_before_it_begins_asks_nothing() {
    let s = stage(vec![]);
    s.cancel.cancel();
    let left = s.run().await;
    assert_eq!(left.outcome.ending, Ending::Interrupted);
    assert_eq!(left.history.len(), 1, "the prompt is kept");
}

#[tokio::test(start_paused = true)]
async fn the_wall_limit_ends_a_wait() {
    for reply in [Reply::Silence, calls(&[("1", "bash", r#"{"command":"x","hang":1}"#)])] {
        let s = stage(vec![reply]).price(Limits { wall: Some(Duration::from_secs(3)), ..Limits::default() });
        let begun = s.begun;
        let left = s.run().await;
        assert_eq!(left.outcome.ending, Ending::Limit(Limit::Wall));
        assert!(Instant::now() - begun <= Duration::from_millis(3250));
        left.assert_closed();
    }
}

/// What the ledger holds after each transaction of a run: a kill can fall after any of them.
#[tokio::test(start_paused = true)]
async fn a_killed_run_is_repaired_and_goes_on() {
    let script = || vec![calls(&[("1", "write", r#"{"path":"a"}"#)]), answers("done")];
    let whole = stage(script()).run().await;
    let log = whole.store.log();
    for kept in 1..log.len() {
        let mut session = None;
        let mut history: Vec<WithParts> = vec![];
        let changes = log[..kept].iter().flat_map(|(_, c)| c.clone());
        let mut transcript = crate::transcript::Transcript::new(vec![]);
        for change in changes {
            transcript.apply(&change);
            if let model::store::Change::Session(s) = change {
                session = Some(s);
            }
        }
        history.extend(transcript.messages().iter().cloned());
        let session = session.unwrap();
        let _: &SessionId = &session.id;
        let store = crate::testing::store::Memory::with(session.clone(), history.clone());
        // Whether the call had begun: then it is not begun again.
        let had_call = history.iter().any(|m| m.parts.iter().any(|p| matches!(p.body, PartBody::Tool(_))));
        let mut s = stage(if had_call { vec![answers("done")] } else { script() });
        s.store = std::sync::Arc::new(store);
        s.session = session;
        s.is_new = false;
        s.prompt = String::new();
        let left = s.run().await;
        assert_eq!((left.outcome.ending.clone(), left.outcome.text.as_str()), (Ending::Done, "done"), "after {kept}");
        assert_eq!(left.tools.seen().len(), if had_call { 0 } else { 2 }, "after {kept}");
        left.assert_closed();
    }
}

#[tokio::test(start_paused = true)]
async fn an_open_block_is_closed_by_the_next_run() {
    let left = cancelled(vec![Reply::Hang(vec![(
        0,
        vec![
            model::provider::StreamEvent::TextStart { id: "t".into() },
            model::provider::StreamEvent::TextDelta { id: "t".into(), text: "half".into() },
        ],
    )])])
    .await;
    let mut again = Stage::resumed(&left, vec![answers("ok")]);
    again.prompt = "go on".into();
    let again = again.run().await;
    assert_eq!(again.outcome.ending, Ending::Done);
    let sent = format!("{:?}", again.provider.requests()[0].messages);
    assert!(sent.contains("half"), "{sent}");
}
