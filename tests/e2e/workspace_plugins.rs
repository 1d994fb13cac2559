//! Components and grants that a workspace's `airlock.toml` names: nothing before it is trusted but what takes rights away, everything
//! after, and nothing again once a byte of it, or of a file that it names, is another.

use crate::plugins::{ECHO, add, guest, has, plugin, put, with_manifest};
use serde_json::json;
use std::path::Path;
use support::Home;
use support::home::finish;

const WRITER: &str = "writer";

fn write(home: &Home, file: &str) -> support::home::Run {
    let input = json!({ "file": file }).to_string();
    plugin(home, &["call", WRITER, WRITER, &input, "--yes"])
}

#[test]
fn a_component_of_the_workspace_counts_once_it_is_trusted() {
    let home = Home::new();
    home.file("tools/writer.wasm", guest(WRITER));
    home.file("docs/a.txt", "a");
    home.file("src/a.txt", "a");
    let config = "[plugins.writer]\nsource = \"tools/writer.wasm\"\ngrant = { fs = { docs = \"rw\" } }\n";
    home.file("airlock.toml", config);
    let stranger = write(&home, "docs/x").exits(2);
    has(&stranger, &["is not trusted", "plugins", "`writer` is not installed"]);
    let told = home.airlock(&["trust"]).exits(0).stdout;
    assert!(told.contains("counts: plugins\n") && told.contains("may read and change files under ./docs"), "{told}");
    let _ = write(&home, "docs/x").exits(0);
    assert_eq!(home.read("docs/x"), b"written");
    assert_ne!(write(&home, "src/x").code, 0, "beyond what the config grants");
    assert!(!home.work().join("src/x").exists());
    let listed = plugin(&home, &["list"]).exits(0).stdout;
    assert!(listed.lines().any(|l| l.starts_with("writer") && l.contains("from the config")), "{listed}");
    assert!(plugin(&home, &["inspect", WRITER]).exits(0).stdout.contains("tools/writer.wasm"));
    // From a folder below it is the same file; its grant is relative to where the work is.
    home.file("docs/docs/a.txt", "a");
    let below = home.command(&["plugin", "call", WRITER, WRITER, r#"{"file":"docs/y"}"#, "--yes", "--dir", "docs"]);
    std::fs::create_dir(home.work().join(".git")).expect("a repository");
    let _ = finish(below, b"").exits(0);
    // Attack 22: the component is swapped after it was trusted.
    home.file("tools/writer.wasm", guest(ECHO));
    has(&write(&home, "docs/z").exits(2), &["is not trusted"]);
    home.file("tools/writer.wasm", guest(WRITER));
    let _ = write(&home, "docs/z").exits(0);
    home.file("airlock.toml", format!("{config}\n"));
    has(&write(&home, "docs/z").exits(2), &["is not trusted"]);
}

/// What is in the program or installed stands, and what cannot be used is left out with its reason; the rest goes on.
#[test]
fn what_a_workspace_brings_takes_nobodys_place() {
    let home = Home::new();
    let _ = add(&home, &put(&home, "echo.wasm", &guest(ECHO)), &[]).exits(0);
    home.file("writer.wasm", guest(WRITER));
    home.file("echo.wasm", guest(ECHO));
    home.file("broken.wasm", "no component");
    let asks = with_manifest(&json!({ "fs": { "docs": "ro" } }));
    home.file("asks.wasm", asks);
    for (text, words) in [
        ("[plugins.read]\nsource = \"writer.wasm\"\n", ["`read` of the config is left out", "`read` is there already"]),
        ("[plugins.echo]\nsource = \"writer.wasm\"\n", ["`echo` of the config is left out", "`echo` is there already"]),
        ("[plugins.again]\nsource = \"echo.wasm\"\n", ["the tool `echo` of the plugin `again`", "`echo` has one"]),
        ("[plugins.gone]\ngrant = { fs = { docs = \"ro\" } }\n", ["`gone`, which is not installed", "plugin add"]),
        ("[plugins.read]\ngrant = { fs = { docs = \"ro\" } }\n", ["grants something to `read`", "not installed"]),
    ] {
        home.file("airlock.toml", text);
        let _ = home.airlock(&["trust"]).exits(0);
        has(&plugin(&home, &["call", ECHO, ECHO, "{}", "--yes"]).exits(0), &words);
    }
    home.file("airlock.toml", "[plugins.broken]\nsource = \"broken.wasm\"\n");
    assert!(home.airlock(&["trust"]).exits(0).stdout.contains("cannot be used"));
    has(&plugin(&home, &["call", ECHO, ECHO, "{}", "--yes"]).exits(0), &["`broken` of the config is left out"]);
    home.file("airlock.toml", "[plugins.wide]\nsource = \"asks.wasm\"\ngrant = { fs = { \".\" = \"rw\" } }\n");
    let told = home.airlock(&["trust"]).exits(0).stdout;
    assert!(told.contains("may read files under ./docs") && !told.contains("change files"), "{told}");
}

/// An installed component: a stranger's config may take from it, one that is trusted gives what it asks for.
#[test]
fn a_workspace_bounds_what_is_installed() {
    let home = Home::new();
    home.file("docs/a.txt", "a");
    home.file("src/a.txt", "a");
    let file = put(&home, "writer.wasm", &guest(WRITER));
    let _ = add(&home, &file, &["--yes", "--grant", "fs:src=rw"]).exits(0);
    let writes = |name: &str| write(&home, name).code == 0;
    assert!(writes("src/1") && !writes("docs/1"));
    home.file("airlock.toml", "[plugins.writer.grant.fs]\ndocs = \"rw\"\n");
    assert!(!writes("src/2") && !writes("docs/2"), "what both allow is nothing");
    let _ = home.airlock(&["trust"]).exits(0);
    assert!(!writes("src/3") && writes("docs/3"), "in place of what was agreed to");
    std::fs::remove_file(home.work().join("airlock.toml")).expect("the config");
    assert!(writes("src/4") && !writes("docs/4"));
}

/// A hook by its file lies beside the config that names it, from wherever the program is started.
#[test]
fn a_hook_lies_beside_its_config() {
    let home = Home::new();
    std::fs::create_dir(home.work().join(".git")).expect("a repository");
    home.file("docs/here.txt", "here");
    home.file("hooks/none.wasm", guest(ECHO));
    home.file("airlock.toml", "hooks = [\"hooks/none.wasm\"]\n");
    let _ = home.airlock(&["trust"]).exits(0);
    let read = ["plugin", "call", "read", "read", r#"{"filePath":"here.txt"}"#, "--dir", "docs"];
    let run = home.airlock(&read).exits(2);
    let told = Path::new("work/hooks/none.wasm").display().to_string();
    has(&run, &["hook", &told]);
}
