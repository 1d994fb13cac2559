//! The built components: what they import, and that they carry a manifest. `AIRLOCK_COMPONENTS` names the folder where they were built;
//! without it nothing is checked, and that is said.

#![expect(clippy::unwrap_used, reason = "a test's own files")]

use serde_json::Value;
use std::path::PathBuf;
use wasmparser::{Encoding, Parser, Payload};

/// WASI as the standard library needs it: files, clocks, and a seed for its hash maps.
const STD: [&str; 5] = ["wasi:cli/", "wasi:clocks/", "wasi:filesystem/", "wasi:io/", "wasi:random/"];

/// Name, what it may import beside types, kilobytes at most.
const COMPONENTS: [(&str, &[&str], usize); 8] = [
    ("read", &[], 320),
    ("write", &[], 320),
    ("edit", &[], 400),
    ("glob", &[], 320),
    ("grep", &[], 1000),
    ("bash", &["airlock:plugin/process", "airlock:plugin/progress"], 250),
    ("todowrite", &[], 200),
    ("redact", &[], 200),
];

#[derive(Default)]
struct Seen {
    is_component: bool,
    imports: Vec<String>,
    manifest: Option<Value>,
}

fn look(bytes: &[u8]) -> Seen {
    let mut seen = Seen::default();
    let mut depth = 0;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.unwrap() {
            Payload::Version { encoding, .. } => {
                seen.is_component |= depth == 0 && encoding == Encoding::Component;
                depth += 1;
            }
            Payload::End(_) => depth -= 1,
            Payload::ComponentImportSection(imports) if depth == 1 => {
                seen.imports.extend(imports.into_iter().map(|import| import.unwrap().name.name.to_owned()));
            }
            Payload::CustomSection(section) if section.name() == "airlock:manifest" => {
                seen.manifest = Some(serde_json::from_slice(section.data()).unwrap());
            }
            _ => {}
        }
    }
    seen
}

#[test]
fn components_import_what_they_may() {
    let Some(folder) = std::env::var_os("AIRLOCK_COMPONENTS").map(PathBuf::from) else {
        println!("skipped: AIRLOCK_COMPONENTS is not set");
        return;
    };
    for (name, may, kilobytes) in COMPONENTS {
        let bytes = std::fs::read(folder.join(format!("{name}.wasm"))).unwrap();
        let seen = look(&bytes);
        assert!(seen.is_component, "{name}");
        println!("{name}: {} bytes, {:?}", bytes.len(), seen.imports);
        for import in &seen.imports {
            let known = STD.iter().chain(may).chain([&"airlock:plugin/types"]).any(|p| import.starts_with(p));
            assert!(known, "{name} imports {import}");
        }
        let manifest = seen.manifest.unwrap_or_else(|| panic!("{name} has no manifest"));
        assert!(manifest["description"].as_str().is_some_and(|d| !d.is_empty()), "{name}: {manifest}");
        assert!(bytes.len() < kilobytes * 1024, "{name} has {} bytes", bytes.len());
    }
}
