//! The tool `grep`: lines by regular expression.

mod search;

use airlock::{CallContext, ScopeKind, Tool, ToolFailure, ToolOutput, ToolSpec};
use regex::bytes::{Regex, RegexBuilder};
use search::{Hits, Looked};
use serde::Deserialize;
use serde_json::json;
use std::ops::ControlFlow;
use std::path::Path;
use walk::{Found, Pattern, Tally};

/// Bytes of a compiled expression: a model's typing error must not cost the component its memory.
const MAX_REGEX_BYTES: usize = 4 << 20;

/// Searches in files.
#[derive(Debug)]
pub struct Grep;

/// Arguments of [`Grep`].
#[derive(Debug, Deserialize)]
pub struct Input {
    pub pattern: String,
    pub path: Option<String>,
    pub include: Option<String>,
}

impl Tool for Grep {
    type Input = Input;

    fn spec() -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "pattern": { "type": "string", "description": "Regular expression, searched line by line" },
                "path": { "type": "string", "description": "Folder or file to search in; the workspace if absent" },
                "include": { "type": "string", "description": "Only files with such names: *.rs, *.{ts,tsx}, src/**/*.c" },
            },
            "required": ["pattern"],
        });
        let description = "Searches in the contents of files. Returns file, line number and line of at most 100 matches. \
            The pattern is a regular expression: put a backslash before . ( ) [ ] { } * + ? | ^ $ to mean the character itself; \
            (?i) at the start ignores case. \
            Hidden files are searched; binary files, what .gitignore excludes, .git and symbolic links are not.";
        ToolSpec::new("grep", description, schema)
            .read_only()
            .scope_or("path", ScopeKind::FsRead, ".")
            .scope("pattern", ScopeKind::Subject)
    }

    fn call(context: &CallContext, input: Input) -> Result<ToolOutput, ToolFailure> {
        let regex = compile(&input.pattern)?;
        let root = context.path(input.path.as_deref().unwrap_or("."));
        let doing = format!("search in {}", root.display());
        let meta = std::fs::metadata(&root).map_err(|e| ToolFailure::io(&doing, &e))?;
        let mut hits = Hits::new(regex);
        let tally = if meta.is_dir() {
            let include = input.include.as_deref().map(|written| Pattern::new(written, &root));
            folder(&context.workspace, &root, include.as_ref(), &mut hits).map_err(|e| ToolFailure::io(&doing, &e))?
        } else if meta.is_file() {
            file(&root, &mut hits)?;
            Tally::default()
        } else {
            return Err(ToolFailure::InvalidInput(format!("{} is not a regular file or folder", root.display())));
        };
        Ok(hits.output(&tally.notes()).titled(input.pattern))
    }
}

fn compile(pattern: &str) -> Result<Regex, ToolFailure> {
    // CRLF: `$` matches before a carriage return as well.
    let built = RegexBuilder::new(pattern)
        .size_limit(MAX_REGEX_BYTES)
        .dfa_size_limit(MAX_REGEX_BYTES)
        .crlf(true)
        .multi_line(true)
        .build();
    built.map_err(|e| ToolFailure::InvalidInput(format!("The pattern is no regular expression that can be used: {e}")))
}

fn folder(workspace: &Path, root: &Path, include: Option<&Pattern>, hits: &mut Hits) -> std::io::Result<Tally> {
    walk::files(workspace, root, &mut |found: Found<'_>| {
        if include.is_none_or(|pattern| pattern.matches(found)) {
            hits.look(found.path);
        }
        if hits.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
}

/// A file that was named is no file that was come upon: what prevents the search is an error.
fn file(path: &Path, hits: &mut Hits) -> Result<(), ToolFailure> {
    match hits.look(path) {
        Looked::Searched => Ok(()),
        Looked::Binary => Err(ToolFailure::InvalidInput(format!("{} is a binary file", path.display()))),
        Looked::Failed(error) => Err(ToolFailure::io(&format!("read {}", path.display()), &error)),
    }
}

airlock::tool_plugin! { Grep; "fs": { "/": "ro" } }

#[cfg(test)]
mod tests;
