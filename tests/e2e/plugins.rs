//! Third-party components: installed, granted, updated, removed; and what must not be installed or run.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use support::Home;
use support::home::{Run, finish};

/// A tool `writer` that writes the file its input names, asking for the whole workspace in its manifest.
const WRITER: &str = "writer";
/// A tool `echo` without a manifest.
pub const ECHO: &str = "echo";

/// A tool `fetcher` that sends what its input says and tells all that came back.
pub const FETCHER: &str = "fetcher";

pub fn guest(name: &str) -> Vec<u8> {
    static BUILT: OnceLock<()> = OnceLock::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("guests");
    BUILT.get_or_init(|| {
        let built = Command::new(env!("CARGO"))
            .args(["build", "--release", "--quiet", "--target", "wasm32-wasip2", "--target-dir", "target"])
            .args(["-p", WRITER, "-p", ECHO, "-p", FETCHER])
            .current_dir(&folder)
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .output()
            .expect("cargo");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    });
    let file = folder.join("target/wasm32-wasip2/release").join(name).with_extension("wasm");
    std::fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// The component `echo` with this manifest at its end.
pub fn with_manifest(manifest: &Value) -> Vec<u8> {
    let (name, text) = ("airlock:manifest", manifest.to_string());
    let mut bytes = guest(ECHO);
    let size = |n: usize| [(n & 0x7f) as u8 | 0x80, (n >> 7) as u8];
    bytes.push(0);
    bytes.extend(size(1 + name.len() + text.len()));
    bytes.push(name.len() as u8);
    bytes.extend(name.as_bytes());
    bytes.extend(text.as_bytes());
    bytes
}

pub fn put(home: &Home, name: &str, bytes: &[u8]) -> PathBuf {
    let path = home.path(name);
    std::fs::write(&path, bytes).expect("a component file");
    path
}

pub fn plugin(home: &Home, args: &[&str]) -> Run {
    let all: Vec<&str> = ["plugin"].into_iter().chain(args.iter().copied()).collect();
    home.airlock(&all)
}

pub fn add(home: &Home, path: &Path, more: &[&str]) -> Run {
    let path = path.to_str().expect("a path");
    plugin(home, &[&["add", path], more].concat())
}

pub fn has(run: &Run, words: &[&str]) {
    assert!(words.iter().all(|w| run.stderr.contains(w)), "should say {words:?}: {}", run.stderr);
}

fn stored(home: &Home) -> Vec<PathBuf> {
    let folder = std::fs::read_dir(home.data_dir().join("plugins"));
    folder.into_iter().flatten().flatten().map(|e| e.path()).collect()
}

#[test]
fn a_component_is_installed_called_and_removed() {
    let home = Home::new();
    let file = put(&home, "writer.wasm", &guest(WRITER));
    let refused = add(&home, &file, &[]).exits(4);
    has(&refused, &["may read and change files in the workspace", "64 MiB, 10 s", "nobody is there to agree"]);
    assert!(!home.data_dir().join("plugins.lock").exists(), "nothing was installed");
    let _ = add(&home, &file, &["--yes"]).exits(0);
    let listed = plugin(&home, &["list", "--format", "json"]).exits(0).lines();
    let mine = listed.iter().find(|p| p["name"] == WRITER).expect("it is listed");
    assert_eq!((&mine["bundled"], &mine["grant"]["fs"]), (&json!(false), &json!({ ".": "rw" })));
    let call = ["call", WRITER, WRITER, r#"{"file":"made.txt"}"#, "--allow", "writer", "--allow", "edit"];
    assert_eq!(plugin(&home, &call).exits(0).stdout, "written\n");
    assert_eq!(home.read("made.txt"), b"written");
    let _ = plugin(&home, &["remove", WRITER]).exits(0);
    assert!(stored(&home).is_empty());
    let _ = plugin(&home, &call).exits(2);
}

/// What was answered for good for a component's tool is not an answer for another's of the same name.
#[test]
fn an_answer_goes_with_its_component() {
    let home = Home::new();
    let file = put(&home, "echo.wasm", &guest(ECHO));
    let call = |more: &[&str]| plugin(&home, &[&["call", ECHO, ECHO, "{}"], more].concat());
    let _ = add(&home, &file, &[]).exits(0);
    has(&call(&[]).exits(4), &["--allow echo"]);
    let _ = call(&["--yes=always"]).exits(0);
    let _ = call(&[]).exits(0);
    let _ = plugin(&home, &["remove", ECHO]).exits(0);
    let _ = add(&home, &file, &[]).exits(0);
    let _ = call(&[]).exits(4);
}

/// What was not given is refused whatever the rules allow.
#[test]
fn a_grant_is_the_upper_bound() {
    let home = Home::new();
    let file = put(&home, "writer.wasm", &guest(WRITER));
    home.file("docs/a.txt", "a");
    home.file("src/a.txt", "a");
    let _ = add(&home, &file, &["--yes", "--grant", "fs:docs=rw"]).exits(0);
    let write = |path: &str| {
        let input = json!({ "file": path }).to_string();
        plugin(&home, &["call", WRITER, WRITER, &input, "--yes"])
    };
    let _ = write("docs/new.txt").exits(0);
    assert_ne!(write("src/new.txt").code, 0);
    assert!(!home.work().join("src/new.txt").exists());
    let _ = plugin(&home, &["grant", WRITER, "fs:src=rw"]).exits(0);
    let _ = write("src/new.txt").exits(0);
    let _ = plugin(&home, &["revoke", WRITER, "fs:docs"]).exits(0);
    assert_ne!(write("docs/other.txt").code, 0);
    has(&plugin(&home, &["revoke", WRITER, "fs:docs"]).exits(2), &["was not given"]);
    has(&plugin(&home, &["grant", WRITER, "fs:/=rw"]).exits(2), &["does not ask for it", "anywhere on this machine"]);
    let _ = plugin(&home, &["revoke", WRITER]).exits(0);
    assert_ne!(write("src/newest.txt").code, 0);
}

/// Attack 22.
#[test]
fn a_file_that_was_swapped_after_the_approval_is_not_run() {
    let home = Home::new();
    let file = put(&home, "echo.wasm", &guest(ECHO));
    let _ = add(&home, &file, &[]).exits(0);
    let call = ["call", ECHO, ECHO, "{}", "--yes"];
    let _ = plugin(&home, &call).exits(0);
    let [kept] = &stored(&home)[..] else { panic!("one component") };
    std::fs::write(kept, guest(WRITER)).expect("the swap");
    let run = plugin(&home, &call).exits(1);
    has(&run, &["is not the file that was agreed to", "echo"]);
    has(&plugin(&home, &["list"]).exits(0), &["is not the file that was agreed to"]);
    assert!(home.airlock(&["doctor"]).exits(1).stdout.contains("NO  plugins    echo is not run"));
    // The error says how to mend it.
    let _ = add(&home, &file, &[]).exits(0);
    let _ = plugin(&home, &call).exits(0);
    // What lies elsewhere is of no account, and nor is a lock that names another digest.
    let lock = home.data_dir().join("plugins.lock");
    let text = std::fs::read_to_string(&lock).expect("the lock");
    let digest = text.lines().find_map(|l| l.strip_prefix("blake3 = ")).expect("a digest").trim_matches('"').to_owned();
    std::fs::write(&lock, text.replace(&digest, &"0".repeat(64))).expect("the lock");
    assert_ne!(plugin(&home, &call).code, 0);
    std::fs::write(&lock, "nonsense").expect("the lock");
    has(&plugin(&home, &["list"]).exits(2), &["plugins.lock", "cannot be read"]);
}

/// Attack 22.
#[test]
fn the_programs_names_stand() {
    let home = Home::new();
    let echo = put(&home, "echo.wasm", &guest(ECHO));
    let long = "n".repeat(300);
    for (name, words) in [
        ("read", ["part of the program", "--name"]),
        ("openai_chat", ["part of the program", "openai-chat"]),
        ("r\u{435}ad", ["letters that can look like others", "--name"]),
        (&*long, ["longer than 64", "--name"]),
        ("../x", ["cannot be the name", "--name"]),
        ("", ["empty", "--name"]),
    ] {
        has(&add(&home, &echo, &["--name", name]).exits(2), &words);
    }
    let _ = add(&home, &echo, &[]).exits(0);
}

/// Two components with a tool of one name: the error says what to do, and that works, also after an update.
#[test]
fn a_second_tool_of_a_name_is_called_by_its_plugin() {
    let home = Home::new();
    let _ = add(&home, &put(&home, "echo.wasm", &guest(ECHO)), &[]).exits(0);
    let other = put(&home, "other.wasm", &with_manifest(&json!({ "version": "1.0.0" })));
    has(
        &add(&home, &other, &[]).exits(2),
        &["its tool `echo` is called like one of `echo`", "--name OTHER", "OTHER_echo"],
    );
    let run = add(&home, &other, &["--name", "my.echo"]).exits(0);
    has(&run, &["`echo` is called `my_echo_echo` here"]);
    let call = |plugin_name: &str, tool: &str| plugin(&home, &["call", plugin_name, tool, r#"{"a":1}"#, "--yes"]);
    assert_eq!(call("my.echo", "my_echo_echo").exits(0).stdout, call(ECHO, ECHO).exits(0).stdout);
    let _ = call("my.echo", ECHO).exits(2);
    // What was answered for one is no answer for the other.
    let _ = plugin(&home, &["call", "my.echo", "my_echo_echo", "{}", "--yes=always"]).exits(0);
    let _ = plugin(&home, &["call", "my.echo", "my_echo_echo", "{}"]).exits(0);
    let _ = plugin(&home, &["call", ECHO, ECHO, "{}"]).exits(4);
    put(&home, "other.wasm", &with_manifest(&json!({ "version": "1.1.0" })));
    let _ = plugin(&home, &["update", "my.echo"]).exits(0);
    let _ = call("my.echo", "my_echo_echo").exits(0);
}

/// Limits under which nothing runs, or which nobody is given, are refused with the range.
#[test]
fn limits_that_make_no_sense() {
    let home = Home::new();
    let file = put(&home, "echo.wasm", &guest(ECHO));
    for (right, range) in [
        ("memory=1KiB", "from 64KiB to 256MiB"),
        ("memory=99999GiB", "from 64KiB to 256MiB"),
        ("cpu=0s", "from 1ms to 1day"),
        ("wall=2days", "from 1ms to 1day"),
        ("output=1", "from 1KiB to 16MiB"),
    ] {
        has(&add(&home, &file, &["--grant", right]).exits(2), &[right, "makes no sense", range]);
    }
    let _ = add(&home, &file, &["--grant", "memory=128MiB"]).exits(0);
    has(&plugin(&home, &["grant", ECHO, "memory=1KiB"]).exits(2), &["memory=1KiB", "from 64KiB to 256MiB"]);
    let _ = plugin(&home, &["grant", ECHO, "fs:docs=ro", "--yes"]).exits(0);
}

#[test]
fn an_update_asks_for_just_what_is_new() {
    let home = Home::new();
    let version = |v: &str, fs: Value| with_manifest(&json!({ "version": v, "fs": fs }));
    let file = put(&home, "echo.wasm", &version("1.1.0", json!({ "docs": "ro" })));
    let _ = add(&home, &file, &["--yes"]).exits(0);
    let update = |more: &[&str]| plugin(&home, &[&["update", ECHO], more].concat());
    assert!(update(&[]).exits(0).stdout.contains("as it was"));
    put(&home, "echo.wasm", &version("1.2.0", json!({ "docs/a": "ro" })));
    assert!(update(&[]).exits(0).stdout.contains("docs/a"), "narrower: nobody is asked");
    put(&home, "echo.wasm", &version("1.3.0", json!({ "docs/a": "ro", "out": "rw" })));
    let asked = update(&[]).exits(4);
    has(&asked, &["asks for more than before", "may read and change files under ./out"]);
    assert!(!asked.stderr.contains("docs/a"), "{}", asked.stderr);
    assert!(plugin(&home, &["list"]).stdout.contains("1.2.0"), "the old one stays");
    let _ = update(&["--yes"]).exits(0);
    put(&home, "echo.wasm", &version("1.2.9", json!({})));
    has(&update(&["--yes"]).exits(2), &["1.2.9", "is older than 1.3.0"]);
    let elsewhere = put(&home, "other.wasm", &version("1.4.0", json!({})));
    has(&add(&home, &elsewhere, &["--name", ECHO]).exits(4), &["came from", "echo.wasm", "other.wasm"]);
}

#[test]
fn a_sidecar_speaks_for_a_component_that_does_not() {
    let home = Home::new();
    let file = put(&home, "echo.wasm", &guest(ECHO));
    let sidecar = "version = \"2.0.0\"\ndescription = \"Says it again.\"\n[fs]\n\"docs\" = \"ro\"\n";
    std::fs::write(home.path("echo.airlock.toml"), sidecar).expect("the sidecar");
    has(&add(&home, &file, &[]).exits(4), &["may read files under ./docs"]);
    let _ = add(&home, &file, &["--yes"]).exits(0);
    let shown = plugin(&home, &["inspect", ECHO]).exits(0).stdout;
    assert!(shown.contains("Says it again.") && shown.contains("2.0.0") && shown.contains("./docs"), "{shown}");
    std::fs::write(home.path("echo.airlock.toml"), "[fs]\ndocs = \"wx\"\n").expect("the sidecar");
    has(&add(&home, &file, &["--yes"]).exits(2), &["line 2", "\"ro\" or \"rw\""]);
}

/// Attack 24: the process that compiles has limits of its own, and dies of them without a word of code.
#[test]
fn the_compiler_dies_of_its_limits() {
    let home = Home::new();
    let compile = |memory: &str, bytes: &[u8]| finish(home.command(&["__compile", "acting", memory, "60"]), bytes);
    let starved = compile("4194304", &guest(ECHO));
    assert!(starved.code != 0 && starved.stdout.is_empty(), "{starved:?}");
    let told = compile("1073741824", b"no component").exits(3);
    assert!(told.stdout.is_empty() && !told.stderr.is_empty(), "{told:?}");
    assert_eq!(compile("1073741824", &guest(ECHO)).code, 0);
}

/// Attack 24, through the built program: whatever the file, an answer of one sentence, and the program lives.
#[test]
fn broken_files_are_told_and_nothing_more() {
    let home = Home::new();
    let good = guest(ECHO);
    for seed in 0..8_usize {
        let mut bytes = good.clone();
        (0..=seed).for_each(|i| bytes[(seed * 7919 + i * 104_729) % good.len()] ^= 1 << (i % 8));
        let run = add(&home, &put(&home, "broken.wasm", &bytes), &["--yes"]);
        assert!([0, 1, 2].contains(&run.code), "seed {seed}: {run:?}");
        assert!(!run.stderr.contains("bug in airlock") && !run.stderr.contains("panicked"), "seed {seed}: {run:?}");
    }
    let wat = |text: &str| wat::parse_str(text).expect("a text");
    for (bytes, words) in [
        (good[..good.len() / 2].to_vec(), ["broken", "damaged"]),
        (wat("(module)"), ["broken", "core module"]),
        (wat("(component)"), ["broken", "exports nothing"]),
        (b"\x7fELF\x02\x01\x01\x00".to_vec(), ["broken", "native code"]),
        (b"\x1f\x8b\x08\x00".to_vec(), ["broken", "not WebAssembly"]),
        (wat("(component (instance $i) (export \"airlock:plugin/tool@0.2.0\" (instance $i)))"), ["broken", "0.2.0"]),
        (with_manifest(&json!({ "fs": { "../..": "rw" } })), ["broken", "leaves the workspace"]),
        (with_manifest(&json!({ "root": true })), ["broken", "manifest"]),
    ] {
        has(&add(&home, &put(&home, "broken.wasm", &bytes), &["--yes"]).exits(2), &words);
    }
    let _ = add(&home, &put(&home, "echo.wasm", &good), &[]).exits(0);
}

/// A model adapter and a hook that are installed are named like those of the program.
#[test]
fn what_is_installed_is_named_in_the_config() {
    let home = Home::new();
    let echo = put(&home, "echo.wasm", &guest(ECHO));
    let _ = add(&home, &echo, &[]).exits(0);
    home.config("hooks = [\"echoo\"]\n");
    let run = home.airlock(&["config", "check"]).exits(2);
    assert!(format!("{}{}", run.stdout, run.stderr).contains("echoo"), "{run:?}");
}

#[test]
fn a_workspace_counts_in_full_once_it_is_trusted() {
    let home = Home::new();
    home.file("airlock.toml", "model = \"mine/x\"\n[providers.mine]\nadapter = \"offline\"\n");
    let shown = |home: &Home| home.airlock(&["config", "show"]).exits(0);
    assert!(!shown(&home).stdout.contains("mine/x"));
    has(&shown(&home), &["is not trusted", "airlock trust"]);
    let told = home.airlock(&["trust"]).exits(0).stdout;
    assert!(told.contains("model") && told.contains("providers"), "{told}");
    assert!(shown(&home).stdout.contains("mine/x"));
    assert!(home.airlock(&["trust", "list"]).exits(0).stdout.contains("airlock.toml"));
    home.file("airlock.toml", "model = \"mine/y\"\n[providers.mine]\nadapter = \"offline\"\n");
    assert!(!shown(&home).stdout.contains("mine/y"), "another file");
    assert!(home.airlock(&["trust", "list"]).exits(0).stdout.contains("changed since"));
    let _ = home.airlock(&["trust"]).exits(0);
    let _ = home.airlock(&["trust", "revoke"]).exits(0);
    assert!(!shown(&home).stdout.contains("mine/y"));
    has(&home.airlock(&["trust", "revoke"]).exits(2), &["is not trusted"]);
}

/// A folder that is gone is trusted no longer, if the person says so.
#[test]
fn trust_of_a_folder_that_is_gone_can_be_taken_back() {
    let home = Home::new();
    home.file("sub/.git/HEAD", "");
    home.file("sub/airlock.toml", "model = \"a/b\"\n");
    let _ = home.airlock(&["trust", "--dir", "sub"]).exits(0);
    std::fs::remove_dir_all(home.work().join("sub")).expect("the folder");
    assert!(home.airlock(&["trust", "list"]).exits(0).stdout.contains("gone"));
    let _ = home.airlock(&["trust", "revoke", "sub"]).exits(0);
    assert_eq!(home.airlock(&["trust", "list"]).exits(0).stdout, "");
    let _ = home.airlock(&["trust", "revoke", "sub"]).exits(2);
}

/// What an untrusted file allows is shown, and shown not to count.
#[test]
fn a_rule_that_does_not_count_is_marked() {
    let home = Home::new();
    home.file("airlock.toml", "[permission]\nedit = \"allow\"\nbash = \"deny\"\n");
    let shown = || home.airlock(&["config", "show"]).exits(0).stdout;
    let line = |text: &str, rule: &str| text.lines().find(|l| l.contains(rule)).expect("the rule").to_owned();
    assert!(line(&shown(), "allow edit").contains("not in force"), "{}", shown());
    assert!(!line(&shown(), "deny bash").contains("not in force"), "{}", shown());
    let _ = home.airlock(&["trust"]).exits(0);
    assert!(!shown().contains("not in force"));
}

#[test]
fn a_secret_for_everybody_is_told_of() {
    let home = Home::new();
    let set =
        |name: &str, host: &str| finish(home.command(&["secret", "set", name, "--host", host]), b"value\n").exits(0);
    for (host, word) in [("https://*", "any host"), ("*", "any host"), ("*.example.com", ""), ("api.example.com", "")] {
        assert_eq!(set("a", host).stderr.contains("any host"), !word.is_empty(), "{host}");
    }
    has(&set("openai", "api.example.com"), &["airlock auth add openai"]);
}

#[test]
fn trust_tells_all_that_it_widens() {
    let home = Home::new();
    let told = |text: &str| {
        home.file("airlock.toml", text);
        home.airlock(&["trust"]).exits(0).stdout
    };
    for (text, word) in [
        ("[flow]\n\"secret -> net\" = \"allow\"\n", "counts: flow\n"),
        ("[limits]\ncost_usd = 500\n", "counts: limits\n"),
        ("[limits]\nchildren = 90\n", "counts: limits of sub-agents\n"),
        ("", "nothing yet"),
    ] {
        let told = told(text);
        assert!(told.contains(word), "{text}: {told}");
    }
}
