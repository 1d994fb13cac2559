//! Version 0.1 of the contract: bindings, conversions and the thin adapters between them and the capabilities. Generated types
//! never leave this module.

mod bindings;
mod codec;
mod hook;
mod imports;
mod process;
mod request;
mod stream;
mod tool;

pub use codec::{Codec, CodecStore, Encoding, Live};
pub use hook::{Hook, RawOpinion};
pub use imports::add_to_linker;
pub use tool::{RawOutput, Tool, cut};
