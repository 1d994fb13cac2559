//! Programs that a session leaves running, as the model meets them; and that nothing outlives the run.

use crate::family::{Live, results};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use support::{Home, ModelServer, Reply};

/// Processes of this machine whose command line holds a text that only one test uses.
fn running(marker: &str) -> usize {
    let lines = std::fs::read_dir("/proc").expect("proc").filter_map(|entry| {
        let line = std::fs::read(entry.ok()?.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    });
    lines.filter(|line| line.contains(marker)).count()
}

/// The id that a result names.
fn id_in(messages: &[Value]) -> String {
    let text = messages.iter().filter(|m| m["role"] == "tool").map(|m| m["content"].to_string()).collect::<String>();
    let at = text.find("bg-").unwrap_or_else(|| panic!("no id in {text}"));
    text[at..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect()
}

fn start(line: &str) -> Reply {
    Reply::calls(&[("c1", "bash", json!({"command": line, "background": true}))])
}

/// A program in the background, what the model then does with it (tool, arguments beside the id), then an answer.
fn script(line: &'static str, then: &'static [(&'static str, &'static str)]) -> ModelServer {
    ModelServer::start([]).by(move |messages| match results(messages) {
        0 => start(line),
        n => match then.get(n - 1) {
            None => Reply::text("done"),
            Some((tool, more)) => {
                let mut input: Value = serde_json::from_str(more).expect("JSON");
                if tool.starts_with("bash_") {
                    input["id"] = json!(id_in(messages));
                }
                Reply::calls(&[(["c2", "c3", "c4"][n - 1], tool, input)])
            }
        },
    })
}

#[test]
fn a_server_is_started_looked_at_and_stopped() {
    let server = script(
        "echo listening; exec sleep 8201",
        &[("bash_output", r#"{"wait_ms": 700}"#), ("bash_stop", "{}"), ("bash_output", "{}")],
    );
    let home = Home::with_model(&server.base_url());
    let run = home.run(&["--allow", "bash", "Serve."]).exits(0);
    assert_eq!(run.result()["text"], "done");
    let requests = server.finish();
    let told = |n: usize, call: &str| requests[n].result(call).unwrap_or_default();
    assert!(told(1, "c1").contains("runs in the background as bg-"), "{}", told(1, "c1"));
    assert!(told(2, "c2").contains("listening") && told(2, "c2").contains("running for"), "{}", told(2, "c2"));
    assert!(told(3, "c3").contains("it was stopped"), "{}", told(3, "c3"));
    assert!(told(4, "c4").contains("(no new output)") && told(4, "c4").contains("stopped"), "{}", told(4, "c4"));
    let part = &run.of("tool_use")[0]["part"]["state"];
    assert!(part["metadata"]["background"].as_str().is_some_and(|id| id.starts_with("bg-")), "{part}");
    assert!(part["metadata"]["scan"]["uncovered"].to_string().contains("in the background"), "{part}");
    assert!(!requests[1].body["messages"].to_string().contains("has ended bg-"));
}

/// Asked for as any line; and its end is told where nobody looked.
#[test]
fn it_is_asked_for_and_its_end_is_told() {
    let server = script("exit 7", &[("bash", r#"{"command": "sleep 1"}"#)]);
    let home = Home::with_model(&server.base_url());
    let _ = home.run(&["Go."]).exits(4);
    assert_eq!(server.finish().len(), 1);
    let server = script("exit 7", &[("bash", r#"{"command": "sleep 1"}"#)]);
    let home = Home::with_model(&server.base_url());
    let _ = home.run(&["--allow", "bash", "Go."]).exits(0);
    let last = server.finish().pop().expect("a request").body["messages"].to_string();
    assert!(last.contains("has ended bg-") && last.contains("exit code 7"), "{last}");
}

#[test]
fn the_end_of_the_run_ends_it_and_the_next_run_knows() {
    let server = script("setsid sleep 8202 & exec sleep 8202", &[]).many_conversations();
    let home = Home::with_model(&server.base_url());
    let run = home.run(&["--allow", "bash", "Serve."]).exits(0);
    assert_eq!(running("sleep 8202"), 0);
    let session = run.result()["sessionID"].as_str().expect("a session").to_owned();
    let _ = home.run(&["--session", &session, "And now?"]).exits(0);
    let last = server.finish().pop().expect("a request").body["messages"].to_string();
    assert!(last.contains("has ended bg-") && last.contains("that had started it is over"), "{last}");
}

#[test]
fn a_host_that_is_killed_takes_it_along() {
    let server = script("setsid sleep 8203 & exec sleep 8203", &[("bash_output", r#"{"wait_ms": 60000}"#)]);
    let home = Home::with_model(&server.base_url());
    let mut live = Live::start(&home, &["--allow", "bash", "Serve."]);
    assert!(live.until("tool_use").is_some());
    let patience = Instant::now() + Duration::from_secs(20);
    while running("sleep 8203") < 2 && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(running("sleep 8203") >= 2);
    live.kill();
    while running("sleep 8203") > 0 && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(running("sleep 8203"), 0);
}

#[test]
fn a_flood_is_cut_and_ended() {
    let server = script("yes flood", &[("bash_output", r#"{"wait_ms": 40000}"#)]);
    let home = Home::with_model(&server.base_url());
    let run = home.run(&["--allow", "bash", "Go."]).exits(0);
    let told = server.finish()[2].result("c2").unwrap_or_default();
    assert!(told.contains("printed more than") && told.contains("were not kept here"), "{}", &told[told.len() - 300..]);
    assert!(told.len() < 60_000 && run.peak_kib < 400_000, "{} {}", told.len(), run.peak_kib);
}
