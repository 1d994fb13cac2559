//! Sub-agents, plan mode, questions and steering, as a person and a script meet them.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::reply::End;
use support::{Home, ModelServer, Reply};

/// What a conversation is about: the first words of its user.
pub(crate) fn about(messages: &[Value]) -> String {
    messages.iter().find(|m| m["role"] == "user").map_or_else(String::new, |m| m["content"].to_string())
}

pub(crate) fn results(messages: &[Value]) -> usize {
    messages.iter().filter(|m| m["role"] == "tool").count()
}

pub(crate) fn task(id: &'static str, agent: &str, prompt: &str) -> (&'static str, &'static str, Value) {
    (id, "task", json!({"description": id, "prompt": prompt, "subagent_type": agent}))
}

/// The beginning of an answer in text, and the rest of it.
fn halves(text: &str) -> (Vec<u8>, Vec<u8>) {
    let mut body = Reply::text(text).body();
    // Role and text; the end of the step is in the rest.
    let ends = body.windows(2).enumerate().filter(|(_, w)| w == b"\n\n").map(|(at, _)| at + 2);
    let rest = body.split_off(ends.take(2).last().expect("two events"));
    (body, rest)
}

/// Begins and never ends.
fn endless(text: &str) -> Reply {
    Reply::sse(halves(text).0).ends(End::Hang)
}

/// A run whose lines are read as they come.
pub(crate) struct Live {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    pub(crate) seen: Vec<Value>,
}

impl Live {
    pub(crate) fn start(home: &Home, args: &[&str]) -> Self {
        let all: Vec<&str> = ["run", "--format", "json"].into_iter().chain(args.iter().copied()).collect();
        let mut child = home.command(&all).spawn().expect("the binary starts");
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        Self { child, lines, seen: vec![] }
    }

    /// The next line of this type. `None` at the end.
    pub(crate) fn until(&mut self, kind: &str) -> Option<Value> {
        loop {
            let line = self.lines.next()?.expect("a line");
            let value: Value = serde_json::from_str(&line).expect("JSON");
            self.seen.push(value.clone());
            if value["type"] == kind {
                return Some(value);
            }
        }
    }

    /// As a power cut: nothing is told, nothing is closed.
    pub(crate) fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// The last line and the exit code.
    pub(crate) fn end(mut self) -> (Value, Option<i32>) {
        let _ = self.until("result");
        let code = self.child.wait().expect("an end").code();
        (self.seen.last().cloned().unwrap_or_default(), code)
    }
}

/// Every session of the home as `session export` prints it.
fn exports(home: &Home) -> Vec<Value> {
    let list = home.airlock(&["session", "list", "--all", "--format", "json"]).exits(0);
    let export = |s: &Value| {
        let id = s["id"].as_str().unwrap_or_default().to_owned();
        serde_json::from_str(&home.airlock(&["session", "export", id.as_str()]).exits(0).stdout).expect("an export")
    };
    list.lines().iter().map(export).collect()
}

/// No message and no call of any session is left open.
pub(crate) fn assert_closed(home: &Home) {
    for session in exports(home) {
        for message in session["messages"].as_array().into_iter().flatten() {
            let info = &message["info"];
            assert!(info["role"] == "user" || info["time"]["completed"].is_u64(), "an open message: {message:#}");
            for part in message["parts"].as_array().into_iter().flatten().filter(|p| p["type"] == "tool") {
                assert!(["completed", "error"].contains(&part["state"]["status"].as_str().unwrap_or("")), "{part:#}");
            }
        }
    }
}

/// As it is, but the second half of it comes after a while.
pub(crate) fn in_two_halves(reply: &Reply) -> Reply {
    let mut body = reply.body();
    let rest = body.split_off(body.len() / 2);
    Reply::sse(body).then(Duration::from_millis(2500), rest)
}

pub(crate) fn write(id: &'static str, path: &str, content: &str) -> (&'static str, &'static str, Value) {
    (id, "write", json!({"filePath": path, "content": content}))
}

fn place(messages: &[Value]) -> Reply {
    match (about(messages).contains("Find"), results(messages)) {
        (true, 0) => {
            Reply::calls(&[("r", "read", json!({"filePath": "a.txt"}))]).cut(vec![150; 64], Duration::from_millis(5))
        }
        (true, _) => Reply::text("Found."),
        (false, 0) => Reply::calls(&[task("t1", "general", "Find one."), task("t2", "general", "Find two.")]),
        (false, _) => Reply::text("All done."),
    }
}

/// Two agents that each leave a mark, two writes at one time, a summary in the middle. What was interrupted is done again, as a
/// model would do it; a mark never is.
fn long_work(messages: &[Value]) -> Reply {
    let all = json!(messages).to_string();
    let slowly = |r: Reply| r.cut(vec![200; 64], Duration::from_millis(3));
    if all.contains("The conversation:") {
        return slowly(Reply::text("SUMMARY: two agents have left their marks."));
    }
    let work = about(messages);
    if work.contains("Mark") {
        let line = format!("echo ran >> {}.txt", if work.contains("one") { "one" } else { "two" });
        return match results(messages) {
            0 => slowly(Reply::calls(&[("m", "bash", json!({"command": line}))])),
            _ => Reply::text("Marked."),
        };
    }
    let writes =
        |ids: [&'static str; 2]| slowly(Reply::calls(&[write(ids[0], "p.txt", "p"), write(ids[1], "q.txt", "q")]));
    let newest = messages.iter().rev().take_while(|m| m["role"] == "tool");
    let was_cut_off = newest.map(Value::to_string).any(|m| m.contains("interrupted"));
    let tries = ["w1", "w3", "w5", "w7"].iter().filter(|id| all.contains(&format!("\"{id}\""))).count();
    match (all.contains("SUMMARY") || results(messages) > 0, tries) {
        (false, _) => {
            let tasks = [task("t1", "general", "Mark one."), task("t2", "general", "Mark two.")];
            slowly(Reply::calls(&tasks).used(170_000))
        }
        (true, 0) => writes(["w1", "w2"]),
        (true, 1 | 2) if was_cut_off => writes([["w3", "w4"], ["w5", "w6"]][tries - 1]),
        _ => slowly(Reply::text("All done.")),
    }
}

/// Killed after any event, a run with sub-agents, writes side by side and a summary resumes to the same end: the same files, the same
/// answer, nothing done twice, no session left open.
#[test]
fn a_killed_family_resumes_to_the_same_end() {
    for events in 1..60 {
        let server = ModelServer::start([]).by(long_work).many_conversations();
        let home = Home::with_model(&server.base_url());
        let mut run = Live::start(&home, &["--yes", "Work."]);
        let ended = !(0..events).all(|_| run.until_any());
        let _ = run.child.kill();
        let _ = run.child.wait();
        if ended {
            assert!(events > 14, "the run printed only {events} lines");
            assert!(run.seen.iter().any(|l| l["type"] == "compacted"), "no summary was written");
            return;
        }
        let session = run.seen[0]["sessionID"].as_str().expect("a session").to_owned();
        let resumed = home.run(&["--yes", "--session", &session]).exits(0);
        assert_eq!(resumed.result()["text"], "All done.", "after {events} events");
        assert_eq!((home.read("p.txt"), home.read("q.txt")), (b"p".into(), b"q".into()), "after {events} events");
        for mark in ["one.txt", "two.txt"] {
            let marks = std::fs::read_to_string(home.work().join(mark)).unwrap_or_default();
            assert!(marks.lines().count() <= 1, "after {events} events {mark} was marked twice");
        }
        assert_closed(&home);
        server.finish();
    }
    panic!("the run never ended");
}

impl Live {
    /// Children that have written something, with the file.
    pub(crate) fn children(&self) -> Vec<(String, String)> {
        let written = self.seen.iter().filter(|l| l["type"] == "child" && l["event"]["part"]["tool"] == "write");
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        written.map(|l| (text(&l["sessionID"]), text(&l["event"]["part"]["state"]["input"]["filePath"]))).collect()
    }

    fn until_any(&mut self) -> bool {
        let Some(Ok(line)) = self.lines.next() else { return false };
        self.seen.push(serde_json::from_str(&line).expect("JSON"));
        true
    }
}

#[test]
fn an_interrupt_ends_the_whole_family() {
    let server = ModelServer::start([])
        .by(|m| if about(m).contains("Find") { endless("half") } else { place(m) })
        .many_conversations();
    let home = Home::with_model(&server.base_url());
    let mut run = Live::start(&home, &["Work."]);
    run.until("child").expect("a child at work");
    // SAFETY: sends a signal to a child of this process; no memory is touched.
    unsafe { libc::kill(run.child.id().cast_signed(), libc::SIGINT) };
    assert_eq!(run.end().1, Some(130));
    assert_closed(&home);
}

/// A question that a child's act raises is the root's: in its name, and a headless root ends for it.
#[test]
fn a_childs_question_is_its_roots() {
    let script = |m: &[Value]| match (about(m).contains("Find"), results(m)) {
        (true, 0) => Reply::calls(&[("w", "write", json!({"filePath": "a.txt", "content": "x"}))]),
        _ => place(m),
    };
    let start = || ModelServer::start([]).by(script).many_conversations();
    let server = start();
    let home = Home::with_model(&server.base_url());
    let run = home.run(&["Work."]).exits(4);
    let ask = &run.of("ask")[0];
    let root = &run.result()["sessionID"];
    assert_eq!((&ask["sessionID"], &ask["request"]["sessionID"], &ask["reply"]), (root, root, &Value::Null));
    assert_eq!(ask["request"]["metadata"]["agent"], "general");
    let child = ask["request"]["metadata"]["childID"].as_str().expect("whose act it is");
    assert_ne!(child, root.as_str().expect("an id"));
    assert!(!home.work().join("a.txt").exists());
    let server = start();
    let home = Home::with_model(&server.base_url());
    let _ = home.run(&["--yes", "Work."]).exits(0);
    assert_eq!(home.read("a.txt"), b"x");
}

#[test]
fn a_deny_of_the_parent_is_final_for_its_children() {
    let server = ModelServer::start([])
        .by(|m| match (about(m).contains("Find"), results(m)) {
            (true, 0) => Reply::calls(&[("w", "write", json!({"filePath": "a.txt", "content": "x"}))]),
            _ => place(m),
        })
        .many_conversations();
    let home = Home::with_model(&server.base_url());
    let config = support::home::model_config(&server.base_url());
    home.config(&format!("{config}\n[agents.general]\npermission = {{ edit = \"allow\" }}\n"));
    let _ = home.run(&["--deny", "edit:a.txt", "--yes", "Work."]).exits(0);
    assert!(!home.work().join("a.txt").exists());
}

#[test]
fn a_question_without_a_person_is_refused_and_the_run_goes_on() {
    let question = json!({"questions": [{"question": "Which?", "header": "Way", "options": [{"label": "a"}]}]});
    let server = ModelServer::start([Reply::calls(&[("q", "question", question)]), Reply::text("I took a.")]);
    let home = Home::with_model(&server.base_url());
    let run = home.run(&["--yes", "Work."]).exits(0);
    assert_eq!(run.result()["text"], "I took a.");
    assert_eq!(run.of("question")[0]["answers"], Value::Null, "--yes picks nothing");
    let told = server.finish()[1].result("q").unwrap_or_default();
    assert!(told.contains("Nobody is there"), "{told}");
}

/// A session has one owner. A second process is told who it is, and hands a message over, changes it and takes it back.
#[test]
fn a_second_process_hands_messages_over() {
    // The first answer waits until all messages are handed over.
    let go = Arc::new(AtomicBool::new(false));
    let gate = go.clone();
    let server = ModelServer::start([]).by(move |messages| {
        let until = Instant::now() + Duration::from_secs(50);
        while !gate.load(Ordering::SeqCst) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        let asked = messages.last().map(Value::to_string).unwrap_or_default();
        Reply::text(if asked.contains("And now?") { "Second." } else { "First." })
    });
    let home = Home::with_model(&server.base_url());
    let mut run = Live::start(&home, &["--title", "t", "Work."]);
    let session = loop {
        let list = home.airlock(&["session", "list", "--format", "json"]).exits(0);
        if let Some(s) = list.lines().first() {
            break s["id"].as_str().expect("an id").to_owned();
        }
    };
    let busy = home.run(&["--session", &session, "Me too."]).exits(1);
    let pid = run.child.id().to_string();
    for word in ["airlock session send", pid.as_str()] {
        assert!(busy.stderr.contains(word), "{word} should be in {}", busy.stderr);
    }
    let send = |text: &str| {
        let sent = home.airlock(&["session", "send", &session, text, "--queue", "--format", "json"]).exits(0);
        assert_eq!(sent.lines()[0]["holder"].to_string(), pid);
        sent.lines()[0]["id"].to_string()
    };
    let inbox = |args: &[&str]| {
        let all: Vec<&str> = ["session", "inbox", &session].into_iter().chain(args.iter().copied()).collect();
        home.airlock(&all)
    };
    let (first, second) = (send("And then?"), send("Never mind."));
    let _ = inbox(&["edit", &first, "And", "now?"]).exits(0);
    let _ = inbox(&["cancel", &second]).exits(0);
    let _ = inbox(&["cancel", &second]).exits(2);
    let waiting = inbox(&["list", "--format", "json"]).exits(0).lines();
    assert_eq!((waiting.len(), &waiting[0]["text"], &waiting[0]["delivery"]), (1, &json!("And now?"), &json!("queue")));
    go.store(true, Ordering::SeqCst);
    assert_eq!(run.until("text").expect("an answer")["part"]["text"], "First.");
    assert_eq!(run.end().0["text"], "Second.");
    assert_eq!(inbox(&[]).exits(0).stdout, "");
    // Nobody works on it now: what is sent waits, and a run without a prompt takes it.
    let told = home.airlock(&["session", "send", &session, "Go on."]).exits(0);
    assert!(told.stdout.contains("nobody works on"), "{}", told.stdout);
    let _ = home.run(&["--session", &session]).exits(0);
    assert_eq!(inbox(&[]).exits(0).stdout, "");
    assert_eq!(server.finish().len(), 3);
}

#[test]
fn agents_are_files_and_a_broken_one_spoils_nothing() {
    let home = Home::new();
    home.file(".claude/agents/reviewer.md", "---\ndescription: Reads closely\ntools: Read, Grep\n---\nYou review.\n");
    home.file(".airlock/agents/broken.md", "---\ndescription: use: when\n---\nx\n");
    let run = home.airlock(&["agents", "--format", "json"]).exits(0);
    assert!(run.stderr.contains("broken.md") && run.stderr.contains("line 2"), "{}", run.stderr);
    let agents: Vec<Value> = serde_json::from_str(&run.stdout).expect("a list");
    let names: Vec<&str> = agents.iter().filter_map(|a| a["name"].as_str()).collect();
    assert_eq!(names, ["build", "plan", "general", "explore", "minimal", "reviewer"]);
    let reviewer = &agents[5];
    assert_eq!((&reviewer["mode"], &reviewer["tools"]), (&json!("subagent"), &json!(["read", "grep"])));
    assert!(reviewer["source"].as_str().is_some_and(|s| s.ends_with(".claude/agents/reviewer.md")), "{reviewer}");
    assert_eq!(agents[0]["source"], "built in");
}

/// Two hundred agents at one time, each in a session of its own, and all of them in 200 MB.
#[test]
fn two_hundred_agents_at_one_time_fit_into_little_memory() {
    let server = ModelServer::start([])
        .by(|messages| match (about(messages).contains("Look"), results(messages)) {
            (true, _) => in_two_halves(&Reply::text("Nothing.")),
            (false, 0) => {
                let ids: Vec<String> = (0..200).map(|n| format!("t{n}")).collect();
                let input = json!({"description": "look", "prompt": "Look.", "subagent_type": "explore"});
                Reply::calls(&ids.iter().map(|id| (id.as_str(), "task", input.clone())).collect::<Vec<_>>())
            }
            (false, n) => Reply::text(&format!("{n} have looked.")),
        })
        .many_conversations();
    let home = Home::new();
    let config = support::home::model_config(&server.base_url());
    home.config(&format!("{config}\n[limits]\nchildren_at_once = 200\n"));
    let run = home.run(&["Work."]).exits(0);
    assert_eq!(run.result()["text"], "200 have looked.");
    assert_eq!(server.finish().len(), 202);
    assert!(run.peak_kib > 0 && run.peak_kib < 200 << 10, "{} KiB", run.peak_kib);
}
