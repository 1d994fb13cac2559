//! Field reports of full windows: the development cases of area C, each a scripted run of the built binary. The turns of the cases are
//! words; here is what they mean.
//!
//! Not here: C9 (a child run that fills its window) is held with the sub-agents, in `agent/subagent/tests`.

use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use support::cases::{Report, area};
use support::{Home, ModelServer, Reply, Run};

#[test]
fn full_windows() {
    let mut report = Report::default();
    for case in area("C") {
        let id = case["id"].as_str().unwrap_or("?");
        match id {
            "C9" => {}
            "C7" => report.add(id, pictures(&case)),
            _ => report.add(id, check(&case, &ModelServer::start(script(id)).many_conversations())),
        }
    }
    report.end("C");
}

fn read(n: usize, used: u64) -> Reply {
    Reply::calls(&[("c1", "read", json!({"filePath": format!("f{n}.txt")}))]).used(used)
}

fn too_long(message: &str) -> Reply {
    let error =
        json!({"error": {"message": message, "type": "invalid_request_error", "code": "context_length_exceeded"}});
    Reply::http(400, "application/json", error.to_string())
}

fn script(id: &str) -> Vec<Reply> {
    let summary = || Reply::text("ok");
    match id {
        "C1a" => vec![too_long("too long"); 20],
        "C1b" => (0..20).map(|n| if n % 2 == 0 { read(n, 9900) } else { summary() }).collect(),
        "C3a" => vec![Reply::text("text").used(30_000)],
        "C3b" => vec![too_long("maximum context length is 50000 tokens"), Reply::text("summary"), Reply::text("ok")],
        "C5" => vec![read(1, 8000), read(2, 14_000), read(3, 19_500), Reply::text("summary"), Reply::text("done")],
        other => panic!("the case {other} has no script"),
    }
}

fn home(case: &Value, server: &ModelServer) -> Home {
    let model = &case["model"];
    let (context, output) = (model["context"].as_u64().unwrap_or(0), model["output"].as_u64().unwrap_or(0));
    let home = Home::new();
    home.config(&format!(
        "model = \"mock/mock\"\n[providers.mock]\nadapter = \"openai-chat\"\nbase_url = \"{}\"\n\
         models = [{{ id = \"mock\", context = {context}, output = {output}, images = true }}]\n",
        server.base_url()
    ));
    home
}

fn check(case: &Value, server: &ModelServer) -> Result<(), String> {
    let home = home(case, server);
    (0..20).for_each(|n| drop(home.file(&format!("f{n}.txt"), format!("line of {n}\n"))));
    let run = home.run(&["fix what is broken in f3"]);
    let requests = server.finish();
    let summaries: Vec<usize> = (0..requests.len()).filter(|i| is_summary(&requests[*i].body)).collect();
    expected(&case["expect"], &run, summaries.len())?;
    if case["expect"]["user_task_restated_in_first_request_after_compaction"] == true {
        let after = requests.get(summaries[0] + 1).ok_or("no request after the summary")?;
        if !after.body.to_string().contains("fix what is broken in f3") {
            return Err(format!("the task is not told again: {}", after.body));
        }
    }
    Ok(())
}

fn is_summary(body: &Value) -> bool {
    body["tools"].is_null() && body["messages"].to_string().contains("The conversation:")
}

fn expected(expect: &Value, run: &Run, summaries: usize) -> Result<(), String> {
    let summaries = summaries as u64;
    if expect["compactions"].as_u64().is_some_and(|n| summaries != n)
        || expect["compactions_max"].as_u64().is_some_and(|most| summaries > most)
    {
        return Err(format!("{summaries} summaries: {run:?}"));
    }
    if let Some(kind) = expect["error_kind"].as_str() {
        let error = run.of("error").pop().ok_or("no error was told")?;
        if error["error"]["kind"] != kind || run.code != 7 {
            return Err(format!("{error}, exit {}", run.code));
        }
    }
    if let Some(text) = expect["final_text"].as_str()
        && (run.result()["text"] != text || run.code != 0)
    {
        return Err(format!("ended with {} ({}): {run:?}", run.result()["text"], run.code));
    }
    Ok(())
}

/// Ten pictures of 200 kB, and a server that takes no more than a megabyte.
fn pictures(case: &Value) -> Result<(), String> {
    const MOST: usize = 1_000_000;
    let reads = AtomicUsize::new(0);
    let answer = move |messages: &[Value]| {
        let text = json!(messages).to_string();
        if text.len() > MOST {
            return Reply::http(
                413,
                "application/json",
                json!({"error": {"message": "Request Entity Too Large"}}).to_string(),
            );
        }
        if text.contains("The conversation:") {
            return Reply::text("Some pictures were read.");
        }
        match reads.fetch_add(1, Ordering::Relaxed) {
            n @ 0..10 => Reply::calls(&[("c1", "read", json!({"filePath": format!("p{n}.png")}))]),
            _ => Reply::text("ok"),
        }
    };
    let server = ModelServer::start([]).by(answer).many_conversations();
    let home = home(case, &server);
    let head = [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a];
    (0..10u8).for_each(|n| drop(home.file(&format!("p{n}.png"), [&head[..], &vec![n; 200_000]].concat())));
    let run = home.run(&["look at the pictures"]);
    let last = server.finish().pop().ok_or("no request")?.body["messages"].to_string().len();
    if last > MOST {
        return Err(format!("the last request has {last} bytes"));
    }
    expected(&case["expect"], &run, 0)
}
