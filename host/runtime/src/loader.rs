//! Engines, vault and linker together: from the bytes of a component to something that can be instantiated.

use crate::codec::CodecState;
use crate::compile::{Compiler, Digest, Raw, code, is_kept};
use crate::engine::{EngineKind, Running};
use crate::error::RuntimeError;
use crate::linker;
use crate::machine::Machine;
use crate::once::Once;
use crate::registry::unlinkable;
use crate::state::CallState;
use crate::v0_1::Codec;
use crate::vault::Vault;
use model::owner::Owner;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use wasmtime::Engine;
use wasmtime::component::{Component, InstancePre, Linker};

type Held = Arc<Once<Component>>;

pub struct Loader {
    machine: Arc<Machine>,
    vault: Option<Vault>,
    /// Where strangers' components are compiled; without one in this process.
    compiler: Option<Compiler>,
    linker: Once<Arc<Linker<CallState>>>,
    crowd_linker: Once<Arc<Linker<CallState>>>,
    /// Without a vault: what was compiled to be described is not compiled again to be run.
    held: Mutex<HashMap<(Digest, EngineKind), Held>>,
}

impl Loader {
    /// Without a usable folder everything works, and is compiled at each start.
    #[must_use]
    pub fn new(
        machine: Arc<Machine>,
        owner: &Owner,
        cache_dir: &Path,
        data_dir: &Path,
        compiler: Option<Compiler>,
    ) -> Self {
        let vault = Vault::open(owner, cache_dir, data_dir)
            .inspect_err(|error| tracing::warn!(%error, "no cache for compiled code; every start compiles anew"))
            .ok();
        Self {
            machine,
            vault,
            compiler,
            linker: Once::default(),
            crowd_linker: Once::default(),
            held: Mutex::default(),
        }
    }

    #[must_use]
    pub fn vault(&self) -> Option<&Vault> {
        self.vault.as_ref()
    }

    /// Held while guests run.
    #[must_use]
    pub fn running(&self) -> Running {
        self.machine.running()
    }

    /// Whether the code of a tool or hook is there already.
    #[must_use]
    pub fn holds_acting(&self, digest: &Digest) -> bool {
        let engine = self.machine.engine(EngineKind::Acting);
        let holds = |(vault, engine): (&Vault, Engine)| is_kept(vault, &engine, EngineKind::Acting, digest);
        self.vault().zip(engine.ok()).is_some_and(holds)
    }

    /// # Errors
    /// When it cannot be compiled, or imports what there is not.
    pub fn link_acting(&self, raw: &Raw<'_>) -> Result<InstancePre<CallState>, RuntimeError> {
        self.link(EngineKind::Acting, &self.linker, raw)
    }

    /// As [`Self::link_acting`], for the room that is made when it is needed.
    ///
    /// # Errors
    /// As there.
    pub fn link_crowd(&self, raw: &Raw<'_>) -> Result<InstancePre<CallState>, RuntimeError> {
        self.link(EngineKind::Crowd, &self.crowd_linker, raw)
    }

    fn link(
        &self,
        kind: EngineKind,
        linker: &Once<Arc<Linker<CallState>>>,
        raw: &Raw<'_>,
    ) -> Result<InstancePre<CallState>, RuntimeError> {
        let (engine, component) = self.component(kind, raw)?;
        let linker = linker.get(|| linker::acting(&engine).map(Arc::new));
        let linker = linker.map_err(|e| RuntimeError::Engine { why: format!("{e:#}") })?;
        linker.instantiate_pre(&component).map_err(|e| unlinkable(raw.name, &e))
    }

    /// # Errors
    /// When it cannot be compiled, or imports anything at all.
    pub fn link_codec(&self, raw: &Raw<'_>) -> Result<Codec, RuntimeError> {
        let (engine, component) = self.component(EngineKind::Codec, raw)?;
        let pre = Linker::<CodecState>::new(&engine).instantiate_pre(&component);
        pre.and_then(|pre| Codec::new(&pre)).map_err(|e| unlinkable(raw.name, &e))
    }

    fn component(&self, kind: EngineKind, raw: &Raw<'_>) -> Result<(Engine, Component), RuntimeError> {
        let engine = self.machine.engine(kind)?;
        let make = || code(self.vault(), self.compiler.as_ref(), &engine, kind, raw);
        if self.vault.is_some() {
            return Ok((engine.clone(), make()?));
        }
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = Arc::clone(held.entry((raw.digest, kind)).or_default());
        drop(held);
        Ok((engine.clone(), slot.get(make)?))
    }
}
