//! Messages that reach a run while it works, and the planner that hands over.

use super::*;
use crate::roster::Agent;
use crate::testing::profile;
use crate::testing::provider::{Reply, asked, results_in};
use model::inbox::{Delivery, Inbox};
use model::permission::Policy;
use model::profile::Profile;
use model::provider::Request;
use std::time::Duration;

/// Hands a letter over 5 s after the start.
fn hand_in(s: &Stage, delivery: Delivery, text: &'static str) {
    let (store, session, begun) = (s.store.clone(), s.session.id.clone(), s.begun);
    tokio::spawn(async move {
        tokio::time::sleep_until(begun + Duration::from_secs(5)).await;
        store.hand_in(&session, delivery, text);
    });
}

/// A run of three steps of 4 s; returns what each request was asked.
async fn asked_of(delivery: Delivery) -> (Vec<String>, Left) {
    let step = |n: &str| calls(&[(n, "read", r#"{"path":"a","ms":4000}"#)]);
    let s = stage(vec![step("1"), step("2"), answers("first"), answers("second")]);
    hand_in(&s, delivery, "and this");
    let left = s.run().await;
    assert!(left.store.waiting(&left.session.id).await.unwrap().is_empty());
    (left.provider.requests().iter().map(asked).collect(), left)
}

#[tokio::test(start_paused = true)]
async fn a_message_steers_at_the_next_step_or_waits_for_the_answer() {
    let (asked, left) = asked_of(Delivery::Steer).await;
    assert_eq!(asked, ["go", "go", "and this"], "between two steps");
    assert_eq!(left.outcome.text, "first");
    let (asked, left) = asked_of(Delivery::Queue).await;
    assert_eq!(asked, ["go", "go", "go", "and this"], "after the answer");
    assert_eq!(left.outcome.text, "second");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_waited_begins_a_run() {
    let first = stage(vec![answers("one")]).run().await;
    first.store.hand_in(&first.session.id, Delivery::Queue, "go on");
    let mut s = Stage::resumed(&first, vec![answers("two")]);
    s.prompt = String::new();
    let left = s.run().await;
    assert_eq!(left.outcome.text, "two");
    assert_eq!(asked(&left.provider.requests()[0]), "go on");
}

/// A run that dies after it took a letter delivers it when it is taken up: once.
#[tokio::test(start_paused = true)]
async fn a_letter_survives_the_run_that_took_it() {
    let s = stage(vec![answers("one")]);
    s.store.hand_in(&s.session.id, Delivery::Steer, "hear this");
    // The first transaction opens the session, the second one would land the letter.
    s.store.break_at(2);
    let (store, session) = (s.store.clone(), s.session.clone());
    assert!(s.try_run().await.is_err());
    let mut again = stage(vec![answers("two")]);
    (again.store, again.session, again.is_new) = (store, session, false);
    let left = again.run().await;
    let heard = left
        .history
        .iter()
        .flat_map(|m| &m.parts)
        .filter(|p| matches!(&p.body, PartBody::Text(t) if t.text == "hear this"));
    assert_eq!(heard.count(), 1);
}

fn leader(name: &str) -> Agent {
    Agent { profile: Profile { name: name.into(), ..profile() }, policy: Policy::default() }
}

#[tokio::test(start_paused = true)]
async fn an_approved_plan_is_carried_out_by_the_builder() {
    let mut s = stage(vec![]);
    s.leader.name = "plan".into();
    s.session.agent = "plan".into();
    s.agents = vec![leader("plan"), leader("build")];
    s.provider.by(|r: &Request| match results_in(r).len() {
        0 => calls(&[("1", "plan_exit", "{}")]),
        _ => answers("built"),
    });
    let enrolled = s.gate.enrolled.clone();
    let left = s.run().await;
    assert_eq!((left.session.agent.as_str(), left.outcome.text.as_str()), ("build", "built"));
    let requests = left.provider.requests();
    assert!(asked(&requests[0]).contains("Plan mode. You may look"), "{}", asked(&requests[0]));
    assert!(asked(&requests[1]).contains("Carry the plan out"), "{}", asked(&requests[1]));
    assert_eq!(enrolled.lock().unwrap()[0].0, left.session.id, "the builder's rules hold from then on");
    // A run that the person takes up has nothing more to be told.
    let mut s = Stage::resumed(&left, vec![answers("more")]);
    s.prompt = "next".into();
    assert_eq!(asked(&s.run().await.provider.requests()[0]), "next");
}

#[tokio::test(start_paused = true)]
async fn what_a_killed_run_left_of_its_children_is_closed() {
    use crate::testing::history::assistant;
    let first = stage(vec![answers("one")]).run().await;
    let mut child = crate::testing::session();
    child.parent_id = Some(first.session.id.clone());
    let mut open = assistant(|m| {
        m.time.completed = None;
        m.finish = None;
    });
    if let model::message::Message::Assistant(info) = &mut open.info {
        info.session_id = child.id.clone();
    }
    use model::store::{Change, Store};
    first.store.apply(vec![Change::Session(child), Change::Message(open.info)]).await.unwrap();
    let mut s = Stage::resumed(&first, vec![answers("two")]);
    s.prompt = "go on".into();
    let left = s.run().await;
    let (_, history) = &left.store.children()[0];
    let model::message::Message::Assistant(info) = &history[0].info else { panic!() };
    assert!(info.time.completed.is_some() && info.error.is_some(), "{info:?}");
}

#[tokio::test(start_paused = true)]
async fn without_prompt_or_letter_there_is_nothing_to_do() {
    let mut s = stage(Vec::<Reply>::new());
    s.prompt = String::new();
    assert!(matches!(s.try_run().await, Err(crate::AgentError::NothingToAnswer(_))));
}
