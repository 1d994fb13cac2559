//! Kill -9 after every event of a scripted run, in the middle of a shell line and in the middle of a text: resuming gives the same
//! final state, what was done is done once, and what was written down stays.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout};
use std::time::{Duration, Instant};
use support::reply::{End, stream};
use support::{Home, ModelServer, Reply};

/// A read, a shell line that leaves a mark each time it runs, an answer.
fn script() -> Vec<Reply> {
    let pause = Duration::from_millis(5);
    let slowly = |r: Reply| r.cut(vec![200; 64], pause);
    vec![
        slowly(Reply::turn(Some("First I read."), &[("c1", "read", json!({"filePath": "a.txt"}))])),
        slowly(Reply::calls(&[("c2", "bash", json!({"command": "echo ran >> mark.txt"}))])),
        slowly(Reply::text("All done.")),
    ]
}

/// What the model answers depends on what it is sent, so that a resumed run is answered where it stands.
fn place(messages: &[Value]) -> usize {
    messages.iter().filter(|m| m["role"] == "tool").count().min(2)
}

/// A run under way, and what it prints.
struct Going {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    session: Option<String>,
}

impl Going {
    fn start(home: &Home) -> Self {
        let mut child =
            home.command(&["run", "--format", "json", "--yes", "Work."]).spawn().expect("the binary starts");
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        Self { child, lines, session: None }
    }

    /// Reads one printed line; false at the end.
    fn line(&mut self) -> bool {
        let Some(Ok(line)) = self.lines.next() else { return false };
        let value: Value = serde_json::from_str(&line).expect("JSON");
        self.session = self.session.take().or_else(|| value["sessionID"].as_str().map(str::to_owned));
        true
    }

    /// As a power cut: nothing is told, nothing is closed.
    fn kill(mut self) -> Option<String> {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.session
    }
}

/// Starts the run and kills it once it has printed `events` lines. Returns its session, if it named one.
fn killed_after(home: &Home, events: usize) -> (Option<String>, bool) {
    let mut run = Going::start(home);
    let ended = !(0..events).all(|_| run.line());
    (run.kill(), ended)
}

/// Starts the run and kills it as soon as `happened`. Returns its session.
fn killed_when(home: &Home, happened: impl Fn(&str) -> bool) -> String {
    let mut run = Going::start(home);
    assert!(run.line(), "the run printed nothing");
    let session = run.session.clone().expect("the first line names the session");
    let patience = Instant::now() + Duration::from_secs(50);
    while !happened(&session) {
        assert!(Instant::now() < patience, "it never happened");
        std::thread::sleep(Duration::from_millis(5));
    }
    run.kill();
    session
}

fn export(home: &Home, session: &str) -> Value {
    let run = home.airlock(&["session", "export", session]).exits(0);
    serde_json::from_str(&run.stdout).expect("an export is JSON")
}

/// The parts of one type in an export.
fn parts(export: &Value, kind: &str) -> Vec<Value> {
    let messages = export["messages"].as_array().expect("messages");
    let all = messages.iter().flat_map(|m| m["parts"].as_array().cloned().unwrap_or_default());
    all.filter(|p| p["type"] == kind).collect()
}

/// How often a shell line left its mark.
fn marks(home: &Home, file: &str) -> usize {
    std::fs::read_to_string(home.work().join(file)).unwrap_or_default().lines().count()
}

#[test]
fn a_killed_run_resumes_to_the_same_end() {
    for events in 1..40 {
        let server = ModelServer::start([]).by(|messages| script().swap_remove(place(messages)));
        let home = Home::with_model(&server.base_url());
        home.file("a.txt", "alpha\n");
        let (session, ended) = killed_after(&home, events);
        if ended {
            assert!(events > 5, "the run printed only {events} lines");
            return;
        }
        let session = session.unwrap_or_else(|| panic!("no session after {events} events"));
        let run = home.run(&["--yes", "--session", &session]);
        let run = run.exits(0);
        assert_eq!(run.result()["text"], "All done.", "after {events} events");
        // A call that was still to come is asked for again and runs; one that had begun is never begun again.
        assert!(marks(&home, "mark.txt") <= 1, "after {events} events the shell line ran twice");
        server.finish();
    }
    panic!("the run never ended");
}

/// Killed between its effect and its result, a call counts as interrupted: the model is told, and nothing is run behind its back.
#[test]
fn a_call_that_was_killed_half_way_happened_once() {
    let calls = || {
        let done = json!({"command": "echo ran >> done.txt"});
        let long = json!({"command": "echo ran >> begun.txt; sleep 300; echo late >> begun.txt"});
        Reply::calls(&[("c1", "bash", done), ("c2", "bash", long)])
    };
    let server = ModelServer::start([]).by(move |messages| match place(messages) {
        0 => calls(),
        _ => Reply::text("All done."),
    });
    let home = Home::with_model(&server.base_url());
    let session = killed_when(&home, |_| marks(&home, "begun.txt") > 0);
    let resumed = home.run(&["--yes", "--session", &session]).exits(0);
    assert_eq!(resumed.result()["text"], "All done.");
    assert_eq!((marks(&home, "done.txt"), marks(&home, "begun.txt")), (1, 1));
    let states: Vec<Value> = parts(&export(&home, &session), "tool").iter().map(|p| p["state"].clone()).collect();
    assert_eq!(states.len(), 2, "{states:#?}");
    assert_eq!(states[0]["status"], "completed", "{states:#?}");
    assert_eq!((&states[1]["status"], &states[1]["metadata"]["kind"]), (&json!("error"), &json!("interrupted")));
    let told = server.finish().pop().expect("a request").result("c2").unwrap_or_default();
    assert!(told.contains("not known"), "{told}");
}

/// Text is in the ledger while the answer still comes (within 250 ms of its coming: the loop's own tests hold that on virtual time),
/// and a kill does not take it away.
#[test]
fn text_that_had_come_survives_a_kill() {
    let half =
        stream(&[json!({"role": "assistant", "content": "The first half, "}), json!({"content": "and then"})], "stop");
    let cut =
        half.find("\"finish_reason\":\"stop\"").and_then(|end| half[..end].rfind("data: ")).expect("a finish chunk");
    let hangs = Reply::sse(&half.as_bytes()[..cut]).ends(End::Hang);
    let server = ModelServer::start([hangs]).forever(Reply::text("All done."));
    let home = Home::with_model(&server.base_url());
    let text =
        |session: &str| parts(&export(&home, session), "text").iter().any(|p| p["text"] == "The first half, and then");
    let session = killed_when(&home, text);
    assert_eq!(home.run(&["--yes", "--session", &session]).exits(0).result()["text"], "All done.");
    assert!(text(&session), "{:#}", export(&home, &session));
}
