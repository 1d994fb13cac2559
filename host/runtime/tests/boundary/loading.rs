//! What may be loaded: broken files, the cache, and what is remembered.

use crate::guests::{codec, guest};
use crate::stage::{Answer, Stage, options};
use runtime::{Bundled, CompileNotice, Learnt, Runtime, RuntimeError};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

fn echo() -> Vec<Bundled> {
    let bundled = |name, bytes, learnt| Bundled { name, bytes, learnt };
    vec![
        bundled("echo", guest("echo"), Learnt::AtStart),
        bundled("codec-lines", codec("codec-lines"), Learnt::AtStart),
        bundled("codec-done", codec("codec-done"), Learnt::WhenNamed),
    ]
}

/// Opens a runtime and tells how many components it had to learn.
fn learnt(home: &Path) -> (Arc<Runtime>, usize) {
    let notices = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&notices);
    let mut options = options(home, echo());
    options.on_compile = Some(Arc::new(move |notice| keep.lock().unwrap().push(notice)));
    let runtime = Runtime::open(options).unwrap();
    let count = notices.lock().unwrap().iter().filter(|n| matches!(n, CompileNotice::Finished { .. })).count();
    (runtime, count)
}

fn cached(home: &Path, ending: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir(home.join("cache")).unwrap().map(|e| e.unwrap().path());
    files.filter(|p| p.extension().is_some_and(|e| e == ending)).collect()
}

#[test]
fn a_component_is_learnt_once() {
    let home = tempfile::tempdir().unwrap();
    let (first, count) = learnt(home.path());
    assert_eq!(count, 2);
    let (second, count) = learnt(home.path());
    assert_eq!(count, 0);
    let compiled = cached(home.path(), "code").len();
    assert_eq!(second.provider_info("codec-done").unwrap().id, "codec-done");
    assert!(cached(home.path(), "code").len() > compiled, "it is compiled when it is named");
    assert_eq!(first.plugins().unwrap(), second.plugins().unwrap());
    for (folder, mode) in [("cache", 0o700), ("data/compiled.key", 0o600)] {
        let found = std::fs::metadata(home.path().join(folder)).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{folder}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_byte_is_not_run() {
    let stage = Stage::new(&[("echo", guest("echo"))]);
    assert!(!cached(stage.home.path(), "code").is_empty());
    for ending in ["code", "about"] {
        for file in cached(stage.home.path(), ending) {
            let whole = std::fs::read(&file).unwrap();
            let mut bytes = whole.clone();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            std::fs::write(&file, &bytes).unwrap();
            let runtime = Runtime::open(options(stage.home.path(), echo())).unwrap();
            let fresh = Stage {
                runtime,
                workspace: tempfile::tempdir().unwrap(),
                home: tempfile::tempdir().unwrap(),
                progress: Arc::default(),
            };
            assert!(fresh.run("echo", Answer::Yes).await.is_ok());
            assert_eq!(std::fs::read(&file).unwrap().len(), whole.len(), "made anew");
            assert_ne!(std::fs::read(&file).unwrap(), bytes, "made anew");
        }
    }
}

/// What was noted when the program was built is taken as it stands: nothing is compiled before a call.
#[tokio::test(flavor = "multi_thread")]
async fn a_noted_component_is_compiled_when_it_is_called() {
    let home = tempfile::tempdir().unwrap();
    let asked = Stage::new(&[("echo", guest("echo"))]).runtime.inspect("echo").unwrap().tools;
    let note = serde_json::to_string(&asked).unwrap().leak();
    let noted = Bundled { name: "echo", bytes: guest("echo"), learnt: Learnt::AtBuild(note) };
    let runtime = Runtime::open(options(home.path(), vec![noted])).unwrap();
    assert_eq!(runtime.inspect("echo").unwrap().tools, asked);
    runtime.warm_up_tool("echo");
    assert!(cached(home.path(), "code").is_empty(), "a start that compiled nothing does not begin to");
    let stage = Stage { runtime, home, workspace: tempfile::tempdir().unwrap(), progress: Arc::default() };
    assert!(stage.run("echo", Answer::Yes).await.is_ok());
    assert!(!cached(stage.home.path(), "code").is_empty());
}

/// A folder that others may write is not used; all works all the same.
#[test]
fn a_folder_that_is_not_ours_alone_is_not_used() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("cache")).unwrap();
    std::fs::set_permissions(home.path().join("cache"), std::fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(learnt(home.path()).1, 2);
    assert_eq!(learnt(home.path()).1, 2);
    assert!(cached(home.path(), "code").is_empty());
}

fn error_of(name: &str, bytes: &[u8]) -> String {
    let stage = Stage::new(&[("codec-lines", codec("codec-lines"))]);
    let file = stage.home.path().join(name);
    std::fs::write(&file, bytes).unwrap();
    let error = stage.runtime.inspect(file.to_str().unwrap()).unwrap_err();
    assert!(stage.runtime.provider_info("codec-lines").is_ok(), "the others live");
    error.to_string()
}

/// Field reports H1, H3, H5 (loading): refused with a message that says what is wrong, and the host lives.
#[test]
fn broken_components() {
    let component = wat::parse_str("(component (core module (func)))").unwrap();
    let wat = |text: &str| wat::parse_str(text).unwrap();
    let cases: [(&str, Vec<u8>, &[&str]); 8] = [
        (
            "H1a",
            wat(r#"(component (import "airlock:no-such/thing@99.0.0" (instance (export "f" (func)))))"#),
            &["airlock:no-such/thing", "99.0.0"],
        ),
        ("H1b", wat(r#"(module (memory 1) (func (export "run")))"#), &["component", "core module"]),
        ("H1c", wat("(component)"), &["exports nothing", "airlock:plugin/tool@0.1.0"]),
        ("H1d", vec![], &["empty"]),
        ("H1e", b"Many thanks, not wasm".to_vec(), &["not WebAssembly"]),
        ("H1f", component[..component.len() - 5].to_vec(), &["damaged"]),
        ("H1g", b"\x7fELF\x02\x01\x01\x00".to_vec(), &["native code"]),
        (
            "other",
            wat(r#"(component (instance $i) (export "airlock:plugin/tool@0.2.0" (instance $i)))"#),
            &["0.2.0", "0.1"],
        ),
    ];
    for (id, bytes, parts) in cases {
        let message = error_of(&format!("{id}.wasm"), &bytes);
        assert!(parts.iter().all(|p| message.contains(p)), "{id}: {message}");
        assert!(message.contains(&format!("{id}.wasm")) && !message.contains("backtrace"), "{id}: {message}");
    }
}

/// A tool whose start function misbehaves, which it does when it is asked what it offers.
fn grafted(module: &str) -> Vec<u8> {
    let text = format!(
        r#"(component
            (core module $bad {module})
            (core instance (instantiate $bad))
            (core module $m
                (memory (export "memory") 1)
                (func (export "call"))
                (func (export "list") (result i32) i32.const 0))
            (core instance $i (instantiate $m))
            (func $list (result (list string))
                (canon lift (core func $i "list") (memory (core memory $i "memory"))))
            (func $call (canon lift (core func $i "call")))
            (instance $tool (export "list" (func $list)) (export "call" (func $call)))
            (export "airlock:plugin/tool@0.1.0" (instance $tool)))"#
    );
    wat::parse_str(text).unwrap()
}

#[test]
fn start_functions_that_misbehave_do_no_harm() {
    for (id, module, part) in [
        ("H3a", "(func $s unreachable) (start $s)", "unreachable"),
        ("H3b", "(func $s (call $s)) (start $s)", "stack"),
        ("H3c", "(memory 1) (func $s (drop (i32.load (i32.const 2147483644)))) (start $s)", "memory"),
        ("H5a", "(memory 65536)", "memory"),
        // Until it is refused, then it ends: what is wrong here is the type of `call`.
        (
            "H5b",
            "(memory 1) (func $s (loop $l (br_if $l (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))) (start $s)",
            "",
        ),
        (
            "H5c",
            "(table 1 funcref) (func $s (loop $l (br_if $l
                (i32.ne (table.grow (ref.null func) (i32.const 100000)) (i32.const -1))))) (start $s)",
            "",
        ),
        // By its computing or, on a machine with much to do, by the clock.
        ("loop", "(func $s (loop $l (br $l))) (start $s)", "it was stopped after"),
    ] {
        let message = error_of(&format!("{id}.wasm"), &grafted(module));
        assert!(message.contains(&format!("{id}.wasm")) && message.contains(part), "{id}: {message}");
    }
}

#[test]
fn names_that_are_not_there() {
    let stage = Stage::new(&[("echo", guest("echo"))]);
    let error = stage.runtime.inspect("nothing").unwrap_err();
    assert!(matches!(error, RuntimeError::Unknown { .. }), "{error}");
    let error = stage.runtime.inspect("no/such/file.wasm").unwrap_err().to_string();
    assert!(error.contains("no/such/file.wasm"), "{error}");
    assert!(stage.runtime.provider_info("echo").is_err());
}

#[test]
fn what_is_shown_of_a_component() {
    let stage = Stage::new(&[("runner", guest("runner"))]);
    let info = stage.runtime.inspect("runner").unwrap();
    assert!(
        info.origin == runtime::Origin::Bundled && info.size == guest("runner").len() as u64 && info.digest.len() == 64
    );
    assert!(info.exports.iter().any(|e| e == "airlock:plugin/tool@0.1.0"), "{:?}", info.exports);
    assert!(info.imports.iter().any(|i| i.starts_with("airlock:plugin/process@")), "{:?}", info.imports);
    assert!(info.grant.process.programs.contains("*"));
    assert_eq!(info.tools.len(), 1);
}
