//! Models that take over, and a small one that writes the summaries.

use serde_json::json;
use support::{Home, ModelServer, Reply};

fn providers(first: &ModelServer, second: &ModelServer, more: &str) -> String {
    let one = |name: &str, server: &ModelServer| {
        format!(
            "[providers.{name}]\nadapter = \"openai-chat\"\nbase_url = \"{}\"\n\
             models = [{{ id = \"m\", context = 20000, output = 1000 }}]\n",
            server.base_url()
        )
    };
    format!("model = \"one/m\"\n{more}\n{}{}", one("one", first), one("two", second))
}

#[test]
fn the_next_model_takes_over_and_it_is_told() {
    let quota = json!({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}});
    let first = ModelServer::start([Reply::http(429, "application/json", quota.to_string())]);
    let second = ModelServer::start([Reply::text("from the second")]);
    let home = Home::new();
    home.config(&providers(&first, &second, "fallback = [\"nobody/m\", \"two/m\"]"));
    let run = home.run(&["Go."]).exits(0);
    assert_eq!(run.result()["text"], "from the second");
    let told = run.of("fallback").pop().expect("a line");
    assert_eq!(
        (&told["from"], &told["to"], &told["error"]["kind"]),
        (&json!("one/m"), &json!("two/m"), &json!("quota"))
    );
}

#[test]
fn the_small_model_writes_the_summary_and_only_its_end_is_told() {
    let call = Reply::calls(&[("c1", "read", json!({"filePath": "a.txt"}))]).used(19_500);
    let first = ModelServer::start([call, Reply::text("done")]).many_conversations();
    let second = ModelServer::start([Reply::text("what was done so far")]);
    let home = Home::new();
    home.config(&providers(&first, &second, "small_model = \"two/m\""));
    home.file("a.txt", "alpha\n");
    let run = home.run(&["--title", "No title is asked for", "Go."]).exits(0);
    assert_eq!((run.result()["text"].clone(), second.finish().len(), run.of("compacted").len()), (json!("done"), 1, 1));
    assert!(!run.stdout.contains("what was done so far"), "a summary is no answer: {}", run.stdout);
    assert!(first.requests()[1].body.to_string().contains("what was done so far"));
    let text = home.airlock(&["run", "--continue", "And now?"]).exits(0);
    assert_eq!(text.stdout.trim(), "Understood.");
}

#[test]
fn a_run_ends_at_its_limit_of_tokens() {
    let call = |n: u32| Reply::calls(&[("c1", "read", json!({"filePath": format!("{n}.txt")}))]);
    let server = ModelServer::start((0..9).map(call));
    let home = Home::with_model(&server.base_url());
    // Each answer of the mock counts 110 tokens.
    let run = home.run(&["--tokens", "300", "Go."]).exits(5);
    assert_eq!((run.result()["limit"].clone(), server.finish().len()), (json!("tokens"), 3));
}
