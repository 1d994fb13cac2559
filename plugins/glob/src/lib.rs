//! The tool `glob`: files by name.

use airlock::{CallContext, ScopeKind, Tool, ToolFailure, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::json;
use std::cmp::Reverse;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use walk::{Found, Pattern};

/// Paths in one result.
const MAX_RESULTS: usize = 100;
/// Matches among which the newest are sought.
const MAX_MATCHES: usize = 10_000;

/// Finds files by name.
#[derive(Debug)]
pub struct Glob;

/// Arguments of [`Glob`].
#[derive(Debug, Deserialize)]
pub struct Input {
    pub pattern: String,
    pub path: Option<String>,
}

impl Tool for Glob {
    type Input = Input;

    fn spec() -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "pattern": { "type": "string", "description": "Such as *.rs (any folder), src/**/*.ts, or *.{md,txt}" },
                "path": { "type": "string", "description": "Folder to search in; the workspace if absent" },
            },
            "required": ["pattern"],
        });
        let description = "Finds files by a pattern on their names. Returns absolute paths, newest first, at most 100. \
            Hidden files are found; what .gitignore excludes, .git and symbolic links are not. To search in contents use grep.";
        ToolSpec::new("glob", description, schema)
            .read_only()
            .scope_or("path", ScopeKind::FsRead, ".")
            .scope("pattern", ScopeKind::Subject)
    }

    fn call(context: &CallContext, input: Input) -> Result<ToolOutput, ToolFailure> {
        let root = context.path(input.path.as_deref().unwrap_or("."));
        require_folder(&root)?;
        let pattern = Pattern::new(&input.pattern, &root);
        if pattern.is_outside() {
            let text = format!(
                "The pattern lies outside {}. Give that folder as path, and a pattern relative to it.",
                root.display()
            );
            return Err(ToolFailure::InvalidInput(text));
        }
        search(&context.workspace, &root, &pattern).map(|output| output.titled(input.pattern))
    }
}

fn require_folder(root: &Path) -> Result<(), ToolFailure> {
    let meta = std::fs::metadata(root).map_err(|e| ToolFailure::io(&format!("search in {}", root.display()), &e))?;
    if meta.is_dir() {
        return Ok(());
    }
    Err(ToolFailure::InvalidInput(format!("{} is a file, no folder. Use read.", root.display())))
}

fn search(workspace: &Path, root: &Path, pattern: &Pattern) -> Result<ToolOutput, ToolFailure> {
    let mut matches: Vec<PathBuf> = Vec::new();
    let mut visit = |found: Found<'_>| {
        if pattern.matches(found) {
            matches.push(found.path.components().collect());
        }
        if matches.len() < MAX_MATCHES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let tally = walk::files(workspace, root, &mut visit)
        .map_err(|e| ToolFailure::io(&format!("search in {}", root.display()), &e))?;
    let (total, truncated) = (matches.len(), matches.len() > MAX_RESULTS);
    let text = listing(newest(matches), total) + &tally.notes();
    Ok(ToolOutput::text(text).with("count", total.min(MAX_RESULTS)).with("truncated", truncated))
}

/// Sorted by time where there are few enough to ask for it.
fn newest(matches: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut dated: Vec<(Reverse<SystemTime>, PathBuf)> =
        matches.into_iter().map(|p| (Reverse(modified(&p)), p)).collect();
    dated.sort();
    dated.truncate(MAX_RESULTS);
    dated.into_iter().map(|(_, path)| path).collect()
}

fn modified(path: &Path) -> SystemTime {
    std::fs::metadata(path).and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}

fn listing(paths: Vec<PathBuf>, total: usize) -> String {
    if paths.is_empty() {
        return "No files found".into();
    }
    let mut text = paths.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join("\n");
    if total > paths.len() {
        let least = if total >= MAX_MATCHES { "at least " } else { "" };
        text += &format!(
            "\n\n(Results are truncated: the first {} of {least}{total}. Use a narrower pattern or path.)",
            paths.len()
        );
    }
    text
}

airlock::tool_plugin! { Glob; "fs": { "/": "ro" } }

#[cfg(test)]
mod tests;
