//! Keys: kept for their owner, used for their provider, seen nowhere else.

use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use support::home::{finish, model_config};
use support::{Home, ModelServer, Reply, Run};

const KEY: &str = "sk-canary-7Qz41xWv93Lm";

fn add(home: &Home, name: &str, key: &str) -> Run {
    finish(home.command(&["auth", "add", name]), key.as_bytes())
}

fn sources(home: &Home) -> Vec<(String, String)> {
    let list = home.airlock(&["auth", "list", "--format", "json"]).exits(0);
    assert!(!list.stdout.contains(KEY));
    let text = |v: &serde_json::Value| v.as_str().unwrap_or_default().to_owned();
    list.lines().iter().map(|l| (text(&l["provider"]), text(&l["source"]))).collect()
}

#[test]
fn a_key_is_kept_listed_used_and_forgotten() {
    let server = ModelServer::start([Reply::text("one"), Reply::text("two")]).many_conversations();
    let home = Home::with_model(&server.base_url());
    let added = add(&home, "mock", &format!("{KEY}\n")).exits(0);
    assert!(!added.stdout.contains(KEY) && !added.stderr.contains(KEY), "{added:?}");
    let file = home.data_dir().join("auth.json");
    assert_eq!(std::fs::metadata(&file).expect("the file").permissions().mode() & 0o777, 0o600);
    assert_eq!(sources(&home), [("mock".to_owned(), file.display().to_string())]);
    let _ = home.run(&["Hello"]).exits(0);
    let _ = home.airlock(&["auth", "remove", "mock"]).exits(0);
    let _ = home.airlock(&["auth", "remove", "mock"]).exits(2);
    let _ = home.run(&["Hello again"]).exits(0);
    assert!(sources(&home).is_empty());
    let sent: Vec<_> = server.requests().iter().map(|r| r.header("authorization").map(str::to_owned)).collect();
    assert_eq!(sent, [Some(format!("Bearer {KEY}")), None]);
}

#[test]
fn the_environment_comes_first() {
    let server = ModelServer::start([Reply::text("one"), Reply::text("two")]).many_conversations();
    let home = Home::with_model(&server.base_url());
    home.config(&model_config(&server.base_url()).replace("base_url", "key = { env = \"MOCK_KEY\" }\nbase_url"));
    let missing = home.run(&["Hello"]).exits(3);
    assert!(
        missing.stderr.contains("MOCK_KEY") && missing.stderr.contains("airlock auth add mock"),
        "{}",
        missing.stderr
    );
    let _ = add(&home, "mock", "sk-of-the-file").exits(0);
    let _ = home.run(&["Hello"]).exits(0);
    let mut command = home.command(&["run", "--format", "json", "Hello"]);
    command.env("MOCK_KEY", KEY);
    let _ = finish(command, b"").exits(0);
    let sent: Vec<_> = server.requests().iter().filter_map(|r| r.header("authorization").map(str::to_owned)).collect();
    assert_eq!(sent, ["Bearer sk-of-the-file".to_owned(), format!("Bearer {KEY}")]);
}

#[test]
fn what_is_no_key_or_lies_open_is_refused() {
    let home = Home::new();
    for (name, key) in [("mock", " \n"), ("a/b", KEY), ("mock", "two\nlines\n")] {
        let refused = add(&home, name, key).exits(2);
        assert!(!refused.stderr.contains(KEY), "{refused:?}");
    }
    let _ = add(&home, "mock", KEY).exits(0);
    let file = home.data_dir().join("auth.json");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("a mode");
    let open = home.run(&["Hello"]).exits(2);
    assert!(open.stderr.contains("auth.json") && open.stderr.contains("chmod 600"), "{}", open.stderr);
}

fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { files(&path, out) } else { out.push(path) }
    }
}

/// The server sends the key back, the model wants to read it by tool and by shell, the log is at its loudest.
#[test]
fn a_key_is_seen_nowhere_but_in_its_header() {
    let kept = ".local/share/airlock/auth.json";
    let server = ModelServer::start([
        Reply::turn(
            Some(&format!("I was sent {KEY}, ")),
            &[
                ("c1", "bash", json!({"command": format!("cat ~/{kept}; env"), "description": "look"})),
                ("c2", "read", json!({"filePath": format!("~/{kept}")})),
            ],
        ),
        Reply::http(
            401,
            "application/json",
            json!({"error": {"message": format!("Incorrect API key: {KEY}")}}).to_string(),
        )
        .header("x-echo", KEY),
    ])
    .secrets(&[KEY]);
    let home = Home::with_model(&server.base_url());
    let _ = add(&home, "mock", KEY).exits(0);
    let absolute = home.path("home").join(kept);
    let mut command = home.command(&[
        "run",
        "--format",
        "json",
        "--allow",
        "bash",
        "--allow",
        "read",
        "--allow",
        "external_directory",
        "Go",
    ]);
    command.env("AIRLOCK_LOG", "trace");
    let run = finish(command, b"").exits(1);
    assert!(run.stdout.contains("I was sent ***"), "{}", run.stdout);
    assert!(!run.stdout.contains(KEY), "stdout: {}", run.stdout);
    assert!(!run.stderr.contains(KEY), "the log or an error shows it");
    let requests = server.finish();
    assert!(requests.iter().all(|r| r.header("authorization") == Some(&format!("Bearer {KEY}"))));
    let mut all = Vec::new();
    files(&home.path(""), &mut all);
    let with_it: Vec<_> = all
        .into_iter()
        .filter(|f| std::fs::read(f).is_ok_and(|b| b.windows(KEY.len()).any(|w| w == KEY.as_bytes())))
        .collect();
    assert_eq!(with_it, [absolute]);
}

/// Where the machine has a keyring, the value lies there and in no file; where it has none, nothing is kept and that is said.
#[test]
fn a_secret_in_the_keyring_is_in_no_file() {
    const VALUE: &str = "tok-in-the-ring-4711";
    let home = Home::new();
    let set = home.command(&["secret", "set", "airlock-e2e-ring", "--host", "api.example.com", "--keyring"]);
    let set = finish(set, VALUE.as_bytes());
    let kept = std::fs::read_to_string(home.data_dir().join("auth.json")).unwrap_or_default();
    assert!(!kept.contains(VALUE) && !set.stdout.contains(VALUE) && !set.stderr.contains(VALUE));
    let listed = home.airlock(&["secret", "list"]).exits(0).stdout;
    if set.code == 0 {
        assert!(listed.contains("airlock-e2e-ring") && listed.contains("keyring"), "{listed}");
        let _ = home.airlock(&["secret", "remove", "airlock-e2e-ring"]).exits(0);
    } else {
        assert_eq!(set.code, 2, "{}", set.stderr);
        assert!(set.stderr.contains("the keyring of this machine cannot be used"), "{}", set.stderr);
        assert!(set.stderr.contains("without --keyring") && kept.is_empty() && !listed.contains("airlock-e2e-ring"));
    }
}
