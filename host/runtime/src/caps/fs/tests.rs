//! The view is driven through its generated traits, as a guest would drive it, on a real folder.

mod acts;
mod guards;
mod mounts;
mod paths;
mod races;
mod stale;

use super::{Fd, State, View};
use crate::caps::Funnel;
use async_trait::async_trait;
use model::grant::{CallGrant, Grant, Mode};
use model::id::{CallId, MessageId, SessionId};
use model::journal::{Entry, EntryId, Image, Journal, JournalError, Op, Seen};
use model::permission::{Act, Action, Actor, Denial, Gate};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::p2::bindings::filesystem::preopens::Host as _;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, ErrorCode, HostDescriptor, HostDirectoryEntryStream, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{FsError, FsResult};
use wasmtime_wasi::{FsPerms, WasiCtx};

type Outcome<T> = Result<T, ErrorCode>;

fn code(error: FsError) -> ErrorCode {
    error.downcast().expect("an error code, no trap")
}

#[derive(Default)]
struct Memory {
    contents: Mutex<HashMap<String, Vec<u8>>>,
    entries: Mutex<Vec<(Entry, Option<Image>)>>,
    seen: Mutex<HashMap<PathBuf, Seen>>,
}

#[async_trait]
impl Journal for Memory {
    async fn keep(&self, hash: &str, content: Vec<u8>) -> Result<(), JournalError> {
        assert_eq!(hash, blake3::hash(&content).to_hex().as_str());
        self.contents.lock().unwrap().insert(hash.into(), content);
        Ok(())
    }

    async fn begin(&self, entry: Entry) -> Result<EntryId, JournalError> {
        let mut entries = self.entries.lock().unwrap();
        entries.push((entry, None));
        Ok(EntryId(entries.len() as i64 - 1))
    }

    async fn finish(&self, id: EntryId, after: Image) -> Result<(), JournalError> {
        let old = self.entries.lock().unwrap()[id.0 as usize].1.replace(after);
        assert_eq!(old, None, "an entry is finished once");
        Ok(())
    }

    async fn seen(&self, _: &SessionId, path: &Path) -> Result<Option<Seen>, JournalError> {
        Ok(self.seen.lock().unwrap().get(path).cloned())
    }

    async fn mark_seen(&self, _: &SessionId, path: &Path, seen: Seen) -> Result<(), JournalError> {
        self.seen.lock().unwrap().insert(path.into(), seen);
        Ok(())
    }
}

/// Says what the rule for an act says whose words the act's words hold; else yes. Asks are recorded, and answered with no.
#[derive(Default)]
struct Rules {
    rules: Vec<(&'static str, Action)>,
    /// Everything that was put to it, as `read a.txt`.
    put: Mutex<Vec<String>>,
    root: PathBuf,
    /// What somebody else does while the person thinks.
    meanwhile: Option<Box<dyn Fn() + Send + Sync>>,
}

impl Rules {
    fn words(&self, act: &Act) -> String {
        let rel = |p: &Path| p.strip_prefix(&self.root).map_or_else(|_| p.to_path_buf(), Path::to_path_buf);
        match act {
            Act::Read { path } => format!("read {}", rel(path).display()),
            Act::Write { path } => format!("write {}", rel(path).display()),
            other => panic!("not of files: {other:?}"),
        }
    }
}

#[async_trait]
impl Gate for Rules {
    fn decide(&self, _: &Actor, act: &Act) -> Action {
        let words = self.words(act);
        self.rules.iter().find(|(part, _)| words.contains(part)).map_or(Action::Allow, |r| r.1)
    }

    async fn permit(&self, actor: &Actor, acts: &[Act], _: Value, _: &CancellationToken) -> Result<(), Denial> {
        for act in acts {
            self.put.lock().unwrap().push(self.words(act));
            if let Some(meanwhile) = &self.meanwhile {
                meanwhile();
            }
            if self.decide(actor, act) != Action::Allow {
                return Err(Denial::Rejected(None));
            }
        }
        Ok(())
    }
}

/// A workspace on disk, `ws`, with its neighbour `out`, and a session's journal.
struct World {
    _temp: tempfile::TempDir,
    ws: PathBuf,
    journal: Arc<Memory>,
    session: SessionId,
}

impl World {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("ws/sub/deep")).unwrap();
        fs::create_dir(root.join("out")).unwrap();
        fs::write(root.join("out/secret"), "secret").unwrap();
        fs::write(root.join("ws/a.txt"), "old").unwrap();
        fs::write(root.join("ws/b.txt"), "other").unwrap();
        Self { ws: root.join("ws"), _temp: temp, journal: Arc::default(), session: SessionId::new() }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.ws.join(path)
    }

    fn grant(&self, reads: &[&str], writes: &[&str]) -> CallGrant {
        let all = |paths: &[&str]| paths.iter().map(|p| if *p == "." { self.ws.clone() } else { self.at(p) }).collect();
        CallGrant { reads: all(reads), writes: all(writes), ..CallGrant::default() }
    }

    fn call(&self) -> Call {
        self.call_with(self.grant(&[], &[]), Rules::default())
    }

    fn call_with(&self, grant: CallGrant, rules: Rules) -> Call {
        self.call_on(grant, rules, FsPerms::ReadWrite)
    }

    fn call_on(&self, grant: CallGrant, rules: Rules, perms: FsPerms) -> Call {
        self.call_mounted(grant, rules, &[(".", perms)], &[])
    }

    /// With these folders mounted by their names, and these left out of what was granted.
    fn call_mounted(&self, grant: CallGrant, rules: Rules, mounts: &[(&str, FsPerms)], except: &[&str]) -> Call {
        let mounts: Vec<_> = mounts.iter().map(|(name, perms)| (self.ws.join(name), *name, *perms)).collect();
        self.call_as(grant, rules, &mounts, |funnel| funnel.except(except.iter().map(|e| self.at(e)).collect()))
    }

    /// Of a component with this grant.
    fn call_granted(&self, fs: Value) -> Call {
        let grant: Grant = serde_json::from_value(json!({ "fs": fs })).unwrap();
        let perms = |mode| if mode == Mode::ReadWrite { FsPerms::ReadWrite } else { FsPerms::ReadOnly };
        let all = crate::mounts::mounts(&grant, &self.ws);
        let mounts: Vec<_> = all.iter().map(|((real, name), mode)| (real.clone(), &**name, perms(*mode))).collect();
        let reach = crate::mounts::Reach::of(&grant, &self.ws);
        self.call_as(CallGrant::default(), Rules::default(), &mounts, |funnel| funnel.reaching(reach))
    }

    fn call_as(
        &self,
        grant: CallGrant,
        rules: Rules,
        mounts: &[(PathBuf, &str, FsPerms)],
        with: impl FnOnce(Funnel) -> Funnel,
    ) -> Call {
        let rules = Arc::new(Rules { root: self.ws.clone(), ..rules });
        let actor = Actor {
            session: self.session.clone(),
            message: MessageId::new(),
            call: CallId::given("call"),
            agent: "build".into(),
            tool: "test".into(),
            worktree: self.ws.clone(),
        };
        let journal: Arc<dyn Journal> = self.journal.clone();
        let funnel = Funnel::new(actor, grant, rules.clone(), journal, CancellationToken::new());
        let funnel = Arc::new(with(funnel));
        let mut wasi = WasiCtx::builder();
        wasi.allow_blocking_current_thread(true);
        for (real, name, perms) in mounts {
            wasi.preopened_dir(real, *name, *perms).unwrap();
        }
        let state = State::new(Arc::clone(&funnel));
        Call { table: ResourceTable::new(), wasi: wasi.build(), state, funnel, rules }
    }

    /// The journal as `op path before → after`, contents by their text.
    fn journalled(&self) -> Vec<String> {
        let entries = self.journal.entries.lock().unwrap();
        entries.iter().map(|(entry, after)| self.line(entry, after.as_ref().expect("finished"))).collect()
    }

    fn line(&self, entry: &Entry, after: &Image) -> String {
        let path = entry.path.strip_prefix(&self.ws).expect("inside");
        format!("{:?} {} {} → {}", entry.op, path.display(), self.text(&entry.before), self.text(after))
    }

    fn text(&self, image: &Image) -> String {
        match image {
            Image::Absent => "-".into(),
            Image::Folder => "folder".into(),
            Image::Link { target } => format!("link:{}", target.display()),
            Image::Special => "special".into(),
            Image::File { hash, size, kept, .. } => {
                assert!(kept);
                let content = &self.journal.contents.lock().unwrap()[hash];
                assert_eq!(*size, content.len() as u64);
                format!("`{}`", String::from_utf8_lossy(content))
            }
        }
    }

    fn text_of(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }
}

struct Call {
    table: ResourceTable,
    wasi: WasiCtx,
    state: State,
    funnel: Arc<Funnel>,
    rules: Arc<Rules>,
}

impl Call {
    fn view(&mut self) -> View<'_> {
        let inner =
            wasmtime_wasi::filesystem::WasiFilesystemCtxView { ctx: self.wasi.filesystem(), table: &mut self.table };
        View::new(inner, &mut self.state)
    }

    fn root(&mut self) -> Fd {
        self.view().get_directories().unwrap().remove(0).0
    }

    async fn open(&mut self, path: &str, open: OpenFlags, access: DescriptorFlags) -> Outcome<Fd> {
        let root = self.root();
        self.view().open_at(root, PathFlags::SYMLINK_FOLLOW, path.into(), open, access).await.map_err(code)
    }

    fn close(&mut self, fd: Fd) {
        HostDescriptor::drop(&mut self.view(), fd).unwrap();
    }

    async fn read(&mut self, path: &str) -> Outcome<String> {
        let fd = self.open(path, OpenFlags::empty(), DescriptorFlags::READ).await?;
        let (bytes, _) = self.view().read(super::again(&fd), 1 << 20, 0).await.map_err(code)?;
        self.close(fd);
        Ok(String::from_utf8(bytes).unwrap())
    }

    async fn put(&mut self, path: &str, open: OpenFlags, text: &str, at: u64) -> Outcome<()> {
        let fd = self.open(path, open, DescriptorFlags::WRITE).await?;
        let written = self.view().write(super::again(&fd), text.into(), at).await.map_err(code);
        self.close(fd);
        written.map(|n| assert_eq!(n, text.len() as u64))
    }

    /// As `std::fs::write` does it.
    async fn write(&mut self, path: &str, text: &str) -> Outcome<()> {
        self.put(path, OpenFlags::CREATE | OpenFlags::TRUNCATE, text, 0).await
    }

    async fn list(&mut self, path: &str) -> Outcome<Vec<String>> {
        let fd = self.open(path, OpenFlags::DIRECTORY, DescriptorFlags::READ).await?;
        let stream = self.view().read_directory(fd).await.map_err(code)?;
        let mut names = vec![];
        let again = |s: &wasmtime::component::Resource<_>| wasmtime::component::Resource::new_borrow(s.rep());
        while let Some(entry) = self.view().read_directory_entry(again(&stream)).await.map_err(code)? {
            names.push(entry.name);
        }
        names.sort();
        Ok(names)
    }

    fn put_to_gate(&self) -> Vec<String> {
        self.rules.put.lock().unwrap().clone()
    }
}

fn done(result: FsResult<()>) -> Outcome<()> {
    result.map_err(code)
}
