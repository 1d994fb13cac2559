//! A disk and a ledger in memory for undo. Both can be cut short: after so many changes everything fails.

use async_trait::async_trait;
use model::id::{MessageId, SessionId};
use model::journal::{Entry, EntryId, Image, Journal, JournalError, Seen};
use model::message::WithParts;
use model::permission::Rule;
use model::session::{Session, SessionSummary};
use model::store::{Change, Claim, Kin, Store, StoreError};
use model::undo::{Disk, DiskError, Look, Recorded, StoredUndo, Told, Undo, UndoId, UndoLedger, UndoState};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    File { content: String, mode: u32 },
    Folder,
    Link(PathBuf),
}

/// Changes that are left until everything fails; `None` = no end.
#[derive(Clone, Default)]
pub(crate) struct Fuse(Arc<Mutex<Option<usize>>>);

impl Fuse {
    pub(crate) fn set(&self, left: Option<usize>) {
        *self.0.lock().unwrap() = left;
    }

    /// False = the process is dead.
    fn burn(&self) -> bool {
        let mut left = self.0.lock().unwrap();
        match left.as_mut() {
            Some(0) => return false,
            Some(n) => *n -= 1,
            None => (),
        }
        true
    }
}

#[derive(Clone, Default)]
pub(crate) struct FakeDisk {
    pub tree: Arc<Mutex<BTreeMap<PathBuf, Node>>>,
    pub fuse: Fuse,
}

/// A content's name is the content: what is compared is then plain to see.
pub(crate) fn file_image(content: &str, mode: u32) -> Image {
    Image::File { hash: format!("#{content}"), size: content.len() as u64, mode, kept: true }
}

impl FakeDisk {
    pub(crate) fn image(&self, path: &Path) -> Image {
        match self.tree.lock().unwrap().get(path) {
            None => Image::Absent,
            Some(Node::Folder) => Image::Folder,
            Some(Node::Link(target)) => Image::Link { target: target.clone() },
            Some(Node::File { content, mode }) => file_image(content, *mode),
        }
    }

    pub(crate) fn children(&self, folder: &Path) -> Vec<PathBuf> {
        self.tree.lock().unwrap().keys().filter(|p| p.parent() == Some(folder)).cloned().collect()
    }

    /// As the kernel does it: the parent has to be there, a folder that goes has to be empty.
    fn put_node(&self, path: &Path, node: Option<Node>) -> Result<(), &'static str> {
        let parent = path.parent().unwrap();
        if parent != Path::new("/") && self.tree.lock().unwrap().get(parent) != Some(&Node::Folder) {
            return Err("no such folder");
        }
        if node != Some(Node::Folder) && !self.children(path).is_empty() {
            return Err("not empty");
        }
        let mut tree = self.tree.lock().unwrap();
        match node {
            Some(node) => tree.insert(path.into(), node),
            None => tree.remove(path),
        };
        Ok(())
    }

    pub(crate) fn set(&self, path: &Path, node: Option<Node>) {
        self.put_node(path, node).unwrap();
    }

    pub(crate) fn carry(&self, from: &Path, to: &Path) {
        let mut tree = self.tree.lock().unwrap();
        let all: Vec<PathBuf> = tree.keys().filter(|p| p.starts_with(from)).cloned().collect();
        tree.remove(to);
        for path in all {
            let node = tree.remove(&path).unwrap();
            let rest = path.strip_prefix(from).unwrap();
            tree.insert(if rest.as_os_str().is_empty() { to.into() } else { to.join(rest) }, node);
        }
    }
}

fn failed(act: &'static str, path: &Path, why: &str) -> DiskError {
    DiskError { act, path: path.into(), why: why.into() }
}

impl Disk for FakeDisk {
    fn look(&self, path: &Path) -> Result<Look, DiskError> {
        Ok(Look { image: self.image(path), shared: false })
    }
    fn read(&self, path: &Path) -> Result<Option<(String, Vec<u8>)>, DiskError> {
        Ok(match self.tree.lock().unwrap().get(path) {
            Some(Node::File { content, .. }) => Some((format!("#{content}"), content.clone().into_bytes())),
            _ => None,
        })
    }
    fn below(&self, folder: &Path) -> Result<Vec<PathBuf>, DiskError> {
        Ok(self.children(folder))
    }
    fn put(&self, path: &Path, to: &Image, content: Option<&[u8]>, _: bool) -> Result<(), DiskError> {
        if !self.fuse.burn() {
            return Err(failed("changed", path, "killed"));
        }
        let old = self.tree.lock().unwrap().get(path).cloned();
        let node = match to {
            Image::Absent => None,
            Image::Folder => Some(Node::Folder),
            Image::Link { target } => Some(Node::Link(target.clone())),
            Image::File { mode, hash, .. } => {
                let content = match (content, old) {
                    (Some(bytes), _) => String::from_utf8(bytes.to_vec()).unwrap(),
                    (None, Some(Node::File { content, .. })) => content,
                    (None, _) => panic!("no content for {}", path.display()),
                };
                assert_eq!(*hash, format!("#{content}"), "the wrong content");
                Some(Node::File { content, mode: *mode })
            }
            Image::Special => panic!("a special file cannot be made"),
        };
        self.put_node(path, node).map_err(|why| failed("changed", path, why))
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        if !self.fuse.burn() {
            return Err(failed("moved", from, "killed"));
        }
        assert_eq!(self.image(to), Image::Absent);
        self.carry(from, to);
        Ok(())
    }
}

#[derive(Default)]
pub(crate) struct State {
    pub session: Option<Session>,
    pub told: Vec<Told>,
    pub acts: Vec<(Recorded, Option<UndoId>)>,
    pub blobs: HashMap<String, Vec<u8>>,
    pub undos: Vec<StoredUndo>,
    pub children: Vec<SessionId>,
}

#[derive(Clone, Default)]
pub(crate) struct FakeLedger {
    pub state: Arc<Mutex<State>>,
    pub fuse: Fuse,
}

impl FakeLedger {
    fn change<T>(&self, how: impl FnOnce(&mut State) -> T) -> Result<T, StoreError> {
        let killed = || StoreError::Failed { attempt: "write", path: "/ledger".into(), why: "killed".into() };
        self.fuse.burn().then(|| how(&mut self.state.lock().unwrap())).ok_or_else(killed)
    }
}

struct Held;
impl Claim for Held {}

#[async_trait]
impl Store for FakeLedger {
    async fn session(&self, id: &SessionId) -> Result<Session, StoreError> {
        self.state.lock().unwrap().session.clone().ok_or_else(|| StoreError::NoSession(id.clone()))
    }
    async fn sessions(&self, _: Kin, _: usize) -> Result<Vec<SessionSummary>, StoreError> {
        Ok(vec![])
    }
    async fn latest(&self, _: &Path) -> Result<Option<Session>, StoreError> {
        Ok(None)
    }
    async fn delete(&self, _: &SessionId) -> Result<(), StoreError> {
        Ok(())
    }
    async fn history(&self, _: &SessionId) -> Result<Vec<WithParts>, StoreError> {
        let state = self.state.lock().unwrap();
        Ok(state.told.iter().filter(|t| t.undone_by.is_none()).map(|t| t.message.clone()).collect())
    }
    async fn apply(&self, _: Vec<Change>) -> Result<(), StoreError> {
        Ok(())
    }
    async fn claim(&self, _: &SessionId) -> Result<Box<dyn Claim>, StoreError> {
        Ok(Box::new(Held))
    }
    async fn unfinished(&self, _: &SessionId) -> Result<Vec<Session>, StoreError> {
        Ok(vec![])
    }
    async fn approvals(&self, _: &Path) -> Result<Vec<Rule>, StoreError> {
        Ok(vec![])
    }
    async fn approve(&self, _: &Path, _: &[Rule]) -> Result<(), StoreError> {
        Ok(())
    }
    async fn keep_output(&self, _: &str) -> Result<PathBuf, StoreError> {
        Ok(PathBuf::new())
    }
}

#[async_trait]
impl Journal for FakeLedger {
    async fn keep(&self, hash: &str, content: Vec<u8>) -> Result<(), JournalError> {
        self.state.lock().unwrap().blobs.insert(hash.into(), content);
        Ok(())
    }
    async fn begin(&self, entry: Entry) -> Result<EntryId, JournalError> {
        let mut state = self.state.lock().unwrap();
        let id = EntryId(i64::try_from(state.acts.len()).unwrap());
        state.acts.push((Recorded { id, entry, after: None }, None));
        Ok(id)
    }
    async fn finish(&self, id: EntryId, after: Image) -> Result<(), JournalError> {
        let mut state = self.state.lock().unwrap();
        state.acts.iter_mut().filter(|(a, _)| a.id == id).for_each(|(a, _)| a.after = Some(after.clone()));
        Ok(())
    }
    async fn seen(&self, _: &SessionId, _: &Path) -> Result<Option<Seen>, JournalError> {
        Ok(None)
    }
    async fn mark_seen(&self, _: &SessionId, _: &Path, _: Seen) -> Result<(), JournalError> {
        Ok(())
    }
}

#[async_trait]
impl UndoLedger for FakeLedger {
    async fn told(&self, session: &SessionId) -> Result<Vec<Told>, StoreError> {
        let state = self.state.lock().unwrap();
        Ok(state.told.iter().filter(|t| t.message.info.session() == session).cloned().collect())
    }
    async fn family(&self, session: &SessionId) -> Result<Vec<SessionId>, StoreError> {
        let state = self.state.lock().unwrap();
        let is_root = state.session.as_ref().is_some_and(|s| s.id == *session);
        let below = state.children.iter().filter(|_| is_root).cloned();
        Ok(std::iter::once(session.clone()).chain(below).collect())
    }
    async fn recorded(&self, sessions: &[SessionId]) -> Result<Vec<Recorded>, StoreError> {
        let state = self.state.lock().unwrap();
        let live = state.acts.iter().filter(|(a, undone)| undone.is_none() && sessions.contains(&a.entry.session));
        Ok(live.map(|(a, _)| a.clone()).collect())
    }
    async fn contents(&self, hashes: Vec<String>) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let state = self.state.lock().unwrap();
        Ok(hashes.into_iter().filter_map(|h| Some((h.clone(), state.blobs.get(&h)?.clone()))).collect())
    }
    async fn missing(&self, hashes: Vec<String>) -> Result<Vec<String>, StoreError> {
        let state = self.state.lock().unwrap();
        Ok(hashes.into_iter().filter(|h| !state.blobs.contains_key(h)).collect())
    }
    async fn undos(&self, session: &SessionId) -> Result<Vec<StoredUndo>, StoreError> {
        let state = self.state.lock().unwrap();
        Ok(state.undos.iter().filter(|u| u.session == *session).cloned().collect())
    }
    async fn begin_undo(&self, session: &SessionId, undo: &Undo) -> Result<UndoId, StoreError> {
        self.change(|state| {
            let id = UndoId(i64::try_from(state.undos.len()).unwrap());
            let (session, undo) = (session.clone(), undo.clone());
            state.undos.push(StoredUndo { id, session, state: UndoState::Applying, done: 0, undo });
            id
        })
    }
    async fn progress(&self, id: UndoId, to: UndoState, done: usize) -> Result<(), StoreError> {
        self.change(|state| {
            let undo = state.undos.iter_mut().find(|u| u.id == id).unwrap();
            (undo.state, undo.done) = (to, done);
        })
    }
    async fn undone(&self, id: UndoId, note: Option<WithParts>) -> Result<(), StoreError> {
        self.change(|state| {
            let stored = state.undos.iter_mut().find(|u| u.id == id).unwrap();
            (stored.state, stored.done) = (UndoState::Done, stored.undo.steps.len());
            let undo = stored.undo.clone();
            state.acts.iter_mut().filter(|(a, _)| undo.entries.contains(&a.id)).for_each(|(_, by)| *by = Some(id));
            let gone = |m: &MessageId| undo.messages.contains(m);
            state.told.iter_mut().filter(|t| gone(t.message.info.id())).for_each(|t| t.undone_by = Some(id));
            state.told.extend(note.map(|message| Told { message, undone_by: None }));
        })
    }
    async fn redone(&self, id: UndoId, talk: bool) -> Result<(), StoreError> {
        self.change(|state| {
            let stored = state.undos.iter_mut().find(|u| u.id == id).unwrap();
            (stored.state, stored.done) = (UndoState::Redone, 0);
            let note = stored.undo.note.clone();
            state.acts.iter_mut().filter(|(_, by)| *by == Some(id)).for_each(|(_, by)| *by = None);
            state.told.iter_mut().filter(|t| talk && t.undone_by == Some(id)).for_each(|t| t.undone_by = None);
            let noted = |t: &&mut Told| Some(t.message.info.id()) == note.as_ref();
            state.told.iter_mut().filter(noted).for_each(|t| t.undone_by = Some(id));
        })
    }
}
