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

/// One scripted call; what the model was told of it.
fn told(args: &[&str], prepare: impl FnOnce(&Home), tool: &str, input: serde_json::Value) -> (support::Run, String) {
    let server = ModelServer::start([Reply::calls(&[("c1", tool, input)]), Reply::text("ok")]);
    let home = Home::with_model(&server.base_url());
    prepare(&home);
    let run = home.run(args);
    let told = server.finish().get(1).and_then(|r| r.result("c1")).unwrap_or_default();
    (run, told)
}

/// Leave to edit does not reach hooks and settings of git: code that would run outside of every wall.
#[test]
fn what_git_keeps_of_itself_is_asked_for_apart() {
    let hook = json!({"filePath": ".git/hooks/pre-commit", "content": "#!/bin/sh\n"});
    let repository = |home: &Home| {
        home.file(".git/HEAD", "ref: refs/heads/main\n");
    };
    let (run, _) = told(&["--allow", "edit", "Write."], repository, "write", hook);
    let run = run.exits(4);
    assert_eq!(run.of("ask")[0]["request"]["permission"], "git_internals");
}

/// An edit that finds nothing names what is most like it: a file that may not be read must not come back that way.
#[test]
fn an_edit_is_a_read_too() {
    let edit = json!({"filePath": "prod.env", "oldString": "API_KEY=x", "newString": "y"});
    let secret = |home: &Home| {
        home.file("prod.env", "API_KEY=canary-3\n");
    };
    let (run, told) = told(&["--deny", "read:*.env", "--allow", "edit", "Edit."], secret, "edit", edit);
    let _ = run.exits(0);
    assert!(!told.contains("canary-3") && told.contains("read"), "{told}");
}

/// Whatever the rules say: the environment of the host holds keys, its config holds the rules.
#[test]
fn the_hosts_own_files_are_out_of_reach() {
    for path in ["/proc/self/environ", "~config"] {
        let server = ModelServer::start([]);
        let home = Home::with_model(&server.base_url());
        let path = match path {
            "~config" => home.config_dir().join("config.toml").display().to_string(),
            other => other.to_owned(),
        };
        let server =
            ModelServer::start([Reply::calls(&[("c1", "read", json!({"filePath": path}))]), Reply::text("ok")]);
        home.config(&support::home::model_config(&server.base_url()));
        let _ = home.run(&["--yes", "Read."]).exits(0);
        let told = server.finish()[1].result("c1").unwrap_or_default();
        assert!(told.contains("belongs to the host"), "{path}: {told}");
    }
}

/// A repository cannot make a file outside of it part of each request.
#[test]
fn instructions_do_not_lead_out_of_the_repository() {
    let server = ModelServer::start([Reply::text("ok")]);
    let home = Home::with_model(&server.base_url());
    std::fs::write(home.path("secret.txt"), "canary-4").expect("a file outside");
    std::os::unix::fs::symlink(home.path("secret.txt"), home.work().join("AGENTS.md")).expect("a link");
    let _ = home.run(&["Hello."]).exits(0);
    let sent = server.finish()[0].body.to_string();
    assert!(!sent.contains("canary-4"), "{sent}");
}
