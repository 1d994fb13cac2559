//! Text of models, tools and files on a terminal: no sequence in it may move the cursor, change a title or hide a line.

use std::borrow::Cow;

/// The text without control characters; line ends and tabs stay.
#[must_use]
pub fn clean(text: &str) -> Cow<'_, str> {
    let is_bad = |c: char| c.is_control() && c != '\n' && c != '\t' || is_direction(c);
    if text.contains(is_bad) { text.chars().filter(|c| !is_bad(*c)).collect::<String>().into() } else { text.into() }
}

/// Marks that turn the direction of text around: a path could read as another one.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// One line of at most `width` characters.
#[must_use]
pub fn one_line(text: &str, width: usize) -> String {
    let text = clean(text);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(width) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line,
    }
}

/// At most `most` characters, and a word of how many are left out.
#[must_use]
pub fn bounded(text: &str, most: usize) -> String {
    let text = clean(text);
    match text.char_indices().nth(most) {
        Some((at, _)) => {
            let (shown, rest) = text.split_at(at);
            format!("{shown}… and {} more characters", rest.chars().count())
        }
        None => text.into_owned(),
    }
}

/// For a stream that may be a terminal: cleaned where it is one, as it is where a program reads.
#[must_use]
pub fn clean_for(is_terminal: bool, text: &str) -> Cow<'_, str> {
    if is_terminal { clean(text) } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_the_terminal() {
        for (text, want) in [
            ("a\tb\nc", "a\tb\nc"),
            ("\u{1b}[2Ja\u{1b}]0;t\u{7}", "[2Ja]0;t"),
            ("a\rb", "ab"),
            ("exe.\u{202e}txt", "exe.txt"),
            ("\u{9b}1m", "1m"),
            ("grün 漢", "grün 漢"),
        ] {
            assert_eq!(clean(text), want);
        }
    }

    #[test]
    fn what_is_left_out_is_counted() {
        for (text, want) in [("äöü", "äöü"), ("äöüß", "äöü… and 1 more characters"), ("\u{1b}abc", "abc")]
        {
            assert_eq!(bounded(text, 3), want);
        }
    }

    #[test]
    fn a_program_reads_what_was_written() {
        assert_eq!(clean_for(false, "\u{1b}[2J"), "\u{1b}[2J");
        assert_eq!(clean_for(true, "\u{1b}[2Ja\n\tb"), "[2Ja\n\tb");
    }

    #[test]
    fn a_line_is_one_line() {
        assert_eq!(one_line("a\n  b\tc", 80), "a b c");
        assert_eq!(one_line("äöü", 2), "äö…");
    }
}
