//! A unified diff in colour, as far as a person reads one.

use super::clean::bounded;
use anstyle::{AnsiColor, Style};

/// Lines shown; the whole diff is in the ledger.
const MAX_LINES: usize = 60;

/// Characters shown of one line.
const MAX_LINE: usize = 1000;

/// The changed lines of a unified diff with their surroundings; the file's name stands in the tool's own line.
#[must_use]
pub fn coloured(diff: &str) -> String {
    coloured_lines(body(diff).into_iter())
}

fn coloured_lines<'a>(mut lines: impl Iterator<Item = &'a str>) -> String {
    let mut shown: Vec<String> = lines.by_ref().take(MAX_LINES).map(coloured_line).collect();
    let rest = lines.count();
    if rest > 0 {
        shown.push(format!("  … {rest} more lines"));
    }
    shown.join("\n")
}

fn coloured_line(line: &str) -> String {
    let style = style(line);
    format!("  {style}{}{style:#}", bounded(line, MAX_LINE))
}

/// The lines without the file's head. A head stands before the first hunk only: in a hunk, `--- x` is a removed `-- x`.
fn body(diff: &str) -> Vec<&str> {
    let mut in_hunk = false;
    let is_shown = |line: &&str| {
        in_hunk |= line.starts_with("@@");
        in_hunk || !is_head(line)
    };
    diff.lines().filter(is_shown).collect()
}

/// What a change puts in and takes out, where there is no diff yet.
#[must_use]
pub fn change(old: &str, new: &str) -> String {
    let line = |sign: char| move |l: &str| format!("{sign}{l}\n");
    let old: String = old.split_terminator('\n').map(line('-')).collect();
    let new: String = new.split_terminator('\n').map(line('+')).collect();
    // The halves are cut each for itself: a long old text must not hide the new one.
    [old, new].iter().filter(|h| !h.is_empty()).map(|h| coloured_lines(h.lines())).collect::<Vec<_>>().join("\n")
}

fn is_head(line: &str) -> bool {
    ["--- ", "+++ ", "diff ", "index ", "Index: ", "==="].iter().any(|h| line.starts_with(h))
}

fn style(line: &str) -> Style {
    match line.as_bytes().first() {
        Some(b'+') => AnsiColor::Green.on_default(),
        Some(b'-') => AnsiColor::Red.on_default(),
        Some(b'@') => AnsiColor::Cyan.on_default(),
        _ => Style::new().dimmed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_and_went_is_told_apart() {
        let shown = coloured("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\u{1b}[0m\n");
        assert_eq!(shown.lines().count(), 3);
        assert!(shown.contains("\u{1b}[31m-x") && shown.contains("\u{1b}[32m+y[0m"), "{shown:?}");
    }

    #[test]
    fn a_changed_line_is_no_head() {
        let shown = coloured("--- a\n+++ b\n@@ -1,2 +1,2 @@\n--- x\n+++ y\n");
        assert_eq!(shown.lines().count(), 3);
        assert!(shown.contains("--- x") && shown.contains("+++ y"), "{shown:?}");
    }

    #[test]
    fn a_change_shows_both_sides_and_what_it_leaves_out() {
        let shown = change("-- x\n", "a\nb");
        assert_eq!(shown.lines().count(), 3);
        assert!(shown.contains("[31m--- x") && shown.contains("[32m+b"), "{shown:?}");
        let shown = change(&"o\n".repeat(70), "new");
        assert!(shown.contains("… 10 more lines") && shown.contains("+new"), "{shown:?}");
    }

    #[test]
    fn a_long_diff_is_cut() {
        let shown = coloured(&"+a\n".repeat(100));
        assert_eq!(shown.lines().count(), MAX_LINES + 1);
        assert!(shown.ends_with("40 more lines"));
    }
}
