//! Files on the disk.

use airlock::ToolFailure;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// A file larger than this is not loaded whole: the memory of a component is bounded.
const MAX_BYTES: u64 = 10 << 20;

/// What lies at a path; links are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File {
        len: u64,
    },
    Folder,
    /// A pipe, a socket, a device: to open one may wait for ever.
    Other,
    Nothing,
}

/// Looks before anything is opened.
///
/// # Errors
/// Where the path cannot be looked at.
pub fn kind(path: &Path) -> io::Result<Kind> {
    match fs::metadata(path) {
        Ok(meta) if meta.is_file() => Ok(Kind::File { len: meta.len() }),
        Ok(meta) if meta.is_dir() => Ok(Kind::Folder),
        Ok(_) => Ok(Kind::Other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Kind::Nothing),
        Err(error) => Err(error),
    }
}

/// The bytes of a regular file, or `None` where nothing is there.
///
/// # Errors
/// For what is no regular file, for files of more than 10 MiB, and where the file cannot be read.
pub fn load(path: &Path) -> Result<Option<Vec<u8>>, ToolFailure> {
    let shown = path.display();
    let doing = format!("read {shown}");
    match kind(path).map_err(|e| ToolFailure::io(&doing, &e))? {
        Kind::Nothing => Ok(None),
        Kind::Folder => {
            Err(ToolFailure::InvalidInput(format!("{shown} is a directory (folder). Give the path of a file.")))
        }
        Kind::Other => Err(ToolFailure::InvalidInput(format!("{shown} is not a regular file."))),
        Kind::File { len } if len > MAX_BYTES => {
            Err(ToolFailure::Failed(format!("{shown} has {len} bytes, which is too large. Change it by a program.")))
        }
        Kind::File { .. } => fs::read(path).map(Some).map_err(|e| ToolFailure::io(&doing, &e)),
    }
}

/// Puts `new` in the place of `old` (`None` = nothing was there). The same file is written, so that its mode, its owner and the links
/// to it survive. Folders are made as needed. A write that fails puts back what was there.
///
/// # Errors
/// Where the file cannot be opened or written.
pub fn save(path: &Path, new: &[u8], old: Option<&[u8]>) -> Result<(), ToolFailure> {
    try_save(path, new, old).map_err(|e| ToolFailure::io(&format!("write {}", path.display()), &e))
}

fn try_save(path: &Path, new: &[u8], old: Option<&[u8]>) -> io::Result<()> {
    // Each folder made is an act that the host judges: none is tried without need.
    if let Some(folder) = path.parent().filter(|_| old.is_none()).filter(|folder| !folder.is_dir()) {
        fs::create_dir_all(folder)?;
    }
    let mut file = File::create(path)?;
    let written = file.write_all(new).and_then(|()| file.flush());
    drop(file);
    if written.is_err() {
        let _ = match old {
            Some(old) => fs::write(path, old),
            None => fs::remove_file(path),
        };
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn mode_and_links_survive_and_folders_are_made() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let root = std::env::temp_dir().join(format!("airlock-save-{}", std::process::id()));
        let (file, link) = (root.join("a/b/f"), root.join("link"));
        save(&file, b"one", None).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o750)).unwrap();
        symlink(&file, &link).unwrap();
        save(&link, b"2", Some(b"one")).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"2");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o750);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(kind(&link).unwrap(), Kind::File { len: 1 });
        assert_eq!(kind(&root).unwrap(), Kind::Folder);
        assert_eq!(kind(&root.join("none")).unwrap(), Kind::Nothing);
        assert_eq!(kind(Path::new("/dev/null")).unwrap(), Kind::Other);
        fs::remove_dir_all(root).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_said() {
        let Err(ToolFailure::Failed(text)) = save(Path::new("/dev/full"), b"x", Some(b"")) else { panic!() };
        assert!(text.starts_with("Cannot write /dev/full"), "{text}");
    }
}
