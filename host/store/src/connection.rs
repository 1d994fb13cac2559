//! Opening the file, its pragmas, its schema version, and what SQLite's errors mean to a person.

use crate::migrate::{self, VERSION};
use model::store::StoreError;
use rusqlite::{Connection, ErrorCode};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a statement waits for another process before the ledger counts as locked.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes that the write-ahead log keeps for itself while it is empty.
const LOG_KEPT: i64 = 16 << 20;

/// What is being attempted, and on which file: the context of every error.
#[derive(Clone, Copy)]
pub(crate) struct Attempt<'a> {
    pub what: &'static str,
    pub path: &'a Path,
}

impl Attempt<'_> {
    pub(crate) fn sql(self, e: &rusqlite::Error) -> StoreError {
        let path = self.path.to_path_buf();
        match e.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Locked { path },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                StoreError::Corrupt { path, why: e.to_string() }
            }
            Some(ErrorCode::DiskFull) => StoreError::Full { path },
            _ => StoreError::Failed { attempt: self.what, path, why: e.to_string() },
        }
    }

    pub(crate) fn io(self, e: &std::io::Error) -> StoreError {
        let path = self.path.to_path_buf();
        match e.kind() {
            std::io::ErrorKind::StorageFull => StoreError::Full { path },
            _ => StoreError::Failed { attempt: self.what, path, why: e.to_string() },
        }
    }

    pub(crate) fn json(self, e: &serde_json::Error) -> StoreError {
        StoreError::Corrupt { path: self.path.into(), why: format!("a record cannot be read: {e}") }
    }
}

/// Opens the ledger for writing, making or upgrading it as needed.
pub(crate) fn open_writer(path: &Path) -> Result<Connection, StoreError> {
    let at = Attempt { what: "be opened", path };
    let mut db = connect(path)?;
    let found = migrate::version(&db).map_err(|e| at.sql(&e))?;
    if found > VERSION {
        return Err(StoreError::TooNew { path: path.into(), found, known: VERSION });
    }
    if found < VERSION {
        migrate::migrate(&mut db).map_err(|e| at.sql(&e))?;
    }
    Ok(db)
}

/// A second connection, for reading.
pub(crate) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    connect(path)
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let at = Attempt { what: "be opened", path };
    let db = Connection::open(path).map_err(|e| at.sql(&e))?;
    let tune = || {
        db.busy_timeout(PATIENCE)?;
        // Counts only in a file without pages, so before WAL writes the first one; said again it would be a write at each start.
        if db.query_row("PRAGMA page_count", [], |r| r.get::<_, i64>(0))? == 0 {
            db.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        }
        // WAL with NORMAL: a killed process loses nothing that was committed; a power cut may lose the last commits, never the file.
        db.pragma_update(None, "journal_mode", "WAL")?;
        db.pragma_update(None, "synchronous", "NORMAL")?;
        // What a flood of writes left of the log is given back once it is empty.
        db.pragma_update(None, "journal_size_limit", LOG_KEPT)?;
        db.pragma_update(None, "foreign_keys", true)
    };
    tune().map_err(|e| at.sql(&e))?;
    db.set_prepared_statement_cache_capacity(64);
    Ok(db)
}

/// The ledger file below a data folder, with the folder made owner-only.
pub(crate) fn prepare(data_dir: &Path) -> Result<PathBuf, StoreError> {
    use std::os::unix::fs::DirBuilderExt;
    let at = Attempt { what: "make its folder", path: data_dir };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(data_dir).map_err(|e| at.io(&e))?;
    Ok(data_dir.join("airlock.db"))
}
