//! The checks that only a stubborn guest meets: other kinds of files, odd flags, links read and times set, what changes during an ask.

use super::super::again;
use super::*;
use crate::caps::Private;
use ErrorCode::{Invalid, NoEntry, NotPermitted, Unsupported};
use model::permission::Act;
use wasmtime_wasi::p2::bindings::filesystem::types::NewTimestamp;

fn denying(world: &World, rules: &[(&'static str, Action)]) -> Call {
    world.call_with(CallGrant::default(), Rules { rules: rules.to_vec(), ..Rules::default() })
}

/// Somebody does this while the person thinks.
fn while_asked(world: &World, meanwhile: impl Fn() + Send + Sync + 'static) -> Call {
    let meanwhile: Option<Box<dyn Fn() + Send + Sync>> = Some(Box::new(meanwhile));
    world.call_with(CallGrant::default(), Rules { meanwhile, ..Rules::default() })
}

#[tokio::test]
async fn sockets_are_no_files() {
    let world = World::new();
    let _socket = std::os::unix::net::UnixListener::bind(world.at("socket")).unwrap();
    let mut call = world.call_with(world.grant(&["socket"], &["socket"]), Rules::default());
    assert_eq!(call.read("socket").await, Err(NotPermitted));
    assert_eq!(call.put("socket", OpenFlags::empty(), "x", 0).await, Err(NotPermitted));
    assert!(
        call.funnel.refusal().unwrap().message.contains("a socket or a device"),
        "a call that names it is told why"
    );
}

#[tokio::test]
async fn where_a_link_leads_is_told_as_far_as_it_lies_inside() {
    let world = World::new();
    for (target, path) in [("a.txt", "relative"), ("/etc/passwd", "absolute"), ("a.txt", "denied")] {
        std::os::unix::fs::symlink(target, world.at(path)).unwrap();
    }
    let mut call = denying(&world, &[("read denied", Action::Deny)]);
    let root = call.root();
    for (path, want) in [
        ("relative", Ok("a.txt")),
        ("absolute", Err(NotPermitted)),
        ("denied", Err(NotPermitted)),
        ("a.txt", Err(Invalid)),
    ] {
        let told = call.view().readlink_at(again(&root), path.into()).await.map_err(code);
        assert_eq!(told.as_deref().map_err(|e| *e), want, "{path}");
    }
}

#[tokio::test]
async fn a_hash_of_what_may_not_be_known_is_not_told() {
    let world = World::new();
    fs::write(world.at("sub/deep/x"), "x").unwrap();
    let mut call = denying(&world, &[("read sub/deep", Action::Deny), ("read b.txt", Action::Deny)]);
    let root = call.root();
    // Of an entry of a folder that may be listed it is.
    for (path, want) in [("a.txt", Ok(())), ("b.txt", Ok(())), ("sub/deep/x", Err(NotPermitted))] {
        let hash = call.view().metadata_hash_at(again(&root), PathFlags::empty(), path.into()).await;
        assert_eq!(hash.map(drop).map_err(code), want, "{path}");
    }
}

async fn set_times_at(call: &mut Call, path: &str) -> Outcome<()> {
    let (root, now) = (call.root(), NewTimestamp::Now);
    done(call.view().set_times_at(root, PathFlags::empty(), path.into(), NewTimestamp::NoChange, now).await)
}

async fn set_times(call: &mut Call, fd: &Fd) -> Outcome<()> {
    done(call.view().set_times(again(fd), NewTimestamp::NoChange, NewTimestamp::Now).await)
}

#[tokio::test]
async fn times_are_set_only_where_writing_may_be() {
    let world = World::new();
    let modified = || fs::metadata(world.at("a.txt")).unwrap().modified().unwrap();
    let before = modified();
    let mut call = world.call_on(CallGrant::default(), Rules::default(), FsPerms::ReadOnly);
    let fd = call.open("a.txt", OpenFlags::empty(), DescriptorFlags::READ).await.unwrap();
    assert_eq!(set_times_at(&mut call, "a.txt").await, Err(NotPermitted));
    assert_eq!(set_times(&mut call, &fd).await, Err(NotPermitted));
    let mut call = denying(&world, &[("write", Action::Deny)]);
    let fd = call.open("a.txt", OpenFlags::empty(), DescriptorFlags::READ).await.unwrap();
    assert_eq!(set_times_at(&mut call, "a.txt").await, Err(NotPermitted));
    assert_eq!(set_times(&mut call, &fd).await, Err(NotPermitted));
    let (from, to) = (world.at("a.txt"), world.at("away"));
    let mut call = while_asked(&world, move || drop(fs::rename(&from, &to)));
    assert_eq!(set_times_at(&mut call, "a.txt").await, Err(NotPermitted), "moved during the ask");
    fs::rename(world.at("away"), world.at("a.txt")).unwrap();
    assert_eq!((modified(), world.journalled()), (before, vec![]));
}

/// A handle whose file has no name any more: nothing is judged by a name that another file may have by now.
#[tokio::test]
async fn an_unlinked_handle_has_no_name_to_be_judged_by() {
    let world = World::new();
    let mut call = world.call();
    let fd = call.open("a.txt", OpenFlags::empty(), DescriptorFlags::READ | DescriptorFlags::WRITE).await.unwrap();
    fs::remove_file(world.at("a.txt")).unwrap();
    fs::write(world.at("a.txt"), "theirs").unwrap();
    assert_eq!(set_times(&mut call, &fd).await, Err(NoEntry));
    let written = call.view().write(again(&fd), b"mine".to_vec(), 0).await;
    assert_eq!(written.map_err(code), Ok(4), "what was let through is still its own");
    call.close(fd);
    call.state.settle(true).await;
    assert_eq!(world.text_of("a.txt"), "theirs");
    assert_eq!(world.journalled(), ["Write a.txt `old` → `mine`"]);
}

#[tokio::test]
async fn odd_wishes_are_refused() {
    let world = World::new();
    let mut call = world.call();
    let (read, none) = (DescriptorFlags::READ, OpenFlags::empty());
    for (open, access, want) in [
        (none, read | DescriptorFlags::FILE_INTEGRITY_SYNC, Unsupported),
        (none, read | DescriptorFlags::DATA_INTEGRITY_SYNC, Unsupported),
        (none, read | DescriptorFlags::REQUESTED_WRITE_SYNC, Unsupported),
        (OpenFlags::DIRECTORY | OpenFlags::CREATE, read, Invalid),
        (OpenFlags::DIRECTORY | OpenFlags::TRUNCATE, read, Invalid),
        (OpenFlags::DIRECTORY | OpenFlags::EXCLUSIVE, read, Invalid),
    ] {
        assert_eq!(call.open("a.txt", open, access).await.map(drop), Err(want), "{open:?} {access:?}");
    }
    let root = call.root();
    let linked =
        call.view().link_at(again(&root), PathFlags::SYMLINK_FOLLOW, "a.txt".into(), again(&root), "h".into()).await;
    assert_eq!(done(linked), Err(Invalid), "a link that is followed could lead anywhere");
    assert_eq!((world.text_of("a.txt"), world.journalled()), ("old".into(), vec![]));
}

/// Each end of a hard link is judged: the name that is there and the one that is to be.
#[tokio::test]
async fn both_ends_of_a_link_are_judged() {
    for (rule, put) in [
        ("read a.txt", &["read a.txt"][..]),
        ("write a.txt", &["read a.txt", "write a.txt"]),
        ("write h", &["read a.txt", "write a.txt", "write h"]),
    ] {
        let world = World::new();
        let mut call = denying(&world, &[(rule, Action::Deny)]);
        let root = call.root();
        let none = PathFlags::empty();
        let linked = call.view().link_at(again(&root), none, "a.txt".into(), again(&root), "h".into()).await;
        assert_eq!(
            (done(linked), &*call.put_to_gate()),
            (Err(NotPermitted), put.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>().as_slice())
        );
        assert!(!world.at("h").exists());
    }
}

/// What a folder takes along is looked at again after the ask.
#[tokio::test]
async fn what_comes_into_a_folder_during_the_ask_is_judged_too() {
    let world = World::new();
    let link = world.at("sub/deep/l");
    let mut call = while_asked(&world, move || drop(std::os::unix::fs::symlink("../../a.txt", &link)));
    let root = call.root();
    let moved = call.view().rename_at(again(&root), "sub/deep".into(), again(&root), "flat".into()).await;
    assert_eq!(done(moved), Err(NotPermitted), "from its new place the link leads outside");
    assert!(world.at("sub/deep").exists() && !world.at("flat").exists());
}

#[tokio::test]
async fn a_tree_too_deep_to_be_judged_is_not_moved() {
    let world = World::new();
    let deep = (0..130).fold(world.at("deep"), |path, _| path.join("d"));
    fs::create_dir_all(deep).unwrap();
    let mut call = world.call();
    let root = call.root();
    let moved = call.view().rename_at(again(&root), "deep".into(), again(&root), "away".into()).await;
    assert_eq!(done(moved), Err(NotPermitted));
    assert!(call.funnel.refusal().unwrap().message.contains("too much below it"));
}

#[tokio::test]
async fn a_tree_too_wide_to_be_judged_is_not_moved() {
    let world = World::new();
    fs::create_dir(world.at("wide")).unwrap();
    for n in 0..=20_000 {
        fs::File::create(world.at("wide").join(n.to_string())).unwrap();
    }
    let mut call = world.call();
    let root = call.root();
    let moved = call.view().rename_at(again(&root), "wide".into(), again(&root), "away".into()).await;
    assert_eq!((done(moved), world.at("wide").exists()), (Err(NotPermitted), true));
}

#[tokio::test]
async fn one_call_does_not_change_without_end() {
    let world = World::new();
    let mut call = world.call();
    let root = call.root();
    let most = super::super::changes::MOST_CHANGES;
    for n in 0..most / 2 {
        assert_eq!(done(call.view().create_directory_at(again(&root), format!("f{n}")).await), Ok(()));
        assert_eq!(done(call.view().remove_directory_at(again(&root), format!("f{n}")).await), Ok(()));
    }
    assert_eq!(done(call.view().create_directory_at(again(&root), "more".into()).await), Err(NotPermitted));
    assert!(!world.at("more").exists() && call.funnel.refusal().unwrap().message.contains("at most"));
}

/// What goes down through a folder and up again may go through a link: its text does not tell where it leads.
#[tokio::test]
async fn a_link_whose_end_cannot_be_told_is_not_made() {
    let world = World::new();
    std::os::unix::fs::symlink("../out", world.at("leaves")).unwrap();
    let mut call = world.call();
    for target in ["leaves/../a.txt", "sub/../a.txt", "sub/./../a.txt"] {
        let root = call.root();
        assert_eq!(done(call.view().symlink_at(root, target.into(), "l".into()).await), Err(NotPermitted), "{target}");
    }
}

/// The kernel's own links lead anywhere: they are not followed, even where the whole machine is mounted.
#[tokio::test]
async fn links_of_the_kernel_lead_nowhere() {
    let world = World::new();
    let all = [(PathBuf::from("/"), "/", FsPerms::ReadOnly)];
    let mut call = world.call_as(CallGrant::default(), Rules::default(), &all, |funnel| funnel);
    let into = |path: &str| format!("proc/self/root{}", world.at(path).display());
    assert_eq!(call.read(&into("a.txt")).await, Err(ErrorCode::Loop));
    assert_eq!(call.read(world.at("a.txt").to_str().unwrap()).await.as_deref(), Ok("old"));
}

/// What the host keeps for itself: no rule and no grant of a call opens it, nor is it told of.
#[tokio::test]
async fn the_hosts_own_is_out_of_reach() {
    let world = World::new();
    fs::create_dir_all(world.at("own/outputs")).unwrap();
    for file in ["own/ledger", "own/outputs/kept"] {
        fs::write(world.at(file), "private").unwrap();
    }
    let private = Private { folders: vec![world.at("own")], readable: Some(world.at("own/outputs")) };
    let all = [(world.ws.clone(), ".", FsPerms::ReadWrite)];
    let named = world.grant(&["own/ledger", "own/outputs/kept"], &["own/ledger", "own/outputs/kept"]);
    let mut call = world.call_as(named, Rules::default(), &all, |funnel| funnel.hiding(Arc::new(private)));
    assert_eq!(call.read("own/ledger").await, Err(NotPermitted));
    assert_eq!(call.write("own/ledger", "x").await, Err(NotPermitted));
    assert_eq!(call.read("own/outputs/kept").await.as_deref(), Ok("private"), "what was kept for the agent to read on");
    assert_eq!(call.write("own/outputs/kept", "x").await, Err(NotPermitted));
    let root = call.root();
    let stat = call.view().stat_at(again(&root), PathFlags::empty(), "own/ledger".into()).await;
    assert_eq!(stat.map(drop).map_err(code), Err(NotPermitted));
    let moved = call.view().rename_at(again(&root), "own".into(), again(&root), "mine".into()).await;
    assert_eq!(done(moved), Err(NotPermitted));
    assert_eq!((world.text_of("own/ledger"), call.put_to_gate()), ("private".into(), vec![]));
}

/// The folders on the way to a file that a call may write are made with it, but not beyond what its component was granted.
#[tokio::test]
async fn folders_on_the_way_are_made_within_the_grant() {
    let world = World::new();
    let mut call = world.call_granted(json!({ "a.txt": "ro", "new": "rw" }));
    assert!(call.funnel.make_folder(&world.at("new/deep")).await.is_ok());
    let (rules, writes) = (Arc::new(Rules { root: world.ws.clone(), ..Rules::default() }), world.grant(&[], &["x/y"]));
    let reach =
        crate::mounts::Reach::of(&serde_json::from_value(json!({ "fs": { "a.txt": "rw" } })).unwrap(), &world.ws);
    let actor = call.funnel.actor.clone();
    let journal: Arc<dyn Journal> = world.journal.clone();
    let funnel = Funnel::new(actor, writes, rules, journal, CancellationToken::new());
    assert!(funnel.make_folder(&world.at("x")).await.is_ok(), "the call named it");
    assert!(funnel.reaching(reach).make_folder(&world.at("x")).await.is_err());
    call.state.settle(true).await;
}

/// Notes what is brought in.
#[derive(Default)]
struct Tainted(Mutex<Vec<model::flow::Label>>);

#[async_trait]
impl Gate for Tainted {
    fn decide(&self, _: &Actor, _: &Act) -> Action {
        Action::Allow
    }
    async fn permit(&self, _: &Actor, _: &[Act], _: Value, _: &CancellationToken) -> Result<(), Denial> {
        Ok(())
    }
    fn taint(&self, _: &SessionId, labels: &model::flow::Labels) {
        let mut seen = self.0.lock().unwrap();
        seen.extend(model::flow::Label::ALL.into_iter().filter(|label| labels.has(*label)));
    }
}

#[tokio::test]
async fn what_belongs_to_another_or_holds_secrets_is_labelled() {
    use model::flow::Label;
    let world = World::new();
    fs::write(world.at(".env"), "KEY=1").unwrap();
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        std::os::unix::fs::chown(world.at("b.txt"), Some(12_345), None).unwrap();
    }
    for (path, want) in [("a.txt", None), (".env", Some(Label::Secret)), ("b.txt", is_root.then_some(Label::Foreign))] {
        let gate = Arc::new(Tainted::default());
        let mut call = world.call();
        let actor = call.funnel.actor.clone();
        let journal: Arc<dyn Journal> = world.journal.clone();
        let funnel = Funnel::new(actor, CallGrant::default(), gate.clone(), journal, CancellationToken::new());
        call.state = State::new(Arc::new(funnel));
        call.read(path).await.unwrap();
        assert_eq!(*gate.0.lock().unwrap(), want.into_iter().collect::<Vec<_>>(), "{path}");
    }
}
