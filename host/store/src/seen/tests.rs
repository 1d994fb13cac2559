use super::*;
use crate::ledger::tests::session;
use model::journal::Journal;
use model::store::{Change, Store};
use std::path::Path;

fn state(size: u64) -> Seen {
    Seen { device: 1, inode: 2, size, modified_ns: 3, changed_ns: 4 }
}

async fn stored(ledger: &Ledger) -> usize {
    let count = |db: &Connection| db.query_row("SELECT count(*) FROM seen", [], |r| r.get::<_, i64>(0));
    usize::try_from(ledger.read("count", count).await.unwrap()).unwrap()
}

async fn last(ledger: &Ledger, id: &SessionId) -> Option<u64> {
    ledger.seen(id, Path::new("/w/a")).await.unwrap().map(|s| s.size)
}

#[tokio::test]
async fn a_note_is_known_at_once_and_lands_with_the_next_change() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let s = session("/w", 1);
    for size in [1, 2] {
        ledger.mark_seen(&s.id, Path::new("/w/a"), state(size)).await.unwrap();
    }
    assert_eq!((last(&ledger, &s.id).await, stored(&ledger).await), (Some(2), 0));
    ledger.apply(vec![Change::Session(s.clone())]).await.unwrap();
    assert_eq!((last(&ledger, &s.id).await, stored(&ledger).await), (Some(2), 1));
    assert!(ledger.notes().is_empty());
}

#[tokio::test]
async fn notes_outlive_a_change_that_fails() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let s = session("/w", 1);
    ledger.mark_seen(&s.id, Path::new("/w/a"), state(1)).await.unwrap();
    let broken = ledger.write("fail", |tx| tx.execute("INSERT INTO nowhere VALUES (1)", [])).await;
    assert!(broken.is_err());
    assert_eq!((last(&ledger, &s.id).await, stored(&ledger).await), (Some(1), 0));
    ledger.try_out().await.unwrap();
    assert_eq!(stored(&ledger).await, 1);
}

#[tokio::test]
async fn what_waits_when_the_ledger_closes_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let s = session("/w", 1);
    let ledger = Ledger::open(dir.path()).unwrap();
    ledger.mark_seen(&s.id, Path::new("/w/a"), state(5)).await.unwrap();
    drop(ledger);
    assert_eq!(last(&Ledger::open(dir.path()).unwrap(), &s.id).await, Some(5));
}

#[tokio::test]
async fn no_more_wait_than_their_bound() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let s = session("/w", 1);
    for n in 0..=MOST {
        ledger.mark_seen(&s.id, Path::new(&format!("/w/{n}")), state(1)).await.unwrap();
    }
    assert_eq!(stored(&ledger).await, MOST);
}

#[tokio::test]
async fn a_ledger_that_cannot_be_written_keeps_the_newest() {
    let notes = Notes::default();
    let s = session("/w", 1);
    let note = |n: usize, data: &str| Note { session: s.id.clone(), path: format!("/w/{n}"), data: data.into() };
    for n in 0..MOST + 5 {
        notes.add(note(n, "first"));
    }
    notes.add(note(MOST, "again"));
    assert_eq!(notes.lock().notes.len(), MOST);
    assert_eq!(notes.find(&s.id, "/w/4"), None);
    assert_eq!(notes.find(&s.id, &format!("/w/{MOST}")).as_deref(), Some("again"));
}

#[test]
fn what_came_while_others_were_written_still_waits() {
    let notes = Notes::default();
    let s = session("/w", 1);
    let note = |path: &str, data: &str| Note { session: s.id.clone(), path: path.into(), data: data.into() };
    notes.add(note("a", "1"));
    notes.add(note("b", "1"));
    let written = notes.lock().newest;
    notes.add(note("a", "2"));
    notes.landed(written);
    assert_eq!((notes.find(&s.id, "a").as_deref(), notes.find(&s.id, "b")), (Some("2"), None));
}
