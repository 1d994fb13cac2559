//! Commands that promise something of the machine: each is held to it where the machine does not keep it.

use serde_json::{Value, json};
use std::process::Stdio;
use support::home::finish;
use support::{Home, ModelServer, Reply};

#[test]
fn an_answer_that_cannot_be_written_is_no_success() {
    for format in ["text", "json"] {
        let server = ModelServer::start([Reply::text("An answer.")]);
        let home = Home::with_model(&server.base_url());
        let mut command = home.command(&["run", "--format", format, "Say something."]);
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a device that is full");
        command.stdout(Stdio::from(full));
        let run = finish(command, b"").exits(1);
        for words in ["could not be written", "session show ses_"] {
            assert!(run.stderr.contains(words), "{format}: {}", run.stderr);
        }
    }
}

#[test]
fn blanks_are_no_prompt() {
    let server = ModelServer::start([]);
    let home = Home::with_model(&server.base_url());
    for prompt in ["", "  ", "\n\t "] {
        let run = home.airlock(&["run", prompt]).exits(2);
        assert!(run.stderr.contains("no prompt"), "{}", run.stderr);
    }
    let _ = finish(home.command(&["run"]), b" \n").exits(2);
    assert_eq!(home.airlock(&["session", "list"]).exits(0).stdout, "", "and no session begins");
}

/// As on a full disk: no file can grow. What is there can still be read.
#[test]
fn doctor_finds_a_disk_that_takes_nothing() {
    let home = Home::new();
    assert!(home.airlock(&["doctor"]).exits(0).stdout.contains("no session yet"));
    let doctor = home.command(&["doctor", "--format", "json"]);
    let mut limited = std::process::Command::new("sh");
    limited
        .args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\""])
        .arg(doctor.get_program())
        .args(doctor.get_args());
    limited.current_dir(home.work()).env_clear().envs(doctor.get_envs().filter_map(|(k, v)| Some((k, v?))));
    limited.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let found = finish(limited, b"").exits(1).lines();
    let ok = |what: &str| found.iter().find(|f| f["what"] == what).expect(what)["ok"].clone();
    assert_eq!((ok("ledger"), ok("cache"), ok("outputs")), (json!(false), json!(false), json!(false)), "{found:#?}");
    assert_eq!(ok("config"), json!(true));
}

#[test]
fn a_provider_is_ready_when_its_server_answers() {
    let server = ModelServer::start([]);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port");
    let home = Home::with_model(&server.base_url());
    let gone = format!("[providers.gone]\nadapter = \"openai-chat\"\nbase_url = \"http://{closed}/v1\"\n");
    let config = std::fs::read_to_string(home.config_dir().join("config.toml")).expect("the config");
    home.config(&(config + &gone));
    let rows = home.airlock(&["providers", "--format", "json"]).exits(0).lines();
    let state = |id: &str| rows.iter().find(|r| r["id"] == id).map(|r| (r["ready"].clone(), r["state"].clone()));
    assert_eq!(state("mock"), Some((json!(true), json!("ready"))));
    assert_eq!(state("gone"), Some((json!(false), json!("no answer"))));
    assert_eq!(state("openai"), Some((json!(false), json!("not set"))));
    assert_eq!(state("offline"), Some((json!(true), json!("ready"))));
}

/// The hooks of the config see a call, whoever makes it.
#[test]
fn a_call_without_a_model_passes_the_hooks() {
    let home = Home::new();
    home.config("hooks = [\"redact\"]\n");
    home.file("a.txt", "the key is AKIAIOSFODNN7EXAMPLE\n");
    let call =
        |home: &Home| home.airlock(&["plugin", "call", "read", "read", "{\"filePath\": \"a.txt\"}"]).exits(0).stdout;
    let seen = call(&home);
    assert!(seen.contains("the key is") && !seen.contains("AKIAIOSFODNN7EXAMPLE"), "{seen}");
    home.config("");
    assert!(call(&home).contains("AKIAIOSFODNN7EXAMPLE"));
}

#[test]
fn a_workspace_that_is_everything_is_told() {
    let server = ModelServer::start([]).many_conversations().forever(Reply::text("Fine."));
    let home = Home::with_model(&server.base_url());
    let at_home = home.path("home");
    let run = home.airlock(&["run", "--dir", at_home.to_str().expect("UTF-8"), "Look."]).exits(0);
    assert!(run.stderr.contains("holds your home folder"), "{}", run.stderr);
    let run = home.airlock(&["run", "Look."]).exits(0);
    assert!(!run.stderr.contains("inside"), "{}", run.stderr);
    let mark = home.path("mark");
    let line = json!({"command": format!("echo here; echo x > {}", mark.display())}).to_string();
    let run = home.airlock(&["plugin", "call", "bash", "bash", &line, "--dir", "/", "--yes"]).exits(0);
    assert!(run.stderr.contains("whole file system") && run.stdout.contains("here"), "{run:?}");
    assert!(!mark.exists());
}

fn approvals(home: &Home) -> Vec<String> {
    let lines = home.airlock(&["permission", "list", "--format", "json"]).exits(0).lines();
    let rule =
        |l: &Value| format!("{}:{}", l["permission"].as_str().unwrap_or("?"), l["pattern"].as_str().unwrap_or("?"));
    lines.iter().map(rule).collect()
}

#[test]
fn what_was_approved_for_good_is_listed_and_taken_back() {
    let line = json!({"command": "git log --oneline && ls"});
    let server = ModelServer::start([Reply::calls(&[("c1", "bash", line)]), Reply::text("Done.")]);
    let home = Home::with_model(&server.base_url());
    assert!(approvals(&home).is_empty());
    let _ = home.run(&["--yes=always", "Look."]).exits(0);
    assert_eq!(approvals(&home), ["bash:git log *", "bash:ls *"]);
    assert!(home.airlock(&["permission", "list"]).exits(0).stdout.contains("bash:git log *"));
    let _ = home.airlock(&["permission", "revoke", "bash:ls"]).exits(2);
    let _ = home.airlock(&["permission", "revoke", "bash:ls *"]).exits(0);
    assert_eq!(approvals(&home), ["bash:git log *"]);
    let _ = home.airlock(&["permission", "revoke"]).exits(2);
    let _ = home.airlock(&["permission", "revoke", "--all"]).exits(0);
    assert!(approvals(&home).is_empty());
}
