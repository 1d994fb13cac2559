//! File patterns as people and models write them.

use crate::Found;
use std::path::Path;

/// A pattern over files: `*`, `?`, `[a-z]` inside a name, `**` across folders, `{a,b}` either. Without a slash it is compared with the
/// name alone, so that `*.rs` finds at any depth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    by_name: bool,
}

impl Pattern {
    /// `root` is where the search starts: a pattern that begins with it is taken relative to it.
    #[must_use]
    pub fn new(written: &str, root: &Path) -> Self {
        let root = root.to_string_lossy();
        let inside = written.strip_prefix(root.as_ref()).and_then(|rest| rest.strip_prefix('/'));
        let text = inside.or_else(|| written.strip_prefix("./")).unwrap_or(written);
        // At the start the matcher would take it for a negation.
        let escaped = if text.starts_with('!') { format!("\\{text}") } else { text.to_owned() };
        Self { by_name: inside.is_none() && !text.contains('/'), text: escaped }
    }

    #[must_use]
    pub fn matches(&self, found: Found<'_>) -> bool {
        let against = if self.by_name { found.name } else { found.relative };
        fast_glob::glob_match(&self.text, against)
    }

    /// The pattern names a place outside the root: it cannot match.
    #[must_use]
    pub fn is_outside(&self) -> bool {
        self.text.starts_with('/') || self.text.starts_with("../")
    }
}
