//! The names in a folder.

use crate::text::Window;
use airlock::{ToolFailure, ToolOutput};
use std::fs::DirEntry;
use std::path::Path;

/// Names that are sorted and counted.
const MAX_ENTRIES: usize = 100_000;

pub(crate) fn list(path: &Path, window: Window) -> Result<ToolOutput, ToolFailure> {
    let entries = std::fs::read_dir(path).map_err(|e| ToolFailure::io(&format!("list {}", path.display()), &e))?;
    let mut entries: Vec<DirEntry> = entries.filter_map(Result::ok).take(MAX_ENTRIES).collect();
    entries.sort_by_key(DirEntry::file_name);
    let total = entries.len() as u64;
    if window.offset > total.max(1) {
        return Err(window.past_the_end("entries", total));
    }
    let names: Vec<String> = entries.iter().skip(window.skipped()).take(window.taken()).map(name).collect();
    let last = window.offset - 1 + names.len() as u64;
    let truncated = last < total;
    let foot = if truncated {
        format!("(Truncated: entries {} to {last} of {total}. Use offset {} to read on.)", window.offset, last + 1)
    } else {
        format!("({total} entries)")
    };
    let names = names.join("\n");
    let text =
        format!("<path>{}</path>\n<type>directory</type>\n<entries>\n{names}\n</entries>\n{foot}", path.display());
    Ok(ToolOutput::text(text).with("truncated", truncated))
}

/// A folder, also one that a link leads to, ends in a slash.
fn name(entry: &DirEntry) -> String {
    let name = entry.file_name().to_string_lossy().into_owned();
    let is_folder = match entry.file_type() {
        Ok(kind) if kind.is_symlink() => std::fs::metadata(entry.path()).is_ok_and(|m| m.is_dir()),
        Ok(kind) => kind.is_dir(),
        Err(_) => false,
    };
    if is_folder { name + "/" } else { name }
}
