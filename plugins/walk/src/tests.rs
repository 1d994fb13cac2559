use super::*;
use std::path::PathBuf;

/// A tree of files below a fresh folder; `text` of a name that ends in `/` does not count.
fn tree(test: &str, files: &[(&str, &str)]) -> PathBuf {
    let root = std::env::temp_dir().join(format!("airlock-walk-{}-{test}", std::process::id()));
    let _ = std::fs::remove_dir_all(&root);
    for (name, text) in files {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    root
}

fn seen(workspace: &Path, root: &Path) -> Vec<String> {
    let mut seen = vec![];
    let tally = files(workspace, root, &mut |f| {
        seen.push(f.relative.to_owned());
        ControlFlow::Continue(())
    });
    assert_eq!(tally.unwrap(), Tally::default());
    seen
}

/// Whether a file is seen in a folder with this `.gitignore`, as git would have it (`git check-ignore`).
#[track_caller]
fn check(rules: &str, file: &str, is_seen: bool) {
    let test = format!("{}-{}", rules.replace(['/', '\n'], "_"), file.replace('/', "_"));
    let root = tree(&test, &[(".gitignore", rules), (file, "")]);
    assert_eq!(seen(&root, &root).contains(&file.to_owned()), is_seen, "{rules:?} {file}");
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn gitignore_is_read_as_git_reads_it() {
    check("*.log", "a/b.log", false);
    check("/b.log", "a/b.log", true);
    check("/b.log", "b.log", false);
    check("a/b.log", "a/b.log", false);
    check("a/b.log", "x/a/b.log", true);
    check("target/", "x/target/y", false);
    check("target/", "target", true);
    check("*.log\n!b.log", "b.log", true);
    check("!b.log\n*.log", "b.log", false);
    check("# *.log", "b.log", true);
    check("\\#x", "#x", false);
    check("a/**/b", "a/b", false);
    check("a/**/b", "a/x/y/b", false);
    check("a/**", "a/x/y", false);
    check("**/b", "x/y/b", false);
    check("a/*", "a/x/y", false);
    check("*.{a,b}", "x.a", true);
    check("[ab].c", "b.c", false);
    check("x   ", "x", false);
}

#[test]
fn rules_above_the_root_hold_and_inner_ones_win() {
    let root = tree(
        "inner",
        &[(".gitignore", "*.o\nout"), ("s/.gitignore", "!k.o"), ("s/k.o", ""), ("s/j.o", ""), ("s/out/x", "")],
    );
    assert_eq!(seen(&root, &root.join("s")), [".gitignore", "k.o"]);
    std::fs::remove_dir_all(root).unwrap();
}

#[cfg(unix)]
#[test]
fn git_and_links_are_left_out_and_hidden_files_are_not() {
    let root = tree("links", &[(".git/config", ""), (".env", ""), ("d/f", "")]);
    std::os::unix::fs::symlink(&root, root.join("loop")).unwrap();
    std::os::unix::fs::symlink(root.join("d/f"), root.join("link")).unwrap();
    assert_eq!(seen(&root, &root), [".env", "d/f"]);
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn patterns() {
    let check = |pattern: &str, file: &str, hit: bool| {
        let found = Found { path: Path::new(file), relative: file, name: file.rsplit('/').next().unwrap() };
        assert_eq!(Pattern::new(pattern, Path::new("/w/s")).matches(found), hit, "{pattern} {file}");
    };
    check("*.rs", "a/b.rs", true);
    check("*.{rs,toml}", "a/b.toml", true);
    check("a/*.rs", "a/b.rs", true);
    check("a/*.rs", "a/c/b.rs", false);
    check("**/*.rs", "b.rs", true);
    check("./a/**", "a/c/b.rs", true);
    check("/w/s/a/*.rs", "a/b.rs", true);
    check("/w/s/*.rs", "b.rs", true);
    check("/w/s/*.rs", "a/b.rs", false);
    check("!a", "!a", true);
    check("[c] d", "c d", true);
}
