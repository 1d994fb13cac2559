//! What a session changed on the disk, from its journal: first before, last after, path by path, as a patch that `git apply` takes.

use super::error::UndoError;
use super::tree::same;
use model::id::SessionId;
use model::journal::{Image, Op};
use model::undo::{Disk, Recorded, UndoLedger};
use similar::{Algorithm, TextDiff};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A diff that takes longer gets coarser.
const PATIENCE: Duration = Duration::from_secs(2);

/// What became of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    pub path: PathBuf,
    pub before: Image,
    /// `None` = the last act was not seen to end: what stands there now counts.
    pub after: Option<Image>,
}

/// What a session, and those below it, changed and did not take back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// By path.
    pub files: Vec<FileChange>,
    /// Folders that got another name, with all that lay in them.
    pub moved: Vec<(PathBuf, PathBuf)>,
}

/// # Errors
/// A ledger that fails, a session that is not there.
pub async fn changes(ledger: &dyn UndoLedger, session: &SessionId) -> Result<Changes, UndoError> {
    ledger.session(session).await?;
    let family = ledger.family(session).await?;
    Ok(sum(&ledger.recorded(&family).await?))
}

type Ends = BTreeMap<PathBuf, (Image, Option<Image>)>;

/// Sums acts up. Pure.
pub(super) fn sum(acts: &[Recorded]) -> Changes {
    let mut ends = Ends::new();
    let mut moved = vec![];
    for (at, act) in acts.iter().enumerate() {
        let entry = &act.entry;
        if act.after.as_ref().is_some_and(|after| same(after, &entry.before)) {
            continue;
        }
        if entry.op == Op::RenameFrom && entry.before == Image::Folder {
            let target = acts[at + 1..].iter().find(|t| t.entry.op == Op::RenameTo && t.entry.call == entry.call);
            if let Some(target) = target {
                carry(&mut ends, &entry.path, &target.entry.path);
                moved.push((entry.path.clone(), target.entry.path.clone()));
            }
        }
        let end = ends.entry(entry.path.clone()).or_insert_with(|| (entry.before.clone(), None));
        end.1.clone_from(&act.after);
    }
    let differs = |(before, after): &(Image, Option<Image>)| after.as_ref().is_none_or(|after| !same(before, after));
    let files = ends.into_iter().filter(|(_, ends)| differs(ends));
    let files = files.map(|(path, (before, after))| FileChange { path, before, after }).collect();
    Changes { files, moved }
}

/// What was changed in a folder before it moved is gone there and new here.
fn carry(ends: &mut Ends, from: &Path, to: &Path) {
    let below: Vec<PathBuf> = ends.keys().filter(|p| p.starts_with(from) && *p != from).cloned().collect();
    for path in below {
        let (Some(end), Ok(rest)) = (ends.get_mut(&path), path.strip_prefix(from)) else { continue };
        if let Some(last) = end.1.replace(Image::Absent).filter(|last| *last != Image::Absent) {
            ends.insert(to.join(rest), (Image::Absent, Some(last)));
        }
    }
}

/// One side of a diff.
enum Side {
    Absent,
    Text {
        mode: &'static str,
        text: String,
    },
    Binary {
        mode: &'static str,
    },
    /// Its content is not kept.
    Unknown,
    /// A folder: a patch knows none.
    Folder,
}

/// One file of the patch; nothing where a patch has nothing to say. With `now`, the file as it stands counts as the end.
///
/// # Errors
/// A ledger or a disk that fails.
pub async fn patch_of(
    ledger: &dyn UndoLedger,
    disk: &dyn Disk,
    worktree: &Path,
    change: &FileChange,
    now: bool,
) -> Result<String, UndoError> {
    let before = side(ledger, &change.before).await?;
    let after = match &change.after {
        Some(after) if !now => side(ledger, after).await?,
        Some(_) | None => side_now(disk, &change.path)?,
    };
    Ok(render(&name(&change.path, worktree), &before, &after))
}

async fn side(ledger: &dyn UndoLedger, image: &Image) -> Result<Side, UndoError> {
    let Image::File { hash, mode, .. } = image else { return Ok(bare(image)) };
    let found = ledger.contents(vec![hash.clone()]).await?.pop();
    Ok(found.map_or(Side::Unknown, |(_, content)| of_content(content, *mode)))
}

fn side_now(disk: &dyn Disk, path: &Path) -> Result<Side, UndoError> {
    let image = disk.look(path)?.image;
    let Image::File { mode, .. } = image else { return Ok(bare(&image)) };
    Ok(disk.read(path)?.map_or(Side::Unknown, |(_, content)| of_content(content, mode)))
}

fn bare(image: &Image) -> Side {
    match image {
        Image::Absent => Side::Absent,
        Image::Folder => Side::Folder,
        Image::Link { target } => Side::Text { mode: "120000", text: target.to_string_lossy().into_owned() },
        Image::File { .. } | Image::Special => Side::Unknown,
    }
}

fn of_content(content: Vec<u8>, mode: u32) -> Side {
    let mode = if mode & 0o100 == 0 { "100644" } else { "100755" };
    match String::from_utf8(content) {
        Ok(text) if !text.contains('\0') => Side::Text { mode, text },
        Ok(_) | Err(_) => Side::Binary { mode },
    }
}

fn name(path: &Path, worktree: &Path) -> String {
    path.strip_prefix(worktree).unwrap_or(path).to_string_lossy().into_owned()
}

impl Side {
    fn mode(&self) -> Option<&'static str> {
        match self {
            Self::Text { mode, .. } | Self::Binary { mode } => Some(mode),
            Self::Absent | Self::Unknown | Self::Folder => None,
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            Self::Absent | Self::Folder => Some(""),
            Self::Binary { .. } | Self::Unknown => None,
        }
    }
}

fn render(name: &str, before: &Side, after: &Side) -> String {
    let (a, b) = (header("a", name, before), header("b", name, after));
    let mut out = format!("diff --git a/{name} b/{name}\n");
    let modes = match (before.mode(), after.mode()) {
        (Some(old), Some(new)) if old != new => format!("old mode {old}\nnew mode {new}\n"),
        (None, Some(new)) => format!("new file mode {new}\n"),
        (Some(old), None) => format!("deleted file mode {old}\n"),
        (Some(_), Some(_)) | (None, None) => String::new(),
    };
    match (before, after) {
        (Side::Absent | Side::Folder, Side::Absent | Side::Folder) => return String::new(),
        (Side::Unknown, _) | (_, Side::Unknown) => {
            return format!("# {name}: changed, but its content is not in the journal\n");
        }
        _ => out.push_str(&modes),
    }
    let (Some(old), Some(new)) = (before.text(), after.text()) else {
        let _ = writeln!(out, "Binary files {a} and {b} differ");
        return out;
    };
    if old != new {
        let diff = TextDiff::configure().algorithm(Algorithm::Myers).timeout(PATIENCE).diff_lines(old, new);
        let _ = write!(out, "{}", diff.unified_diff().context_radius(3).header(&a, &b));
    }
    out
}

fn header(letter: &str, name: &str, side: &Side) -> String {
    match side {
        Side::Absent | Side::Folder => "/dev/null".into(),
        Side::Text { .. } | Side::Binary { .. } | Side::Unknown => format!("{letter}/{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(mode: &'static str, text: &str) -> Side {
        Side::Text { mode, text: text.into() }
    }

    fn check(before: &Side, after: &Side, expected: &str) {
        assert_eq!(render("d/f", before, after), expected);
    }

    /// The formats are git's own: `git help format-patch`, "generating patch text with -p".
    #[test]
    fn a_patch_is_what_git_apply_takes() {
        let head = "diff --git a/d/f b/d/f\n";
        check(
            &text("100644", "a\nb\n"),
            &text("100644", "a\nc\n"),
            &format!("{head}--- a/d/f\n+++ b/d/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"),
        );
        check(
            &Side::Absent,
            &text("100755", "a\n"),
            &format!("{head}new file mode 100755\n--- /dev/null\n+++ b/d/f\n@@ -0,0 +1 @@\n+a\n"),
        );
        check(
            &text("100644", "a"),
            &Side::Absent,
            &format!(
                "{head}deleted file mode 100644\n--- a/d/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n\\ No newline at end of file\n"
            ),
        );
        check(&text("100644", "a\n"), &text("100755", "a\n"), &format!("{head}old mode 100644\nnew mode 100755\n"));
        check(
            &Side::Binary { mode: "100644" },
            &text("100644", "a\n"),
            &format!("{head}Binary files a/d/f and b/d/f differ\n"),
        );
        check(&Side::Unknown, &Side::Absent, "# d/f: changed, but its content is not in the journal\n");
        check(&Side::Absent, &Side::Folder, "");
    }
}
