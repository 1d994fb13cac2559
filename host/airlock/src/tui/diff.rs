//! A unified diff in colour, as far as a person reads one.

use super::clean::clean;
use anstyle::{AnsiColor, Style};
use std::fmt::Write;

/// Lines shown; the whole diff is in the ledger.
const MAX_LINES: usize = 60;

/// The changed lines of a unified diff with their surroundings; the file's name stands in the tool's own line.
#[must_use]
pub fn coloured(diff: &str) -> String {
    let lines: Vec<&str> = diff.lines().filter(|l| !is_head(l)).collect();
    let mut out = String::new();
    for line in lines.iter().take(MAX_LINES) {
        let style = style(line);
        let _ = writeln!(out, "  {style}{}{style:#}", clean(line));
    }
    if lines.len() > MAX_LINES {
        let _ = writeln!(out, "  … {} more lines", lines.len() - MAX_LINES);
    }
    out.trim_end_matches('\n').to_owned()
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
    fn a_long_diff_is_cut() {
        let shown = coloured(&"+a\n".repeat(100));
        assert_eq!(shown.lines().count(), MAX_LINES + 1);
        assert!(shown.ends_with("40 more lines"));
    }
}
