//! Field reports of the loop: the development cases of area B, each a scripted run of the built binary. The mock tools of the cases are
//! translated to the bundled ones: what counts is whether their calls and results are equal, not what they do.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use support::cases::{Report, area};
use support::{Home, ModelServer, Reply, Run};

#[test]
fn the_loop() {
    let mut report = Report::default();
    for case in area("B") {
        let id = case["id"].as_str().unwrap_or("?");
        match id {
            "B7a" | "B7b" => report.add(id, spoken_to(&case)),
            "B9" => report.add(id, killed(&case)),
            "B11" => report.add(id, two_prompts(&case)),
            _ => report.add(id, scenario(&case)),
        }
    }
    report.end("B");
}

/// A call of a mock tool, by a bundled one whose result is of the same kind.
fn call(call: &Value) -> (&'static str, Value) {
    let input = &call["input"];
    match call["name"].as_str() {
        Some("ls") => ("glob", json!({"pattern": "*"})),
        Some("grep") => ("grep", json!({"pattern": input["q"]})),
        Some("sleep") => ("bash", json!({"command": format!("sleep {}", input["ms"].as_u64().unwrap_or(0) / 1000)})),
        // Fails, each time in the same way.
        Some(name) => ("read", json!({"filePath": format!("{name}.txt")})),
        None => panic!("a call without a name: {call}"),
    }
}

fn reply(turn: &Value) -> Reply {
    let calls: Vec<_> = turn["tool_calls"].as_array().into_iter().flatten().map(call).collect();
    let named: Vec<_> = calls.iter().map(|(name, input)| ("c1", *name, input.clone())).collect();
    let text = turn["text"].as_str().filter(|t| !t.is_empty());
    Reply::turn(text, &named).finishes(turn["finish"].as_str().unwrap_or("stop"))
}

/// The answers in turn; `repeat-last` and `repeat-cycle` make more of them than any run may ask for.
fn script(case: &Value) -> Vec<Reply> {
    let turns = case["turns"].as_array().expect("turns");
    let said: Vec<Reply> = turns.iter().filter(|t| t.is_object()).map(reply).collect();
    match turns.last().and_then(Value::as_str) {
        Some("repeat-last") => said.iter().cloned().chain(vec![said[said.len() - 1].clone(); 100]).collect(),
        Some("repeat-cycle") => said.iter().cycle().take(100).cloned().collect(),
        _ => said,
    }
}

fn scenario(case: &Value) -> Result<(), String> {
    let expect = &case["expect"];
    let server = ModelServer::start(script(case));
    let home = Home::with_model(&server.base_url());
    home.file("notes.md", "nothing of interest\n");
    let run = home.run(&["A"]);
    let requests = server.finish().len() as u64;
    if expect["provider_requests_max"].as_u64().is_some_and(|most| requests > most) {
        return Err(format!("{requests} requests"));
    }
    if let Some(text) = expect["final_text"].as_str()
        && (run.result()["text"] != text || run.code != 0)
    {
        return Err(format!("ended with {} ({})", run.result()["text"], run.code));
    }
    if expect["visible_notice"] == true && !(run.code == 1 && told(&run).contains("empty answer")) {
        return Err(format!("nothing tells of it: {run:?}"));
    }
    if let Some(least) = expect["doom_loop_asks_min"].as_u64() {
        let asks = run.of("ask").iter().filter(|a| a["request"]["permission"] == "doom_loop").count() as u64;
        if asks < least || run.code != 6 {
            return Err(format!("{asks} asks, exit {}: {run:?}", run.code));
        }
    }
    Ok(())
}

fn told(run: &Run) -> String {
    run.of("error").iter().map(|e| e["error"]["message"].to_string()).collect()
}

fn killed(case: &Value) -> Result<(), String> {
    let server = ModelServer::start(script(case));
    let home = Home::with_model(&server.base_url());
    let mut child = home.command(&["run", "--format", "json", "--yes", "A"]).spawn().expect("the binary starts");
    let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let first: Value = serde_json::from_str(&lines.next().expect("a line").expect("text")).expect("JSON");
    // The answer with the call has been told of; the call runs.
    for line in lines.by_ref().map_while(Result::ok) {
        if line.contains("step_finish") {
            break;
        }
    }
    std::thread::sleep(std::time::Duration::from_millis(300));
    child.kill().expect("a kill");
    child.wait().expect("its end");
    let session = first["sessionID"].as_str().ok_or("no session")?.to_owned();
    let run = home.run(&["--yes", "--session", &session, "B"]).exits(0);
    // What the kill cut off is told of as such, and not run again.
    let is_new = |t: &Value| t["part"]["state"]["metadata"]["interrupted"] != true;
    if run.result()["text"] != case["expect"]["final_text"] || run.of("tool_use").iter().any(is_new) {
        return Err(format!("{run:?}"));
    }
    let export = home.airlock(&["session", "export", &session]);
    let export: Value = serde_json::from_str(&export.stdout).map_err(|e| e.to_string())?;
    let parts = export["messages"].as_array().into_iter().flatten().flat_map(|m| m["parts"].as_array().cloned());
    let states: Vec<Value> =
        parts.flatten().filter(|p| p["type"] == "tool").map(|p| p["state"]["status"].clone()).collect();
    server.finish();
    if json!(states) == case["expect"]["tool_states"] { Ok(()) } else { Err(format!("states {states:?}")) }
}

/// Ids are the host's own: those that a client would give do not exist, so only the order is left to be seen.
fn two_prompts(case: &Value) -> Result<(), String> {
    let server = ModelServer::start(script(case));
    let home = Home::with_model(&server.base_url());
    let texts = [
        home.run(&["A"]).exits(0).result()["text"].clone(),
        home.run(&["--continue", "B"]).exits(0).result()["text"].clone(),
    ];
    let requests = server.finish().len();
    let fits = json!(texts) == case["expect"]["texts"] && json!(requests) == case["expect"]["provider_requests"];
    if fits { Ok(()) } else { Err(format!("{texts:?} in {requests} requests")) }
}

/// A second message while a call runs, handed over by another process; in one of the cases the run is interrupted before it is heard,
/// and the next run hears it.
fn spoken_to(case: &Value) -> Result<(), String> {
    let server = ModelServer::start(script(case));
    let home = Home::with_model(&server.base_url());
    let mut child = home.command(&["run", "--format", "json", "--yes", "A"]).spawn().expect("the binary starts");
    let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let first: Value = serde_json::from_str(&lines.next().expect("a line").expect("text")).expect("JSON");
    let session = first["sessionID"].as_str().expect("a session").to_owned();
    let actions = case["actions"].as_array().into_iter().flatten().skip(1);
    let mut at = 0;
    for action in actions {
        let then = action["at_ms"].as_u64().unwrap_or(0);
        std::thread::sleep(std::time::Duration::from_millis(then - at));
        at = then;
        match action["do"].as_str() {
            Some("prompt") => {
                let text = action["text"].as_str().unwrap_or_default();
                let _ = home.airlock(&["session", "send", &session, text]).exits(0);
            }
            // SAFETY: sends a signal to a child of this process; no memory is touched.
            Some("abort") => drop(unsafe { libc::kill(child.id().cast_signed(), libc::SIGINT) }),
            other => panic!("nobody knows how to do {other:?}"),
        }
    }
    let _ = lines.by_ref().map_while(Result::ok).count();
    if child.wait().expect("its end").code() == Some(130) {
        let _ = home.run(&["--yes", "--session", &session]).exits(0);
    }
    let last = server.finish().pop().ok_or("no request")?;
    let said = last.messages().into_iter().filter(|m| m["role"] == "user").map(|m| m["content"].clone());
    let said: Vec<String> = said.map(|c| c.as_str().map_or_else(|| c.to_string(), str::to_owned)).collect();
    let wanted = case["expect"]["user_texts_seen_by_model_in_order"].as_array().cloned().unwrap_or_default();
    let seen: Vec<Value> = said.iter().filter(|s| wanted.contains(&json!(s))).map(|s| json!(s)).collect();
    if seen == wanted { Ok(()) } else { Err(format!("the model was told {said:?}")) }
}
