//! Components that know nothing of this host, installed and called by the words of the README alone; see `guests/third-party`.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use support::Home;
use support::home::Run;

fn guests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("guests")
}

fn stranger(file: &str) -> String {
    guests().join("third-party").join(file).to_string_lossy().into_owned()
}

/// The one that is built from source.
fn lister() -> PathBuf {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet", "--target", "wasm32-wasip2", "--target-dir", "target", "-p", "lister"])
        .current_dir(guests())
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .output()
        .expect("cargo");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    guests().join("target/wasm32-wasip2/release/lister.wasm")
}

fn call(home: &Home, plugin: &str, tool: &str, input: &Value) -> Run {
    home.airlock(&["plugin", "call", plugin, tool, &input.to_string(), "--allow", tool, "--allow", "edit"])
}

#[test]
fn four_languages_as_they_were_built() {
    let home = Home::new();
    let dates = home.path("dates.wasm");
    std::fs::write(&dates, wat::parse_file(stranger("wat/dates.wat")).expect("text")).expect("a file");
    let dates = dates.to_string_lossy().into_owned();
    for (name, file, tool, input, want) in [
        (
            "words",
            stranger("c/words.wasm"),
            "local_words_count_count",
            json!({"text": "one two three"}),
            r#"{"words":3,"letters":11,"longest":"three"}"#,
        ),
        (
            "statistics",
            stranger("cpp/statistics.wasm"),
            "arrange",
            json!({"numbers": [2, 1], "wanted": {"sorted": true}}),
            "[1.0,2.0]",
        ),
        (
            "cipher",
            stranger("assemblyscript/cipher.wasm"),
            "shift",
            json!({"text": "Uryyb", "places": 13, "direction": "there"}),
            "Hello",
        ),
        ("dates", dates, "local_dates_years_0_1_0_is-leap", json!({"year": 2024}), "true"),
    ] {
        let _ = home.airlock(&["plugin", "add", &file]).exits(0);
        assert_eq!(call(&home, name, tool, &input).exits(0).stdout.trim_end(), want, "{name}");
    }
}

/// What its policy allows and nothing else, in words that are agreed to.
#[test]
fn a_policy_is_the_upper_bound() {
    let home = Home::new();
    for file in ["docs/a.txt", "docs/private/b.txt", "other/c.txt"] {
        home.file(file, "text");
    }
    let (file, policy) = (lister().to_string_lossy().into_owned(), stranger("rust/policy.yaml"));
    let refused = home.airlock(&["plugin", "add", &file, "--policy", &policy]).exits(4);
    assert!(refused.stderr.contains("files under ./docs"), "{}", refused.stderr);
    assert!(refused.stderr.contains("never what lies in docs/private"), "{}", refused.stderr);
    let _ = home.airlock(&["plugin", "add", &file, "--policy", &policy, "--yes"]).exits(0);

    let listed = call(&home, "lister", "list-directory", &json!({"path": "docs"})).exits(0);
    assert!(listed.stdout.contains(r#"{"name":"a.txt","kind":{"tag":"file"},"size":4}"#), "{}", listed.stdout);
    let _ = call(&home, "lister", "note", &json!({"path": "docs/n.txt", "text": "kept"})).exits(0);
    assert_eq!(home.read("docs/n.txt"), b"kept");
    for (path, code) in [("docs/private/n.txt", 4), ("other/n.txt", 1)] {
        let _ = call(&home, "lister", "note", &json!({"path": path, "text": "kept"})).exits(code);
        assert!(!home.work().join(path).exists(), "{path}");
    }
}

/// What flags name beside it narrows further, and takes back nothing that it leaves out.
#[test]
fn flags_narrow_a_policy() {
    let home = Home::new();
    let (file, policy) = (stranger("c/words.wasm"), stranger("rust/policy.yaml"));
    for (flag, words) in [
        ("fs:docs=ro", ["may read files under ./docs", "never what lies in docs/private", "32 MiB"]),
        ("memory=16MiB", ["may read and change files under ./docs", "never what lies in docs/private", "16 MiB"]),
    ] {
        let run = home.airlock(&["plugin", "add", &file, "--policy", &policy, "--grant", flag, "--yes"]).exits(0);
        words.iter().for_each(|part| assert!(run.stdout.contains(part), "{flag}: {}", run.stdout));
    }
}

#[test]
fn a_policy_that_cannot_be_used() {
    let home = Home::new();
    home.file("policy.yaml", "version: \"1.0\"\npermissions: {storrage: {}}");
    let run = home.airlock(&["plugin", "add", &stranger("c/words.wasm"), "--policy", "policy.yaml"]).exits(2);
    assert!(run.stderr.contains("policy.yaml") && run.stderr.contains("storrage"), "{}", run.stderr);
}
