//! The guests, built when the first test needs one.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const WASI: &str = "wasm32-wasip2";
const BARE: &str = "wasm32-unknown-unknown";
const CODECS: [&str; 5] = ["codec-lines", "codec-done", "codec-thief", "codec-trap", "codec-spin"];

/// A tool, a hook, or anything else that has all of WASI.
pub fn guest(name: &str) -> &'static [u8] {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| build(WASI, &["--workspace"]));
    read(WASI, name).leak()
}

/// A pure codec: no imports at all.
pub fn codec(name: &str) -> &'static [u8] {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| build(BARE, &CODECS.map(|c| ["-p", c]).concat()));
    let encoder = wit_component::ComponentEncoder::default().module(&read(BARE, name)).expect("a core module");
    encoder.validate(true).encode().expect("a component").leak()
}

/// A component of `tests/guests/third-party`, as a stranger built it; text is made binary.
pub fn stranger(file: &str) -> &'static [u8] {
    let path = folder().join("third-party").join(file);
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    if file.ends_with(".wat") {
        wat::parse_bytes(&bytes).expect("a component").into_owned().leak()
    } else {
        bytes.leak()
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/guests")
}

fn read(target: &str, name: &str) -> Vec<u8> {
    let file = folder().join("target").join(target).join("release").join(name.replace('-', "_")).with_extension("wasm");
    std::fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

#[expect(clippy::disallowed_methods, reason = "a test builds its guests; nothing of a guest runs here")]
fn build(target: &str, what: &[&str]) {
    let built = std::process::Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet", "--target", target, "--target-dir", "target"])
        .args(what)
        .current_dir(folder())
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .output()
        .expect("cargo");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}
