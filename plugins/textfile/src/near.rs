//! Names that lie near one that is not there.

use airlock::ToolFailure;
use std::path::{Path, PathBuf};

const MAX_NEAR: usize = 3;
/// Names of a folder that are compared.
const MAX_NAMES: usize = 5000;

/// Base letters of U+00C0 to U+017F, so that composed and decomposed spellings meet. `-` = the letter stands for itself.
const BASES: &[u8] = b"aaaaaa-ceeeeiiii-nooooo--uuuuy--aaaaaa-ceeeeiiii-nooooo--uuuuy-y\
aaaaaaccccccccdd--eeeeeeeeeegggggggghh--iiiiiiiiii--jjkk-llllll----nnnnnn---oooooo--rrrrrrssssssss\
tttt--uuuuuuuuuuuuwwyyyzzzzzz-";

/// The failure for a file that is not there, with near names where there are any.
#[must_use]
pub fn missing(path: &Path) -> ToolFailure {
    let names = near(path);
    let mut text = format!("File not found: {}", path.display());
    if !names.is_empty() {
        text += "\n\nDid you mean one of these?";
        for name in names {
            text += &format!("\n{}", name.display());
        }
    }
    ToolFailure::NotFound(text)
}

/// Up to three files of the same folder, nearest first: names that differ in case, in the Unicode form, in the kind of space, quote or
/// dash; then those of which one holds the other; then those with a typing error.
#[must_use]
pub fn near(path: &Path) -> Vec<PathBuf> {
    let Some(wanted) = path.file_name().map(|n| n.to_string_lossy().into_owned()) else { return Vec::new() };
    let Some(Ok(entries)) = path.parent().map(std::fs::read_dir) else { return Vec::new() };
    let names = entries.take(MAX_NAMES).filter_map(Result::ok).map(|e| e.path());
    let mut ranked: Vec<(usize, PathBuf)> =
        names.filter_map(|p| Some((distance(&p.file_name()?.to_string_lossy(), &wanted)?, p))).collect();
    ranked.sort();
    ranked.into_iter().take(MAX_NEAR).map(|(_, p)| p).collect()
}

/// `None` = not near.
fn distance(name: &str, wanted: &str) -> Option<usize> {
    let (name, wanted) = (plain(name), plain(wanted));
    if name == wanted {
        return Some(0);
    }
    if wanted.len().min(name.len()) > 2 && (name.contains(&wanted) || wanted.contains(&name)) {
        return Some(1);
    }
    let apart = strsim::levenshtein(&name, &wanted);
    (apart <= (wanted.chars().count() / 3).max(1)).then_some(1 + apart)
}

/// What a name looks like: small letters without accents, and one kind of space, quote and dash.
fn plain(name: &str) -> String {
    name.chars().flat_map(char::to_lowercase).filter(|c| !('\u{300}'..='\u{36f}').contains(c)).map(plain_char).collect()
}

fn plain_char(c: char) -> char {
    match c {
        '\u{c0}'..='\u{17f}' => base(c),
        '\u{2018}' | '\u{2019}' => '\'',
        '\u{201c}' | '\u{201d}' => '"',
        '\u{2010}'..='\u{2015}' => '-',
        _ if c.is_whitespace() => ' ',
        _ => c,
    }
}

fn base(c: char) -> char {
    let index = u32::from(c) - 0xC0;
    match usize::try_from(index).ok().and_then(|i| BASES.get(i)) {
        None | Some(b'-') => c,
        Some(&letter) => char::from(letter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, wanted: &str, expected: Option<usize>) {
        assert_eq!(distance(name, wanted), expected, "{name} {wanted}");
    }

    #[test]
    fn names_that_look_alike_are_nearest() {
        check("Cafe\u{301}.txt", "Caf\u{e9}.txt", Some(0));
        check("Shot 10.15\u{202f}AM.png", "Shot 10.15 AM.png", Some(0));
        check("it\u{2019}s", "it's", Some(0));
        check("README.md", "readme.md", Some(0));
        check("main.test.rs", "main.test", Some(1));
        check("mian.rs", "main.rs", Some(3));
        check("other.py", "main.rs", None);
        check("a", "b", Some(2));
    }

    #[test]
    fn the_table_of_base_letters_is_whole() {
        assert_eq!(BASES.len(), 0x180 - 0xC0);
        // One of each row of the chart, by its Unicode name.
        for (composed, letter) in [
            ('\u{e9}', 'e'),
            ('\u{fc}', 'u'),
            ('\u{f1}', 'n'),
            ('\u{e7}', 'c'),
            ('\u{10d}', 'c'),
            ('\u{11b}', 'e'),
            ('\u{131}', 'i'),
            ('\u{144}', 'n'),
            ('\u{151}', 'o'),
            ('\u{159}', 'r'),
            ('\u{161}', 's'),
            ('\u{163}', 't'),
            ('\u{171}', 'u'),
            ('\u{17e}', 'z'),
            ('\u{fd}', 'y'),
            ('\u{13a}', 'l'),
            ('\u{137}', 'k'),
            ('\u{121}', 'g'),
        ] {
            assert_eq!(base(composed), letter, "{composed}");
        }
    }
}
