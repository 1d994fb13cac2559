//! `.gitignore`, as gitignore(5) has it.

use std::fs::DirEntry;
use std::path::{Path, PathBuf};

const FILES: [&str; 2] = [".gitignore", ".ignore"];
/// A larger file is no list of patterns.
const MAX_BYTES: u64 = 256 * 1024;

/// The patterns of one folder, in the order of the file: the last that matches decides.
#[derive(Debug)]
pub(crate) struct Rules {
    folder: PathBuf,
    rules: Vec<Rule>,
}

#[derive(Debug, PartialEq, Eq)]
struct Rule {
    glob: String,
    keep: bool,
    only_folders: bool,
    by_name: bool,
}

impl Rules {
    /// Opens only what the listing has: each open is an act that the host judges.
    pub(crate) fn of_folder(folder: &Path, entries: &[DirEntry]) -> Option<Self> {
        entries.iter().any(|e| FILES.iter().any(|f| e.file_name() == *f)).then(|| Self::read(folder)).flatten()
    }

    pub(crate) fn read(folder: &Path) -> Option<Self> {
        let rules: Vec<Rule> = FILES.iter().flat_map(|name| lines(&folder.join(name))).collect();
        (!rules.is_empty()).then(|| Self { folder: folder.to_path_buf(), rules })
    }

    /// `Some(true)` = ignored, `Some(false)` = kept in spite of an outer rule.
    pub(crate) fn says(&self, path: &Path, is_dir: bool) -> Option<bool> {
        let relative = path.strip_prefix(&self.folder).ok()?.to_str()?;
        let name = relative.rsplit('/').next()?;
        self.rules.iter().rev().find(|r| r.matches(relative, name, is_dir)).map(|r| !r.keep)
    }
}

impl Rule {
    fn parse(line: &str) -> Option<Self> {
        let line = trim_end(line);
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        let (keep, line) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
        let (only_folders, line) = line.strip_suffix('/').map_or((false, line), |rest| (true, rest));
        let by_name = !line.contains('/');
        let glob = line.strip_prefix('/').unwrap_or(line);
        (!glob.is_empty()).then(|| Self { glob: literal_braces(glob), keep, only_folders, by_name })
    }

    fn matches(&self, relative: &str, name: &str, is_dir: bool) -> bool {
        (is_dir || !self.only_folders) && fast_glob::glob_match(&self.glob, if self.by_name { name } else { relative })
    }
}

fn lines(file: &Path) -> Vec<Rule> {
    let small = std::fs::metadata(file).is_ok_and(|m| m.is_file() && m.len() <= MAX_BYTES);
    let text = if small { std::fs::read(file).unwrap_or_default() } else { Vec::new() };
    String::from_utf8_lossy(&text).lines().filter_map(Rule::parse).collect()
}

/// Spaces at the end do not count, unless escaped.
fn trim_end(line: &str) -> &str {
    let trimmed = line.trim_end_matches(' ');
    if trimmed.ends_with('\\') && trimmed.len() < line.len() { &line[..=trimmed.len()] } else { trimmed }
}

/// Git knows no alternatives; the matcher does.
fn literal_braces(glob: &str) -> String {
    glob.replace('{', "\\{").replace('}', "\\}")
}
