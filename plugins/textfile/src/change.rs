//! What an edit changed, for the person and for programs.

use airlock::ToolOutput;
use serde_json::json;
use similar::algorithms::{Capture, Replace, myers};
use similar::{DiffOp, group_diff_ops};
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes of a shown difference.
const MAX_DIFF: usize = 50 * 1024;
/// Texts beyond this are not compared: the person would not read it, and the component's time is bounded.
const MAX_COMPARED: usize = 2 << 20;
/// Lines around a change that are shown.
const CONTEXT: usize = 3;
const TIMEOUT: Duration = Duration::from_millis(500);

/// The difference of two texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub additions: usize,
    pub deletions: usize,
    /// In unified form, cut where it is long.
    pub diff: String,
}

impl Change {
    #[must_use]
    pub fn between(old: &str, new: &str, path: &Path) -> Self {
        if old.len() + new.len() > MAX_COMPARED {
            let (additions, deletions) = (new.lines().count(), old.lines().count());
            return Self { additions, deletions, diff: "(The difference is too large to be shown.)".into() };
        }
        let (old, new): (Vec<&str>, Vec<&str>) =
            (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
        let ops = operations(&old, &new);
        let count =
            |len: fn(&DiffOp) -> usize| ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. })).map(len).sum();
        let (additions, deletions) = (count(|op| op.new_range().len()), count(|op| op.old_range().len()));
        Self { additions, deletions, diff: unified(&old, &new, ops, path) }
    }

    /// The output with `diff` and `filediff` in its metadata.
    #[must_use]
    pub fn describe(self, output: ToolOutput, path: &Path) -> ToolOutput {
        let file =
            json!({ "file": path.display().to_string(), "additions": self.additions, "deletions": self.deletions });
        output.with("diff", self.diff).with("filediff", file)
    }
}

/// One algorithm, called by itself: the crate's own front compiles all of them into each component.
fn operations(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let mut capture = Replace::new(Capture::new());
    let deadline = Some(Instant::now() + TIMEOUT);
    // A capture cannot fail.
    let _ = myers::diff_deadline_raw(&mut capture, old, 0..old.len(), new, 0..new.len(), deadline);
    capture.into_inner().into_ops()
}

fn unified(old: &[&str], new: &[&str], ops: Vec<DiffOp>, path: &Path) -> String {
    let mut diff = format!("--- {0}\n+++ {0}\n", path.display());
    for group in group_diff_ops(ops, CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let _ = writeln!(
            diff,
            "@@ -{} +{} @@",
            hunk(first.old_range().start..last.old_range().end),
            hunk(first.new_range().start..last.new_range().end)
        );
        for op in group {
            match op {
                DiffOp::Equal { .. } => put(&mut diff, ' ', &old[op.old_range()]),
                _ => {
                    put(&mut diff, '-', &old[op.old_range()]);
                    put(&mut diff, '+', &new[op.new_range()]);
                }
            }
        }
        if diff.len() > MAX_DIFF {
            diff.truncate(diff.floor_char_boundary(MAX_DIFF));
            return diff + "\n(The difference is truncated.)\n";
        }
    }
    diff
}

/// A range of lines as a hunk names it: from 1, the line before for an empty one.
fn hunk(lines: Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        n => format!("{},{n}", lines.start + 1),
    }
}

fn put(diff: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        let end = if line.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
        let _ = write!(diff, "{sign}{line}{end}");
        if diff.len() > MAX_DIFF {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_and_shown() {
        let change = Change::between("a\nb\nc\n", "a\nB\nc\nd\n", Path::new("/w/f"));
        assert_eq!((change.additions, change.deletions), (2, 1));
        assert_eq!(change.diff, "--- /w/f\n+++ /w/f\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n c\n+d\n");
        // As diff(1) prints them.
        let far: String = (1..=20).map(|n| format!("{n}\n")).collect();
        let change = Change::between(&far, &far.replace("2\n3\n", "2\n").replace("18\n", "x\n"), Path::new("f"));
        let hunks: Vec<&str> = change.diff.lines().filter(|l| l.starts_with("@@")).collect();
        assert_eq!(hunks, ["@@ -1,6 +1,5 @@", "@@ -15,6 +14,6 @@"]);
        let change = Change::between("", "a", Path::new("f"));
        assert_eq!(change.diff, "--- f\n+++ f\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n");
    }

    #[test]
    fn long_differences_are_cut() {
        let change = Change::between("", &"line\n".repeat(100_000), Path::new("f"));
        assert_eq!(change.additions, 100_000);
        assert!(change.diff.len() < MAX_DIFF + 100 && change.diff.contains("truncated"));
        assert!(Change::between("", &"x".repeat(MAX_COMPARED + 1), Path::new("f")).diff.len() < 100);
    }
}
