use super::*;
use airlock::host::Channel;
use std::collections::VecDeque;

struct Script(VecDeque<Event>);

impl Child for Script {
    fn next(&mut self) -> Option<Event> {
        self.0.pop_front()
    }
    fn kill(&mut self) {}
    fn kept(&self) -> Option<String> {
        None
    }
}

fn outcome(printed: &[&[u8]], exit: Option<Exit>, kept: Option<&str>) -> ToolOutput {
    let output = printed.iter().map(|data| Event::Output(Channel::Stdout, data.to_vec()));
    let mut child = Script(output.chain(exit.map(Event::Exited)).collect());
    let (tail, exit) = run(&mut child, |_| {});
    report(&tail, exit, 1000, kept.map(Into::into))
}

#[track_caller]
fn check(printed: &[&[u8]], exit: Exit, text: &str, code: Value) {
    let output = outcome(printed, Some(exit), None);
    assert_eq!((output.text.as_str(), &output.metadata["exit"]), (text, &code));
    assert_eq!(output.metadata["truncated"], false);
}

#[test]
fn every_end_is_told() {
    check(&[], Exit::Code(0), "(no output)", json!(0));
    check(
        &[b"out\n", b"err\n"],
        Exit::Code(2),
        "out\nerr\n\n<shell_metadata>\nexit code 2\n</shell_metadata>",
        json!(2),
    );
    check(
        &[b"x"],
        Exit::Signal(15),
        "x\n\n<shell_metadata>\nended by signal 15 (exit code 143)\n</shell_metadata>",
        json!(143),
    );
    let output = outcome(&[b"begun\n"], Some(Exit::TimedOut), None);
    assert!(output.text.starts_with("begun\n\n<shell_metadata>\ntimed out: ended after 1000 ms"));
    assert_eq!((&output.metadata["timed_out"], &output.metadata["exit"]), (&json!(true), &Value::Null));
    assert_eq!(outcome(&[b"begun\n"], None, None).metadata["aborted"], true);
}

#[test]
fn output_is_made_harmless() {
    check(&[b"a\0b\xffc\n"], Exit::Code(0), "a\u{fffd}b\u{fffd}c", json!(0));
    check(&[b"\xc3", b"\xa9\n"], Exit::Code(0), "\u{e9}", json!(0));
    check(&[b"\xed\xa0\xbd\n"], Exit::Code(0), "\u{fffd}\u{fffd}\u{fffd}", json!(0));
    check(
        &[b"\x1b[31mred\x1b[0m\x1b]0;title\x07 10%\r20%\r\n\ttab\x1b"],
        Exit::Code(0),
        "red\u{fffd} 10%\n20%\n\ttab",
        json!(0),
    );
}

#[test]
fn the_end_of_long_output_is_shown() {
    let line = [b'a'; 99].iter().copied().chain([b'\n']).collect::<Vec<u8>>();
    let printed: Vec<&[u8]> = std::iter::repeat_n(line.as_slice(), 10_000).chain([b"last\n".as_slice()]).collect();
    let output = outcome(&printed, Some(Exit::Code(0)), Some("/o/1"));
    assert!(
        output
            .text
            .starts_with("(Output truncated: the last 513 of 10001 lines, 1000005 bytes in all. All of it is in /o/1")
    );
    assert!(output.text.ends_with("\nlast") && output.text.len() < MAX_TEXT);
    assert_eq!((&output.metadata["truncated"], &output.metadata["outputPath"]), (&json!(true), &json!("/o/1")));
    assert!(output.metadata["output"].as_str().unwrap().len() <= 30_000);
}

const MAX_TEXT: usize = output::MAX_BYTES + 500;

#[test]
fn many_short_lines_are_cut_too() {
    let output = outcome(&[b"x\n".repeat(3000).as_slice()], Some(Exit::Code(0)), None);
    assert!(output.text.starts_with("(Output truncated: the last 2000 of 3000 lines"));
    let output = outcome(&[b"x\n".repeat(2000).as_slice()], Some(Exit::Code(0)), None);
    assert_eq!((output.text.lines().count(), &output.metadata["truncated"]), (2000, &json!(false)));
}

#[test]
fn memory_is_bounded() {
    let mut tail = Tail::default();
    for _ in 0..20 {
        tail.push(&vec![b'\xff'; 1_000_000]);
    }
    assert!(format!("{tail:?}").len() < 5_000_000);
    let shown = tail.shown();
    assert!(shown.truncated && shown.text.len() <= output::MAX_BYTES);
}

#[test]
fn a_line_that_does_not_start_is_a_failure() {
    let failure = Bash::call(&CallContext::default(), serde_json::from_value(json!({ "command": "true" })).unwrap());
    assert!(matches!(failure, Err(ToolFailure::Failed(_))));
}

#[test]
fn a_line_that_runs_on_names_its_id() {
    let output = left("bg-abcde", 3_600_000);
    assert!(
        output.text.contains("bg-abcde") && output.text.contains("3600000 ms") && output.text.contains("Undo does not")
    );
    assert_eq!(output.metadata["background"], "bg-abcde");
}

#[test]
fn a_refusal_of_the_sandbox_names_the_way_on() {
    for (printed, code, hints) in [
        ("curl: (6) Could not resolve host: example.com", 6, true),
        ("touch: cannot touch '/etc/x': Read-only file system", 1, true),
        ("Permission denied", 0, false),
        ("error: test failed", 101, false),
    ] {
        let output = outcome(&[printed.as_bytes()], Some(Exit::Code(code)), None);
        assert_eq!(hinted(output, Exit::Code(code)).text.contains("escalate"), hints, "{printed} {code}");
    }
}

#[test]
fn what_is_asked_for_beyond_the_sandbox_is_read() {
    let read = |input: Value| serde_json::from_value::<Input>(input).unwrap().escalate.unwrap_or_default();
    assert!(
        read(json!({ "command": "x" })).is_nothing() && read(json!({ "command": "x", "escalate": {} })).is_nothing()
    );
    let all = read(json!({ "command": "x", "escalate": { "network": true, "write": ["/srv"], "no_sandbox": false } }));
    assert_eq!(all, Escalate { network: true, write: vec!["/srv".into()], no_sandbox: false });
}
