//! The tool `apply_patch`: changes several files by one patch, all of it or nothing.

mod hunk;
mod parse;
mod seek;
mod stage;

use airlock::{CallContext, ScopeKind, Tool, ToolFailure, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::json;
use stage::Staged;

/// Changes files by a patch.
#[derive(Debug)]
pub struct ApplyPatch;

/// Arguments of [`ApplyPatch`].
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Input {
    pub patch_text: String,
}

const DESCRIPTION: &str = "Changes files by a patch. Everything is checked before anything is written: all of it is done, or nothing. \
The patch stands between the lines `*** Begin Patch` and `*** End Patch`, and has one section a file: \
`*** Add File: PATH` followed by the content, each line with a `+` before it; `*** Delete File: PATH`; or `*** Update File: PATH`, \
perhaps followed by `*** Move to: PATH`, with one or more hunks. A hunk begins with `@@`, which may name a line above the place \
(`@@ fn main() {`), and has lines that stay (a space before them), go (`-`) and come (`+`); give about three lines around a change. \
`*** End of File` behind a hunk says that it reaches the end. Paths are relative to the workspace.";

impl Tool for ApplyPatch {
    type Input = Input;

    fn spec() -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": { "patchText": { "type": "string", "description": "The whole patch" } },
            "required": ["patchText"],
        });
        ToolSpec::new("apply_patch", DESCRIPTION, schema).destructive().scope("patchText", ScopeKind::FsPatch)
    }

    fn call(context: &CallContext, input: Input) -> Result<ToolOutput, ToolFailure> {
        let sections = parse::sections(&input.patch_text).map_err(ToolFailure::InvalidInput)?;
        let mut staged = Staged::default();
        for section in &sections {
            staged.take(context, section)?;
        }
        staged.commit()?;
        Ok(staged.report())
    }
}

airlock::tool_plugin! { ApplyPatch; "fs": { "/": "rw" } }

#[cfg(test)]
mod tests;
