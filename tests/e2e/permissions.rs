//! Who may do what, as a person meets it on the command line.

use serde_json::json;
use support::{Home, ModelServer, Reply};

fn write_once() -> [Reply; 2] {
    [Reply::calls(&[("c1", "write", json!({"filePath": "a.txt", "content": "x"}))]), Reply::text("went on")]
}

#[test]
fn an_ask_with_nobody_to_answer_stops_the_run() {
    let server = ModelServer::start(write_once());
    let home = Home::with_model(&server.base_url());
    let run = home.run(&["Write."]).exits(4);
    assert!(!home.work().join("a.txt").exists());
    assert_eq!(run.result()["exit"], 4);
    assert_eq!(run.of("tool_use")[0]["part"]["state"]["metadata"]["kind"], "denied");
    assert_eq!(server.finish().len(), 1);
    let asks = run.of("ask");
    assert_eq!(asks[0]["request"]["permission"], "edit", "{asks:#?}");
    assert_eq!(asks[0]["request"]["patterns"], json!(["a.txt"]));
}

#[test]
fn a_deny_is_a_result_and_the_run_goes_on() {
    let server = ModelServer::start(write_once());
    let home = Home::with_model(&server.base_url());
    let run = home.run(&["--deny", "edit:a.txt", "--yes", "Write."]).exits(0);
    assert!(!home.work().join("a.txt").exists());
    assert_eq!(run.result()["text"], "went on");
    let told = server.finish()[1].result("c1").unwrap_or_default();
    assert!(told.contains("edit"), "{told}");
}

#[test]
fn yes_answers_every_ask() {
    let server = ModelServer::start(write_once());
    let home = Home::with_model(&server.base_url());
    let _ = home.run(&["--yes", "Write."]).exits(0);
    assert_eq!(home.read("a.txt"), b"x");
}

#[test]
fn an_always_is_remembered_for_the_next_run() {
    let server = ModelServer::start(write_once().into_iter().chain(write_once())).many_conversations();
    let home = Home::with_model(&server.base_url());
    let _ = home.run(&["--yes=always", "Write."]).exits(0);
    let _ = home.run(&["Write again."]).exits(0);
}

#[test]
fn a_tool_denied_for_everything_is_not_shown() {
    let server = ModelServer::start([Reply::text("ok")]);
    let home = Home::with_model(&server.base_url());
    let _ = home.run(&["--deny", "bash", "Hello."]).exits(0);
    let tools = server.finish()[0].body["tools"].to_string();
    assert!(!tools.contains("\"bash\"") && tools.contains("\"read\""), "{tools}");
}

#[test]
fn secrets_files_are_asked_for() {
    let server = ModelServer::start([Reply::calls(&[("c1", "read", json!({"filePath": ".env"}))]), Reply::text("no")]);
    let home = Home::with_model(&server.base_url());
    home.file(".env", "KEY=canary-1\n");
    let _ = home.run(&["Read."]).exits(4);
    assert!(server.secrets(&["canary-1"]).finish().len() == 1);
}

/// A search goes through a folder without asking once a file, and without the files that would need asking.
#[test]
fn a_search_does_not_look_into_secrets() {
    let server = ModelServer::start([Reply::calls(&[("c1", "grep", json!({"pattern": "KEY="}))]), Reply::text("ok")]);
    let home = Home::with_model(&server.base_url());
    home.file(".env", "KEY=canary-2\n");
    home.file("a.txt", "KEY=plain\n");
    let _ = home.run(&["Search."]).exits(0);
    let found = server.secrets(&["canary-2"]).finish()[1].result("c1").unwrap_or_default();
    assert!(found.contains("KEY=plain") && !found.contains("canary-2"), "{found}");
}

#[test]
fn an_untrusted_workspace_may_narrow_but_not_widen() {
    let server = ModelServer::start(write_once());
    let home = Home::with_model(&server.base_url());
    home.file("airlock.toml", "[permission]\nedit = \"allow\"\n");
    let _ = home.run(&["Write."]).exits(4);
    assert!(!home.work().join("a.txt").exists());

    let server = ModelServer::start(write_once());
    let home = Home::with_model(&server.base_url());
    home.file("airlock.toml", "[permission]\nedit = \"deny\"\n");
    let _ = home.run(&["--yes", "Write."]);
    assert!(!home.work().join("a.txt").exists());
}

/// Started in a folder of a repository, what lies elsewhere in the repository is still inside.
#[test]
fn a_repository_is_inside_as_a_whole() {
    let calls =
        [("c1", "grep", json!({"pattern": "marker", "path": ".."})), ("c2", "read", json!({"filePath": "../top.txt"}))];
    let server = ModelServer::start([Reply::calls(&calls), Reply::text("ok")]);
    let home = Home::with_model(&server.base_url());
    home.file(".git/HEAD", "ref: refs/heads/main\n");
    home.file("top.txt", "marker one\n");
    home.file("other/deep.txt", "marker two\n");
    home.file("sub/here.txt", "");
    let mut command = home.command(&["run", "--format", "json", "Look."]);
    command.current_dir(home.work().join("sub"));
    let _ = support::home::finish(command, b"").exits(0);
    let requests = server.finish();
    let found = requests[1].result("c1").unwrap_or_default();
    assert!(found.contains("marker one") && found.contains("marker two"), "{found}");
    assert!(requests[1].result("c2").is_some_and(|t| t.contains("marker one")));
}

#[test]
fn a_hook_that_is_configured_masks_what_looks_like_a_key() {
    let key = "sk-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF";
    let server = ModelServer::start([Reply::calls(&[("c1", "read", json!({"filePath": "a.txt"}))]), Reply::text("ok")]);
    let home = Home::with_model(&server.base_url());
    home.config(&format!("hooks = [\"redact\"]\n{}", support::home::model_config(&server.base_url())));
    home.file("a.txt", format!("token = {key}\n"));
    let _ = home.run(&["Read."]).exits(0);
    let said = server.secrets(&[key]).finish()[1].result("c1").unwrap_or_default();
    assert!(said.contains("token") && !said.contains(key), "{said}");
}
