//! A run that was recorded is run again without its server.

use serde_json::{Value, json};
use std::path::PathBuf;
use support::{Home, ModelServer, Reply};

const KEY: &str = "sk-canary-3344556677";

fn config(base_url: &str) -> String {
    support::home::model_config(base_url).replace("base_url", "key = { env = \"MOCK_KEY\" }\nbase_url")
}

/// Reads a file and says what it holds; the first answer asks for a retry.
fn recorded() -> (tempfile::TempDir, Home) {
    let server = ModelServer::start([
        Reply::http(503, "application/json", json!({"error": {"message": "busy"}}).to_string()),
        Reply::calls(&[("c1", "read", json!({"filePath": "a.txt"}))]),
        Reply::text(&format!("It holds 4217, and your key is {KEY}."))
            .cut([7, 90, 1], std::time::Duration::from_millis(15)),
    ]);
    let home = Home::new();
    home.config(&config(&server.base_url()));
    home.file("a.txt", "4217\n");
    let tape = tempfile::tempdir().expect("a folder");
    let dir = tape.path().join("tape");
    let mut command =
        home.command(&["run", "--format", "json", "--record", dir.to_str().expect("text"), "What is in it?"]);
    command.env("MOCK_KEY", KEY);
    let run = support::home::finish(command, b"").exits(0);
    assert_eq!(run.result()["text"], "It holds 4217, and your key is ***.");
    (tape, home)
}

fn files(tape: &tempfile::TempDir) -> Vec<PathBuf> {
    let dir = std::fs::read_dir(tape.path().join("tape")).expect("the tape");
    let mut all: Vec<_> = dir.flatten().map(|e| e.path()).collect();
    all.sort();
    all
}

fn replay(home: &Home, tape: &tempfile::TempDir, prompt: &str) -> support::Run {
    let dir = tape.path().join("tape");
    home.run(&["--replay", dir.to_str().expect("text"), prompt])
}

#[test]
fn a_recorded_run_is_played_in_another_place_without_server_or_key() {
    let (tape, first) = recorded();
    let kept: Vec<String> = files(&tape).iter().map(|f| std::fs::read_to_string(f).expect("an exchange")).collect();
    assert_eq!(kept.len(), 3);
    for text in &kept {
        assert!(!text.contains(KEY) && text.contains("{{secret:"), "{text}");
        assert!(!text.contains(&first.work().display().to_string()), "{text}");
    }
    let last: Value = serde_json::from_str(&kept[2]).expect("JSON");
    let pieces = last["response"]["stream"]["pieces"].as_array().expect("pieces");
    assert!(pieces.len() > 1 && pieces.iter().any(|p| p["after_ms"].as_u64().is_some_and(|ms| ms > 0)), "{pieces:#?}");
    drop(first);
    let home = Home::new();
    // Nobody listens there.
    home.config(&config("http://127.0.0.1:9/v1"));
    home.file("a.txt", "4217\n");
    let run = replay(&home, &tape, "What is in it?").exits(0);
    assert_eq!(run.result()["text"], "It holds 4217, and your key is ***.");
    assert_eq!(run.of("retry").len(), 1);
    assert_eq!(run.of("tool_use")[0]["part"]["state"]["status"], "completed");
}

#[test]
fn what_was_not_recorded_is_refused_with_the_first_difference() {
    let (tape, home) = recorded();
    let asked = replay(&home, &tape, "What was in it?").exits(1);
    assert!(asked.stderr.contains("0001.json") && asked.stderr.contains("What was in it?"), "{}", asked.stderr);
    // Another content gives another result, and with it another request.
    home.file("a.txt", "4218\n");
    let read = replay(&home, &tape, "What is in it?").exits(1);
    assert!(read.stderr.contains("0003.json") && read.stderr.contains("4218"), "{}", read.stderr);
    let again = tape.path().join("tape");
    let used = home.run(&["--record", again.to_str().expect("text"), "What is in it?"]).exits(2);
    assert!(used.stderr.contains("already holds a recording"), "{}", used.stderr);
    let none = home.run(&["--replay", "nowhere", "What is in it?"]).exits(2);
    assert!(none.stderr.contains("nowhere") && none.stderr.contains("--record"), "{}", none.stderr);
}
