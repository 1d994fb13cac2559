use super::*;
use std::fs;

struct Tree(CallContext);

impl Tree {
    fn new(test: &str, files: &[(&str, &[u8])]) -> Self {
        let root = std::env::temp_dir().join(format!("airlock-grep-{}-{test}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        for (name, bytes) in files {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), bytes).unwrap();
        }
        Self(CallContext { workspace: root, ..CallContext::default() })
    }

    fn grep(&self, pattern: &str, path: Option<&str>, include: Option<&str>) -> Result<ToolOutput, ToolFailure> {
        let (path, include) = (path.map(Into::into), include.map(Into::into));
        Grep::call(&self.0, Input { pattern: pattern.into(), path, include })
    }

    #[track_caller]
    fn check(&self, pattern: &str, path: Option<&str>, include: Option<&str>, expected: &str) {
        let expected = expected.replace("/w/", &format!("{}/", self.0.workspace.display()));
        assert_eq!(self.grep(pattern, path, include).unwrap().text, expected);
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0.workspace);
    }
}

#[test]
fn grouped_by_file_with_line_numbers() {
    let tree = Tree::new("group", &[("a.rs", b"one\r\ntwo\r\none"), ("s/b.txt", b"x\ny one"), ("c.bin", b"one\0")]);
    tree.check(
        "one$",
        None,
        None,
        "Found 3 matches\n/w/a.rs:\n  Line 1: one\n  Line 3: one\n\n/w/s/b.txt:\n  Line 2: y one\n",
    );
    tree.check("ONE", None, None, "No matches found");
    tree.check("(?i)ONE", Some("s"), None, "Found 1 match\n/w/s/b.txt:\n  Line 2: y one\n");
    tree.check("^one$", Some("a.rs"), None, "Found 2 matches\n/w/a.rs:\n  Line 1: one\n  Line 3: one\n");
    tree.check("one", None, Some("*.txt"), "Found 1 match\n/w/s/b.txt:\n  Line 2: y one\n");
    tree.check("one", None, Some("s/**"), "Found 1 match\n/w/s/b.txt:\n  Line 2: y one\n");
}

#[test]
fn a_hundred_matches_and_a_note() {
    let tree = Tree::new("many", &[("a", "hit\n".repeat(100).as_bytes())]);
    assert_eq!(tree.grep("hit", None, None).unwrap().metadata["truncated"], false);
    fs::write(tree.0.workspace.join("b"), "hit").unwrap();
    let output = tree.grep("hit", None, None).unwrap();
    assert_eq!(output.text.matches("Line ").count(), 100);
    assert!(output.text.contains("truncated"));
    assert_eq!(output.metadata["truncated"], true);
}

#[test]
fn long_lines_are_cut_around_the_match() {
    let line = format!("{}needle{}\nafter\n", "a".repeat(5_000_000), "b".repeat(5_000));
    let tree = Tree::new("long", &[("a", &line.as_bytes()[4_999_000..]), ("b", line.as_bytes())]);
    let output = tree.grep("needle|after", None, None).unwrap();
    assert!(output.text.contains("needle") && output.text.contains("line truncated"));
    assert!(output.text.contains("Line 2: after") && output.text.len() < 2000);
}

#[cfg(unix)]
#[test]
fn what_cannot_be_read_is_counted() {
    use std::os::unix::fs::PermissionsExt;
    let tree = Tree::new("refused", &[("a", b"hit"), ("b", b"hit"), ("d/c", b"hit")]);
    for name in ["a", "d"] {
        fs::set_permissions(tree.0.workspace.join(name), fs::Permissions::from_mode(0o000)).unwrap();
    }
    let text = tree.grep("hit", None, None).unwrap().text;
    let is_root = text.contains("d/c");
    assert!(is_root || text.contains("1 files could not be read") && text.contains("1 folders"), "{text}");
    fs::set_permissions(tree.0.workspace.join("d"), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn refusals_say_why() {
    let tree = Tree::new("bad", &[("bin", b"\0")]);
    let Err(ToolFailure::InvalidInput(text)) = tree.grep("a(", None, None) else { panic!() };
    assert!(text.contains("unclosed group"), "{text}");
    assert!(matches!(tree.grep("a{1000}{1000}", None, None), Err(ToolFailure::InvalidInput(_))));
    assert!(matches!(tree.grep("a", Some("bin"), None), Err(ToolFailure::InvalidInput(_))));
    assert!(matches!(tree.grep("a", Some("none"), None), Err(ToolFailure::NotFound(_))));
}
