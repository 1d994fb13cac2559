//! The house rules as tests: crate edges, file length, rooms without a purpose, forgotten tests, stubs, the frozen contract.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the project's folder").to_path_buf()
}

/// Files of the project by ending; build output and the version control's own are left out.
fn files(endings: &[&str]) -> Vec<PathBuf> {
    fn walk(dir: &Path, out: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(dir).expect("a readable folder").flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            // Built things lie in a `target` beside a manifest; a module may be called so too.
            let is_built = name == "target" && !dir.ends_with("src");
            if path.is_dir() && !is_built && name != ".git" {
                walk(&path, out);
            } else if path.is_file() {
                out.push(path);
            }
        }
    }
    let mut all = Vec::new();
    walk(&root(), &mut all);
    all.retain(|p| endings.iter().any(|e| p.extension().is_some_and(|x| x == *e)));
    all
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The edges of the map (`host/README.md`): everything knows `model`, the binary knows all, and there is no other edge.
#[test]
fn crates_know_only_what_the_map_says() {
    let allowed = |from: &str, to: &str| from == "airlock" || to == "model";
    let host: Vec<&str> = vec!["model", "store", "agent", "runtime", "mcp", "airlock"];
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo metadata");
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).expect("metadata as JSON");
    let mut found = BTreeSet::new();
    for package in all["packages"].as_array().expect("packages") {
        let from = package["name"].as_str().expect("a name");
        if !package["manifest_path"].as_str().is_some_and(|p| p.contains("/host/")) {
            continue;
        }
        found.insert(from.to_owned());
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let to = dependency["name"].as_str().expect("a name");
            let edge = host.contains(&to) && dependency["path"].is_string();
            assert!(!edge || allowed(from, to), "{from} must not know {to}");
        }
    }
    assert_eq!(found, host.iter().map(|s| (*s).to_owned()).collect(), "a seventh room needs its sentence in the map");
}

#[test]
fn files_stay_short() {
    let long: Vec<String> = files(&["rs"])
        .iter()
        .map(|p| (p, read(p).lines().count()))
        .filter(|(_, n)| *n > 600)
        .map(|(p, n)| format!("{}: {n} lines", p.display()))
        .collect();
    assert!(long.is_empty(), "the hard limit is 600 lines: {long:#?}");
}

#[test]
fn every_room_has_a_purpose() {
    let vague = ["util", "utils", "common", "helpers", "misc", "manager"];
    let bad: Vec<PathBuf> = files(&["rs"])
        .into_iter()
        .filter(|p| p.components().any(|c| vague.contains(&c.as_os_str().to_string_lossy().trim_end_matches(".rs"))))
        .collect();
    assert!(bad.is_empty(), "names that say nothing: {bad:#?}");
}

#[test]
fn no_stubs_and_no_forgotten_tests() {
    let me = Path::new(file!()).file_name();
    let marks = ["todo!(", "unimplemented!(", "#[ignore", "allow(dead_code", "allow(unused", "allow(clippy::all"];
    for path in files(&["rs"]).iter().filter(|p| p.file_name() != me) {
        for line in read(path).lines().filter(|l| !l.contains("reason = ")) {
            let mark = marks.iter().find(|m| line.contains(**m));
            assert!(mark.is_none(), "{}: {line}", path.display());
        }
    }
}

/// `unsafe` stands only in the compiled-code cache and the process sandbox, each time with its argument.
#[test]
fn unsafe_is_argued_and_rare() {
    let homes = ["runtime/src/compile", "runtime/src/caps/process", "tests/"];
    for path in files(&["rs"]).iter().filter(|p| p.starts_with(root().join("host"))) {
        let text = read(path);
        let lines: Vec<&str> = text.lines().collect();
        for (i, _) in lines.iter().enumerate().filter(|(_, l)| l.contains("unsafe {") || l.contains("unsafe fn")) {
            let at = format!("{}:{}", path.display(), i + 1);
            assert!(homes.iter().any(|h| at.contains(h)), "{at}: unsafe outside its two rooms");
            let argued = lines[i.saturating_sub(8)..=i].iter().any(|l| l.to_uppercase().contains("SAFETY"));
            assert!(argued, "{at}: unsafe without its argument");
        }
    }
}

/// An ignored `expect` is an argument nobody reads: each has its reason beside it.
#[test]
fn no_bare_unwraps_in_the_host() {
    for path in files(&["rs"]).iter().filter(|p| p.starts_with(root().join("host"))) {
        let text = read(path);
        assert!(!text.contains("allow(clippy::unwrap_used)"), "{}: a lint is off without a reason", path.display());
    }
}

#[test]
fn every_end_to_end_file_is_part_of_the_run() {
    for suite in ["e2e"] {
        let dir = root().join("tests").join(suite);
        let main = read(&dir.join("main.rs"));
        for entry in std::fs::read_dir(&dir).expect("the suite's folder").flatten() {
            let name = entry.file_name().to_string_lossy().trim_end_matches(".rs").to_owned();
            let listed = name == "main" || main.contains(&format!("mod {name};"));
            assert!(listed, "tests/{suite}/{name} is in no run");
        }
    }
}

/// Every guest behaviour has a test that names it.
#[test]
fn every_guest_has_a_test() {
    let guests = root().join("tests/guests");
    if !guests.is_dir() {
        return;
    }
    let sources: String = files(&["rs"]).iter().filter(|p| !p.starts_with(&guests)).map(|p| read(p)).collect();
    for entry in std::fs::read_dir(&guests).expect("the guests").flatten().filter(|e| e.path().is_dir()) {
        let name = entry.file_name().to_string_lossy().into_owned();
        // `kit` is what the guests share; the test of `third-party` reads it by its files.
        let named =
            ["target", "kit", "third-party"].contains(&name.as_str()) || sources.contains(&format!("\"{name}\""));
        assert!(named, "tests/guests/{name} has no test");
    }
}

/// The tests that the table of attacks names are there.
#[test]
fn every_attack_has_the_tests_that_are_named() {
    let sources: String = files(&["rs"]).iter().map(|p| read(p)).collect();
    let page = read(&root().join("SECURITY.md"));
    let rows = page.lines().filter(|l| l.starts_with("| ") && l.as_bytes()[2].is_ascii_digit());
    let mut named = 0;
    for word in rows.flat_map(|r| r.split('`').skip(1).step_by(2)) {
        let name = word.rsplit([':', ' ']).next().unwrap_or(word);
        if name.matches('_').count() > 1 {
            named += 1;
            assert!(
                sources.contains(&format!("fn {name}(")),
                "SECURITY.md names the test `{name}`, which is not there"
            );
        }
    }
    assert!(named > 20, "{named} tests are named in SECURITY.md");
}

/// Every dependency of a host crate has its line of reason.
#[test]
fn every_dependency_has_its_reason() {
    let map = read(&root().join("host/README.md"));
    for name in ["model", "store", "agent", "runtime", "mcp", "airlock"] {
        let manifest: toml::Table = read(&root().join(format!("host/{name}/Cargo.toml"))).parse().expect("a manifest");
        for section in ["dependencies", "build-dependencies"] {
            let Some(table) = manifest.get(section).and_then(|t| t.as_table()) else { continue };
            let silent: Vec<&String> = table.keys().filter(|d| !map.contains(&format!("`{d}`"))).collect();
            assert!(silent.is_empty(), "host/README.md gives no reason for {silent:?} ({name})");
        }
    }
}

/// A text that a person copies must run anywhere: no path of a machine stands in it.
#[test]
fn no_machine_paths() {
    for path in files(&["md", "toml", "wit"]) {
        let text = read(&path);
        for bad in ["/root/", "/work/"] {
            assert!(!text.contains(bad), "{} names {bad}", path.display());
        }
    }
}
