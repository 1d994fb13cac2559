//! The runtime as the rest of the host sees it.

use crate::brought::Brought;
use crate::caps::Private;
use crate::caps::http::Means;
use crate::caps::process::Sandbox;
use crate::caps::process::yard::Yard;
use crate::caps::scan::{Scanner, Watch};
use crate::compile::Compiler;
use crate::conversation::Shelf;
use crate::error::RuntimeError;
use crate::hooks::{Chain, HookUse};
use crate::install::Depot;
use crate::library::{Bundled, Library, Notify};
use crate::loader::Loader;
use crate::machine::Machine;
use crate::provider::{Adapter, ProviderConfig};
use crate::registry::{HookPoint, Plugin, PluginInfo, ProviderInfo};
use crate::seats::Seat;
use crate::share::{Crowd, Pool, Share, Tenant};
use crate::source::{Bytes, Source};
use crate::tools::ToolSet;
use model::background::Background;
use model::environment::Environment;
use model::hook::{Hooks, NoHooks};
use model::journal::Journal;
use model::owner::Owner;
use model::permission::Gate;
use model::provider::Provider;
use model::tool::Tools;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

pub struct RuntimeOptions {
    /// What the owners of this process share.
    pub machine: Arc<Machine>,
    /// Whose components these are. Everything that is opened here is theirs.
    pub owner: Owner,
    /// What of it a grant or the walls around programs let through.
    pub environment: Environment,
    /// What the components may use at once.
    pub share: Share,
    /// Compiled code; made if it is not there, owner only.
    pub cache_dir: PathBuf,
    /// Holds the key that authenticates the compiled code.
    pub data_dir: PathBuf,
    pub bundled: Vec<Bundled>,
    pub on_compile: Notify,
    /// The process that compiles strangers' components; without one this process does.
    pub compiler: Option<Compiler>,
    /// Programs run only where the operating system's sandbox can be put around them.
    pub require_sandbox: bool,
    /// Further folders that no component may touch: the config.
    pub private: Vec<PathBuf>,
    /// What requests of components stand on.
    pub network: Means,
    /// What configs say of components.
    pub brought: Brought,
}

impl RuntimeOptions {
    /// With everything in this folder, on a machine of its own, without variables and without secrets: for trials.
    #[must_use]
    pub fn below(folder: &Path, bundled: Vec<Bundled>) -> Self {
        Self {
            machine: Machine::new(),
            owner: Owner::local(),
            environment: Environment::default(),
            share: Share::default(),
            cache_dir: folder.join("cache"),
            data_dir: folder.join("data"),
            bundled,
            on_compile: None,
            compiler: None,
            require_sandbox: false,
            private: vec![],
            network: Means::default(),
            brought: Brought::default(),
        }
    }
}

/// All components of one owner, and the means to run them.
pub struct Runtime {
    machine: Arc<Machine>,
    owner: Owner,
    environment: Environment,
    tenant: Tenant,
    loader: Loader,
    library: Library,
    shelf: Shelf,
    data_dir: PathBuf,
    require_sandbox: bool,
    private: Arc<Private>,
    scanner: Arc<Scanner>,
    yard: Arc<Yard>,
    network: Arc<Means>,
    brought: Brought,
}

impl Runtime {
    /// Loads what is known of the components that offer tools; see [`Library::open`].
    ///
    /// # Errors
    /// A bundled component that cannot be used.
    pub fn open(options: RuntimeOptions) -> Result<Arc<Self>, RuntimeError> {
        if let Err(error) = crate::caps::process::close_to_others() {
            tracing::warn!(%error, "this process could not be closed to others");
        }
        let RuntimeOptions { machine, owner, environment, cache_dir, data_dir, require_sandbox, mut private, .. } =
            options;
        let loader = Loader::new(Arc::clone(&machine), &owner, &cache_dir, &data_dir, options.compiler);
        let depot = Depot::new(&owner, &data_dir);
        let library = Library::open(&loader, &options.bundled, &depot, &options.brought, options.on_compile)?;
        private.extend([cache_dir, data_dir.clone()]);
        // Acts are judged on real paths. What is not there yet is kept too: nobody is to put a config there.
        let folders = private.iter().filter_map(|f| real_to_be(f)).collect();
        let readable = data_dir.canonicalize().ok().map(|d| d.join("outputs"));
        Ok(Arc::new(Self {
            shelf: Shelf::new(Arc::clone(&machine.resting)),
            machine,
            owner,
            environment,
            tenant: Tenant::new(options.share),
            loader,
            library,
            data_dir,
            require_sandbox,
            private: Arc::new(Private { folders, readable }),
            scanner: Arc::default(),
            yard: Arc::default(),
            network: Arc::new(options.network),
            brought: options.brought,
        }))
    }

    /// The tools of all components, judged by `gate`, their writes noted in `journal`.
    #[must_use]
    pub fn tools(self: &Arc<Self>, gate: Arc<dyn Gate>, journal: Arc<dyn Journal>) -> Arc<dyn Tools> {
        Arc::new(ToolSet::new(Arc::clone(self), gate, journal))
    }

    /// The named hooks, or files of hooks, in this order.
    ///
    /// # Errors
    /// A name that is not there, or a component without hooks.
    pub fn hooks(self: &Arc<Self>, uses: &[HookUse]) -> Result<Arc<dyn Hooks>, RuntimeError> {
        if uses.is_empty() {
            return Ok(Arc::new(NoHooks));
        }
        let find = |u: &HookUse| Ok((self.find(Role::Hook, &u.name)?, u.may_allow));
        let chain = uses.iter().map(find).collect::<Result<_, RuntimeError>>()?;
        Ok(Arc::new(Chain::new(Arc::clone(self), chain)))
    }

    /// A model provider behind the named adapter. Nothing is sent yet.
    ///
    /// # Errors
    /// A name that is not there, or a base URL that cannot be used.
    pub fn provider(self: &Arc<Self>, config: ProviderConfig) -> Result<Arc<dyn Provider>, RuntimeError> {
        let (plugin, info) = self.adapter(&config.adapter)?;
        Ok(Arc::new(Adapter::new(Arc::clone(self), plugin, &info, config)?))
    }

    /// What a model adapter says of itself. Runs nothing.
    ///
    /// # Errors
    /// A name that is not there.
    pub fn provider_info(&self, adapter: &str) -> Result<ProviderInfo, RuntimeError> {
        self.adapter(adapter).map(|(_, info)| info)
    }

    fn adapter(&self, name: &str) -> Result<(Arc<Plugin>, ProviderInfo), RuntimeError> {
        let plugin = self.find(Role::Adapter, name)?;
        let unknown = || RuntimeError::Unknown { what: "provider", name: name.into(), known: Vec::new() };
        let info = plugin.about.provider.clone().ok_or_else(unknown)?;
        Ok((plugin, info))
    }

    /// All components of the program. Compiles those that nobody has used yet.
    ///
    /// # Errors
    /// A component that cannot be used.
    pub fn plugins(&self) -> Result<Vec<PluginInfo>, RuntimeError> {
        Ok(self.library.all(&self.loader)?.iter().map(|p| p.info()).collect())
    }

    /// Names of all components of the program. Compiles nothing.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.library.names(&self.loader, |_| true)
    }

    /// Names of those that are model adapters. Compiles nothing.
    #[must_use]
    pub fn adapter_names(&self) -> Vec<String> {
        self.library.names(&self.loader, |a| a.exports("provider"))
    }

    /// Names of those that are hooks. Compiles nothing.
    #[must_use]
    pub fn hook_names(&self) -> Vec<String> {
        self.library.names(&self.loader, |a| HookPoint::ALL.iter().any(|p| a.exports(p.interface())))
    }

    /// Names of all tools of components. Compiles no adapter and no hook.
    #[must_use]
    pub fn tool_names(&self) -> Vec<String> {
        self.with_tools().iter().flat_map(|p| p.about.tools.iter().map(|t| t.name.clone())).collect()
    }

    /// Loads the code of an adapter, so that the first request does not wait for it. To be called in the background: it
    /// instantiates nothing, and what fails here fails again, and is told, when it is used.
    pub fn warm_up_adapter(&self, name: &str) {
        if let Ok(plugin) = self.find(Role::Adapter, name) {
            let _ = plugin.codec(&self.loader);
        }
    }

    /// As [`warm_up_adapter`](Self::warm_up_adapter), for a tool. It is compiled ahead only where this start compiled its adapter
    /// too: a short run that ends before would begin the same compilation each time.
    pub fn warm_up_tool(&self, name: &str) {
        let offers = |p: &Arc<Plugin>| p.about.tools.iter().any(|t| t.name == name);
        let quick = |p: &Arc<Plugin>| self.library.has_compiled() || self.loader.holds_acting(&p.digest);
        if let Some(plugin) = self.with_tools().into_iter().find(offers).filter(quick) {
            let _ = plugin.tool(&self.loader);
        }
    }

    /// What is known of a component, by name or by file. A file is compiled and asked; it gets no rights for that.
    ///
    /// # Errors
    /// A file that is no usable component.
    pub fn inspect(&self, file_or_name: &str) -> Result<PluginInfo, RuntimeError> {
        self.find(Role::Any, file_or_name).map(|p| p.info())
    }

    /// What a config says of components that comes to nothing, and why.
    #[must_use]
    pub fn notices(&self) -> &[String] {
        &self.library.notices
    }

    /// Whose components these are.
    #[must_use]
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    pub(crate) fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    pub(crate) fn bundled_names(&self) -> Vec<String> {
        self.library.own_names()
    }

    pub(crate) fn installed_names(&self) -> Vec<String> {
        self.library.installed_names()
    }

    pub(crate) fn loader(&self) -> &Loader {
        &self.loader
    }

    /// Programs that outlive the calls which started them.
    #[must_use]
    pub fn background(&self) -> Arc<dyn Background> {
        self.yard()
    }

    pub(crate) fn yard(&self) -> Arc<Yard> {
        Arc::clone(&self.yard)
    }

    pub(crate) fn means(&self) -> Arc<Means> {
        Arc::clone(&self.network)
    }

    pub(crate) fn private(&self) -> Arc<Private> {
        Arc::clone(&self.private)
    }

    pub(crate) fn with_tools(&self) -> Vec<Arc<Plugin>> {
        self.library.with_tools(&self.loader)
    }

    /// The walls around programs that work in this worktree; what the host keeps is hidden from them.
    pub(crate) fn sandbox(&self, worktree: &Path) -> Sandbox {
        let mut sandbox = Sandbox::new(worktree, &self.data_dir.join("outputs"));
        sandbox.hidden.clone_from(&self.private.folders);
        sandbox.require = self.require_sandbox;
        sandbox.belong_to(self.environment.clone());
        let hidden = self.private.folders.clone();
        sandbox.watch = Some(Arc::new(Watch::new(self.scanner.clone(), sandbox.writable.clone(), hidden)));
        sandbox
    }

    /// A place for one more call of a tool; waits for one.
    pub(crate) async fn admit(&self) -> Result<Seat, Crowd> {
        self.tenant.admit(&self.machine.seats).await
    }

    /// A place for one more hook; waits for one.
    pub(crate) async fn hook_place(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphores are never closed.
        Arc::clone(&self.machine.hooks).acquire_owned().await.ok()
    }

    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Where the memory of its instances is counted.
    pub(crate) fn pool(&self) -> Arc<Pool> {
        self.tenant.pool()
    }

    /// Where conversations rest between steps.
    pub(crate) fn shelf(&self) -> &Shelf {
        &self.shelf
    }

    /// A place for one more codec; waits for one.
    pub(crate) async fn codec_slot(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.machine.codecs).acquire_owned().await.ok()
    }

    /// A component by name; by file where the text looks like one.
    fn find(&self, role: Role, name: &str) -> Result<Arc<Plugin>, RuntimeError> {
        if let Some(plugin) = self.library.named(&self.loader, name)?.filter(|p| role.fits(p)) {
            return Ok(plugin);
        }
        if role.takes_file(name) {
            let plugin = self.read(Path::new(name))?;
            if role.fits(&plugin) {
                return Ok(plugin);
            }
        }
        let known = match role {
            Role::Any => self.names(),
            Role::Adapter => self.adapter_names(),
            Role::Hook => self.hook_names(),
        };
        Err(RuntimeError::Unknown { what: role.word(), name: name.into(), known })
    }

    fn read(&self, path: &Path) -> Result<Arc<Plugin>, RuntimeError> {
        let source = Source::of(&path.display().to_string(), Bytes::Read(self.brought.read(path)?.into()));
        let plugin = Plugin::remembered(&self.loader, &source);
        plugin.map_or_else(|| Plugin::learn(&self.loader, source), Ok).map(Arc::new)
    }
}

/// The real path of a folder, or the one that it will have.
fn real_to_be(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find_map(|above| {
        let real = above.canonicalize().ok()?;
        Some(real.join(folder.strip_prefix(above).ok()?))
    })
}

/// As what a component is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Any,
    Adapter,
    Hook,
}

impl Role {
    fn word(self) -> &'static str {
        match self {
            Self::Any => "plugin",
            Self::Adapter => "provider",
            Self::Hook => "hook",
        }
    }

    /// Whether the text means a file. What a person types does so when it looks like one. A config has its files by their whole path,
    /// held to what was trusted: a name in it means an installed component or none, whatever lies in the working directory.
    fn takes_file(self, name: &str) -> bool {
        let path = Path::new(name);
        match self {
            Self::Any => name.contains('/') || path.extension().is_some(),
            Self::Adapter | Self::Hook => path.is_absolute(),
        }
    }

    fn fits(self, plugin: &Plugin) -> bool {
        match self {
            Self::Any => true,
            Self::Adapter => plugin.about.provider.is_some(),
            Self::Hook => !plugin.about.hooks.is_empty(),
        }
    }
}
