//! Which model is asked, how, and what it costs.

use serde_json::{Value, json};
use support::home::finish;
use support::{Home, ModelServer, Reply};

fn config(base_url: &str) -> String {
    format!(
        r#"
model = "fast"
[aliases]
fast = "mock/small"
deep = "mock/big:high"
[providers.mock]
adapter = "openai-chat"
base_url = "{base_url}"
models = [
  {{ id = "small", context = 200000, output = 32000, price = {{ input = 1, output = 10, tiers = [{{ above = 99, input = 2, output = 20 }}] }} }},
  {{ id = "big", context = 200000, output = 32000 }},
]
"#
    )
}

fn home(server: &ModelServer) -> Home {
    let home = Home::new();
    home.config(&config(&server.base_url()));
    home
}

#[test]
fn short_names_and_variants_choose_the_model() {
    let server = ModelServer::start([]).many_conversations();
    let home = home(&server);
    for args in [
        &["Hello"][..],
        &["-m", "deep", "Hello"],
        &["-m", "deep:low", "Hello"],
        &["-m", "mock/big", "--variant", "minimal", "Hello"],
        &["-m", "mock/other:8b", "Hello"],
    ] {
        let _ = home.run(args).exits(0);
    }
    let mut command = home.command(&["run", "Hello"]);
    command.env("AIRLOCK_MODEL", "deep");
    let _ = finish(command, b"").exits(0);
    let asked: Vec<(Value, Value)> =
        server.requests().iter().map(|r| (r.body["model"].clone(), r.body["reasoning_effort"].clone())).collect();
    let want = [
        ("small", Value::Null),
        ("big", json!("high")),
        ("big", json!("low")),
        ("big", json!("minimal")),
        ("other:8b", Value::Null),
        ("big", json!("high")),
    ];
    assert_eq!(asked, want.map(|(m, v)| (json!(m), v)));
}

#[test]
fn a_session_that_goes_on_thinks_as_much_as_before() {
    let server = ModelServer::start([]).many_conversations();
    let home = home(&server);
    let _ = home.run(&["-m", "deep", "Hello"]).exits(0);
    let _ = home.run(&["-c", "And now?"]).exits(0);
    let requests = server.requests();
    assert_eq!((&requests[1].body["model"], &requests[1].body["reasoning_effort"]), (&json!("big"), &json!("high")));
}

#[test]
fn a_name_that_is_no_model_names_the_nearest() {
    let server = ModelServer::start([]);
    let home = home(&server);
    let wrong = home.run(&["-m", "fats", "Hello"]).exits(2);
    assert!(wrong.stderr.contains("fats") && wrong.stderr.contains("`fast`"), "{}", wrong.stderr);
    let mut command = home.command(&["run", "Hello"]);
    command.env("AIRLOCK_MODEL", "nothing");
    let wrong = finish(command, b"").exits(2);
    assert!(wrong.stderr.contains("AIRLOCK_MODEL") && wrong.stderr.contains("provider/model"), "{}", wrong.stderr);
}

#[test]
fn an_unknown_model_works_and_says_so_once() {
    let server = ModelServer::start([]).many_conversations();
    let home = home(&server);
    let unknown = home.run(&["-m", "mock/new", "Hello"]).exits(0);
    assert_eq!(unknown.stderr.matches("limits and prices of mock/new are not known").count(), 1, "{}", unknown.stderr);
    assert!(!home.run(&["Hello"]).exits(0).stderr.contains("not known"));
}

/// The mock reports 100 tokens of prompt and 10 of answer for each request.
#[test]
fn what_was_paid_is_added_up() {
    let server = ModelServer::start([
        Reply::calls(&[("c1", "read", json!({"filePath": "a.txt"}))]),
        Reply::text("done"),
        Reply::text("again"),
    ])
    .many_conversations();
    let home = home(&server);
    home.file("a.txt", "x\n");
    let first = home.run(&["Read it"]).exits(0);
    // Beyond 99 tokens of prompt the second tier holds: (100 * 2 + 10 * 20) / 1e6 a request.
    assert_eq!(first.result()["cost"], json!(0.0008));
    let id = first.result()["sessionID"].as_str().expect("an id").to_owned();
    let _ = home.run(&["--agent", "plan", "Look"]).exits(0);
    let bill = |args: &[&str]| {
        let all: Vec<&str> = ["session", "cost", "--format", "json"].iter().chain(args).copied().collect();
        home.airlock(&all).exits(0).lines().remove(0)
    };
    let one = bill(&[&id]);
    assert_eq!((&one["cost"], &one["steps"], &one["tokens"]["input"]), (&json!(0.0008), &json!(2), &json!(200)));
    let all = bill(&[]);
    assert_eq!((&all["cost"], &all["models"][0]["model"]), (&json!(0.0012), &json!("mock/small")));
    let agents: Vec<&Value> = all["agents"].as_array().expect("agents").iter().map(|a| &a["agent"]).collect();
    assert_eq!(agents, ["build", "plan"]);
    assert_eq!(all["sessions"].as_array().map(Vec::len), Some(2));
    let text = home.airlock(&["session", "cost", &id]).exits(0).stdout;
    assert!(text.contains("$0.0008") && text.contains("mock/small"), "{text}");
    let _ = home.airlock(&["session", "cost", "ses_00000000000000000000000000"]).exits(2);
}

#[test]
fn models_are_listed_with_limits_and_prices() {
    let server = ModelServer::start([]);
    let home = home(&server);
    let listed = home.airlock(&["models", "--format", "json"]).exits(0).lines();
    let small = listed.iter().find(|l| l["id"] == "mock/small").expect("the model of the config");
    assert_eq!((&small["context"], &small["price"]["tiers"][0]["above"]), (&json!(200_000), &json!(99)));
    assert_eq!(small["default"], true);
    assert!(listed.iter().all(|l| l["ready"] == true), "{listed:#?}");
    let openai = |lines: &[Value]| lines.iter().any(|l| l["id"].as_str().is_some_and(|id| id.starts_with("openai/")));
    assert!(!openai(&listed));
    let all = home.airlock(&["models", "--all", "--format", "json"]).exits(0).lines();
    assert!(openai(&all));
    let mut command = home.command(&["models", "--format", "json"]);
    command.env("OPENAI_API_KEY", "sk-x");
    assert!(openai(&finish(command, b"").exits(0).lines()));
}
