use super::*;
use std::fs;
use std::path::PathBuf;

struct Tree(CallContext);

impl Tree {
    fn new(test: &str) -> Self {
        let root = std::env::temp_dir().join(format!("airlock-read-{}-{test}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        Self(CallContext { workspace: root, ..CallContext::default() })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.workspace.join(name)
    }

    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    fn read(&self, name: &str, offset: Option<u64>, limit: Option<u64>) -> Result<ToolOutput, ToolFailure> {
        Read::call(&self.0, Input { file_path: name.into(), offset, limit })
    }

    /// What stands in the content tags, and what behind.
    #[track_caller]
    fn check(&self, name: &str, offset: Option<u64>, limit: Option<u64>, content: &str, foot: &str) {
        let text = self.read(name, offset, limit).unwrap().text;
        let head = format!("<path>{}</path>\n<type>file</type>\n<content>\n", self.path(name).display());
        assert_eq!(text, format!("{head}{content}</content>\n{foot}"));
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0.workspace);
    }
}

#[test]
fn lines_with_numbers_and_a_foot() {
    let tree = Tree::new("lines");
    tree.put("f", "one\r\ntwo\n\nfour");
    tree.check("f", None, None, "1: one\n2: two\n3: \n4: four\n", "(End of file: 4 lines.)");
    tree.check("f", Some(2), Some(1), "2: two\n", "(Truncated: lines 2 to 2 of 4. Use offset 3 to read on.)");
    tree.check("f", Some(4), None, "4: four\n", "(End of file: 4 lines.)");
    tree.put("empty", "");
    tree.check("empty", None, None, "", "(The file is empty.)");
    tree.check("empty", Some(0), None, "", "(The file is empty.)");
    tree.put("latin", b"caf\xe9\n");
    tree.check(
        "latin",
        None,
        None,
        "1: caf\u{fffd}\n",
        "(End of file: 1 lines.)\n(The encoding is not UTF-8: other bytes are shown as \u{fffd}.)",
    );
    tree.put("mark", b"\xEF\xBB\xBFh");
    tree.check("mark", None, None, "1: h\n", "(End of file: 1 lines.)");
    tree.put("wide", b"\xFF\xFEh\0\xe9\0\n\0");
    tree.check("wide", None, None, "1: h\u{e9}\n", "(End of file: 1 lines.)");
    let Err(ToolFailure::InvalidInput(text)) = tree.read("f", Some(5), None) else { panic!() };
    assert_eq!(text, "Offset 5 is past the end: there are 4 lines.");
}

#[test]
fn limits_hold_and_are_said() {
    let tree = Tree::new("limits");
    tree.put("lines", "x\n".repeat(3000));
    let output = tree.read("lines", None, Some(5000)).unwrap();
    assert!(
        output
            .text
            .contains("\n2000: x\n</content>\n(Truncated: lines 1 to 2000 of 3000. Use offset 2001 to read on.)")
    );
    assert_eq!(output.metadata["truncated"], true);
    assert_eq!(output.metadata["preview"].as_str().unwrap().lines().count(), 20);
    tree.put("bytes", format!("{}\n", "y".repeat(1000)).repeat(100));
    let text = tree.read("bytes", None, None).unwrap().text;
    // 50 of 1000 characters, each with number and line end, are less than 51,200 bytes; 51 are more.
    assert!(text.contains("(Truncated at 50 KiB: lines 1 to 50. Use offset 51 to read on.)") && text.len() < 52_000);
    tree.put("long", format!("{}\nend\n", "\u{e9}".repeat(1_000_000)));
    let text = tree.read("long", None, None).unwrap().text;
    assert!(text.contains("\u{e9}… (line truncated at 2000 characters, it has 2000000 bytes)\n2: end\n"));
    assert_eq!(text.matches('\u{e9}').count(), 2000);
}

#[test]
fn folders_are_listed() {
    let tree = Tree::new("folders");
    fs::create_dir_all(tree.path("d/sub")).unwrap();
    tree.put("d/b", "");
    tree.put("d/a", "");
    let text = tree.read("d", None, None).unwrap().text;
    assert!(text.ends_with("<type>directory</type>\n<entries>\na\nb\nsub/\n</entries>\n(3 entries)"), "{text}");
    let text = tree.read("d", Some(2), Some(1)).unwrap().text;
    assert!(
        text.ends_with("<entries>\nb\n</entries>\n(Truncated: entries 2 to 2 of 3. Use offset 3 to read on.)"),
        "{text}"
    );
    assert!(tree.read("d", Some(4), None).is_err());
}

#[test]
fn images_go_with_the_result() {
    let tree = Tree::new("images");
    for (bytes, mime) in [
        (b"\x89PNG\r\n\x1a\n\0".as_slice(), "image/png"),
        (b"\xFF\xD8\xFF\xE0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBP", "image/webp"),
        (b"%PDF-1.7", "application/pdf"),
    ] {
        tree.put("x.txt", bytes);
        let attachments = tree.read("x.txt", None, None).unwrap().attachments;
        assert_eq!(attachments, [Attachment { mime: mime.into(), name: Some("x.txt".into()), data: bytes.to_vec() }]);
    }
    fs::File::options().write(true).open(tree.path("x.txt")).unwrap().set_len(MAX_ATTACHED + 1).unwrap();
    assert!(matches!(tree.read("x.txt", None, None), Err(ToolFailure::Failed(_))));
}

#[test]
fn what_is_no_text_is_refused() {
    let tree = Tree::new("binary");
    for (name, bytes) in [("a", b"x\0y".as_slice()), ("b.ZIP", b"PK"), ("c", b"\x01\x02\x03abc")] {
        tree.put(name, bytes);
        let Err(ToolFailure::InvalidInput(text)) = tree.read(name, None, None) else { panic!("{name}") };
        assert!(text.contains("binary"));
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_is_refused_at_once() {
    let tree = Tree::new("pipe");
    std::os::unix::fs::symlink("/dev/zero", tree.path("zero")).unwrap();
    let Err(ToolFailure::InvalidInput(text)) = tree.read("zero", None, None) else { panic!() };
    assert!(text.contains("not a regular file"));
}

#[test]
fn a_missing_file_has_near_names() {
    let tree = Tree::new("missing");
    for name in ["config.toml", "Config.toml", "conf.toml", "config.toml.bak", "other"] {
        tree.put(name, "");
    }
    let Err(ToolFailure::NotFound(text)) = tree.read("CONFIG.toml", None, None) else { panic!() };
    let names: Vec<&str> = text.lines().skip(3).map(|l| l.rsplit('/').next().unwrap()).collect();
    assert_eq!(names, ["Config.toml", "config.toml", "config.toml.bak"]);
    assert!(matches!(tree.read("none/f", None, None), Err(ToolFailure::NotFound(_))));
}
