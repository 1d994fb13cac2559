use super::*;
use crate::ledger::tests::{count, entry, session};
use model::journal::Journal;
use model::store::Change;

const ALL: Retention = Retention { keep_days: None, max_sessions: None, journal_bytes: u64::MAX };

async fn filled(ledger: &Ledger, updated: &[u64]) -> Vec<SessionId> {
    let sessions: Vec<_> = updated.iter().map(|at| session("/w", *at)).collect();
    ledger.apply(sessions.iter().cloned().map(Change::Session).collect()).await.unwrap();
    sessions.into_iter().map(|s| s.id).collect()
}

#[tokio::test]
async fn nothing_goes_unless_it_is_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    filled(&ledger, &[1; 30]).await;
    assert_eq!(ledger.tidy(Retention::default(), 1_000 * DAY_MS).await.unwrap(), Tidied::default());
    assert_eq!(count(&ledger, "SELECT count(*) FROM session").await, 30);
}

#[tokio::test]
async fn old_sessions_go_and_the_newest_stay_whatever_the_clock_says() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let ids = filled(&ledger, &[1; 15]).await;
    let held = ledger.claim(&ids[0]).await.unwrap();
    let bounds = Retention { keep_days: Some(30), ..ALL };
    assert_eq!(ledger.tidy(bounds, 20 * DAY_MS).await.unwrap().sessions, 0, "not old enough");
    // Fifteen, of which ten always stay and one is at work.
    assert_eq!(ledger.tidy(bounds, 40 * DAY_MS).await.unwrap().sessions, 4);
    drop(held);
    assert_eq!(ledger.tidy(bounds, 40 * DAY_MS).await.unwrap().sessions, 1);
    let left = ledger.sessions(model::store::Kin::All, 99).await.unwrap();
    assert_eq!(left.iter().rev().map(|s| s.info.id.clone()).collect::<Vec<_>>(), ids[5..]);
    let few = Retention { max_sessions: Some(3), ..ALL };
    assert_eq!(ledger.tidy(few, 0).await.unwrap().sessions, 7);
    assert_eq!(std::fs::read_dir(dir.path().join("locks")).unwrap().count(), 0, "no lock of a deleted session is left");
}

#[tokio::test]
async fn the_oldest_contents_go_first() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    for hash in ["a", "b", "c", "d"] {
        ledger.keep(hash, vec![0; 100]).await.unwrap();
    }
    // Used again: the newest now.
    ledger.keep("a", vec![0; 100]).await.unwrap();
    let bounds = Retention { journal_bytes: 250, ..ALL };
    assert_eq!(ledger.tidy(bounds, 0).await.unwrap().contents, 2);
    assert_eq!(count(&ledger, "SELECT count(*) FROM blob WHERE hash IN ('a', 'd')").await, 2);
    assert_eq!(count(&ledger, "SELECT count(*) FROM blob").await, 2);
    assert_eq!(count(&ledger, "SELECT sum(size) FROM blob_use").await, 200);
}

#[tokio::test]
async fn what_belongs_to_no_session_goes() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let (kept, gone) = (session("/w", 1), session("/w", 1));
    ledger.apply(vec![Change::Session(kept.clone())]).await.unwrap();
    ledger.begin(entry(&kept, "h")).await.unwrap();
    ledger.begin(entry(&gone, "h")).await.unwrap();
    ledger.tidy(ALL, 0).await.unwrap();
    assert_eq!(count(&ledger, "SELECT count(*) FROM journal").await, 1);
}
