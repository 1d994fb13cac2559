use super::*;
use crate::ledger::tests::{message, session};
use model::inbox::Sender;
use model::message::{AssistantMessage, Message};
use model::store::{Change, Store};
use std::sync::Arc;

fn letter(delivery: Delivery, text: &str) -> Letter {
    Letter { delivery, sender: Sender::Person, text: text.into(), created: 7 }
}

async fn open(dir: &std::path::Path) -> (Arc<Ledger>, SessionId) {
    let ledger = Ledger::open(dir).unwrap();
    let s = session("/w", 1);
    ledger.apply(vec![Change::Session(s.clone())]).await.unwrap();
    (ledger, s.id)
}

async fn texts(ledger: &Ledger, id: &SessionId) -> Vec<String> {
    ledger.waiting(id).await.unwrap().into_iter().map(|w| w.letter.text).collect()
}

#[tokio::test]
async fn letters_are_taken_by_kind_and_can_be_changed_until_then() {
    use Delivery::{Queue, Steer};
    let dir = tempfile::tempdir().unwrap();
    let (ledger, id) = open(dir.path()).await;
    let mut ids = vec![];
    for (kind, text) in [(Queue, "q1"), (Steer, "s1"), (Queue, "q2"), (Steer, "s2"), (Steer, "s3")] {
        ids.push(ledger.put(&id, letter(kind, text)).await.unwrap());
    }
    assert!(ledger.rewrite(&id, ids[3], "s2, \"better\"".into()).await.unwrap());
    assert!(ledger.withdraw(&id, ids[4]).await.unwrap());
    let taken = |w: Vec<Waiting>| w.into_iter().map(|w| w.letter.text).collect::<Vec<_>>();
    assert_eq!(taken(ledger.take(&id, Steer).await.unwrap()), ["s1", "s2, \"better\""], "all that steer");
    assert_eq!(taken(ledger.take(&id, Queue).await.unwrap()), ["q1"], "the first of the queue");
    assert_eq!(texts(&ledger, &id).await, ["q2"]);
    for id_taken in [ids[0], ids[1]] {
        assert!(!ledger.withdraw(&id, id_taken).await.unwrap(), "taken");
        assert!(!ledger.rewrite(&id, id_taken, "late".into()).await.unwrap(), "taken");
    }
    let stranger = session("/w", 1).id;
    assert!(!ledger.withdraw(&stranger, ids[2]).await.unwrap(), "of another session");
}

/// What was taken and not delivered comes back; what was delivered is gone with the transaction of its message.
#[tokio::test]
async fn a_letter_is_delivered_once() {
    let dir = tempfile::tempdir().unwrap();
    let (ledger, id) = open(dir.path()).await;
    let first = ledger.put(&id, letter(Delivery::Steer, "first")).await.unwrap();
    ledger.put(&id, letter(Delivery::Steer, "second")).await.unwrap();
    assert_eq!(ledger.take(&id, Delivery::Steer).await.unwrap().len(), 2);
    let info = ledger.session(&id).await.unwrap();
    ledger.apply(vec![Change::Message(message(&info)), Change::Delivered(first)]).await.unwrap();
    drop(ledger);
    let ledger = Ledger::open(dir.path()).unwrap();
    assert!(texts(&ledger, &id).await.is_empty());
    ledger.put_back(&id).await.unwrap();
    assert_eq!(texts(&ledger, &id).await, ["second"]);
}

#[tokio::test]
async fn an_inbox_has_bounds_and_an_owner() {
    let dir = tempfile::tempdir().unwrap();
    let (ledger, id) = open(dir.path()).await;
    let nobody = session("/w", 1).id;
    let gone = ledger.put(&nobody, letter(Delivery::Queue, "x")).await.unwrap_err();
    assert!(matches!(gone, StoreError::NoSession(_)), "{gone}");
    let long = ledger.put(&id, letter(Delivery::Queue, &"x".repeat(MAX_LETTER + 1))).await.unwrap_err();
    assert!(matches!(long, StoreError::InboxFull { .. }), "{long}");
    for _ in 0..MAX_LETTERS {
        ledger.put(&id, letter(Delivery::Queue, "x")).await.unwrap();
    }
    let full = ledger.put(&id, letter(Delivery::Queue, "x")).await.unwrap_err();
    assert!(full.to_string().contains("withdraw one"), "{full}");
}

#[tokio::test]
async fn the_inbox_goes_with_its_session() {
    let dir = tempfile::tempdir().unwrap();
    let (ledger, id) = open(dir.path()).await;
    ledger.put(&id, letter(Delivery::Queue, "x")).await.unwrap();
    ledger.delete(&id).await.unwrap();
    assert!(texts(&ledger, &id).await.is_empty());
}

#[tokio::test]
async fn open_messages_of_descendants_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let (ledger, root) = open(dir.path()).await;
    let below = |parent: &SessionId| model::session::Session { parent_id: Some(parent.clone()), ..session("/w", 1) };
    let (child, done) = (below(&root), below(&root));
    let grandchild = below(&child.id);
    let answer = |s: &model::session::Session, completed| {
        let text = serde_json::json!({
            "role": "assistant", "id": model::id::MessageId::new(), "sessionID": s.id, "parentID": "msg_1",
            "time": {"created": 1, "completed": completed}, "providerID": "p", "modelID": "m", "agent": "a",
            "path": {"cwd": "/w", "root": "/w"}, "cost": 0.0, "tokens": s.tokens
        });
        let mut info: AssistantMessage = serde_json::from_value(text).unwrap();
        info.time.completed = completed;
        Change::Message(Message::Assistant(Box::new(info)))
    };
    let sessions = [&child, &done, &grandchild].map(|s| Change::Session(s.clone()));
    let messages = [answer(&child, None), answer(&done, Some(2)), answer(&grandchild, None)];
    ledger.apply(sessions.into_iter().chain(messages).collect()).await.unwrap();
    let found: Vec<SessionId> = ledger.unfinished(&root).await.unwrap().into_iter().map(|s| s.id).collect();
    assert_eq!(found, [child.id.clone(), grandchild.id]);
    assert!(ledger.unfinished(&done.id).await.unwrap().is_empty());
}
