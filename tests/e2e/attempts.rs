//! Several attempts of one task, and a model that goes back by itself.

use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::{Home, ModelServer, Reply};

fn text(messages: &[Value]) -> String {
    serde_json::to_string(messages).expect("JSON")
}

fn results(messages: &[Value]) -> usize {
    messages.iter().filter(|m| m["role"] == "tool").count()
}

/// Each attempt writes `out.txt` and a file of its own; the reviewer gives these scores, in order, with a problem each below 100.
fn attempts(scores: &'static [u8]) -> ModelServer {
    attempts_and(scores, |_| {})
}

/// `meanwhile` happens once the files of an attempt of this number are written, before its answer.
fn attempts_and(scores: &'static [u8], meanwhile: impl Fn(usize) + Send + 'static) -> ModelServer {
    let begun = Arc::new(AtomicUsize::new(0));
    ModelServer::start([]).many_conversations().by(move |messages| {
        let all = text(messages);
        let number = |mark: &str| (1..=9).rev().find(|n| all.contains(&format!("{mark} {n}")));
        if all.contains("You review the work") {
            let score = scores[number("answer").expect("an answer to review") - 1];
            let problems = if score == 100 { json!([]) } else { json!(["it is short"]) };
            return Reply::text(&json!({"problems": problems, "score": score}).to_string());
        }
        match (results(messages), number("attempt")) {
            (0, _) => {
                let n = begun.fetch_add(1, Ordering::SeqCst) + 1;
                let write =
                    |id, path: String| (id, "write", json!({"filePath": path, "content": format!("attempt {n}")}));
                Reply::calls(&[write("c1", "out.txt".into()), write("c2", format!("{n}.txt"))])
            }
            (_, n) => {
                meanwhile(begun.load(Ordering::SeqCst));
                Reply::text(&format!("answer {}", n.unwrap_or(0)))
            }
        }
    })
}

fn there(home: &Home, names: &[&str]) -> Vec<bool> {
    names.iter().map(|n| home.work().join(n).exists()).collect()
}

#[test]
fn the_best_of_several_attempts_stands() {
    let server = attempts(&[40, 90, 60]);
    let home = Home::with_model(&server.base_url());
    let run = home.run(&["--attempts", "3", "--yes", "Do the thing."]).exits(0);
    let requests = server.finish();
    assert_eq!(requests.len(), 9, "two of each attempt, one of each look");
    let starts: Vec<Vec<Value>> = requests.iter().map(|r| r.messages()).filter(|m| m.len() == 2).collect();
    let starts: Vec<&Vec<Value>> = starts.iter().filter(|m| !text(m).contains("You review")).collect();
    assert!(starts.len() == 3 && starts.windows(2).all(|w| w[0] == w[1]), "all from the same start: {starts:#?}");
    let result = run.result();
    assert_eq!((&result["text"], &result["steps"]), (&json!("answer 2"), &json!(9)), "{result}");
    let told = result["attempts"].as_array().expect("the attempts");
    assert_eq!(told.iter().map(|t| t["score"].clone()).collect::<Vec<_>>(), [40, 90, 60]);
    assert_eq!(told.iter().map(|t| t["stands"] == true).collect::<Vec<_>>(), [false, true, false]);
    assert_eq!(told[1]["sessionID"], result["sessionID"]);
    assert_eq!(home.read("out.txt"), b"attempt 2");
    assert_eq!(there(&home, &["1.txt", "2.txt", "3.txt"]), [false, true, false]);
    for word in ["attempt 1 of 3", "score 90", "attempt 2 stands"] {
        assert!(run.stderr.contains(word), "{word} should be in {}", run.stderr);
    }
    let list =
        |args: &[&str]| home.airlock(&[&["session", "list", "--format", "json"], args].concat()).exits(0).lines();
    assert_eq!(list(&[]).len(), 1, "one session for the person");
    assert_eq!(list(&["--all"]).len(), 6, "three attempts and three looks");
    let id = result["sessionID"].as_str().expect("a session").to_owned();
    assert_eq!(list(&[])[0]["id"], json!(id));
    let _ = home.airlock(&["session", "undo", &id]).exits(0);
    assert_eq!(there(&home, &["out.txt", "2.txt"]), [false, false]);
}

#[test]
fn an_attempt_without_a_fault_is_the_last() {
    let server = attempts(&[40, 100, 60]);
    let home = Home::with_model(&server.base_url());
    let run = home.run(&["--attempts", "3", "--yes", "Do the thing."]).exits(0);
    assert_eq!(
        (run.result()["attempts"].as_array().map(Vec::len), home.read("out.txt")),
        (Some(2), b"attempt 2".to_vec())
    );
    assert_eq!(server.finish().len(), 6);
}

/// The limit is for all of them together, and each gets its share.
#[test]
fn attempts_share_their_limits() {
    let server = attempts(&[40, 90, 60]);
    let home = Home::with_model(&server.base_url());
    let run = home.run(&["--attempts", "3", "--steps", "6", "--yes", "Do the thing."]).exits(0);
    let requests = server.finish();
    assert_eq!(requests.len(), 6, "not one more than may be: {}", run.stdout);
    assert_eq!(run.result()["steps"], 6);
}

/// Somebody else's hand in a file keeps it from being taken back: that attempt stands, and nothing is tried on top of it.
#[test]
fn what_cannot_be_taken_back_stands() {
    let home = Home::new();
    let file = home.work().join("out.txt");
    let server = attempts_and(&[40, 90, 60], move |n| {
        if n == 1 {
            std::fs::write(&file, "mine").expect("the meddler");
        }
    });
    home.config(&support::home::model_config(&server.base_url()));
    let run = home.run(&["--attempts", "3", "--yes", "Do the thing."]).exits(0);
    assert_eq!((run.result()["text"].clone(), home.read("out.txt")), (json!("answer 1"), b"mine".to_vec()));
    assert!(run.stderr.contains("cannot be taken back") && run.stderr.contains("out.txt"), "{}", run.stderr);
    assert_eq!(there(&home, &["1.txt", "2.txt"]), [true, false]);
}

/// What is not kept could not be put back: such an attempt is not taken back in the first place.
#[test]
fn an_attempt_with_a_file_that_is_not_kept_stands() {
    let server = ModelServer::start([]).many_conversations().by(|messages| {
        let line = json!({"command": "head -c 20000000 /dev/zero > big; echo small > small", "description": "fill"});
        match (text(messages).contains("You review the work"), results(messages)) {
            (true, _) => Reply::text(&json!({"problems": ["it is large"], "score": 40}).to_string()),
            (_, 0) => Reply::calls(&[("c1", "bash", line)]),
            _ => Reply::text("filled"),
        }
    });
    let home = Home::with_model(&server.base_url());
    let run = home.run(&["--attempts", "2", "--yes", "Fill it."]).exits(0);
    assert!(run.stderr.contains("big is too large to be kept aside"), "{}", run.stderr);
    assert_eq!((home.read("small"), home.read("big").len()), (b"small\n".to_vec(), 20_000_000));
    // Nor does an undo destroy it in passing.
    let id = run.result()["sessionID"].as_str().expect("an id").to_owned();
    let refused = home.airlock(&["session", "undo", &id]).exits(2);
    assert!(refused.stderr.contains("big is too large to be kept") && refused.stderr.contains("--discard"));
    assert_eq!(there(&home, &["small", "big"]), [true, true]);
    let _ = home.airlock(&["session", "undo", &id, "--discard"]).exits(0);
    assert_eq!(there(&home, &["small", "big"]), [false, false]);
}

/// The ledger of a home, with a command in it.
fn in_ledger(home: &Home, sql: &str) {
    let db = rusqlite::Connection::open(home.data_dir().join("airlock.db")).expect("the ledger");
    db.execute_batch(sql).expect("the command");
}

/// The second attempt has written its files when the ledger takes no further message of it: the first one's work is put back.
#[test]
fn an_attempt_that_breaks_off_leaves_what_was_good() {
    let server = attempts(&[80, 90]);
    let home = Home::with_model(&server.base_url());
    let _ = home.airlock(&["session", "list"]).exits(0);
    in_ledger(
        &home,
        "CREATE TRIGGER full BEFORE INSERT ON message
         WHEN (SELECT count(*) FROM session) = 3 AND NOT EXISTS (SELECT 1 FROM message WHERE id = NEW.id)
         AND (SELECT count(*) FROM message WHERE session_id = NEW.session_id) = 2
         BEGIN SELECT RAISE(ABORT, 'no more of it'); END",
    );
    let run = home.run(&["--attempts", "3", "--yes", "Do the thing."]).exits(0);
    assert!(run.stderr.contains("attempt 2 broke off") && run.stderr.contains("no more of it"), "{}", run.stderr);
    assert_eq!((run.result()["text"].clone(), home.read("out.txt")), (json!("answer 1"), b"attempt 1".to_vec()));
    assert_eq!(there(&home, &["1.txt", "2.txt"]), [true, false]);
}

/// What stands in the way of the best one's files is named, and so is the way to have them all the same.
#[test]
fn work_that_cannot_be_put_back_is_not_lost() {
    let home = Home::new();
    let file = home.work().join("1.txt");
    let in_the_way = file.clone();
    let server = attempts_and(&[90, 40], move |n| {
        if n == 2 {
            std::fs::write(&in_the_way, "mine").expect("a file in the way");
        }
    });
    home.config(&support::home::model_config(&server.base_url()));
    let run = home.run(&["--attempts", "2", "--yes", "Do the thing."]).exits(1);
    let hint = run.stderr.split('`').find_map(|part| part.strip_prefix("airlock ")).expect("a hint");
    assert!(run.stderr.contains("1.txt") && hint.starts_with("session redo ses_"), "{}", run.stderr);
    std::fs::remove_file(file).expect("out of the way");
    let _ = home.airlock(&hint.split(' ').collect::<Vec<_>>()).exits(0);
    assert_eq!((home.read("out.txt"), there(&home, &["1.txt", "2.txt"])), (b"attempt 1".to_vec(), vec![true, false]));
}

/// Ctrl-C in the second attempt, whose files are there already.
#[test]
fn an_interrupted_attempt_gives_way_to_a_good_one() {
    let home = Home::new();
    let of_run = home.path("run.pid");
    let server = attempts_and(&[80, 90], move |n| {
        if n == 2 {
            let text = std::fs::read_to_string(&of_run).expect("the number of the process");
            // SAFETY: sends a signal to a child of this test that has a request open here; no memory is touched.
            unsafe { libc::kill(text.parse().expect("a number"), libc::SIGINT) };
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
    });
    home.config(&support::home::model_config(&server.base_url()));
    let child = home
        .command(&["run", "--format", "json", "--attempts", "3", "--yes", "Do the thing."])
        .spawn()
        .expect("the binary starts");
    std::fs::write(home.path("run.pid"), child.id().to_string()).expect("its number");
    let out = child.wait_with_output().expect("its output");
    let told = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!((out.status.code(), home.read("out.txt")), (Some(130), b"attempt 1".to_vec()), "{told}");
    assert_eq!(there(&home, &["1.txt", "2.txt"]), [true, false]);
    assert!(told.contains("attempt 1 stands"), "{told}");
}

/// Marks a place, goes a wrong way, comes back with a word to itself.
fn there_and_back(messages: &[Value]) -> Reply {
    let came_back = text(messages).contains("wrong.txt is no use");
    match (results(messages), came_back) {
        (0, _) => Reply::calls(&[("c1", "checkpoint", json!({"name": "before"}))]),
        (1, false) => Reply::calls(&[("c2", "write", json!({"filePath": "wrong.txt", "content": "w"}))]),
        (2, false) => {
            let back =
                json!({"checkpoint": "before", "message": "wrong.txt is no use, write right.txt", "files": true});
            Reply::calls(&[("c3", "rewind", back)])
        }
        (1, true) => Reply::calls(&[("c4", "write", json!({"filePath": "right.txt", "content": "r"}))]),
        _ => Reply::text("Done."),
    }
}

#[test]
fn a_model_goes_back_with_a_word_to_itself() {
    let server = ModelServer::start([]).many_conversations().by(there_and_back);
    let home = Home::with_model(&server.base_url());
    let run = home.run(&["--allow", "rewind", "--yes", "Work."]).exits(0);
    assert_eq!(run.result()["text"], "Done.");
    assert_eq!(there(&home, &["wrong.txt", "right.txt"]), [false, true]);
    let went = &run.of("rewound")[0];
    assert_eq!((&went["messages"], &went["files"]), (&json!(2), &json!(1)), "{went}");
    let requests = server.finish();
    let after = text(&requests[3].messages());
    assert!(!after.contains("c2") && !after.contains("c3"), "what came since is gone: {after}");
    assert_eq!(requests[3].messages()[..4], requests[1].messages()[..4], "what was sent before is sent again");
    let id = run.result()["sessionID"].as_str().expect("a session").to_owned();
    let _ = home.airlock(&["session", "redo", &id]).exits(2);
    let _ = home.airlock(&["session", "redo", &id, "--files-only"]).exits(0);
    assert_eq!(there(&home, &["wrong.txt"]), [true]);
}

/// Off by default; and a place that was never marked takes nothing back.
#[test]
fn going_back_has_to_be_allowed_and_needs_a_place() {
    let server = ModelServer::start([Reply::text("ok")]);
    let home = Home::with_model(&server.base_url());
    let _ = home.run(&["Work."]).exits(0);
    let tools = server.finish()[0].body["tools"].to_string();
    assert!(!tools.contains("rewind") && !tools.contains("checkpoint"), "{tools}");
    let back = json!({"checkpoint": "nowhere", "message": "x"});
    let server = ModelServer::start([Reply::calls(&[("c1", "rewind", back)]), Reply::text("Well then.")]);
    home.config(&support::home::model_config(&server.base_url()));
    let run = home.run(&["--allow", "rewind", "Work."]).exits(0);
    assert_eq!(run.result()["text"], "Well then.");
    let told = text(&server.finish()[1].messages());
    assert!(told.contains("nothing was taken back") && told.contains("nowhere"), "{told}");
}

/// On request, before the window is full. The next prompt is sent with the summary in place of what was said.
#[test]
fn a_session_is_summarised_on_request() {
    let server = ModelServer::start([Reply::text("The bug is in line 3."), Reply::text("SUM"), Reply::text("Yes.")])
        .many_conversations();
    let home = Home::with_model(&server.base_url());
    let run = home.run(&["--title", "t", "Find the bug."]).exits(0);
    let id = run.result()["sessionID"].as_str().expect("a session").to_owned();
    let done = home.airlock(&["session", "compact", &id]).exits(0);
    assert!(done.stdout.contains("summarised: about"), "{}", done.stdout);
    let _ = home.run(&["--session", &id, "Sure?"]).exits(0);
    let requests = server.finish();
    assert!(text(&requests[1].messages()).contains("The bug is in line 3."), "{requests:#?}");
    let last = text(&requests[2].messages());
    assert!(last.contains("SUM") && last.contains("Sure?") && !last.contains("line 3"), "{last}");
    assert_eq!(requests[0].messages()[0], requests[2].messages()[0], "the same instructions");
    let _ = home.airlock(&["session", "compact", "ses_none"]).exits(2);
}

#[test]
fn answers_that_do_not_fit_have_as_many_tries_as_are_asked_for() {
    for (retries, requests) in [("0", 1), ("1", 2)] {
        let server = ModelServer::start([]).forever(Reply::text("no JSON"));
        let home = Home::with_model(&server.base_url());
        home.file("schema.json", "{\"type\": \"object\"}");
        let _ = home.run(&["--schema", "schema.json", "--schema-retries", retries, "Work."]).exits(1);
        assert_eq!(server.finish().len(), requests);
    }
}
