//! Where a path really leads. The one look at the disk that the loop needs, injected so that its decisions stay pure.

use std::path::{Component, Path, PathBuf};

/// Finds the real place of a path.
pub trait Places: Send + Sync {
    /// `path` is absolute and normalised. Links are followed as far as the path exists; the rest is kept as it is.
    fn resolve(&self, path: &Path) -> PathBuf;
}

/// The disk itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Places for Disk {
    fn resolve(&self, path: &Path) -> PathBuf {
        for ancestor in path.ancestors() {
            let Ok(real) = ancestor.canonicalize() else { continue };
            let rest = path.strip_prefix(ancestor).unwrap_or(Path::new(""));
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
        path.to_path_buf()
    }
}

/// Joins a path as a model writes it to the session's directory and takes `.` and `..` out, without looking at the disk.
pub(crate) fn absolute(directory: &Path, written: &str) -> PathBuf {
    let mut out = PathBuf::new();
    for part in directory.join(written).components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => (),
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_path_is_made_absolute() {
        let check = |written: &str, expected: &str| {
            assert_eq!(absolute(Path::new("/w/dir"), written), Path::new(expected), "{written}");
        };
        check("a", "/w/dir/a");
        check("./a//b/", "/w/dir/a/b");
        check(".", "/w/dir");
        check("../x", "/w/x");
        check("../../../../x", "/x");
        check("/abs/../y", "/y");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_as_far_as_the_path_exists() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        std::os::unix::fs::symlink(root.join("real"), root.join("link")).unwrap();
        assert_eq!(Disk.resolve(&root.join("link/new/file")), root.join("real/new/file"));
        assert_eq!(Disk.resolve(&root.join("link")), root.join("real"));
        assert_eq!(Disk.resolve(Path::new("/no-such-folder/x")), Path::new("/no-such-folder/x"));
    }
}
