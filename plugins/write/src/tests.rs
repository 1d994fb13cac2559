use super::*;
use std::fs;

/// Writes `content` over `before` and returns the bytes after, with the output.
fn write(test: &str, before: Option<&[u8]>, content: &str) -> (Vec<u8>, ToolOutput) {
    let root = std::env::temp_dir().join(format!("airlock-write-{}-{test}", std::process::id()));
    let _ = fs::remove_dir_all(&root);
    fs::create_dir_all(&root).unwrap();
    let name = if before.is_some() { "f" } else { "new/folder/f" };
    if let Some(bytes) = before {
        fs::write(root.join(name), bytes).unwrap();
    }
    let context = CallContext { workspace: root.clone(), ..CallContext::default() };
    let output = Write::call(&context, Input { file_path: name.into(), content: content.into() }).unwrap();
    let after = fs::read(root.join(name)).unwrap();
    fs::remove_dir_all(root).unwrap();
    (after, output)
}

#[track_caller]
fn check(test: &str, before: Option<&[u8]>, content: &str, after: &[u8], says: &str) {
    let (bytes, output) = write(test, before, content);
    assert_eq!(bytes, after);
    assert!(output.text.contains(says), "{}", output.text);
    assert_eq!(output.metadata["exists"], before.is_some());
}

#[test]
fn the_form_of_a_file_is_kept() {
    check("new", None, "a\n", b"a\n", "Created");
    check("plain", Some(b"old"), "a\r\nb\n", b"a\r\nb\n", "Replaced");
    check("mark", Some(b"\xEF\xBB\xBFold"), "a", b"\xEF\xBB\xBFa", "Replaced");
    check("twice", Some(b"\xEF\xBB\xBFold"), "\u{feff}a", b"\xEF\xBB\xBFa", "Replaced");
    check("utf16", Some(b"\xFF\xFEo\0"), "\u{e9}", b"\xFF\xFE\xe9\0", "Replaced");
    check("latin", Some(b"caf\xe9"), "caf\u{e9}", "caf\u{e9}".as_bytes(), "was not UTF-8");
    check("binary", Some(b"a\0b"), "a", b"a", "was binary");
    check("same", Some(b"a"), "a", b"a", "nothing changed");
}

#[test]
fn the_difference_is_in_the_metadata() {
    let (_, output) = write("diff", Some(b"a\nb\n"), "a\nc\nd\n");
    assert_eq!(output.metadata["filediff"]["additions"], 2);
    assert_eq!(output.metadata["filediff"]["deletions"], 1);
    assert!(output.metadata["diff"].as_str().unwrap().contains("-b\n+c\n+d\n"));
    assert_eq!(output.title, "f");
}

#[test]
fn a_folder_is_no_file() {
    let context = CallContext { workspace: std::env::temp_dir(), ..CallContext::default() };
    let failure = Write::call(&context, Input { file_path: ".".into(), content: String::new() }).unwrap_err();
    assert!(matches!(&failure, ToolFailure::InvalidInput(text) if text.contains("directory")));
}
