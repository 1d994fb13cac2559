//! A run that goes well: what is printed, what is sent, what is stored.

use serde_json::json;
use support::{Home, ModelServer, Reply};

#[test]
fn a_question_is_answered_on_stdout() {
    let server = ModelServer::start([Reply::text("Hello from the mock.")]);
    let home = Home::with_model(&server.base_url());
    let run = home.airlock(&["run", "Say hello."]).exits(0);
    assert_eq!(run.stdout.trim_end(), "Hello from the mock.");
    let requests = server.finish();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].messages().last().map(|m| m["content"].clone()), Some(json!("Say hello.")));
}

#[test]
fn a_tool_call_is_run_and_its_result_sent_back() {
    let server = ModelServer::start([
        Reply::calls(&[("c1", "read", json!({"filePath": "notes.txt"}))]),
        Reply::text("It says 4217."),
    ]);
    let home = Home::with_model(&server.base_url());
    home.file("notes.txt", "the number is 4217\n");
    let run = home.run(&["What is in notes.txt?"]).exits(0);
    assert_eq!(run.result()["text"], "It says 4217.");
    assert_eq!(run.result()["finish"], "stop");
    let tools = run.of("tool_use");
    assert_eq!(tools.len(), 1);
    assert_eq!(tools[0]["part"]["state"]["status"], "completed", "{tools:#?}");
    let requests = server.finish();
    assert!(requests[1].result("c1").is_some_and(|t| t.contains("4217")), "{requests:#?}");
}

#[test]
fn eight_reads_of_one_step_all_come_back() {
    let ids: Vec<String> = (0..8).map(|i| format!("c{i}")).collect();
    let calls: Vec<_> =
        ids.iter().enumerate().map(|(i, id)| (id.as_str(), "read", json!({"filePath": format!("f{i}.txt")}))).collect();
    let server = ModelServer::start([Reply::calls(&calls), Reply::text("done")]);
    let home = Home::with_model(&server.base_url());
    for i in 0..8 {
        home.file(&format!("f{i}.txt"), format!("marker-{i}\n"));
    }
    let _ = home.run(&["Read them."]).exits(0);
    let requests = server.finish();
    for (i, id) in ids.iter().enumerate() {
        assert!(requests[1].result(id).is_some_and(|t| t.contains(&format!("marker-{i}"))), "{id}");
    }
}

#[test]
fn a_permitted_write_is_done_and_journalled() {
    let server = ModelServer::start([
        Reply::calls(&[("c1", "write", json!({"filePath": "out/hello.txt", "content": "hi\n"}))]),
        Reply::text("ok"),
    ]);
    let home = Home::with_model(&server.base_url());
    let _ = home.run(&["--allow", "edit", "Write it."]).exits(0);
    assert_eq!(home.read("out/hello.txt"), b"hi\n");
    server.finish();
}

#[test]
fn a_session_goes_on_where_it_was() {
    let server = ModelServer::start([Reply::text("one"), Reply::text("two"), Reply::text("three")]);
    let home = Home::with_model(&server.base_url());
    let first = home.run(&["First?"]).exits(0);
    let id = first.result()["sessionID"].as_str().map(str::to_owned).expect("a session id");
    let _ = home.run(&["-c", "Second?"]).exits(0);
    let third = home.run(&["--session", &id, "Third?"]).exits(0);
    assert_eq!(third.result()["sessionID"], json!(id));
    let requests = server.finish();
    let said: Vec<_> =
        requests[2].messages().iter().filter(|m| m["role"] != "system").map(|m| m["content"].clone()).collect();
    assert_eq!(said, [json!("First?"), json!("one"), json!("Second?"), json!("two"), json!("Third?")]);
}

#[test]
fn a_session_can_be_listed_shown_exported_and_deleted() {
    let server = ModelServer::start([Reply::text("answer")]);
    let home = Home::with_model(&server.base_url());
    let id = home.run(&["Question?"]).exits(0).result()["sessionID"].as_str().map(str::to_owned).expect("an id");
    assert!(home.airlock(&["session", "list"]).exits(0).stdout.contains(&id));
    let shown = home.airlock(&["session", "show", &id]).exits(0).stdout;
    assert!(shown.contains("Question?") && shown.contains("answer"), "{shown}");
    let export: serde_json::Value =
        serde_json::from_str(&home.airlock(&["session", "export", &id]).exits(0).stdout).expect("JSON");
    assert_eq!(export["info"]["id"], json!(id));
    assert_eq!(export["messages"].as_array().map(Vec::len), Some(2));
    assert_eq!(export["messages"][1]["info"]["role"], "assistant");
    let _ = home.airlock(&["session", "delete", &id]).exits(0);
    let _ = home.airlock(&["session", "show", &id]).exits(2);
}

#[test]
fn text_on_standard_input_is_appended_to_the_prompt() {
    let server = ModelServer::start([Reply::text("ok")]);
    let home = Home::with_model(&server.base_url());
    let run = support::home::finish(home.command(&["run", "Summarise:"]), b"the piped text").exits(0);
    assert_eq!(run.stdout.trim_end(), "ok");
    let requests = server.finish();
    let prompt = requests[0].messages().last().map(|m| m["content"].to_string()).unwrap_or_default();
    assert!(prompt.contains("Summarise:") && prompt.contains("the piped text"), "{prompt}");
}

#[test]
fn without_any_model_the_offline_explorer_answers_honestly() {
    let home = Home::new();
    home.file("README.md", "# A pond\n\nFrogs live here.\n");
    home.file("src/frog.txt", "quack\n");
    let run = home.airlock(&["run", "--model", "offline/explorer", "What is in this folder?"]).exits(0);
    assert!(run.stdout.contains("README.md") && run.stdout.contains("A pond"), "{}", run.stdout);
    assert!(run.stdout.contains("not a language model"), "{}", run.stdout);
}

#[test]
fn the_offline_provider_plays_a_script() {
    let home = Home::new();
    home.file("a.txt", "alpha\n");
    let script = home.path("script.json");
    let turns = json!({"turns": [
        {"tool_calls": [{"name": "read", "input": {"filePath": "a.txt"}}]},
        {"text": "It says alpha."},
    ]});
    std::fs::write(&script, turns.to_string()).expect("the script");
    let mut command = home.command(&["run", "--format", "json", "--model", "offline/explorer", "Go."]);
    command.env("AIRLOCK_OFFLINE_SCRIPT", &script);
    let run = support::home::finish(command, b"").exits(0);
    assert_eq!(run.result()["text"], "It says alpha.");
    assert_eq!(run.of("tool_use").len(), 1);
}

/// A stream that a real server sent, served as it was recorded.
#[test]
fn a_recorded_stream_gives_the_recorded_answer() {
    let Some(folder) = support::cases::shared() else { return };
    let fixture = |name: &str| std::fs::read(folder.join("fixtures/llama-cpp").join(name)).expect("a fixture");
    let server = ModelServer::start([Reply::sse(fixture("plain-text.response.sse"))]);
    let home = Home::with_model(&server.base_url());
    let run = home.run(&["Go."]).exits(0);
    let body = String::from_utf8(fixture("plain-text.response.sse")).expect("text");
    let recorded: String = body
        .lines()
        .filter_map(|l| serde_json::from_str::<serde_json::Value>(l.strip_prefix("data: ")?).ok())
        .filter_map(|v| v["choices"][0]["delta"]["content"].as_str().map(str::to_owned))
        .collect();
    assert!(!recorded.is_empty());
    assert_eq!(run.result()["text"], json!(recorded));
    server.finish();
}
