use super::*;
use crate::testing::history::{assistant, completed, dropped, failed, interrupted, providers, user};
use serde_json::json;

/// `a=1` completed with `1`, `a!` failed, `a` about to be made. Messages are parted by `|`; `>` is a person's prompt.
fn history(script: &str) -> Vec<WithParts> {
    let mut out = vec![user("go")];
    for message in script.split('|') {
        if message.trim() == ">" {
            out.push(user("and now"));
            continue;
        }
        let mut made = assistant(|_| ());
        made.parts = message.split_whitespace().map(call).collect();
        out.push(made);
    }
    out
}

fn call(word: &str) -> Part {
    if let Some(name) = word.strip_suffix('!') {
        return failed(name, &format!("no {}", PartId::new().as_str()));
    }
    let (name, output) = word.split_once('=').unwrap();
    completed(name, output)
}

fn check(script: &str, ahead: &str, next: &str, period: Option<usize>) {
    let of = |name: &str| CallMark::new(name, &json!({"a": 1}), None);
    let ahead: Vec<CallMark> = ahead.split_whitespace().map(of).collect();
    let found = LoopGuard::of(&history(script), None).suspects(&ahead, of(next));
    assert_eq!(found.map(|c| c.period), period, "{script:?} then {ahead:?} {next}");
}

#[test]
fn a_call_with_the_same_result_is_suspect_the_fourth_time() {
    check("g=0", "", "g", None);
    check("g=0 | g=0", "", "g", None);
    check("g=0 | g=0 | g=0", "", "g", Some(1));
    check("g=0 g=0 g=0", "", "g", Some(1));
    check("g=0 | g=0 | g=0", "", "h", None);
    check("x=1 | g=0 | g=0 | g=0", "", "g", Some(1));
}

#[test]
fn failures_are_equal_whatever_they_say() {
    check("a! | a! | a!", "", "a", Some(1));
    check("a! | a=1 | a!", "", "a", None);
}

#[test]
fn a_poll_whose_result_changes_is_no_circle() {
    check("p=1 | p=2 | p=3 | p=4 | p=5", "", "p", None);
    check("p=1 | p=1 | p=2", "", "p", None);
}

#[test]
fn programs_that_are_left_running_over_and_over_are_a_circle() {
    let begun = |id: &str| {
        let mut part = completed("bash", &format!("It runs as {id}"));
        if let PartBody::Tool(tool) = &mut part.body
            && let ToolState::Completed { metadata, .. } = &mut tool.state
        {
            metadata.insert(background::ID.into(), json!(id));
        }
        part
    };
    let mut made = assistant(|_| ());
    made.parts = ["bg-1", "bg-2", "bg-3"].map(begun).to_vec();
    let guard = LoopGuard::of(&[user("go"), made], None);
    let again = CallMark::new("bash", &json!({"a": 1}), None);
    assert_eq!(guard.suspects(&[], again).map(|c| c.period), Some(1));
}

#[test]
fn rows_of_up_to_five_calls_are_seen() {
    check("a! | b! | a! | b! | a! | b!", "", "a", Some(2));
    check("a! b! | a! b! | a! b!", "a", "b", Some(2));
    check("a! | b! | a! | b! | a! | b!", "", "b", None);
    check("a=1 b=2 c=3 | a=1 b=2 c=3 | a=1 b=2 c=3", "", "a", Some(3));
    let five = "a=1 b=2 c=3 d=4 e=5";
    check(&format!("{five} | {five} | {five}"), "a b c d", "e", Some(5));
    check(&format!("{five} | {five} | a=1 b=2 c=3 d=4 e=6"), "", "a", None);
    let six = "a=1 b=2 c=3 d=4 e=5 f=6";
    check(&format!("{six} | {six} | {six}"), "", "a", None);
}

#[test]
fn a_person_who_speaks_begins_anew() {
    check("g=0 | g=0 | g=0 | >", "", "g", None);
    check("g=0 | > | g=0 | g=0", "", "g", None);
    check("> | g=0 | g=0 | g=0", "", "g", Some(1));
}

#[test]
fn what_is_none_of_its_calls_is_passed_over() {
    let mut h = history("g=0 | g=0 | g=0");
    let mut noise = assistant(|_| ());
    noise.parts = vec![dropped(completed("x", "1")), providers("search"), interrupted("y")];
    h.push(noise);
    let mark = CallMark::new("g", &json!({"a": 1}), None);
    assert!(LoopGuard::of(&h, None).suspects(&[], mark).is_some());
}

#[test]
fn what_was_pardoned_lies_behind() {
    let h = history("g=0 | g=0 | g=0");
    let last = h.last().unwrap().parts[0].id.clone();
    let mark = CallMark::new("g", &json!({"a": 1}), None);
    assert!(LoopGuard::of(&h, Some(&last)).suspects(&[], mark).is_none());
}

#[test]
fn the_order_of_arguments_does_not_count_and_everything_else_does() {
    let mark = |input: Value| CallMark::new("t", &input, None);
    assert_eq!(
        mark(json!({"a": 1, "b": [1, {"c": 2, "d": null}]})),
        mark(json!({"b": [1, {"d": null, "c": 2}], "a": 1}))
    );
    for other in [json!({"a": 2}), json!({"a": "1"}), json!({"b": 1}), json!({"a": 1, "b": 1}), json!({"a": [1]})] {
        assert_ne!(mark(json!({"a": 1})), mark(other.clone()), "{other}");
    }
    assert_ne!(CallMark::new("t", &json!({}), Some("{a")), CallMark::new("t", &json!({}), Some("{b")));
    assert_ne!(CallMark::new("t", &json!({}), None), CallMark::new("u", &json!({}), None));
}

#[test]
fn its_cost_does_not_grow_with_the_session() {
    let long: Vec<String> = (0..500).map(|i| format!("r={i}")).collect();
    let guard = LoopGuard::of(&history(&long.join(" | ")), None);
    assert_eq!(guard.ended.len(), WINDOW);
}
