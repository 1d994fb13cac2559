//! The tool `write`: whole files.

use airlock::{CallContext, ScopeKind, Tool, ToolFailure, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::json;
use std::path::Path;
use textfile::{Change, Encoding, Text};

/// Writes a file.
#[derive(Debug)]
pub struct Write;

/// Arguments of [`Write`].
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Input {
    pub file_path: String,
    pub content: String,
}

impl Tool for Write {
    type Input = Input;

    fn spec() -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "filePath": { "type": "string", "description": "Path of the file; folders are made as needed" },
                "content": { "type": "string", "description": "The whole content" },
            },
            "required": ["filePath", "content"],
        });
        let description = "Writes a file: makes it, or replaces all of it. Read a file before you replace it. \
            To change a part of a file use edit. A byte order mark and UTF-16 are kept; all else is written as UTF-8.";
        ToolSpec::new("write", description, schema)
            .destructive()
            .idempotent()
            .scope("filePath", ScopeKind::FsRead)
            .scope("filePath", ScopeKind::FsWrite)
    }

    fn call(context: &CallContext, input: Input) -> Result<ToolOutput, ToolFailure> {
        let path = context.path(&input.file_path);
        let old = textfile::load(&path)?;
        let before = Before::of(old.as_deref());
        let new = before.encode(&input.content);
        if old.as_deref() == Some(&new) {
            let text = format!("{} has this content already: nothing changed.", path.display());
            return Ok(described(ToolOutput::text(text), &path, true).titled(input.file_path));
        }
        textfile::save(&path, &new, old.as_deref())?;
        let output = described(ToolOutput::text(before.report(&path)), &path, old.is_some());
        Ok(before.with_change(output, &input.content, &path).titled(input.file_path))
    }
}

fn described(output: ToolOutput, path: &Path, existed: bool) -> ToolOutput {
    output.with("filepath", path.display().to_string()).with("exists", existed)
}

/// What is replaced.
enum Before {
    Nothing,
    Text(Text),
    /// No text: nothing of its form can be kept.
    Other,
}

impl Before {
    fn of(old: Option<&[u8]>) -> Self {
        old.map_or(Self::Nothing, |bytes| Text::decode(bytes).map_or(Self::Other, Self::Text))
    }

    /// In the encoding of the old text, if it holds all characters; a mark that the model wrote itself is not doubled.
    fn encode(&self, content: &str) -> Vec<u8> {
        match self {
            Self::Text(text) if text.encoding != Encoding::Unknown => {
                let marked = text.encoding != Encoding::Utf8 { mark: false };
                let bare = if marked { content.trim_start_matches('\u{feff}') } else { content };
                text.encode(bare).unwrap_or_else(|_| bare.as_bytes().to_vec())
            }
            Self::Nothing | Self::Text(_) | Self::Other => content.as_bytes().to_vec(),
        }
    }

    fn report(&self, path: &Path) -> String {
        let path = path.display();
        match self {
            Self::Nothing => format!("Created {path}."),
            Self::Text(Text { encoding: Encoding::Unknown, .. }) => {
                format!("Replaced {path}. Its old content was not UTF-8; the new one is.")
            }
            Self::Text(_) => format!("Replaced {path}."),
            Self::Other => format!("Replaced {path}. Its old content was binary."),
        }
    }

    fn with_change(&self, output: ToolOutput, content: &str, path: &Path) -> ToolOutput {
        let old = match self {
            Self::Nothing => "".into(),
            Self::Text(text) => text.shown(&text.text),
            Self::Other => return output,
        };
        Change::between(&old, content, path).describe(output, path)
    }
}

airlock::tool_plugin! { Write; "fs": { "/": "rw" } }

#[cfg(test)]
mod tests;
