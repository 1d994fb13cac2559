//! Components as native code: from the vault where it holds them, else compiled and kept there.

mod child;

pub use child::{Compiler, compile_apart};

use crate::engine::EngineKind;
use crate::error::RuntimeError;
use crate::vault::Vault;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::os::fd::AsRawFd;
use wasmtime::Engine;
use wasmtime::component::Component;

/// BLAKE3 of a component's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest(blake3::Hash);

impl Digest {
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes))
    }

    /// From its hex form.
    #[must_use]
    pub fn parse(hex: &str) -> Option<Self> {
        blake3::Hash::from_hex(hex).ok().map(Self)
    }

    #[must_use]
    pub fn hex(&self) -> String {
        self.0.to_hex().to_string()
    }
}

/// A component on its way to be code.
#[derive(Clone, Copy)]
pub struct Raw<'a> {
    pub name: &'a str,
    pub digest: Digest,
    pub bytes: &'a [u8],
    /// Part of the program, and not a stranger's.
    pub ours: bool,
}

/// The code of a component for an engine. Compiles only when the vault has none that fits this engine.
pub fn code(
    vault: Option<&Vault>,
    compiler: Option<&Compiler>,
    engine: &Engine,
    kind: EngineKind,
    raw: &Raw<'_>,
) -> Result<Component, RuntimeError> {
    let file = file_name(engine, kind, &raw.digest);
    if let Some(component) = vault.and_then(|v| kept(v, engine, &file)) {
        return Ok(component);
    }
    let failed = |why: String| RuntimeError::Compile { name: raw.name.into(), why };
    let artifact = match compiler.filter(|_| !raw.ours) {
        Some(compiler) => child::compile(compiler, kind, raw)?,
        None => engine.precompile_component(raw.bytes).map_err(|e| failed(format!("{e:#}")))?,
    };
    // What is compiled may still ask for more than any component gets.
    let component = revive(engine, &artifact).map_err(|e| failed(format!("{e:#}")))?;
    if let Some(vault) = vault {
        keep(vault, &file, &artifact);
    }
    Ok(component)
}

/// Whether the vault seems to hold the code; what it holds is checked when it is read.
pub fn is_kept(vault: &Vault, engine: &Engine, kind: EngineKind, digest: &Digest) -> bool {
    vault.has(&file_name(engine, kind, digest))
}

/// The code as the vault holds it: mapped where the system can do that, else copied.
fn kept(vault: &Vault, engine: &Engine, file: &str) -> Option<Component> {
    let copied = || revive(engine, &vault.read(file)?).ok();
    match vault.unseal(file) {
        Ok(None) => None,
        Ok(Some(memory)) => map(engine, &memory).ok().or_else(copied),
        Err(_) => copied(),
    }
}

fn keep(vault: &Vault, file: &str, artifact: &[u8]) {
    if let Err(error) = vault.write(file, artifact) {
        tracing::warn!(%error, "compiled code could not be kept; the next start compiles again");
    }
}

#[expect(unsafe_code, reason = "compiled code cannot be checked, only authenticated")]
fn map(engine: &Engine, memory: &File) -> wasmtime::Result<Component> {
    let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
    // SAFETY: as in `revive`; the bytes come from `Vault::unseal`, which sealed this file against any further change and then verified
    // the keyed hash over it, so that what is mapped is what was verified. The path leads to that file
    // as long as `memory` is open.
    let mapped = unsafe { Component::deserialize_file(engine, path) };
    mapped.inspect_err(|error| tracing::debug!(%error, "compiled code cannot be mapped"))
}

#[expect(unsafe_code, reason = "compiled code cannot be checked, only authenticated")]
fn revive(engine: &Engine, artifact: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: `deserialize` runs whatever code it is given, so the bytes must be what the compiler gave. Either it gave them just now,
    // in this process or to it, through a pipe that nobody else holds, in a child that is this same program. Or they come from
    // `Vault::read`, which verified a keyed hash over these very bytes in memory and over a name that binds the component's
    // content, the engine's kind and its compatibility hash. The key is 32 random bytes in a file that only this user can read,
    // as is the folder, so whoever could forge it could also run code as this user. Wasmtime checks version and settings again.
    let revived = unsafe { Component::deserialize(engine, artifact) };
    revived.inspect_err(|error| tracing::debug!(%error, "compiled code does not fit"))
}

/// Binds all that the code depends on. Wasmtime's version is part of the compatibility hash.
fn file_name(engine: &Engine, kind: EngineKind, digest: &Digest) -> String {
    let mut hasher = Blake3(blake3::Hasher::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    kind.name().hash(&mut hasher);
    digest.0.as_bytes().hash(&mut hasher);
    format!("{}.code", hasher.0.finalize().to_hex())
}

/// The standard hasher gives 64 bits, and may change with the compiler.
struct Blake3(blake3::Hasher);

impl Hasher for Blake3 {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|i| self.0.finalize().as_bytes()[i]))
    }
}
