//! Laws over random work, with the process killed anywhere: in an act, in an undo, in a redo.

use super::world::{Cut, World};
use crate::journal::{Reach, UndoError};
use crate::testing::undo::Node;
use model::journal::{Image, Op};
use model::undo::UndoState;
use proptest::prelude::*;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
enum Deed {
    Write(usize, u8),
    Mode(usize, bool),
    Link(usize, usize),
    Remove(usize),
    Folder(usize),
    Rename(usize, usize),
    NextCall,
}

/// Few names, nested: acts meet each other often.
const NAMES: [&str; 9] = ["/w/a", "/w/b", "/w/x", "/w/x/a", "/w/x/b", "/w/x/y", "/w/x/y/a", "/w/z", "/w/z/a"];

fn deed() -> impl Strategy<Value = (Deed, Cut)> {
    let name = 0..NAMES.len();
    let deed = prop_oneof![
        5 => (name.clone(), 0..6u8).prop_map(|(p, c)| Deed::Write(p, c)),
        1 => (name.clone(), any::<bool>()).prop_map(|(p, m)| Deed::Mode(p, m)),
        1 => (name.clone(), name.clone()).prop_map(|(p, t)| Deed::Link(p, t)),
        3 => name.clone().prop_map(Deed::Remove),
        3 => name.clone().prop_map(Deed::Folder),
        3 => (name.clone(), name).prop_map(|(a, b)| Deed::Rename(a, b)),
        1 => Just(Deed::NextCall),
    ];
    let cut = prop_oneof![8 => Just(Cut::No), 1 => Just(Cut::BeforeTheAct), 1 => Just(Cut::BeforeItsEndIsNoted)];
    (deed, cut)
}

fn fits(w: &World, path: &Path) -> bool {
    w.disk.image(path.parent().unwrap()) == Image::Folder
}

/// Does what the kernel would let happen; the rest is skipped.
fn perform(w: &mut World, number: usize, deed: &Deed, cut: Cut) {
    let path = |i: &usize| PathBuf::from(NAMES[*i]);
    match deed {
        Deed::NextCall => {
            w.answer(&format!("call{number}"));
        }
        Deed::Write(p, content) => {
            let (p, old) = (path(p), w.disk.image(&path(p)));
            let mode = if let Image::File { mode, .. } = old { mode } else { 0o644 };
            if fits(w, &p) && matches!(old, Image::Absent | Image::File { .. }) {
                let node = Node::File { content: content.to_string(), mode };
                w.act(&[(Op::Write, &p)], |disk| disk.set(&p, Some(node)), cut);
            }
        }
        Deed::Mode(p, runs) => {
            let p = path(p);
            if let Image::File { hash, .. } = w.disk.image(&p) {
                let mode = if *runs { 0o755 } else { 0o600 };
                let node = Node::File { content: hash.trim_start_matches('#').into(), mode };
                w.act(&[(Op::Write, &p)], |disk| disk.set(&p, Some(node)), cut);
            }
        }
        Deed::Link(p, target) => {
            let p = path(p);
            if fits(w, &p) && w.disk.image(&p) == Image::Absent {
                w.act(&[(Op::Symlink, &p)], |disk| disk.set(&p, Some(Node::Link(path(target)))), cut);
            }
        }
        Deed::Remove(p) => remove(w, &path(p), cut),
        Deed::Folder(p) => {
            let p = path(p);
            if fits(w, &p) && w.disk.image(&p) == Image::Absent {
                w.act(&[(Op::MakeFolder, &p)], |disk| disk.set(&p, Some(Node::Folder)), cut);
            }
        }
        Deed::Rename(a, b) => rename(w, &path(a), &path(b), cut),
    }
}

fn remove(w: &World, p: &Path, cut: Cut) {
    let op = match w.disk.image(p) {
        Image::Absent => return,
        Image::Folder if !w.disk.children(p).is_empty() => return,
        Image::Folder => Op::RemoveFolder,
        _ => Op::Unlink,
    };
    w.act(&[(op, p)], |disk| disk.set(p, None), cut);
}

fn rename(w: &World, a: &Path, b: &Path, cut: Cut) {
    let (from, to) = (w.disk.image(a), w.disk.image(b));
    let is_folder = from == Image::Folder;
    let onto = match to {
        Image::Absent => true,
        Image::Folder => is_folder && w.disk.children(b).is_empty(),
        _ => !is_folder,
    };
    if from != Image::Absent && onto && fits(w, b) && !b.starts_with(a) {
        w.act(&[(Op::RenameFrom, a), (Op::RenameTo, b)], |disk| disk.carry(a, b), cut);
    }
}

fn worked(before: &[(usize, u8)], deeds: &[(Deed, Cut)]) -> (World, Vec<(String, String)>) {
    let mut w = World::new(&[]);
    for (p, content) in before {
        let p = NAMES[*p];
        if fits(&w, Path::new(p)) && w.disk.children(Path::new(p)).is_empty() {
            let node =
                if *content == 0 { Node::Folder } else { Node::File { content: content.to_string(), mode: 0o644 } };
            w.disk.set(Path::new(p), Some(node));
        }
    }
    let before = w.files();
    w.prompt();
    w.answer("first");
    for (number, (deed, cut)) in deeds.iter().enumerate() {
        perform(&mut w, number, deed, *cut);
    }
    (w, before)
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}

fn is_dead(error: &UndoError) -> bool {
    matches!(error, UndoError::Disk(_) | UndoError::Store(_))
}

fn before() -> impl Strategy<Value = Vec<(usize, u8)>> {
    prop::collection::vec((0..NAMES.len(), 0..4u8), 0..9)
}

fn deeds() -> impl Strategy<Value = Vec<(Deed, Cut)>> {
    prop::collection::vec(deed(), 1..25)
}

/// A folder comes back to where another one of its name has lain since, with a file of the same name in it.
#[test]
fn a_folder_that_comes_back_brings_its_files_along() {
    let deeds =
        [Deed::Write(2, 0), Deed::Folder(7), Deed::Rename(2, 8), Deed::Rename(7, 0), Deed::Folder(7), Deed::Folder(8)];
    let (w, was) = worked(&[], &deeds.map(|deed| (deed, Cut::No)));
    let after = w.files();
    wait(w.rewinder().undo(&w.session, None, Reach::Both)).unwrap();
    assert_eq!(w.files(), was);
    wait(w.rewinder().redo(&w.session, Reach::Both)).unwrap();
    assert_eq!(w.files(), after);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn undo_brings_back_the_tree_as_it_was_and_redo_what_was_made(before in before(), deeds in deeds()) {
        let (w, was) = worked(&before, &deeds);
        let after = w.files();
        let rewinder = w.rewinder();
        for _ in 0..2 {
            wait(rewinder.undo(&w.session, None, Reach::Both)).unwrap();
            prop_assert_eq!(w.files(), was.clone());
            wait(rewinder.redo(&w.session, Reach::Both)).unwrap();
            prop_assert_eq!(w.files(), after.clone());
        }
    }

    /// Killed after any number of changes, again and again: then finished, or taken back.
    #[test]
    fn an_undo_that_was_killed_is_finished_or_taken_back(
        before in before(), deeds in deeds(), kills in prop::collection::vec((0..12usize, any::<bool>()), 1..6), ends in any::<bool>(),
    ) {
        let (w, was) = worked(&before, &deeds);
        let after = w.files();
        let rewinder = w.rewinder();
        let mut began = false;
        for (left, forward) in kills {
            w.disk.fuse.set(Some(left));
            w.ledger.fuse.set(Some(left + 1));
            let half = wait(rewinder.half_done(&w.session)).unwrap().is_some();
            let result = if forward || !half {
                wait(rewinder.undo(&w.session, None, Reach::Both)).map(|u| u.state)
            } else {
                wait(rewinder.redo(&w.session, Reach::Both)).map(|u| u.state)
            };
            match result {
                Ok(UndoState::Done) => { began = true; break }
                Ok(_) => prop_assert_eq!(w.files(), after.clone()),
                Err(error) => prop_assert!(is_dead(&error), "{}", error),
            }
        }
        w.disk.fuse.set(None);
        w.ledger.fuse.set(None);
        if ends {
            if !began {
                wait(rewinder.undo(&w.session, None, Reach::Both)).unwrap();
            }
            prop_assert_eq!(w.files(), was);
        } else {
            match wait(rewinder.redo(&w.session, Reach::Both)) {
                Ok(_) => (),
                Err(UndoError::NothingToRedo(_)) => (),
                Err(error) => prop_assert!(false, "{}", error),
            }
            prop_assert_eq!(w.files(), after);
        }
        prop_assert_eq!(wait(rewinder.half_done(&w.session)).unwrap(), None);
    }

    /// Somebody changes one file that the session touched: it is named, and nothing moves; or it was no change.
    #[test]
    fn what_someone_else_changed_is_never_lost(before in before(), deeds in deeds(), which in 0..NAMES.len()) {
        let whole: Vec<_> = deeds.into_iter().map(|(deed, _)| (deed, Cut::No)).collect();
        let (w, _) = worked(&before, &whole);
        let files: Vec<&str> =
            NAMES.into_iter().filter(|p| matches!(w.disk.image(Path::new(p)), Image::File { .. })).collect();
        let Some(path) = files.get(which % files.len().max(1)) else { return Ok(()) };
        w.somebody(path, "theirs");
        let found = w.files();
        match wait(w.rewinder().undo(&w.session, None, Reach::Both)) {
            Err(UndoError::Obstacles(_)) => prop_assert_eq!(w.files(), found),
            Err(UndoError::NothingToUndo(_)) => (),
            Err(error) => prop_assert!(false, "{}", error),
            Ok(_) => prop_assert!(w.files().iter().any(|(_, text)| text == "theirs"), "{:?}", w.files()),
        }
    }
}
