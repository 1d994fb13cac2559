//! From a ledger of any older version to this one, in numbered steps. A new ledger is made from `schema.sql` at once.
//!
//! A new step: a file `migrate/to_N.sql`, its line in [`STEPS`], the same change in `schema.sql`. The tests hold both ways to the
//! same tables and bring a ledger of version 1, with something in every table, all the way up.

use rusqlite::{Connection, Transaction};

/// The step at index `i` leads from version `i + 1` to `i + 2`.
const STEPS: &[&str] = &[
    include_str!("migrate/to_2.sql"),
    include_str!("migrate/to_3.sql"),
    include_str!("migrate/to_4.sql"),
    include_str!("migrate/to_5.sql"),
    include_str!("migrate/to_6.sql"),
];

/// Schema version that this program writes.
pub(crate) const VERSION: i64 = 1 + STEPS.len() as i64;

/// Makes the tables, or brings them up to date. Two processes may come here at once: the second finds the work done once it holds
/// the lock.
pub(crate) fn migrate(db: &mut Connection) -> rusqlite::Result<()> {
    let tx = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    match version(&tx)? {
        0 => tx.execute_batch(include_str!("schema.sql"))?,
        found => climb(&tx, found)?,
    }
    tx.pragma_update(None, "user_version", VERSION)?;
    tx.commit()
}

fn climb(tx: &Transaction<'_>, found: i64) -> rusqlite::Result<()> {
    let done = usize::try_from(found - 1).unwrap_or(0);
    STEPS.iter().skip(done).try_for_each(|step| tx.execute_batch(step))
}

/// 0 in a file without tables.
pub(crate) fn version(db: &Connection) -> rusqlite::Result<i64> {
    db.pragma_query_value(None, "user_version", |r| r.get(0))
}

#[cfg(test)]
mod tests;
