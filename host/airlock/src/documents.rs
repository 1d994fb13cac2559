//! Markdown files that people keep in folders: skills, commands. Where they lie, and what they hold.

use crate::front_matter::{self, FrontMatter};
use serde_json::{Map, Value};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Of one file.
const MAX_FILE: u64 = 256 << 10;
/// Files of one kind.
const MAX_FILES: usize = 500;
/// Folders below the one that is searched.
const MAX_DEPTH: usize = 5;

/// A file of this kind, read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    pub head: Map<String, Value>,
    pub body: String,
}

impl Document {
    /// # Errors
    /// Why the head cannot be read.
    pub fn parse(text: &str) -> Result<Self, String> {
        let FrontMatter { fields, body } = front_matter::read(text)?;
        Ok(Self { head: fields, body: body.trim().to_owned() })
    }

    /// # Errors
    /// Why the file cannot be read.
    pub fn read(file: &Path) -> Result<Self, String> {
        let mut text = String::new();
        let opened = std::fs::File::open(file).map_err(|e| e.to_string())?;
        opened.take(MAX_FILE + 1).read_to_string(&mut text).map_err(|e| e.to_string())?;
        if text.len() as u64 > MAX_FILE {
            return Err("it is larger than 256 KiB".into());
        }
        Self::parse(&text)
    }

    /// A text of the head; nothing where it is empty.
    ///
    /// # Errors
    /// A value that is no text.
    pub fn text(&self, key: &str) -> Result<Option<String>, String> {
        match self.head.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.trim().to_owned()).filter(|t| !t.is_empty())),
            Some(_) => Err(format!("`{key}` is no text")),
        }
    }
}

/// Files below a folder that are called so, sorted; links are followed as far as they stay inside `within`, where that is given.
#[must_use]
pub fn files(folder: &Path, fits: &dyn Fn(&Path) -> bool, within: Option<&Path>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk(folder, fits, within, MAX_DEPTH, &mut found);
    found.sort();
    found
}

fn walk(folder: &Path, fits: &dyn Fn(&Path) -> bool, within: Option<&Path>, depth: usize, found: &mut Vec<PathBuf>) {
    let is_inside = |p: &Path| within.is_none_or(|w| p.canonicalize().is_ok_and(|real| real.starts_with(w)));
    if !is_inside(folder) {
        return;
    }
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if found.len() >= MAX_FILES {
            return;
        }
        if path.is_dir() && depth > 0 {
            walk(&path, fits, within, depth - 1, found);
        } else if path.is_file() && fits(&path) && is_inside(&path) {
            found.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_head_says_why() {
        assert!(Document::parse("---\na: [1\n---\nb").is_err());
        let odd = Document::parse("---\nname: [x]\n---\n").unwrap();
        assert!(odd.text("name").unwrap_err().contains("`name`"));
    }
}
