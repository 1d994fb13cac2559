//! A workspace `/w` with a session that works on it as the runtime would: each act noted before it is done, and after.

use crate::journal::Rewinder;
use crate::run::Clock;
use crate::testing::undo::{FakeDisk, FakeLedger, Node};
use crate::testing::{history, session};
use model::id::{CallId, MessageId, PartId, SessionId};
use model::journal::{Entry, Image, Op};
use model::message::{Message, Part, PartBody, ToolPart, WithParts};
use model::tool_state::{Metadata, Span, ToolState};
use model::undo::{Recorded, Told};
use std::path::Path;
use std::sync::Arc;

pub(super) struct World {
    pub disk: FakeDisk,
    pub ledger: FakeLedger,
    pub session: SessionId,
    /// Who acts now.
    actor: (SessionId, MessageId, CallId),
}

/// Where the process dies in the middle of an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    No,
    BeforeTheAct,
    BeforeItsEndIsNoted,
}

struct Stopped;
impl Clock for Stopped {
    fn now_ms(&self) -> u64 {
        7
    }
}

impl World {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let disk = FakeDisk::default();
        disk.set(Path::new("/w"), Some(Node::Folder));
        let session = session();
        let id = session.id.clone();
        let ledger = FakeLedger::default();
        ledger.state.lock().unwrap().session = Some(session);
        let actor = (id.clone(), MessageId::new(), CallId::given("none"));
        let world = Self { disk, ledger, session: id, actor };
        for (path, content) in files {
            let folder = Path::new(path).parent().unwrap();
            if world.disk.image(folder) == Image::Absent {
                world.disk.set(folder, Some(Node::Folder));
            }
            world.somebody(path, content);
        }
        world
    }

    pub(super) fn rewinder(&self) -> Rewinder {
        Rewinder { ledger: Arc::new(self.ledger.clone()), disk: Arc::new(self.disk.clone()), clock: Arc::new(Stopped) }
    }

    fn tell(&mut self, mut message: WithParts) -> MessageId {
        match &mut message.info {
            Message::User(m) => m.session_id = self.actor.0.clone(),
            Message::Assistant(m) => m.session_id = self.actor.0.clone(),
        }
        let id = message.info.id().clone();
        self.ledger.state.lock().unwrap().told.push(Told { message, undone_by: None });
        id
    }

    pub(super) fn prompt(&mut self) -> MessageId {
        self.actor.0 = self.session.clone();
        self.tell(history::user("do it"))
    }

    pub(super) fn answer(&mut self, call: &str) -> MessageId {
        self.answer_saying(call, serde_json::json!({}))
    }

    pub(super) fn answer_saying(&mut self, call: &str, metadata: serde_json::Value) -> MessageId {
        let mut message = history::assistant(|_| ());
        let metadata: Metadata = serde_json::from_value(metadata).unwrap();
        let time = Span { start: 1, end: None };
        let state = ToolState::Running { input: serde_json::Value::Null, title: None, metadata, time };
        let call_id = CallId::given(call);
        let body =
            PartBody::Tool(ToolPart { call_id: call_id.clone(), tool: "t".into(), state, metadata: Metadata::new() });
        let (session_id, message_id) = (self.actor.0.clone(), message.info.id().clone());
        message.parts = vec![Part { id: PartId::new(), session_id, message_id, body }];
        let id = self.tell(message);
        (self.actor.1, self.actor.2) = (id.clone(), call_id);
        id
    }

    /// The call begins a session of its own, which acts from now on.
    pub(super) fn begin_child(&mut self, call: &str) -> SessionId {
        let child = SessionId::new();
        let mut state = self.ledger.state.lock().unwrap();
        state.children.push(child.clone());
        for part in state.told.iter_mut().flat_map(|t| &mut t.message.parts) {
            if let PartBody::Tool(tool) = &mut part.body
                && tool.call_id.as_str() == call
                && let ToolState::Running { metadata, .. } = &mut tool.state
            {
                metadata.insert("sessionId".into(), child.as_str().into());
            }
        }
        drop(state);
        self.actor = (child.clone(), MessageId::new(), CallId::given("c1"));
        child
    }

    fn note(&self, op: Op, path: &Path) -> usize {
        let before = self.keep(path);
        let (session, message, call) = self.actor.clone();
        let entry = Entry { session, message, call, tool: "t".into(), op, path: path.into(), before, time: 1 };
        let mut state = self.ledger.state.lock().unwrap();
        let id = state.acts.len();
        let recorded = Recorded { id: model::journal::EntryId(id as i64), entry, after: None };
        state.acts.push((recorded, None));
        id
    }

    fn keep(&self, path: &Path) -> Image {
        let image = self.disk.image(path);
        if let Image::File { hash, .. } = &image {
            let content = hash.trim_start_matches('#').to_owned().into_bytes();
            self.ledger.state.lock().unwrap().blobs.insert(hash.clone(), content);
        }
        image
    }

    pub(super) fn act(&self, ends: &[(Op, &Path)], how: impl FnOnce(&FakeDisk), cut: Cut) {
        let ids: Vec<usize> = ends.iter().map(|(op, path)| self.note(*op, path)).collect();
        if cut == Cut::BeforeTheAct {
            return;
        }
        how(&self.disk);
        if cut == Cut::BeforeItsEndIsNoted {
            return;
        }
        for ((_, path), id) in ends.iter().zip(ids) {
            let after = self.keep(path);
            self.ledger.state.lock().unwrap().acts[id].0.after = Some(after);
        }
    }

    pub(super) fn write(&self, path: &str, content: &str) {
        let path = Path::new(path);
        let op = if self.disk.image(path) == Image::Absent { Op::Create } else { Op::Write };
        let node = Node::File { content: content.into(), mode: 0o644 };
        self.act(&[(op, path)], |disk| disk.set(path, Some(node)), Cut::No);
    }

    pub(super) fn remove(&self, path: &str) {
        let path = Path::new(path);
        self.act(&[(Op::Unlink, path)], |disk| disk.set(path, None), Cut::No);
    }

    pub(super) fn make_folder(&self, path: &str) {
        let path = Path::new(path);
        self.act(&[(Op::MakeFolder, path)], |disk| disk.set(path, Some(Node::Folder)), Cut::No);
    }

    pub(super) fn rename(&self, from: &str, to: &str) {
        let (from, to) = (Path::new(from), Path::new(to));
        self.act(&[(Op::RenameFrom, from), (Op::RenameTo, to)], |disk| disk.carry(from, to), Cut::No);
    }

    /// A change that no session made.
    pub(super) fn somebody(&self, path: &str, content: &str) {
        self.disk.set(Path::new(path), Some(Node::File { content: content.into(), mode: 0o644 }));
    }

    pub(super) fn text(&self, path: &str) -> String {
        show(&self.disk.tree.lock().unwrap()[Path::new(path)])
    }

    /// What lies below the workspace.
    pub(super) fn files(&self) -> Vec<(String, String)> {
        let tree = self.disk.tree.lock().unwrap();
        let below = tree.iter().filter(|(path, _)| *path != Path::new("/w"));
        below.map(|(path, node)| (path.display().to_string(), show(node))).collect()
    }

    /// The talk that counts: the text of each message, or its call.
    pub(super) fn talk(&self) -> Vec<String> {
        let state = self.ledger.state.lock().unwrap();
        let live = state.told.iter().filter(|t| t.undone_by.is_none());
        live.map(|t| match &t.message.parts[0].body {
            PartBody::Text(text) => text.text.clone(),
            PartBody::Tool(tool) => tool.call_id.to_string(),
            other => panic!("{other:?}"),
        })
        .collect()
    }
}

fn show(node: &Node) -> String {
    match node {
        Node::Folder => "folder".into(),
        Node::Link(target) => format!("→ {}", target.display()),
        Node::File { content, mode: 0o644 } => content.clone(),
        Node::File { content, mode } => format!("{content} ({mode:o})"),
    }
}
