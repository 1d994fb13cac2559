//! One piece of work from its plan to its answer, as a person lives through it.

use crate::family::{Live, about, assert_closed, in_two_halves, results, task, write};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use support::{Home, ModelServer, Reply};

/// What the model says at each place of the story.
fn story(messages: &[Value]) -> Reply {
    let all = json!(messages).to_string();
    let tells = |words: &str| all.contains(words);
    let (work, results) = (about(messages), results(messages));
    if tells("The conversation:") {
        return Reply::text("SUMMARY: both agents have written their files.");
    }
    if work.contains("Write") {
        let file = if work.contains("Write a") { "a.txt" } else { "b.txt" };
        return if results == 0 {
            in_two_halves(&Reply::calls(&[write("w", file, "x")]))
        } else {
            Reply::text("Written.")
        };
    }
    match (tells("SUMMARY"), results) {
        // The plan: the planner may write it, and nothing else.
        (false, 0) => Reply::calls(&[
            write("p1", "hello.txt", "too early"),
            write("p2", ".airlock/plans/greeting.md", "1. Write hello.txt"),
        ]),
        (false, 2) => Reply::calls(&[("p3", "plan_exit", json!({}))]),
        // Two agents at one time; with this answer the window is as good as full.
        (false, 3) => {
            Reply::calls(&[task("t1", "general", "Write a."), task("t2", "general", "Write b.")]).used(170_000)
        }
        // After the summary, a step in which somebody has time to say something.
        (true, 0) if !tells("took back") => {
            in_two_halves(&Reply::calls(&[("r1", "read", json!({"filePath": ".airlock/plans/greeting.md"}))]))
        }
        (true, 1) => {
            let word = if tells("In French") { "Bonjour" } else { "Hello" };
            Reply::calls(&[write("w1", "hello.txt", word)])
        }
        (true, 2) if !tells("took back") => Reply::text("The greeting is written."),
        // The second run.
        _ => Reply::text("{\"greeting\": \"Bonjour\"}"),
    }
}

/// One piece of work from its plan to its answer, as a person lives through it: plan → build → sub-agents in parallel → compaction →
/// steer → undo of one sub-agent's work → structured answer.
#[test]
fn from_a_plan_to_a_structured_answer() {
    let server = ModelServer::start([]).by(story).many_conversations();
    let home = Home::with_model(&server.base_url());
    let config = support::home::model_config(&server.base_url());
    home.config(&format!("{config}\n[permission]\nedit = \"allow\"\n"));
    home.file("schema.json", json!({"type": "object", "required": ["greeting"]}).to_string());

    // The planner plans, the person approves, the builder has two agents work at the same time.
    let mut run = Live::start(&home, &["--agent", "plan", "--allow", "plan_exit", "--title", "t", "Add a greeting."]);
    let _ = run.until("child").expect("a child at work");
    let session = run.seen[0]["sessionID"].as_str().expect("a session").to_owned();
    // Their results fill the window: what was said is summarised, and the work goes on.
    let _ = run.until("compacted").expect("a summary");
    let told = home.airlock(&["session", "send", &session, "In French, please."]).exits(0);
    assert!(told.stdout.contains("takes it at its next step"), "{}", told.stdout);
    let (children, (result, code)) = (run.children(), run.end());
    assert_eq!((code, &result["text"]), (Some(0), &json!("The greeting is written.")), "{result}");
    assert_eq!(
        (home.read("hello.txt"), home.read("a.txt"), home.read("b.txt")),
        (b"Bonjour".into(), b"x".into(), b"x".into())
    );
    assert_eq!(home.read(".airlock/plans/greeting.md"), b"1. Write hello.txt");

    // What one of the agents did was not wanted.
    let writer_of_b =
        children.iter().find(|(_, file)| file == "b.txt").map(|(id, _)| id.clone()).expect("who wrote b.txt");
    let _ = home.airlock(&["session", "undo", &session, "--child", &writer_of_b]).exits(0);
    assert_eq!((home.work().join("a.txt").exists(), home.work().join("b.txt").exists()), (true, false));

    // The session goes on, knows of it, and answers in the shape that is wanted.
    let answer = home.run(&["--session", &session, "--schema", "schema.json", "Which greeting is it?"]).exits(0);
    assert_eq!(answer.result()["text"], "{\"greeting\": \"Bonjour\"}");
    let requests = server.finish();
    let early = requests.iter().find_map(|r| r.result("p1")).unwrap_or_default();
    assert!(early.contains("Not permitted"), "the planner edits nothing: {early}");
    let works = requests.iter().filter(|r| about(&r.messages()).starts_with("\"Write") && results(&r.messages()) == 0);
    let begun: Vec<Instant> = works.map(|r| r.at).collect();
    assert!(begun.len() == 2 && begun[1] - begun[0] < Duration::from_millis(1000), "side by side: {begun:?}");
    let last = json!(requests.last().expect("a request").messages()).to_string();
    assert!(last.contains("took back") && last.contains("b.txt"), "{last}");
    assert_closed(&home);
}
