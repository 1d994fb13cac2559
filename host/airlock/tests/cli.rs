//! The built binary where it needs no model and no component.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A home of its own, with this config.
struct Home(tempfile::TempDir);

impl Home {
    fn new(config: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("config/airlock");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::create_dir(dir.path().join("work")).unwrap();
        if !config.is_empty() {
            std::fs::write(folder.join("config.toml"), config).unwrap();
        }
        Self(dir)
    }

    fn work(&self) -> std::path::PathBuf {
        self.0.path().join("work")
    }

    #[expect(clippy::disallowed_methods, reason = "the program under test is started here")]
    fn run(&self, args: &[&str]) -> Output {
        let at = |name: &str| self.0.path().join(name);
        Command::new(env!("CARGO_BIN_EXE_airlock"))
            .args(args)
            .current_dir(self.work())
            .env_clear()
            .env("HOME", self.0.path())
            .env("XDG_CONFIG_HOME", at("config"))
            .env("XDG_DATA_HOME", at("data"))
            .env("XDG_CACHE_HOME", at("cache"))
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// Runs, compares the exit code, and looks for the words in what was printed.
    fn check(&self, args: &[&str], code: i32, words: &[&str]) {
        let output = self.run(args);
        let told = [output.stdout, output.stderr].map(|b| String::from_utf8_lossy(&b).into_owned()).concat();
        assert_eq!(output.status.code(), Some(code), "{args:?} said {told}");
        for word in words {
            assert!(told.contains(word), "{args:?} should say {word:?}; it said {told}");
        }
        assert!(!told.contains("panicked"), "{told}");
    }
}

#[test]
fn help_and_version_are_no_mistakes() {
    let home = Home::new("");
    home.check(&["--version"], 0, &["airlock", env!("CARGO_PKG_VERSION")]);
    home.check(&["--help"], 0, &["run", "session", "plugin", "doctor"]);
    home.check(&["run", "--help"], 0, &["--model", "--require-sandbox", "--max-output-tokens"]);
}

#[test]
fn mistakes_of_usage_leave_with_two() {
    let home = Home::new("");
    home.check(&["run", "--no-such-flag", "x"], 2, &["--no-such-flag"]);
    home.check(&["frobnicate"], 2, &["frobnicate"]);
    home.check(&["run", "--file", "missing.txt", "x"], 2, &["missing.txt", "--file"]);
    home.check(&["run", "--dir", "missing", "x"], 2, &["missing", "--dir"]);
    home.check(&["run", "--allow", ":", "x"], 2, &["--allow"]);
    home.check(&["run", "--fork", "x"], 2, &["no session to copy", "--session"]);
    home.check(&["run", "--temperature", "9", "x"], 2, &["--temperature"]);
    home.check(&["run", "--model", "qwen", "x"], 2, &["provider/model"]);
    home.check(&["run"], 2, &["prompt"]);
    home.check(&["session", "fork", "ses_1"], 2, &["ses_1", "session list"]);
    home.check(&["session", "show", "nonsense"], 2, &["nonsense", "session list"]);
    home.check(&["session", "show", "ses_nonsense"], 2, &["ses_nonsense", "session list"]);
    home.check(&["plugin", "add", "x"], 2, &["x", "cannot be read", "Name a component file"]);
}

#[test]
fn a_broken_config_is_named_with_its_line() {
    let home = Home::new("model = \"a/b\"\n\n[permision]\nread = \"allow\"\n");
    for args in [&["config", "check"][..], &["run", "x"], &["agents"]] {
        home.check(args, 2, &["permision", "config.toml, line 3", "`permission`"]);
    }
    Home::new("model = 7").check(&["config", "check"], 2, &["model", "line 1"]);
}

#[test]
fn a_sound_config_is_shown_with_where_it_comes_from() {
    let home = Home::new("model = \"p/m\"\n[providers.p]\nadapter = \"openai-chat\"\nkey = { env = \"P_KEY\" }");
    home.check(&["config", "check"], 0, &["sound", "config.toml"]);
    home.check(&["config", "show"], 0, &["model = \"p/m\"", "config.toml", "variable P_KEY"]);
    home.check(&["config", "show", "--format", "json"], 0, &["\"adapter\":\"openai-chat\""]);
}

#[test]
fn a_workspace_that_would_widen_is_told_of() {
    let home = Home::new("");
    std::fs::write(home.work().join("airlock.toml"), "model = \"evil/m\"\n").unwrap();
    home.check(&["config", "show"], 0, &["airlock.toml is not trusted", "model"]);
    std::fs::write(home.work().join("airlock.toml"), "[permission]\nbash = \"dney\"\n").unwrap();
    home.check(&["config", "check"], 2, &["airlock.toml, line 2", "dney"]);
}

#[test]
fn what_there_is_can_be_listed() {
    let home = Home::new("[agents.mine]\ndescription = \"Of my own\"");
    home.check(&["agents"], 0, &["build*", "plan", "minimal", "Of my own"]);
    home.check(&["agents", "--format", "json"], 0, &["\"name\":\"plan\""]);
    home.check(&["providers"], 0, &["OPENAI_API_KEY", "ollama", "offline"]);
    home.check(&["models"], 0, &["offline/explorer"]);
    home.check(&["session", "list"], 0, &[]);
}

#[test]
fn completions_are_a_script() {
    let home = Home::new("");
    home.check(&["completions", "bash"], 0, &["_airlock()", "complete"]);
    home.check(&["completions", "nosuchshell"], 2, &["nosuchshell", "bash"]);
}

#[test]
fn the_ledger_is_made_where_xdg_says() {
    let home = Home::new("");
    home.check(&["session", "list"], 0, &[]);
    assert!(Path::new(&home.0.path().join("data/airlock/airlock.db")).is_file());
}
