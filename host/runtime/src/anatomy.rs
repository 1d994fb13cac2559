//! What a file is, before anything of it is compiled: kind, exports, imports, manifest.

use crate::dynamic::Docs;
use crate::error::RuntimeError;
use crate::manifest::{Manifest, SECTION};
use wasmparser::{ComponentTypeRef, Encoding, Parser, Payload};

/// Bytes of a component. Compiling costs time and memory in proportion.
pub const SIZE_MAX: usize = 64 << 20;
const PACKAGE: &str = "airlock:plugin/";

/// The outer shape of a component.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Anatomy {
    pub imports: Vec<String>,
    pub exports: Vec<String>,
    pub manifest: Option<Manifest>,
    /// What its author says of its functions.
    pub docs: Docs,
}

impl Anatomy {
    /// # Errors
    /// A file that is not a well-formed component.
    pub fn read(name: &str, bytes: &[u8]) -> Result<Self, RuntimeError> {
        is_component(name, bytes)?;
        let (mut anatomy, mut within) = (Self::default(), Vec::new());
        for payload in Parser::new(0).parse_all(bytes) {
            let payload = payload.map_err(|e| invalid(name, &e))?;
            match &payload {
                Payload::Version { encoding, .. } => within.push(*encoding),
                Payload::End(_) => {
                    within.pop();
                }
                _ => anatomy.take(name, payload, &within)?,
            }
        }
        Ok(anatomy)
    }

    /// Only the outermost component speaks for itself; its manifest may lie in one of its modules, where compilers of guests
    /// put it.
    fn take(&mut self, name: &str, payload: Payload<'_>, within: &[Encoding]) -> Result<(), RuntimeError> {
        let own = within.len() == 1 || within.len() == 2 && within[1] == Encoding::Module;
        match payload {
            Payload::ComponentImportSection(section) if within.len() == 1 => {
                for import in section {
                    let import = import.map_err(|e| invalid(name, &e))?;
                    // A type is needed to name others and reaches nothing.
                    if !matches!(import.ty, ComponentTypeRef::Type(_)) {
                        self.imports.push(import.name.name.to_owned());
                    }
                }
            }
            Payload::ComponentExportSection(section) if within.len() == 1 => {
                for export in section {
                    self.exports.push(export.map_err(|e| invalid(name, &e))?.name.name.to_owned());
                }
            }
            Payload::CustomSection(section) if own && section.name() == SECTION => {
                self.set_manifest(name, Manifest::parse(name, section.data())?)?;
            }
            Payload::CustomSection(section) if own && section.name() == Docs::SECTION => {
                self.docs = Docs::parse(section.data());
            }
            _ => {}
        }
        Ok(())
    }

    fn set_manifest(&mut self, name: &str, manifest: Manifest) -> Result<(), RuntimeError> {
        match &self.manifest {
            Some(first) if *first != manifest => {
                Err(RuntimeError::Manifest { name: name.into(), why: "it has two that differ".into() })
            }
            _ => {
                self.manifest = Some(manifest);
                Ok(())
            }
        }
    }

    /// Whether the interface of this name is exported, in a version that this host knows.
    #[must_use]
    pub fn exports(&self, interface: &str) -> bool {
        exports(&self.exports, interface)
    }

    /// Whether anything of the contract is exported, in whatever version.
    #[must_use]
    pub fn is_of_contract(&self) -> bool {
        self.exports.iter().any(|e| e.starts_with(PACKAGE))
    }

    /// The first export that belongs to the contract, in a version that is not known.
    #[must_use]
    pub fn foreign(&self) -> Option<&str> {
        self.exports.iter().find(|e| e.starts_with(PACKAGE) && known(e).is_none()).map(String::as_str)
    }
}

/// Whether one of these exports is the interface of this name, in a version that this host knows.
pub fn exports(exports: &[String], interface: &str) -> bool {
    exports.iter().any(|e| known(e) == Some(interface))
}

/// `tool` of `airlock:plugin/tool@0.1.3`.
fn known(export: &str) -> Option<&str> {
    let (interface, version) = export.strip_prefix(PACKAGE)?.split_once('@')?;
    version.starts_with("0.1.").then_some(interface)
}

fn invalid(name: &str, error: &wasmparser::BinaryReaderError) -> RuntimeError {
    RuntimeError::Invalid { name: name.into(), why: error.to_string() }
}

fn is_component(name: &str, bytes: &[u8]) -> Result<(), RuntimeError> {
    let not = |what, hint| Err(RuntimeError::NotAComponent { name: name.into(), what, hint });
    if bytes.len() > SIZE_MAX {
        return not("it is larger than 64 MiB", "Build it smaller: strip it, optimise for size.");
    }
    if wasmtime::Engine::detect_precompiled(bytes).is_some() || bytes.starts_with(b"\x7fELF") {
        return not(
            "it is native code",
            "Compiled code is never taken from a file: give the `.wasm` that it was made from.",
        );
    }
    if bytes.is_empty() {
        return not("the file is empty", "Fetch or build it again.");
    }
    if Parser::is_component(bytes) {
        return Ok(());
    }
    if Parser::is_core_wasm(bytes) {
        return not("it is a core module", "Build it for `wasm32-wasip2`, or wrap it with `wasm-tools component new`.");
    }
    not("it is not WebAssembly at all", "Give a `.wasm` file that was built as a component.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exporting(names: &[&str]) -> Anatomy {
        Anatomy { exports: names.iter().map(|n| (*n).to_owned()).collect(), ..Anatomy::default() }
    }

    #[test]
    fn versions_of_the_contract() {
        let a = exporting(&["airlock:plugin/tool@0.1.4", "init"]);
        assert!(a.exports("tool") && !a.exports("provider") && a.foreign().is_none());
        let b = exporting(&["airlock:plugin/tool@0.2.0"]);
        assert!(!b.exports("tool"));
        assert_eq!(b.foreign(), Some("airlock:plugin/tool@0.2.0"));
    }

    #[test]
    fn only_the_outer_component_speaks() {
        let text = r#"(component
            (component (core module (@custom "airlock:manifest" "{\"fs\":{\"/\":\"rw\"}}")))
            (core module (@custom "airlock:manifest" "{\"description\":\"mine\"}"))
            (component (import "d:e/f" (instance)))
            (import "a:b/c" (instance))
            (import "kind" (type (sub resource))))"#;
        let a = Anatomy::read("x", &wat::parse_str(text).unwrap()).unwrap();
        assert_eq!(a.imports, ["a:b/c"]);
        assert!(a.exports.is_empty());
        let manifest = a.manifest.unwrap();
        assert_eq!((manifest.description.as_deref(), manifest.fs.len()), (Some("mine"), 0));
    }

    #[test]
    fn files_that_are_no_component() {
        let core = wat::parse_str("(module)").unwrap();
        let component = wat::parse_str("(component (core module (func)))").unwrap();
        for (bytes, part) in [
            (&b""[..], "empty"),
            (b"Many thanks, not wasm", "not WebAssembly at all"),
            (&core, "core module"),
            (b"\x7fELF\x02\x01", "native code"),
            (&component[..component.len() - 5], "damaged"),
        ] {
            let error = Anatomy::read("x.wasm", bytes).unwrap_err().to_string();
            assert!(error.contains("x.wasm") && error.contains(part), "{error}");
        }
    }
}
