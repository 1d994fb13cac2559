//! Field reports about files (area E of the shared cases) through the code that the components run. Where the cases are not there,
//! nothing is checked, and that is said.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test's own files")]

use airlock::{CallContext, Tool, ToolFailure, ToolOutput, call_json};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/cases/E.json");

#[test]
fn field_reports_about_files() {
    let Ok(text) = fs::read_to_string(CASES) else {
        println!("skipped: no {CASES}");
        return;
    };
    let cases: Value = serde_json::from_str(&text).unwrap();
    let mut failures = Vec::new();
    for case in cases["cases"].as_array().unwrap() {
        match case["tool"].as_str().unwrap() {
            // The host keeps what a session has seen: these need all of it. There is no tool that edits in several parts.
            "steps" | "multiedit" => println!("{}: not run here", case["id"]),
            _ => failures.extend(run(case).err()),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// What a case came to.
struct Outcome {
    result: Result<ToolOutput, ToolFailure>,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
}

fn run(case: &Value) -> Result<(), String> {
    let id = case["id"].as_str().unwrap();
    let root = std::env::temp_dir().join(format!("airlock-case-{}-{id}", std::process::id()));
    let _ = fs::remove_dir_all(&root);
    fs::create_dir_all(&root).unwrap();
    let path = root.join(case["path"].as_str().unwrap());
    prepare(case, &root, &path);
    let before = fs::read(&path).ok();
    let context = CallContext { workspace: root.clone(), ..CallContext::default() };
    let outcome = Outcome { result: call(case, &context), before, after: fs::read(&path).ok() };
    let _ = fs::remove_dir_all(&root);
    let allowed = case["expect_any"].as_array().cloned().unwrap_or_else(|| vec![case["expect"].clone()]);
    let misses: Vec<String> = allowed.iter().filter_map(|expect| outcome.check(expect).err()).collect();
    if misses.len() < allowed.len() {
        Ok(())
    } else {
        Err(format!("{id}: {}: {:?}", misses.join("; "), outcome.result))
    }
}

fn prepare(case: &Value, root: &Path, path: &Path) {
    for step in case["setup"].as_array().into_iter().flatten() {
        let file: PathBuf = root.join(step["file"].as_str().expect("only files are set up"));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, step["text"].as_str().unwrap()).unwrap();
    }
    if let Some(bytes) = case["file_before_b64"].as_str() {
        fs::write(path, BASE64_STANDARD.decode(bytes).unwrap()).unwrap();
    }
    let generate = &case["generate"];
    if let Some(piece) = generate["repeat"].as_str() {
        let times = generate["times"].as_u64().unwrap().try_into().unwrap();
        fs::write(path, piece.repeat(times)).unwrap();
    }
    if let Some(lines) = generate["numbered_lines"].as_u64() {
        let text: String = (1..=lines).map(|n| format!("{n}\n")).collect();
        fs::write(path, text).unwrap();
    }
}

fn call(case: &Value, context: &CallContext) -> Result<ToolOutput, ToolFailure> {
    let mut input = json!({ "filePath": case["path"] });
    let edit = &case["edit"];
    match case["tool"].as_str().unwrap() {
        "edit" => {
            input["oldString"] = edit["old"].clone();
            input["newString"] = edit["new"].clone();
            input["replaceAll"] = edit["replace_all"].clone();
            with::<edit::Edit>(context, &input)
        }
        "write" => {
            input["content"] = case["content"].clone();
            with::<write::Write>(context, &input)
        }
        "read" => {
            let args = case["args"].as_object().cloned().unwrap_or_default();
            input.as_object_mut().unwrap().extend(args);
            with::<read::Read>(context, &input)
        }
        other => panic!("no tool {other}"),
    }
}

fn with<T: Tool>(context: &CallContext, input: &Value) -> Result<ToolOutput, ToolFailure> {
    call_json::<T>(context, &input.to_string())
}

impl Outcome {
    fn check(&self, expect: &Value) -> Result<(), String> {
        for (key, value) in expect.as_object().unwrap() {
            if !self.holds(key, value) {
                return Err(format!("{key} is not {value}"));
            }
        }
        let may_fail = expect.get("error_kind").is_some();
        if may_fail || self.result.is_ok() { Ok(()) } else { Err("it failed".into()) }
    }

    fn holds(&self, key: &str, value: &Value) -> bool {
        let text = self.text();
        match key {
            "file_after_b64" => self.after == value.as_str().map(|b| BASE64_STANDARD.decode(b).unwrap()),
            "error_kind" => {
                let kinds = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
                self.before == self.after && kinds.iter().any(|kind| self.failed_as(kind.as_str().unwrap()))
            }
            "output_contains" => value.as_array().unwrap().iter().all(|part| text.contains(part.as_str().unwrap())),
            "output_max_bytes" => (text.len() as u64) <= value.as_u64().unwrap(),
            "says_truncated" => text.to_lowercase().contains("truncated") == value.as_bool().unwrap(),
            "suggests" => text.contains(value.as_str().unwrap()),
            other => panic!("unknown expectation {other}"),
        }
    }

    fn text(&self) -> &str {
        match &self.result {
            Ok(output) => &output.text,
            Err(failure) => failure.message(),
        }
    }

    fn failed_as(&self, kind: &str) -> bool {
        let Err(failure) = &self.result else { return false };
        match kind {
            "not-found" => matches!(failure, ToolFailure::NotFound(_)),
            "ambiguous" => matches!(failure, ToolFailure::Conflict(_)),
            "invalid" => matches!(failure, ToolFailure::InvalidInput(_)),
            "no-op" => matches!(failure, ToolFailure::InvalidInput(text) if text.contains("no-op")),
            "encoding" => matches!(failure, ToolFailure::Failed(text) if text.contains("encoding")),
            other => panic!("unknown kind {other}"),
        }
    }
}
