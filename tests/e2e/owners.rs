//! Several people share an account of the system: each has a home of their own in the program, and sees nothing of the others.

use crate::plugins::{ECHO, guest, put};
use serde_json::json;
use std::path::{Path, PathBuf};
use support::Home;
use support::home::{Run, finish};

const CANARY: &str = "canary-of-ann-4711";

fn airlock(home: &Home, owner: &str, args: &[&str], input: &str) -> Run {
    let mut command = home.command(args);
    command.env("AIRLOCK_OWNER", owner);
    finish(command, input.as_bytes())
}

fn home_of(home: &Home, owner: &str) -> PathBuf {
    home.data_dir().join("owners").join(owner)
}

/// All that lies below a folder, as bytes.
fn all_bytes(folder: &Path) -> Vec<u8> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
    entries.flat_map(|p| if p.is_dir() { all_bytes(&p) } else { std::fs::read(&p).unwrap_or_default() }).collect()
}

fn shows(run: &Run) -> bool {
    run.stdout.contains(CANARY) || run.stderr.contains(CANARY)
}

#[test]
fn what_is_one_owners_never_shows_at_anothers() {
    let home = Home::new();
    let file = put(&home, "echo.wasm", &guest(ECHO));
    let file = file.to_str().expect("a path");
    let ann = |args: &[&str], input: &str| airlock(&home, "ann", args, input);
    let bob = |args: &[&str], input: &str| airlock(&home, "bob", args, input);
    // A secret, a key, a component, an answer for good, and a session.
    let _ = ann(&["secret", "set", "token", "--host", "api.example.com"], CANARY).exits(0);
    let _ = ann(&["auth", "add", "openai"], CANARY).exits(0);
    let _ = ann(&["plugin", "add", file], "").exits(0);
    let call = ["plugin", "call", ECHO, ECHO, &json!({ "mine": CANARY }).to_string()];
    let _ = ann(&[&call[..], &["--yes=always"]].concat(), "").exits(0);
    let _ = ann(&["run", "--no-reply", "--model", "offline/explorer", CANARY], "").exits(0);
    let listed = ann(&["session", "list", "--format", "json"], "").exits(0).lines();
    let id = listed[0]["id"].as_str().or(listed[0]["info"]["id"].as_str()).expect("a session").to_owned();
    assert!(shows(&ann(&["session", "export", &id], "").exits(0)), "it is there for her");

    for args in [
        &["secret", "list"][..],
        &["auth", "list"],
        &["permission", "list"],
        &["session", "list", "--all"],
        &["session", "egress", "--calls"],
        &["plugin", "list"],
        &["config", "show"],
    ] {
        let run = bob(args, "").exits(0);
        assert!(!shows(&run) && !run.stdout.contains(&id) && !run.stdout.contains("ann"), "{args:?}: {}", run.stdout);
    }
    let _ = bob(&["session", "show", &id], "").exits(2);
    let _ = bob(&call, "").exits(2);
    let _ = bob(&["plugin", "add", file], "").exits(0);
    let asked = bob(&call, "").exits(4);
    assert!(asked.stderr.contains("--allow echo"), "her answer is none for his: {}", asked.stderr);
    // Nor do his components and programs come near her home, whatever he allows.
    let hers = home_of(&home, "ann").join("data/auth.json");
    assert!(hers.exists());
    let input = json!({ "filePath": hers }).to_string();
    let read = bob(&["plugin", "call", "read", "read", &input, "--yes"], "").exits(4);
    assert!(read.stderr.contains("belongs to the host") && !shows(&read), "{}", read.stderr);
    let line = json!({ "command": format!("cat {} || true", hers.display()), "description": "look" }).to_string();
    assert!(!shows(&bob(&["plugin", "call", "bash", "bash", &line, "--yes"], "").exits(0)));
    for needle in [CANARY, id.as_str()] {
        let bytes = all_bytes(&home_of(&home, "bob"));
        assert!(!bytes.windows(needle.len()).any(|w| w == needle.as_bytes()), "{needle} is in his home");
    }
    // The person of the account is a third one.
    assert!(!shows(&home.airlock(&["secret", "list"]).exits(0)));
    assert!(home.airlock(&["session", "list", "--all", "--format", "json"]).exits(0).stdout.is_empty());
}

#[test]
fn a_home_that_was_copied_is_still_its_owners() {
    let home = Home::new();
    let _ = airlock(&home, "ann", &["session", "list"], "").exits(0);
    std::fs::rename(home_of(&home, "ann"), home_of(&home, "bob")).expect("the move");
    let refused = airlock(&home, "bob", &["session", "list"], "").exits(1);
    assert!(refused.stderr.contains("belongs to ann, and bob has no part in it"), "{}", refused.stderr);
    for name in ["../x", "Ann", ""] {
        let run = airlock(&home, name, &["session", "list"], "");
        // An empty one counts as unset.
        assert_eq!(run.code, if name.is_empty() { 0 } else { 2 }, "{name}: {}", run.stderr);
    }
}
