use super::*;
use crate::testing::provider::{call, finish, said};
use model::provider::StreamEvent as E;

/// Effects in short: what a reader of the message would see happen.
fn brief(effects: &[Effect]) -> Vec<String> {
    let of = |e: &Effect| match e {
        Effect::Open(p) => match &p.body {
            PartBody::Text(_) => "open text".into(),
            PartBody::Reasoning(_) => "open thought".into(),
            PartBody::Tool(t) => format!("open {}", t.tool),
            PartBody::StepStart { .. } => "step".into(),
            other => panic!("{other:?}"),
        },
        Effect::Append { text, .. } => format!("+{text}"),
        Effect::Close { opaque, .. } => {
            format!("close{}", opaque.as_deref().map(|o| format!(" {o}")).unwrap_or_default())
        }
        Effect::Call { call, .. } => format!("call {} {}", call.name, call.input),
        Effect::Answered { result, .. } => format!("answered {}", result.text),
        Effect::Finish { reason, .. } => format!("finish {reason:?}"),
        Effect::Fail(f) => format!("fail {:?}", f.kind),
    };
    effects.iter().map(of).collect()
}

fn processor() -> Processor {
    Processor::new(SessionId::new(), MessageId::new())
}

fn check(events: Vec<E>, expected: &[&str]) {
    let whole = brief(&processor().reduce(events.clone(), 1));
    assert_eq!(whole, expected, "{events:?}");
    // Any cut of the stream does the same, but for the merging of deltas.
    let mut one_by_one = processor();
    let cut: Vec<Effect> = events.into_iter().flat_map(|e| one_by_one.reduce(vec![e], 1)).collect();
    let unmerged = |list: &[String]| list.iter().map(|s| s.trim_start_matches('+').to_owned()).collect::<String>();
    assert_eq!(unmerged(&brief(&cut)), unmerged(&whole));
}

fn text(id: &str, text: &str) -> E {
    E::TextDelta { id: id.into(), text: text.into() }
}

fn begin(id: &str) -> E {
    E::TextStart { id: id.into() }
}

fn end(id: &str) -> E {
    E::TextEnd { id: id.into(), opaque: None }
}

#[test]
fn texts_and_thoughts() {
    check(
        vec![E::StepStart, begin("a"), text("a", "x"), text("a", "y"), end("a")],
        &["step", "open text", "+xy", "close"],
    );
    check(vec![begin("a"), text("a", ""), end("a")], &[]);
    check(vec![text("never-begun", "x")], &[]);
    check(vec![begin("a"), text("a", "x"), end("a"), text("a", "late")], &["open text", "+x", "close"]);
    check(vec![begin("a"), text("a", "x"), begin("a"), text("a", "y")], &["open text", "+xy"]);
    let mixed = vec![begin("a"), begin("b"), text("a", "1"), text("b", "2"), text("a", "3")];
    check(mixed, &["open text", "+1", "open text", "+2", "+3"]);
    let thought = vec![
        E::ReasoningStart { id: "r".into() },
        E::ReasoningDelta { id: "r".into(), text: "hm".into() },
        E::ReasoningEnd { id: "r".into(), opaque: Some("sig".into()) },
    ];
    check(thought, &["open thought", "+hm", "close sig"]);
    let encrypted =
        vec![E::ReasoningStart { id: "r".into() }, E::ReasoningEnd { id: "r".into(), opaque: Some("sealed".into()) }];
    check(encrypted, &["open thought", "close sealed"]);
}

#[test]
fn the_end_closes_what_is_open_and_nothing_follows_it() {
    let events = vec![begin("a"), text("a", "x"), finish(FinishReason::Stop), text("a", "late"), E::StepStart];
    check(events, &["open text", "+x", "close", "finish Stop"]);
    let failure = crate::testing::provider::failure(FailureKind::Server, true);
    let events = vec![call("1", "read", "{}"), E::Failure(failure), finish(FinishReason::Stop)];
    check(events, &["open read", "call read {}", "fail Server"]);
    check(vec![finish(FinishReason::Error)], &["fail Server"]);
}

#[test]
fn calls_begin_once() {
    let id = CallId::given("1");
    let streamed = vec![
        E::ToolInputStart { id: id.clone(), name: "read".into() },
        E::ToolInputDelta { id: id.clone(), text: "{}".into() },
        E::ToolInputEnd { id },
        call("1", "read", "{}"),
    ];
    check(streamed, &["open read", "call read {}"]);
    check(vec![call("1", "a", "{}"), call("2", "b", "{}")], &["open a", "call a {}", "open b", "call b {}"]);
}

#[test]
fn equal_and_empty_ids_become_unique() {
    for id in ["1", ""] {
        let effects = processor().reduce(vec![call(id, "a", "{}"), call(id, "b", "{}"), call(id, "c", "{}")], 1);
        let ids: HashSet<CallId> = effects
            .iter()
            .filter_map(|e| match e {
                Effect::Call { call, .. } => Some(call.id.clone()),
                _ => None,
            })
            .collect();
        assert_eq!(ids.len(), 3, "{id:?}");
        assert!(ids.iter().all(|i| !i.as_str().is_empty()));
        assert_eq!(ids.contains(&CallId::given("1")), id == "1", "the first keeps its own");
    }
}

#[test]
fn a_provider_answers_its_own_call() {
    let result = ModelResult {
        call_id: CallId::given("1"),
        name: "search".into(),
        text: "found".into(),
        is_error: false,
        files: vec![],
    };
    let events = vec![call("1", "search", "{}"), E::ToolResult(result.clone())];
    check(events, &["open search", "call search {}", "answered found"]);
    check(vec![E::ToolResult(result)], &[]);
}

#[test]
fn a_flood_is_a_failure() {
    let mut p = processor();
    let mut effects = p.reduce(said("ok"), 1);
    effects.extend(p.reduce(vec![begin("f")], 1));
    let big = "x".repeat(MAX_ANSWER / 2 + 1);
    effects.extend(p.reduce(vec![text("f", &big)], 1));
    assert!(!matches!(effects.last(), Some(Effect::Fail(_))));
    effects.extend(p.reduce(vec![text("f", &big), text("f", "more")], 1));
    assert!(matches!(effects.last(), Some(Effect::Fail(f)) if !f.retryable));
}
