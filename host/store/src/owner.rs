//! Whose ledger it is. It is stamped when it is first opened; nobody else opens it.

use crate::connection::Attempt;
use model::owner::Owner;
use model::store::StoreError;
use rusqlite::{Connection, OptionalExtension, params};
use std::path::Path;

/// Stamps a ledger that nobody owns yet.
///
/// # Errors
/// [`StoreError::Foreign`] where it is somebody else's.
pub(crate) fn claim(db: &Connection, path: &Path, owner: &Owner) -> Result<(), StoreError> {
    let at = Attempt { what: "be opened", path };
    let found = stamped(db, owner).map_err(|e| at.sql(&e))?;
    if found == owner.as_str() {
        return Ok(());
    }
    Err(StoreError::Foreign { path: path.into(), owner: found, asked: owner.clone() })
}

/// Two processes may come here at once: the first stamps it.
fn stamped(db: &Connection, owner: &Owner) -> rusqlite::Result<String> {
    if let Some(name) = name(db)? {
        return Ok(name);
    }
    db.execute("INSERT OR IGNORE INTO owner (only, name) VALUES (1, ?1)", params![owner.as_str()])?;
    Ok(name(db)?.unwrap_or_default())
}

fn name(db: &Connection) -> rusqlite::Result<Option<String>> {
    db.query_row("SELECT name FROM owner", [], |row| row.get(0)).optional()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ledger;

    fn owner(name: &str) -> Owner {
        Owner::parse(name).unwrap()
    }

    #[test]
    fn a_ledger_is_opened_by_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        drop(Ledger::of(&owner("ann"), dir.path()).unwrap());
        drop(Ledger::of(&owner("ann"), dir.path()).unwrap());
        let refused = Ledger::of(&owner("bob"), dir.path()).err().unwrap();
        assert!(matches!(&refused, StoreError::Foreign { owner, .. } if owner == "ann"), "{refused}");
        assert!(refused.to_string().contains("ann") && refused.to_string().contains("bob"), "{refused}");
        drop(Ledger::of(&owner("ann"), dir.path()).unwrap());
    }

    /// One that is older than owners are.
    #[test]
    fn an_old_ledger_belongs_to_whoever_opens_it() {
        let dir = tempfile::tempdir().unwrap();
        let db = Connection::open(dir.path().join("airlock.db")).unwrap();
        db.execute_batch(include_str!("migrate/v1.sql")).unwrap();
        drop(db);
        drop(Ledger::of(&owner("ann"), dir.path()).unwrap());
        assert!(matches!(Ledger::of(&owner("local"), dir.path()), Err(StoreError::Foreign { .. })));
        drop(Ledger::of(&owner("ann"), dir.path()).unwrap());
    }
}
