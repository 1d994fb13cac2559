//! Several mounts, of which some are read-only, and what a grant leaves out of a folder that it names.

use super::super::again;
use super::*;
use ErrorCode::NotPermitted;

/// `sub` read-only and `open` read-write, each with a file.
fn two() -> (World, Call) {
    let world = World::new();
    fs::create_dir(world.at("open")).unwrap();
    fs::write(world.at("sub/kept"), "kept").unwrap();
    fs::write(world.at("open/own"), "own").unwrap();
    let mounts = [("sub", FsPerms::ReadOnly), ("open", FsPerms::ReadWrite)];
    let call = world.call_mounted(CallGrant::default(), Rules::default(), &mounts, &[]);
    (world, call)
}

fn mounted(call: &mut Call, name: &str) -> Fd {
    let all = call.view().get_directories().unwrap();
    all.into_iter().find(|(_, n)| n == name).unwrap().0
}

/// Attack 3: what is read-only in one mount does not become writable by a second name in another, nor by moving there.
#[tokio::test]
async fn nothing_leaves_a_read_only_mount_or_enters_it() {
    let (world, mut call) = two();
    let (sub, open) = (mounted(&mut call, "sub"), mounted(&mut call, "open"));
    for (from, old, to, new) in [(&sub, "kept", &open, "mine"), (&open, "own", &sub, "planted")] {
        let none = PathFlags::empty();
        let linked = call.view().link_at(again(from), none, old.into(), again(to), new.into()).await;
        assert_eq!(done(linked), Err(NotPermitted), "link {old} as {new}");
        let renamed = call.view().rename_at(again(from), old.into(), again(to), new.into()).await;
        assert_eq!(done(renamed), Err(NotPermitted), "rename {old} to {new}");
    }
    assert_eq!(world.journalled(), [""; 0]);
    // A link from one mount into the other is no way there: nothing is opened through it.
    let planted = call.view().symlink_at(again(&open), "../sub/kept".into(), "l".into()).await;
    assert_eq!(done(planted), Ok(()));
    for (flags, access) in [(OpenFlags::TRUNCATE, DescriptorFlags::WRITE), (OpenFlags::empty(), DescriptorFlags::READ)]
    {
        let opened = call.view().open_at(again(&open), PathFlags::SYMLINK_FOLLOW, "l".into(), flags, access).await;
        assert_eq!(opened.map(drop).map_err(code), Err(NotPermitted));
    }
    assert_eq!((world.text_of("sub/kept"), world.text_of("open/own")), ("kept".into(), "own".into()));
    assert!(!world.at("open/mine").exists() && !world.at("sub/planted").exists());
}

/// Attack 4: every way to change a file of a read-only mount.
#[tokio::test]
async fn a_read_only_mount_is_changed_in_no_way() {
    let (world, mut call) = two();
    let sub = mounted(&mut call, "sub");
    let flags = [
        (OpenFlags::TRUNCATE, DescriptorFlags::READ),
        (OpenFlags::TRUNCATE, DescriptorFlags::empty()),
        (OpenFlags::empty(), DescriptorFlags::WRITE),
        (OpenFlags::CREATE, DescriptorFlags::READ),
        (OpenFlags::empty(), DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY),
    ];
    for (open, access) in flags {
        let opened = call.view().open_at(again(&sub), PathFlags::empty(), "kept".into(), open, access).await;
        if let Ok(fd) = opened {
            let cut = call.view().set_size(again(&fd), 0).await;
            assert!(cut.is_err(), "{open:?} {access:?}");
            let written = call.view().write(again(&fd), b"x".to_vec(), 0).await;
            assert!(written.is_err(), "{open:?} {access:?}");
        }
    }
    assert_eq!(world.text_of("sub/kept"), "kept");
    assert_eq!(world.journalled(), [""; 0]);
}

#[tokio::test]
async fn what_the_grant_leaves_out_is_out_of_reach() {
    let world = World::new();
    fs::write(world.at("sub/deep/x"), "private").unwrap();
    let mounts = [(".", FsPerms::ReadWrite)];
    let mut call = world.call_mounted(CallGrant::default(), Rules::default(), &mounts, &["sub/deep"]);
    assert_eq!(call.read("sub/deep/x").await, Err(NotPermitted));
    assert!(call.funnel.refusal().unwrap().message.contains("left out of what was granted"));
    assert_eq!(call.write("sub/deep/x", "new").await, Err(NotPermitted));
    assert_eq!(call.write("sub/deep/new", "new").await, Err(NotPermitted));
    let root = call.root();
    // Moved away with the folder above it, it would have another name.
    let moved = call.view().rename_at(again(&root), "sub".into(), again(&root), "away".into()).await;
    assert_eq!(done(moved), Err(NotPermitted));
    assert_eq!(call.read("a.txt").await.as_deref(), Ok("old"));
    assert_eq!(call.write("sub/new", "new").await, Ok(()));
    assert_eq!(world.text_of("sub/deep/x"), "private");
}

/// One file of a folder: the rest of it is neither read, nor changed, nor told of.
#[tokio::test]
async fn a_single_file_is_granted_alone() {
    let world = World::new();
    let mut call = world.call_granted(json!({ "a.txt": "ro", "sub/new": "rw" }));
    let (root, sub) = (mounted(&mut call, "."), mounted(&mut call, "sub"));
    let follow = PathFlags::SYMLINK_FOLLOW;
    let open = async |call: &mut Call, dir: &Fd, path: &str, open, access| {
        call.view().open_at(again(dir), follow, path.into(), open, access).await.map_err(code)
    };
    let (read, write) = (DescriptorFlags::READ, DescriptorFlags::WRITE);
    assert!(open(&mut call, &root, "a.txt", OpenFlags::empty(), read).await.is_ok());
    for (dir, path, flags, access) in [
        (&root, "a.txt", OpenFlags::empty(), write),
        (&root, "a.txt", OpenFlags::TRUNCATE, read),
        (&root, "b.txt", OpenFlags::empty(), read),
        (&root, "c.txt", OpenFlags::CREATE, write),
        (&sub, "other", OpenFlags::CREATE, write),
    ] {
        assert_eq!(open(&mut call, dir, path, flags, access).await.map(drop), Err(NotPermitted), "{path} {flags:?}");
    }
    assert!(open(&mut call, &sub, "new", OpenFlags::CREATE, write).await.is_ok());
    let stat =
        async |call: &mut Call, path: &str| call.view().stat_at(again(&root), follow, path.into()).await.map(drop);
    assert_eq!(done(stat(&mut call, "a.txt").await), Ok(()));
    assert_eq!(done(stat(&mut call, "b.txt").await), Err(NotPermitted));
    assert_eq!(call.view().read_directory(again(&root)).await.map(drop).map_err(code), Err(NotPermitted));
    let made = call.view().create_directory_at(again(&sub), "folder".into()).await;
    assert_eq!(done(made), Err(NotPermitted));
    for (from, old, to, new) in
        [(&root, "a.txt", &sub, "new"), (&sub, "new", &sub, "moved"), (&root, "b.txt", &sub, "new")]
    {
        let moved = call.view().rename_at(again(from), old.into(), again(to), new.into()).await;
        assert_eq!(done(moved), Err(NotPermitted), "{old} to {new}");
    }
    assert_eq!((world.text_of("a.txt"), world.text_of("b.txt")), ("old".into(), "other".into()));
}
