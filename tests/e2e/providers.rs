//! Endpoints that are tried out, and adapters that are not part of the program.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use support::{Home, ModelServer, Reply};

fn checks(home: &Home, name: &str, code: i32) -> Vec<(String, bool, String)> {
    let run = home.airlock(&["provider", "test", name, "--format", "json"]).exits(code);
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    run.lines().iter().map(|l| (text(&l["check"]), l["ok"] == true, text(&l["found"]))).collect()
}

#[test]
fn an_endpoint_that_can_all() {
    let unknown = json!({"error": {"message": "no such model", "code": "model_not_found"}}).to_string();
    let server = ModelServer::start([
        Reply::text("pong"),
        Reply::calls(&[("c1", "report", json!({"value": 4217}))]),
        Reply::http(404, "application/json", unknown),
    ])
    .many_conversations();
    let home = Home::with_model(&server.base_url());
    let found = checks(&home, "mock", 0);
    let all: Vec<_> = found.iter().map(|(what, ok, _)| (what.as_str(), *ok)).collect();
    assert_eq!(all, [("text", true), ("tool call", true), ("error", true)]);
    assert!(found[0].2.contains("pong") && found[0].2.contains("tells its usage"), "{found:?}");
    assert!(found[2].2.contains("no such model"), "{found:?}");
    let requests = server.finish();
    assert_eq!(requests[0].body["model"], "mock");
    assert!(requests.iter().all(|r| r.body["max_tokens"].as_u64().is_some_and(|n| n <= 512)), "{requests:#?}");
}

#[test]
fn an_endpoint_that_cannot_call_tools_and_one_that_refuses() {
    let server = ModelServer::start([]).many_conversations();
    let home = Home::with_model(&server.base_url());
    let found = checks(&home, "mock/mock", 0);
    let all: Vec<_> = found.iter().map(|(what, ok, _)| (what.as_str(), *ok)).collect();
    assert_eq!(all, [("text", true), ("tool call", false), ("error", false)]);
    let refusing =
        ModelServer::start([]).forever(Reply::http(401, "application/json", "{\"error\":{\"message\":\"bad key\"}}"));
    let home = Home::with_model(&refusing.base_url());
    let found = checks(&home, "mock", 1);
    assert!(found.len() == 1 && !found[0].1 && found[0].2.contains("auth"), "{found:?}");
    assert_eq!(refusing.requests().len(), 1);
    let _ = home.airlock(&["provider", "test", "nobody"]).exits(2);
}

/// Builds a guest for a target without WASI, and makes a component of it.
fn adapter() -> &'static Path {
    static BUILT: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = BUILT.get_or_init(|| {
        let guests = Path::new(env!("CARGO_MANIFEST_DIR")).join("guests");
        let built = Command::new(env!("CARGO"))
            .args(["build", "--release", "--quiet", "--target", "wasm32-unknown-unknown", "--target-dir", "target"])
            .args(["-p", "codec-words"])
            .current_dir(&guests)
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .status()
            .expect("cargo");
        assert!(built.success());
        let module = guests.join("target/wasm32-unknown-unknown/release/codec_words.wasm");
        let module = std::fs::read(module).expect("the guest");
        let encoder = wit_component::ComponentEncoder::default().module(&module).expect("a core module");
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("lines.wasm");
        std::fs::write(&path, encoder.validate(true).encode().expect("a component")).expect("the component");
        (dir, path)
    });
    path
}

/// The adapter of a third party speaks lines: each is a piece of text.
#[test]
fn an_adapter_from_a_file_leads_a_run() {
    let server = ModelServer::start([]).forever(Reply::http(200, "text/plain", "one\ntwo\n"));
    let home = Home::new();
    let file = home.config_dir().join("lines.wasm");
    std::fs::copy(adapter(), &file).expect("a copy");
    let provider = format!("[providers.own]\nbase_url = \"{}\"\nkey = {{ env = \"OWN_KEY\" }}\n", server.base_url());
    for named in [file.display().to_string(), "./lines.wasm".into()] {
        home.config(&format!("model = \"own/m\"\n{provider}adapter = {named:?}\n"));
        let mut command = home.command(&["run", "--format", "json", "Hello"]);
        command.env("OWN_KEY", "sk-own-0123456789");
        let run = support::home::finish(command, b"").exits(0);
        assert_eq!(run.result()["text"], "one\n\ntwo", "{named}");
        assert!(!run.stderr.contains("not known"), "its own catalogue describes its model: {}", run.stderr);
    }
    let requests = server.requests();
    assert!(
        requests.iter().all(|r| r.path == "/v1/chat" && r.header("authorization") == Some("Bearer sk-own-0123456789"))
    );
    home.config(&format!("model = \"own/m\"\n{provider}adapter = \"./none.wasm\"\n"));
    let missing = home.run(&["Hello"]).exits(2);
    assert!(missing.stderr.contains("none.wasm"), "{}", missing.stderr);
}

#[test]
fn an_adapter_that_is_installed_is_named_like_those_of_the_program() {
    let server = ModelServer::start([]).forever(Reply::http(200, "text/plain", "one\ntwo\n"));
    let home = Home::new();
    let file = adapter().display().to_string();
    let _ = home.airlock(&["plugin", "add", &file, "--name", "of-lines"]).exits(0);
    let provider = format!("[providers.own]\nadapter = \"of-lines\"\nbase_url = \"{}\"\n", server.base_url());
    home.config(&format!("model = \"own/m\"\n{provider}"));
    assert_eq!(home.airlock(&["config", "check"]).code, 0);
    assert_eq!(home.run(&["Hello"]).exits(0).result()["text"], "one\n\ntwo");
    let _ = home.airlock(&["plugin", "remove", "of-lines"]).exits(0);
    assert!(home.run(&["Hello"]).exits(2).stderr.contains("of-lines"));
}

/// A repository does not choose who speaks to a provider.
#[test]
fn a_workspace_brings_no_adapter() {
    let home = Home::new();
    std::fs::copy(adapter(), home.work().join("lines.wasm")).expect("a copy");
    home.file("airlock.toml", "model = \"own/m\"\n[providers.own]\nadapter = \"./lines.wasm\"\n");
    let run = home.run(&["-m", "own/m", "Hello"]).exits(3);
    assert!(run.stderr.contains("not trusted") && run.stderr.contains("own"), "{}", run.stderr);
}
