//! Field reports of the shell: every development case of area F, each a scripted run of the built binary.

use serde_json::{Value, json};
use std::time::{Duration, Instant};
use support::cases::{Report, area};
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
        fits(&step["expect"], state, begun.elapsed(), &server)?;
    }
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
    let name = home.work();
    let killer = std::thread::spawn(move || {
        std::thread::sleep(after);
        interrupt(&name);
    });
    let run = support::home::finish(command, b"").exits(130);
    killer.join().expect("the interrupt");
    run
}

/// Sends SIGINT to the airlock whose working directory is this one.
fn interrupt(work: &std::path::Path) {
    for entry in std::fs::read_dir("/proc").expect("proc").flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else { continue };
        let here = std::fs::read_link(entry.path().join("cwd")).is_ok_and(|c| c == work);
        let airlock = std::fs::read_link(entry.path().join("exe")).is_ok_and(|e| e.ends_with("airlock"));
        if here && airlock {
            // SAFETY: sends a signal to a child of this test; no memory is touched.
            unsafe { libc::kill(pid, libc::SIGINT) };
        }
    }
}

fn fits(expect: &Value, state: &Value, took: Duration, server: &ModelServer) -> Result<(), String> {
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
    bounds(expect, said, took)?;
    server.finish();
    Ok(())
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
