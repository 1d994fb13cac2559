//! Field reports of file work: every development case of area E, each a scripted run of the built binary.

use base64::Engine;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::path::Path;
use support::cases::{Report, area};
use support::reply::Chunk;
use support::{Home, ModelServer, Reply};

#[test]
fn files() {
    let mut report = Report::default();
    for case in area("E") {
        // `multiedit` is no tool of this project: several edits are several calls.
        if case["tool"] == "multiedit" {
            continue;
        }
        report.add(case["id"].as_str().unwrap_or("?"), run_case(&case));
    }
    report.end("E");
}

fn decode(v: &Value) -> Option<Vec<u8>> {
    v.as_str().map(|t| base64::engine::general_purpose::STANDARD.decode(t).expect("base64"))
}

fn prepare(case: &Value, home: &Home) {
    let path = case["path"].as_str().unwrap_or("");
    if let Some(bytes) = decode(&case["file_before_b64"]) {
        home.file(path, bytes);
    }
    for item in case["setup"].as_array().into_iter().flatten() {
        if let Some(file) = item["file"].as_str() {
            home.file(file, item["text"].as_str().unwrap_or(""));
        }
    }
    let make = &case["generate"];
    if let Some(text) = make["repeat"].as_str() {
        home.file(path, text.repeat(usize::try_from(make["times"].as_u64().unwrap_or(1)).unwrap_or(1)));
    }
    if let Some(n) = make["numbered_lines"].as_u64() {
        home.file(path, (1..=n).map(|i| format!("{i}\n")).collect::<String>());
    }
}

/// One action: a tool call of the model, or somebody else's write before the next call.
enum Action {
    Call(&'static str, Value),
    Foreign { bytes: Vec<u8>, keep_time: bool },
}

fn edit_input(path: &str, edit: &Value) -> Value {
    json!({"filePath": path, "oldString": edit["old"], "newString": edit["new"],
           "replaceAll": edit["replace_all"].as_bool().unwrap_or(false)})
}

fn actions(case: &Value) -> Vec<Action> {
    let path = case["path"].as_str().unwrap_or("");
    match case["tool"].as_str() {
        Some("edit") => vec![Action::Call("edit", edit_input(path, &case["edit"]))],
        Some("read") => {
            let mut input = json!({"filePath": path});
            for (k, v) in case["args"].as_object().into_iter().flatten() {
                input[k] = v.clone();
            }
            vec![Action::Call("read", input)]
        }
        _ => case["steps"].as_array().into_iter().flatten().map(step).collect(),
    }
}

fn step(step: &Value) -> Action {
    if let Some(path) = step["read"].as_str() {
        Action::Call("read", json!({"filePath": path}))
    } else if let Some(path) = step["write"].as_str() {
        Action::Call("write", json!({"filePath": path, "content": step["content"]}))
    } else if let Some(path) = step["edit"].as_str() {
        Action::Call("edit", edit_input(path, step))
    } else {
        let bytes = decode(&step["external_write_b64"]).expect("a step");
        Action::Foreign { bytes, keep_time: step["keep_mtime"] == true }
    }
}

/// Runs the calls in one session, a run for each, so that a foreign write can come between.
fn run_case(case: &Value) -> Result<(), String> {
    let mut todo: VecDeque<Action> = actions(case).into();
    let replies = todo.iter().filter_map(|a| match a {
        Action::Call(tool, input) => Some([Reply::calls(&[("c", tool, input.clone())]), Reply::text("ok")]),
        Action::Foreign { .. } => None,
    });
    let server = ModelServer::start(unique_ids(replies.flatten().collect()));
    let home = Home::with_model(&server.base_url());
    prepare(case, &home);
    let path = home.work().join(case["path"].as_str().unwrap_or(""));
    let mut last = Value::Null;
    let mut first = true;
    while let Some(action) = todo.pop_front() {
        match action {
            Action::Foreign { bytes, keep_time } => foreign_write(&path, &bytes, keep_time),
            Action::Call(..) => {
                let go_on: &[&str] = if first { &[] } else { &["-c"] };
                let run = home.run(&[go_on, &["--yes", "Go."]].concat()).exits(0);
                last = run.of("tool_use").pop().ok_or("no tool ran")?["part"]["state"].clone();
                first = false;
            }
        }
    }
    server.finish();
    outcome(case, &home, &last)
}

/// Each scripted call has an id of its own, as a real server's would.
fn unique_ids(replies: Vec<Reply>) -> Vec<Reply> {
    let rename = |(i, mut r): (usize, Reply)| {
        let text = String::from_utf8(r.body()).expect("text").replace("\"id\":\"c\"", &format!("\"id\":\"c{i}\""));
        r.chunks = vec![Chunk { bytes: text.into_bytes(), after: std::time::Duration::ZERO }];
        r
    };
    replies.into_iter().enumerate().map(rename).collect()
}

fn foreign_write(path: &Path, bytes: &[u8], keep_time: bool) {
    let before = std::fs::metadata(path).and_then(|m| m.modified()).expect("a time");
    std::fs::write(path, bytes).expect("a foreign write");
    if keep_time {
        let file = std::fs::File::options().write(true).open(path).expect("the file");
        file.set_modified(before).expect("the old time");
    }
}

fn outcome(case: &Value, home: &Home, state: &Value) -> Result<(), String> {
    match case["expect_any"].as_array() {
        None => fits(case, &case["expect"], home, state),
        Some(any) => {
            let all: Vec<Result<(), String>> = any.iter().map(|e| fits(case, e, home, state)).collect();
            if all.iter().any(Result::is_ok) { Ok(()) } else { Err(format!("{all:?}")) }
        }
    }
}

fn fits(case: &Value, expect: &Value, home: &Home, state: &Value) -> Result<(), String> {
    let path = case["path"].as_str().unwrap_or("");
    if let Some(after) = decode(&expect["file_after_b64"]) {
        let got = home.read(path);
        if got != after {
            return Err(format!(
                "bytes: {:?} instead of {:?}",
                String::from_utf8_lossy(&got),
                String::from_utf8_lossy(&after)
            ));
        }
    }
    let said = state["output"].as_str().or(state["error"].as_str()).unwrap_or("");
    match &expect["error_kind"] {
        Value::Null if state["status"] == "error" => return Err(format!("failed: {said}")),
        Value::Null => {}
        kinds => error_fits(kinds, state, said)?,
    }
    for want in expect["output_contains"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !said.contains(want) {
            return Err(format!("`{want}` is not in: {said:.300}"));
        }
    }
    if expect["suggests"].as_str().is_some_and(|s| !said.contains(s)) {
        return Err(format!("suggests nothing: {said}"));
    }
    if expect["output_max_bytes"].as_u64().is_some_and(|most| said.len() as u64 > most) {
        return Err(format!("{} bytes of output", said.len()));
    }
    if expect["says_truncated"] == true && state["metadata"]["truncated"] != true {
        return Err("does not say that it was cut".into());
    }
    Ok(())
}

/// The project's kind for each refusal of the cases, and a word that the message holds.
fn error_fits(kinds: &Value, state: &Value, said: &str) -> Result<(), String> {
    let wanted: Vec<&str> = match kinds {
        Value::Array(a) => a.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    };
    let got = state["metadata"]["kind"].as_str().unwrap_or("none");
    let fits = |want: &&str| match *want {
        "ambiguous" => got == "conflict",
        "not-found" => got == "not-found",
        "invalid" | "no-op" => got == "invalid-input",
        "encoding" => got == "failed" && said.to_lowercase().contains("encod"),
        other => got == other,
    };
    if wanted.iter().any(fits) { Ok(()) } else { Err(format!("wanted {wanted:?}, got {got}: {said}")) }
}
