//! Taking work back, by the commands that people and scripts use. With the cases I7 of the field reports.

use serde_json::{Value, json};
use std::path::Path;
use support::{Home, ModelServer, Reply, Run};

/// A session in which the model made these calls, one a step, and then said "Done.".
fn worked(home: &Home, calls: &[(&str, Value)]) -> String {
    let mut replies: Vec<Reply> = calls
        .iter()
        .enumerate()
        .map(|(i, (tool, input))| Reply::calls(&[(&format!("call{i}"), tool, input.clone())]))
        .collect();
    replies.push(Reply::text("Done."));
    let server = ModelServer::start(replies);
    home.config(&support::home::model_config(&server.base_url()));
    let run = home.run(&["--yes", "Work."]).exits(0);
    server.finish();
    run.result()["sessionID"].as_str().expect("a session").to_owned()
}

fn session(home: &Home, args: &[&str]) -> Run {
    let all: Vec<&str> = std::iter::once("session").chain(args.iter().copied()).collect();
    home.airlock(&all)
}

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("write", json!({"filePath": path, "content": content}))
}

fn edit(path: &str, old: &str, new: &str) -> (&'static str, Value) {
    ("edit", json!({"filePath": path, "oldString": old, "newString": new}))
}

fn read(path: &str) -> (&'static str, Value) {
    ("read", json!({"filePath": path}))
}

fn text(home: &Home, name: &str) -> String {
    String::from_utf8(home.read(name)).expect("text")
}

fn exists(home: &Home, name: &str) -> bool {
    Path::new(&home.work().join(name)).exists()
}

/// I7a: only what the agent changed is taken back.
#[test]
fn the_persons_own_work_stays() {
    let home = Home::new();
    for (name, content) in [("a.txt", "1\n2\n3\n"), ("b.txt", "b\n"), ("d.txt", "d\n")] {
        home.file(name, content);
    }
    let id = worked(&home, &[read("a.txt"), edit("a.txt", "1", "ONE"), write("new.txt", "n\n")]);
    home.file("b.txt", "b user\n");
    home.file("c.txt", "c user\n");

    let plan = session(&home, &["undo", &id, "--dry-run", "--format", "json"]).exits(0).lines().remove(0);
    assert_eq!((&plan["dryRun"], plan["steps"].as_array().map(Vec::len)), (&json!(true), Some(2)), "{plan}");
    assert_eq!((text(&home, "a.txt"), exists(&home, "new.txt")), ("ONE\n2\n3\n".into(), true));

    let said = session(&home, &["undo", &id]).exits(0).stdout;
    assert!(said.contains("restored") && said.contains("a.txt") && said.contains("removed"), "{said}");
    assert_eq!((text(&home, "a.txt"), exists(&home, "new.txt")), ("1\n2\n3\n".into(), false));
    assert_eq!((text(&home, "b.txt"), text(&home, "c.txt")), ("b user\n".into(), "c user\n".into()));
    assert_eq!(text(&home, "d.txt"), "d\n");

    let redone = session(&home, &["redo", &id, "--format", "json"]).exits(0).lines().remove(0);
    assert_eq!(redone["state"], "redone");
    assert_eq!((text(&home, "a.txt"), text(&home, "new.txt")), ("ONE\n2\n3\n".into(), "n\n".into()));
}

/// I7b and I7c: nothing of somebody else's is overwritten, and nothing is made up.
#[test]
fn what_cannot_be_taken_back_is_named_and_left() {
    let home = Home::new();
    home.file("a.txt", "1\n2\n3\n");
    let id = worked(&home, &[read("a.txt"), edit("a.txt", "1", "ONE")]);
    home.file("a.txt", "ONE\n2\nTHREE\n");
    let refused = session(&home, &["undo", &id]).exits(2);
    assert!(refused.stderr.contains("a.txt") && refused.stderr.contains("someone else"), "{}", refused.stderr);
    assert_eq!(text(&home, "a.txt"), "ONE\n2\nTHREE\n");

    let other = Home::new();
    other.file("a.txt", "1\n");
    let id = worked(&other, &[read("a.txt"), edit("a.txt", "1", "2")]);
    let ledger = other.data_dir().join("airlock.db");
    let wiped = std::process::Command::new("python3")
        .args(["-c", "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.execute('DELETE FROM blob'); c.commit()"])
        .arg(ledger)
        .status();
    assert!(wiped.expect("python3").success());
    let refused = session(&other, &["undo", &id]).exits(2);
    assert!(refused.stderr.contains("not in the journal"), "{}", refused.stderr);
    assert_eq!(text(&other, "a.txt"), "2\n");
}

#[test]
fn one_call_is_taken_back_and_the_model_is_told() {
    let home = Home::new();
    let id = worked(&home, &[write("a.txt", "a\n"), write("b.txt", "b\n")]);
    let none = session(&home, &["undo", &id, "--call", "call9"]).exits(2);
    assert!(none.stderr.contains("call9"), "{}", none.stderr);
    let _ = session(&home, &["undo", &id, "--call", "call0"]).exits(0);
    assert_eq!((exists(&home, "a.txt"), exists(&home, "b.txt")), (false, true));
    let server = ModelServer::start([Reply::text("I see.")]);
    home.config(&support::home::model_config(&server.base_url()));
    let _ = home.run(&["--session", &id, "Go on."]).exits(0);
    let asked = server.finish();
    let sent = serde_json::to_string(&asked[0].body).expect("JSON");
    assert!(sent.contains("took back") && sent.contains("a.txt"), "{sent}");
}

#[test]
fn a_diff_is_a_patch_and_a_failed_run_leaves_one() {
    let home = Home::new();
    home.file("a.txt", "1\n2\n");
    let calls = [("c1", "read", json!({"filePath": "a.txt"}))];
    let edit = [("c2", "edit", json!({"filePath": "a.txt", "oldString": "1", "newString": "ONE"}))];
    let refused = Reply::http(401, "application/json", r#"{"error": {"message": "no", "code": "invalid_api_key"}}"#);
    let server = ModelServer::start([Reply::calls(&calls), Reply::calls(&edit), refused]);
    home.config(&support::home::model_config(&server.base_url()));
    let run = home.run(&["--yes", "--on-error-patch", "left.patch", "Work."]).exits(1);
    server.finish();
    let expected = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-1\n+ONE\n 2\n";
    assert_eq!(text(&home, "left.patch"), expected);
    let id = run.result()["sessionID"].as_str().expect("a session").to_owned();
    assert_eq!(session(&home, &["diff", &id]).exits(0).stdout, expected);
    home.file("a.txt", "1\n2\n3\n");
    let now = session(&home, &["diff", &id, "--now"]).exits(0).stdout;
    assert!(now.contains("+3\n") && !now.contains("ONE"), "{now}");
}

#[test]
fn an_export_comes_back_as_it_was_and_garbage_does_not() {
    let home = Home::new();
    home.file("a.txt", "1\n");
    let id = worked(&home, &[read("a.txt")]);
    let export = session(&home, &["export", &id]).exits(0).stdout;
    home.file("export.json", &export);
    // Beside itself it gets names of its own.
    let copy = session(&home, &["import", "export.json", "--format", "json"]).exits(0).lines().remove(0);
    assert_ne!(copy["info"]["id"], json!(id));
    let _ = session(&home, &["delete", &id]).exits(0);
    let back = session(&home, &["import", "export.json", "--format", "json"]).exits(0).lines().remove(0);
    assert_eq!(back["info"]["id"], json!(id));
    let again: Value = serde_json::from_str(&session(&home, &["export", &id]).exits(0).stdout).expect("JSON");
    assert_eq!(again, serde_json::from_str::<Value>(&export).expect("JSON"));

    home.file("broken.json", &export[..export.len() / 2]);
    let refused = session(&home, &["import", "broken.json"]).exits(2);
    assert!(refused.stderr.contains("broken.json"), "{}", refused.stderr);
    let _ = session(&home, &["import", "missing.json"]).exits(2);
    assert_eq!(session(&home, &["list", "--format", "json"]).exits(0).lines().len(), 2);
}

#[test]
fn a_fork_goes_its_own_way() {
    let home = Home::new();
    let id = worked(&home, &[write("a.txt", "a\n")]);
    let fork = session(&home, &["fork", &id, "--format", "json"]).exits(0).lines().remove(0);
    assert!(fork["title"].as_str().is_some_and(|t| t.ends_with("(fork #1)")), "{fork}");
    let server = ModelServer::start([Reply::text("Yes.")]);
    home.config(&support::home::model_config(&server.base_url()));
    let run = home.run(&["--session", &id, "--fork", "Again."]).exits(0);
    assert_eq!(server.finish().len(), 1);
    assert_ne!(run.result()["sessionID"], json!(id));
    let messages = |id: &str| {
        let lines = session(&home, &["list", "--format", "json"]).exits(0).lines();
        lines.iter().find(|l| l["id"] == id).map(|l| l["messages"].clone())
    };
    let copied = run.result()["sessionID"].as_str().map(str::to_owned).expect("a session");
    assert_eq!((messages(&id), messages(&copied)), (Some(json!(3)), Some(json!(5))));
}

#[test]
fn what_a_shell_line_changed_is_taken_back_too() {
    let home = Home::new();
    home.file("a.txt", "1\n");
    home.file("gone.txt", "g\n");
    home.file(".gitignore", "out\n");
    let line =
        "echo 2 > a.txt; rm gone.txt; mkdir d; echo n > d/new.txt; chmod 755 a.txt; mkdir -p out; echo o > out/o";
    let id = worked(&home, &[("bash", json!({"command": line}))]);
    assert_eq!((text(&home, "a.txt"), exists(&home, "d/new.txt")), ("2\n".into(), true));
    let said = session(&home, &["undo", &id]).exits(0).stdout;
    assert!(said.contains("ignore files"), "what is not covered is said: {said}");
    assert_eq!((text(&home, "a.txt"), text(&home, "gone.txt")), ("1\n".into(), "g\n".into()));
    assert_eq!((exists(&home, "d"), exists(&home, "out/o")), (false, true));
    let _ = session(&home, &["redo", &id]).exits(0);
    assert_eq!(
        (text(&home, "a.txt"), text(&home, "d/new.txt"), exists(&home, "gone.txt")),
        ("2\n".into(), "n\n".into(), false)
    );
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&home.work().join("a.txt").metadata().expect("a.txt").permissions())
            & 0o777,
        0o755
    );
}
