//! Kill -9 after every event of a scripted run: resuming gives the same final state, and no call is run twice.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::time::Duration;
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

/// Starts the run and kills it once it has printed `events` lines. Returns its session, if it named one.
fn killed_after(home: &Home, events: usize) -> (Option<String>, bool) {
    let mut child = home.command(&["run", "--format", "json", "--yes", "Work."]).spawn().expect("the binary starts");
    let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let mut session = None;
    let mut seen = 0;
    while seen < events {
        let Some(Ok(line)) = lines.next() else { break };
        let value: Value = serde_json::from_str(&line).expect("JSON");
        session = session.or_else(|| value["sessionID"].as_str().map(str::to_owned));
        seen += 1;
    }
    let ended = seen < events;
    let _ = child.kill();
    let _ = child.wait();
    (session, ended)
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
        let marks = std::fs::read_to_string(home.work().join("mark.txt")).unwrap_or_default();
        // Killed while it ran, a call counts as interrupted and is not run again behind the model's back.
        assert!(marks.lines().count() <= 1, "after {events} events the shell line ran twice: {marks}");
        server.finish();
    }
    panic!("the run never ended");
}
