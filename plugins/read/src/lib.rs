//! The tool `read`: text files by lines, folders, images and PDFs.

mod folder;
mod picture;
mod sniff;
mod text;

use airlock::{Attachment, CallContext, ScopeKind, Tool, ToolFailure, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::json;
use sniff::Content;
use std::fs::File;
use std::io::{self, Cursor, Read as _, Seek};
use std::path::Path;
use text::Window;
use textfile::Kind;

/// Lines or entries in one result, unless fewer are asked for.
const MAX_LINES: u64 = 2000;
/// Bytes of a PDF, or of an image that cannot be made smaller.
const MAX_ATTACHED: u64 = 5 << 20;
/// Bytes of an image before it is made to fit.
const MAX_IMAGE: u64 = 20 << 20;

/// Reads a file or folder.
#[derive(Debug)]
pub struct Read;

/// Arguments of [`Read`].
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Input {
    pub file_path: String,
    #[serde(default, deserialize_with = "airlock::whole")]
    pub offset: Option<u64>,
    #[serde(default, deserialize_with = "airlock::whole")]
    pub limit: Option<u64>,
}

impl Tool for Read {
    type Input = Input;

    fn spec() -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "filePath": { "type": "string", "description": "Path of the file or folder" },
                "offset": { "type": "integer", "minimum": 0, "description": "First line to read, from 1" },
                "limit": { "type": "integer", "minimum": 1, "description": "Number of lines, 2000 at most" },
            },
            "required": ["filePath"],
        });
        let description = "Reads a file. Each line comes as `N: text`, N being its number; it is no part of the file. \
            At most 2000 lines or 50 KiB; the end of the result says how to read on. \
            Of a folder it lists the names. Images and PDFs are shown to you as they are.";
        ToolSpec::new("read", description, schema).read_only().scope("filePath", ScopeKind::FsRead)
    }

    fn call(context: &CallContext, input: Input) -> Result<ToolOutput, ToolFailure> {
        let path = context.path(&input.file_path);
        let limit = input.limit.unwrap_or(MAX_LINES).clamp(1, MAX_LINES);
        let window = Window { offset: input.offset.unwrap_or(1).max(1), limit };
        let failed = |e: io::Error| ToolFailure::io(&format!("read {}", path.display()), &e);
        let output = match textfile::kind(&path).map_err(failed)? {
            Kind::Nothing => Err(textfile::missing(&path)),
            Kind::Other => Err(ToolFailure::InvalidInput(format!("{} is not a regular file", path.display()))),
            Kind::Folder => folder::list(&path, window),
            Kind::File { len } => file(&path, len, window),
        };
        output.map(|output| output.titled(input.file_path))
    }
}

fn file(path: &Path, len: u64, window: Window) -> Result<ToolOutput, ToolFailure> {
    let failed = |e: io::Error| ToolFailure::io(&format!("read {}", path.display()), &e);
    let mut file = File::open(path).map_err(failed)?;
    // Each read is a call of the host: a small file comes whole with the first.
    let mut sample = Vec::with_capacity(usize::try_from(len.min(sniff::SAMPLE)).map_or(0, |n| n + 1));
    file.by_ref().take(sniff::SAMPLE).read_to_end(&mut sample).map_err(failed)?;
    match sniff::sniff(path, &sample) {
        Content::Attached(mime) => {
            file.rewind().map_err(failed)?;
            attached(path, file, len, mime)
        }
        Content::Binary => Err(ToolFailure::InvalidInput(format!(
            "{} is a binary file. Use a program to look into it.",
            path.display()
        ))),
        Content::Utf16 => text::read_utf16(path, window),
        Content::Text => text::read(path, Cursor::new(sample).chain(file), len, window),
    }
}

const PDF: &str = "application/pdf";

fn attached(path: &Path, file: File, len: u64, mime: &str) -> Result<ToolOutput, ToolFailure> {
    let max = if mime == PDF { MAX_ATTACHED } else { MAX_IMAGE };
    let too_large = |len: u64, max: u64| {
        ToolFailure::Failed(format!("{} is too large to be shown: {len} bytes, {max} at most.", path.display()))
    };
    if len > max {
        return Err(too_large(len, max));
    }
    let mut data = Vec::new();
    file.take(max).read_to_end(&mut data).map_err(|e| ToolFailure::io(&format!("read {}", path.display()), &e))?;
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned());
    let mut output = ToolOutput::text(if mime == PDF { "PDF read." } else { "Image read." }).with("truncated", false);
    let mut mime = mime.to_owned();
    if mime != PDF {
        match picture::fit(&mime, &data) {
            Ok(fitted) => (mime, data) = (fitted.mime, fitted.data),
            // What a small file holds that cannot be read here the model may know.
            Err(_) if len <= MAX_ATTACHED => {}
            Err(why) => return Err(ToolFailure::Failed(format!("{} cannot be shown: {why}.", path.display()))),
        }
    }
    output.attachments.push(Attachment { mime, name, data });
    Ok(output)
}

// A result may hold an image, which is decoded here; and counting the lines of a large file takes its time.
airlock::tool_plugin! { Read; "fs": { "/": "ro" }, "limits": { "output": 8388608, "cpu_ms": 30000, "memory": 268435456 } }

#[cfg(test)]
mod tests;
