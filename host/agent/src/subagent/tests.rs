//! Sessions that come of a session, with all ports faked and virtual time.

use crate::roster::Agent;
use crate::testing::profile;
use crate::testing::provider::{Reply, answers, asked, begun_with, calls, finish, results_in, said, using};
use crate::testing::stage::{Left, Stage, stage};
use model::budget::{Limit, Limits, Offspring};
use model::event::{Ending, Event};
use model::id::SessionId;
use model::message::{FinishReason, Message, WithParts};
use model::permission::{Action, Layer, Policy, Reach, Rule};
use model::profile::{AgentMode, Profile};
use model::provider::{Model, ModelRef, Request};
use serde_json::json;
use std::time::Duration;
use tokio::time::Instant;

fn servant(name: &str, rules: Vec<Rule>) -> Agent {
    let profile = Profile { name: name.into(), mode: AgentMode::Subagent, rules, ..profile() };
    Agent { profile, policy: Policy::default() }
}

fn allow(permission: &str) -> Rule {
    Rule::new(permission, "*", Action::Allow)
}

fn policy(rules: Vec<Rule>) -> Policy {
    Policy { layers: vec![Layer { origin: "test".into(), reach: Reach::Full, rules }] }
}

fn task(prompt: &str, more: serde_json::Value) -> String {
    let mut input = json!({"description": "a task", "prompt": prompt, "subagent_type": "general"});
    if let (Some(all), serde_json::Value::Object(more)) = (input.as_object_mut(), more) {
        all.extend(more);
    }
    input.to_string()
}

fn tasks(prompts: &[&str]) -> Reply {
    let inputs: Vec<(String, String)> = prompts.iter().map(|p| (format!("c-{p}"), task(p, json!({})))).collect();
    calls(&inputs.iter().map(|(id, input)| (id.as_str(), "task", input.as_str())).collect::<Vec<_>>())
}

/// Answers after a while.
fn late(ms: u64, text: &str) -> Reply {
    let mut events = said(text);
    events.push(finish(FinishReason::Stop));
    Reply::Stream(vec![(ms, events)])
}

/// A run with the agent `general`, whose answers are chosen by what is asked.
fn family(choose: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Stage {
    let mut s = stage(vec![]);
    s.agents = vec![servant("general", vec![])];
    s.provider.by(choose);
    s
}

/// The parent calls these tasks and then says `done`; the children answer so.
fn parent_of(prompts: &'static [&'static str], child: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Stage {
    family(move |r| match begun_with(r).as_str() {
        "go" if results_in(r).is_empty() => tasks(prompts),
        "go" => answers("done"),
        prompt => child(prompt),
    })
}

fn assert_all_closed(left: &Left) {
    left.assert_closed();
    for (session, history) in left.store.children() {
        assert_closed(&session.id, &history);
    }
}

fn assert_closed(id: &SessionId, history: &[WithParts]) {
    for message in history {
        if let Message::Assistant(info) = &message.info {
            assert!(info.time.completed.is_some(), "{id} has an open message: {info:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_is_done_in_a_session_of_its_own() {
    let left = parent_of(&["look"], |_| answers("found it")).run().await;
    assert_eq!((left.outcome.text.as_str(), left.outcome.ending.clone()), ("done", Ending::Done));
    let children = left.store.children();
    let (child, history) = &children[0];
    assert_eq!(child.parent_id.as_ref(), Some(&left.session.id));
    assert_eq!((child.title.as_str(), child.agent.as_str()), ("a task (@general subagent)", "general"));
    assert_eq!(history.len(), 2);
    let result = &left.results()[0];
    assert!(result.contains("<result>\nfound it\n</result>") && result.contains(child.id.as_str()), "{result}");
    let requests = left.provider.requests();
    let tools = |r: &Request| r.tools.iter().map(|t| t.name.clone()).collect::<Vec<_>>();
    assert_eq!(tools(&requests[0]), ["bash", "plan_exit", "question", "read", "task", "write"]);
    assert_eq!(tools(&requests[1]), ["bash", "read", "write"], "a child neither begets nor asks");
    assert_eq!(requests[1].messages.len(), 1, "it sees nothing of its parent's talk");
    assert!(requests[0].tools.iter().any(|t| t.name == "task" && t.description.contains("- general")));
    assert_eq!((left.outcome.steps, left.outcome.cost), (3, 3.into()), "with what the child used");
    assert_all_closed(&left);
}

#[tokio::test(start_paused = true)]
async fn tasks_of_one_step_run_side_by_side() {
    const PROMPTS: &[&str] =
        &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", "c", "d", "e", "f", "g", "h"];
    let slow = |at_once| {
        let mut s = parent_of(PROMPTS, |p| late(1000, p));
        s.offspring = Offspring { at_once, ..s.offspring };
        s
    };
    for (at_once, rounds) in [(16, 2), (200, 1), (6, 3)] {
        let s = slow(at_once);
        let begun = s.begun;
        let left = s.run().await;
        let seconds = (Instant::now() - begun).as_secs();
        assert_eq!(seconds, rounds, "{at_once} at once");
        let results = left.results();
        let in_order = PROMPTS.iter().zip(&results).all(|(p, r)| r.contains(&format!("<result>\n{p}\n")));
        assert!(in_order && results.len() == PROMPTS.len(), "{results:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_number_of_children_is_bounded() {
    let mut s = parent_of(&["a", "b", "c"], |_| answers("x"));
    s.offspring.total = 2;
    let left = s.run().await;
    let refused = left.results().into_iter().filter(|r| r.starts_with("limit: ")).count();
    assert_eq!((refused, left.store.children().len()), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn generations_are_bounded() {
    let run = async |depth, rules: Vec<Rule>| {
        let mut s = parent_of(&["a"], |_| answers("x"));
        s.agents = vec![servant("general", rules)];
        s.offspring.depth = depth;
        let left = s.run().await;
        left.provider.requests().iter().map(|r| r.tools.iter().any(|t| t.name == "task")).collect::<Vec<_>>()
    };
    assert!(!run(0, vec![]).await[0], "no children at all");
    assert_eq!(run(1, vec![allow("task")]).await, [true, false, true]);
    assert_eq!(run(2, vec![]).await, [true, false, true], "its rules do not speak of tasks");
    assert_eq!(run(2, vec![allow("task")]).await, [true, true, true]);
}

#[tokio::test(start_paused = true)]
async fn a_child_is_judged_more_strictly_than_its_parent() {
    let mut s = parent_of(&["a"], |_| answers("x"));
    let deny = |p: &str| Rule::new(p, "*", Action::Deny);
    s.policy = policy(vec![allow("read"), allow("bash"), deny("edit")]);
    s.agents = vec![servant("general", vec![allow("edit"), Rule::new("bash", "*", Action::Ask)])];
    let enrolled = s.gate.enrolled.clone();
    let left = s.run().await;
    let enrolled = enrolled.lock().unwrap();
    let (session, standing) = &enrolled[0];
    assert_eq!((session, &standing.root), (&left.store.children()[0].0.id, &left.session.id));
    for (permission, want) in [
        ("read", Action::Allow),
        ("edit", Action::Deny),
        ("bash", Action::Ask),
        ("task", Action::Deny),
        ("todowrite", Action::Deny),
    ] {
        assert_eq!(standing.policy.decide(permission, "x").action, want, "{permission}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_child_sees_no_tool_that_its_parent_does_not() {
    let mut s = parent_of(&["a"], |_| answers("x"));
    s.leader.tools = Some(vec!["read".into(), "task".into()]);
    let left = s.run().await;
    let names: Vec<_> = left.provider.requests()[1].tools.iter().map(|t| t.name.clone()).collect();
    assert_eq!(names, ["read"]);
}

#[tokio::test(start_paused = true)]
async fn what_goes_wrong_is_told() {
    let result = async |more: serde_json::Value| {
        let input = task("look", more);
        let s = family(move |r| match asked(r).as_str() {
            "go" if results_in(r).is_empty() => calls(&[("1", "task", &input)]),
            "go" => answers("done"),
            _ => Reply::Refuse(crate::testing::provider::failure(model::provider::FailureKind::Auth, false)),
        });
        s.run().await.results().remove(0)
    };
    for (more, words) in [
        (json!({"subagent_type": "none"}), ["not-found: ", "There are: general"]),
        (json!({"task_id": SessionId::new()}), ["not-found: ", "Leave task_id out"]),
        (json!({"task_id": "../x"}), ["not-found: ", "Leave task_id out"]),
        (json!({}), ["failed: ", "state=\"error\">\nAuth"]),
    ] {
        let told = result(more).await;
        assert!(words.iter().all(|w| told.contains(w)), "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_goes_on_by_its_id() {
    let first = parent_of(&["look"], |_| answers("found")).run().await;
    let child = first.store.children()[0].0.id.clone();
    let input = task("look closer", json!({"task_id": child}));
    let mut s = Stage::resumed(&first, vec![]);
    s.prompt = "again".into();
    s.agents = vec![servant("general", vec![])];
    s.provider.by(move |r| match asked(r).as_str() {
        "again" if results_in(r).len() == 1 => calls(&[("2", "task", &input)]),
        "again" => answers("done"),
        _ => answers("more"),
    });
    let left = s.run().await;
    let children = left.store.children();
    assert_eq!((children.len(), children[0].1.len()), (1, 4), "the same session, with both turns");
    assert!(left.results()[1].contains("more"), "{:?}", left.results());
}

#[tokio::test(start_paused = true)]
async fn another_model_is_asked_where_the_agent_wants_one() {
    let told = async |model: &str| {
        let mut s = parent_of(&["a"], |_| answers("x"));
        s.agents[0].profile.model = ModelRef::parse(model);
        let left = s.run().await;
        (left.provider.requests()[1].model.clone(), left.results().remove(0))
    };
    assert_eq!(told("other/big").await.0, "big");
    let (_, refused) = told("gone/x").await;
    assert!(refused.starts_with("unavailable: ") && refused.contains("its key is not set"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_task_in_the_background_reports_when_it_has_ended() {
    let input = task("look", json!({"background": true}));
    let s = family(move |r| match asked(r).as_str() {
        "go" if results_in(r).is_empty() => calls(&[("1", "task", &input)]),
        "go" => answers("meanwhile"),
        "look" => late(3000, "found"),
        report => answers(&format!("told: {report}")),
    });
    let left = s.run().await;
    assert!(left.results()[0].contains("state=\"running\""), "{:?}", left.results());
    assert!(left.outcome.text.contains("has ended") && left.outcome.text.contains("found"), "{}", left.outcome.text);
    assert_eq!(left.outcome.ending, Ending::Done);
    assert_all_closed(&left);
}

/// Cancels after 5 s; parent and children are closed within 250 ms.
async fn cancelled(s: Stage) -> Left {
    let (cancel, begun) = (s.cancel.clone(), s.begun);
    tokio::spawn(async move {
        tokio::time::sleep_until(begun + Duration::from_secs(5)).await;
        cancel.cancel();
    });
    let left = s.run().await;
    let took = Instant::now() - begun;
    assert!(took >= Duration::from_secs(5) && took <= Duration::from_millis(5250), "{took:?}");
    assert_eq!(left.outcome.ending, Ending::Interrupted);
    assert_all_closed(&left);
    left
}

#[tokio::test(start_paused = true)]
async fn a_cancel_reaches_every_descendant() {
    let left = cancelled(parent_of(&["a", "b"], |_| Reply::Hang(vec![(0, said("half"))]))).await;
    assert!(left.results().iter().all(|r| r.starts_with("interrupted: ")), "{:?}", left.results());
    // A call of a child that does not listen.
    let stuck = |_: &str| calls(&[("1", "bash", r#"{"command":"x","stuck":1}"#)]);
    cancelled(parent_of(&["a"], stuck)).await;
    let mut deep = parent_of(&["a"], |p| if p == "a" { tasks(&["b"]) } else { Reply::Silence });
    deep.agents = vec![servant("general", vec![allow("task")])];
    deep.offspring.depth = 2;
    assert_eq!(cancelled(deep).await.store.children().len(), 2);
    let input = task("look", json!({"background": true}));
    let background = family(move |r| match asked(r).as_str() {
        "go" if results_in(r).is_empty() => calls(&[("1", "task", &input)]),
        "go" => answers("meanwhile"),
        _ => Reply::Silence,
    });
    cancelled(background).await;
}

#[tokio::test(start_paused = true)]
async fn children_spend_what_is_left_of_their_parent() {
    // One step of the parent, then two children that never end; the last step is the parent's answer.
    let endless = |_: &str| calls(&[("1", "read", r#"{"path":"a"}"#)]);
    let mut s = parent_of(&["a", "b"], endless);
    s.limits = Limits { steps: Some(7), ..Limits::default() };
    let left = s.run().await;
    assert_eq!((left.outcome.steps, left.outcome.text.as_str()), (7, "done"));
    assert!(left.results().iter().all(|r| r.starts_with("limit: ")), "{:?}", left.results());
    // Each answer costs 1.
    let mut s = parent_of(&["a"], endless);
    s.limits = Limits { cost_usd: Some(4.into()), ..Limits::default() };
    let left = s.run().await;
    assert_eq!((left.outcome.cost, left.outcome.ending), (4.into(), Ending::Limit(Limit::Cost)));
    let mut s = parent_of(&["a"], |_| Reply::Silence);
    s.limits = Limits { wall: Some(Duration::from_secs(9)), ..Limits::default() };
    let left = s.run().await;
    assert_eq!(left.outcome.ending, Ending::Limit(Limit::Wall));
    assert_all_closed(&left);
}

#[tokio::test(start_paused = true)]
async fn the_watchers_see_whose_work_it_is() {
    let read = |p: &str| if p == "a" { calls(&[("1", "read", r#"{"path":"a"}"#)]) } else { answers("x") };
    let s = family(move |r| match asked(r).as_str() {
        "go" if results_in(r).is_empty() => tasks(&["a"]),
        "a" if !results_in(r).is_empty() => answers("found"),
        prompt => read(prompt),
    });
    let left = s.run().await;
    let child = left.store.children()[0].0.id.clone();
    for (_, event) in left.sink.events() {
        let about = |e: &Event| match e {
            Event::PartUpdated { part } => Some(part.session_id.clone()),
            Event::SessionOpened { info } => Some(info.id.clone()),
            _ => None,
        };
        match &event {
            Event::Child { agent, event } => {
                assert_eq!(&**agent, "general");
                assert!(about(event).is_none_or(|id| id == child), "{event:?}");
            }
            other => assert!(about(other).is_none_or(|id| id == left.session.id), "{other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_at_work_hears_more_in_its_turn() {
    let first = task("look", json!({"background": true}));
    let s = family(move |r| match (begun_with(r).as_str(), results_in(r).as_slice()) {
        ("go", []) => calls(&[("1", "task", &first)]),
        ("go", [started]) => {
            let id = started.split('"').nth(1).unwrap();
            calls(&[("2", "task", &task("and there", json!({"task_id": id})))])
        }
        ("go", _) => answers("done"),
        _ => late(2000, &format!("looked: {}", asked(r))),
    });
    let left = s.run().await;
    assert!(left.results()[1].contains("still at work"), "{:?}", left.results());
    let children = left.store.children();
    assert_eq!((children.len(), children[0].1.len()), (1, 4), "two turns of one session");
    assert_eq!(left.outcome.ending, Ending::Done);
    assert_all_closed(&left);
}

/// Case C9: what a child says after its window was full reaches its parent.
#[tokio::test(start_paused = true)]
async fn a_child_whose_window_is_full_gives_its_result_all_the_same() {
    let mut s = family(|r| match begun_with(r).as_str() {
        "go" if results_in(r).is_empty() => using(100, tasks(&["look"])),
        "go" => using(100, answers("done")),
        "look" => using(19_500, calls(&[("r", "read", r#"{"path":"a"}"#)])),
        "What did we do so far?" => using(100, answers("RESULT-MARK")),
        summary => using(100, answers(if summary.contains("[user] look") { "SUM" } else { "?" })),
    });
    s.model = Model { context: 20_000, output: 1000, ..Model::unknown("m") };
    let left = s.run().await;
    assert_eq!((left.outcome.text.as_str(), left.outcome.ending.clone()), ("done", Ending::Done));
    assert!(left.results()[0].contains("RESULT-MARK"), "{:?}", left.results());
    let told = left
        .sink
        .events()
        .into_iter()
        .filter(|(_, e)| matches!(e, Event::Child { event, .. } if matches!(**event, Event::Compacted { .. })));
    assert_eq!(told.count(), 1);
    assert_all_closed(&left);
}
