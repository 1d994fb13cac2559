//! Field reports of provider streams: every development case of area A, as recorded and with one byte a write, through the built
//! binary.

use base64::Engine;
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;
use support::cases::{Report, area};
use support::{Home, ModelServer, Reply, Run};

#[test]
fn streams_of_openai_chat() {
    streams_of("openai-chat");
}

#[test]
fn streams_of_anthropic() {
    streams_of("anthropic");
}

#[test]
fn streams_of_openai_responses() {
    streams_of("openai-responses");
}

#[test]
fn streams_of_gemini() {
    streams_of("gemini");
}

/// The cases name a provider as its adapter is named.
fn streams_of(adapter: &str) {
    let mut report = Report::default();
    for case in area("A").iter().filter(|c| c["provider"] == adapter && c["kind"].is_null()) {
        let id = case["id"].as_str().unwrap_or("?");
        for cut in [Cut::AsRecorded, Cut::OneByte] {
            report.add(&format!("{id} {cut:?}"), run_case(case, cut));
        }
    }
    report.end("A");
}

#[derive(Clone, Copy, Debug)]
enum Cut {
    AsRecorded,
    OneByte,
}

fn reply_of(case: &Value, cut: Cut) -> Reply {
    let body = match case["body_b64"].as_str() {
        Some(b64) => base64::engine::general_purpose::STANDARD.decode(b64).expect("base64"),
        None => case["sse"].as_str().unwrap_or("").as_bytes().to_vec(),
    };
    let status = case["http"]["status"].as_u64().and_then(|s| u16::try_from(s).ok()).unwrap_or(200);
    let content_type = case["http"]["headers"]["content-type"].as_str().unwrap_or("text/event-stream");
    let sizes = match cut {
        Cut::OneByte => vec![1; body.len()],
        Cut::AsRecorded => recorded_sizes(&case["chunking"], &body),
    };
    Reply::http(status, content_type, body).cut(sizes, Duration::ZERO)
}

fn recorded_sizes(chunking: &Value, body: &[u8]) -> Vec<usize> {
    match chunking {
        Value::Array(sizes) => sizes.iter().filter_map(|s| usize::try_from(s.as_u64()?).ok()).collect(),
        Value::String(s) if s == "every-3-bytes" => vec![3; body.len() / 3 + 1],
        Value::String(s) if s == "split-each-CRLF" => body.split_inclusive(|b| *b == b'\r').map(<[u8]>::len).collect(),
        _ => Vec::new(),
    }
}

fn run_case(case: &Value, cut: Cut) -> Result<(), String> {
    let server = ModelServer::start([reply_of(case, cut)]);
    // What is too large is summarised: that is a conversation of its own, and the one after it begins anew.
    let is_full = case["expect"]["error"]["kind"] == "context-overflow";
    let server = if is_full { server.many_conversations() } else { server };
    let home = Home::with_adapter(case["provider"].as_str().unwrap_or(""), &server.base_url());
    let run = home.run(&["--yes", "Go."]);
    let session = run.lines().first().and_then(|l| l["sessionID"].as_str().map(str::to_owned)).ok_or("no session")?;
    let export = home.airlock(&["session", "export", &session]);
    let export: Value = serde_json::from_str(&export.stdout).map_err(|e| format!("export: {e}"))?;
    check(&case["expect"], &run, &export["messages"][1], &server)
}

fn check(expect: &Value, run: &Run, message: &Value, server: &ModelServer) -> Result<(), String> {
    let empty = Vec::new();
    let parts = message["parts"].as_array().unwrap_or(&empty);
    let failed = expect["error"].is_object();
    if let (Some(want), false) = (expect["text"].as_str(), failed) {
        let got: String = of_type(parts, "text").filter_map(|p| p["text"].as_str()).collect();
        same("text", &Value::from(want), &Value::from(got))?;
    }
    if let (Some(want), false) = (expect["reasoning"].as_str(), failed) {
        let got: String = of_type(parts, "reasoning").filter_map(|p| p["text"].as_str()).collect();
        same("reasoning", &Value::from(want), &Value::from(got))?;
    }
    if let Some(want) = expect["tool_calls"].as_array() {
        check_calls(want, parts)?;
    }
    if expect["tool_calls_executed"].as_array().is_some_and(Vec::is_empty) {
        let ran = of_type(parts, "tool").find(|p| p["state"]["status"] == "completed");
        ran.map_or(Ok(()), |p| Err(format!("ran: {p}")))?;
    }
    for want in expect["invalid_calls"].as_array().unwrap_or(&empty) {
        let found = of_type(parts, "tool").find(|p| p["callID"] == want["id"] && p["tool"] == want["name"]);
        same(
            "invalid call",
            &Value::from("invalid-input"),
            &found.ok_or("no such call")?["state"]["metadata"]["kind"],
        )?;
    }
    check_end(expect, run, message, parts)?;
    check_requests(expect, server)
}

fn of_type<'a>(parts: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    parts.iter().filter(move |p| p["type"] == kind && p["metadata"]["dropped"] != true)
}

fn check_calls(want: &[Value], parts: &[Value]) -> Result<(), String> {
    let got: Vec<&Value> = of_type(parts, "tool").collect();
    if got.len() != want.len() {
        return Err(format!("{} calls instead of {}: {got:?}", got.len(), want.len()));
    }
    for (want, got) in want.iter().zip(got) {
        same("name", &want["name"], &got["tool"])?;
        same("input", &want["input"], &got["state"]["input"])?;
        if want["id"].is_string() {
            same("id", &want["id"], &got["callID"])?;
        }
    }
    let ids: BTreeSet<&str> = of_type(parts, "tool").filter_map(|p| p["callID"].as_str()).collect();
    let unique = ids.len() == want.len() && ids.iter().all(|id| !id.is_empty());
    unique.then_some(()).ok_or_else(|| format!("ids {ids:?}"))
}

fn check_end(expect: &Value, run: &Run, message: &Value, parts: &[Value]) -> Result<(), String> {
    if let Some(error) = expect["error"].as_object() {
        let told: Vec<Value> = run.of("retry").into_iter().chain(run.of("error")).collect();
        let got = &told.first().ok_or("no error was told")?["error"];
        if let Some(kind) = error.get("kind") {
            one_of("error kind", kind, &got["kind"])?;
        }
        if let Some(retryable) = error.get("retryable") {
            same("retryable", retryable, &got["retryable"])?;
        }
        if let Some(words) = error.get("message_contains").and_then(Value::as_str) {
            let message = got["message"].as_str().unwrap_or("");
            message.contains(words).then_some(()).ok_or_else(|| format!("`{words}` is not in `{message}`"))?;
        }
    } else {
        let finish = of_type(parts, "step-finish").next().map_or(Value::Null, |p| p["reason"].clone());
        one_of("finish", &expect["finish"], &finish)?;
    }
    if let Some(usage) = expect["usage"].as_object() {
        let t = &message["info"]["tokens"];
        let sum = |keys: [&Value; 3]| keys.iter().filter_map(|v| v.as_u64()).sum::<u64>();
        let input = sum([&t["input"], &t["cache"]["read"], &t["cache"]["write"]]);
        let output = sum([&t["output"], &t["reasoning"], &Value::Null]);
        usage.get("input_total").map_or(Ok(()), |w| same("input tokens", w, &Value::from(input)))?;
        usage.get("output_total").map_or(Ok(()), |w| same("output tokens", w, &Value::from(output)))?;
        usage.get("cache_read").map_or(Ok(()), |w| same("cached tokens", w, &t["cache"]["read"]))?;
        usage.get("cache_write").map_or(Ok(()), |w| same("written tokens", w, &t["cache"]["write"]))?;
    }
    Ok(())
}

fn check_requests(expect: &Value, server: &ModelServer) -> Result<(), String> {
    let requests = server.finish();
    if let Some(most) = expect["max_provider_requests"].as_u64()
        && requests.len() as u64 > most
    {
        return Err(format!("{} requests, at most {most}", requests.len()));
    }
    let next = requests.get(1).map_or(String::new(), |r| r.body.to_string());
    for words in expect["next_request_contains"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        next.contains(words).then_some(()).ok_or_else(|| format!("`{words}` is not in the next request: {next}"))?;
    }
    if let Some(count) = expect["next_request_gemini"]["function_response_parts_in_one_content"].as_u64() {
        let contents = requests.get(1).and_then(|r| r.body["contents"].as_array().cloned()).unwrap_or_default();
        let responses = |c: &Value| {
            c["parts"].as_array().map_or(0, |p| p.iter().filter(|p| p["functionResponse"].is_object()).count() as u64)
        };
        let counts: Vec<u64> = contents.iter().map(responses).filter(|n| *n > 0).collect();
        same("responses of a content", &Value::from(vec![count]), &Value::from(counts))?;
    }
    let places =
        expect["next_request_order"].as_array().into_iter().flatten().map(|w| next.find(w.as_str().unwrap_or("")));
    let places: Vec<usize> =
        places.collect::<Option<_>>().ok_or_else(|| format!("not all are in the next request: {next}"))?;
    places.is_sorted().then_some(()).ok_or_else(|| format!("another order in the next request: {next}"))?;
    for id in expect["next_request_has_error_result_for"].as_array().into_iter().flatten() {
        let next = requests.get(1).ok_or("no second request")?;
        next.result(id.as_str().unwrap_or("")).ok_or(format!("no result for {id} in the next request"))?;
    }
    Ok(())
}

fn same(what: &str, want: &Value, got: &Value) -> Result<(), String> {
    if want == got { Ok(()) } else { Err(format!("{what}: wanted {want}, got {got}")) }
}

fn one_of(what: &str, want: &Value, got: &Value) -> Result<(), String> {
    match want {
        Value::Null => Ok(()),
        Value::Array(any) if any.contains(got) => Ok(()),
        _ => same(what, want, got),
    }
}
