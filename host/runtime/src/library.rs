//! The components that there are: those of the program, then what is installed. What the tools of one are may have been noted when
//! the program was built: then it is compiled when it is first called. A model adapter or a hook of the program is learnt when
//! somebody names it. So a first start compiles what it uses and no more. What is installed was learnt then.

use crate::anatomy::Anatomy;
use crate::brought::{Brought, PluginUse, Term, Use};
use crate::error::RuntimeError;
use crate::install::Depot;
use crate::loader::Loader;
use crate::once::Once;
use crate::registry::Plugin;
use crate::source::{Bytes, Installed, Source};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A component that is part of the program.
#[derive(Clone, Copy, Debug)]
pub struct Bundled {
    pub name: &'static str,
    pub bytes: &'static [u8],
    pub learnt: Learnt,
}

/// When a component is first looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learnt {
    /// The specs of its tools, a JSON array of [`ToolSpec`](model::tool::ToolSpec): what the component says when it is asked.
    AtBuild(&'static str),
    AtStart,
    WhenNamed,
}

impl Learnt {
    /// Every model is told of its tools.
    fn has_tools(self) -> bool {
        match self {
            Self::AtBuild(_) | Self::AtStart => true,
            Self::WhenNamed => false,
        }
    }
}

/// What happens while components are compiled, which is the one slow thing here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompileNotice {
    Begun { total: usize },
    Finished { name: String, done: usize, total: usize },
}

/// Whoever is told while components are compiled.
pub type Notify = Option<Arc<dyn Fn(CompileNotice) + Send + Sync>>;

pub struct Library {
    entries: Vec<Entry>,
    notify: Notify,
    compiled: AtomicBool,
    /// What a config says that comes to nothing, and why.
    pub notices: Vec<String>,
}

struct Entry {
    source: Source,
    learnt: Learnt,
    plugin: Once<Arc<Plugin>>,
}

impl Entry {
    fn bundled(b: &Bundled) -> Self {
        let source = Source::of(b.name, Bytes::Bundled(b.bytes));
        Self { source, learnt: b.learnt, plugin: Once::default() }
    }

    /// Known since it was installed: it is learnt again only where that was forgotten.
    fn installed(installed: Installed) -> Self {
        let name = installed.pinned.name.clone();
        Self::strange(Source::of(&name, Bytes::Installed(Arc::new(installed))))
    }

    fn strange(source: Source) -> Self {
        Self { source, learnt: Learnt::AtStart, plugin: Once::default() }
    }

    /// Known already, remembered from an earlier start, or noted when the program was built. Compiles nothing.
    fn recall(&self, loader: &Loader) -> Option<Arc<Plugin>> {
        let recalled = || Plugin::remembered(loader, &self.source).or_else(|| self.noted(loader)).ok_or(());
        self.plugin.get(|| recalled().map(Arc::new)).ok()
    }

    fn noted(&self, loader: &Loader) -> Option<Plugin> {
        let Learnt::AtBuild(tools) = self.learnt else { return None };
        Plugin::noted(loader, &self.source, tools)
    }

    /// What it exports: from its file, or from what is known of it.
    fn anatomy(&self, loader: &Loader) -> Option<Anatomy> {
        if let Bytes::Bundled(bytes) = self.source.bytes {
            return Anatomy::read(&self.source.name, bytes).ok();
        }
        let exports = self.recall(loader)?.about.exports.clone();
        Some(Anatomy { exports, ..Anatomy::default() })
    }

    fn learn(&self, loader: &Loader) -> Result<Arc<Plugin>, RuntimeError> {
        self.plugin.get(|| Plugin::learn(loader, self.source.clone()).map(Arc::new))
    }
}

impl Library {
    /// What was never seen before is compiled, all cores at work, and asked what it offers; otherwise nothing is compiled and
    /// nothing instantiated.
    ///
    /// # Errors
    /// A component of the program that cannot be used, or a lock that is damaged.
    pub fn open(
        loader: &Loader,
        bundled: &[Bundled],
        depot: &Depot,
        brought: &Brought,
        notify: Notify,
    ) -> Result<Self, RuntimeError> {
        let mut entries: Vec<Entry> = bundled.iter().map(Entry::bundled).collect();
        for pinned in depot.read()?.plugins {
            entries.push(Entry::installed(Installed::new(pinned, depot)?));
        }
        let mut library = Self { entries, notify, compiled: AtomicBool::new(false), notices: Vec::new() };
        brought.plugins.iter().for_each(|said| library.bring(brought, said));
        library.learn(loader, |e| e.learnt.has_tools())?;
        library.notices.extend(library.hidden_tools(loader));
        library.notices.extend(library.unusable(loader));
        Ok(library)
    }

    /// What cannot be brought along is left out, and the rest goes on.
    fn bring(&mut self, brought: &Brought, said: &PluginUse) {
        let there = self.entries.iter_mut().find(|e| e.source.name == said.name);
        match (&said.how, there) {
            (Use::File { path, grant }, _) => {
                let taken: Vec<String> = self.entries.iter().map(|e| e.source.name.clone()).collect();
                match brought.source(&said.name, path, grant.as_ref(), &taken) {
                    Ok(source) => self.entries.push(Entry::strange(source)),
                    Err(why) => self.notices.push(format!("the plugin `{}` of the config is left out: {why}", said.name)),
                }
            }
            (Use::Narrowed(most), Some(entry)) => entry.source.terms.push(Term::Narrowed(most.clone())),
            (Use::Granted(grant), Some(entry)) if !entry.source.is_bundled() => {
                entry.source.terms.push(Term::Granted(grant.clone()));
            }
            (Use::Granted(_), _) => self.notices.push(format!(
                "the config grants something to `{}`, which is not installed: add it with `airlock plugin add`, or name its file as `source`",
                said.name
            )),
            // What is not there is narrow enough.
            (Use::Narrowed(_), None) => {}
        }
    }

    /// Components that a config brings along and that cannot be used: told here, since nobody else names them.
    fn unusable(&self, loader: &Loader) -> Vec<String> {
        let brought = self.entries.iter().filter(|e| e.source.file.is_some());
        let told = |e: &Entry| {
            let why = e.learn(loader).err()?;
            Some(format!("the plugin `{}` of the config is left out: {why}", e.source.name))
        };
        brought.filter_map(told).collect()
    }

    /// Tools that a config brings along under a name that is taken: the first of a name stands.
    fn hidden_tools(&self, loader: &Loader) -> Vec<String> {
        if self.entries.iter().all(|e| e.source.file.is_none()) {
            return Vec::new();
        }
        let (mut names, mut told) = (BTreeMap::new(), Vec::new());
        for plugin in self.with_tools(loader) {
            for tool in &plugin.about.tools {
                let first = names.entry(tool.name.clone()).or_insert_with(|| plugin.source.name.clone());
                if plugin.source.file.is_some() && *first != plugin.source.name {
                    told.push(format!(
                        "the tool `{}` of the plugin `{}` of the config is left out: `{first}` has one of that name, which stands",
                        tool.name, plugin.source.name
                    ));
                }
            }
        }
        told
    }

    /// Something was not known yet, and was compiled to be learnt.
    pub fn has_compiled(&self) -> bool {
        self.compiled.load(Ordering::Relaxed)
    }

    /// Those that offer tools, in their order.
    pub fn with_tools(&self, loader: &Loader) -> Vec<Arc<Plugin>> {
        let at_start = self.entries.iter().filter(|e| e.learnt.has_tools());
        at_start.filter_map(|e| e.recall(loader)).collect()
    }

    /// Names of those whose exports fit. What a component exports stands in its file: nothing is compiled for this.
    pub fn names(&self, loader: &Loader, fits: impl Fn(&Anatomy) -> bool) -> Vec<String> {
        let of = |e: &&Entry| e.anatomy(loader).is_some_and(|anatomy| fits(&anatomy));
        self.entries.iter().filter(of).map(|e| e.source.name.clone()).collect()
    }

    /// Names of the program's own.
    pub fn own_names(&self) -> Vec<String> {
        self.entries.iter().filter(|e| e.source.is_bundled()).map(|e| e.source.name.clone()).collect()
    }

    pub fn installed_names(&self) -> Vec<String> {
        self.entries.iter().filter(|e| !e.source.is_bundled()).map(|e| e.source.name.clone()).collect()
    }

    /// All of them, in their order; of the installed ones those that can be used.
    ///
    /// # Errors
    /// A component of the program that cannot be used.
    pub fn all(&self, loader: &Loader) -> Result<Vec<Arc<Plugin>>, RuntimeError> {
        self.learn(loader, |_| true)?;
        let usable = self.entries.iter().filter(|e| e.source.is_bundled() || e.recall(loader).is_some());
        usable.map(|e| e.learn(loader)).collect()
    }

    /// `None`: there is none of that name.
    ///
    /// # Errors
    /// A component that cannot be used.
    pub fn named(&self, loader: &Loader, name: &str) -> Result<Option<Arc<Plugin>>, RuntimeError> {
        let Some(entry) = self.entries.iter().find(|e| e.source.name == name) else { return Ok(None) };
        self.learn(loader, |e| e.source.name == name)?;
        entry.learn(loader).map(Some)
    }

    /// Learns those of the wanted that are not known yet, in parallel.
    fn learn(&self, loader: &Loader, wanted: impl Fn(&Entry) -> bool) -> Result<(), RuntimeError> {
        let wanted = self.entries.iter().filter(|e| wanted(e));
        let missing: Vec<&Entry> = wanted.filter(|e| e.recall(loader).is_none()).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let total = missing.len();
        self.compiled.store(true, Ordering::Relaxed);
        self.tell(CompileNotice::Begun { total });
        let (next, done, failed) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(None));
        let work = || {
            while let Some(entry) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
                match entry.learn(loader) {
                    // A stranger's that is broken must not keep the program from starting: whoever names it is told.
                    Err(error) if !entry.source.is_bundled() => tracing::warn!(%error),
                    Err(error) => *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error),
                    Ok(_) => {}
                }
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                self.tell(CompileNotice::Finished { name: entry.source.name.clone(), done, total });
            }
        };
        std::thread::scope(|scope| {
            let threads = std::thread::available_parallelism().map_or(1, usize::from).min(total);
            (1..threads).for_each(|_| {
                scope.spawn(work);
            });
            work();
        });
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    fn tell(&self, notice: CompileNotice) {
        if let Some(notify) = &self.notify {
            notify(notice);
        }
    }
}
