//! Changes by others between two looks of a session.

use super::*;
use ErrorCode::NotPermitted;
use model::fault::FailureKind;

/// A call that names `a.txt`, as the read and the edit tool do.
fn call(world: &World) -> Call {
    world.call_with(world.grant(&["a.txt"], &["a.txt"]), Rules::default())
}

async fn seen(world: &World) {
    let mut reading = call(world);
    assert_eq!(reading.read("a.txt").await, Ok("old".into()));
    reading.state.settle(true).await;
}

async fn write(world: &World, text: &str) -> Outcome<()> {
    let mut writing = call(world);
    let outcome = writing.write("a.txt", text).await;
    writing.state.settle(outcome.is_ok()).await;
    if outcome.is_err() {
        assert_eq!(writing.funnel.refusal().unwrap().kind, FailureKind::Stale);
    }
    outcome
}

/// Somebody else writes, and hides it as far as a program can.
fn change(world: &World, text: &str) {
    let path = world.at("a.txt");
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, text).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
}

#[tokio::test]
async fn a_file_never_seen_may_be_written() {
    assert_eq!(write(&World::new(), "new").await, Ok(()));
}

#[tokio::test]
async fn a_file_seen_and_unchanged_may_be_written_again_and_again() {
    let world = World::new();
    seen(&world).await;
    for text in ["1", "22", "33"] {
        assert_eq!(write(&world, text).await, Ok(()));
    }
}

#[tokio::test]
async fn a_changed_file_is_stale_until_it_is_read_again() {
    for text in ["longer", "OLD"] {
        let world = World::new();
        seen(&world).await;
        change(&world, text);
        assert_eq!(write(&world, "new").await, Err(NotPermitted));
        assert_eq!((world.text_of("a.txt"), world.journalled().len()), (text.into(), 0));
        let mut again = call(&world);
        again.read("a.txt").await.unwrap();
        again.state.settle(true).await;
        assert_eq!(write(&world, "new").await, Ok(()));
    }
}

#[tokio::test]
async fn removing_and_replacing_a_changed_file_is_stale_too() {
    let world = World::new();
    seen(&world).await;
    change(&world, "OLD");
    let mut call = call(&world);
    let root = call.root();
    let again = super::super::again;
    assert_eq!(done(call.view().unlink_file_at(again(&root), "a.txt".into()).await), Err(NotPermitted));
    let over = call.view().rename_at(again(&root), "b.txt".into(), again(&root), "a.txt".into()).await;
    assert_eq!(done(over), Err(NotPermitted));
    assert_eq!((world.text_of("a.txt"), world.text_of("b.txt")), ("OLD".into(), "other".into()));
}

#[tokio::test]
async fn an_edits_own_read_hides_no_foreign_change() {
    let world = World::new();
    seen(&world).await;
    change(&world, "OLD");
    let mut edit = call(&world);
    assert_eq!(edit.read("a.txt").await, Ok("OLD".into()));
    assert_eq!(edit.write("a.txt", "new").await, Err(NotPermitted));
    edit.state.settle(false).await;
    assert_eq!(write(&world, "new").await, Err(NotPermitted), "a call that failed has seen nothing");
}

#[tokio::test]
async fn a_change_between_a_calls_read_and_its_write_counts() {
    let world = World::new();
    let mut edit = call(&world);
    edit.read("a.txt").await.unwrap();
    change(&world, "OLD");
    assert_eq!(edit.write("a.txt", "new").await, Err(NotPermitted));
}

#[tokio::test]
async fn a_change_after_the_read_is_stale_for_the_next_call() {
    let world = World::new();
    let mut reading = call(&world);
    reading.read("a.txt").await.unwrap();
    change(&world, "OLD");
    reading.state.settle(true).await;
    assert_eq!(write(&world, "new").await, Err(NotPermitted));
}

#[tokio::test]
async fn a_change_after_the_write_is_stale_for_the_next_call() {
    let world = World::new();
    let mut writing = call(&world);
    writing.write("a.txt", "new").await.unwrap();
    change(&world, "NEW");
    writing.state.settle(true).await;
    assert_eq!(write(&world, "newer").await, Err(NotPermitted));
}

#[tokio::test]
async fn ones_own_write_is_not_stale_even_if_the_call_fails_later() {
    let world = World::new();
    seen(&world).await;
    let mut writing = call(&world);
    writing.write("a.txt", "1").await.unwrap();
    writing.write("a.txt", "2").await.unwrap();
    writing.state.settle(false).await;
    assert_eq!(write(&world, "3").await, Ok(()));
}

#[tokio::test]
async fn a_file_replaced_by_renaming_is_ones_own() {
    let world = World::new();
    seen(&world).await;
    let mut call = call(&world);
    let root = call.root();
    let again = super::super::again;
    let fd = call.open("tmp", OpenFlags::CREATE, DescriptorFlags::WRITE).await.unwrap();
    done(call.view().rename_at(again(&root), "tmp".into(), again(&root), "a.txt".into()).await).unwrap();
    call.view().write(again(&fd), b"new".into(), 0).await.unwrap();
    call.close(fd);
    call.state.settle(true).await;
    assert_eq!(write(&world, "newer").await, Ok(()));
}

#[tokio::test]
async fn another_name_or_time_is_no_foreign_change() {
    use wasmtime_wasi::p2::bindings::filesystem::types::NewTimestamp::{NoChange, Now};
    let world = World::new();
    seen(&world).await;
    let mut call = call(&world);
    let root = call.root();
    let again = super::super::again;
    let none = PathFlags::empty();
    done(call.view().link_at(again(&root), none, "a.txt".into(), again(&root), "c.txt".into()).await).unwrap();
    done(call.view().set_times_at(again(&root), none, "a.txt".into(), NoChange, Now).await).unwrap();
    call.state.settle(true).await;
    assert_eq!(write(&world, "new").await, Ok(()));
}

#[tokio::test]
async fn only_what_a_call_names_counts_as_seen() {
    let world = World::new();
    let mut search = world.call_with(world.grant(&["."], &[]), Rules::default());
    search.read("a.txt").await.unwrap();
    search.state.settle(true).await;
    change(&world, "OLD");
    assert_eq!(write(&world, "new").await, Ok(()));
}

#[tokio::test]
async fn opening_for_writing_without_writing_changes_nothing() {
    let world = World::new();
    seen(&world).await;
    let mut call = call(&world);
    call.put("a.txt", OpenFlags::empty(), "", 0).await.unwrap();
    call.state.settle(true).await;
    assert_eq!(world.journalled(), ["Write a.txt `old` → `old`"]);
    assert_eq!(write(&world, "new").await, Ok(()));
}
