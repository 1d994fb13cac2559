//! One owner per session, also between processes: a lock on a file, which the kernel lets go when its holder dies.
//!
//! The file of a deleted session is removed while it is still held. Whoever had opened it by then holds a file without a name, which
//! guards nothing: so a claim counts only once the name still leads to what was locked.

use crate::connection::Attempt;
use model::id::SessionId;
use model::store::{Claim, StoreError};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// So often a file may be removed between our opening and our locking it.
const ATTEMPTS: usize = 32;

pub(crate) struct Held {
    lock: File,
    path: PathBuf,
}

impl Claim for Held {}

impl Held {
    /// The session is no more: its file goes, then the lock.
    pub(crate) fn forget(self) {
        let _ = std::fs::remove_file(&self.path);
        drop(self.lock);
    }
}

pub(crate) fn claim(data_dir: &Path, id: &str) -> Result<Held, StoreError> {
    let folder = data_dir.join("locks");
    let path = folder.join(id);
    let at = Attempt { what: "claim the session", path: &path };
    std::fs::create_dir_all(folder).map_err(|e| at.io(&e))?;
    for _ in 0..ATTEMPTS {
        if let Some(lock) = lock(&path, id, at)? {
            return Ok(Held { lock, path });
        }
    }
    Err(StoreError::Failed { attempt: at.what, path, why: "its lock file is removed again and again".into() })
}

/// `None` = what was locked has no name any more.
fn lock(path: &Path, id: &str, at: Attempt<'_>) -> Result<Option<File>, StoreError> {
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(|e| at.io(&e))?;
    match file.try_lock() {
        Ok(()) if !is_at(&file, path) => Ok(None),
        Ok(()) => {
            sign(&mut file).map_err(|e| at.io(&e))?;
            Ok(Some(file))
        }
        Err(TryLockError::WouldBlock) => Err(busy(id, &mut file, at)),
        Err(TryLockError::Error(e)) => Err(at.io(&e)),
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let same = |(a, b): (std::fs::Metadata, std::fs::Metadata)| (a.dev(), a.ino()) == (b.dev(), b.ino());
    file.metadata().and_then(|a| Ok((a, path.metadata()?))).is_ok_and(same)
}

fn busy(id: &str, file: &mut File, at: Attempt<'_>) -> StoreError {
    let pid = holder(file);
    match SessionId::parse(id) {
        Some(id) => StoreError::Busy { id, pid },
        None => {
            StoreError::Failed { attempt: at.what, path: at.path.into(), why: format!("process {pid} works on it") }
        }
    }
}

/// Says who holds it, for the message to the next one.
fn sign(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "{}", std::process::id())
}

/// 0 when the holder has not signed yet.
fn holder(file: &mut File) -> u32 {
    let mut text = String::new();
    let read = file.take(20).read_to_string(&mut text);
    read.ok().and_then(|_| text.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_on_a_removed_file_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let first = claim(dir.path(), "ses_a").unwrap();
        let path = first.path.clone();
        // Opened before the session is deleted, locked after.
        let late = File::open(&path).unwrap();
        first.forget();
        late.lock().unwrap();
        assert!(!is_at(&late, &path));
        let second = claim(dir.path(), "ses_a").unwrap();
        assert!(is_at(&second.lock, &path));
        assert!(matches!(claim(dir.path(), "ses_a"), Err(StoreError::Busy { .. })));
    }
}
