//! One owner per session, also between processes: a lock on a file, which the kernel lets go when its holder dies.

use crate::connection::Attempt;
use model::id::SessionId;
use model::store::{Claim, StoreError};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

struct Held {
    _lock: File,
}

impl Claim for Held {}

pub(crate) fn lock_file(data_dir: &Path, id: &SessionId) -> PathBuf {
    data_dir.join("locks").join(id.as_str())
}

pub(crate) fn claim(data_dir: &Path, id: &SessionId) -> Result<Box<dyn Claim>, StoreError> {
    let path = lock_file(data_dir, id);
    let at = Attempt { what: "claim the session", path: &path };
    std::fs::create_dir_all(data_dir.join("locks")).map_err(|e| at.io(&e))?;
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(|e| at.io(&e))?;
    match file.try_lock() {
        Ok(()) => {
            sign(&mut file).map_err(|e| at.io(&e))?;
            Ok(Box::new(Held { _lock: file }))
        }
        Err(TryLockError::WouldBlock) => Err(StoreError::Busy { id: id.clone(), pid: holder(&mut file) }),
        Err(TryLockError::Error(e)) => Err(at.io(&e)),
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
