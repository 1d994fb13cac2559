//! The only `add_to_linker`: what any component can import, in every version of the contract.

use crate::state::CallState;
use crate::v0_1;
use wasmtime::Engine;
use wasmtime::component::Linker;

/// For tools and hooks. Codecs are linked to nothing at all.
pub fn acting(engine: &Engine) -> wasmtime::Result<Linker<CallState>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    crate::caps::fs::add_to_linker(&mut linker)?;
    crate::caps::config::add_to_linker(&mut linker)?;
    v0_1::add_to_linker(&mut linker)?;
    Ok(linker)
}
