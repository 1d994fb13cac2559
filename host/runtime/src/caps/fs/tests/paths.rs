//! Any sequence of acts on any paths, in a folder where links lead everywhere: nothing outside is read or changed, and no link of the
//! guest's leads there, whatever is moved around it. `PROPTEST_CASES` raises the number of sequences.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Component;

#[derive(Clone, Debug)]
enum Step {
    Read(String),
    Write(String),
    List(String),
    MakeFolder(String),
    RemoveFolder(String),
    Unlink(String),
    Symlink { target: String, at: String },
    Link { from: String, to: String },
    Rename { from: String, to: String },
}

const NAMES: [&str; 16] =
    ["a.txt", "sub", "deep", "new", "x", "..", "..", ".", "", "out", "secret", "door", "up", "self", "root", "far"];

fn path() -> impl Strategy<Value = String> {
    let parts = vec(proptest::sample::select(&NAMES[..]), 1..5);
    (parts, any::<bool>(), any::<bool>()).prop_map(|(parts, rooted, slash)| {
        let rooted = rooted && parts.len() > 3;
        format!("{}{}{}", if rooted { "/" } else { "" }, parts.join("/"), if slash { "/" } else { "" })
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        path().prop_map(Step::Read),
        path().prop_map(Step::Write),
        path().prop_map(Step::List),
        path().prop_map(Step::MakeFolder),
        path().prop_map(Step::RemoveFolder),
        path().prop_map(Step::Unlink),
        (path(), path()).prop_map(|(target, at)| Step::Symlink { target, at }),
        (path(), path()).prop_map(|(from, to)| Step::Link { from, to }),
        (path(), path()).prop_map(|(from, to)| Step::Rename { from, to }),
    ]
}

/// Links that a native program left in the workspace before.
fn with_doors() -> World {
    let world = World::new();
    let out = world.ws.with_file_name("out");
    let doors = [
        ("door", "../out"),
        ("sub/up", ".."),
        ("sub/deep/far", "../../../out/secret"),
        ("self", "self"),
        ("root", "/"),
    ];
    for (at, target) in doors {
        symlink(target, world.at(at)).unwrap();
    }
    symlink(&out, world.at("sub/out")).unwrap();
    world
}

impl Call {
    /// What was seen, where something was.
    async fn take(&mut self, step: Step) -> Option<String> {
        let root = self.root();
        match step {
            Step::Read(path) => return self.read(&path).await.ok(),
            Step::List(path) => return self.list(&path).await.ok().map(|names| names.join(" ")),
            Step::Write(path) => drop(self.write(&path, "guest").await),
            Step::MakeFolder(path) => drop(self.view().create_directory_at(root, path).await),
            Step::RemoveFolder(path) => drop(self.view().remove_directory_at(root, path).await),
            Step::Unlink(path) => drop(self.view().unlink_file_at(root, path).await),
            Step::Symlink { target, at } => drop(self.view().symlink_at(root, target, at).await),
            Step::Link { from, to } => {
                let (old, new) = (super::super::again(&root), super::super::again(&root));
                drop(self.view().link_at(old, PathFlags::empty(), from, new, to).await);
            }
            Step::Rename { from, to } => {
                let (old, new) = (super::super::again(&root), super::super::again(&root));
                drop(self.view().rename_at(old, from, new, to).await);
            }
        }
        None
    }
}

/// All links below a folder that are not among `known`.
fn links(folder: &Path, known: &BTreeSet<u64>) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let meta = entry.metadata().unwrap();
        if meta.is_dir() {
            found.extend(links(&entry.path(), known));
        } else if meta.is_symlink() && !known.contains(&meta.ino()) {
            found.push(entry.path());
        }
    }
    found
}

/// Whether a program that follows the link comes to a place outside on its way.
fn leaves(link: &Path, ws: &Path) -> bool {
    let mut at = link.parent().unwrap().to_path_buf();
    for part in fs::read_link(link).unwrap().components() {
        match part {
            Component::Normal(name) => at.push(name),
            Component::ParentDir => drop(at.pop()),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return true,
        }
        at = at.canonicalize().unwrap_or(at);
        if !at.starts_with(ws) {
            return true;
        }
    }
    false
}

fn listing(folder: &Path) -> Vec<(PathBuf, u64)> {
    let entry = |e: fs::DirEntry| (e.path(), e.metadata().unwrap().nlink());
    let mut all: Vec<_> = fs::read_dir(folder).unwrap().map(|e| entry(e.unwrap())).collect();
    all.sort();
    all
}

async fn hold(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let world = with_doors();
    let out = world.ws.with_file_name("out");
    let before = listing(&out);
    let native: BTreeSet<u64> =
        links(&world.ws, &BTreeSet::new()).iter().map(|link| fs::symlink_metadata(link).unwrap().ino()).collect();
    let mut call = world.call();
    for step in steps {
        let told = format!("{step:?}");
        let seen = call.take(step).await.unwrap_or_default();
        prop_assert!(seen != "secret", "{told} read what is outside");
        for link in links(&world.ws, &native) {
            prop_assert!(!leaves(&link, &world.ws), "after {told}, {} leads out", link.display());
        }
    }
    call.state.settle(true).await;
    prop_assert_eq!(listing(&out), before);
    prop_assert_eq!(fs::read_to_string(out.join("secret")).unwrap(), "secret");
    Ok(())
}

/// What the sequences below have found.
#[tokio::test]
async fn a_link_through_a_link_that_leads_outside_is_refused() {
    let world = with_doors();
    let mut call = world.call();
    for target in ["door", "door/new", "./sub/out", "root/etc"] {
        let root = call.root();
        let refused = call.view().symlink_at(root, target.into(), "mine".into()).await;
        assert_eq!(done(refused), Err(ErrorCode::NotPermitted), "{target}");
    }
    for (target, at) in [("a.txt", "one"), ("sub/up/a.txt", "two"), ("not/there", "three"), ("self", "four")] {
        let root = call.root();
        done(call.view().symlink_at(root, target.into(), at.into()).await).unwrap();
    }
}

proptest! {
    #[test]
    fn no_sequence_of_acts_leaves_the_mount(steps in vec(step(), 1..14)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(hold(steps))?;
    }
}
