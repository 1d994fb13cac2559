//! The tool `read`.

use airlock::{CallContext, ScopeKind, Tool, ToolFailure, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::json;

/// Reads a file.
pub struct Read;

/// Arguments of [`Read`].
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Input {
    file_path: String,
}

impl Tool for Read {
    type Input = Input;

    fn spec() -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": { "filePath": { "type": "string", "description": "Path of the file or folder" } },
            "required": ["filePath"],
        });
        ToolSpec::new("read", "Reads a file.", schema).read_only().scope("filePath", ScopeKind::FsRead)
    }

    fn call(context: &CallContext, input: Input) -> Result<ToolOutput, ToolFailure> {
        let path = context.path(&input.file_path);
        let text =
            std::fs::read_to_string(&path).map_err(|e| ToolFailure::io(&format!("read {}", path.display()), &e))?;
        Ok(ToolOutput::text(text).titled(input.file_path))
    }
}

airlock::tool_plugin! { Read; "fs": { "/": "ro" } }
