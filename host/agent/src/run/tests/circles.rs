//! Runs that go round in circles (cases B5).

use super::*;
use crate::testing::provider::Reply;
use crate::testing::stage::FakeGate;
use model::event::Ending;
use model::permission::{Act, DOOM_LOOP, Denial};

fn is_loop(act: &Act) -> bool {
    matches!(act, Act::Other { permission, .. } if permission == DOOM_LOOP)
}

/// A gate that lets everything pass but the question of the guard, which it answers so.
fn answering(denial: Option<Denial>) -> FakeGate {
    let judge = move |act: &Act| match (&denial, is_loop(act)) {
        (Some(denial), true) => Err(denial.clone()),
        _ => Ok(()),
    };
    FakeGate { judge: Box::new(judge), ..stage(vec![]).gate }
}

fn read(path: &str) -> Reply {
    calls(&[("1", "read", &format!(r#"{{"path":"{path}"}}"#))])
}

async fn run(gate: FakeGate, replies: Vec<Reply>) -> Left {
    let mut s = stage(replies);
    s.gate = gate;
    s.run().await
}

#[tokio::test(start_paused = true)]
async fn headless_the_fourth_equal_call_ends_the_run() {
    let left = run(answering(Some(Denial::Unanswered)), (0..4).map(|_| read("a")).collect()).await;
    assert!(
        matches!(&left.outcome.ending, Ending::Looped(why) if why.contains("read was called 3 times")),
        "{:?}",
        left.outcome
    );
    assert_eq!(left.tools.seen().len(), 6, "three calls ran");
    assert!(left.results()[3].starts_with("denied: "), "{:?}", left.results());
    left.assert_closed();
}

#[tokio::test(start_paused = true)]
async fn a_no_fails_that_call_only() {
    for denial in [Denial::Rejected(None), Denial::Rejected(Some("stop it".into()))] {
        let mut replies: Vec<Reply> = (0..4).map(|_| read("a")).collect();
        replies.push(answers("I see"));
        let left = run(answering(Some(denial)), replies).await;
        assert_eq!((left.outcome.ending.clone(), left.outcome.text.as_str()), (Ending::Done, "I see"));
        assert_eq!(left.tools.seen().len(), 6);
    }
}

#[tokio::test(start_paused = true)]
async fn a_yes_is_good_for_another_three_rounds_and_not_for_ever() {
    // Three calls, then three times a pardoned one and three more; the sixteenth is asked for no more.
    let left = run(answering(None), (0..16).map(|_| read("a")).collect()).await;
    assert!(matches!(left.outcome.ending, Ending::Looped(_)), "{:?}", left.outcome);
    assert_eq!(left.tools.seen().len(), 2 * 15);
}

#[tokio::test(start_paused = true)]
async fn refused_calls_go_round_in_circles_too() {
    let broken = || calls(&[("1", "read", r#"{"path":"#)]);
    let left = run(answering(Some(Denial::Unanswered)), (0..4).map(|_| broken()).collect()).await;
    assert!(matches!(left.outcome.ending, Ending::Looped(_)), "{:?}", left.outcome);
    assert!(left.tools.seen().is_empty());
    let unknown = || calls(&[("1", "no_such", "{}")]);
    let left = run(answering(Some(Denial::Unanswered)), (0..4).map(|_| unknown()).collect()).await;
    assert!(matches!(left.outcome.ending, Ending::Looped(_)), "{:?}", left.outcome);
}

#[tokio::test(start_paused = true)]
async fn pairs_are_seen_and_progress_is_none() {
    let busy = |name: &str| calls(&[("1", name, r#"{"fail":"busy"}"#)]);
    let pairs = (0..7).map(|i| busy(if i % 2 == 0 { "read" } else { "write" })).collect();
    let left = run(answering(Some(Denial::Unanswered)), pairs).await;
    assert!(matches!(left.outcome.ending, Ending::Looped(_)), "{:?}", left.outcome);
    let mut steps: Vec<Reply> = (0..12).map(|i| read(&format!("f{i}"))).collect();
    steps.push(answers("done"));
    let left = run(answering(Some(Denial::Unanswered)), steps).await;
    assert_eq!(left.outcome.ending, Ending::Done);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_a_call_swallowed_ends_the_run_after_its_step() {
    let gate = answering(None);
    *gate.blocked.lock().unwrap() = Some(Denial::Unanswered);
    let left = run(gate, vec![read("a")]).await;
    assert!(matches!(left.outcome.ending, Ending::Denied(_)), "{:?}", left.outcome);
    assert_eq!(left.results(), ["hooked read"], "the call itself went well");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_a_given_up_attempt_is_forgotten() {
    let gate = answering(None);
    *gate.blocked.lock().unwrap() = Some(Denial::Unanswered);
    let cut = Reply::Stream(vec![(0, said("half"))]);
    let left = run(gate, vec![cut, answers("whole")]).await;
    assert_eq!(left.outcome.ending, Ending::Done);
}
