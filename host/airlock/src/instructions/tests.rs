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

    fn base(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }

    fn read_with(&self, from: &str, patterns: &[(&str, bool)]) -> Vec<String> {
        let base = self.base();
        let paths = Paths {
            home: Some(base.join("home")),
            config: base.join("config"),
            data: base.clone(),
            cache: base.clone(),
            ..Paths::for_tests()
        };
        let pattern = |(text, inside_only): &(&str, bool)| Pattern { text: (*text).into(), inside_only: *inside_only };
        let patterns: Vec<Pattern> = patterns.iter().map(pattern).collect();
        let all = read(&paths, &Place::at(&base.join(from)).unwrap(), &patterns);
        all.into_iter().map(|i| i.text).collect()
    }

    fn read(&self, from: &str) -> Vec<String> {
        self.read_with(from, &[])
    }
}

fn bodies(blocks: &[String]) -> Vec<&str> {
    blocks.iter().filter_map(|b| b.split_once(":\n")).map(|(_, body)| body).collect()
}

#[test]
fn from_the_person_and_from_the_root_down() {
    let tree = Tree::new(&[
        ("config/AGENTS.md", "own"),
        ("home/.claude/CLAUDE.md", "only where the other is not"),
        ("AGENTS.md", "above the repository"),
        ("repo/.git/HEAD", ""),
        ("repo/AGENTS.md", "root"),
        ("repo/CLAUDE.md", "not this name"),
        ("repo/a/AGENTS.md", "  "),
        ("repo/a/b/AGENTS.md", "near"),
    ]);
    assert_eq!(bodies(&tree.read("repo/a/b")), ["own", "root", "near"]);
}

#[test]
fn the_second_name_counts_where_the_first_has_no_hit() {
    let tree = Tree::new(&[
        ("home/.claude/CLAUDE.md", "own"),
        ("repo/.git/HEAD", ""),
        ("repo/CLAUDE.md", "c"),
        ("repo/a/CONTEXT.md", "x"),
    ]);
    assert_eq!(bodies(&tree.read("repo/a")), ["own", "c"]);
}

#[test]
fn what_is_too_long_is_cut() {
    let tree = Tree::new(&[("repo/AGENTS.md", &"x".repeat(MAX_FILE + 1))]);
    let blocks = tree.read("repo");
    assert!(blocks[0].len() < MAX_FILE + 400 && blocks[0].ends_with("the file is longer)"));
}

#[test]
fn the_config_names_further_files() {
    let tree = Tree::new(&[
        ("repo/.git/HEAD", ""),
        ("repo/AGENTS.md", "root"),
        ("repo/docs/a.md", "a"),
        ("repo/docs/b.md", "b"),
        ("repo/docs/deep/c.md", "not one folder down"),
        ("repo/sub/docs/d.md", "d"),
        ("home/mine.md", "mine"),
    ]);
    let check = |patterns: &[(&str, bool)], expected: &[&str]| {
        assert_eq!(bodies(&tree.read_with("repo/sub", patterns)), expected, "{patterns:?}");
    };
    check(&[("docs/*.md", false), ("AGENTS.md", false)], &["root", "a", "b", "d"]);
    check(&[("~/mine.md", false)], &["root", "mine"]);
    check(&[("~/mine.md", true), ("../../home/mine.md", true)], &["root"]);
    check(&[("[", false), ("none/*", false)], &["root"]);
}

#[test]
fn near_a_file_the_root_excluded() {
    let tree = Tree::new(&[
        ("repo/AGENTS.md", "root"),
        ("repo/a/CLAUDE.md", "a"),
        ("repo/a/AGENTS.md", "first name"),
        ("repo/a/b/CONTEXT.md", "b"),
        ("repo/a/b/c/file", ""),
        ("AGENTS.md", "outside"),
    ]);
    let near = Near { worktree: tree.base().join("repo") };
    let of = |file: &str| near.of(&tree.base().join(file)).into_iter().map(|i| i.text).collect::<Vec<_>>();
    assert_eq!(bodies(&of("repo/a/b/c/file")), ["first name", "b"]);
    assert_eq!(of("repo/file"), Vec::<String>::new());
    assert_eq!(of("elsewhere/a/file"), Vec::<String>::new());
}
