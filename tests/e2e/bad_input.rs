//! Bad input: each gives a message that says what to do, and its exit code; nothing hangs.

use serde_json::json;
use std::time::Duration;
use support::reply::End;
use support::{Home, ModelServer, Reply};

/// Runs, expects the code, and wants each word in what is printed to stderr.
fn check(home: &Home, args: &[&str], code: i32, words: &[&str]) {
    let run = home.airlock(args).exits(code);
    for word in words {
        assert!(run.stderr.contains(word), "{args:?} does not say `{word}`:\n{}", run.stderr);
    }
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
}

#[test]
fn usage_and_files() {
    let home = Home::with_model("http://127.0.0.1:9/v1");
    check(&home, &["run", "--no-such-flag", "x"], 2, &["--no-such-flag"]);
    check(&home, &["run", "-f", "missing.txt", "x"], 2, &["missing.txt"]);
    check(&home, &["run", "--dir", "missing-folder", "x"], 2, &["missing-folder"]);
    check(&home, &["run", "--agent", "nobody", "x"], 2, &["nobody", "build"]);
    check(&home, &["run", "--session", "ses_nope", "x"], 2, &["ses_nope", "session list"]);
    check(&home, &["run", "--model", "nowhere/m", "x"], 3, &["nowhere"]);
    check(&home, &["run", "--allow", ":", "x"], 2, &["--allow"]);
    check(&home, &["run"], 2, &["prompt"]);
    check(&home, &["plugin", "inspect", "missing.wasm"], 2, &["missing.wasm"]);
    check(&home, &["plugin", "call", "read", "no_such_tool", "{}"], 2, &["no_such_tool"]);
    check(&home, &["plugin", "call", "read", "read", "{broken"], 2, &["JSON"]);
}

#[test]
fn a_component_that_is_none_is_named() {
    let home = Home::new();
    home.file("text.wasm", "not wasm at all");
    home.file("core.wasm", wat::parse_str("(module)").expect("wat"));
    check(&home, &["plugin", "inspect", "text.wasm"], 2, &["text.wasm", "not"]);
    check(&home, &["plugin", "inspect", "core.wasm"], 2, &["core.wasm", "component"]);
}

#[test]
fn a_broken_config_names_key_file_line_and_the_nearest_key() {
    let home = Home::new();
    home.config("model = \"a/b\"\n\n[permision]\nread = \"allow\"\n");
    check(&home, &["config", "check"], 2, &["permision", "config.toml", "3", "permission"]);
    home.config("model = \"a/b\"\nagent = 7\n");
    check(&home, &["config", "check"], 2, &["agent", "config.toml", "2"]);
    home.config("model = \n");
    check(&home, &["config", "check"], 2, &["config.toml", "1"]);
    home.config("[permission]\nread = \"perhaps\"\n");
    check(&home, &["config", "check"], 2, &["perhaps", "allow"]);
}

/// A rule that never matches must not pass for a wall.
#[test]
fn a_misspelt_name_is_told_before_anything_runs() {
    let server = ModelServer::start([]);
    let home = Home::with_model(&server.base_url());
    check(&home, &["run", "--deny", "bahs", "x"], 2, &["--deny", "`bahs`", "`bash`"]);
    check(&home, &["run", "--allow", "edti:docs/*", "x"], 2, &["--allow", "`edti`", "`edit`"]);
    check(&home, &["plugin", "call", "read", "read", "{}", "--deny", "raed"], 2, &["`raed`", "`read`"]);
    let config = support::home::model_config(&server.base_url());
    home.config(&format!("{config}\n[permission]\nraed = \"deny\"\n"));
    check(&home, &["run", "x"], 2, &["config.toml, line 9", "`raed`", "`read`"]);
    check(&home, &["config", "check"], 2, &["config.toml, line 9", "`raed`"]);
    home.config("hooks = [\"redcat\"]\n[agents.x]\ntools = [\"reed\"]\n[providers.p]\nadapter = \"openai-caht\"\n");
    check(&home, &["config", "check"], 2, &["`redact`", "`read`", "`openai-chat`", "providers.p.adapter"]);
    home.config(&format!(
        "{config}\n[permission]\ngrep = \"ask\"\nwrite = \"ask\"\npatch = \"deny\"\n\"my_*\" = \"deny\"\n"
    ));
    let _ = home.airlock(&["config", "check"]).exits(0);
    assert!(server.finish().is_empty());
}

#[test]
fn a_server_that_is_not_there() {
    let home = Home::with_model("http://127.0.0.1:9/v1");
    check(&home, &["run", "x"], 1, &["127.0.0.1:9"]);
}

#[test]
fn a_refused_key_says_which() {
    let body = json!({"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}).to_string();
    let server = ModelServer::start([Reply::http(401, "application/json", body)]);
    let home = Home::with_model(&server.base_url());
    let run = home.run(&["x"]).exits(1);
    assert_eq!(run.of("error")[0]["error"]["kind"], "auth", "{run:?}");
    assert_eq!(server.finish().len(), 1, "a refused key is not tried again");
}

#[test]
fn html_instead_of_a_stream_never_becomes_an_answer() {
    let page = Reply::http(200, "text/html", "<html><body>Please sign in</body></html>");
    let server = ModelServer::start([]).forever(page);
    let home = Home::with_model(&server.base_url());
    let run = home.run(&["x"]).exits(1);
    assert_eq!(run.result()["text"], "");
    assert_eq!(run.of("error")[0]["error"]["kind"], "transport");
}

#[test]
fn a_stream_cut_anywhere_is_tried_again_and_the_half_is_dropped() {
    let whole = Reply::text("whole answer");
    let body = whole.body();
    for at in [1, body.len() / 4, body.len() / 2] {
        let half = Reply::sse(&body[..at]).ends(End::Cut);
        let server = ModelServer::start([half, whole.clone()]);
        let home = Home::with_model(&server.base_url());
        let run = home.run(&["x"]).exits(0);
        assert_eq!(run.result()["text"], "whole answer", "cut at {at}");
        assert_eq!(run.of("retry").len(), 1, "cut at {at}");
        assert_eq!(server.finish().len(), 2);
    }
}

#[test]
fn retries_have_an_end() {
    let server = ModelServer::start([]).forever(Reply::http(503, "application/json", "{}"));
    let home = Home::with_model(&server.base_url());
    let run = home.run(&["x"]).exits(1);
    assert_eq!(server.finish().len(), 5, "at most five attempts a request");
    assert_eq!(run.of("retry").len(), 4);
}

#[test]
fn a_call_with_broken_arguments_is_told_and_not_run() {
    let call = |args: &str| {
        let function = json!({"name": "write", "arguments": args});
        let delta = json!({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]});
        Reply::sse(support::reply::stream(&[delta], "tool_calls"))
    };
    let server = ModelServer::start([call("{\"filePath\": "), Reply::text("sorry")]);
    let home = Home::with_model(&server.base_url());
    let run = home.run(&["--yes", "x"]).exits(0);
    assert_eq!(run.of("tool_use")[0]["part"]["state"]["metadata"]["kind"], "invalid-input");
    assert!(server.finish()[1].result("c1").is_some());
}

#[test]
fn an_unknown_tool_is_told() {
    let server = ModelServer::start([Reply::calls(&[("c1", "teleport", json!({}))]), Reply::text("sorry")]);
    let home = Home::with_model(&server.base_url());
    let run = home.run(&["x"]).exits(0);
    assert_eq!(run.of("tool_use")[0]["part"]["state"]["metadata"]["kind"], "unavailable");
    assert!(server.finish()[1].result("c1").is_some_and(|t| t.contains("teleport") && t.contains("read")));
}

#[test]
fn a_damaged_ledger_is_named_and_kept() {
    let server = ModelServer::start([Reply::text("ok")]);
    let home = Home::with_model(&server.base_url());
    let path = home.data_dir().join("airlock.db");
    std::fs::write(&path, vec![b'x'; 8192]).expect("junk");
    check(&home, &["run", "x"], 1, &["airlock.db", "damaged"]);
    assert_eq!(std::fs::read(&path).map(|b| b.len()).ok(), Some(8192));
}

#[test]
fn two_runs_share_one_ledger() {
    let slow = Reply::text("ok").cut([40, 40, 40], Duration::from_millis(100));
    let server = ModelServer::start([]).forever(slow).many_conversations();
    let home = Home::with_model(&server.base_url());
    let runs: Vec<_> = (0..4).map(|_| home.command(&["run", "x"])).collect();
    let threads: Vec<_> = runs.into_iter().map(|c| std::thread::spawn(move || support::home::finish(c, b""))).collect();
    for t in threads {
        let _ = t.join().expect("a run").exits(0);
    }
    assert_eq!(home.airlock(&["session", "list", "--format", "json"]).exits(0).stdout.matches("ses_").count(), 4);
}

#[test]
fn a_step_limit_is_an_exit_code() {
    let server = ModelServer::start([]).forever(Reply::calls(&[("c", "read", json!({"filePath": "."}))]));
    let home = Home::with_model(&server.base_url());
    let run = home.run(&["--steps", "3", "x"]).exits(5);
    assert_eq!(run.result()["steps"], 3);
    assert_eq!(server.finish().len(), 3);
}
