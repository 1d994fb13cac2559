use crate::testing::programs::{Programs, glance};
use crate::testing::provider::{answers, asked, calls};
use crate::testing::stage::{Left, Stage, stage};
use model::background::{End, Ended, Glance};
use model::tool_state::ToolState;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

fn programs(shows: &[(&str, Glance)]) -> Programs {
    Programs { shows: shows.iter().map(|(id, g)| ((*id).to_owned(), g.clone())).collect(), ..Programs::default() }
}

/// What the model reads of one call.
async fn told(programs: Programs, tool: &str, input: &str) -> (String, Left) {
    let mut s = stage(vec![calls(&[("1", tool, input)]), answers("done")]);
    s.background = Some(Arc::new(programs));
    let left = s.run().await;
    (left.results().remove(0), left)
}

#[tokio::test(start_paused = true)]
async fn what_is_new_is_told_and_whether_it_runs() {
    let kept = Glance { dropped: 7, kept: Some("/o/1".into()), ..glance(b"\x1b[1mnew\x1b[0m\n", Some(End::Code(2))) };
    let said = |state: &str, text: &str| format!("<shell_metadata>\nbg-1: {state}\n</shell_metadata>\n\n{text}");
    let long = "line\n".repeat(2000);
    for (shown, want) in [
        (glance(b"up\n", None), said("running for 3 s", "up")),
        (glance(b"\n", None), said("running for 3 s", "(no new output)")),
        (kept, said("ended after 3 s: exit code 2", "(The 7 bytes before were not kept here. All is in /o/1.)\n\nnew")),
        (
            glance(long.as_bytes(), None),
            said("running for 3 s", &format!("(The 500 bytes before were not kept.)\n\n{}", &long[500..9999])),
        ),
    ] {
        let (text, left) = told(programs(&[("bg-1", shown.clone())]), "bash_output", r#"{"id":"bg-1"}"#).await;
        assert_eq!(text, want);
        let ToolState::Completed { metadata, title, .. } = &left.tool_parts()[0].state else { panic!() };
        assert_eq!((&metadata["background"], &metadata["ended"]), (&json!("bg-1"), &json!(shown.end.is_some())));
        assert_eq!(title, "serve");
    }
}

#[tokio::test(start_paused = true)]
async fn a_look_waits_as_long_as_it_says_and_no_longer_than_it_may() {
    for (input, ms) in [(r#"{"id":"bg-1"}"#, 0), (r#"{"id":"bg-1","wait_ms":4000}"#, 4000)] {
        let (_, left) = told(programs(&[("bg-1", glance(b"", None))]), "bash_output", input).await;
        let waited = left.begun.elapsed().saturating_sub(Duration::from_millis(ms));
        assert!(waited < Duration::from_millis(100), "{input}: {:?}", left.begun.elapsed());
    }
    let (text, _) = told(programs(&[]), "bash_output", r#"{"id":"bg-1","wait_ms":120001}"#).await;
    assert!(text.starts_with("invalid-input: "), "{text}");
}

#[tokio::test(start_paused = true)]
async fn one_that_is_not_there_names_those_that_are() {
    for tool in ["bash_output", "bash_stop"] {
        let (text, _) = told(programs(&[("bg-2", glance(b"", None))]), tool, r#"{"id":"bg-1"}"#).await;
        assert!(text.starts_with("not-found: ") && text.contains("bg-2 (`serve`)"), "{text}");
        let (text, _) = told(programs(&[]), tool, r#"{"id":"bg-1"}"#).await;
        assert!(text.contains("ended with it"), "{text}");
    }
}

/// The whole run with one program that ends by itself: what each request was asked, and what was done to the program.
#[tokio::test(start_paused = true)]
async fn an_end_is_told_once_and_the_run_ends_them_all() {
    let list = Arc::new(programs(&[]));
    *list.ended.lock().unwrap() = vec![Ended { id: "bg-9".into(), line: "make".into(), end: End::Code(1) }];
    let mut s = stage(vec![answers("done")]);
    s.background = Some(list.clone());
    let left = s.run().await;
    let first = asked(&left.provider.requests()[0]);
    assert!(first.contains("bg-9: exit code 1") && first.contains("make"), "{first}");
    assert_eq!(*list.seen.lock().unwrap(), ["close"], "the run is over");
    let mut again = Stage::resumed(&left, vec![answers("two")]);
    again.background = Some(Arc::new(programs(&[])));
    let left = again.run().await;
    assert_eq!(asked(&left.provider.requests()[0]), "go", "nothing is told twice");
}

/// A run that was killed left programs that nobody told the end of.
#[tokio::test(start_paused = true)]
async fn a_later_run_tells_of_what_ended_with_the_one_before() {
    let shows = [("bg-1", glance(b"", None)), ("bg-2", glance(b"", Some(End::Stopped)))];
    let ask = |id: &str, tool: &str| calls(&[(id, tool, &format!(r#"{{"id":"bg-{id}"}}"#))]);
    let mut s = stage(vec![
        calls(&[
            ("a", "bash", r#"{"command":"x","leaves":"bg-1"}"#),
            ("b", "bash", r#"{"command":"y","leaves":"bg-2"}"#),
        ]),
        ask("1", "bash_output"),
        ask("2", "bash_stop"),
        answers("done"),
    ]);
    s.background = Some(Arc::new(programs(&shows)));
    let left = s.run().await;
    let mut again = Stage::resumed(&left, vec![answers("two")]);
    again.prompt = "more".into();
    let left = again.run().await;
    let request = format!("{:?}", left.provider.requests()[0]);
    assert!(request.contains("has ended bg-1: the run"), "{request}");
    let mut third = Stage::resumed(&left, vec![answers("three")]);
    third.prompt = "again".into();
    let left = third.run().await;
    assert_eq!(format!("{:?}", left.provider.requests()[0]).matches("has ended bg-1").count(), 1);
}
