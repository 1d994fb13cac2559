//! Standing instructions that people keep beside their work (agent-core, section 9.1): the person's own, then the workspace's from its
//! root down to the working directory. Read once a run; bounded, since each request carries them.

use crate::config::paths::{Paths, Place};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The first name with any hit wins, with all its hits.
const NAMES: &[&str] = &["AGENTS.md", "CLAUDE.md", "CONTEXT.md"];
/// Of one file.
const MAX_FILE: usize = 32 << 10;
/// Of all files together.
const MAX_ALL: usize = 96 << 10;

/// A block a file, each with the file's path before it.
#[must_use]
pub fn read(paths: &Paths, place: &Place) -> Vec<String> {
    let own = paths.config.join("AGENTS.md");
    let files = std::iter::once(own).chain(of_workspace(place));
    let mut left = MAX_ALL;
    files.filter_map(|f| block(&f, &mut left)).collect()
}

fn of_workspace(place: &Place) -> Vec<PathBuf> {
    // A repository that somebody else wrote must not lead to a file outside of it by a link.
    let is_inside = |f: &PathBuf| f.is_file() && f.canonicalize().is_ok_and(|real| real.starts_with(&place.worktree));
    let hits = |name: &&str| place.upwards().map(|d| d.join(name)).filter(is_inside).collect::<Vec<_>>();
    let mut found = NAMES.iter().map(hits).find(|f| !f.is_empty()).unwrap_or_default();
    found.reverse();
    found
}

fn block(file: &Path, left: &mut usize) -> Option<String> {
    let (text, cut) = head(file, MAX_FILE.min(*left))?;
    *left -= text.len();
    let note = if cut { "\n(cut here: the file is longer)" } else { "" };
    Some(format!("Instructions from {}:\n{}{note}", file.display(), text.trim()))
}

/// The beginning of a text file, and whether there is more. `None` where there is nothing to say.
fn head(file: &Path, max: usize) -> Option<(String, bool)> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(max).ok()? + 1;
    std::fs::File::open(file).ok()?.take(limit).read_to_end(&mut bytes).ok()?;
    let cut = bytes.len() > max;
    bytes.truncate(max);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (!text.trim().is_empty()).then_some((text, cut))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new(files: &[(&str, &str)]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            for (name, text) in files {
                let file = dir.path().join(name);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, text).unwrap();
            }
            Self(dir)
        }

        fn read(&self, from: &str) -> Vec<String> {
            let base = self.0.path();
            let paths = Paths { home: None, config: base.join("config"), data: base.into(), cache: base.into() };
            read(&paths, &Place::at(&base.join(from)).unwrap())
        }
    }

    #[test]
    fn from_the_person_and_from_the_root_down() {
        let tree = Tree::new(&[
            ("config/AGENTS.md", "own"),
            ("AGENTS.md", "above the repository"),
            ("repo/.git/HEAD", ""),
            ("repo/AGENTS.md", "root"),
            ("repo/CLAUDE.md", "not this name"),
            ("repo/a/AGENTS.md", "  "),
            ("repo/a/b/AGENTS.md", "near"),
        ]);
        let texts: Vec<String> =
            tree.read("repo/a/b").iter().map(|b| b.split_once(":\n").unwrap().1.to_owned()).collect();
        assert_eq!(texts, ["own", "root", "near"]);
    }

    #[test]
    fn the_second_name_counts_where_the_first_has_no_hit() {
        let tree = Tree::new(&[("repo/.git/HEAD", ""), ("repo/CLAUDE.md", "c"), ("repo/a/CONTEXT.md", "x")]);
        let blocks = tree.read("repo/a");
        assert_eq!(blocks.len(), 1);
        assert!(blocks[0].contains("CLAUDE.md") && blocks[0].ends_with(":\nc"));
    }

    #[test]
    fn what_is_too_long_is_cut() {
        let tree = Tree::new(&[("repo/AGENTS.md", &"x".repeat(MAX_FILE + 1))]);
        let blocks = tree.read("repo");
        assert!(blocks[0].len() < MAX_FILE + 400 && blocks[0].ends_with("the file is longer)"));
    }
}
