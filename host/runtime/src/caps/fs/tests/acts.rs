//! What each act asks, does and leaves in the journal.

use super::*;
use ErrorCode::{Access, Exist, IsDirectory, NoEntry, NotDirectory, NotPermitted};
use std::time::{Duration, Instant};

enum Do {
    Read(&'static str),
    List(&'static str),
    Stat(&'static str),
    Write(&'static str),
    Append(&'static str),
    Truncate(&'static str),
    CreateNew(&'static str),
    Unlink(&'static str),
    Rename(&'static str, &'static str),
    Link(&'static str, &'static str),
    Symlink(&'static str, &'static str),
    MakeFolder(&'static str),
    RemoveFolder(&'static str),
}

async fn act(call: &mut Call, what: &Do) -> Outcome<()> {
    let root = call.root();
    let again = super::super::again;
    match *what {
        Do::Read(path) => call.read(path).await.map(drop),
        Do::List(path) => call.list(path).await.map(drop),
        Do::Stat(path) => {
            call.view().stat_at(root, PathFlags::SYMLINK_FOLLOW, path.into()).await.map(drop).map_err(code)
        }
        Do::Write(path) => call.write(path, "new").await,
        Do::Append(path) => {
            let at = call.view().stat_at(root, PathFlags::SYMLINK_FOLLOW, path.into()).await.map_err(code)?.size;
            call.put(path, OpenFlags::empty(), "+", at).await
        }
        Do::Truncate(path) => call.put(path, OpenFlags::TRUNCATE, "", 0).await,
        Do::CreateNew(path) => call.put(path, OpenFlags::CREATE | OpenFlags::EXCLUSIVE, "new", 0).await,
        Do::Unlink(path) => done(call.view().unlink_file_at(root, path.into()).await),
        Do::Rename(from, to) => done(call.view().rename_at(again(&root), from.into(), again(&root), to.into()).await),
        Do::Link(from, to) => {
            let none = PathFlags::empty();
            done(call.view().link_at(again(&root), none, from.into(), again(&root), to.into()).await)
        }
        Do::Symlink(target, path) => done(call.view().symlink_at(root, target.into(), path.into()).await),
        Do::MakeFolder(path) => done(call.view().create_directory_at(root, path.into()).await),
        Do::RemoveFolder(path) => done(call.view().remove_directory_at(root, path.into()).await),
    }
}

/// What is in the folder before each case: see [`World::new`], and
fn furnish(world: &World) {
    let link = |target: &str, path: &str| std::os::unix::fs::symlink(target, world.at(path)).unwrap();
    fs::write(world.at(".env"), "KEY=1").unwrap();
    fs::write(world.at("sub/.env"), "KEY=2").unwrap();
    fs::write(world.at("denied.txt"), "denied").unwrap();
    fs::create_dir(world.at("empty")).unwrap();
    link("a.txt", "inside");
    link("../out/secret", "leaves");
    link("../../out", "sub/leaves");
    link("../../a.txt", "sub/deep/up");
    link(world.at("a.txt").to_str().unwrap(), "absolute");
    link("loop", "loop");
    rustix::fs::mkfifoat(rustix::fs::CWD, world.at("fifo"), rustix::fs::Mode::from_raw_mode(0o644)).unwrap();
}

/// Does it in a world of its own; `put` and `journal` are what is put to the gate and journalled.
async fn check(what: Do, expected: Outcome<()>, put: &[&str], journal: &[&str]) {
    let world = World::new();
    furnish(&world);
    let rules = vec![("write denied", Action::Deny), ("read denied", Action::Deny)];
    let mut call = world.call_with(CallGrant::default(), Rules { rules, ..Rules::default() });
    let begun = Instant::now();
    let outcome = act(&mut call, &what).await;
    assert!(begun.elapsed() < Duration::from_secs(1), "nothing blocks");
    call.state.settle(true).await;
    assert_eq!(outcome, expected);
    assert_eq!(call.put_to_gate(), put);
    assert_eq!(world.journalled(), journal);
    assert_eq!(fs::read_to_string(world.at("../out/secret")).unwrap(), "secret");
    assert_eq!(world.text_of("denied.txt"), "denied");
}

#[tokio::test]
async fn reads() {
    check(Do::Read("a.txt"), Ok(()), &["read a.txt"], &[]).await;
    check(Do::Read("sub/../a.txt"), Ok(()), &["read a.txt"], &[]).await;
    check(Do::Read("inside"), Ok(()), &["read a.txt"], &[]).await;
    check(Do::Read("sub/deep/up"), Ok(()), &["read a.txt"], &[]).await;
    check(Do::Read("denied.txt"), Err(NotPermitted), &["read denied.txt"], &[]).await;
    check(Do::Read("nothing"), Err(NoEntry), &[], &[]).await;
    check(Do::Read("a.txt/"), Err(NotDirectory), &[], &[]).await;
    check(Do::List("sub"), Ok(()), &["read sub"], &[]).await;
    check(Do::Stat("a.txt"), Ok(()), &[], &[]).await;
    check(Do::Stat("denied.txt"), Err(NotPermitted), &[], &[]).await;
}

#[tokio::test]
async fn ways_out() {
    for path in
        ["leaves", "sub/leaves/secret", "../out/secret", "../..", "sub/../../out/secret", "absolute", "/etc/passwd"]
    {
        check(Do::Read(path), Err(NotPermitted), &[], &[]).await;
        check(Do::Write(path), Err(NotPermitted), &[], &[]).await;
        check(Do::Stat(path), Err(NotPermitted), &[], &[]).await;
    }
    check(Do::Read("loop"), Err(ErrorCode::Loop), &[], &[]).await;
    check(Do::Write("../out/new"), Err(NotPermitted), &[], &[]).await;
    check(Do::Unlink("../out/secret"), Err(NotPermitted), &[], &[]).await;
    check(Do::Unlink("sub/leaves/secret"), Err(NotPermitted), &[], &[]).await;
    check(Do::MakeFolder("/made"), Err(NotPermitted), &[], &[]).await;
    check(Do::Rename("a.txt", "sub/leaves/secret"), Err(NotPermitted), &[], &[]).await;
    check(Do::Link("../out/secret", "mine"), Err(NotPermitted), &[], &[]).await;
    check(Do::Read("a\0b"), Err(ErrorCode::Invalid), &[], &[]).await;
    check(Do::Read(Box::leak("x".repeat(1 << 16).into_boxed_str())), Err(ErrorCode::NameTooLong), &[], &[]).await;
}

#[tokio::test]
async fn pipes() {
    check(Do::Read("fifo"), Err(NotPermitted), &[], &[]).await;
    check(Do::Write("fifo"), Err(NotPermitted), &[], &[]).await;
    check(Do::Stat("fifo"), Ok(()), &[], &[]).await;
    check(Do::Unlink("fifo"), Ok(()), &["write fifo"], &["Unlink fifo special → -"]).await;
}

#[tokio::test]
async fn writes() {
    check(Do::Write("a.txt"), Ok(()), &["write a.txt"], &["Write a.txt `old` → `new`"]).await;
    check(Do::Write("sub/../a.txt"), Ok(()), &["write a.txt"], &["Write a.txt `old` → `new`"]).await;
    check(Do::Write("inside"), Ok(()), &["write a.txt"], &["Write a.txt `old` → `new`"]).await;
    check(Do::Append("a.txt"), Ok(()), &["write a.txt"], &["Write a.txt `old` → `old+`"]).await;
    check(Do::Truncate("a.txt"), Ok(()), &["write a.txt"], &["Write a.txt `old` → ``"]).await;
    check(Do::Write("sub/n"), Ok(()), &["write sub/n"], &["Create sub/n - → `new`"]).await;
    check(Do::CreateNew("n"), Ok(()), &["write n"], &["Create n - → `new`"]).await;
    check(Do::CreateNew("a.txt"), Err(Exist), &[], &[]).await;
    check(Do::Write("denied.txt"), Err(NotPermitted), &["write denied.txt"], &[]).await;
    check(Do::Write("denied-new"), Err(NotPermitted), &["write denied-new"], &[]).await;
    check(Do::Write("sub"), Err(IsDirectory), &[], &[]).await;
    check(Do::Write("n/"), Err(IsDirectory), &[], &[]).await;
    check(Do::Write("none/n"), Err(NoEntry), &[], &[]).await;
}

#[tokio::test]
async fn entries() {
    check(Do::Unlink("a.txt"), Ok(()), &["write a.txt"], &["Unlink a.txt `old` → -"]).await;
    check(Do::Unlink("inside"), Ok(()), &["write inside"], &["Unlink inside link:a.txt → -"]).await;
    check(Do::Unlink("nothing"), Err(NoEntry), &[], &[]).await;
    check(Do::Unlink("sub"), Err(IsDirectory), &[], &[]).await;
    check(Do::Unlink("a.txt/"), Err(NotDirectory), &[], &[]).await;
    check(Do::Unlink("denied.txt"), Err(NotPermitted), &["write denied.txt"], &[]).await;
    check(Do::MakeFolder("f/"), Ok(()), &["write f"], &["MakeFolder f - → folder"]).await;
    check(Do::MakeFolder("sub"), Err(Exist), &[], &[]).await;
    check(Do::RemoveFolder("empty"), Ok(()), &["write empty"], &["RemoveFolder empty folder → -"]).await;
    check(Do::RemoveFolder("sub"), Err(ErrorCode::NotEmpty), &["write sub"], &["RemoveFolder sub folder → folder"])
        .await;
    check(Do::Symlink("../b.txt", "sub/l"), Ok(()), &["write sub/l"], &["Symlink sub/l - → link:../b.txt"]).await;
    check(Do::Symlink("../out/secret", "l"), Err(NotPermitted), &[], &[]).await;
    check(Do::Symlink("sub/../../out", "l"), Err(NotPermitted), &[], &[]).await;
    check(Do::Symlink("/etc", "l"), Err(NotPermitted), &[], &[]).await;
    check(
        Do::Link("a.txt", "sub/h"),
        Ok(()),
        &["read a.txt", "write a.txt", "write sub/h"],
        &["LinkFrom a.txt `old` → `old`", "Link sub/h - → `old`"],
    )
    .await;
    check(Do::Link("denied.txt", "h"), Err(NotPermitted), &["read denied.txt"], &[]).await;
}

#[tokio::test]
async fn renames() {
    let put = ["read a.txt", "write a.txt", "write sub/c"];
    let journal = ["RenameFrom a.txt `old` → -", "RenameTo sub/c - → `old`"];
    check(Do::Rename("a.txt", "sub/c"), Ok(()), &put, &journal).await;
    let put = ["read a.txt", "write a.txt", "write b.txt"];
    let journal = ["RenameFrom a.txt `old` → -", "RenameTo b.txt `other` → `old`"];
    check(Do::Rename("a.txt", "b.txt"), Ok(()), &put, &journal).await;
    check(Do::Rename("denied.txt", "c"), Err(NotPermitted), &["read denied.txt"], &[]).await;
    check(
        Do::Rename("a.txt", "denied.txt"),
        Err(NotPermitted),
        &["read a.txt", "write a.txt", "write denied.txt"],
        &[],
    )
    .await;
    check(Do::Rename("nothing", "c"), Err(NoEntry), &[], &[]).await;
    check(Do::Rename("a.txt", "c/"), Err(NotDirectory), &[], &[]).await;
    let journal = ["RenameFrom empty folder → -", "RenameTo full - → folder"];
    check(Do::Rename("empty", "full/"), Ok(()), &["read empty", "write empty", "write full"], &journal).await;
    // A link that leads inside from where it is, and outside from where it would be.
    check(Do::Rename("sub/deep/up", "up"), Err(NotPermitted), &[], &[]).await;
    check(Do::Link("sub/deep/up", "up"), Err(NotPermitted), &[], &[]).await;
    check(Do::Rename("sub/deep", "deep"), Err(NotPermitted), &[], &[]).await;
    let journal = ["RenameFrom sub/deep folder → -", "RenameTo sub/flat - → folder"];
    let put = ["read sub/deep", "write sub/deep", "write sub/flat"];
    check(Do::Rename("sub/deep", "sub/flat"), Ok(()), &put, &journal).await;
}

#[tokio::test]
async fn a_folder_does_not_carry_away_what_may_not_be_read() {
    let world = World::new();
    furnish(&world);
    let rules = vec![("read sub/.env", Action::Deny)];
    let mut call = world.call_with(CallGrant::default(), Rules { rules, ..Rules::default() });
    assert_eq!(act(&mut call, &Do::Rename("sub", "away")).await, Err(NotPermitted));
    assert!(world.at("sub/.env").exists());
    assert!(call.funnel.refusal().unwrap().message.contains("sub/.env"));
}

#[tokio::test]
async fn a_folder_does_not_carry_away_what_may_not_be_changed() {
    let world = World::new();
    let rules = vec![("write sub/deep", Action::Deny), ("write", Action::Ask)];
    let mut call = world.call_with(CallGrant::default(), Rules { rules, ..Rules::default() });
    assert_eq!(act(&mut call, &Do::Rename("sub", "away")).await, Err(NotPermitted));
    assert_eq!(call.put_to_gate(), [""; 0]);
    assert!(call.funnel.refusal().unwrap().message.contains("sub/deep"));
}

#[tokio::test]
async fn a_read_only_mount_stays_as_it_is() {
    let acts = [
        Do::Write("a.txt"),
        Do::Truncate("a.txt"),
        Do::CreateNew("n"),
        Do::Unlink("a.txt"),
        Do::Rename("a.txt", "c"),
        Do::Link("a.txt", "c"),
        Do::Symlink("a.txt", "c"),
        Do::MakeFolder("c"),
        Do::RemoveFolder("sub/deep"),
    ];
    let world = World::new();
    let mut call = world.call_on(CallGrant::default(), Rules::default(), FsPerms::ReadOnly);
    for what in acts {
        assert_eq!(act(&mut call, &what).await, Err(NotPermitted));
    }
    assert_eq!((world.text_of("a.txt"), world.journalled().len(), call.put_to_gate().len()), ("old".into(), 0, 0));
}

#[tokio::test]
async fn below_a_named_folder_nobody_is_asked() {
    let world = World::new();
    furnish(&world);
    let rules = vec![(".env", Action::Ask)];
    let mut call = world.call_with(world.grant(&["."], &[]), Rules { rules, ..Rules::default() });
    assert_eq!(call.read("a.txt").await, Ok("old".into()));
    assert_eq!(call.list("sub").await, Ok(vec![".env".into(), "deep".into(), "leaves".into()]));
    assert_eq!(call.read(".env").await, Err(NotPermitted));
    assert_eq!(call.read("sub/.env").await, Err(NotPermitted));
    assert_eq!(act(&mut call, &Do::Stat("sub/.env")).await, Err(NotPermitted));
    assert_eq!(act(&mut call, &Do::Read("fifo")).await, Err(NotPermitted));
    assert_eq!((call.put_to_gate(), call.funnel.refusal()), (vec![], None));
}

#[tokio::test]
async fn what_a_call_names_is_not_asked_for_again() {
    let world = World::new();
    let rules = vec![("", Action::Deny)];
    let mut call = world.call_with(world.grant(&["b.txt"], &["a.txt"]), Rules { rules, ..Rules::default() });
    assert_eq!(call.read("b.txt").await, Ok("other".into()));
    assert_eq!(call.write("a.txt", "new").await, Ok(()));
    assert_eq!(act(&mut call, &Do::Stat("sub")).await, Err(NotPermitted));
    assert_eq!(call.put_to_gate(), [""; 0]);
    assert_eq!(call.write("b.txt", "new").await, Err(NotPermitted));
    assert_eq!(call.put_to_gate(), ["write b.txt"]);
    assert!(call.funnel.refusal().is_some());
}

#[tokio::test]
async fn a_folder_that_moves_during_the_ask_is_not_touched() {
    let world = World::new();
    fs::write(world.at("sub/x"), "x").unwrap();
    for what in [Do::Write("sub/x"), Do::Write("sub/new"), Do::Unlink("sub/x"), Do::Read("sub/x")] {
        let (from, to) = (world.at("sub"), world.at("moved"));
        let meanwhile: Box<dyn Fn() + Send + Sync> = Box::new(move || drop(fs::rename(&from, &to)));
        let mut call = world.call_with(CallGrant::default(), Rules { meanwhile: Some(meanwhile), ..Rules::default() });
        assert_eq!(act(&mut call, &what).await, Err(NotPermitted));
        assert_eq!((world.text_of("moved/x"), world.journalled().len()), ("x".into(), 0));
        assert!(!world.at("moved/new").exists());
        fs::rename(world.at("moved"), world.at("sub")).unwrap();
    }
}

#[tokio::test]
async fn what_is_gone_is_neither_read_nor_written() {
    let world = World::new();
    for (what, is) in [(Do::Write("a.txt"), NoEntry), (Do::Read("b.txt"), NoEntry)] {
        let ws = world.ws.clone();
        let meanwhile: Box<dyn Fn() + Send + Sync> = Box::new(move || {
            let _ = (fs::remove_file(ws.join("a.txt")), fs::remove_file(ws.join("b.txt")));
            fs::write(ws.join("a.txt"), "theirs").unwrap();
            fs::write(ws.join("b.txt"), "theirs").unwrap();
        });
        let mut call = world.call_with(CallGrant::default(), Rules { meanwhile: Some(meanwhile), ..Rules::default() });
        assert_eq!(act(&mut call, &what).await, Err(is));
    }
    assert_eq!(world.text_of("a.txt"), "theirs");
}

#[tokio::test]
async fn a_handle_for_reading_cannot_write() {
    let world = World::new();
    let mut call = world.call();
    let fd = call.open("a.txt", OpenFlags::CREATE, DescriptorFlags::READ).await.unwrap();
    let again = super::super::again;
    assert!(call.view().write(again(&fd), b"new".into(), 0).await.is_err());
    assert!(call.view().set_size(again(&fd), 0).await.is_err());
    assert_eq!(call.put_to_gate(), ["read a.txt"]);
    assert_eq!(world.text_of("a.txt"), "old");
}

#[tokio::test]
async fn an_unreadable_file_is_not_read() {
    use std::os::unix::fs::PermissionsExt;
    if rustix::process::geteuid().is_root() {
        return;
    }
    let world = World::new();
    fs::set_permissions(world.at("a.txt"), fs::Permissions::from_mode(0o000)).unwrap();
    assert_eq!(world.call().read("a.txt").await, Err(Access));
}

#[tokio::test]
async fn large_contents_are_hashed_and_not_kept() {
    let world = World::new();
    let big = vec![7; (8 << 20) + 1];
    fs::write(world.at("big"), &big).unwrap();
    let mut call = world.call();
    assert_eq!(call.write("big", "small").await, Ok(()));
    call.state.settle(true).await;
    let entries = world.journal.entries.lock().unwrap();
    let Image::File { hash, size, kept, .. } = &entries[0].0.before else { panic!("a file") };
    assert_eq!((hash.as_str(), *size, *kept), (blake3::hash(&big).to_hex().as_str(), big.len() as u64, false));
    assert!(!world.journal.contents.lock().unwrap().contains_key(hash));
}

#[tokio::test]
async fn huge_contents_are_not_even_hashed() {
    let world = World::new();
    fs::File::create(world.at("huge")).unwrap().set_len((256 << 20) + 1).unwrap();
    let mut call = world.call();
    assert_eq!(act(&mut call, &Do::Unlink("huge")).await, Ok(()));
    let entries = world.journal.entries.lock().unwrap();
    let Image::File { hash, size, kept, .. } = &entries[0].0.before else { panic!("a file") };
    assert_eq!((hash.as_str(), *size, *kept), ("", (256 << 20) + 1, false));
}

#[tokio::test]
async fn times_are_a_change() {
    use wasmtime_wasi::p2::bindings::filesystem::types::NewTimestamp;
    let world = World::new();
    let mut call = world.call();
    let root = call.root();
    let then = NewTimestamp::Timestamp(wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime {
        seconds: 1_000_000,
        nanoseconds: 5,
    });
    let flags = PathFlags::SYMLINK_FOLLOW;
    done(call.view().set_times_at(root, flags, "a.txt".into(), NewTimestamp::NoChange, then).await).unwrap();
    let modified = fs::metadata(world.at("a.txt")).unwrap().modified().unwrap();
    assert_eq!(modified, std::time::UNIX_EPOCH + Duration::new(1_000_000, 5));
    assert_eq!(call.put_to_gate(), ["write a.txt"]);
    assert_eq!(world.journalled(), ["SetTimes a.txt `old` → `old`"]);
}

#[tokio::test]
async fn every_write_of_a_call_has_its_own_entry() {
    let world = World::new();
    let mut call = world.call();
    call.write("a.txt", "1").await.unwrap();
    call.write("a.txt", "2").await.unwrap();
    act(&mut call, &Do::Unlink("a.txt")).await.unwrap();
    call.state.settle(true).await;
    let expected = ["Write a.txt `old` → `1`", "Write a.txt `1` → `2`", "Unlink a.txt `2` → -"];
    assert_eq!(world.journalled(), expected);
    assert_eq!(world.journal.entries.lock().unwrap()[0].0.op, Op::Write);
}

#[tokio::test]
async fn what_is_written_through_a_stream_that_outlives_its_handle_is_journalled() {
    let world = World::new();
    let mut call = world.call();
    let fd = call.open("a.txt", OpenFlags::empty(), DescriptorFlags::WRITE).await.unwrap();
    let stream = call.view().write_via_stream(super::super::again(&fd), 0).unwrap();
    call.close(fd);
    act(&mut call, &Do::MakeFolder("f")).await.unwrap();
    let output = call.table.get_mut(&stream).unwrap();
    output.blocking_write_and_flush("NEW".into()).await.unwrap();
    call.table.delete(stream).unwrap();
    call.state.settle(true).await;
    assert_eq!(world.journalled(), ["Write a.txt `old` → `NEW`", "MakeFolder f - → folder"]);
}
