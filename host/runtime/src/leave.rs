//! What an installed component may do *now*. The lock says it, and a person can change it at any moment, from another program too: it is
//! looked at for each act, and read again where it is another file.

use crate::install::{Depot, Pinned};
use model::grant::{Grant, LimitsAsked};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The standing of one installed component.
pub struct Leave {
    depot: Depot,
    name: String,
    /// What was agreed to, hex. Another version of the same name is another component.
    blake3: String,
    seen: Mutex<Seen>,
}

struct Seen {
    stamp: Option<Stamp>,
    grant: Option<Arc<Grant>>,
}

/// Tells a file from another that took its place: the lock is never written in place.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let meta = fs::symlink_metadata(path).ok()?;
        Some(Self { inode: meta.ino(), size: meta.len(), modified: (meta.mtime(), meta.mtime_nsec()) })
    }
}

impl Leave {
    /// As the lock has it that was just read.
    #[must_use]
    pub fn new(depot: &Depot, pinned: &Pinned) -> Self {
        // Without a stamp the first look reads the lock once more: it may have changed since.
        let seen = Seen { stamp: None, grant: Some(Arc::new(pinned.grant.clone())) };
        Self { depot: depot.clone(), name: pinned.name.clone(), blake3: pinned.blake3.clone(), seen: Mutex::new(seen) }
    }

    /// The grant in force; `None` once the component is removed, or another version stands in its place.
    pub fn grant(&self) -> Option<Arc<Grant>> {
        let now = Stamp::of(&self.depot.lock_file());
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if now.is_none() || seen.stamp != now {
            let grant = self.read();
            // What is as it was stays the same one: a call under it need not compare.
            if grant.as_ref() != seen.grant.as_deref() {
                seen.grant = grant.map(Arc::new);
            }
            seen.stamp = now;
        }
        seen.grant.clone()
    }

    /// A lock that cannot be read gives nobody a right.
    fn read(&self) -> Option<Grant> {
        let lock = self.depot.read().inspect_err(|error| tracing::warn!(%error, "the lock cannot be read")).ok()?;
        lock.get(&self.name).filter(|p| p.blake3 == self.blake3).map(|p| p.grant.clone())
    }
}

/// The grant that a call began under, and whether it is still the person's will.
#[derive(Clone)]
pub struct Lease {
    pub leave: Arc<Leave>,
    pub given: Arc<Grant>,
}

impl Lease {
    /// Nothing of what was given has been taken back.
    pub fn holds(&self) -> bool {
        self.leave
            .grant()
            .is_some_and(|now| Arc::ptr_eq(&now, &self.given) || rights(&self.given).within(&rights(&now)))
    }
}

/// How long and how large it may run was settled when the call began.
fn rights(grant: &Grant) -> Grant {
    Grant { limits: LimitsAsked::default(), ..grant.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::grant::Mode;
    use model::owner::Owner;

    fn pinned(mode: Option<Mode>, digit: char) -> Pinned {
        let fs = mode.into_iter().map(|m| ("docs".to_owned(), m)).collect();
        Pinned::for_tests("x", digit, Grant { fs, ..Grant::default() })
    }

    #[test]
    fn what_is_taken_back_is_seen_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let depot = Depot::new(&Owner::local(), dir.path());
        let put = |pinned: Pinned| {
            depot
                .change(|lock| {
                    lock.put(pinned.clone());
                    Ok(())
                })
                .unwrap();
        };
        let first = pinned(Some(Mode::ReadOnly), '1');
        put(first.clone());
        let leave = Arc::new(Leave::new(&depot, &first));
        let lease = Lease { given: leave.grant().unwrap(), leave };
        for (change, holds) in [
            (pinned(Some(Mode::ReadOnly), '1'), true),
            (pinned(Some(Mode::ReadWrite), '1'), true),
            (pinned(None, '1'), false),
            (pinned(Some(Mode::ReadOnly), '1'), true),
            (pinned(Some(Mode::ReadOnly), '2'), false),
        ] {
            put(change.clone());
            assert_eq!(lease.holds(), holds, "{change:?}");
        }
        put(first);
        assert!(lease.holds());
        fs::write(depot.lock_file(), "nonsense").unwrap();
        assert!(!lease.holds(), "a lock that cannot be read");
        fs::remove_file(depot.lock_file()).unwrap();
        assert!(!lease.holds() && lease.leave.grant().is_none(), "no lock at all");
    }
}
