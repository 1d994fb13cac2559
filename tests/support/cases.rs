//! Field reports as data: the folder `shared/cases` beside the project, where it is there.

use serde_json::Value;
use std::path::PathBuf;

/// The folder with cases and fixtures: `AIRLOCK_SHARED`, else `shared` beside the project's folder.
#[must_use]
pub fn shared() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared");
    let path = std::env::var_os("AIRLOCK_SHARED").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    path.join("cases").is_dir().then_some(path)
}

/// The cases of an area; none (and a line that says so) where the folder is missing.
#[must_use]
pub fn area(name: &str) -> Vec<Value> {
    let Some(folder) = shared() else {
        eprintln!("skipped: no folder with cases (set AIRLOCK_SHARED)");
        return Vec::new();
    };
    let path = folder.join("cases").join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let all: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    all["cases"].as_array().cloned().unwrap_or_default()
}

/// Every failure of a runner together: one report for the whole area.
#[derive(Default)]
pub struct Report {
    passed: usize,
    failed: Vec<String>,
    left_out: Vec<String>,
}

impl Report {
    pub fn add(&mut self, id: &str, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.passed += 1,
            Err(why) => self.failed.push(format!("{id}: {why}")),
        }
    }

    /// A case that cannot be played here, and why.
    pub fn leave_out(&mut self, id: &str, why: &str) {
        self.left_out.push(format!("{id}: {why}"));
    }

    /// # Panics
    /// If any case failed.
    pub fn end(self, area: &str) {
        eprintln!("{area}: {} passed, {} failed", self.passed, self.failed.len());
        self.left_out.iter().for_each(|why| eprintln!("{area}: left out: {why}"));
        assert!(self.failed.is_empty(), "{area}:\n{}", self.failed.join("\n"));
    }
}
