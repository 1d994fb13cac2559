//! The components that are part of the program. What the tools of a component are may have been noted when the program was built:
//! then it is compiled when it is first called. A model adapter or a hook is learnt when somebody names it. So a first start
//! compiles what it uses and no more.

use crate::anatomy::Anatomy;
use crate::error::RuntimeError;
use crate::loader::Loader;
use crate::once::Once;
use crate::registry::{Plugin, Source};
use std::borrow::Cow;
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
}

struct Entry {
    bundled: Bundled,
    plugin: Once<Arc<Plugin>>,
}

impl Entry {
    fn source(&self) -> Source {
        Source { name: self.bundled.name.into(), bundled: true, bytes: Cow::Borrowed(self.bundled.bytes) }
    }

    /// Known already, remembered from an earlier start, or noted when the program was built. Compiles nothing.
    fn recall(&self, loader: &Loader) -> Option<Arc<Plugin>> {
        let recalled = || Plugin::remembered(loader, self.source()).or_else(|source| self.noted(loader, source));
        self.plugin.get(|| recalled().map(Arc::new)).ok()
    }

    fn noted(&self, loader: &Loader, source: Source) -> Result<Plugin, Source> {
        let Learnt::AtBuild(tools) = self.bundled.learnt else { return Err(source) };
        Plugin::noted(loader, source, tools)
    }

    fn learn(&self, loader: &Loader) -> Result<Arc<Plugin>, RuntimeError> {
        self.plugin.get(|| Plugin::learn(loader, self.source()).map(Arc::new))
    }
}

impl Library {
    /// What was never seen before is compiled, all cores at work, and asked what it offers; otherwise nothing is compiled and
    /// nothing instantiated.
    ///
    /// # Errors
    /// A component that cannot be used.
    pub fn open(loader: &Loader, bundled: &[Bundled], notify: Notify) -> Result<Self, RuntimeError> {
        let entry = |b: &Bundled| Entry { bundled: *b, plugin: Once::default() };
        let library = Self { entries: bundled.iter().map(entry).collect(), notify, compiled: AtomicBool::new(false) };
        library.learn(loader, |b| b.learnt.has_tools())?;
        Ok(library)
    }

    /// Something was not known yet, and was compiled to be learnt.
    pub fn has_compiled(&self) -> bool {
        self.compiled.load(Ordering::Relaxed)
    }

    /// Those that offer tools, in their order.
    pub fn with_tools(&self, loader: &Loader) -> Vec<Arc<Plugin>> {
        let at_start = self.entries.iter().filter(|e| e.bundled.learnt.has_tools());
        at_start.filter_map(|e| e.recall(loader)).collect()
    }

    /// Names of those whose exports fit. What a component exports stands in its file: nothing is compiled for this.
    pub fn names(&self, fits: impl Fn(&Anatomy) -> bool) -> Vec<String> {
        let of = |e: &&Entry| Anatomy::read(e.bundled.name, e.bundled.bytes).is_ok_and(|anatomy| fits(&anatomy));
        self.entries.iter().filter(of).map(|e| e.bundled.name.to_owned()).collect()
    }

    /// All of them, in their order.
    ///
    /// # Errors
    /// A component that cannot be used.
    pub fn all(&self, loader: &Loader) -> Result<Vec<Arc<Plugin>>, RuntimeError> {
        self.learn(loader, |_| true)?;
        self.entries.iter().map(|e| e.learn(loader)).collect()
    }

    /// `None`: there is none of that name.
    ///
    /// # Errors
    /// A component that cannot be used.
    pub fn named(&self, loader: &Loader, name: &str) -> Result<Option<Arc<Plugin>>, RuntimeError> {
        let Some(entry) = self.entries.iter().find(|e| e.bundled.name == name) else { return Ok(None) };
        self.learn(loader, |b| b.name == name)?;
        entry.learn(loader).map(Some)
    }

    /// Learns those of the wanted that are not known yet, in parallel.
    fn learn(&self, loader: &Loader, wanted: impl Fn(&Bundled) -> bool) -> Result<(), RuntimeError> {
        let wanted = self.entries.iter().filter(|e| wanted(&e.bundled));
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
                if let Err(error) = entry.learn(loader) {
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                self.tell(CompileNotice::Finished { name: entry.bundled.name.into(), done, total });
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
