use super::*;
use crate::ledger::tests::{entry, message, session, text};
use model::id::MessageId;
use model::journal::{Image, Journal};
use model::store::Store;
use model::undo::{Reach, Step, Target};

fn undo(entries: Vec<EntryId>, messages: Vec<MessageId>, note: Option<MessageId>) -> Undo {
    let step = Step::Put { path: "/w/a".into(), from: Image::Absent, to: Image::Folder, shared: false };
    let target = Target::Since { message: messages[0].clone() };
    let steps = vec![step.clone(), step];
    Undo { target, reach: Reach::Both, steps, entries, messages, note, letter: None, remarks: vec![], time: 1 }
}

#[tokio::test]
async fn what_is_undone_leaves_history_and_journal_and_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let s = session("/w", 1);
    let (a, b, note) = (message(&s), message(&s), message(&s));
    let all = [Change::Session(s.clone()), Change::Message(a.clone()), Change::Message(b.clone())];
    ledger.apply(all.to_vec()).await.unwrap();
    let (first, second) = (ledger.begin(entry(&s, "h")).await.unwrap(), ledger.begin(entry(&s, "h")).await.unwrap());
    ledger.finish(second, Image::Absent).await.unwrap();
    let ids = async |of: &Ledger| -> Vec<MessageId> {
        of.history(&s.id).await.unwrap().iter().map(|m| m.info.id().clone()).collect()
    };
    let live = async |of: &Ledger| -> Vec<EntryId> {
        of.recorded(std::slice::from_ref(&s.id)).await.unwrap().iter().map(|a| a.id).collect()
    };

    let plan = undo(vec![second], vec![b.id().clone()], Some(note.id().clone()));
    let id = ledger.begin_undo(&s.id, &plan).await.unwrap();
    ledger.progress(id, UndoState::Applying, 1).await.unwrap();
    let stored = ledger.undos(&s.id).await.unwrap().remove(0);
    assert_eq!((stored.state, stored.done, &stored.undo), (UndoState::Applying, 1, &plan));
    // Until it is over, all of it counts.
    assert_eq!((ids(&ledger).await.len(), live(&ledger).await.len()), (2, 2));

    let told = WithParts { info: note.clone(), parts: vec![text(&note, "taken back")] };
    ledger.undone(id, Some(told)).await.unwrap();
    assert_eq!(ids(&ledger).await, [a.id().clone(), note.id().clone()]);
    assert_eq!(live(&ledger).await, [first]);
    let stored = ledger.undos(&s.id).await.unwrap().remove(0);
    assert_eq!((stored.state, stored.done), (UndoState::Done, 2));
    let whole = ledger.told(&s.id).await.unwrap();
    let undone: Vec<bool> = whole.iter().map(|t| t.undone_by.is_some()).collect();
    assert_eq!(undone, [false, true, false]);

    drop(ledger);
    let ledger = Ledger::open(dir.path()).unwrap();
    ledger.redone(id, true).await.unwrap();
    assert_eq!(ids(&ledger).await, [a.id().clone(), b.id().clone()]);
    assert_eq!(live(&ledger).await, [first, second]);
    assert_eq!(ledger.undos(&s.id).await.unwrap()[0].state, UndoState::Redone);
}

#[tokio::test]
async fn contents_are_found_and_missed_by_their_hash() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    ledger.keep("a", b"1".to_vec()).await.unwrap();
    let both = || vec!["a".to_owned(), "b".to_owned()];
    assert_eq!(ledger.contents(both()).await.unwrap(), [("a".into(), b"1".to_vec())]);
    assert_eq!(ledger.missing(both()).await.unwrap(), ["b"]);
}
