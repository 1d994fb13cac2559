//! Undo against a disk and a ledger in memory: what it takes back, what it refuses, and laws over random work.

mod laws;
mod world;

use super::*;
use model::id::CallId;
use model::undo::Disk;
use std::path::Path;
use world::World;

#[tokio::test]
async fn work_is_taken_back_and_put_back() {
    let mut w = World::new(&[("/w/a", "1"), ("/w/gone", "g")]);
    let prompt = w.prompt();
    w.answer("c1");
    w.write("/w/a", "2");
    w.write("/w/new", "n");
    w.answer("c2");
    w.write("/w/a", "3");
    w.remove("/w/gone");
    let (after, talk) = (w.files(), w.talk());

    let (plan, obstacles) = w.rewinder().preview(&w.session, None, Reach::Both).await.unwrap();
    assert_eq!(obstacles, []);
    let lines: Vec<String> = plan.steps.iter().map(describe).collect();
    assert_eq!(lines, ["removed /w/new", "restored /w/a", "brought back /w/gone"]);
    assert_eq!(w.files(), after, "a preview does nothing");

    let done = w.rewinder().undo(&w.session, None, Reach::Both).await.unwrap();
    assert_eq!((done.state, &done.undo), (UndoState::Done, &Undo { time: done.undo.time, ..plan }));
    assert_eq!(w.files(), [("/w/a".into(), "1".into()), ("/w/gone".into(), "g".into())]);
    assert_eq!(done.undo.target, Target::Since { message: prompt });
    assert_eq!(w.talk().len(), 0);

    w.rewinder().redo(&w.session, Reach::Both).await.unwrap();
    assert_eq!((w.files(), w.talk()), (after, talk));
    let nothing = w.rewinder().redo(&w.session, Reach::Both).await;
    assert!(matches!(nothing, Err(UndoError::NothingToRedo(_))), "{nothing:?}");
}

#[tokio::test]
async fn files_and_talk_go_apart() {
    let mut w = World::new(&[("/w/a", "1")]);
    w.prompt();
    w.answer("c1");
    w.write("/w/a", "2");
    let target = || None;
    w.rewinder().undo(&w.session, target(), Reach::Talk).await.unwrap();
    assert_eq!((w.text("/w/a"), w.talk().len()), ("2".into(), 0));
    w.rewinder().redo(&w.session, Reach::Both).await.unwrap();
    assert_eq!(w.talk().len(), 2);
    w.rewinder().undo(&w.session, target(), Reach::Files).await.unwrap();
    // The words stay, and the model is told.
    assert_eq!((w.text("/w/a"), w.talk().len()), ("1".into(), 3));
    assert!(w.talk()[2].contains("took back") && w.talk()[2].contains("/w/a"), "{:?}", w.talk());
    w.rewinder().redo(&w.session, Reach::Both).await.unwrap();
    assert_eq!((w.text("/w/a"), w.talk().len()), ("2".into(), 2));
}

#[tokio::test]
async fn a_call_a_step_and_a_child_are_taken_back_alone() {
    let mut w = World::new(&[("/w/a", "1"), ("/w/b", "1"), ("/w/c", "1")]);
    w.prompt();
    let step = w.answer("c1");
    w.write("/w/a", "2");
    w.answer("c2");
    w.write("/w/b", "2");
    let child = w.begin_child("c2");
    w.write("/w/c", "2");
    let call = |id: &str| Some(Target::Call { call: CallId::given(id) });

    w.rewinder().undo(&w.session, Some(Target::Child { session: child }), Reach::Both).await.unwrap();
    assert_eq!((w.text("/w/a"), w.text("/w/b"), w.text("/w/c")), ("2".into(), "2".into(), "1".into()));
    w.rewinder().redo(&w.session, Reach::Both).await.unwrap();
    // With a call goes what it began.
    w.rewinder().undo(&w.session, call("c2"), Reach::Both).await.unwrap();
    assert_eq!((w.text("/w/a"), w.text("/w/b"), w.text("/w/c")), ("2".into(), "1".into(), "1".into()));
    let told = w.talk().len();
    w.rewinder().undo(&w.session, Some(Target::Step { message: step }), Reach::Both).await.unwrap();
    assert_eq!((w.text("/w/a"), w.talk().len()), ("1".into(), told - 1));
    let none = w.rewinder().undo(&w.session, call("c9"), Reach::Both).await;
    assert!(matches!(none, Err(UndoError::NoCall(..))), "{none:?}");
}

/// What stands in the way is named, and nothing is done.
async fn refused(w: &World, target: Option<Target>, expected: &[Obstacle]) {
    let before = (w.files(), w.talk());
    let error = w.rewinder().undo(&w.session, target, Reach::Both).await.unwrap_err();
    assert!(matches!(&error, UndoError::Obstacles(found) if found == expected), "{error}");
    assert_eq!((w.files(), w.talk()), before);
    assert_eq!(w.rewinder().half_done(&w.session).await.unwrap(), None);
}

#[tokio::test]
async fn what_someone_else_changed_is_not_overwritten() {
    let mut w = World::new(&[("/w/a", "1"), ("/w/b", "1")]);
    w.prompt();
    w.answer("c1");
    w.write("/w/a", "2");
    w.write("/w/b", "2");
    w.somebody("/w/b", "theirs");
    refused(&w, None, &[Obstacle::Changed { path: "/w/b".into() }]).await;
    // Whoever put it back himself is in nobody's way.
    w.somebody("/w/b", "1");
    w.rewinder().undo(&w.session, None, Reach::Both).await.unwrap();
    assert_eq!((w.text("/w/a"), w.text("/w/b")), ("1".into(), "1".into()));
    w.somebody("/w/a", "theirs");
    let redo = w.rewinder().redo(&w.session, Reach::Both).await;
    assert!(matches!(redo, Err(UndoError::Obstacles(_))), "{redo:?}");
    assert_eq!(w.text("/w/a"), "theirs");
}

#[tokio::test]
async fn a_later_call_that_builds_on_it_is_named() {
    let mut w = World::new(&[("/w/a", "1")]);
    w.prompt();
    w.answer("c1");
    w.write("/w/a", "2");
    let message = w.answer("c2");
    w.write("/w/a", "3");
    let built = Obstacle::BuiltOn { path: "/w/a".into(), call: CallId::given("c2"), message };
    refused(&w, Some(Target::Call { call: CallId::given("c1") }), &[built]).await;
}

#[tokio::test]
async fn a_content_that_is_gone_is_not_made_up() {
    let mut w = World::new(&[("/w/a", "1")]);
    w.prompt();
    w.answer("c1");
    w.write("/w/a", "2");
    w.ledger.state.lock().unwrap().blobs.clear();
    refused(&w, None, &[Obstacle::NotKept { path: "/w/a".into() }]).await;
}

#[tokio::test]
async fn a_folder_in_which_somebody_put_something_stays() {
    let mut w = World::new(&[]);
    w.prompt();
    w.answer("c1");
    w.make_folder("/w/d");
    w.write("/w/d/mine", "1");
    w.somebody("/w/d/theirs", "t");
    let done = w.rewinder().undo(&w.session, None, Reach::Both).await.unwrap();
    assert_eq!(w.files(), [("/w/d".into(), "folder".into()), ("/w/d/theirs".into(), "t".into())]);
    assert_eq!(done.undo.remarks, ["/w/d stays: /w/d/theirs lies in it"]);
}

#[tokio::test]
async fn a_folder_that_somebody_removed_is_named() {
    let mut w = World::new(&[("/w/d/a", "1")]);
    w.prompt();
    w.answer("c1");
    w.write("/w/b", "1");
    w.remove("/w/d/a");
    w.disk.set(Path::new("/w/d"), None);
    refused(&w, None, &[Obstacle::Changed { path: "/w/d".into() }]).await;
}

#[tokio::test]
async fn a_moved_folder_comes_back_with_what_nobody_recorded() {
    let mut w = World::new(&[("/w/x/kept", "k")]);
    w.prompt();
    w.answer("c1");
    w.write("/w/x/f", "1");
    w.rename("/w/x", "/w/y");
    w.write("/w/y/f", "2");
    let after = w.files();
    w.rewinder().undo(&w.session, None, Reach::Both).await.unwrap();
    assert_eq!(w.files(), [("/w/x".into(), "folder".into()), ("/w/x/kept".into(), "k".into())]);
    w.rewinder().redo(&w.session, Reach::Both).await.unwrap();
    assert_eq!(w.files(), after);
}

#[tokio::test]
async fn messages_are_not_put_back_between_others() {
    let mut w = World::new(&[("/w/a", "1")]);
    w.prompt();
    w.answer("c1");
    w.write("/w/a", "2");
    w.rewinder().undo(&w.session, None, Reach::Both).await.unwrap();
    w.prompt();
    let redo = w.rewinder().redo(&w.session, Reach::Both).await;
    assert!(matches!(redo, Err(UndoError::TalkWentOn(_))), "{redo:?}");
    w.rewinder().redo(&w.session, Reach::Files).await.unwrap();
    assert_eq!((w.text("/w/a"), w.talk().len()), ("2".into(), 1));
}

#[tokio::test]
async fn prompts_are_taken_back_one_after_the_other() {
    let mut w = World::new(&[("/w/a", "1")]);
    for (call, text) in [("c1", "2"), ("c2", "3")] {
        w.prompt();
        w.answer(call);
        w.write("/w/a", text);
    }
    for (text, left) in [("2", 2), ("1", 0)] {
        w.rewinder().undo(&w.session, None, Reach::Both).await.unwrap();
        assert_eq!((w.text("/w/a"), w.talk().len()), (text.into(), left));
    }
    let nothing = w.rewinder().undo(&w.session, None, Reach::Both).await;
    assert!(matches!(nothing, Err(UndoError::NothingToUndo(_))), "{nothing:?}");
    for (text, left) in [("2", 2), ("3", 4)] {
        w.rewinder().redo(&w.session, Reach::Both).await.unwrap();
        assert_eq!((w.text("/w/a"), w.talk().len()), (text.into(), left));
    }
}

#[tokio::test]
async fn what_is_not_covered_is_said() {
    let mut w = World::new(&[]);
    w.prompt();
    w.answer_saying("c1", serde_json::json!({"scan": {"uncovered": ["target/ is ignored"]}}));
    w.write("/w/a", "1");
    let (plan, _) = w.rewinder().preview(&w.session, None, Reach::Both).await.unwrap();
    assert_eq!(plan.remarks, ["a program may have changed it, and it is not taken back: target/ is ignored"]);
    assert_eq!(w.disk.look(Path::new("/w/a")).unwrap().image, crate::testing::undo::file_image("1", 0o644));
}

/// A model that goes back finds its own word there, and a redo takes the word away again.
#[tokio::test]
async fn a_session_goes_back_with_a_word_to_itself() {
    let mut w = World::new(&[("/w/a", "1")]);
    w.prompt();
    w.answer("c1");
    let from = w.answer("c2");
    w.write("/w/a", "2");
    let talk = w.talk();
    let go = async |reach| w.rewinder().go_back(&w.session, from.clone(), reach, "it is in b".into()).await;
    go(Reach::Talk).await.unwrap();
    assert_eq!((w.text("/w/a"), w.talk().len()), ("2".into(), 3), "one answer less, one note more");
    assert!(w.talk()[2].contains("it is in b"));
    w.rewinder().redo(&w.session, Reach::Both).await.unwrap();
    assert_eq!(w.talk(), talk);
    w.somebody("/w/a", "theirs");
    let refused = go(Reach::Both).await;
    assert!(matches!(&refused, Err(UndoError::Obstacles(o)) if o.len() == 1), "{refused:?}");
    assert_eq!((w.text("/w/a"), w.talk()), ("theirs".into(), talk));
}
