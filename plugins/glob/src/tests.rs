use super::*;
use std::fs;

struct Tree(CallContext);

impl Tree {
    fn new(test: &str, files: &[&str]) -> Self {
        let root = std::env::temp_dir().join(format!("airlock-glob-{}-{test}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        for name in files {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), "").unwrap();
        }
        Self(CallContext { workspace: root, ..CallContext::default() })
    }

    fn glob(&self, pattern: &str, path: Option<&str>) -> Result<ToolOutput, ToolFailure> {
        Glob::call(&self.0, Input { pattern: pattern.into(), path: path.map(Into::into) })
    }

    fn path(&self, name: &str) -> String {
        self.0.workspace.join(name).display().to_string()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0.workspace);
    }
}

#[test]
fn newest_first_and_absolute() {
    let tree = Tree::new("newest", &["a.rs", "s/b.rs", "s/c.txt"]);
    let old = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
    fs::File::options().write(true).open(tree.path("a.rs")).unwrap().set_modified(old).unwrap();
    assert_eq!(tree.glob("*.rs", None).unwrap().text, format!("{}\n{}", tree.path("s/b.rs"), tree.path("a.rs")));
    assert_eq!(tree.glob("*.txt", Some("s")).unwrap().text, tree.path("s/c.txt"));
    assert_eq!(tree.glob("*.zip", None).unwrap().text, "No files found");
}

#[test]
fn a_hundred_results_and_a_note() {
    let names: Vec<String> = (0..130).map(|n| format!("f{n}")).collect();
    let tree = Tree::new("many", &names.iter().map(String::as_str).collect::<Vec<_>>());
    let output = tree.glob("f*", None).unwrap();
    assert_eq!(output.text.lines().filter(|l| l.starts_with('/')).count(), 100);
    assert!(output.text.contains("truncated") && output.text.contains("130"));
    assert_eq!(output.metadata["truncated"], true);
}

#[test]
fn places_that_cannot_be_searched() {
    let tree = Tree::new("places", &["f"]);
    assert!(matches!(tree.glob("*", Some("f")), Err(ToolFailure::InvalidInput(_))));
    assert!(matches!(tree.glob("*", Some("none")), Err(ToolFailure::NotFound(_))));
    assert!(matches!(tree.glob("/etc/*", None), Err(ToolFailure::InvalidInput(_))));
}
