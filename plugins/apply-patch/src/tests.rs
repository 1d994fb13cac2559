use super::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

struct Folder(PathBuf);

impl Folder {
    fn new(test: &str, files: &[(&str, &[u8])]) -> Self {
        let root = std::env::temp_dir().join(format!("airlock-patch-{}-{test}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        for (name, bytes) in files {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), bytes).unwrap();
        }
        Self(root)
    }

    fn patch(&self, body: &str) -> Result<ToolOutput, ToolFailure> {
        let context = CallContext { workspace: self.0.clone(), ..CallContext::default() };
        ApplyPatch::call(&context, Input { patch_text: format!("*** Begin Patch\n{body}*** End Patch") })
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        fn walk(root: &Path, at: &Path, out: &mut BTreeMap<String, Vec<u8>>) {
            for entry in fs::read_dir(at).unwrap().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    walk(root, &path, out);
                } else {
                    out.insert(path.strip_prefix(root).unwrap().display().to_string(), fs::read(&path).unwrap());
                }
            }
        }
        let mut all = BTreeMap::new();
        walk(&self.0, &self.0, &mut all);
        all
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[track_caller]
fn check(test: &str, before: &[(&str, &[u8])], patch: &str, after: &[(&str, &[u8])]) {
    let folder = Folder::new(test, before);
    let output = folder.patch(patch).unwrap_or_else(|f| panic!("{test}: {f:?}"));
    let expected: BTreeMap<_, _> = after.iter().map(|(n, b)| ((*n).to_owned(), b.to_vec())).collect();
    assert_eq!(folder.files(), expected, "{test}: {}", output.text);
}

#[test]
fn files_are_made_changed_moved_and_removed() {
    let before: &[(&str, &[u8])] = &[("a", b"1\n2\n3\n"), ("gone", b"x"), ("old/name", b"k\nv\n")];
    let patch = "*** Add File: new/f\n+one\n+two\n*** Delete File: gone\n*** Update File: a\n@@\n 1\n-2\n+zwei\n 3\n\
                 *** Update File: old/name\n*** Move to: new/name\n@@\n-k\n+K\n v\n";
    let after: &[(&str, &[u8])] = &[("a", b"1\nzwei\n3\n"), ("new/f", b"one\ntwo\n"), ("new/name", b"K\nv\n")];
    check("all", before, patch, after);
    let output = Folder::new("report", before).patch(patch).unwrap();
    assert_eq!(output.text, "Done. These files were changed:\nA new/f\nD gone\nM a\nD old/name\nA new/name");
    assert_eq!(output.metadata["files"][2]["additions"], 1);
}

#[test]
fn hunks_find_their_place() {
    let one = |test: &str, before: &[u8], hunks: &str, after: &[u8]| {
        check(test, &[("f", before)], &format!("*** Update File: f\n{hunks}"), &[("f", after)]);
    };
    one("no-at", b"a\nb\n", " a\n-b\n+c\n", b"a\nc\n");
    one("below", b"fn x\n  1\nfn y\n  1\n", "@@ fn y\n-  1\n+  2\n", b"fn x\n  1\nfn y\n  2\n");
    one("two", b"a\nb\na\nb\n", "@@\n-b\n+c\n@@\n-b\n+d\n", b"a\nc\na\nd\n");
    one("end", b"a\nx\na\n", "@@\n-a\n+z\n*** End of File\n", b"a\nx\nz\n");
    one("append", b"a\n", "@@\n+b\n", b"a\nb\n");
    one("insert", b"a\nb\n", "@@ a\n+x\n", b"a\nx\nb\n");
    one("spaces", b"\ta \n", "@@\n-a\n+b\n", b"b\n");
    one("typographic", "say \u{201c}hi\u{201d}\n".as_bytes(), "@@\n-say \"hi\"\n+bye\n", b"bye\n");
    one("stays", b"  keep\t\nx\n", "@@\n keep\n-x\n+y\n", b"  keep\t\ny\n");
    one("no-newline", b"a\nb", "@@\n a\n-b\n+c\n", b"a\nc\n");
    one("add-behind", b"a", "@@\n a\n+b\n", b"a\nb\n");
    one("crlf", b"a\r\nb\r\n", "@@\n a\n-b\n+c\n+d\n", b"a\r\nc\r\nd\r\n");
    one("mark", b"\xEF\xBB\xBFa\n", "@@\n-a\n+b\n", b"\xEF\xBB\xBFb\n");
    one("lost-space", b"a\n\nb\n", "@@\n a\n\n-b\n+c\n", b"a\n\nc\n");
    one("own-empty-line", b"a\nb\n", "@@\n-a\n+c\n\n", b"c\nb\n");
    one("latin", b"caf\xe9\nx\n", "@@\n-x\n+y\n", b"caf\xe9\ny\n");
}

/// Whatever is wrong with the last section, the first is not done either.
#[test]
fn nothing_is_written_unless_all_of_it_can_be() {
    let before: &[(&str, &[u8])] = &[("a", b"1\n"), ("b", b"x\n"), ("bin", b"a\0b")];
    for (bad, says) in [
        ("*** Update File: b\n@@\n-no such line\n+y\n", "hunk 1 fits nowhere"),
        ("*** Update File: b\n@@ no such line\n-x\n+y\n", "below `no such line`"),
        ("*** Update File: none\n@@\n-x\n+y\n", "none"),
        ("*** Delete File: none\n", "none"),
        ("*** Add File: b\n+x\n", "exists already"),
        ("*** Update File: b\n*** Move to: a\n@@\n-x\n+y\n", "cannot be moved"),
        ("*** Update File: bin\n@@\n-a\n+y\n", "binary"),
        ("*** Update File: b\n", "no hunk"),
        ("*** Update File: b\n@@\n", "without lines"),
        ("*** Update File: b\nwhat\n", "begins with none of"),
        ("*** Rename File: b\n", "no header of a file"),
    ] {
        let folder = Folder::new("atomic", before);
        let was = folder.files();
        let failure = folder.patch(&format!("*** Update File: a\n@@\n-1\n+2\n{bad}")).unwrap_err();
        assert!(failure.message().contains(says), "{bad}: {}", failure.message());
        assert_eq!(folder.files(), was, "{bad}");
    }
}

#[test]
fn what_was_written_is_taken_back_where_a_later_file_cannot_be() {
    let folder = Folder::new("back", &[("a", b"1\n"), ("file", b"x\n")]);
    let was = folder.files();
    // A file stands where a folder would have to be made.
    let patch = "*** Update File: a\n@@\n-1\n+2\n*** Add File: made\n+m\n*** Add File: file/below\n+y\n";
    let failure = folder.patch(patch).unwrap_err();
    assert!(failure.message().contains("No file was changed"), "{}", failure.message());
    assert_eq!(folder.files(), was);
}

#[test]
fn a_patch_that_is_none_says_so() {
    let context = CallContext::default();
    for (text, says) in [
        ("", "does not begin"),
        ("*** Begin Patch\n*** Add File: a\n+x\n", "does not end"),
        ("*** Begin Patch\n*** End Patch", "names no file"),
    ] {
        let failure = ApplyPatch::call(&context, Input { patch_text: text.into() }).unwrap_err();
        assert!(matches!(&failure, ToolFailure::InvalidInput(t) if t.contains(says)), "{text}: {failure:?}");
    }
    let wrapped = "apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: x\n*** End Patch\nEOF\n";
    assert_eq!(parse::sections(wrapped).map(|s| s.len()), Ok(1));
}

#[test]
fn one_file_may_be_named_twice() {
    let patch =
        "*** Update File: f\n@@\n-a\n+b\n*** Update File: f\n@@\n-b\n+c\n*** Delete File: g\n*** Add File: g\n+new\n";
    check("twice", &[("f", b"a\n"), ("g", b"old\n")], patch, &[("f", b"c\n"), ("g", b"new\n")]);
}
