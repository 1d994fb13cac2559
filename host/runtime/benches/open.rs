//! A file is opened as a guest opens it, named and judged, and plainly. The bound is 20 µs more than plain.

#![expect(clippy::expect_used, reason = "a bench that cannot go on has nothing to measure")]

use async_trait::async_trait;
use criterion::{Criterion, criterion_group, criterion_main};
use model::grant::CallGrant;
use model::id::{CallId, MessageId, SessionId};
use model::journal::{Entry, EntryId, Image, Journal, JournalError, Seen};
use model::permission::{Act, Action, Actor, Denial, Gate};
use runtime::caps::Funnel;
use runtime::caps::fs::{State, View};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use wasmtime::component::{Resource, ResourceTable};
use wasmtime_wasi::filesystem::WasiFilesystemCtxView;
use wasmtime_wasi::p2::bindings::filesystem::preopens::Host as _;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorFlags, HostDescriptor, OpenFlags, PathFlags};
use wasmtime_wasi::{FsPerms, WasiCtx};

/// Says yes and remembers nothing.
struct Yes;

#[async_trait]
impl Gate for Yes {
    fn decide(&self, _: &Actor, _: &Act) -> Action {
        Action::Allow
    }

    async fn permit(&self, _: &Actor, _: &[Act], _: Value, _: &CancellationToken) -> Result<(), Denial> {
        Ok(())
    }
}

#[async_trait]
impl Journal for Yes {
    async fn keep(&self, _: &str, _: Vec<u8>) -> Result<(), JournalError> {
        Ok(())
    }
    async fn begin(&self, _: Entry) -> Result<EntryId, JournalError> {
        Ok(EntryId(1))
    }
    async fn finish(&self, _: EntryId, _: Image) -> Result<(), JournalError> {
        Ok(())
    }
    async fn seen(&self, _: &SessionId, _: &Path) -> Result<Option<Seen>, JournalError> {
        Ok(None)
    }
    async fn mark_seen(&self, _: &SessionId, _: &Path, _: Seen) -> Result<(), JournalError> {
        Ok(())
    }
}

fn funnel(worktree: &Path) -> Arc<Funnel> {
    let actor = Actor {
        session: SessionId::new(),
        message: MessageId::new(),
        call: CallId::given("bench"),
        agent: "build".into(),
        tool: "read".into(),
        worktree: worktree.into(),
    };
    Arc::new(Funnel::new(actor, CallGrant::default(), Arc::new(Yes), Arc::new(Yes), CancellationToken::new()))
}

const FILE: &str = "src/deep/file.rs";

/// So many opens, each through a view of its own as each call of a guest has.
async fn mediated(root: &Path, times: u64) -> Duration {
    let mut builder = WasiCtx::builder();
    builder.allow_blocking_current_thread(true).preopened_dir(root, ".", FsPerms::ReadWrite).expect("a mount");
    let (mut wasi, mut table, mut state) = (builder.build(), ResourceTable::new(), State::new(funnel(root)));
    let inner = WasiFilesystemCtxView { ctx: wasi.filesystem(), table: &mut table };
    let mount = View::new(inner, &mut state).get_directories().expect("the mounts").remove(0).0;
    let begun = Instant::now();
    for _ in 0..times {
        let inner = WasiFilesystemCtxView { ctx: wasi.filesystem(), table: &mut table };
        let mut view = View::new(inner, &mut state);
        let dir = Resource::new_borrow(mount.rep());
        let (follow, none, read) = (PathFlags::SYMLINK_FOLLOW, OpenFlags::empty(), DescriptorFlags::READ);
        let opened = view.open_at(dir, follow, FILE.into(), none, read).await.expect("it opens");
        HostDescriptor::drop(&mut view, opened).expect("it closes");
    }
    begun.elapsed()
}

fn plain(root: &Path, times: u64) -> Duration {
    let path = root.join(FILE);
    let begun = Instant::now();
    for _ in 0..times {
        drop(std::hint::black_box(std::fs::File::open(&path).expect("it opens")));
    }
    begun.elapsed()
}

fn opens(c: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("its real path");
    std::fs::create_dir_all(root.join("src/deep")).expect("folders");
    std::fs::write(root.join(FILE), "fn main() {}\n").expect("a file");
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("an executor");
    let mut group = c.benchmark_group("open");
    group.bench_function("plain", |b| b.iter_custom(|n| plain(&root, n)));
    group.bench_function("mediated", |b| b.iter_custom(|n| tokio.block_on(mediated(&root, n))));
    group.finish();
}

criterion_group!(benches, opens);
criterion_main!(benches);
