use super::*;
use model::permission::{Action, Rule};

fn parse_text(text: &str) -> Result<FileConfig, ConfigError> {
    FileConfig::parse(Path::new("c.toml"), text, Some(Path::new("/home/x")))
}

/// The whole config of the interface page.
const WHOLE: &str = r#"
model = "local/qwen"
small_model = "local/qwen-small"
fallback = ["groq/x", "offline/explorer"]
agent = "build"
hooks = ["redact"]

[providers.local]
adapter = "openai-chat"
base_url = "http://127.0.0.1:8080/v1/"
key = { env = "LOCAL_KEY" }
models = [{ id = "qwen", context = 32768, output = 4096, price = { input = 0.15, output = 6e-1 } }]
options = { top_k = 4, nested = { on = true, list = [1, 2.5, "x"] } }

[permission]
"*" = "ask"
read = { "*" = "allow", "*.env" = "ask" }
edit = { "docs/**" = "allow", "~/x" = "deny" }
bash = { "git status *" = "allow", "rm *" = "deny" }
continue = true

[agents.minimal]
tools = ["read", "write"]
prompt = "…"
steps = 12
mode = "primary"
permission = { bash = "deny" }

[limits]
steps = 200
cost_usd = 5.0
wall = "30m"
tokens = 1000
output_tokens = 200
output_bytes = 300

[compaction]
prune = true
tail_turns = 3
reserved = 4000

[secrets.github]
env = "GITHUB_TOKEN"
hosts = ["api.github.com"]
"#;

#[test]
fn the_whole_interface_is_read() {
    let c = parse_text(WHOLE).unwrap();
    assert_eq!(c.model, ModelRef::parse("local/qwen"));
    let fallback: Vec<String> = c.fallback.iter().map(ToString::to_string).collect();
    assert_eq!(fallback, ["groq/x", "offline/explorer"]);
    let compaction =
        CompactionOptions { prune: true, tail_turns: 3, reserved: Some(4000), ..CompactionOptions::default() };
    assert_eq!(c.compaction, Some(compaction));
    let local = &c.providers["local"];
    assert_eq!(local.base_url.as_deref(), Some("http://127.0.0.1:8080/v1"));
    assert_eq!(local.key, Some(KeySource::Env("LOCAL_KEY".into())));
    assert_eq!((local.models[0].context, local.models[0].output), (32768, 4096));
    let price = local.models[0].price.clone().unwrap();
    assert_eq!((price.input, price.output), ("0.15".parse().unwrap(), "0.6".parse().unwrap()));
    let options = serde_json::json!({"top_k": 4, "nested": {"on": true, "list": [1, 2.5, "x"]}});
    assert_eq!(local.options, Some(options));
    assert_eq!(c.permissions.go_on, Some(true));
    assert_eq!(c.agents["minimal"].steps, Some(12));
    assert_eq!(c.agents["minimal"].mode, Some(AgentMode::Primary));
    assert_eq!(c.limits.wall, Some(Duration::from_secs(1800)));
    let l = &c.limits;
    assert_eq!((l.tokens, l.output_tokens, l.output_bytes), (Some(1000), Some(200), Some(300)));
    assert_eq!(c.limits.cost_usd, Some("5".parse().unwrap()));
    assert_eq!(c.secrets["github"].hosts, ["api.github.com"]);
    assert_eq!(c.hooks, Some(vec!["redact".into()]));
}

#[test]
fn short_names_stand_for_models_wherever_one_is_named() {
    let text = "model = \"fast:high\"\nfallback = [\"deep\", \"p/x\"]\n[aliases]\nfast = \"p/m\"\ndeep = \"q/n\"\n\
                [agents.a]\nmodel = \"deep\"\n[http]\nca_file = \"~/ca.pem\"\nidle = \"5m\"";
    let c = parse_text(text).unwrap();
    assert_eq!(c.model.unwrap().to_string(), "p/m:high");
    assert_eq!(c.fallback.iter().map(ToString::to_string).collect::<Vec<_>>(), ["q/n", "p/x"]);
    assert_eq!(c.agents["a"].model.as_ref().unwrap().to_string(), "q/n");
    assert_eq!((c.http.ca_file, c.http.idle), (Some("/home/x/ca.pem".into()), Some(Duration::from_secs(300))));
}

#[test]
fn certificates_lie_beside_the_config() {
    for (text, want) in [("ca.pem", "/c/ca.pem"), ("./sub/ca.pem", "/c/sub/ca.pem"), ("/etc/ca.pem", "/etc/ca.pem")] {
        let config = FileConfig::parse(Path::new("/c/c.toml"), &format!("[http]\nca_file = \"{text}\""), None).unwrap();
        assert_eq!(config.http.ca_file, Some(want.into()), "{text}");
    }
}

#[test]
fn a_price_may_rise_with_the_prompt() {
    let text = "[providers.x]\nadapter = \"a\"\nmodels = [{ id = \"m\", price = { input = 1.25, output = 10, tiers = [\n\
                { above = 200_000, input = 2.5, output = 15 }] } }]";
    let price = parse_text(text).unwrap().providers["x"].models[0].price.clone().unwrap();
    let at = |prompt| price.rates(prompt).input.to_string();
    assert_eq!((at(200_000), at(200_001)), ("1.25".into(), "2.5".into()));
}

#[test]
fn an_adapter_is_a_name_or_a_file_beside_the_config() {
    for (text, want) in [
        ("openai-chat", "openai-chat"),
        ("./x.wasm", "/c/x.wasm"),
        ("x.wasm", "/c/x.wasm"),
        ("sub/x", "/c/sub/x"),
        ("/opt/x.wasm", "/opt/x.wasm"),
        ("~/x.wasm", "/home/x/x.wasm"),
    ] {
        assert_eq!(component(text, Path::new("/c/config.toml"), Some(Path::new("/home/x"))), want, "{text}");
    }
}

#[test]
fn rules_keep_the_order_in_which_they_are_written() {
    let rules = parse_text(WHOLE).unwrap().permissions.rules;
    let want = [
        ("*", "*", Action::Ask),
        ("read", "*", Action::Allow),
        ("read", "*.env", Action::Ask),
        ("edit", "docs/**", Action::Allow),
        ("edit", "/home/x/x", Action::Deny),
        ("bash", "git status *", Action::Allow),
        ("bash", "rm *", Action::Deny),
    ];
    assert_eq!(rules, want.map(|(p, w, a)| Rule::new(p, w, a)));
    let bare = parse_text("permission = \"allow\"").unwrap().permissions.rules;
    assert_eq!(bare, [Rule::new("*", "*", Action::Allow)]);
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    for (text, line, words) in [
        ("modle = \"a/b\"", 1, &["modle", "`model`"][..]),
        ("\n\n[permision]\nread = \"ask\"", 3, &["permision", "`permission`"]),
        ("[providers.x]\nadapter = \"a\"\nbase_ulr = \"http://x\"", 3, &["providers.x.base_ulr", "`base_url`"]),
        ("[agents.x]\nstep = 3", 2, &["agents.x.step", "`steps`"]),
        ("[limits]\ncost = 3", 2, &["limits.cost", "`cost_usd`"]),
        ("[compaction]\nautomatic = true", 2, &["compaction.automatic", "`auto`"]),
        ("fallback = [\"x\"]", 1, &["fallback[0]", "provider/model"]),
        ("zzz = 1", 1, &["zzz", "providers"]),
        ("model = 3", 1, &["model", "text", "integer"]),
        ("model = \"qwen\"", 1, &["model", "qwen", "provider/model"]),
        ("[limits]\n\nsteps = \"many\"", 3, &["limits.steps", "whole number", "string"]),
        ("[limits]\nsteps = 0", 2, &["limits.steps"]),
        ("[limits]\nsteps = -1", 2, &["limits.steps", "-1"]),
        ("[limits]\nwall = \"soon\"", 2, &["limits.wall", "soon", "30m"]),
        ("[providers.x]\nadapter = \"a\"\ntext_calls = 1", 3, &["text_calls", "true or false"]),
        ("[limits]\ncost_usd = -1", 2, &["limits.cost_usd"]),
        ("[permission]\nbash = \"maybe\"", 2, &["permission.bash", "maybe", "deny"]),
        ("[permission]\nbash = 1", 2, &["permission.bash"]),
        ("[permission]\ncontinue = \"yes\"", 2, &["permission.continue", "true or false"]),
        ("[providers.x]\nbase_url = \"http://x\"", 1, &["providers.x.adapter", "missing", "openai-chat"]),
        ("[providers.x]\nadapter = \"a\"\nbase_url = \"x:1\"", 3, &["base_url", "http://"]),
        ("[providers.x]\nadapter = \"a\"\nkey = \"sk-123\"", 3, &["providers.x.key", "never", "env"]),
        ("[providers.x]\nadapter = \"a\"\nkey = { env = \"A\", file = \"b\" }", 3, &["providers.x.key", "two"]),
        ("[providers.x]\nadapter = \"a\"\nkey = { }", 3, &["providers.x.key", "nowhere"]),
        ("[providers.x]\nadapter = \"a\"\nmodels = [\n { name = \"x\" }]", 4, &["providers.x.models[0].id", "missing"]),
        ("[agents.x]\nmode = \"second\"", 2, &["agents.x.mode", "subagent"]),
        ("[agents.x]\ntemperature = 3.5", 2, &["agents.x.temperature", "3.5"]),
        ("[secrets.x]\nenv = \"A\"", 1, &["secrets.x.hosts", "missing"]),
        ("[flow]\n\"wib -> net\" = \"ask\"", 2, &["flow.wib -> net", "`wib`", "secret"]),
        ("[flow]\n\"web -> net\" = \"maybe\"", 2, &["`maybe`", "ask"]),
        ("[storage]\nkeep_days = 0", 2, &["storage.keep_days", "keep nothing"]),
        ("[storage]\njournal_bytes = \"much\"", 2, &["storage.journal_bytes", "much", "MiB"]),
        ("[components]\nat_once = 0", 2, &["components.at_once", "nothing could run"]),
        ("[components]\nmemory = \"much\"", 2, &["components.memory", "much"]),
        ("[storage]\nkeep = 1", 2, &["keep", "keep_days"]),
        ("hooks = \"redact\"", 1, &["hooks", "list"]),
        ("model = \"fats\"\n[aliases]\nfast = \"p/m\"", 1, &["model", "fats", "`fast`"]),
        ("[aliases]\na = \"b\"\nb = \"p/m\"", 2, &["aliases.a", "provider/model"]),
        ("[http]\nidle = \"0s\"", 2, &["http.idle", "no time"]),
        ("[http]\nca = \"x\"", 2, &["http.ca", "`ca_file`"]),
        (
            "[providers.x]\nadapter = \"a\"\nmodels = [\n { id = \"m\", price = { tiers = [{ input = 1 }] } }]",
            4,
            &["tiers[0].above", "missing"],
        ),
        ("a = 1\nb = = 2", 2, &["c.toml"]),
    ] {
        let error = parse_text(text).unwrap_err();
        let told = format!("{error} {}", error.hint());
        assert!(told.contains(&format!("c.toml, line {line}:")), "{text:?} is told as {told:?}");
        for word in words {
            assert!(told.contains(word), "{told:?} should hold {word:?}");
        }
        assert!(!told.contains("sk-123"), "a key is never repeated");
    }
}

#[test]
fn storage_is_bounded_by_what_is_said() {
    let check = |text: &str, keep_days, max_sessions, journal_bytes| {
        let storage = parse_text(&format!("[storage]\n{text}")).unwrap().storage;
        assert_eq!(storage, Some(Retention { keep_days, max_sessions, journal_bytes }), "{text}");
    };
    check("", None, None, 1 << 30);
    check("keep_days = 30\nmax_sessions = 100", Some(30), Some(100), 1 << 30);
    check("journal_bytes = 1_000", None, None, 1000);
    check("journal_bytes = \"512MiB\"", None, None, 512 << 20);
}
