//! What the files will be, worked out before the first of them is touched; and the writing, which takes back what it did where it
//! cannot go on.

use crate::hunk;
use crate::parse::Section;
use airlock::{CallContext, ToolFailure, ToolOutput};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use textfile::{Change, Text};

/// All files of a patch, in the order in which it names them.
#[derive(Default)]
pub struct Staged {
    files: Vec<File>,
}

struct File {
    path: PathBuf,
    /// As the patch writes it.
    shown: String,
    /// As it lies on the disk.
    old: Option<Vec<u8>>,
    /// As it will be.
    new: Option<Vec<u8>>,
}

impl Staged {
    /// Works out what a section makes of its file.
    ///
    /// # Errors
    /// A file that is not there or is there already, a hunk that fits nowhere. Nothing was written.
    pub fn take(&mut self, context: &CallContext, section: &Section) -> Result<(), ToolFailure> {
        match section {
            Section::Add { path, content } => {
                let file = self.file(context, path)?;
                if file.new.is_some() {
                    let text = format!("{path} exists already: use `*** Update File: {path}`.");
                    return Err(unchanged(ToolFailure::Conflict(text)));
                }
                file.new = Some(content.clone().into_bytes());
            }
            Section::Delete { path } => {
                self.present(context, path)?.new = None;
            }
            Section::Update { path, to, hunks } => {
                let file = self.present(context, path)?;
                let new = updated(file, hunks)?;
                match to.as_ref().filter(|to| context.path(to) != file.path) {
                    None => file.new = Some(new),
                    Some(to) => {
                        file.new = None;
                        let target = self.file(context, to)?;
                        if target.new.is_some() {
                            let text = format!("{path} cannot be moved to {to}: there is a file already.");
                            return Err(unchanged(ToolFailure::Conflict(text)));
                        }
                        target.new = Some(new);
                    }
                }
            }
        }
        Ok(())
    }

    fn present(&mut self, context: &CallContext, path: &str) -> Result<&mut File, ToolFailure> {
        let file = self.file(context, path)?;
        if file.new.is_none() { Err(unchanged(textfile::missing(&file.path))) } else { Ok(file) }
    }

    fn file(&mut self, context: &CallContext, written: &str) -> Result<&mut File, ToolFailure> {
        let path = context.path(written);
        let at = match self.files.iter().position(|f| f.path == path) {
            Some(at) => at,
            None => {
                let old = textfile::load(&path).map_err(unchanged)?;
                self.files.push(File { path, shown: written.to_owned(), new: old.clone(), old });
                self.files.len() - 1
            }
        };
        Ok(&mut self.files[at])
    }

    /// Writes all files.
    ///
    /// # Errors
    /// Where one cannot be written. What was written before it is taken back.
    pub fn commit(&self) -> Result<(), ToolFailure> {
        for (done, file) in self.files.iter().enumerate() {
            let Err(failure) = put(&file.path, file.new.as_deref(), file.old.as_deref()) else { continue };
            let back = self.files[..done].iter().rev();
            let stuck: Vec<&str> = back
                .filter(|f| put(&f.path, f.old.as_deref(), f.new.as_deref()).is_err())
                .map(|f| f.shown.as_str())
                .collect();
            return Err(if stuck.is_empty() {
                unchanged(failure)
            } else {
                let text = format!(
                    "{} These files were changed and could not be put back: {}.",
                    failure.message(),
                    stuck.join(", ")
                );
                ToolFailure::Failed(text)
            });
        }
        Ok(())
    }

    /// What was done, a line a file.
    #[must_use]
    pub fn report(&self) -> ToolOutput {
        let mut text = String::from("Done. These files were changed:\n");
        let (mut diffs, mut all) = (Vec::new(), String::new());
        for file in self.files.iter().filter(|f| f.old != f.new) {
            let _ = writeln!(text, "{} {}", file.letter(), file.shown);
            let change = file.change();
            all.push_str(&change.diff);
            diffs.push(json!({
                "file": file.path.display().to_string(), "additions": change.additions, "deletions": change.deletions,
            }));
        }
        if diffs.is_empty() {
            text = "The files were like this already: nothing changed.".into();
        }
        let title = if diffs.len() == 1 { "1 file".to_owned() } else { format!("{} files", diffs.len()) };
        ToolOutput::text(text.trim_end()).titled(title).with("diff", all).with("files", Value::Array(diffs))
    }
}

impl File {
    fn letter(&self) -> char {
        match (&self.old, &self.new) {
            (None, _) => 'A',
            (Some(_), None) => 'D',
            (Some(_), Some(_)) => 'M',
        }
    }

    fn change(&self) -> Change {
        let shown = |bytes: &Option<Vec<u8>>| {
            let text = bytes.as_deref().and_then(|b| Text::decode(b).ok());
            text.map(|t| t.shown(&t.text).into_owned()).unwrap_or_default()
        };
        Change::between(&shown(&self.old), &shown(&self.new), &self.path)
    }
}

fn updated(file: &File, hunks: &[crate::parse::Hunk]) -> Result<Vec<u8>, ToolFailure> {
    let bytes = file.new.as_deref().unwrap_or_default();
    if hunks.is_empty() {
        return Ok(bytes.to_vec());
    }
    let cannot =
        |why: String| ToolFailure::Failed(format!("Cannot change {}: {why}. No file was changed.", file.shown));
    let text = Text::decode(bytes).map_err(|why| cannot(why.to_string()))?;
    let new = hunk::apply(&text.text, hunks).map_err(|why| {
        let text = format!("In {}: {why}\nNo file was changed. Read the file and write the patch again.", file.shown);
        ToolFailure::NotFound(text)
    })?;
    for line in hunks.iter().flat_map(|h| &h.lines) {
        if let crate::parse::Line::Comes(line) = line {
            text.admits(line).map_err(|why| cannot(why.to_string()))?;
        }
    }
    text.encode(&new).map_err(|why| cannot(why.to_string()))
}

fn put(path: &Path, new: Option<&[u8]>, old: Option<&[u8]>) -> Result<(), ToolFailure> {
    match (new, old) {
        (new, old) if new == old => Ok(()),
        (Some(new), old) => textfile::save(path, new, old),
        (None, _) => std::fs::remove_file(path).map_err(|e| ToolFailure::io(&format!("remove {}", path.display()), &e)),
    }
}

fn unchanged(failure: ToolFailure) -> ToolFailure {
    let add = |text: String| format!("{text} No file was changed.");
    match failure {
        ToolFailure::InvalidInput(t) => ToolFailure::InvalidInput(add(t)),
        ToolFailure::NotFound(t) => ToolFailure::NotFound(add(t)),
        ToolFailure::Denied(t) => ToolFailure::Denied(add(t)),
        ToolFailure::Conflict(t) => ToolFailure::Conflict(add(t)),
        ToolFailure::TimedOut(t) => ToolFailure::TimedOut(add(t)),
        ToolFailure::Failed(t) => ToolFailure::Failed(add(t)),
    }
}
