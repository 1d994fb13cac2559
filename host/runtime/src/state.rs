//! What a store holds for one call, and where files, sockets and requests of a guest end.

use crate::bounds::{Bounds, Cap};
use crate::caps::Funnel;
use crate::caps::fs::{self, HasFs};
use crate::caps::http::{Means, Network};
use crate::caps::process::yard::Yard;
use crate::caps::process::{Held, Sandbox};
use crate::guest_log::GuestLog;
use crate::hostcalls::HostCalls;
use crate::leave::Lease;
use crate::mounts::mounts;
use crate::progress::Reporter;
use crate::share::Pool;
use model::environment::Environment;
use model::grant::{Grant, Mode};
use model::tool::ProgressSink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wasmtime::Engine;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::filesystem::WasiFilesystemCtxView;
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

/// Random bytes in one host call.
const RANDOM: u64 = 1 << 20;
/// Bytes of header fields that a guest can build.
const FIELDS: usize = 64 << 10;

/// One a call; dropped with its store, never used twice.
pub struct CallState {
    pub table: ResourceTable,
    pub funnel: Arc<Funnel>,
    pub progress: Reporter,
    pub log: GuestLog,
    pub grant: Arc<Grant>,
    pub workspace: PathBuf,
    pub cap: Cap,
    pub calls: HostCalls,
    pub files: fs::State,
    /// Around the programs of this call.
    pub sandbox: Arc<Sandbox>,
    /// For its programs, as hooks said.
    pub env: Vec<(String, String)>,
    /// Programs that run.
    pub children: usize,
    /// How each that was started is held.
    pub held: Vec<Held>,
    /// Where programs are left that outlive the call, and whether one was.
    pub yard: Arc<Yard>,
    pub has_left: bool,
    wasi: WasiCtx,
    http: WasiHttpCtx,
    pub network: Network,
}

/// What a call's state is made from.
pub struct Setup {
    pub component: Arc<str>,
    pub funnel: Arc<Funnel>,
    pub progress: Arc<dyn ProgressSink>,
    pub grant: Arc<Grant>,
    /// Real absolute path.
    pub workspace: PathBuf,
    pub bounds: Bounds,
    /// Where its owner's memory is counted.
    pub pool: Option<Arc<Pool>>,
    /// What it was installed under, of a component that was.
    pub lease: Option<Lease>,
    pub sandbox: Arc<Sandbox>,
    /// Variables for the programs that it runs.
    pub env: Vec<(String, String)>,
    /// Of the component, hex.
    pub digest: String,
    pub means: Arc<Means>,
    pub yard: Arc<Yard>,
}

impl CallState {
    #[must_use]
    pub fn new(setup: Setup, engine: &Engine) -> Self {
        let log = GuestLog::new(setup.component, setup.bounds.log);
        let wasi = context(&setup.grant, &setup.sandbox.environment, &setup.workspace, &log);
        let mut table = ResourceTable::new();
        table.set_max_capacity(setup.bounds.handles);
        let mut http = WasiHttpCtx::new();
        http.set_field_size_limit(FIELDS);
        let network = Network::new(Arc::clone(&setup.funnel), Arc::clone(&setup.grant), setup.digest, setup.means);
        Self {
            table,
            files: fs::State::new(Arc::clone(&setup.funnel)),
            sandbox: setup.sandbox,
            env: setup.env,
            children: 0,
            held: Vec::new(),
            yard: setup.yard,
            has_left: false,
            funnel: setup.funnel,
            progress: Reporter::new(setup.progress, setup.bounds.progress),
            log,
            grant: setup.grant,
            workspace: setup.workspace,
            cap: Cap::new(setup.bounds.memory, setup.pool),
            calls: HostCalls::new(setup.bounds.calls, setup.lease, engine),
            wasi,
            http,
            network,
        }
    }

    /// What a host function of the contract gets: itself, once it is counted.
    pub fn counted(&mut self) -> &mut Self {
        self.calls.count();
        self
    }
}

fn context(grant: &Grant, environment: &Environment, workspace: &Path, log: &GuestLog) -> WasiCtx {
    let mut builder = WasiCtx::builder();
    builder
        .allow_blocking_current_thread(true)
        .stdout(log.stream(false))
        .stderr(log.stream(true))
        .max_random_size(RANDOM)
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false);
    for name in &grant.env.allow {
        if let Some(value) = environment.get(name) {
            builder.env(name, value);
        }
    }
    for ((real, name), mode) in mounts(grant, workspace) {
        let perms = match mode {
            Mode::ReadOnly => FsPerms::ReadOnly,
            Mode::ReadWrite => FsPerms::ReadWrite,
        };
        add(&mut builder, &real, &name, perms);
    }
    builder.build()
}

fn add(builder: &mut WasiCtxBuilder, real: &Path, name: &str, perms: FsPerms) {
    if let Err(error) = builder.preopened_dir(real, name, perms) {
        tracing::debug!(folder = %real.display(), %error, "a granted folder could not be mounted");
    }
}

impl WasiView for CallState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        self.calls.count();
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl HasFs for CallState {
    fn fs_parts(&mut self) -> (WasiFilesystemCtxView<'_>, &mut fs::State) {
        self.calls.count();
        (WasiFilesystemCtxView { ctx: self.wasi.filesystem(), table: &mut self.table }, &mut self.files)
    }
}

impl WasiHttpView for CallState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        self.calls.count();
        WasiHttpCtxView { hooks: &mut self.network, table: &mut self.table, ctx: &mut self.http }
    }
}
