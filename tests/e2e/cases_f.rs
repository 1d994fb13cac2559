//! Field reports of the shell: every development case of area F, each a scripted run of the built binary.

use serde_json::{Value, json};
use std::time::{Duration, Instant};
use support::cases::{Report, area};
use support::model_server::Received;
use support::{Home, ModelServer, Reply, Run};

#[test]
fn shell() {
    let cases = area("F");
    let next = std::sync::Mutex::new(cases.iter());
    let report = std::sync::Mutex::new(Report::default());
    // Most of a case is waiting.
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                loop {
                    let Some(case) = next.lock().expect("the queue").next() else { return };
                    let outcome = run_case(case);
                    report.lock().expect("the report").add(case["id"].as_str().unwrap_or("?"), outcome);
                }
            });
        }
    });
    report.into_inner().expect("the report").end("F");
}

fn run_case(case: &Value) -> Result<(), String> {
    let steps = case["steps"].as_array().cloned().unwrap_or_else(|| vec![case.clone()]);
    let ids: Vec<String> = (0..steps.len()).map(|i| format!("c{i}")).collect();
    let replies = steps.iter().zip(&ids).map(|(s, id)| Reply::calls(&[(id, "bash", input(s))]));
    let server = ModelServer::start(replies.chain([Reply::text("ok")]));
    let home = Home::with_model(&server.base_url());
    let begun = Instant::now();
    let run = match case["abort_after_ms"].as_u64() {
        Some(ms) => aborted(&home, Duration::from_millis(ms)),
        None => home.run(&["--yes", "Go."]).exits(0),
    };
    let states: Vec<Value> = run.of("tool_use").iter().map(|t| t["part"]["state"].clone()).collect();
    if states.len() != steps.len() {
        return Err(format!("{} results for {} calls: {run:?}", states.len(), steps.len()));
    }
    for (step, state) in steps.iter().zip(&states) {
        fits(&step["expect"], state, begun.elapsed())?;
    }
    let requests = server.finish();
    for ((step, id), state) in steps.iter().zip(&ids).zip(&states) {
        told_as_stored(&step["expect"], id, state, &requests)?;
    }
    if let Some(most) = case["expect"]["host_rss_growth_max_mb"].as_u64() {
        let growth = run.peak_kib.saturating_sub(idle_kib()) / 1024;
        if growth > most {
            return Err(format!("the host grew by {growth} MiB"));
        }
    }
    reloaded(&home, &run, &states)?;
    if let Some(file) = case["expect"]["file_absent_after_5s"].as_str() {
        std::thread::sleep(Duration::from_secs(5));
        if home.work().join(file).exists() {
            return Err(format!("{file} was written after the end"));
        }
    }
    Ok(())
}

fn input(step: &Value) -> Value {
    json!({"command": step["command"], "timeout": step["limits"]["timeout_ms"]})
}

/// Interrupts the run once, as Ctrl-C does.
fn aborted(home: &Home, after: Duration) -> Run {
    let command = home.command(&["run", "--format", "json", "--yes", "Go."]);
    support::home::interrupted(command, after).exits(130)
}

/// What the host needs for a line that does nothing.
fn idle_kib() -> u64 {
    static IDLE: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *IDLE.get_or_init(|| {
        let server = ModelServer::start([Reply::calls(&[("c", "bash", json!({"command": "sleep 0.3"}))])]);
        let run = Home::with_model(&server.base_url()).run(&["--yes", "Go."]).exits(0);
        assert!(run.peak_kib > 0, "the kernel tells what a process holds");
        run.peak_kib
    })
}

/// The model is told what is stored, in text that every server takes; the turn after it went well, or the run had not ended so.
fn told_as_stored(expect: &Value, id: &str, state: &Value, requests: &[Received]) -> Result<(), String> {
    if expect["second_turn_ok"] != true && expect["output_valid_utf8"] != true {
        return Ok(());
    }
    // A body that was not UTF-8 would have been no JSON, and a lone surrogate breaks both.
    let told = requests.get(1).and_then(|r| r.result(id)).ok_or("no second request with the result")?;
    let stored = state["output"].as_str().or(state["error"].as_str()).unwrap_or("");
    let lacks = expect["output_lacks_codepoints"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for code in
        lacks.filter_map(|c| u32::from_str_radix(c.trim_start_matches("U+"), 16).ok()).filter_map(char::from_u32)
    {
        if told.contains(code) {
            return Err(format!("U+{:04X} is in the result", u32::from(code)));
        }
    }
    if told == stored { Ok(()) } else { Err(format!("stored {stored:.200?}, told {told:.200?}")) }
}

/// The ledger gives back what the run showed.
fn reloaded(home: &Home, run: &Run, states: &[Value]) -> Result<(), String> {
    let session = run.lines()[0]["sessionID"].as_str().ok_or("no session")?.to_owned();
    let export: Value = serde_json::from_str(&home.airlock(&["session", "export", &session]).exits(0).stdout)
        .map_err(|e| format!("the export is no JSON: {e}"))?;
    let parts =
        export["messages"].as_array().into_iter().flatten().flat_map(|m| m["parts"].as_array().into_iter().flatten());
    let kept: Vec<&Value> = parts.filter(|p| p["type"] == "tool").map(|p| &p["state"]).collect();
    if kept.iter().copied().eq(states) { Ok(()) } else { Err(format!("shown {states:?}, kept {kept:?}")) }
}

fn fits(expect: &Value, state: &Value, took: Duration) -> Result<(), String> {
    let metadata = &state["metadata"];
    let said = state["output"].as_str().or(state["error"].as_str()).unwrap_or("");
    let seen = format!("{said}\n{}", metadata["output"].as_str().unwrap_or(""));
    if let Some(code) = expect["exit_code"].as_i64()
        && metadata["exit"] != code
    {
        return Err(format!("exit {} instead of {code}: {said:.300}", metadata["exit"]));
    }
    if let Some(any) = expect["signal_or_exit"].as_array()
        && !any.contains(&metadata["exit"])
    {
        return Err(format!("exit {}", metadata["exit"]));
    }
    for key in ["stdout_contains", "output_contains"] {
        for want in expect[key].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !seen.contains(want) {
                return Err(format!("`{want}` is not in {seen:.300}"));
            }
        }
    }
    if expect["timed_out"] == true && metadata["timed_out"] != true && metadata["kind"] != "timed-out" {
        return Err(format!("did not time out: {state}"));
    }
    if expect["says_truncated"] == true && metadata["truncated"] != true {
        return Err("does not say that it was cut".into());
    }
    if expect["aborted"] == true && metadata["interrupted"] != true {
        return Err(format!("was not interrupted: {state}"));
    }
    if said.contains('\0') {
        return Err("a NUL in the output".into());
    }
    bounds(expect, said, took)
}

fn bounds(expect: &Value, said: &str, took: Duration) -> Result<(), String> {
    if expect["model_output_max_bytes"].as_u64().is_some_and(|most| said.len() as u64 > most) {
        return Err(format!("{} bytes for the model", said.len()));
    }
    // The bound is the case's; what the run itself needs around the call is allowed for.
    let most = expect["within_ms"].as_u64().map(|ms| Duration::from_millis(ms) + Duration::from_secs(3));
    if most.is_some_and(|m| took > m) {
        return Err(format!("took {took:?}"));
    }
    let pattern = expect["no_process_matching"].as_str();
    if pattern.is_some() && running("sleep\u{0}61") | running("sleep\u{0}62") {
        return Err("a process is left".into());
    }
    Ok(())
}

fn running(command: &str) -> bool {
    let all = std::fs::read_dir("/proc").expect("proc").flatten();
    all.filter_map(|e| std::fs::read(e.path().join("cmdline")).ok())
        .any(|c| String::from_utf8_lossy(&c).starts_with(command))
}
