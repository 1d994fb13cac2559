//! The whole output of a program, kept in a file once it is long enough to be worth it.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Bytes of output that are kept at most; the rest is counted as lost in a note at the file's end.
const CAP: u64 = 256 << 20;
/// Bytes that may lie in memory before the file is begun, whatever the command asked for.
const MEMORY: u64 = 1 << 20;

/// Both channels in the order in which they came. Bounded: at most [`MEMORY`] in memory and [`CAP`] on disk.
pub(super) enum Spool {
    Off,
    Memory {
        folder: PathBuf,
        over: u64,
        head: Vec<u8>,
    },
    Disk {
        file: File,
        path: PathBuf,
        room: u64,
    },
    /// Full, or the disk failed: what is there stays, nothing is added.
    Closed {
        path: PathBuf,
    },
}

impl Spool {
    pub(super) fn new(folder: &Path, keep_over: Option<u64>) -> Self {
        match keep_over {
            Some(over) => Self::Memory { folder: folder.into(), over: over.min(MEMORY), head: Vec::new() },
            None => Self::Off,
        }
    }

    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            Self::Disk { path, .. } | Self::Closed { path } => Some(path),
            Self::Off | Self::Memory { .. } => None,
        }
    }

    /// Takes the next piece. A disk that fails ends the keeping, never the program.
    pub(super) fn push(&mut self, piece: &[u8]) {
        *self = match std::mem::replace(self, Self::Off) {
            Self::Memory { folder, over, mut head } => {
                head.extend_from_slice(piece);
                if head.len() as u64 > over { begin(&folder, &head) } else { Self::Memory { folder, over, head } }
            }
            Self::Disk { file, path, room } => append(file, path, room, piece),
            done => done,
        };
    }
}

fn begin(folder: &Path, head: &[u8]) -> Spool {
    match create(folder) {
        Ok((file, path)) => append(file, path, CAP, head),
        Err(why) => {
            tracing::warn!(folder = %folder.display(), %why, "the output of a program cannot be kept");
            Spool::Off
        }
    }
}

/// A new file that only its owner may read.
fn create(folder: &Path) -> io::Result<(File, PathBuf)> {
    std::fs::create_dir_all(folder)?;
    let file = tempfile::Builder::new().prefix("process-").suffix(".log").tempfile_in(folder)?;
    file.keep().map_err(|e| e.error)
}

fn append(mut file: File, path: PathBuf, room: u64, piece: &[u8]) -> Spool {
    let fits = usize::try_from(room).unwrap_or(usize::MAX).min(piece.len());
    if let Err(why) = file.write_all(&piece[..fits]) {
        tracing::warn!(path = %path.display(), %why, "the output of a program is kept in part only");
        return Spool::Closed { path };
    }
    if fits < piece.len() {
        let _ = write!(file, "\n[output above {} MiB is not kept]\n", CAP >> 20);
        return Spool::Closed { path };
    }
    Spool::Disk { file, path, room: room - fits as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_is_begun_only_above_the_threshold_and_holds_all() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::new(folder.path(), Some(4));
        spool.push(b"abcd");
        assert_eq!(spool.path(), None);
        spool.push(b"e");
        spool.push(b"fg");
        let path = spool.path().unwrap();
        assert_eq!(std::fs::read(path).unwrap(), b"abcdefg");
        assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn what_exceeds_the_room_is_noted() {
        let folder = tempfile::tempdir().unwrap();
        let (file, path) = create(folder.path()).unwrap();
        let mut spool = append(file, path.clone(), 3, b"abcd");
        spool.push(b"more");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "abc\n[output above 256 MiB is not kept]\n");
    }

    #[test]
    fn nothing_is_kept_unasked() {
        let mut spool = Spool::new(Path::new("/nonexistent"), None);
        spool.push(&[0; 9000]);
        assert_eq!(spool.path(), None);
    }
}
