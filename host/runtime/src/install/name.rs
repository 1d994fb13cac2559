//! Names of plugins. One that looks like another is none: a person agrees to what they read.

use super::InstallError;

const LONGEST: usize = 64;

/// # Errors
/// [`InstallError::Name`].
pub fn check(name: &str) -> Result<(), InstallError> {
    let bad = |why| Err(InstallError::Name { name: name.chars().take(LONGEST + 1).collect(), why });
    match name.chars().next() {
        None => return bad("it is empty"),
        Some(c) if !c.is_ascii_lowercase() && !c.is_ascii_digit() && c.is_ascii() => {
            return bad("it begins with something else than a small letter or a digit");
        }
        Some(_) => {}
    }
    if name.len() > LONGEST {
        return bad("it is longer than 64 characters");
    }
    if !name.is_ascii() {
        return bad("it has letters that can look like others");
    }
    if !name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c)) {
        return bad("it has characters that a name does not have");
    }
    Ok(())
}

/// Two names that differ in this only are the same to whoever reads them.
#[must_use]
pub fn folded(name: &str) -> String {
    name.replace(['_', '.'], "-")
}

/// What a component is called when nobody says so: its file's name without endings.
#[must_use]
pub fn of_file(file: &str) -> String {
    let file = file.rsplit('/').next().unwrap_or(file);
    let stem = file.strip_suffix(".wasm").unwrap_or(file);
    stem.strip_suffix(".component").unwrap_or(stem).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let long = "a".repeat(64);
        for (name, fits) in [
            ("read", true),
            ("my-tool_2.x", true),
            ("7zip", true),
            (&*long, true),
            (&*format!("{long}a"), false),
            (&*"n".repeat(300), false),
            ("", false),
            ("Read", false),
            ("r\u{435}ad", false),
            ("\u{430}bc", false),
            ("a\u{200b}b", false),
            ("a b", false),
            ("../x", false),
            ("a/b", false),
            (".hidden", false),
            ("-x", false),
            ("a\0", false),
        ] {
            assert_eq!(check(name).is_ok(), fits, "{name:?}");
        }
        assert_eq!(folded("apply_patch"), folded("apply-patch"));
    }

    #[test]
    fn a_file_gives_its_name() {
        for (file, name) in
            [("/x/count.wasm", "count"), ("count", "count"), ("a.component.wasm", "a"), ("x/y.wasm", "y")]
        {
            assert_eq!(of_file(file), name);
        }
    }
}
