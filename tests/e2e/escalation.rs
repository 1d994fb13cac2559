//! A line that is to be let do more than the sandbox lets it: a question of its own, whatever was allowed of the line.

use serde_json::{Value, json};
use std::net::TcpListener;
use support::{Home, ModelServer, Reply};

/// One line with this escalation, run with these flags; the run, what the model was told, and the home.
fn escalate(line: &str, beyond: &Value, flags: &[&str]) -> (support::Run, String, Home) {
    escalate_with(line, beyond, flags, "")
}

/// As [`escalate`], with a script `reach.sh` in the workspace.
fn escalate_with(line: &str, beyond: &Value, flags: &[&str], script: &str) -> (support::Run, String, Home) {
    let call = json!({"command": line, "escalate": beyond});
    let server = ModelServer::start([Reply::calls(&[("c1", "bash", call)]), Reply::text("went on")]);
    let home = Home::with_model(&server.base_url());
    home.file("reach.sh", script);
    std::fs::create_dir(home.path("elsewhere")).expect("a folder outside");
    let run = home.run(&[flags, &["Go."]].concat());
    let told = server.finish().get(1).and_then(|r| r.result("c1")).unwrap_or_default();
    (run, told, home)
}

#[test]
fn leave_to_run_the_line_is_not_leave_to_leave_the_sandbox() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("no waiting");
    let port = listener.local_addr().expect("bound").port();
    let (line, script) = ("bash reach.sh", format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached"));
    for flags in [&["--allow", "bash"][..], &["--allow", "*"]] {
        let (run, _, _) = escalate_with(line, &json!({"network": true}), flags, &script);
        let run = run.exits(4);
        let asks = run.of("ask");
        let request = &asks.last().expect("an ask")["request"];
        assert_eq!((&request["permission"], &request["always"]), (&json!("escalate"), &json!([])));
        assert_eq!(request["patterns"], json!([format!("network: {line}")]));
        assert!(request["metadata"]["opens"].to_string().contains("any host"), "{request}");
        assert!(listener.accept().is_err(), "nothing ran");
    }
    let flags = ["--allow", "bash", "--allow", "escalate:network: *"];
    let (run, told, _) = escalate_with(line, &json!({"network": true}), &flags, &script);
    let run = run.exits(0);
    assert!(told.contains("reached") && listener.accept().is_ok(), "{told}");
    let sandbox = &run.of("tool_use")[0]["part"]["state"]["metadata"]["sandbox"];
    assert_eq!(sandbox["opened"], json!(["network"]));
    assert!(sandbox["level"].is_string());
}

#[test]
fn a_deny_is_final_and_a_yes_is_for_this_once() {
    let (run, told, _) = escalate("true", &json!({"no_sandbox": true}), &["--yes", "--deny", "escalate"]);
    let _ = run.exits(0);
    assert!(told.contains("escalate") && told.contains("forbids"), "{told}");
    let (run, _, home) = escalate("true", &json!({"network": true}), &["--yes=always"]);
    let _ = run.exits(0);
    let kept = home.airlock(&["permission", "list"]).exits(0).stdout;
    assert!(!kept.contains("escalate"), "{kept}");
}

#[test]
fn a_path_is_opened_and_it_is_said_that_undo_does_not_reach_it() {
    let (run, told, home) = escalate("echo x > ../elsewhere/made", &json!({"write": ["../elsewhere"]}), &["--yes"]);
    let run = run.exits(0);
    assert_eq!(std::fs::read(home.path("elsewhere/made")).expect(&told), b"x\n");
    let metadata = &run.of("tool_use")[0]["part"]["state"]["metadata"];
    let place = home.path("elsewhere").display().to_string();
    assert_eq!(metadata["sandbox"]["opened"], json!([format!("write {place}")]));
    assert!(metadata["scan"]["uncovered"].to_string().contains(&place), "{metadata}");
    let run = home.airlock(&["session", "list"]).exits(0);
    assert!(run.code == 0);
}

#[test]
fn a_required_sandbox_stays() {
    let flags = ["--yes", "--require-sandbox"];
    let (run, told, _) = escalate("true", &json!({"no_sandbox": true}), &flags);
    let run = run.exits(0);
    assert!(told.contains("sandbox is required"), "{told}");
    assert!(run.of("ask").iter().all(|a| a["request"]["permission"] != "escalate"), "it is not even asked for");
}

#[test]
fn without_a_sandbox_is_without_one() {
    let (run, told, _) = escalate("echo x > ../elsewhere/made && echo out", &json!({"no_sandbox": true}), &["--yes"]);
    let run = run.exits(0);
    assert!(told.starts_with("out"), "{told}");
    let sandbox = &run.of("tool_use")[0]["part"]["state"]["metadata"]["sandbox"];
    assert_eq!(sandbox, &json!({"level": "none", "opened": ["unconfined"]}));
}
