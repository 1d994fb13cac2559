//! The tool `edit`: replaces a text in a file.

mod apply;
mod likeness;
mod lines;
mod strategies;

use airlock::{CallContext, ScopeKind, Tool, ToolFailure, ToolOutput, ToolSpec};
use apply::{Applied, Refusal, Request};
use serde::Deserialize;
use serde_json::json;
use std::path::Path;
use textfile::{Change, Text};

/// Replaces a text in a file.
#[derive(Debug)]
pub struct Edit;

/// Arguments of [`Edit`].
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Input {
    pub file_path: String,
    pub old_string: String,
    pub new_string: String,
    #[serde(default)]
    pub replace_all: bool,
}

impl Tool for Edit {
    type Input = Input;

    fn spec() -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "filePath": { "type": "string", "description": "Path of the file" },
                "oldString": { "type": "string", "description": "The text to be replaced, as it stands in the file, without line numbers. Empty: make a new file" },
                "newString": { "type": "string", "description": "The text to put in its place" },
                "replaceAll": { "type": "boolean", "description": "Replace every occurrence; without it there must be exactly one" },
            },
            "required": ["filePath", "oldString", "newString"],
        });
        let description = "Replaces a text in a file. Read the file first. oldString is looked for exactly; if it is not there, \
            also with other white space, and as a block of which the first and last lines fit and most of the rest is alike. \
            The edit is refused if oldString fits nowhere or in several places: give more of the lines around it, or replaceAll. \
            The rest of the file stays as it is, byte by byte.";
        ToolSpec::new("edit", description, schema)
            .destructive()
            .scope("filePath", ScopeKind::FsRead)
            .scope("filePath", ScopeKind::FsWrite)
    }

    fn call(context: &CallContext, input: Input) -> Result<ToolOutput, ToolFailure> {
        let path = context.path(&input.file_path);
        let output = if input.old_string.is_empty() { create(&path, &input.new_string) } else { change(&path, &input) };
        output.map(|output| output.titled(input.file_path))
    }
}

fn create(path: &Path, content: &str) -> Result<ToolOutput, ToolFailure> {
    if textfile::load(path)?.is_some() {
        let text = format!(
            "{} exists already. Give the text to be replaced as oldString, or use write for the whole file.",
            path.display()
        );
        return Err(ToolFailure::Conflict(text));
    }
    if content.is_empty() {
        return Err(ToolFailure::InvalidInput(
            "oldString and newString are both empty: there is nothing to do (no-op).".into(),
        ));
    }
    textfile::save(path, content.as_bytes(), None)?;
    let output = ToolOutput::text(format!("Created {}.", path.display()));
    Ok(Change::between("", content, path).describe(output, path))
}

fn change(path: &Path, input: &Input) -> Result<ToolOutput, ToolFailure> {
    let old = textfile::load(path)?.ok_or_else(|| textfile::missing(path))?;
    let cannot = |why: textfile::NotText| {
        ToolFailure::Failed(format!("Cannot edit {}: {why}. The file is unchanged.", path.display()))
    };
    let text = Text::decode(&old).map_err(cannot)?;
    text.admits(&input.new_string).map_err(cannot)?;
    let request = Request { old: &input.old_string, new: &input.new_string, all: input.replace_all };
    let applied = apply::apply(&text.text, request).map_err(|refusal| refused(refusal, path))?;
    textfile::save(path, &text.encode(&applied.text).map_err(cannot)?, Some(&old))?;
    let change = Change::between(&text.shown(&text.text), &text.shown(&applied.text), path);
    Ok(change.describe(report(path, &applied), path))
}

fn report(path: &Path, applied: &Applied) -> ToolOutput {
    let places = if applied.places == 1 { "1 place".to_owned() } else { format!("{} places", applied.places) };
    let how = applied.strategy.note();
    ToolOutput::text(format!("Edited {} in {places}{how}.", path.display()))
        .with("replacements", applied.places)
        .with("matched", applied.strategy.name())
}

fn refused(refusal: Refusal, path: &Path) -> ToolFailure {
    let text = format!("{refusal} {} is unchanged.", path.display());
    match refusal {
        Refusal::NoOp => ToolFailure::InvalidInput(text),
        Refusal::NotFound { .. } => ToolFailure::NotFound(text),
        Refusal::Ambiguous { .. } => ToolFailure::Conflict(text),
    }
}

airlock::tool_plugin! { Edit; "fs": { "/": "rw" } }

#[cfg(test)]
mod tests;
